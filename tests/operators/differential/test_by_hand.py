"""Values that can be worked out by hand."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from meshkit.making import make_mesh
from tests import meshes
from tests.meshes import shaken


def test_a_triangle() -> None:
    # f = 1, 2, 5 at (0, 0), (1, 0), (0, 1): slopes 1 and 4.
    mesh = make_mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])  # float64
    found = ops.gradient(mesh, torch.tensor([1.0, 2, 5]), on="points", method="fem")
    assert found.tolist() == [[1, 4]]
    stiffness = ops.stiffness_matrix(mesh).to_dense()
    assert stiffness.tolist() == [[1, -0.5, -0.5], [-0.5, 0.5, 0], [-0.5, 0, 0.5]]
    mass = ops.mass_matrix(mesh).to_dense() * 24
    torch.testing.assert_close(mass, torch.tensor([[2.0, 1, 1], [1, 2, 1], [1, 1, 2]]).double())
    assert (
        ops.mass_matrix(mesh, lump=True).to_dense().diagonal().tolist()
        == [pytest.approx(1 / 6)] * 3
    )


@pytest.mark.parametrize("make", [meshes.square_triangles, meshes.kuhn_cube, meshes.cube_surface])
def test_stiffness_and_mass(make: object) -> None:
    mesh = shaken(make(3))  # type: ignore[operator]
    x = mesh.points[:, 0]
    stiffness, mass = ops.stiffness_matrix(mesh), ops.mass_matrix(mesh)
    total = ops.cell_measures(mesh).sum()
    assert mass.to_dense().sum().item() == pytest.approx(total.item())
    ones = torch.ones_like(x)
    assert (stiffness @ ones).abs().max() < 1e-12
    torch.testing.assert_close(stiffness.to_dense(), stiffness.to_dense().T)
    # The energy of f = x is the measure where the x axis is tangential.
    along = ops.gradient(mesh, x, on="points", method="fem")
    energy = (along.square().sum(1) * ops.cell_measures(mesh)).sum()
    assert (x @ (stiffness @ x)).item() == pytest.approx(energy.item())
    lumped = ops.mass_matrix(mesh, lump=True) @ ones
    torch.testing.assert_close(lumped, mass @ ones)
    direct = -(stiffness @ x) / lumped
    torch.testing.assert_close(ops.laplacian(mesh, x, on="points"), direct, rtol=0, atol=1e-11)


def test_derivatives_of_matrices_in_the_points() -> None:
    mesh = meshes.square_triangles(2)
    points = shaken(mesh).points.requires_grad_()
    field = torch.rand(9, dtype=torch.float64)

    def energies(at: torch.Tensor) -> torch.Tensor:
        moved = mesh.replace(points=at)
        stiffness = ops.stiffness_matrix(moved) @ field
        return torch.stack([stiffness, ops.mass_matrix(moved) @ field])

    assert torch.autograd.gradcheck(energies, (points,))


def test_three_cells_in_a_row() -> None:
    # Hexahedra of edge 1, f = 0, 1, 4: plain face values 1/2 and 5/2.
    mesh = make_mesh(
        [[x, y, z] for x in range(4) for y in (0.0, 1) for z in (0, 1)],
        [[i, i + 4, i + 6, i + 2, i + 1, i + 5, i + 7, i + 3] for i in (0, 4, 8)],
        types="hexahedron",
    )
    field = torch.tensor([0.0, 1, 4])
    found = ops.gradient(mesh, field, on="cells", method="green_gauss_plain")
    assert found[:, 0].tolist() == [0.5, 2, 1.5]
    assert (found[:, 1:] == 0).all()
    # The value -1 on the left end, x = 0.
    faces = ops.faces(mesh)
    left = ops.face_centroids(mesh)[faces.boundary][:, 0] == 0
    given = torch.where(left, -1.0, torch.nan)
    with_end = ops.gradient(mesh, field, on="cells", method="green_gauss_plain", boundary=given)
    assert with_end[:, 0].tolist() == [1.5, 2, 1.5]


def test_a_warped_edge_of_the_weights() -> None:
    # Neighbours at distances 1 and 2 along a line, f = 0 here, 1 and 8 there: with weights 1/r
    # the slope is (1/1 x 1 x -1 + 1/4 x 2 x 8) / (1 + 1) = 3/2, without 15/5.
    mesh = make_mesh([[-1.0], [0], [2]], [[0, 1], [1, 2]], types="line")
    field = torch.tensor([1.0, 0, 8])
    assert ops.gradient(mesh, field, on="points")[1].item() == pytest.approx(1.5)
    assert ops.gradient(mesh, field, on="points", weights=0)[1].item() == pytest.approx(3)


def test_the_laplacian_of_a_parabola_on_cubes() -> None:
    mesh = meshes.cube_hexes(5)
    x = ops.cell_centroids(mesh)
    inside = ((x > 0.25) & (x < 0.75)).all(1)
    found = ops.laplacian(mesh, x[:, 0] ** 2 + 3 * x[:, 1] ** 2, on="cells")
    torch.testing.assert_close(found[inside], torch.full_like(found[inside], 8))
    with_ends = ops.laplacian(
        mesh, x[:, 0], on="cells", boundary=ops.face_centroids(mesh)[ops.faces(mesh).boundary][:, 0]
    )
    torch.testing.assert_close(with_ends, torch.zeros_like(with_ends), rtol=0, atol=1e-12)


def test_tangential_gradient_and_laplacian_on_a_sphere() -> None:
    errors = []
    for n in (8, 16):
        cube = meshes.cube_surface(n)
        at = cube.points - 0.5
        sphere = cube.replace(points=at / at.norm(dim=1, keepdim=True))
        p = sphere.points
        for on, method in (("points", "lsq"), ("cells", "lsq"), ("cells", "green_gauss")):
            where = p if on == "points" else ops.cell_centroids(sphere)
            normal = where / where.norm(dim=1, keepdim=True)
            right = torch.tensor([0.0, 0, 1]).double() - normal * normal[:, 2:]
            found = ops.gradient(sphere, where[:, 2], on=on, method=method)
            errors.append((found - right).norm(dim=1).square().mean().sqrt().item())
        mass = ops.mass_matrix(sphere, lump=True) @ torch.ones(len(p), dtype=torch.float64)
        # z is an eigenfunction: its Laplacian is -2 z.
        weak = (ops.laplacian(sphere, p[:, 2], on="points") * p[:, 2] * mass).sum()
        errors.append(abs(weak.item() / (-2 * 4 * torch.pi / 3) - 1))
    for coarse, fine in zip(errors[:4], errors[4:], strict=True):
        assert fine < 0.55 * coarse
    assert errors[-1] < 0.02


def test_rounding_does_not_decide_how_the_edges_of_a_cube_are_seen() -> None:
    mesh, g = meshes.cube_surface(3), torch.tensor([1.0, 2, 4], dtype=torch.float64)
    upright = ops.gradient(mesh, mesh.points @ g, on="points")
    for seed in range(4):
        random = torch.Generator().manual_seed(seed)
        turn, _ = torch.linalg.qr(torch.randn(3, 3, generator=random, dtype=torch.float64))
        turned = mesh.replace(points=mesh.points @ turn.T)
        for points in (turned.points, turned.points.clone().requires_grad_()):
            found = ops.gradient(turned.replace(points=points), mesh.points @ g, on="points")
            torch.testing.assert_close(found.detach() @ turn, upright)
    assert upright.abs().max() < 10


def test_a_neighbour_straight_above_a_surface_weighs_by_its_distance() -> None:
    # A pole on a square: the gradient in the square is that without the pole, if not quite so sure.
    around = [[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]]
    up = [[1e-9, 1e-9, 2.0], [0.0, 0, 2]]
    rows = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [0, 1, 5]]
    found = []
    for top in up:
        mesh = make_mesh([[0.0, 0, 0], *around, top], rows)
        found.append(ops.gradient(mesh, torch.tensor([0.0, 1, 2, -1, -2, 5]), on="points")[0])
    assert found[0].abs().max() < 5
    torch.testing.assert_close(found[0], found[1], rtol=1e-6, atol=1e-6)
