"""The meshes that are timed."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

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
    points, cubes = _lattice(n)
    cells = cubes[:, torch.tensor(_TETS)].reshape(-1, 4)
    values = points.sin().float()
    return make_mesh(points, cells, point_data={"p": values[:, 0].clone(), "U": values})


def hexes(n: int) -> Mesh:
    """n^3 hexahedra in the unit cube, int32 ids."""
    points, cubes = _lattice(n)
    return make_mesh(points, cubes, types="hexahedron")


def _lattice(n: int) -> tuple[Tensor, Tensor]:
    """The points of n^3 cubes and the corners of each, int32 [n^3, 8]."""
    axis = torch.linspace(0, 1, n + 1, dtype=torch.float64)
    points = torch.cartesian_prod(axis, axis, axis)
    at = torch.arange((n + 1) ** 3, dtype=torch.int32).reshape(n + 1, n + 1, n + 1)
    ends = (slice(None, -1), slice(1, None))
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = [
        at[ends[i], ends[j], ends[k]].reshape(-1) for k, (i, j) in itertools.product((0, 1), ring)
    ]
    return points, torch.stack(corners, 1)


def with_ids(mesh: Mesh, dtype: torch.dtype) -> Mesh:
    """The same with ids of another dtype."""
    cells = mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.to(dtype))
    return mesh.replace(cells=cells)


def permuted(mesh: Mesh) -> Mesh:
    """The same with points and cells at random places, and without fields."""
    seeded = torch.Generator().manual_seed(0)
    new = torch.randperm(mesh.n_points, generator=seeded)
    cells = mesh.cells.renumbered(new).take(torch.randperm(mesh.n_cells, generator=seeded))
    return make_mesh(mesh.points[torch.argsort(new)], cells)


def mesh_of(kind: str, n: int, order: str) -> Mesh:
    """n^3 hexes or 6 n^3 tets, ids int64, in the order of the lattice or "permuted"; and one torch
    thread in this process."""
    torch.set_num_threads(1)
    made = {"tets": tets, "hexes": hexes}[kind](n)
    return with_ids(permuted(made) if order == "permuted" else made, torch.int64)
