"""What has been converted already: one JSON line a finished case, beside the outputs.

Lines are only appended, each in one write and synced, so that runs side by side may share the
file and a kill leaves at most one torn line, which is not counted. The last line of an output
holds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from meshkit.cli.cases import Case

NAME: Final = ".meshkit-convert.jsonl"
_FINDING: Final = frozenset({"code", "severity", "message", "count"})


# What stands for a directory that is a store: it holds the hash of every file in it, and is
# written anew whenever the store is.
_MANIFEST: Final = "MANIFEST.json"


def _file_of(path: Path) -> Path:
    """The file that stands for a file or store; a directory that is neither stands for itself."""
    manifest = path / _MANIFEST
    return manifest if manifest.is_file() else path


def fingerprint(path: Path) -> dict[str, Any]:
    """What tells whether a file or store has changed: its size, times and the hash of its bytes.

    Of a store, those of its manifest. What is no file (a pipe, a device) is not read.

    Raises:
        OSError: it cannot be read.
    """
    if not (file_of := _file_of(path)).is_file():
        return stamp(path)
    with file_of.open("rb") as file:
        now = _stamp(path, os.fstat(file.fileno()))
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    return {**now, "blake2b": digest.hexdigest()}


def stamp(path: Path) -> dict[str, Any]:
    """Size and times of a file or of a store's manifest: what can be told without reading it.

    Of a directory that is a case, those of all files in it: their sum, and the latest.

    Raises:
        OSError: there is no such file.
    """
    file = _file_of(path)
    if not file.is_dir():
        return _stamp(path, file.stat())
    found = [file.stat()]
    for folder, _, names in os.walk(file):
        found += [os.lstat(os.path.join(folder, name)) for name in names]
    return {
        "path": os.path.abspath(path),
        "size": sum(status.st_size for status in found),
        "mtime_ns": max(status.st_mtime_ns for status in found),
        "ctime_ns": max(status.st_ctime_ns for status in found),
    }


def _stamp(path: Path, status: os.stat_result) -> dict[str, Any]:
    return {
        "path": os.path.abspath(path),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
    }


class Receipts:
    """The record of done cases in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / NAME
        self._lines: dict[str, Mapping[str, Any]] = {}
        try:
            text = self.file.read_bytes().decode(errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            text = ""
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.split("\n"):
            try:
                found = json.loads(line)
            except ValueError:
                continue  # torn by a kill: that case is done again
            if isinstance(found, dict) and isinstance(found.get("output"), str):
                self._lines[found["output"]] = found

    @property
    def made(self) -> frozenset[Path]:
        """The files that finished cases wrote, as absolute paths."""
        return frozenset(
            Path(os.path.abspath(self._folder / one["path"]))
            for line in self._lines.values()
            for one in _rows(line, "outputs")
        )

    def holds(self, case: Case, options: Mapping[str, Any]) -> bool:
        """Whether the case was done with these options, and neither side has changed since.

        A source whose size and times are the same counts as unchanged; one whose times differ is
        read and compared by its hash. An output must have the size and time it was left with.
        """
        line = self._lines.get(self._below(case.output))
        if line is None or line.get("options") != json.loads(json.dumps(options)):
            return False
        sources, outputs = _rows(line, "sources"), _rows(line, "outputs")
        if not sources or not outputs or sources[0]["path"] != self._below(case.input):
            return False
        return all(self._same(one, ("size", "mtime_ns")) for one in outputs) and all(
            self._same(one, ("size", "mtime_ns", "ctime_ns")) or self._same_bytes(one)
            for one in sources
        )

    def findings(self, case: Case) -> list[Mapping[str, Any]]:
        """What was found wrong with the mesh of a case that was done."""
        line = self._lines.get(self._below(case.output), {})
        return [one for one in _listed(line, "findings") if one.keys() >= _FINDING]

    def add(
        self,
        case: Case,
        options: Mapping[str, Any],
        sources: Iterable[Mapping[str, Any]],
        outputs: Iterable[Mapping[str, Any]],
        findings: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Write down that a case is done: on the disk when this returns.

        Raises:
            OSError: the record cannot be written.
        """
        key = self._below(case.output)
        line = {
            "output": key,
            "options": dict(options),
            "sources": [{**one, "path": self._below(one["path"])} for one in sources],
            "outputs": [{**one, "path": self._below(one["path"])} for one in outputs],
            "findings": [dict(one) for one in findings],
        }
        data = json.dumps(line).encode() + b"\n"
        if self._torn:
            data = b"\n" + data
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab", buffering=0) as file:  # unbuffered: one write
            file.write(data)
            os.fsync(file.fileno())
        self._torn = False
        self._lines[key] = line

    def _below(self, path: Path | str) -> str:
        # Relative, so that inputs and outputs may move together.
        return os.path.relpath(path, self._folder)

    def _same(self, then: Mapping[str, Any], keys: Iterable[str]) -> bool:
        try:
            now = stamp(self._folder / then["path"])
        except OSError:
            return False
        return all(now[key] == then.get(key) for key in keys)

    def _same_bytes(self, then: Mapping[str, Any]) -> bool:
        path = self._folder / then["path"]
        try:
            if stamp(path)["size"] != then.get("size") or "blake2b" not in then:
                return False
            return bool(fingerprint(path).get("blake2b") == then["blake2b"])
        except OSError:
            return False


def _rows(line: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    """The files of a line; whoever edited it, each has a path."""
    return [one for one in _listed(line, what) if isinstance(one.get("path"), str)]


def _listed(line: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    found = line.get(what)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
