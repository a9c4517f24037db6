"""Forces and moments: closed surfaces, Archimedes, Stokes, by hand, and dtypes."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.integral.values import On
from meshkit.regions import Region
from tests import meshes
from tests.operators.integrands import all_cells, kind, with_faces
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere


def closed() -> dict[str, Mesh]:
    out = {f"boundary of {n}": ops.boundary(kind(n)) for n in KINDS}
    out |= {n: kind(n) for n in KINDS}
    return out | {"sphere": icosphere(3, 0.1), "square": meshes.shaken(meshes.square_quads(3))}


@pytest.mark.parametrize("name", closed())
@pytest.mark.parametrize("on", ["points", "cells", "faces"])
def test_uniform_pressure_on_a_closed_surface(name: str, on: On) -> None:
    mesh = closed()[name]
    if on == "faces" and mesh.dim < mesh.points.shape[1]:
        return
    n = {"points": mesh.n_points, "cells": mesh.n_cells, "faces": len(ops.faces(mesh))}[on]
    skin = ops.boundary(mesh) if mesh.dim == mesh.points.shape[1] else mesh
    area = ops.cell_measures(skin).sum()
    about = torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64)[: mesh.points.shape[1]]
    force, moment = ops.force(mesh, torch.full((n,), 1e5).double(), on=on, about=about)
    assert force.norm() <= 1e-12 * 1e5 * area
    assert moment.norm() <= 1e-12 * 1e5 * area


@pytest.mark.parametrize("name", KINDS)
def test_archimedes(name: str) -> None:
    body = kind(name)
    volume = ops.cell_measures(body).sum().item()
    centre = ops.integrate(body, body.points, on="points") / volume
    skin = ops.boundary(body)
    weight = 1000 * 9.81
    for mesh in (body, skin):
        depth = 7.0 - mesh.points[:, 2]
        lift, moment = ops.force(
            mesh, weight * depth, on="points", normals="into_fluid", about=centre
        )
        scale = weight * 7 * 6
        assert abs(lift[2].item() - weight * volume) <= 1e-12 * weight * volume
        assert lift[:2].abs().max() <= 1e-14 * scale
        assert moment.abs().max() <= 1e-14 * scale


def stokes(level: int) -> tuple[float, float, float]:
    """Relative errors of the pressure's, the shear's and the whole drag of a sphere."""
    mu, speed, radius = 1.3e-3, 0.7, 2e-3
    mesh = icosphere(level, radius)
    normal = mesh.points / radius
    cosine = normal[:, 2]
    pressure = -1.5 * mu * speed / radius * cosine
    along = torch.tensor([0, 0, 1.0], dtype=torch.float64) - cosine[:, None] * normal
    shear = 1.5 * mu * speed / radius * along
    unit = mu * radius * speed * math.pi
    (alone, _) = ops.force(mesh, pressure, on="points", normals="into_fluid")
    (both, _) = ops.force(mesh, pressure, shear, on="points", normals="into_fluid", shear_on="body")
    (other, _) = ops.force(
        mesh, pressure, -shear, on="points", normals="into_fluid", shear_on="fluid"
    )
    torch.testing.assert_close(both, other)
    assert both[:2].abs().max() < 1e-12 * unit
    p, v, w = alone[2].item(), (both - alone)[2].item(), both[2].item()
    return p / (2 * unit) - 1, v / (4 * unit) - 1, w / (6 * unit) - 1


def test_stokes_drag_is_of_second_order() -> None:
    for coarse, fine in zip(stokes(3), stokes(4), strict=True):
        assert abs(fine) < 2.5e-3
        assert math.log2(coarse / fine) > 1.9


def test_moments_by_hand() -> None:
    # A unit square in the plane z = 0 with p = x: force 1/2 along z, at x = 2/3.
    mesh = meshes.square_quads(3, 3)
    force, moment = ops.force(mesh, mesh.points[:, 0], on="points")
    assert force.tolist() == pytest.approx([0, 0, 0.5], abs=1e-15)
    assert moment.tolist() == pytest.approx([1 / 4, -1 / 3, 0], abs=1e-15)
    # Shear x along y on it: moment about z of x * x.
    shear = torch.stack([torch.zeros(16), mesh.points[:, 0], torch.zeros(16)], 1)
    nothing = torch.zeros(16, dtype=torch.float64)
    force, moment = ops.force(mesh, nothing, shear, on="points", shear_on="body")
    assert force.tolist() == pytest.approx([0, 0.5, 0], abs=1e-15)
    assert moment.tolist() == pytest.approx([0, 0, 1 / 3], abs=1e-15)
    # In the plane the moment is a number.
    lid = with_faces(meshes.square_quads(2))
    top = Region("top", "face", torch.nonzero(ops.face_centroids(lid)[:, 1] == 1).squeeze(1))
    force, turn = ops.force(lid, torch.ones(4), region=top, about=torch.tensor([0.0, 0.0]))
    assert force.tolist() == [0, 1]
    assert turn.item() == 0.5


def test_further_axes_are_carried_along() -> None:
    mesh = icosphere(1)
    g = torch.Generator().manual_seed(0)
    p = torch.rand(mesh.n_points, 2, 4, generator=g, dtype=torch.float64)
    t = torch.rand(mesh.n_points, 2, 4, 3, generator=g, dtype=torch.float64)
    force, moment = ops.force(mesh, p, t, on="points", shear_on="body")
    assert force.shape == moment.shape == (2, 4, 3)
    for i, j in itertools.product(range(2), range(4)):
        one = ops.force(mesh, p[:, i, j], t[:, i, j], on="points", shear_on="body")
        torch.testing.assert_close((force[i, j], moment[i, j]), one)
    flux = ops.flux(mesh, t, on="points", region=all_cells(mesh))
    want = ops.flux(mesh, t[:, 1, 2], on="points", region=all_cells(mesh))
    torch.testing.assert_close(flux[1, 2], want)
    complex_ = torch.complex(p, 2 * p)
    found = ops.integrate(mesh, complex_, on="points")
    torch.testing.assert_close(found.imag, 2 * ops.integrate(mesh, p, on="points"))


def test_complex_shear_of_a_real_pressure_keeps_its_imaginary_part() -> None:
    for mesh in (meshes.kuhn_cube(1), meshes.square_triangles(1)):
        d = mesh.points.shape[1]
        pressure = torch.rand(mesh.n_points, dtype=torch.float64)
        shear = torch.rand(2, mesh.n_points, d, dtype=torch.float64)
        whole = torch.complex(shear[0], shear[1])
        found = ops.force(mesh, pressure, whole, on="points", shear_on="body")
        real = ops.force(mesh, pressure, shear[0], on="points", shear_on="body")
        rest = ops.force(mesh, 0 * pressure, shear[1], on="points", shear_on="body")
        for both, one, other in zip(found, real, rest, strict=True):
            torch.testing.assert_close(both, torch.complex(one, other))


def test_force_has_the_dtype_of_the_widest() -> None:
    mesh = meshes.kuhn_cube(1).to(dtype=torch.float32)
    shear = torch.rand(mesh.n_cells, 3, dtype=torch.float64)
    found = ops.force(mesh, torch.rand(mesh.n_cells), shear, shear_on="body")
    assert [x.dtype for x in found] == [torch.float64, torch.float64]


def test_moments_about_a_point_without_values_are_refused() -> None:
    mesh = meshes.tetrahedron()
    with pytest.raises(
        MeshError, match=r"^force: about: on meta, where a tensor has no values; ma"
    ):
        ops.force(mesh, torch.ones(1), about=torch.zeros(3, device="meta"))


def test_moments_about_nowhere_are_refused() -> None:
    mesh = meshes.kuhn_cube(1)
    for about in (torch.tensor([0, torch.nan, 0]), [0.0, 0.0, float("inf")]):
        with pytest.raises(MeshError, match=r"expected about \[3\], finite and real, found"):
            ops.force(mesh, torch.rand(mesh.n_cells), about=about)  # type: ignore[arg-type]
