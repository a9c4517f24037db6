"""VTK XML files of one mesh in pieces, each piece a file (.pvtu, .pvtp)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.references import References
from meshkit.readers.vtk import VtkArray, VtkData
from meshkit.readers.vtk.arrays import refuse_unsound
from meshkit.readers.vtk.joining import joined
from meshkit.readers.vtk.markup import Element, opened
from meshkit.readers.vtk.objects import arrays_of
from meshkit.readers.vtk.selection import taken, used_points
from meshkit.readers.vtk.xml import field_arrays, read_data
from meshkit.report import Ledger

# vtkDataSetAttributes.h: the bit that says "owned by another piece"; levels are from before VTK 6.
_GHOSTS: Final = "vtkGhostType"
_LEVELS: Final = "vtkGhostLevels"
_DUPLICATE: Final = 1


def read_pieces(path: Path, kind: str, ledger: Ledger) -> VtkData:
    """The pieces that a file of this kind ("PUnstructuredGrid") names, as one.

    Ghost cells go with the points that only they used; they are owned by another piece. Points on
    seams stay once a piece, unless a point array with the role of global ids says which are one.

    Raises:
        ReadError: the file or a piece is damaged, or a piece is missing.
    """
    with opened(path) as markup:
        found = markup.root.attributes.get("type")
        grids = markup.root.all(kind)
        if found != kind or len(grids) != 1:
            raise markup.error(
                f"holds {len(grids)} <{kind}> and is of type {str(found)[:60]!r}",
                expected=f"one <{kind}>",
            )
        grid = grids[0]
        own: dict[str, VtkArray] = {}
        for section in grid.all("FieldData"):
            own |= field_arrays(markup, section, ledger)
    pieces = grid.all("Piece")
    if not pieces:
        raise ReadError(path, f"<{kind}> names no <Piece>")
    references = References()
    files = [
        references.file(
            path, piece.attributes.get("Source"), place=f"line {piece.line}", what=f"piece {i}"
        )
        for i, piece in enumerate(pieces)
    ]
    parts = []
    for file in files:
        data = read_data(file, kind[1:], ledger)
        refuse_unsound(data, file)
        parts.append(data)
    data = united(parts, [file.name for file in files], ledger)
    for name, array in own.items():
        data.field_arrays.setdefault(name, array)
    _count_missing(data, grid, ledger)
    return data


def united(parts: Sequence[VtkData], labels: Sequence[str], ledger: Ledger) -> VtkData:
    """The parts of one mesh, which each process wrote for itself, as one.

    Ghost cells go with the points that only they used; they are owned by another part. Points on
    seams stay once a part, unless a point array with the role of global ids says which are one.
    Sound data are taken for granted.
    """
    own = [_without_ghosts(p, label, ledger) for p, label in zip(parts, labels, strict=True)]
    data = joined(own, labels, ledger)
    _drop_marks(data, ledger)
    return _merged(data, ledger)


def _without_ghosts(data: VtkData, label: str, ledger: Ledger) -> VtkData:
    ghosts = np.zeros(len(data.types), np.bool_)
    marks, levels = data.cell_arrays.get(_GHOSTS), data.cell_arrays.get(_LEVELS)
    if marks is not None and not isinstance(marks.values, list) and marks.values.dtype.kind in "iu":
        ghosts |= (marks.values[:, 0] & _DUPLICATE) != 0
    if levels is not None and not isinstance(levels.values, list):
        ghosts |= levels.values[:, 0] > 0
    if not ghosts.any():
        return data
    before = used_points(data)
    cells = np.flatnonzero(~ghosts)
    kept = taken(data, cells, np.arange(len(data.points)))
    points = np.flatnonzero(used_points(kept) | ~before)
    reason = f"ghosts in {label}, owned by another piece"
    ledger.dropped("cells", "ghost", int(ghosts.sum()), reason, loss=False)
    gone = len(data.points) - len(points)
    if gone:
        reason = f"only ghost cells of {label} used them"
        ledger.dropped("points", "ghost", gone, reason, loss=False)
    return taken(data, cells, points)


def _drop_marks(data: VtkData, ledger: Ledger) -> None:
    """Without ghosts the arrays that mark them say nothing, unless they mark something else."""
    for home in ("point_data", "cell_data"):
        arrays = arrays_of(data, home)
        for name, mask in ((_GHOSTS, ~_DUPLICATE), (_LEVELS, 0)):
            array = arrays.get(name)
            if (
                array is None
                or isinstance(array.values, list)
                or array.values.dtype.kind not in "iu"
            ):
                continue
            if not (array.values.astype(np.int64) & mask).any():
                del arrays[name]
                reason = "marked ghosts, which are gone"
                ledger.dropped("field", f"{home}/{name}", len(array.values), reason, loss=False)


def _count_missing(data: VtkData, grid: Element, ledger: Ledger) -> None:
    """Arrays that the file promises and no piece has."""
    for tag, home in (("PPointData", "point_data"), ("PCellData", "cell_data")):
        for section in grid.all(tag):
            for element in section.all("PDataArray", "PArray", "DataArray", "Array"):
                name = element.attributes.get("Name", "")
                if name and name not in arrays_of(data, home) and name not in (_GHOSTS, _LEVELS):
                    reason = "declared, but in no piece"
                    ledger.dropped("field", f"{home}/{name}", 0, reason)


def _merged(data: VtkData, ledger: Ledger) -> VtkData:
    """Points of one global id become one, where they lie in one place."""
    array = next((a for a in data.point_arrays.values() if a.role == "global_ids"), None)
    if array is None or isinstance(array.values, list) or array.values.dtype.kind not in "iu":
        return data
    ids = array.values[:, 0]
    _, first, of = np.unique(ids, return_index=True, return_inverse=True)
    target = first[of.reshape(-1)]
    apart = (data.points != data.points[target]).any(1)
    if apart.any():
        reason = "not merged: points of one global id lie apart"
        ledger.converted("points", "", int(apart.sum()), reason)
        target = np.where(
            np.isin(of.reshape(-1), of.reshape(-1)[apart]), np.arange(len(ids)), target
        )
    double = target != np.arange(len(ids))
    if not double.any():
        return data
    for name, other in data.point_arrays.items():
        differing = _differing(other, np.flatnonzero(double), target[double])
        if differing:
            reason = "pieces differ at points that are merged; the first is kept"
            ledger.dropped("field", f"point_data/{name}", differing, reason)
    dtype = data.connectivity.dtype
    data.connectivity = target[data.connectivity].astype(dtype)
    if data.polyhedra is not None:
        of_cell, offsets, ids_of = data.polyhedra
        data.polyhedra = (of_cell, offsets, target[ids_of].astype(ids_of.dtype))
    ledger.converted("points", "", int(double.sum()), "merged: one global id, one place")
    return taken(data, np.arange(len(data.types)), np.flatnonzero(~double))


def _differing(array: VtkArray, a: NDArray[Any], b: NDArray[Any]) -> int:
    values = array.values
    if isinstance(values, list):
        return sum(values[i] != values[j] for i, j in zip(a.tolist(), b.tolist(), strict=True))
    x, y = values[a], values[b]
    equal = (x == y) | ((x != x) & (y != y))
    return int((~equal).any(1).sum())
