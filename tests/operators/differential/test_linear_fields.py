"""Linear fields: exact to rounding on every kind of cell, at any stretch, unit, origin, dtype."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.mesh import Mesh
from tests import meshes
from tests.meshes import shaken, stretched
from tests.operators.kinds import KINDS

C = 20.0
"""The constant of the bound that is stated for gradients (they promise 100)."""

G = torch.tensor([1.3, -0.7, 0.4], dtype=torch.float64)
N = {"agglomerated": 3, "hanging": 3, "pyramids": 3}


def turned(mesh: Mesh) -> Mesh:
    """Rotated, so that no axis is the thin one."""
    g = torch.Generator().manual_seed(5)
    q, _ = torch.linalg.qr(torch.randn(3, 3, generator=g, dtype=torch.float64))
    return mesh.replace(points=mesh.points @ q)


def least_width(kind: str, stretch: float) -> float:
    """Between opposite sides of the cells, before they are shaken."""
    n = N.get(kind, 4)
    return stretch / {"agglomerated": 2 * n, "hanging": 2 * n, "pyramids": 2 * n}.get(kind, n)


def variants(kind: str, stretch: float) -> Iterator[tuple[Mesh, float, str]]:
    """In other units, dtypes and far from the origin; with the least width of a cell."""
    base = turned(stretched(shaken(KINDS[kind](N.get(kind, 4))), 1, 1, stretch))
    for dtype in (torch.float64, torch.float32):
        for unit in (1.0, 1e-6, 1e6):
            for origin in (0.0, 1e4):
                points = ((base.points + origin) * unit).to(dtype)
                name = f"{dtype}, unit {unit:g}, origin {origin:g}"
                yield base.replace(points=points), least_width(kind, stretch) * unit, name


@pytest.mark.parametrize(
    ("on", "method"), [("cells", "lsq"), ("cells", "green_gauss"), ("points", "lsq")]
)
@pytest.mark.parametrize("stretch", [1.0, 1e-3])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: str, stretch: float, on: str, method: str) -> None:
    held = 0
    for mesh, width, name in variants(kind, stretch):
        double = mesh.points.double()
        places = ops.cell_centroids(mesh.replace(points=double)) if on == "cells" else double
        unit = width / least_width(kind, stretch)
        slope = G / unit
        field = places @ slope + 0.9
        operator = ops.gradient_operator(mesh, on=on, method=method)
        found = operator.apply(field.to(mesh.points.dtype)).double()
        constant = operator.apply(torch.full_like(field, 0.9).to(mesh.points.dtype))
        eps = torch.finfo(mesh.points.dtype).eps
        size = field.abs().max() / slope.norm() + places.abs().max()
        bound = (C * eps * size / width).item()
        if bound > 0.1:  # nothing is promised but that no infinity comes out
            assert not torch.isinf(found).any(), name
            continue
        held += 1
        assert operator.determined.all(), name
        worst = ((found - slope).norm(dim=1).max() / slope.norm()).item()
        assert worst <= bound, f"{name}: {worst:.1e} > {bound:.1e}"
        assert (constant == 0).all(), name
    assert held == 9  # all but float32 far from the origin


@pytest.mark.parametrize("kind", KINDS)
def test_boundary_values_keep_linear_fields_exact(kind: str) -> None:
    mesh = turned(shaken(KINDS[kind](2)))
    inside, outside = ops.cell_centroids(mesh) @ G, boundary_centroids(mesh) @ G
    some = outside.clone()
    some[::3] = torch.nan
    for given in (outside, some):
        for method in ("lsq", "green_gauss"):
            found = ops.gradient(mesh, inside, on="cells", method=method, boundary=given)
            torch.testing.assert_close(found, G.expand_as(found), rtol=0, atol=1e-12)
        at_points = ops.gradient(mesh, mesh.points @ G, on="points", boundary=given)
        torch.testing.assert_close(at_points, G.expand_as(at_points), rtol=0, atol=1e-12)
        flat = ops.laplacian(mesh, inside, on="cells", boundary=given)
        torch.testing.assert_close(flat, torch.zeros_like(flat), rtol=0, atol=1e-10)
    free = ops.laplacian(mesh, inside, on="cells")
    torch.testing.assert_close(free, torch.zeros_like(free), rtol=0, atol=1e-10)


def boundary_centroids(mesh: Mesh) -> Tensor:
    return ops.face_centroids(mesh)[ops.faces(mesh).boundary]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["lsq", "green_gauss"])
def test_divergence_and_curl(kind: str, method: str) -> None:
    mesh = turned(shaken(KINDS[kind](2 if kind != "tets" else 3)))
    slopes = torch.tensor(
        [[1.0, 2, 3], [-4, 5, 6], [7, 8, -9]], dtype=torch.float64
    )  # u_i = slopes[i, j] x_j
    u = ops.cell_centroids(mesh) @ slopes.T
    found = ops.divergence(mesh, u, on="cells", method=method)
    torch.testing.assert_close(found, torch.full_like(found, -3.0), rtol=0, atol=1e-11)
    turn = ops.curl(mesh, u, on="cells", method=method)
    right = torch.tensor([8.0 - 6, 3 - 7, -4 - 2], dtype=torch.float64)
    torch.testing.assert_close(turn, right.expand_as(turn), rtol=0, atol=1e-11)
    tensor = torch.stack([u, 2 * u], 1)
    both = ops.divergence(mesh, tensor, on="cells", method=method)
    torch.testing.assert_close(both, torch.stack([found, 2 * found], 1))
    nested = ops.gradient(mesh, tensor, on="cells", method=method)
    assert nested.shape == (mesh.n_cells, 2, 3, 3)
    torch.testing.assert_close(nested[:, 1], (2 * slopes).expand(mesh.n_cells, 3, 3))


@pytest.mark.parametrize("make", [meshes.square_triangles, meshes.square_quads])
def test_in_the_plane_and_on_a_tilted_one(make: object) -> None:
    flat = shaken(make(4))  # type: ignore[operator]
    g = G[:2]
    for method in ("lsq", "green_gauss"):
        field = ops.cell_centroids(flat) @ g
        found = ops.gradient(flat, field, on="cells", method=method)
        torch.testing.assert_close(found, g.expand_as(found), rtol=0, atol=1e-12)
    u = ops.cell_centroids(flat) @ torch.tensor([[0.0, 3], [2, 0]], dtype=torch.float64)
    turn = ops.curl(flat, u, on="cells")
    torch.testing.assert_close(turn, torch.full_like(turn, 1.0), rtol=0, atol=1e-11)
    raised = flat.replace(points=torch.nn.functional.pad(flat.points, (0, 1)))
    tilted = turned(raised)
    normal = ops.cell_normals(tilted)[0]
    tangential = G - (G @ normal) * normal
    for on, method in (("cells", "lsq"), ("cells", "green_gauss"), ("points", "lsq")):
        places = ops.cell_centroids(tilted) if on == "cells" else tilted.points
        found = ops.gradient(tilted, places @ G, on=on, method=method)
        torch.testing.assert_close(found, tangential.expand_as(found), rtol=0, atol=1e-12)
    if tilted.cells.uniform == 5:
        found = ops.gradient(tilted, tilted.points @ G, on="points", method="fem")
        torch.testing.assert_close(found, tangential.expand_as(found), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_along_a_line(d: int) -> None:
    from meshkit.making import make_mesh

    along = torch.tensor([0.3, -0.5, 0.8], dtype=torch.float64)[:d]
    places = torch.tensor([0.0, 0.4, 1.1, 1.5, 2.4], dtype=torch.float64)
    mesh = make_mesh(places[:, None] * along, [[0, 1], [2, 1], [2, 3], [3, 4]], types="line")
    unit = along / along.norm()
    right = (G[:d] @ unit) * unit
    for on, method in (
        *(("cells", "lsq"), ("cells", "green_gauss"), ("points", "lsq"), ("points", "fem")),
    ):
        at = ops.cell_centroids(mesh) if on == "cells" else mesh.points
        found = ops.gradient(mesh, at @ G[:d], on=on, method=method)
        torch.testing.assert_close(found, right.expand_as(found), rtol=0, atol=1e-12)
