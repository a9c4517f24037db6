"""Integrals and fluxes over faces, sides and surface cells: by hand and exact classes."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.operators.integrands import SLOPE, all_cells, boundary_regions, kind, linear, with_faces
from tests.operators.kinds import KINDS


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
