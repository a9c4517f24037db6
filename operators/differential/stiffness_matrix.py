"""The stiffness matrix of linear finite elements."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.finite_elements import couplings, elements
from meshkit.operators.differential.sparse_matrix import square_matrix
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def stiffness_matrix(mesh: Mesh) -> Tensor:
    """The integrals of the products of the gradients of hat functions, on the simplices of
    dimension mesh.dim: lines, triangles (also on surfaces in space) or tets.

    Symmetric, not negative, rows sum to zero: -K f / mass is the cotangent Laplacian. Exact for
    fields that are linear in each simplex. High-order simplices go through their corners; cells
    without measure count nothing.

    Returns:
        sparse COO [n_points, n_points] in the dtype of the points (at least float32); the unit is
        that of the points to the power mesh.dim - 2. Differentiable in the points.

    Raises:
        MeshError: as `faces`; or some cell of dimension mesh.dim is no simplex.

    Source: any text on finite elements, for example Ern and Guermond, Theory and Practice of
    Finite Elements, 2004.
    """
    found = elements("stiffness_matrix", mesh)
    row, col, values = couplings(found)
    n = mesh.n_points
    diagonal = values.new_zeros(n).index_add(0, row, -values)
    at = torch.arange(n, device=row.device)
    rows, cols = torch.cat([row, at]), torch.cat([col, at])
    return square_matrix(rows, cols, torch.cat([values, diagonal]), n, mesh.points.dtype)
