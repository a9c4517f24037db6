"""Surfaces whose curvature is known, for the tests of the operators."""

from __future__ import annotations

import math

import torch

from meshkit import operators as ops
from meshkit.making import make_mesh
from meshkit.mesh import Mesh


def icosphere(level: int = 2, radius: float = 1.0) -> Mesh:
    """20 * 4^level triangles, normals outward, all points on the sphere."""
    g = (1 + math.sqrt(5)) / 2
    corners = [
        *([-1, g, 0], [1, g, 0], [-1, -g, 0], [1, -g, 0], [0, -1, g], [0, 1, g]),
        *([0, -1, -g], [0, 1, -g], [g, 0, -1], [g, 0, 1], [-g, 0, -1], [-g, 0, 1]),
    ]
    rows = [
        *([0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4]),
        *([11, 10, 2], [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8]),
        *([3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]),
    ]
    x = torch.tensor(corners, dtype=torch.float64)
    cells = torch.tensor(rows)
    for _ in range(level):
        edge = torch.sort(torch.cat([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [2, 0]]]), 1)
        pairs, at = torch.unique(edge.values, dim=0, return_inverse=True)
        a, b, c = cells.unbind(1)
        ab, bc, ca = (at + len(x)).reshape(3, -1).unbind(0)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        cells = torch.cat([torch.stack(p, 1) for p in parts])
        x = torch.cat([x, x[pairs].mean(1)])
        x = x / x.norm(dim=1, keepdim=True)
    return make_mesh(radius * x / x.norm(dim=1, keepdim=True), cells)


def torus(n: int = 24, m: int = 12, quads: bool = False) -> Mesh:
    """A torus of radii 2 and 1, normals outward: Euler characteristic 0."""
    u = torch.arange(n, dtype=torch.float64) * (2 * math.pi / n)
    v = torch.arange(m, dtype=torch.float64) * (2 * math.pi / m)
    a, b = torch.meshgrid(u, v, indexing="ij")
    r = 2 + torch.cos(b)
    x = torch.stack([r * torch.cos(a), r * torch.sin(a), torch.sin(b)], -1).reshape(-1, 3)
    at = torch.arange(n * m).reshape(n, m)
    right, up = torch.roll(at, -1, 0), torch.roll(at, -1, 1)
    both = torch.roll(right, -1, 1)
    rows = torch.stack([at, right, both, up], -1).reshape(-1, 4)
    if quads:
        return make_mesh(x, rows, types="quad")
    return make_mesh(x, torch.cat([rows[:, [0, 1, 2]], rows[:, [0, 2, 3]]]))


def two_handles() -> Mesh:
    """The surface of a 5 x 3 x 1 block with two holes: Euler characteristic -2."""
    held = [(i, j) for i in range(5) for j in range(3) if (i, j) not in ((1, 1), (3, 1))]
    x = torch.tensor([[i, j, k] for k in (0, 1) for j in range(4) for i in range(6)])

    def at(i: int, j: int, k: int) -> int:
        return k * 24 + j * 6 + i

    rows = [
        [at(i + a, j + b, k) for k in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for i, j in held
    ]
    solid = make_mesh(x.double(), rows, types="hexahedron")
    skin = ops.boundary(solid)
    corners = skin.cells.dense
    return make_mesh(skin.points, torch.cat([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]))
