"""What lies where in a case: times, regions, processors.

Source: OpenFOAM user guide, "File structure of OpenFOAM cases".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from meshkit.errors import ReadError
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.poly_mesh import Places, mesh_folder

DEFAULT_REGION: Final = "region0"
_TIME: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_PROCESSOR: Final = re.compile(r"processor(\d+)")
_COLLATED: Final = re.compile(r"processors(\d*)(?:_(\d+)-(\d+))?")


@dataclass(frozen=True)
class Time:
    """A time and the directory it lies in."""

    value: float
    name: str


@dataclass(frozen=True)
class Case:
    """A case as it lies on disk.

    Args:
        path: what was asked for.
        folder: the directory with system/ and constant/, or a processor's.
        processors: those that a decomposed case is read from; () where it is read whole.
        times: ascending.
        serial: the names of the times that are read whole.
        regions: names; None is the one mesh of a case without named regions.
        bare: the path is a polyMesh folder: there is a mesh and nothing else.
    """

    path: Path
    folder: Folder
    processors: tuple[Folder, ...]
    times: tuple[Time, ...]
    serial: frozenset[str]
    regions: tuple[str | None, ...]
    bare: bool = False

    def folders(self, time: Time | None) -> tuple[Folder, ...]:
        """What is read at a time: the case, or its processors."""
        whole = not self.processors or (time is not None and time.name in self.serial)
        return (self.folder,) if whole else self.processors

    def places(self, folder: Folder, region: str | None, time: Time | None) -> Places:
        """Where the mesh of a region may lie at a time: then, before, in constant/."""
        if self.bare:
            return Places(folder, ("",))
        names = [] if time is None else [t.name for t in self.times if t.value <= time.value]
        there = set(folder.names())
        below = [mesh_folder(name, region) for name in reversed(names) if name in there]
        return Places(folder, (*below, mesh_folder("constant", region)))


def find_case(path: Path) -> Case:
    """The case that a directory, a .foam file in it, a polyMesh folder or a processor's means.

    Raises:
        ReadError: it is none.
    """
    at = path if path.is_dir() else path.parent
    bare = Folder(at, at)
    names = set(bare.names())
    if {"faces", "owner", "neighbour"} <= names:
        return Case(path, bare, (), (), frozenset(), (None,), bare=True)
    if _PROCESSOR.fullmatch(at.name) and "constant" in names:
        folder = Folder(at, at.parent, label=at.name)
        return _case(path, folder, ())
    if _COLLATED.fullmatch(at.name):
        parent = Folder(at.parent, at.parent)
        return _case(path, parent, _blocks([at], parent), only_parts=True)
    folder = Folder(at, at)
    return _case(path, folder, _processors(folder))


def _case(
    path: Path, folder: Folder, processors: tuple[Folder, ...], *, only_parts: bool = False
) -> Case:
    whole = [] if only_parts else _times(folder)
    regions = [] if only_parts else _regions(folder, whole)
    serial = {t.name for t in whole} if regions else set()
    times = {t.value: t for t in whole} if regions else {}
    if processors:
        parts = _times(processors[0])
        regions = regions or _regions(processors[0], parts)
        beyond = [t for t in parts if t.value not in times]
        times |= {t.value: t for t in beyond}
        processors = processors if beyond or not serial else ()
    if not regions:
        raise ReadError(
            path,
            "holds no mesh of OpenFOAM",
            expected="constant/polyMesh in its directory, or in processor0/",
            hint="blockMesh or another mesher makes it",
        )
    ordered = tuple(times[value] for value in sorted(times))
    return Case(path, folder, processors, ordered, frozenset(serial), tuple(regions))


def _times(folder: Folder) -> list[Time]:
    """The directories that are named like a number; of two of one value the first by name."""
    found: dict[float, Time] = {}
    for name in folder.names():
        if _TIME.fullmatch(name) and (folder.path / name).is_dir():
            value = float(name)
            if math.isfinite(value):
                found.setdefault(value, Time(value, name))
    return list(found.values())


def _regions(folder: Folder, times: list[Time]) -> list[str | None]:
    """The meshes there are, that of the case itself (None) first; [] without any."""
    named: set[str] = set()
    single = False
    for instance in ("constant", *(t.name for t in times)):
        for name in folder.names(instance):
            if name == "polyMesh":
                single = single or (folder.path / instance / name).is_dir()
            elif (folder.path / instance / name / "polyMesh").is_dir():
                named.add(name)
    return [*([None] if single else []), *sorted(named)]


def _processors(folder: Folder) -> tuple[Folder, ...]:
    """The processors' directories, or the blocks of collated ones; () without any."""
    names = folder.names()
    numbers = sorted(int(m[1]) for n in names if (m := _PROCESSOR.fullmatch(n)))
    numbers = [n for n in numbers if (folder.path / f"processor{n}").is_dir()]
    if numbers:
        if numbers != list(range(len(numbers))):
            missing = next(i for i, n in enumerate(numbers) if n != i)
            raise folder.missing(f"processor{missing}", "processors are numbered from 0 on")
        return tuple(
            Folder(folder.path / f"processor{n}", folder.path, label=f"processor{n}")
            for n in numbers
        )
    collated = [folder.path / n for n in names if _COLLATED.fullmatch(n)]
    sizes = {m[1] for p in collated if (m := _COLLATED.fullmatch(p.name))}
    if len(sizes) > 1:
        raise ReadError(
            folder.path, f"holds {', '.join(p.name for p in collated)}",
            expected="one decomposition", hint="read one of them",
        )  # fmt: skip
    return _blocks(collated, folder)


def _blocks(collated: list[Path], folder: Folder) -> tuple[Folder, ...]:
    """Each processor of collated directories, in order of their numbers."""
    rows: list[tuple[int, Folder]] = []
    for path in collated:
        found = _COLLATED.fullmatch(path.name)
        if found is None:
            continue
        first = int(found[2] or 0)
        shared = Folder(path, folder.path, 0)
        count = int(found[3]) - first + 1 if found[3] else int(found[1] or 0)
        count = count or len(_containers(shared))
        if not 0 < count <= 1 << 20:
            raise ReadError(path, f"stands for {count} processors", expected="1 or more")
        for block in range(count):
            label = f"{path.name}, processor {first + block}"
            rows.append((first + block, Folder(path, folder.path, block, label, shared.blocks)))
    rows.sort(key=lambda row: row[0])
    if [n for n, _ in rows] != list(range(len(rows))):
        raise ReadError(
            folder.path, f"its processors* hold {[n for n, _ in rows][:20]}",
            expected="each processor once",
        )  # fmt: skip
    return tuple(part for _, part in rows)


def _containers(folder: Folder) -> list[tuple[int, int]]:
    """The blocks of the owners' file of any mesh below "processors", which says no number."""
    found = sorted(folder.path.glob("constant/**/owner*"))
    return folder.blocks_of(found[0]) if found else []
