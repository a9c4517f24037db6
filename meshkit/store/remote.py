"""Samples on object stores and other places that fsspec knows.

The files of a sample lie under a prefix of their own, which the manifest names. Putting the
manifest is the commit: until then the old one leads to the old files.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from meshkit.errors import MissingPackage, ReadError, WriteError
from meshkit.store.files import NO_SAMPLE
from meshkit.store.manifest import parse
from meshkit.store.names import MANIFEST, PREFIX

_AT_ONCE: Final = 16
"""Requests that wait for an answer at a time."""
_DAY: Final = 86_400
_OF_LIBRARIES: Final = (
    ("aiohttp", "ClientError"),
    ("azure.core.exceptions", "AzureError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("gcsfs.retry", "HttpError"),
)
"""Errors of the libraries below fsspec that derive from nothing more special than Exception."""


class RemoteFiles:
    """A place of fsspec's.

    Raises:
        MissingPackage: fsspec, or what it needs for this protocol, is not installed.
        ReadError: there is no such protocol.
    """

    block: int = 1 << 23
    reads_at_once: int | None = _AT_ONCE

    def __init__(self, url: str) -> None:
        self.name = url
        try:
            self._system, self._root = _system(url)
        except ValueError as why:
            raise ReadError(url, str(why)) from None
        self._web = "http" in self._system.protocol
        self._manifest: bytes | None = None

    def manifest(self) -> bytes:
        """See `Files`."""
        self._manifest = self._get(MANIFEST)
        if self._manifest is None:
            raise ReadError(self.name, NO_SAMPLE)
        return self._manifest

    def read(self, key: str, size: int, start: int = 0, stop: int | None = None) -> bytes:
        """See `Files`."""
        stop = size if stop is None else stop
        if start >= stop:
            return b""
        whole = start == 0 and stop == size
        # Asked without a range, a place says also when there is more.
        data = self._get(key) if whole else self._get(key, start, stop)
        if data is None:
            raise ReadError(self.name, "is missing", place=key)
        if len(data) == size and not whole:
            data = data[start:stop]  # a web server that knows no ranges
        if len(data) != stop - start:
            raise ReadError(
                self.name, f"gave {len(data)} bytes", place=key, expected=str(stop - start)
            )
        return data

    def sizes(self) -> None:
        """None: every file would be a question."""

    def replaced(self) -> bool:
        """See `Files`."""
        with suppress(ReadError):
            return self._get(MANIFEST) != self._manifest
        return False

    def close(self) -> None:
        """See `Files`."""

    def _get(self, key: str, start: int | None = None, stop: int | None = None) -> bytes | None:
        """Some bytes of a file; None where there is no such file."""
        try:
            data: bytes = self._system.cat_file(self._url(key), start=start, end=stop)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except _failures() as why:
            raise ReadError(self.name, f"cannot be read: {_said(why)}", place=key) from why
        return data

    def _url(self, key: str) -> str:
        # Over the web a name is part of an address, in which "%" means something.
        return f"{self._root}/{quote(key) if self._web else key}"


@contextmanager
def remotely_placed(url: str) -> Iterator[tuple[Path, str]]:
    """A directory to write into, and the prefix of its files, which are put in place at the end.

    Raises:
        MissingPackage: fsspec, or what it needs for this protocol, is not installed.
        WriteError: the place refuses. What was there stays as it was.
    """
    try:
        system, root = _system(url)
    except ValueError as why:
        raise WriteError(url, str(why)) from None
    prefix = f"data-{int(time.time()):08x}{secrets.token_hex(4)}"
    try:
        with TemporaryDirectory(prefix="meshkit-") as made:
            folder = Path(made)
            yield folder, f"{prefix}/"
            try:
                _put(system, root, prefix, folder)
            except _failures() as why:
                raise WriteError(url, f"cannot be written: {_said(why)}") from why
    except OSError as why:
        raise WriteError(url, f"cannot be written: {_said(why)}") from None


def _put(system: Any, root: str, prefix: str, folder: Path) -> None:
    """Put all files but the manifest under the prefix, then the manifest; then the old go."""
    manifest = folder / MANIFEST
    files = [p for p in folder.rglob("*") if p.is_file() and p != manifest]
    names = [f"{root}/{prefix}/{p.relative_to(folder).as_posix()}" for p in files]
    old = _superseded(system, root)
    whole = False
    try:
        system.put([str(p) for p in files], names)
        whole = True
    finally:
        if not whole:
            _remove(system, f"{root}/{prefix}")
    _commit(system, f"{root}/{MANIFEST}", manifest.read_bytes())
    for name in old:
        _remove(system, f"{root}/{name}")


def _commit(system: Any, path: str, manifest: bytes) -> None:
    """Put the manifest; an error only where it is not there.

    An answer may be lost on its way back: then a look tells. Where that fails too, the files stay.
    """
    try:
        system.pipe_file(path, manifest)
    except _failures():
        if _found(system, path) != manifest:
            raise


def _found(system: Any, path: str) -> bytes | None:
    """A file, or None where there is none or nobody answers."""
    with suppress(*_failures()):
        data: bytes = system.cat_file(path)
        return data
    return None


def _superseded(system: Any, root: str) -> list[str]:
    """The prefixes that nobody needs after the next commit.

    That of the present manifest, and those that no manifest names and that were begun a day ago:
    their writers were killed.
    """
    system.invalidate_cache()
    try:
        entries = system.ls(root, detail=False)
    except FileNotFoundError:
        return []
    present = ""
    with suppress(ReadError):
        present = parse(root, _found(system, f"{root}/{MANIFEST}") or b"").root.rstrip("/")
    out = []
    for entry in entries:
        name = entry.rstrip("/").rpartition("/")[2]
        found = PREFIX.fullmatch(name)
        if found and (name == present or time.time() - int(found[1], 16) > _DAY):
            out.append(name)
    return out


def _remove(system: Any, path: str) -> None:
    # What cannot be removed costs room and harms nobody.
    with suppress(*_failures()):
        system.rm(path, recursive=True)


def _failures() -> tuple[type[Exception], ...]:
    """What a place that does not work may raise: only a library that is loaded has raised."""
    loaded = ((sys.modules.get(module), name) for module, name in _OF_LIBRARIES)
    theirs = (getattr(module, name, None) for module, name in loaded)
    return (*(x for x in theirs if x is not None), OSError, ValueError, RuntimeError)


def _system(url: str) -> tuple[Any, str]:
    """The file system of a place, and the path in it.

    Raises:
        MissingPackage: a package is not installed.
        ValueError: there is no such protocol.
    """
    try:
        import fsspec

        system, root = fsspec.core.url_to_fs(url)
    except ImportError as why:
        raise MissingPackage(url, "meshkit[remote]") from why
    return system, root.rstrip("/")


def _said(why: BaseException) -> str:
    return (why.strerror if isinstance(why, OSError) else None) or str(why) or type(why).__name__
