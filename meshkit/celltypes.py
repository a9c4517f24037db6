"""The cell table: what each cell type is, as data.

Numbers are VTK's (vtkCellType.h); from 200 up they are ours, for what VTK lacks. Local points,
edges and faces are numbered as VTK 9.7 does. A face of a solid lists its corners so that its
normal points out of the cell; a face of a surface cell is an edge along the cell's ring; a face
of a curve is one of its two ends. High-order cells use their corners for topology.

Source: VTK File Formats and vtkCellType.h of VTK 9.7; Exodus II manual for TET14 and PYR14.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.memo import constant
from meshkit.suggestions import did_you_mean

Template = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class CellType:
    """One row of the table.

    `size` is the number of points, None where it varies. `corners` are the local points that
    span the linear shape, in that shape's own order; None where all points are corners (or, for
    a quadratic polygon, the first half). `edges` and `faces` list local points; they are empty
    where they depend on the size or on the cell.
    """

    number: int
    name: str
    dim: int
    size: int | None
    shape: str
    order: int = 1
    corners: tuple[int, ...] | None = None
    edges: Template = field(default=(), repr=False)
    faces: Template = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A linear shape: its edges and faces in terms of its corners."""

    dim: int
    corners: int
    edges: Template
    faces: Template


_SHAPES: Final[dict[str, _Shape]] = {
    "line": _Shape(1, 2, ((0, 1),), ((0,), (1,))),
    "triangle": _Shape(2, 3, ((0, 1), (1, 2), (2, 0)), ((0, 1), (1, 2), (2, 0))),
    "quad": _Shape(2, 4, ((0, 1), (1, 2), (2, 3), (3, 0)), ((0, 1), (1, 2), (2, 3), (3, 0))),
    "tetra": _Shape(
        3,
        4,
        ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
        ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)),
    ),
    "hexahedron": _Shape(
        3,
        8,
        (
            *((0, 1), (1, 2), (3, 2), (0, 3), (4, 5), (5, 6), (7, 6), (4, 7)),
            *((0, 4), (1, 5), (3, 7), (2, 6)),
        ),
        ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)),
    ),
    "wedge": _Shape(
        3,
        6,
        ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
        ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    ),
    "pyramid": _Shape(
        3,
        5,
        ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
        ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    ),
    "pentagonal_prism": _Shape(
        3,
        10,
        (
            *((0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 6), (6, 7), (7, 8), (8, 9), (9, 5)),
            *((0, 5), (1, 6), (2, 7), (3, 8), (4, 9)),
        ),
        (
            *((0, 4, 3, 2, 1), (5, 6, 7, 8, 9), (0, 1, 6, 5), (1, 2, 7, 6), (2, 3, 8, 7)),
            *((3, 4, 9, 8), (4, 0, 5, 9)),
        ),
    ),
    "hexagonal_prism": _Shape(
        3,
        12,
        (
            *((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)),
            *((6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 6)),
            *((0, 6), (1, 7), (2, 8), (3, 9), (4, 10), (5, 11)),
        ),
        (
            *((0, 5, 4, 3, 2, 1), (6, 7, 8, 9, 10, 11), (0, 1, 7, 6), (1, 2, 8, 7)),
            *((2, 3, 9, 8), (3, 4, 10, 9), (4, 5, 11, 10), (5, 0, 6, 11)),
        ),
    ),
}

POLYGON: Final = 7
POLYHEDRON: Final = 42


def _row(
    number: int,
    name: str,
    shape: str,
    size: int | None,
    order: int = 1,
    corners: tuple[int, ...] | None = None,
) -> CellType:
    """A cell whose topology is that of a linear shape through its corners."""
    base = _SHAPES[shape]
    at = corners or tuple(range(base.corners))
    through = tuple(tuple(at[i] for i in edge) for edge in base.edges)
    faces = tuple(tuple(at[i] for i in face) for face in base.faces)
    return CellType(number, name, base.dim, size, shape, order, at, through, faces)


_ROWS: Final = (
    CellType(0, "empty", 0, 0, "empty", corners=()),
    CellType(1, "vertex", 0, 1, "vertex", corners=(0,)),
    CellType(2, "poly_vertex", 0, None, "poly_vertex"),
    _row(3, "line", "line", 2),
    CellType(4, "poly_line", 1, None, "poly_line"),
    _row(5, "triangle", "triangle", 3),
    CellType(6, "triangle_strip", 2, None, "triangle_strip"),
    CellType(7, "polygon", 2, None, "polygon"),
    _row(8, "pixel", "quad", 4, corners=(0, 1, 3, 2)),
    _row(9, "quad", "quad", 4),
    _row(10, "tetra", "tetra", 4),
    _row(11, "voxel", "hexahedron", 8, corners=(0, 1, 3, 2, 4, 5, 7, 6)),
    _row(12, "hexahedron", "hexahedron", 8),
    _row(13, "wedge", "wedge", 6),
    _row(14, "pyramid", "pyramid", 5),
    _row(15, "pentagonal_prism", "pentagonal_prism", 10),
    _row(16, "hexagonal_prism", "hexagonal_prism", 12),
    _row(21, "quadratic_edge", "line", 3, 2),
    _row(22, "quadratic_triangle", "triangle", 6, 2),
    _row(23, "quadratic_quad", "quad", 8, 2),
    _row(24, "quadratic_tetra", "tetra", 10, 2),
    _row(25, "quadratic_hexahedron", "hexahedron", 20, 2),
    _row(26, "quadratic_wedge", "wedge", 15, 2),
    _row(27, "quadratic_pyramid", "pyramid", 13, 2),
    _row(28, "biquadratic_quad", "quad", 9, 2),
    _row(29, "triquadratic_hexahedron", "hexahedron", 27, 2),
    _row(30, "quadratic_linear_quad", "quad", 6, 2),
    _row(31, "quadratic_linear_wedge", "wedge", 12, 2),
    _row(32, "biquadratic_quadratic_wedge", "wedge", 18, 2),
    _row(33, "biquadratic_quadratic_hexahedron", "hexahedron", 24, 2),
    _row(34, "biquadratic_triangle", "triangle", 7, 2),
    _row(35, "cubic_line", "line", 4, 3),
    CellType(36, "quadratic_polygon", 2, None, "polygon", 2),
    _row(37, "triquadratic_pyramid", "pyramid", 19, 2),
    CellType(41, "convex_point_set", 3, None, "convex_point_set"),
    CellType(42, "polyhedron", 3, None, "polyhedron"),
    *(
        _row(first + i, f"{family}_{name}", shape, None, 0)
        for first, family in ((68, "lagrange"), (75, "bezier"))
        for i, (name, shape) in enumerate(
            (
                ("curve", "line"),
                ("triangle", "triangle"),
                ("quadrilateral", "quad"),
                ("tetrahedron", "tetra"),
                ("hexahedron", "hexahedron"),
                ("wedge", "wedge"),
                ("pyramid", "pyramid"),
            )
        )
    ),
    _row(200, "tetra14", "tetra", 14, 2),
    _row(201, "pyramid14", "pyramid", 14, 2),
)

CELL_TYPES: Final[dict[int, CellType]] = {row.number: row for row in _ROWS}
"""Number -> row. `order` 0 means that it follows from the number of points (Lagrange, Bezier)."""

_BY_NAME: Final[dict[str, CellType]] = {row.name: row for row in _ROWS}

_SHAPES_ELSEWHERE: Final[dict[str, str]] = {
    **dict.fromkeys(("point", "node"), "vertex"),
    **dict.fromkeys(("edge", "segment", "bar", "beam", "truss"), "line"),
    **dict.fromkeys(("tri", "tria"), "triangle"),
    **dict.fromkeys(("quadrangle", "quadrilateral", "rectangle"), "quad"),
    **dict.fromkeys(("tet", "tetrahedron", "tetrahedra"), "tetra"),
    **dict.fromkeys(("hex", "hexa", "hexahedra", "brick"), "hexahedron"),
    **dict.fromkeys(("prism", "penta", "triangular_prism"), "wedge"),
    **dict.fromkeys(("pyra", "pyr"), "pyramid"),
}
"""What others call the shapes."""

_ALSO_CALLED: Final[dict[str, str]] = {
    **_SHAPES_ELSEWHERE,
    **{
        f"{shape}{row.size}": row.name
        for row in _ROWS
        for shape in (row.shape, *(n for n, s in _SHAPES_ELSEWHERE.items() if s == row.shape))
        if row.size is not None
    },
}
"""For suggestions: other names, and shape and number of points ("tet10", "hexahedron20"). Where
two rows have these in common, the later one, of the usual order of points, is meant."""


def cell_type(of: int | str) -> CellType:
    """The row of a type, by its VTK number or name.

    >>> cell_type("tetra").number, cell_type(12).name
    (10, 'hexahedron')

    Raises:
        MeshError: there is no such type; close names are suggested.
    """
    row = _BY_NAME.get(of.lower()) if isinstance(of, str) else CELL_TYPES.get(int(of))
    if row is None:
        raise MeshError(f"cell type {of!r} is unknown{did_you_mean(of, _BY_NAME, _ALSO_CALLED)}")
    return row


UNKNOWN_DIM: Final = 255


@constant
def dims_by_number(device: torch.device) -> Tensor:
    """uint8 [256]: the dimension of each type number, `UNKNOWN_DIM` where there is none."""
    table = torch.full((256,), UNKNOWN_DIM, dtype=torch.uint8, device="cpu")
    for row in _ROWS:
        table[row.number] = row.dim
    return table.to(device)
