"""The mass matrix of linear finite elements."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.differential.finite_elements import elements, lumped, summed_pairs
from meshkit.operators.differential.sparse_matrix import square_matrix
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import shown


@of_mesh
def mass_matrix(mesh: Mesh, *, lump: bool = False) -> Tensor:
    """The integrals of the products of hat functions, on the simplices of dimension mesh.dim.

    All entries add up to the length, area or volume of the mesh. Exact for fields that are linear
    in each simplex. High-order simplices go through their corners.

    Args:
        mesh: its cells of dimension mesh.dim are simplices.
        lump: each row's sum on the diagonal instead.

    Returns:
        sparse COO [n_points, n_points] in the dtype of the points (at least float32); the unit is
        that of the points to the power mesh.dim. Differentiable in the points.

    Raises:
        MeshError: as `faces`; or some cell of dimension mesh.dim is no simplex.
    """
    if not isinstance(lump, bool):
        raise MeshError(f"mass_matrix: expected lump True or False, found {shown(lump)}")
    found = elements("mass_matrix", mesh)
    n, dtype = mesh.n_points, mesh.points.dtype
    if lump:
        at = torch.arange(n, device=mesh.device)
        return square_matrix(at, at, lumped(found, n), n, dtype)
    k = found.corners.shape[1]
    share = found.measures / (k * (k + 1))
    rows = found.corners[:, :, None].expand(-1, k, k).reshape(-1)
    cols = found.corners[:, None, :].expand(-1, k, k).reshape(-1)
    weight = 1 + torch.eye(k, dtype=share.dtype, device=share.device)
    values = (share[:, None, None] * weight).reshape(-1)
    return square_matrix(*summed_pairs(rows, cols, values), n, dtype)
