"""constant/polyMesh: points, faces with owner and neighbour, patches.

Source: OpenFOAM user guide, "Mesh description".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.openfoam.entries import Dictionary
from meshkit.readers.openfoam.face_lists import read_faces
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.header import Header
from meshkit.readers.openfoam.lists import Array, read_list
from meshkit.readers.openfoam.plain_settings import plain
from meshkit.readers.openfoam.scanner import Scanner
from meshkit.report import Ledger


@dataclass(frozen=True)
class Patch:
    """A part of the boundary: its faces, and what the boundary file says of it."""

    name: str
    faces: Array  # ids, ascending
    settings: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its type: "wall", "patch", "empty", "processor", ..."""
        return str(self.settings.get("type", "patch"))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups it says it is in."""
        found = self.settings.get("inGroups", ())
        return tuple(map(str, found)) if isinstance(found, list) else (str(found),)


@dataclass(frozen=True)
class RawMesh:
    """Topology as OpenFOAM has it: faces first those between two cells."""

    offsets: Array  # int [n_faces + 1]
    rings: Array  # int [..]: point ids
    owner: Array  # int [n_faces]
    neighbour: Array  # int [n_faces], -1 on the boundary
    n_internal: int
    n_cells: int
    n_points: int
    patches: tuple[Patch, ...]

    @property
    def n_faces(self) -> int:
        """How many faces."""
        return len(self.owner)


def mesh_folder(instance: str, region: str | None) -> str:
    """Where the mesh of a region lies at a time (or "constant")."""
    return f"{instance}/{region}/polyMesh" if region else f"{instance}/polyMesh"


@dataclass(frozen=True)
class Places:
    """In which directories the files of a mesh may lie, the one to ask first in front."""

    folder: Folder
    below: tuple[str, ...]

    def find(self, name: str, beyond: str | None = None) -> str | None:
        """The place of a file: in the first directory that has it, none beyond one."""
        for below in self.below:
            where = f"{below}/{name}" if below else name
            if self.folder.find(where) is not None:
                return where
            if below == beyond:
                return None
        return None

    def need(self, name: str) -> str:
        """The place of a file that must be there.

        Raises:
            ReadError: no directory has it.
        """
        found = self.find(name)
        if found is None:
            last = self.below[-1]
            raise self.folder.missing(f"{last}/{name}" if last else name)
        return found


def read_points(places: Places) -> Array:
    """Points, float [n, 3].

    Raises:
        ReadError: the file is missing or damaged.
    """
    with places.folder.open(places.need("points")) as (scanner, header):
        return read_list(scanner, header.encoding, "vector").rows


def read_labels(folder: Folder, where: str) -> tuple[Array, Header]:
    """A list of labels and the head of its file.

    Raises:
        ReadError: the file is missing or damaged.
    """
    with folder.open(where) as (scanner, header):
        found = read_list(scanner, header.encoding, "label")
        if found.uniform:
            need = found.count
            if need > 1 << 24:
                raise scanner.error(f"one label for {need} rows", expected="a list of labels")
            return np.repeat(found.rows, need), header
        return found.rows, header


def read_topology(places: Places, n_points: int, ledger: Ledger) -> RawMesh:
    """Faces, owners, neighbours and patches; ids are in range, and each face has its owner.

    Raises:
        ReadError: a file is missing or damaged, or counts and ids contradict each other.
    """
    folder = places.folder
    at = places.need("faces")
    with folder.open(at) as (scanner, header):
        offsets, rings = read_faces(scanner, header)
        n_faces = len(offsets) - 1
        _need_range(scanner, "a face names point", rings, 0, n_points)
    beside = at.removesuffix("faces")
    owner, noted = read_labels(folder, f"{beside}owner")
    neighbour, _ = read_labels(folder, f"{beside}neighbour")
    path = folder.find(f"{beside}owner") or folder.path
    n_cells = _cells(path, owner, neighbour, noted.note, n_faces)
    neighbour, n_internal = _completed(folder, f"{beside}neighbour", neighbour, n_faces)
    same = np.flatnonzero(owner == neighbour)
    if len(same):
        raise ReadError(
            path, f"face {same[0]} has cell {owner[same[0]]} as owner and as neighbour",
            expected="two cells",
        )  # fmt: skip
    where = places.find("boundary") or f"{beside}boundary"
    patches = _patches(folder, where, n_internal, n_faces, ledger)
    return RawMesh(offsets, rings, owner, neighbour, n_internal, n_cells, n_points, patches)


def _need_range(scanner: Scanner, what: str, ids: Array, low: int, stop: int) -> None:
    if len(ids) and (int(ids.min()) < low or int(ids.max()) >= stop):
        at = int(np.flatnonzero((ids < low) | (ids >= stop))[0])
        raise ReadError(
            scanner.name, f"{what} {ids[at]}", place=f"entry {at}",
            expected=f"ids from {low} to {stop - 1}",
        )  # fmt: skip


_NOTED: Final = re.compile(r"\bnCells:\s*(\d+)")


def _cells(path: Any, owner: Array, neighbour: Array, note: str, n_faces: int) -> int:
    """How many cells there are: as many as owners and neighbours name."""
    if len(owner) != n_faces:
        raise ReadError(path, f"has {len(owner)} owners of {n_faces} faces", expected="one a face")
    if len(owner) and int(owner.min()) < 0:
        face = int(np.flatnonzero(owner < 0)[0])
        raise ReadError(path, f"the owner of face {face} is {owner[face]}", expected="a cell")
    count = max(int(owner.max(initial=-1)), int(neighbour.max(initial=-1))) + 1
    said = _NOTED.search(note)
    # A solid has four faces, and a face two sides.
    most = n_faces // 2 + 1 if said is None else min(int(said[1]), n_faces)
    if count > most:
        raise ReadError(
            path,
            f"cell {count - 1} is named, of {most} cells"
            if said is not None
            else f"cell {count - 1} is named, more than {n_faces} faces can bound",
            expected=f"owners and neighbours below {most}",
        )
    return count


def _completed(folder: Folder, where: str, given: Array, n_faces: int) -> tuple[Array, int]:
    """Neighbours with -1 on the boundary, and how many faces are between two cells."""
    path = folder.find(where) or folder.path
    n = len(given)
    if n > n_faces:
        raise ReadError(path, f"has {n} neighbours", expected=f"{n_faces} at most, one a face")
    negative = np.flatnonzero(given < 0)
    n_internal = int(negative[0]) if len(negative) else n
    if (given[n_internal:] != -1).any():
        face = n_internal + int(np.flatnonzero(given[n_internal:] != -1)[0])
        raise ReadError(
            path, f"the neighbour of face {face} is {given[face]}",
            expected="cells of the faces between two cells first, then only -1",
        )  # fmt: skip
    out = np.full(n_faces, -1, given.dtype)
    out[:n] = given
    return out, n_internal


# --- patches --------------------------------------------------------------------------------------


def read_named(folder: Folder, where: str) -> list[tuple[str, Dictionary]]:
    """A file that lists dictionaries: "2 ( a { ... } b { ... } )".

    Raises:
        ReadError: the file is missing or damaged, or lists another number than it says.
    """
    with folder.open(where) as (scanner, header):
        parser = folder.parser(scanner, header.encoding)
        count = None
        if scanner.peek() != b"(":
            token = scanner.token()
            count = None if token is None else token.value
            if not isinstance(count, int) or count < 0:
                raise scanner.error(f"the size of the list is {count!r}", expected="a count")
            if count == 0 and scanner.peek() != b"(":
                return []
        scanner.expect(b"(", "the list")
        named = parser.named(")")
        if count is not None and len(named) != count:
            raise scanner.error(f"a list of {count} has {len(named)} entries")
        return named


def _patches(
    folder: Folder, where: str, n_internal: int, n_faces: int, ledger: Ledger
) -> tuple[Patch, ...]:
    path = folder.path / where
    found: list[Patch] = []
    taken = np.zeros(n_faces - n_internal, np.bool_)
    for name, entry in read_named(folder, where):
        start, size = entry.number("startFace"), entry.number("nFaces")
        if not isinstance(start, int) or not isinstance(size, int):
            raise ReadError(
                path, f"patch {name!r} has startFace {start!r}, nFaces {size!r}",
                place=f"line {entry.line}", expected="two counts",
            )  # fmt: skip
        if size < 0 or (size and not n_internal <= start <= n_faces - size):
            raise ReadError(
                path, f"patch {name!r} has faces {start} to {start + size - 1}",
                place=f"line {entry.line}", expected=f"faces from {n_internal} to {n_faces - 1}",
            )  # fmt: skip
        rows = taken[start - n_internal : start - n_internal + size] if size else taken[:0]
        if rows.any():
            raise ReadError(
                path, f"patch {name!r} has faces of an earlier patch", place=f"line {entry.line}",
                expected="each face in one patch",
            )  # fmt: skip
        rows[...] = True
        if any(p.name == name for p in found):
            raise ReadError(path, f"patch {name!r} stands twice", place=f"line {entry.line}")
        ids = np.arange(start, start + size, dtype=np.int32 if n_faces < 1 << 31 else np.int64)
        found.append(Patch(name, ids, plain(entry, ("startFace", "nFaces"))))
    lonely = int(np.count_nonzero(~taken))
    if lonely:
        ledger.kept("faces", "in no patch", lonely, "boundary faces that no patch names")
    return tuple(found)


def need_count(scanner: Scanner, what: str, found: int, expected: int) -> None:
    """Refuse a list of another length than the mesh needs.

    Raises:
        ReadError: the message says both.
    """
    if found != expected:
        raise scanner.error(f"{what} has {found} values", expected=str(expected))
