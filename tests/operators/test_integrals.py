"""Integrals, averages, fluxes and forces: by hand, exact classes, on every kind of cell."""

from __future__ import annotations

import itertools
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
from tests.operators.cells_for_tests import HIGH_ORDER, linear_cells, nodes_of, one_cell
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere

SLOPE = torch.tensor([[1.5, -0.3, 0.2], [0.7, -0.4, 0.1], [-0.2, 0.9, 0.6]], dtype=torch.float64)
SHIFT = torch.tensor([0.3, -2.0, 5.0], dtype=torch.float64)


def linear(x: Tensor) -> Tensor:
    d = x.shape[1]
    return x @ SLOPE[:d, :d].to(x) + SHIFT[:d].to(x)


def kind(name: str, stretch: float = 1.0, n: int = 2) -> Mesh:
    return meshes.stretched(meshes.shaken(KINDS[name](n), 0.2), 1.0, 1.0, 1 / stretch)


def all_cells(mesh: Mesh) -> Region:
    return Region("all", "cell", torch.arange(mesh.n_cells))


# --- over cells ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
def test_linear_fields_on_every_kind(name: str, stretch: float) -> None:
    mesh = kind(name, stretch)
    volumes, centres = ops.cell_measures(mesh), ops.cell_centroids(mesh)
    want = (volumes[:, None] * linear(centres)).sum(0)
    size = (volumes[:, None] * linear(centres)).abs().sum(0)
    for values, on in ((linear(mesh.points), "points"), (linear(centres), "cells")):
        found = ops.integrate(mesh, values, on=on)  # type: ignore[arg-type]
        assert ((found - want).abs() <= 1e-14 * size).all()
    assert ops.integrate(mesh, torch.ones(mesh.n_points), on="points").item() == pytest.approx(
        1 / stretch, rel=1e-14
    )


@pytest.mark.parametrize("name", KINDS)
def test_other_fields_are_of_second_order(name: str) -> None:
    def field(x: Tensor) -> Tensor:
        return torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) * torch.exp(x[:, 2])

    exact = (1 - math.cos(3)) / 3 * math.sin(2) / 2 * (math.e - 1)

    def error(n: int, on: On) -> float:
        mesh = kind(name, n=n)
        at = mesh.points if on == "points" else ops.cell_centroids(mesh)
        return abs(ops.integrate(mesh, field(at), on=on).item() - exact)

    for on in ("points", "cells"):
        assert math.log2(error(3, on) / error(6, on)) > 1.8


@pytest.mark.parametrize("name", linear_cells())
def test_linear_fields_on_each_type(name: str) -> None:
    mesh = linear_cells()[name]
    want = ops.cell_measures(mesh)[0] * linear(ops.cell_centroids(mesh))[0]
    found = ops.integrate(mesh, linear(mesh.points), on="points")
    torch.testing.assert_close(found, want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_high_order_cells_integrate_what_they_span(name: str) -> None:
    mesh = one_cell(name, nodes_of(name, len(nodes_of(name, _size(name)))))
    whole = ops.integrate(mesh, torch.ones(mesh.n_points, dtype=torch.float64), on="points")
    torch.testing.assert_close(whole, ops.cell_measures(mesh)[0], rtol=1e-13, atol=0)
    # x^2 over the reference cell, by hand.
    row = mesh.cells.present[0]
    shape = _shape(row)
    want = {"line": 1 / 3, "triangle": 1 / 12, "quad": 1 / 3, "tetra": 1 / 60}
    want |= {"hexahedron": 1 / 3, "wedge": 1 / 12}
    found = ops.integrate(mesh, mesh.points[:, 0] ** 2, on="points")
    assert found.item() == pytest.approx(want[shape], rel=1e-13)


def _size(name: str) -> int:
    from meshkit.celltypes import cell_type

    return cell_type(name).size or 0


def _shape(number: int) -> str:
    from meshkit.celltypes import CELL_TYPES

    return CELL_TYPES[number].shape


def test_mixed_dimensions_and_regions_of_cells() -> None:
    mesh = meshes.one_of_each()
    ones = torch.ones(mesh.n_cells, dtype=torch.float64)
    assert ops.integrate(mesh, ones, on="cells").item() == pytest.approx(1 / 6 + 1 + 1 / 2 + 1 / 3)
    measures = ops.cell_measures(mesh)
    for i in range(mesh.n_cells):
        region = Region("one", "cell", [i, i])  # named twice, counted once
        for on, n in (("cells", mesh.n_cells), ("points", mesh.n_points)):
            values = torch.full((n,), 2.0, dtype=torch.float64)
            found = ops.integrate(mesh, values, on=on, region=region)  # type: ignore[arg-type]
            assert found.item() == pytest.approx(2 * measures[i].item(), rel=1e-14)


def test_what_lies_outside_does_not_matter() -> None:
    mesh = kind("tets")
    values = torch.full((mesh.n_cells,), torch.nan, dtype=torch.float64)
    values[3] = 2.0
    found = ops.integrate(mesh, values, on="cells", region=Region("one", "cell", [3]))
    assert found.item() == pytest.approx(2 * ops.cell_measures(mesh)[3].item())
    loose = make_mesh([[0.0, 0], [1, 0], [0, 1], [torch.nan, 0]], [[0, 1, 2]])
    at = torch.tensor([1.0, 1, 1, torch.nan])
    assert ops.integrate(loose, at, on="points").item() == pytest.approx(0.5)


def test_points_and_edges() -> None:
    mesh = meshes.square_quads(2)
    values = mesh.points[:, 0]
    points = Region("some", "point", [0, 2, 2])
    assert ops.integrate(mesh, values, on="points", region=points).item() == 1.0
    edges = Region("bottom", "edge", [[0, 1], [2, 1], [1, 0]])
    assert ops.integrate(mesh, values, on="points", region=edges).item() == 0.5
    assert ops.average(mesh, values, on="points", region=edges).item() == 0.5
    with pytest.raises(MeshError, match=r"region 'some' of points holds no cells"):
        ops.integrate(mesh, torch.ones(4), on="cells", region=points)


# --- over faces ----------------------------------------------------------------------------------


def with_faces(mesh: Mesh) -> Mesh:
    return mesh.replace(faces=ops.faces(mesh))


def boundary_regions(mesh: Mesh) -> list[Region]:
    """The whole boundary as faces and as sides."""
    faces = ops.faces(mesh)
    skin = ops.boundary(mesh)
    pairs = torch.stack([skin.cell_data["parent_cell"], skin.cell_data["local_face"]], 1)
    return [Region("skin", "face", faces.boundary), Region("skin", "side", pairs)]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
def test_boundary_of_every_kind(name: str, stretch: float) -> None:
    mesh = with_faces(kind(name, stretch))
    area = ops.integrate(
        mesh, torch.ones(len(ops.faces(mesh))), on="faces", region=boundary_regions(mesh)[0]
    )
    assert area.item() == pytest.approx(2 + 4 / stretch, rel=1e-6)
    g = torch.Generator().manual_seed(4)
    noise = 0.04 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)
    mesh = mesh.replace(points=mesh.points * (1 + noise))  # warped on the outside, too
    skin = ops.boundary(mesh)
    want = ops.integrate(skin, linear(skin.points), on="points")
    volume = ops.cell_measures(mesh).sum()
    x = mesh.points
    for region in boundary_regions(mesh):
        found = ops.integrate(mesh, linear(x), on="points", region=region)
        torch.testing.assert_close(found, want, rtol=1e-13, atol=0)
        through = ops.flux(mesh, x, on="points", region=region)
        torch.testing.assert_close(through, 3 * volume, rtol=1e-13, atol=0)
    own = ops.flux(skin, skin.points, on="points", region=all_cells(skin))
    torch.testing.assert_close(own, 3 * volume, rtol=1e-13, atol=0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_flux_of_a_linear_field_is_its_divergence(
    name: str, stretch: float, dtype: torch.dtype
) -> None:
    mesh = kind(name, stretch).to(dtype=dtype)
    values = linear(mesh.points.double())
    found = ops.flux(mesh, values, on="points")
    exact = mesh.to(dtype=torch.float64)
    want = torch.trace(SLOPE) * ops.cell_measures(exact)
    through = ops.face_area_vectors(exact).norm(dim=1) * values.abs().max()
    faces = ops.faces(mesh)
    inner = faces.neighbour >= 0
    size = want.new_zeros(mesh.n_cells).index_add(0, faces.owner, through)
    size = size.index_add(0, faces.neighbour[inner], through[inner])
    assert ((found - want).abs() <= 1e-14 * size).all()


def test_flux_from_faces_and_cells() -> None:
    mesh = kind("tets")
    want = torch.trace(SLOPE) * ops.cell_measures(mesh)
    at_faces = linear(ops.face_centroids(mesh))
    torch.testing.assert_close(ops.flux(mesh, at_faces, on="faces"), want, rtol=1e-12, atol=1e-14)
    # Constant on cells: closed; on an orthogonal mesh linear ones are exact inside.
    constant = torch.ones(mesh.n_cells, 3, dtype=torch.float64)
    assert ops.flux(mesh, constant, on="cells").abs().max() < 1e-15
    cubes = meshes.stretched(meshes.cube_hexes(4), 1.0, 2.0, 3.0)
    found = ops.flux(cubes, linear(ops.cell_centroids(cubes)), on="cells")
    centres = ops.cell_centroids(cubes) / cubes.points.amax(0)
    inside = ((centres > 0.2) & (centres < 0.8)).all(1)
    want = torch.trace(SLOPE) * ops.cell_measures(cubes)
    torch.testing.assert_close(found[inside], want[inside], rtol=1e-12, atol=0)


def test_values_between_two_cells_are_interpolated_and_on_the_boundary_the_owners() -> None:
    mesh = with_faces(make_mesh([[0.0], [1.0], [4.0]], [[0, 1], [1, 2]]))
    values = ops.cell_centroids(mesh)
    inner = Region("inner", "face", [0])
    assert ops.integrate(mesh, values, on="cells", region=inner).item() == pytest.approx(1.0)
    assert ops.flux(mesh, values, on="cells", region=inner).item() == pytest.approx(1.0)
    left = Region("left", "face", [1])
    assert ops.integrate(mesh, values, on="cells", region=left).item() == 0.5
    assert ops.flux(mesh, values, on="cells", region=left).item() == -0.5
    assert ops.flux(mesh, values, on="cells").tolist() == pytest.approx([1 - 0.5, 2.5 - 1])


def test_flips_turn_the_normal() -> None:
    mesh = with_faces(meshes.cube_hexes(1))
    z = torch.zeros(8, 3, dtype=torch.float64)
    z[:, 2] = 1
    for entity, ids in (("face", [4, 5]), ("side", [[0, 4], [0, 5]])):
        flip = torch.tensor([True, False])
        region = Region("both", entity, ids, flip=flip)  # type: ignore[arg-type]
        assert ops.flux(mesh, z, on="points", region=region).item() == 2.0
        straight = Region("both", entity, ids)  # type: ignore[arg-type]
        assert ops.flux(mesh, z, on="points", region=straight).item() == 0.0


def mixed(turned: bool) -> Mesh:
    """A tet and the triangle (0, 1, 2) on its skin, and a quad apart."""
    points = [
        [0.0, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [5, 0, 0],
        [6, 0, 0],
        [6, 1, 0],
        [5, 1, 0],
    ]
    ring = [0, 2, 1] if turned else [0, 1, 2]
    return make_mesh(
        points, [[0, 1, 2, 3], ring, [4, 5, 6, 7]], types=["tetra", "triangle", "quad"]
    )


@pytest.mark.parametrize("turned", [True, False])
def test_surface_cells_of_solids_look_out_of_them(turned: bool) -> None:
    mesh = mixed(turned)
    wall, apart = Region("wall", "cell", [1]), Region("apart", "cell", [2])
    up = torch.tensor([[0.0, 0, 1]]).expand(8, 3)
    assert ops.flux(mesh, up, on="points", region=wall).item() == -0.5
    assert ops.flux(mesh, up, on="points", region=apart).item() == 1.0
    pressure = torch.tensor([3.0, 99.0, 7.0])
    # The tet behind the wall holds the fluid's pressure; a surface apart has its own.
    assert ops.force(mesh, pressure, region=wall)[0].tolist() == [0, 0, -1.5]
    assert ops.force(mesh, pressure, region=apart)[0].tolist() == [0, 0, 7]
    assert ops.integrate(mesh, pressure, on="cells", region=wall).item() == 49.5
    at_faces = torch.arange(4.0)
    face = int(torch.nonzero(ops.face_area_vectors(mesh)[:, 2] < -0.1))
    assert ops.integrate(mesh, at_faces, on="faces", region=wall).item() == face / 2
    with pytest.raises(MeshError, match="cell 2 lies on no face of the mesh"):
        ops.integrate(mesh, at_faces, on="faces", region=apart)
    with pytest.raises(MeshError, match="cell 2 lies on no face of the mesh"):
        ops.flux(mesh, at_faces[:, None].expand(4, 3), on="faces", region=apart)


def test_edges_of_surfaces_and_curves_in_the_plane() -> None:
    quads = with_faces(meshes.shaken(meshes.square_quads(4)))
    for mesh in (quads, with_faces(meshes.square_triangles(3, 3))):
        d = mesh.points.shape[1]
        for region in boundary_regions(mesh):
            found = ops.flux(mesh, mesh.points, on="points", region=region)
            assert found.item() == pytest.approx(2.0)
            length = ops.integrate(mesh, torch.ones(mesh.n_points), on="points", region=region)
            assert length.item() == pytest.approx(4.0)
        found = ops.flux(mesh, linear(mesh.points), on="points")
        want = torch.trace(SLOPE[:2, :2]) * ops.cell_measures(mesh)
        torch.testing.assert_close(found, want, rtol=1e-12, atol=1e-14)
        assert d in (2, 3)
    rim = ops.boundary(quads)
    assert ops.flux(rim, rim.points, on="points", region=all_cells(rim)).item() == pytest.approx(2)


# --- forces --------------------------------------------------------------------------------------


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


# --- weights, digits, derivatives ----------------------------------------------------------------


@pytest.mark.parametrize("on", ["points", "cells", "faces"])
def test_random_subsets_estimate_without_bias(on: On) -> None:
    mesh = meshes.shaken(meshes.square_triangles(2), 0.2)
    n = {"points": mesh.n_points, "cells": mesh.n_cells, "faces": len(ops.faces(mesh))}[on]
    values = torch.arange(n, dtype=torch.float64) ** 2
    want = ops.integrate(mesh, values, on=on)
    weights = ops.integration_weights(mesh, on=on)
    torch.testing.assert_close((weights * values).sum(), want)
    draws = [torch.tensor(rows) for rows in itertools.combinations(range(n), 2)]
    found = [(ops.integration_weights(mesh, on=on, rows=r) * values[r]).sum() for r in draws]
    torch.testing.assert_close(torch.stack(found).mean(), want)
    # Drawn with unequal chances (Poisson sampling): every subset, weighted by how likely it is.
    some = torch.arange(4)
    region = Region("some", {"points": "point", "cells": "cell"}.get(on, "cell"), some)  # type: ignore[arg-type]
    if on == "faces":
        return
    chance = torch.tensor([0.2, 0.9, 0.5, 1.0], dtype=torch.float64)
    mean = torch.zeros((), dtype=torch.float64)
    for taken in itertools.product([False, True], repeat=4):
        mask = torch.tensor(taken)
        likely = torch.where(mask, chance, 1 - chance).prod()
        rows = some[mask]
        w = ops.integration_weights(mesh, on=on, region=region, rows=rows, chance=chance[mask])
        mean = mean + likely * (w * values[rows]).sum()
    torch.testing.assert_close(mean, ops.integrate(mesh, values, on=on, region=region))


def test_averages() -> None:
    mesh = kind("hexes")
    values = linear(mesh.points)
    want = ops.integrate(mesh, values, on="points") / ops.cell_measures(mesh).sum()
    torch.testing.assert_close(ops.average(mesh, values, on="points"), want)
    nothing = Region("none", "cell", [])
    assert torch.isnan(ops.average(mesh, values, on="points", region=nothing)).all()
    assert (ops.integrate(mesh, values, on="points", region=nothing) == 0).all()


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


def test_moments_about_nowhere_are_refused() -> None:
    mesh = meshes.kuhn_cube(1)
    for about in (torch.tensor([0, torch.nan, 0]), [0.0, 0.0, float("inf")]):
        with pytest.raises(MeshError, match=r"expected about \[3\], finite and real, found"):
            ops.force(mesh, torch.rand(mesh.n_cells), about=about)  # type: ignore[arg-type]
