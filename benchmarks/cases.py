"""The meshes that are timed."""

from __future__ import annotations

import itertools

import torch

from meshkit import Mesh, make_mesh

# The six tets of a cube along the paths from corner 0 to corner 6, all positive.
_TETS = [
    [0, 1, 2, 6],
    [0, 2, 3, 6],
    [0, 3, 7, 6],
    [0, 7, 4, 6],
    [0, 4, 5, 6],
    [0, 5, 1, 6],
]


def tets(n: int) -> Mesh:
    """6 n^3 tets in the unit cube, int32 ids, a float32 scalar and vector on the points."""
    axis = torch.linspace(0, 1, n + 1, dtype=torch.float64)
    points = torch.cartesian_prod(axis, axis, axis)
    at = torch.arange((n + 1) ** 3, dtype=torch.int32).reshape(n + 1, n + 1, n + 1)
    ends = (slice(None, -1), slice(1, None))
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = [
        at[ends[i], ends[j], ends[k]].reshape(-1) for k, (i, j) in itertools.product((0, 1), ring)
    ]
    cubes = torch.stack(corners, 1)
    cells = cubes[:, torch.tensor(_TETS)].reshape(-1, 4)
    values = points.sin().float()
    return make_mesh(points, cells, point_data={"p": values[:, 0].clone(), "U": values})
