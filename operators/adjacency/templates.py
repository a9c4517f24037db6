"""The sides and edges of a cell by its type and number of points, where they are not tabulated."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from meshkit.cells import Block
from meshkit.celltypes import CELL_TYPES, CellType, Template
from meshkit.errors import MeshError

_LEAST: Final = {"poly_line": 2, "triangle_strip": 3}


def known_type(number: int, first: int) -> CellType:
    """The row of a type that occurs in a mesh; `first` is a cell that has it.

    Raises:
        MeshError: the type is unknown; the message names the cell.
    """
    row = CELL_TYPES.get(number)
    if row is None:
        raise MeshError(
            f"cell {first}: type {number} is unknown, so it has no shape; "
            "select the other cells, or give it a type of meshkit.CELL_TYPES"
        )
    return row


def need_size(block: Block) -> CellType:
    """The row of a block's type, if its cells have as many points as the type needs.

    Raises:
        MeshError: they have not; the message names the first of them.
    """
    row = known_type(block.type, int(block.ids[0]))
    size = block.connectivity.shape[1]
    if row.size is not None and size != row.size:
        raise MeshError(
            f"cell {int(block.ids[0])}: a {row.name} has {row.size} points, found {size}"
        )
    if row.size is None and row.corners is not None and size < len(row.corners):
        raise MeshError(
            f"cell {int(block.ids[0])}: a {row.name} has at least {len(row.corners)} points, "
            f"found {size}"
        )
    return row


def corners(row: CellType, size: int) -> tuple[int, ...]:
    """The local points that span the linear shape; for a polygon of high order the first half."""
    if row.corners is not None:
        return row.corners
    return tuple(range(size // row.order if row.order else size))


@lru_cache(maxsize=512)
def side_template(number: int, size: int) -> Template:
    """The sides of a cell of one type with `size` points, as local points, numbered as VTK does.

    Sides of a solid are its faces, of a surface its edges along the ring, of a curve its two ends.
    A strip's edges are VTK's: (0, 1), then (i - 1, i + 1) for each i, then the last two points,
    each turned so that together they run round the strip. Too small a polyline or strip has none
    (`sides` refuses a mesh that has one).
    """
    row = CELL_TYPES[number]
    if row.faces:
        return row.faces
    if row.shape == "polygon":
        n = len(corners(row, size))
        return tuple((i, (i + 1) % n) for i in range(n))
    if size < _LEAST.get(row.shape, size + 1):
        return ()
    if row.shape == "poly_line":
        return ((0,), (size - 1,))
    # A strip's triangle t is (t, t + 1, t + 2), its first two points swapped where t is odd.
    last = (size - 2, size - 1) if size % 2 else (size - 1, size - 2)
    inner = ((i - 1, i + 1) if i % 2 == 0 else (i + 1, i - 1) for i in range(1, size - 1))
    return ((0, 1), *inner, last)


@lru_cache(maxsize=512)
def edge_template(number: int, size: int) -> Template:
    """The edges of a cell of one type with `size` points; none for a polyhedron or a vertex."""
    row = CELL_TYPES[number]
    if row.edges:
        return row.edges
    if row.shape == "poly_line":
        return tuple((i, i + 1) for i in range(size - 1))
    return side_template(number, size) if row.dim == 2 else ()


def strip_triangles(size: int) -> Template:
    """The triangles of a strip, all with its orientation."""
    return tuple((t, t + 1, t + 2) if t % 2 == 0 else (t + 1, t, t + 2) for t in range(size - 2))
