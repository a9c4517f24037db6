"""Least squares on cells flattened across the axes, whose normal matrices lose their digits."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from meshkit.mesh import Mesh
from tests.meshes import kuhn_cube, shaken, square_triangles

ACROSS = torch.tensor([1.0, 2.0, -1.5], dtype=torch.float64)


def flattened(mesh: Mesh, by: float) -> Mesh:
    """Squeezed so many times along a direction across all axes."""
    along = ACROSS[: mesh.points.shape[1]]
    along = along / along.norm()
    height = (mesh.points @ along)[:, None]
    return mesh.replace(points=mesh.points + (1 / by - 1) * height * along)


@pytest.mark.parametrize("mesh", [kuhn_cube(3), square_triangles(4)], ids=["tets", "triangles"])
def test_linear_fields_are_exact_where_cells_are_flat(mesh: Mesh) -> None:
    mesh = flattened(shaken(mesh), 1e6)
    operator = ops.gradient_operator(mesh, on="cells", method="lsq")
    assert operator.determined.all()
    slope = ACROSS[: mesh.points.shape[1]]
    found = operator.apply(ops.cell_centroids(mesh) @ slope)
    # 1e-16 of a field of size 1 over cells of height 1e-7.
    torch.testing.assert_close(found, slope.expand_as(found), rtol=0, atol=1e-7)


@pytest.mark.parametrize("by", [1e5, 1e6])
def test_compiled_loops_and_torch_agree_where_cells_are_flat(by: float) -> None:
    mesh = flattened(shaken(kuhn_cube(3)), by)
    followed = mesh.replace(points=mesh.points.clone().requires_grad_())
    one, other = (ops.gradient_operator(m, on="cells", method="lsq") for m in (mesh, followed))
    assert torch.equal(one.determined, other.determined)
    found, want = one.matrix().to_dense(), other.matrix().detach().to_dense()
    torch.testing.assert_close(found, want, rtol=0, atol=1e-9 * float(want.abs().max()) * by / 1e5)
