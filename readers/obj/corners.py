"""Texture vertices and normals: what the corners of the cells of an OBJ file refer to.

In a mesh they are values, not ids: where every point has one for all its corners the point
fields "texture" [n_points, 1 to 3] and "normals" [n_points, 3]; else the cell fields
"corner_texture" [n_cells, k, 1 to 3] and "corner_normals" [n_cells, k, 3], k the largest number
of corners of a cell that can have one, NaN beyond a cell's own corners and where one has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.celltypes import POLYGON
from meshkit.mesh import Mesh
from meshkit.readers.obj.elements import LINE, POLY_LINE, QUAD, TRIANGLE
from meshkit.readers.obj.lines import Ints
from meshkit.readers.padded_rows import MOST_PADDING, fits_padded, padded
from meshkit.report import Ledger

_FLOATS: Final = (torch.float32, torch.float64)


@dataclass(frozen=True)
class _Kind:
    """One of the two things that a corner may refer to."""

    word: str  # the keyword of its lines
    field: str  # of points; "corner_..." of cells
    corner_field: str
    widths: tuple[int, ...]
    carriers: tuple[int, ...]  # the types of cells whose corners may have one


_KINDS: Final = (
    _Kind("vt", "texture", "corner_texture", (1, 2, 3), (LINE, POLY_LINE, TRIANGLE, QUAD, POLYGON)),
    _Kind("vn", "normals", "corner_normals", (3,), (TRIANGLE, QUAD, POLYGON)),
)


def corner_fields(
    cells: Cells,
    corners: Ints,
    n_points: int,
    tables: Sequence[NDArray[Any]],
    ledger: Ledger,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Point fields and cell fields of what the corners refer to.

    Args:
        corners: [n, 3], for each corner of each cell its point, texture vertex and normal, or -1.
        tables: the texture vertices and the normals of the file.
    """
    point_data: dict[str, Any] = {}
    cell_data: dict[str, Any] = {}
    types, sizes = cells.types.numpy(), cells.sizes.long().numpy()
    for k, (kind, table) in enumerate(zip(_KINDS, tables, strict=True), 1):
        if not len(table):
            continue
        ids = corners[:, k]
        carries = np.isin(types, kind.carriers)
        free = (ids < 0) & ~np.repeat(carries, sizes)  # vertices and lines have none
        of_point = _one_each(corners[~free, 0], ids[~free], n_points, len(table))
        if of_point is not None:
            point_data[kind.field] = table[of_point]
            ledger.kept("field", f"point_data/{kind.field}", n_points)
            continue
        nowhere = np.isnan(table).all(1)
        used = np.zeros(len(table), bool)
        used[ids[ids >= 0]] = True
        for lost, reason in (
            (~used, "no corner refers to it"),
            (used & nowhere, "all NaN, which stands for none"),
        ):
            if lost.any():
                ledger.dropped("statement", kind.word, int(lost.sum()), reason)
        if not (used & ~nowhere).any():
            continue
        widest = _widest(types, sizes, kind)
        name, width = f"cell_data/{kind.corner_field}", table.shape[1]
        if not fits_padded(len(cells), widest, int(sizes[carries].sum()), 8 * width):
            reason = f"as a table of {widest} corners a cell it takes over {MOST_PADDING} times"
            ledger.dropped("field", name, len(cells), f"{reason} the memory of its values")
            continue
        values = np.where((ids >= 0)[:, None], table[ids], np.nan)
        values = values[np.repeat(carries, sizes)]
        cell_data[kind.corner_field] = padded(np.where(carries, sizes, 0), values, widest)
        ledger.converted("field", name, len(cells), f"{kind.word} of corners as values a cell")
    return point_data, cell_data


def _widest(types: NDArray[np.uint8], sizes: Ints, kind: _Kind) -> int:
    """The largest number of corners of a cell that can have one."""
    return int(sizes[np.isin(types, kind.carriers)].max(initial=0))


def _one_each(points: Ints, ids: Ints, n_points: int, n_rows: int) -> Ints | None:
    """The one row that all corners of each point have, where each point and each row has one."""
    if n_points == 0 or (ids < 0).any():
        return None
    of_point = np.full(n_points, -1, np.int64)
    of_point[points] = ids
    used = np.zeros(n_rows, bool)
    used[ids] = True
    if (of_point < 0).any() or (of_point[points] != ids).any() or not used.all():
        return None
    return of_point


# --- the other way -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CornerRows:
    """The lines of one keyword, and which of them each corner of the mesh refers to."""

    table: NDArray[Any]  # float64 [n, width]
    of_corner: Ints  # [len(mesh.cells.connectivity)], -1 for none


def written_corners(
    mesh: Mesh, written: NDArray[np.bool_], ledger: Ledger
) -> tuple[dict[str, CornerRows], set[str]]:
    """What the corners refer to by its keyword, and the fields ("point_data/texture") held so.

    Args:
        written: bool [n_cells], which cells the file will hold.
    """
    out: dict[str, CornerRows] = {}
    held: set[str] = set()
    for kind in _KINDS:
        for home, name, taken in (
            ("point_data", kind.field, _of_points),
            ("cell_data", kind.corner_field, _of_corners),
        ):
            x = getattr(mesh, home).get(name, None)
            plain = isinstance(x, torch.Tensor) and x.dtype in _FLOATS
            if kind.word in out or not plain or x.shape[-1:].numel() not in kind.widths:
                continue
            before = len(held)
            rows = taken(mesh, x, kind, written, ledger, held)
            if rows is not None:
                out[kind.word] = rows
            if len(held) > before and rows is not None and x.dtype != torch.float64:
                reason = "float32 as decimals, read as float64"
                ledger.converted("field", f"{home}/{name}", len(x), reason)
    return out, held


def _of_points(
    mesh: Mesh,
    x: torch.Tensor,
    kind: _Kind,
    written: NDArray[np.bool_],
    ledger: Ledger,
    held: set[str],
) -> CornerRows | None:
    """A point field, where every point is a corner of a cell that can say so."""
    if x.ndim != 2:
        return None
    flat = mesh.cells.connectivity.long().cpu().numpy()
    carries = np.isin(mesh.cells.types.cpu().numpy(), kind.carriers) & written
    used = np.zeros(mesh.n_points, bool)
    used[flat[np.repeat(carries, mesh.cells.sizes.cpu().numpy())]] = True
    if not used.all():
        return None
    held.add(f"point_data/{kind.field}")
    ledger.kept("field", f"point_data/{kind.field}", len(x))
    return CornerRows(x.detach().cpu().double().numpy(), flat)


def _of_corners(
    mesh: Mesh,
    x: torch.Tensor,
    kind: _Kind,
    written: NDArray[np.bool_],
    ledger: Ledger,
    held: set[str],
) -> CornerRows | None:
    """A cell field of corners, where all its values stand at corners that can have one."""
    if x.ndim != 3:
        return None
    name = f"cell_data/{kind.corner_field}"
    types = mesh.cells.types.cpu().numpy()
    sizes = mesh.cells.sizes.long().cpu().numpy()
    array = x.detach().cpu().double().numpy()
    has = ~np.isnan(array).all(2)
    able = np.where(np.isin(types, kind.carriers), sizes, 0)
    own = np.arange(array.shape[1]) < able[:, None]
    beyond = int((has & ~own)[written].any(1).sum())
    if beyond:
        reason = f"values beyond the corners of {beyond} cells: it was made for other cells"
        ledger.dropped("field", name, len(x), reason)
        held.add(name)
        return None
    held.add(name)
    has &= own & written[:, None]
    if not has.any():
        ledger.dropped("field", name, len(x), "no corner has one, as without it", loss=False)
        return None
    ledger.kept("field", name, len(x))
    values = array[has]
    table, of_value = _distinct(values)
    of_corner = np.full(int(sizes.sum()), -1, np.int64)
    starts = np.cumsum(sizes) - sizes
    row, place = np.nonzero(has)
    of_corner[starts[row] + place] = of_value
    _note_shape(mesh, kind, written, of_corner, len(table), array.shape[1], ledger)
    return CornerRows(table, of_corner)


def _note_shape(
    mesh: Mesh,
    kind: _Kind,
    written: NDArray[np.bool_],
    of_corner: Ints,
    n_rows: int,
    k: int,
    ledger: Ledger,
) -> None:
    """Count what reading will make of a field of corners that it would not have made itself."""
    name = f"cell_data/{kind.corner_field}"
    types = mesh.cells.types.cpu().numpy()
    sizes = mesh.cells.sizes.long().cpu().numpy()
    each = np.repeat(written, sizes)
    points = mesh.cells.connectivity.long().cpu().numpy()[each]
    ids = of_corner[each]
    free = (ids < 0) & ~np.repeat(np.isin(types, kind.carriers), sizes)[each]
    if _one_each(points[~free], ids[~free], mesh.n_points, n_rows) is not None:
        reason = f"one a point, read as point_data/{kind.field}"
        ledger.converted("field", name, mesh.n_cells, reason)
        return
    widest = _widest(types[written], sizes[written], kind)
    if widest != k:
        reason = f"{k} corners a cell, read as {widest}"
        ledger.converted("field", name, mesh.n_cells, reason)


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """The distinct rows, equal to the bit, by first appearance; and for each row which it is."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    order = np.lexsort(bits.T)  # stable: of equal rows the earliest comes first
    new = np.concatenate([[True], (bits[order[1:]] != bits[order[:-1]]).any(1)])
    first = order[new]
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[by_appearance] = np.arange(len(first))
    of_row = np.empty(len(values), np.int64)
    of_row[order] = rank[np.cumsum(new) - 1]
    return values[first[by_appearance]], of_row
