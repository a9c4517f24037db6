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
    `ignored` counts files in input directories that no format claims, `parts` those that were
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
) -> Plan:
    """The cases that inputs and OUT mean.

    Args:
        inputs: files, directories (searched to the bottom, hidden files left out) and patterns
            ("*", "?", "[...]", "**").
        out: the output file, or the directory of output files.
        suffix: of output files in a directory; None if the user did not say, then ".npz", and
            one input goes to one file.
        suffixes: which files in a directory are meshes; lower case.
        made: the files that earlier runs wrote in a folder; a search does not take them as input.

    Raises:
        Misuse: nothing is found, two inputs have one output, or an output is an input.
    """
    searched = [_is_search(given) for given in inputs]
    target = Path(out)
    into = _is_folder(out, suffix, suffixes, several=len(inputs) > 1 or any(searched))
    folder = target if into else target.parent
    mine = made(folder)
    found: dict[Path, _Found] = {}
    ignored = 0
    for given, search in zip(inputs, searched, strict=True):
        some = list(_search(given, target if into else None) if search else [_named(given)])
        for one in some:
            key = Path(os.path.abspath(one.path))
            if not one.named and key in mine:
                continue
            if not one.named and one.path.suffix.lower() not in suffixes:
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
        Case(one.path, target / one.below.with_suffix(suffix or ".npz") if into else target)
        for one in chosen
    )
    _refuse_collisions(cases, pieces)
    return Plan(cases, folder, ignored, len(found) - len(chosen))


def _is_folder(out: str, suffix: str | None, suffixes: frozenset[str], *, several: bool) -> bool:
    """Whether OUT is the directory of the outputs, and not the output itself."""
    target = Path(out)
    if out.endswith(os.sep) or target.is_dir():
        return True
    said = target.suffix.lower()
    if several:
        if target.exists():
            raise Misuse(f"{out}: is a file, expected a directory for the outputs")
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


def _is_search(given: str) -> bool:
    if Path(given).is_dir():
        return True
    return bool(_WILD & set(given)) and not os.path.lexists(given)


def _named(given: str) -> _Found:
    return _Found(Path(given), Path(Path(given).name), named=True)


def _search(given: str, out: Path | None) -> Iterator[_Found]:
    """The files below a directory, or that a pattern names, in the order of their names."""
    root = Path(given)
    if root.is_dir():
        for path in _files_below(root, out):
            yield _Found(path, path.relative_to(root), named=False)
        return
    fixed = []
    for part in root.parts[:-1]:
        if _WILD & set(part):
            break
        fixed.append(part)
    root = Path(*fixed)
    matched: dict[Path, None] = {}
    for name in sorted(glob.iglob(given, recursive=True)):
        path = Path(name)
        for file in _files_below(path, out) if path.is_dir() and "**" not in given else [path]:
            if file.is_file():
                matched[file] = None
    for path in matched:
        yield _Found(path, path.relative_to(root), named=False)


def _files_below(root: Path, out: Path | None) -> Iterator[Path]:
    """All files to the bottom, sorted; no hidden ones, no directory twice, not what is in `out`."""
    outside = None if out is None else os.path.realpath(out)
    seen = {os.path.realpath(root)}
    for folder, folders, files in os.walk(root, followlinks=True):
        fresh = []
        for name in sorted(folders):
            real = os.path.realpath(os.path.join(folder, name))
            if not name.startswith(".") and real not in seen and real != outside:
                seen.add(real)
                fresh.append(name)
        folders[:] = fresh
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


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
