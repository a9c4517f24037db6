"""Which compiled pass measures cells of a type, and what its numbers are held against."""

from __future__ import annotations

import math
from collections.abc import Set

import numpy as np
from torch import Tensor

from meshkit.celltypes import CellType
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.measure.dihedral_angles import edges_and_faces
from meshkit.operators.quality.metrics import COLUMNS
from meshkit.operators.quality.regular_shapes import CORNERS, IDEAL, REGULAR
from meshkit.operators.quality.ring_kernel import ring_shapes
from meshkit.operators.quality.solid_kernel import solid_shapes
from meshkit.operators.quality.tetra_kernel import tetra_shapes

_RING_SHAPES = {3: "triangle", 4: "quad"}


def compiled_shapes(
    row: CellType, points: Tensor, table: Tensor, wanted: Set[str]
) -> dict[str, Tensor]:
    """The wanted measures [m] of cells of one type, without derivatives.

    Args:
        row: their type, of surfaces or solids with tabulated faces.
        points: [n_points, 3], on the CPU.
        table: int [m, k], the corners in the order of `corners`.
        wanted: names of `COLUMNS`.
    """
    sizes = bool(wanted & {"aspect_ratio", "edge_ratio"})
    angles = bool(wanted & {"min_angle", "max_angle"})
    skewed = "equiangle_skewness" in wanted
    k = table.shape[1]
    if row.dim == 2:
        jacobian = "scaled_jacobian" in wanted
        found = ring_shapes(points, table, sizes, angles or skewed, jacobian)
        shape, regular = _RING_SHAPES.get(k, ""), 4 * math.tan(math.pi / k)
    elif row.shape == "tetra":
        found = tetra_shapes(points, table, "aspect_ratio" in wanted, angles, skewed)
        shape, regular = row.shape, REGULAR[row.shape]
    else:
        place = {p: i for i, p in enumerate(corners(row, row.size or 0))}
        found = solid_shapes(
            points,
            table,
            edges=np.array(
                [(place[a], place[b], f, g) for a, b, f, g in edges_and_faces(row.number)]
            ),
            rings=[[place[p] for p in ring] for ring in row.faces],
            corners=np.array(CORNERS.get(row.shape, ()), dtype=np.int64).reshape(-1, 4),
            shape=row.shape,
            wanted=wanted,
        )
        shape, regular = row.shape, REGULAR[row.shape]
    factors = {"aspect_ratio": 1 / regular, "scaled_jacobian": IDEAL.get(shape, math.nan)}
    lacking = set() if shape in IDEAL else {"scaled_jacobian", "equiangle_skewness"}
    return {
        name: (found[i] * factors.get(name, 1.0)).to(points.dtype)
        for i, name in enumerate(COLUMNS)
        if name in wanted and name not in lacking
    }
