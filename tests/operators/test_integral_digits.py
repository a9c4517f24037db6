"""Integrals, fluxes and forces: digits, units, NaN, derivatives, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.integral.summation import total
from meshkit.operators.integral.values import On
from meshkit.regions import Region
from tests import meshes
from tests.operators.integrands import kind, linear, with_faces


def test_float32_fields_are_summed_in_float64() -> None:
    mesh = meshes.square_triangles(100).to(dtype=torch.float32)
    values = torch.full((mesh.n_cells,), 0.1, dtype=torch.float32)
    found = ops.integrate(mesh, values, on="cells")
    assert found.dtype == torch.float32
    exact = ops.cell_measures(mesh.to(dtype=torch.float64)).sum().item() * values[0].item()
    assert found.item() == pytest.approx(exact, rel=6e-8)
    doubled = mesh.to(dtype=torch.float64)
    assert ops.integrate(doubled, values, on="cells").dtype == torch.float64
    count = torch.arange(mesh.n_cells)
    assert ops.integrate(mesh, count, on="cells").dtype == torch.float32


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    values = torch.randn(1_000_003, 2, generator=torch.Generator().manual_seed(1)).double()
    before = torch.get_num_threads()
    try:
        found = []
        for n in (1, 2, 4):
            torch.set_num_threads(n)
            found.append(total(values))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(found[0], x) for x in found)
    exact = [math.fsum(values[:, i].tolist()) for i in range(2)]
    assert found[0].tolist() == pytest.approx(exact, rel=1e-13, abs=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_unit_and_origin_do_not_matter(scale: float, shift: float) -> None:
    mesh = kind("hanging")
    far = mesh.replace(points=scale * (mesh.points + shift))
    eps = 2.0**-52 * (1 + shift) / 0.1  # of the coordinates, over the smallest cell
    values = linear(mesh.points)
    want = ops.integrate(mesh, values, on="points")
    found = ops.integrate(far, values, on="points") / scale**3
    torch.testing.assert_close(found, want, rtol=20 * eps, atol=0)
    flux = ops.flux(far, values, on="points") / scale**2
    size = values.abs().max() * 6
    assert (flux - ops.flux(mesh, values, on="points")).abs().max() <= 20 * eps * size


def test_nan_touches_only_its_own() -> None:
    mesh = kind("hanging")
    values = linear(mesh.points)
    values[5, 1] = torch.nan
    found = torch.isnan(ops.flux(mesh, values, on="points"))
    around = torch.zeros(mesh.n_cells, dtype=torch.bool)
    pairs = ops.point_cells(mesh)
    around[pairs.indices[pairs.offsets[5] : pairs.offsets[6]]] = True
    assert torch.equal(found, around)


def _moved(mesh: Mesh) -> Tensor:
    g = torch.Generator().manual_seed(3)
    noise = 0.05 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)
    return (mesh.points + noise).requires_grad_()


GRADIENTS: dict[str, Callable[[], Mesh]] = {
    "tets": lambda: meshes.two_tetrahedra(),
    "hanging": lambda: meshes.hanging_polyhedron().select([7, 8]),
    "quads": lambda: meshes.square_quads(1, 3),
    "plane": lambda: meshes.square_triangles(1),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("on", ["points", "cells", "faces"])
def test_gradients(name: str, on: On) -> None:
    mesh = with_faces(GRADIENTS[name]())
    d = mesh.points.shape[1]
    n = {"points": mesh.n_points, "cells": mesh.n_cells, "faces": len(ops.faces(mesh))}[on]
    g = torch.Generator().manual_seed(1)
    values = torch.rand(n, d, generator=g, dtype=torch.float64).requires_grad_()
    points = _moved(mesh)
    region = Region("all", "face", torch.arange(len(ops.faces(mesh))))

    def everything(x: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        at = mesh.replace(points=x)
        out = [
            ops.integrate(at, v, on=on),
            ops.average(at, v, on=on, region=region),
            ops.flux(at, v, on=on),
            ops.flux(at, v, on=on, region=region),
        ]
        if d == mesh.dim or on != "faces":
            out += ops.force(at, v[:, 0], v, on=on, shear_on="body")
        return tuple(out)

    assert torch.autograd.gradcheck(everything, (points, values), fast_mode=True)


def test_refusals() -> None:
    mesh = with_faces(meshes.cube_hexes(1))
    p = torch.ones(1)
    with pytest.raises(MeshError, match=r"force: say whose traction the shear is"):
        ops.force(mesh, p, torch.ones(1, 3))
    with pytest.raises(MeshError, match=r'expected shear_on "fluid" or "body", found \'wall\''):
        ops.force(mesh, p, torch.ones(1, 3), shear_on="wall")  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"expected normals .* found 'out'"):
        ops.force(mesh, p, normals="out")  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"shear on cells: expected \[1, \.\.\., 3\]"):
        ops.force(mesh, p, torch.ones(1, 2), shear_on="body")
    with pytest.raises(MeshError, match=r"expected about \[3\]"):
        ops.force(mesh, p, about=torch.zeros(2))
    with pytest.raises(MeshError, match=r"values on points: expected \[8, \.\.\.\]"):
        ops.integrate(mesh, torch.ones(3), on="points")
    with pytest.raises(MeshError, match=r': expected on "points", "cells" or "faces", found'):
        ops.integrate(mesh, torch.ones(3), on="nodes")  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"no region 'wall'"):
        ops.integrate(mesh, p, on="cells", region="wall")
    with pytest.raises(MeshError, match=r"region 'r': expected ids from 0 to 0, found 9"):
        ops.integrate(mesh, p, on="cells", region=Region("r", "cell", [9]))
    with pytest.raises(MeshError, match=r"region 'r' of points has no normal"):
        ops.flux(mesh, torch.ones(8, 3), on="points", region=Region("r", "point", [0]))
    with pytest.raises(MeshError, match=r"cell 0 has dimension 3 and so no normal"):
        ops.flux(mesh, torch.ones(8, 3), on="points", region=Region("r", "cell", [0]))
    with pytest.raises(MeshError, match=r"above 0 and at most 1"):
        ops.integration_weights(mesh, on="points", rows=torch.tensor([0]), chance=0.0)
    assert isinstance(mesh.faces, Faces)


def test_nothing_at_all_has_no_flux_and_bears_no_force() -> None:
    """No points, no components, and regions of nothing."""
    none = make_mesh(torch.zeros(0, 3), torch.zeros(0, 4, dtype=torch.int64))
    surface = make_mesh(torch.zeros(4, 3), torch.zeros(0, 3, dtype=torch.int64))
    empty = Region("none", "side", torch.zeros(0, 2, dtype=torch.int64))
    for mesh in (none, surface, meshes.cube_hexes(1)):
        n = mesh.n_points
        through = ops.flux(mesh, torch.ones(n, 3), on="points", region=empty)
        assert float(through) == 0 and through.dtype == mesh.points.dtype
        borne = ops.force(
            mesh, torch.ones(n, 2), torch.ones(n, 2, 3), on="points", shear_on="body", region=empty
        )
        assert [x.tolist() for x in borne] == [[[0.0] * 3] * 2] * 2
        assert ops.flux(mesh, torch.ones(n, 0, 3), on="points", region=empty).shape == (0,)
        assert ops.force(mesh, torch.ones(n, 0), on="points", region=empty)[0].shape == (0, 3)
        assert ops.integrate(mesh, torch.ones(n, 2), on="points", region=empty).tolist() == [0, 0]
