"""The faces of the polyhedra of VTKHDF files.

vtkHDFWriter of VTK 9.7 writes nothing of faces for parts without polyhedra, so that the rows that
count faces are those of the other parts alone (vtkHDFReader cannot read these files); and for
several parts over time it says wrongly where the faces of a time begin. Both are mended here: rows
of faces follow each other in the order of the parts that have polyhedra.

Source: VTK File Formats, VTKHDF: polyhedra (2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from meshkit.celltypes import POLYHEDRON
from meshkit.errors import ReadError
from meshkit.readers.vtk.objects import solids_of
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.rows import Numbers, before, counts, ids, need_rows, offsets, split
from meshkit.readers.vtkhdf.steps import Step

_MOST_SHARED: Final = 16  # a face belongs to two cells; more often only in damaged files
# What counts the rows of three datasets, and where the group of times says that they begin.
_COUNTED: Final = {
    "NumberOfFaceConnectivityIds": "FaceConnectivityOffsets",
    "NumberOfFaces": "FaceOffsetsOffsets",
    "NumberOfPolyhedronToFaceIds": "PolyhedronToFaceIdOffsets",
}

Solids = tuple[Numbers, Numbers, Numbers]


def said_starts(step: Step) -> tuple[tuple[int, ...] | None, ...]:
    """What the group of times says of where faces begin; it changes when the faces do."""
    if not step.group.has("FaceConnectivity"):
        return ()
    return tuple(_said(step, name) for name in _COUNTED.values())


def solids(
    step: Step, parts: range, cell_start: int, kinds: Sequence[Numbers]
) -> list[Solids | None]:
    """The faces of each part's polyhedra, each polyhedron its own; None for parts without.

    Args:
        step: which time of which data set.
        parts: those of this time, among all parts of the file.
        cell_start: where their cells begin.
        kinds: the types of the cells of each part.

    Raises:
        ReadError: faces are missing, or contradict each other.
    """
    group = step.group
    with_faces = [bool((types == POLYHEDRON).any()) for types in kinds]
    if not any(with_faces) or not group.has("FaceConnectivity"):
        return [None] * len(kinds)
    if len(group.need("NumberOfFaces")) == len(group.need("NumberOfCells")):
        where = _as_said(step, parts, cell_start, kinds)
        try:
            return _read(group, where, kinds, with_faces)
        except ReadError:
            if step.index is None or len(parts) == 1:
                raise
    chosen = [types for types, has in zip(kinds, with_faces, strict=True) if has]
    found = iter(_read(group, _in_order(group, parts, len(chosen)), chosen, [True] * len(chosen)))
    return [next(found) if has else None for has in with_faces]


@dataclass(frozen=True)
class _Where:
    """Where the faces of some parts are."""

    rows: range  # of what counts them
    starts: tuple[int, ...]  # of points of faces, faces, faces of cells
    places: int  # where the cells begin, in offsets that have a row more for each part before
    parts_before: int


def _said(step: Step, name: str) -> tuple[int, ...] | None:
    steps = step.steps
    stored = None if steps is None else steps.find(name)
    short = stored is not None and len(stored) <= (step.index or 0)
    return None if short else step.said(name)


def _as_said(step: Step, parts: range, cell_start: int, kinds: Sequence[Numbers]) -> _Where:
    """As the format has it: a row for each part, and the group of times says where they begin."""
    starts = []
    for counted, name in _COUNTED.items():
        said = _said(step, name)
        starts.append(said[0] if said else before(step.group, counted, parts))
    return _Where(parts, tuple(starts), cell_start, parts.start)


def _in_order(group: Group, parts: range, count: int) -> _Where:
    """A row for each part that has polyhedra, one after the other."""
    n_cells = counts(group, "NumberOfCells", range(parts.stop))
    types = split(ids(group.need("Types"), 0, sum(n_cells)), n_cells)
    earlier = [n for n, kinds in zip(n_cells, types[: parts.start], strict=False) if _any(kinds)]
    rows = range(len(earlier), len(earlier) + count)
    starts = tuple(before(group, counted, rows) for counted in _COUNTED)
    return _Where(rows, starts, sum(earlier), len(earlier))


def _any(types: Numbers) -> bool:
    return bool((types == POLYHEDRON).any())


def _read(
    group: Group, where: _Where, kinds: Sequence[Numbers], with_faces: Sequence[bool]
) -> list[Solids | None]:
    n_ids, n_faces, n_rows = (counts(group, name, where.rows) for name in _COUNTED)
    cells = [len(types) for types in kinds]
    before_these = range(where.parts_before, where.parts_before + len(kinds))
    of_faces = split(ids(group.need("FaceConnectivity"), where.starts[0], sum(n_ids)), n_ids)
    ends = offsets(group.need("FaceOffsets"), where.starts[1], where.rows, n_faces, n_ids)
    rows = split(ids(group.need("PolyhedronToFaces"), where.starts[2], sum(n_rows)), n_rows)
    places = offsets(group.need("PolyhedronOffsets"), where.places, before_these, cells, n_rows)
    out: list[Any] = []
    for i, types in enumerate(kinds):
        need_rows(group.need("FaceOffsets"), ends[i], n_ids[i])
        need_rows(group.need("PolyhedronOffsets"), places[i], n_rows[i])
        if len(rows[i]) and (rows[i].min() < 0 or rows[i].max() >= n_faces[i]):
            raise group.need("PolyhedronToFaces").error(
                f"says face {rows[i].min()} to {rows[i].max()}",
                expected=f"0 to {n_faces[i] - 1}",
            )
        if int(np.diff(ends[i])[rows[i]].sum()) > _MOST_SHARED * (len(of_faces[i]) + 1000):
            raise group.need("PolyhedronToFaces").error(
                "names faces again and again", expected="a face at most twice"
            )
        made = solids_of(types, places[i], rows[i], ends[i], of_faces[i])
        out.append(made if with_faces[i] else None)
    return out
