"""Which files are converted, and to where: decided before anything runs."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from meshkit.cli.misuse import Misuse
from meshkit.cli.parts import parts_of


@dataclass(frozen=True, slots=True)
class Case:
    """One file to read and the file to write."""

    input: Path
    output: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command line asks for.

    `folder` is where the record of done cases lies: OUT, or the directory OUT lies in.
    `ignored` counts what is in input directories that no format claims, `parts` the files that were
    found there but belong to another case (a piece of a pvtu).
    """

    cases: tuple[Case, ...]
    folder: Path
    ignored: int = 0
    parts: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    below: Path  # the path from the input directory; the name alone of a named file
    named: bool  # the user named this file, and not only where to look


_WILD: Final = frozenset("*?[")


def plan(
    inputs: Sequence[str],
    out: str,
    suffix: str | None,
    suffixes: frozenset[str],
    made: Callable[[Path], frozenset[Path]] = lambda folder: frozenset(),
    stores: frozenset[str] = frozenset(),
) -> Plan:
    """The cases that inputs and OUT mean.

    Args:
        inputs: files, directories (searched to the bottom, hidden files left out) and patterns
            ("*", "?", "[...]", "**").
        out: the output file, or the directory of output files.
        suffix: of output files in a directory; None if the user did not say, then ".zarr", and
            one input goes to one file.
        suffixes: which files in a directory are meshes; lower case.
        made: the files that earlier runs wrote in a folder; a search does not take them as input.
        stores: those of the suffixes that directories have which are one case, and not searched.

    Raises:
        Misuse: nothing is found, two inputs have one output, or an output is an input or lies
            below a file.
    """
    for given in (*inputs, out):
        if "://" in given:
            raise Misuse(
                f"{given}: is a remote place, expected a path; mk.read and mk.write take it"
            )
    searched = [_is_search(given, stores) for given in inputs]
    target = Path(out)
    several = len(inputs) > 1 or any(searched)
    into = _is_folder(out, suffix, suffixes, stores, several=several)
    folder = target if into else target.parent
    mine = made(folder)
    found: dict[Path, _Found] = {}
    ignored = 0
    for given, search in zip(inputs, searched, strict=True):
        out_of_search = target if into else None
        some = list(_search(given, out_of_search, stores) if search else [_named(given)])
        for one in some:
            key = Path(os.path.abspath(one.path))
            if not one.named and key in mine:
                continue
            if not one.named and not _is_mesh(one.path, suffixes) and not is_foam(one.path):
                ignored += 1
                continue
            known = found.get(key, one)
            found[key] = replace(known, named=known.named or one.named)
        if not some:
            raise Misuse(f"{given}: no input found")
    pieces = {Path(os.path.abspath(p)) for one in found.values() for p in parts_of(one.path)}
    chosen = [one for key, one in found.items() if one.named or key not in pieces]
    if not chosen:
        raise Misuse(f"{', '.join(inputs)}: no input found ({ignored} files are no meshes)")
    cases = tuple(
        Case(one.path, target / _renamed(one, suffix or ".zarr") if into else target)
        for one in chosen
    )
    _refuse_collisions(cases, pieces)
    _need_folders(cases)
    return Plan(cases, folder, ignored, len(found) - len(chosen))


def _renamed(found: _Found, suffix: str) -> Path:
    """The path below OUT with another suffix; the name of a case has none (run_0.5)."""
    if found.path.is_dir() and is_foam(found.path):
        return found.below.with_name(found.below.name + suffix)
    return found.below.with_suffix(suffix)


def _is_mesh(path: Path, suffixes: frozenset[str]) -> bool:
    """Whether what a search found is taken: not by another name, and no pipe, socket or device.

    A link to nothing is: that it leads nowhere should be said.
    """
    if path.suffix.lower() not in suffixes:
        return False
    return path.is_file() or path.is_dir() or not path.exists()


def _is_store(path: Path, stores: frozenset[str]) -> bool:
    """Whether a directory is a store, by its suffix."""
    return path.suffix.lower() in stores and path.is_dir()


def is_foam(path: Path) -> bool:
    """Whether a directory is a case of OpenFOAM, which has no suffix."""
    mesh, case = path / "constant" / "polyMesh", path / "constant"
    decomposed = path / "processor0"
    return mesh.is_dir() or (case.is_dir() and (path / "system").is_dir()) or decomposed.is_dir()


def _is_whole(path: Path, stores: frozenset[str]) -> bool:
    """Whether a directory is one case, which a search takes as it is."""
    return _is_store(path, stores) or (path.is_dir() and is_foam(path))


def _is_folder(
    out: str,
    suffix: str | None,
    suffixes: frozenset[str],
    stores: frozenset[str],
    *,
    several: bool,
) -> bool:
    """Whether OUT is the directory of the outputs, and not the output itself."""
    target = Path(out)
    if not _is_store(target, stores) and (out.endswith(os.sep) or target.is_dir()):
        return True
    said = target.suffix.lower()
    if several:
        if target.exists():
            what = "store" if target.is_dir() else "file"
            raise Misuse(f"{out}: is a {what}, expected a directory for the outputs")
        if said in suffixes:
            raise Misuse(
                f"{out}: is the name of a file, expected a directory for the outputs of several "
                "inputs; end it with / if it is one"
            )
        return True
    if suffix is None or (said in suffixes and said == suffix):
        return False
    if said in suffixes:
        raise Misuse(f"{out}: has another suffix than --to, which makes {suffix} files")
    return True


def _is_search(given: str, stores: frozenset[str]) -> bool:
    if Path(given).is_dir():
        return not _is_whole(Path(given), stores)
    return bool(_WILD & set(given)) and not os.path.lexists(given)


def _named(given: str) -> _Found:
    path = Path(given)
    # "." and ".." have no name of their own.
    name = path.name if path.name not in ("", "..") else path.resolve().name
    return _Found(path, Path(name), named=True)


def _search(given: str, out: Path | None, stores: frozenset[str]) -> Iterator[_Found]:
    """The files below a directory, or that a pattern names, in the order of their names."""
    root = Path(given)
    if root.is_dir():
        for path in _files_below(root, out, stores):
            yield _Found(path, path.relative_to(root), named=False)
        return
    fixed = []
    for part in root.parts[:-1]:
        if _WILD & set(part):
            break
        fixed.append(part)
    root = Path(*fixed)
    matched: dict[Path, None] = {}
    for name in sorted(_matches(given, out, stores)):
        path = Path(name)
        if any(_is_whole(folder, stores) for folder in path.parents):
            continue
        search = path.is_dir() and "**" not in given and not _is_whole(path, stores)
        for file in _files_below(path, out, stores) if search else [path]:
            if file.is_file() or _is_whole(file, stores):
                matched[file] = None
    for path in matched:
        yield _Found(path, path.relative_to(root), named=False)


def _matches(pattern: str, out: Path | None, stores: frozenset[str]) -> Iterator[str]:
    """What a pattern names; "**" goes where a search of a directory goes, and into no loop."""
    parts = pattern.split(os.sep)
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    at = parts.index("**")
    head, tail = os.sep.join(parts[:at]), os.sep.join(parts[at + 1 :]) or "*"
    for root in glob.iglob(head + os.sep) if head or at else (os.curdir,):
        for folder, _ in _folders_below(Path(root), out, stores):
            inside = "" if folder == os.curdir else glob.escape(folder)
            yield from _matches(os.path.join(inside, tail), out, stores)


def _files_below(root: Path, out: Path | None, stores: frozenset[str]) -> Iterator[Path]:
    """All files and stores to the bottom, sorted.

    No hidden ones, no directory twice, not what is in `out` or in a store.
    """
    for folder, names in _folders_below(root, out, stores):
        yield from (Path(folder, name) for name in names)


def _folders_below(
    root: Path, out: Path | None, stores: frozenset[str]
) -> Iterator[tuple[str, list[str]]]:
    """The directories to the bottom, each with the names of its files and stores."""
    outside = None if out is None else os.path.realpath(out)
    seen = {os.path.realpath(root)}
    for folder, folders, files in os.walk(root, followlinks=True):
        fresh = []
        shown = {name for name in folders if not name.startswith(".")}
        whole = {name for name in shown if _is_whole(Path(folder, name), stores)}
        for name in sorted(shown - whole):
            real = os.path.realpath(os.path.join(folder, name))
            if real not in seen and real != outside:
                seen.add(real)
                fresh.append(name)
        folders[:] = fresh
        yield folder, sorted({name for name in files if not name.startswith(".")} | whole)


def _refuse_collisions(cases: Iterable[Case], pieces: Iterable[Path]) -> None:
    cases = list(cases)
    inputs = {os.path.realpath(case.input): case.input for case in cases}
    inputs |= {os.path.realpath(piece): piece for piece in pieces}
    taken: dict[str, Path] = {}
    for case in cases:
        real = os.path.realpath(case.output)
        if real in inputs:
            raise Misuse(f"{case.output}: is an input ({inputs[real]}); expected another output")
        if real in taken:
            raise Misuse(
                f"{case.output}: is the output of two inputs, {taken[real]} and {case.input}; "
                "convert them apart"
            )
        taken[real] = case.input


def _need_folders(cases: Iterable[Case]) -> None:
    """Refuse outputs below what is no directory."""
    fine: set[Path] = set()
    for case in cases:
        for folder in case.output.parents:
            if folder in fine:
                break
            fine.add(folder)
            if os.path.lexists(folder):
                if not folder.is_dir():
                    raise Misuse(f"{case.output}: {folder} is no directory")
                break
