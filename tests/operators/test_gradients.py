"""Derivatives of the geometry in the points, on each kind of cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from tests import meshes
from tests.operators.cells_for_tests import HIGH_ORDER, LAGRANGE, linear_cells, nodes_of, one_cell

LINEAR = linear_cells()
OPERATORS = {
    "measures": ops.cell_measures,
    "centroids": ops.cell_centroids,
    "area_vectors": ops.face_area_vectors,
    "face_centroids": ops.face_centroids,
}


def moved(points: Tensor, amount: float = 0.05) -> Tensor:
    """Points in general position: nothing flat, nothing aligned."""
    g = torch.Generator().manual_seed(3)
    return points + amount * torch.rand(points.shape, generator=g, dtype=points.dtype)


def holds(operator: Callable[[Mesh], Tensor], mesh: Mesh, keep: Tensor | None = None) -> bool:
    points = moved(mesh.points).requires_grad_()

    def of_points(x: Tensor) -> Tensor:
        out = operator(mesh.replace(points=x))
        return out if keep is None else out[keep]

    return bool(torch.autograd.gradcheck(of_points, (points,)))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("operator", OPERATORS)
def test_linear_cells(name: str, operator: str) -> None:
    assert holds(OPERATORS[operator], LINEAR[name])


@pytest.mark.parametrize("name", ["triangle", "triangle_strip", "polygon", "pixel", "quad"])
def test_normals(name: str) -> None:
    assert holds(ops.cell_normals, LINEAR[name])


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "make",
    [meshes.hanging_polyhedron, meshes.l_prism_polyhedron, meshes.pyramids],
    ids=["hanging", "l_prism", "pyramids"],
)
def test_solids_that_share_faces(operator: str, make: Callable[[], Mesh]) -> None:
    assert holds(OPERATORS[operator], make())


@pytest.mark.parametrize("operator", OPERATORS)
def test_points_in_the_plane(operator: str) -> None:
    assert holds(OPERATORS[operator], meshes.square_quads(2))


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_curved_cells(name: str) -> None:
    mesh = one_cell(name, nodes_of(name, _size(name)))
    assert holds(ops.cell_measures, mesh)
    assert holds(ops.cell_centroids, mesh)


def _size(name: str) -> int:
    from meshkit.celltypes import cell_type

    return cell_type(name).size or 0


@pytest.mark.parametrize(("name", "size", "degrees"), [r for r in LAGRANGE if r[1] < 30])
def test_lagrange_cells(name: str, size: int, degrees: tuple[int, int, int] | None) -> None:
    mesh = one_cell(name, nodes_of(name, size, degrees), degrees)
    assert holds(ops.cell_measures, mesh)
    assert holds(ops.cell_centroids, mesh)


def test_simplices_pass_derivatives_on() -> None:
    mesh = meshes.hanging_polyhedron()
    assert holds(lambda m: ops.cell_measures(ops.simplices(m)), mesh)
    assert holds(lambda m: ops.boundary(m).points, mesh)


def test_degenerate_cells_give_finite_derivatives() -> None:
    points = torch.zeros(8, 3, dtype=torch.float64).requires_grad_()
    rows = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2], [0, 1]]
    mesh = make_mesh(points, rows, types=["hexahedron", "tetra", "quad", "triangle", "line"])
    for operator in (*OPERATORS.values(), ops.cell_normals):
        out = operator(mesh)
        (slope,) = torch.autograd.grad(torch.nan_to_num(out).sum(), points, allow_unused=True)
        assert slope is None or torch.isfinite(slope).all()
    surface = make_mesh(points, rows[2:4], types=["quad", "triangle"])
    (slope,) = torch.autograd.grad(ops.face_area_vectors(surface).sum(), points)
    assert torch.isfinite(slope).all()


def test_nan_points_leave_other_derivatives_finite() -> None:
    points = meshes.kuhn_cube(2).points.clone()
    points[0] = torch.nan
    points.requires_grad_()
    mesh = meshes.kuhn_cube(2).replace(points=points)
    measures = ops.cell_measures(mesh)
    (slope,) = torch.autograd.grad(measures[~torch.isnan(measures)].sum(), points)
    used = torch.ones(len(points), dtype=torch.bool)
    used[mesh.cells.dense[torch.isnan(measures)]] = False
    assert torch.isfinite(slope[used]).all()
