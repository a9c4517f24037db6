"""One cell of each type, straight and curved, for the tests of the operators."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.measure.elements import element

SHEAR: Final = torch.tensor(
    [[1.3, 0.2, -0.1], [0.15, 0.9, 0.25], [-0.2, 0.1, 1.1]], dtype=torch.float64
)
"""An affine map of positive determinant that leaves nothing aligned with an axis."""

PYRAMID: Final = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1))

HIGH_ORDER: Final = tuple(
    row.name
    for row in CELL_TYPES.values()
    if row.size is not None and element(row.name, row.shape, row.size) is not None
)
"""The high-order types of fixed size that are integrated as the curved cells they are."""

LAGRANGE: Final[tuple[tuple[str, int, tuple[int, int, int] | None], ...]] = (
    ("lagrange_curve", 4, None),
    ("lagrange_triangle", 7, None),
    ("lagrange_triangle", 15, None),
    ("lagrange_quadrilateral", 16, None),
    ("lagrange_quadrilateral", 12, (2, 3, 0)),
    ("lagrange_tetrahedron", 15, None),
    ("lagrange_tetrahedron", 35, None),
    ("lagrange_hexahedron", 64, None),
    ("lagrange_hexahedron", 60, (2, 3, 4)),
    ("lagrange_wedge", 21, None),
    ("lagrange_wedge", 40, None),
    ("lagrange_wedge", 24, (2, 2, 3)),
)
"""Name, number of points, and degrees where they differ by axis."""


def nodes_of(name: str, size: int, degrees: tuple[int, int, int] | None = None) -> Tensor:
    """The nodes of a high-order cell in its reference shape, padded to 3-D."""
    made = element(name, cell_type(name).shape, size, degrees)
    if made is None:
        raise ValueError(f"{name} has no element of ours")
    at = torch.tensor(made.nodes, dtype=torch.float64)
    return torch.nn.functional.pad(at, (0, 3 - at.shape[1]))


def one_cell(name: str, points: Tensor, degrees: tuple[int, int, int] | None = None) -> Mesh:
    """A mesh of one cell that uses its points in their order."""
    n = len(points)
    table = None if degrees is None else torch.tensor([degrees], dtype=torch.uint8)
    cells = Cells(
        torch.tensor([cell_type(name).number], dtype=torch.uint8),
        torch.tensor([0, n]),
        torch.arange(n),
        degrees=table,
    )
    return make_mesh(points, cells)


def linear_twin(mesh: Mesh) -> Mesh:
    """The linear cell through the corners of a mesh of one cell."""
    row = CELL_TYPES[mesh.cells.present[0]]
    corners = list(row.corners or range(mesh.n_points))
    return make_mesh(mesh.points[corners], [list(range(len(corners)))], types=row.shape)


def linear_cells() -> dict[str, Mesh]:
    """One cell of each linear type, sheared; solids of positive volume."""
    triangle = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    cube = [[x, y, z] for z in (0, 1) for x, y, _ in square]
    ring = [[2, 0, 0], [1, 2, 0], [-1, 2, 0], [-2, 0, 0], [-1, -2, 0], [1, -2, 0]]
    shapes: dict[str, Any] = {
        "line": [[0, 0, 0], [1, 2, 0]],
        "poly_line": [[0, 0, 0], [1, 2, 0], [3, 1, 1]],
        "triangle": triangle,
        "triangle_strip": [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 1]],
        "polygon": [[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]],
        "pixel": [square[0], square[1], square[3], square[2]],
        "quad": square,
        "tetra": [*triangle, [0, 0, 1]],
        "voxel": [[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)],
        "hexahedron": cube,
        "wedge": [[x, y, z] for z in (0, 1) for x, y, _ in triangle],
        "pyramid": PYRAMID,
        "pentagonal_prism": [[x, y, z] for z in (0, 3) for x, y, _ in ring[:5]],
        "hexagonal_prism": [[x, y, z] for z in (0, 3) for x, y, _ in ring],
    }
    return {
        name: one_cell(name, torch.tensor(points, dtype=torch.float64) @ SHEAR + 0.3)
        for name, points in shapes.items()
    }


def turned(points: Tensor, seed: int = 0) -> Tensor:
    """Points rotated at random."""
    g = torch.Generator().manual_seed(seed)
    q, _ = torch.linalg.qr(torch.randn(3, 3, generator=g, dtype=torch.float64))
    out: Tensor = points @ (q * torch.linalg.det(q)).to(points.dtype)
    return out
