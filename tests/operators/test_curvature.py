"""Dual measures, angles, normals and curvature: by hand, by Gauss and Bonnet, by rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from tests import meshes
from tests.operators.cells_for_tests import linear_cells, turned
from tests.operators.surfaces import icosphere, torus, two_handles

EPS = 2.0**-52

CLOSED: dict[str, tuple[Callable[[], Mesh], int]] = {
    "tetrahedron": (lambda: ops.boundary(meshes.tetrahedron()), 2),
    "icosahedron": (lambda: icosphere(0), 2),
    "sphere": (lambda: icosphere(4), 2),
    "cube": (lambda: meshes.cube_surface(4), 2),
    "torus": (torus, 0),
    "two handles": (two_handles, -2),
}


def test_dual_measures_by_hand() -> None:
    right = make_mesh([[0.0, 0], [3, 0], [0, 4]], [[0, 1, 2]])
    assert ops.dual_measures(right).tolist() == pytest.approx([3, 1.5, 1.5], rel=1e-15)
    equal = make_mesh([[0.0, 0], [2, 0], [1, math.sqrt(3)]], [[0, 1, 2]])
    assert ops.dual_measures(equal).tolist() == pytest.approx([math.sqrt(3) / 3] * 3, rel=1e-15)
    # Isosceles, base 2, height 3: the circumcentre is at height 4/3.
    tall = make_mesh([[-1.0, 0], [1, 0], [0, 3]], [[0, 1, 2]])
    foot = 0.5 * 4 / 3 + math.sqrt(10) / 4 * math.hypot(0.5, 3 / 2 - 4 / 3) / 1
    apex = 3 - 2 * foot
    found = ops.dual_measures(tall).tolist()
    assert found == pytest.approx([foot, foot, apex], rel=1e-14)
    obtuse = make_mesh([[0.0, 0], [4, 0], [1, 1]], [[0, 1, 2]])
    assert ops.dual_measures(obtuse).tolist() == pytest.approx([0.5, 0.5, 1], rel=1e-15)
    assert ops.dual_measures(meshes.tetrahedron()).tolist() == pytest.approx([1 / 24] * 4)
    assert ops.dual_measures(meshes.cube_hexes()).tolist() == pytest.approx([1 / 8] * 8)
    line = make_mesh([[0.0], [1], [4]], [[0, 1], [1, 2]])
    assert ops.dual_measures(line).tolist() == [0.5, 2.0, 1.5]


@pytest.mark.parametrize("name", linear_cells())
def test_dual_measures_add_up_to_the_measure(name: str) -> None:
    mesh = linear_cells()[name]
    dual, whole = ops.dual_measures(mesh), ops.cell_measures(mesh)
    torch.testing.assert_close(dual.sum(), whole.sum(), rtol=1e-14, atol=0)
    if name != "polygon":  # an L: not convex
        assert (dual >= 0).all()


def test_dual_measures_of_solids_add_up_cell_by_cell() -> None:
    for mesh in (
        meshes.shaken(meshes.hanging_polyhedron(), 0.2),
        meshes.l_prism_polyhedron(),
        meshes.shaken(meshes.kuhn_cube(3), 0.2),
    ):
        whole = ops.cell_measures(mesh).sum()
        torch.testing.assert_close(ops.dual_measures(mesh).sum(), whole, rtol=1e-14, atol=0)


def test_dual_measures_of_other_cells_are_not_counted() -> None:
    mesh = meshes.one_of_each()
    dual = ops.dual_measures(mesh)
    flat = (mesh.cells.dims < 3).repeat_interleave(mesh.cells.sizes)
    assert (dual[mesh.cells.connectivity[flat]] == 0).all()
    assert dual.sum().item() == pytest.approx(1 / 6 + 1 + 1 / 2 + 1 / 3)


def test_corner_angles_by_hand() -> None:
    right = make_mesh([[0.0, 0], [3, 0], [0, 4]], [[0, 1, 2]])
    want = [math.pi / 2, math.atan2(4, 3), math.atan2(3, 4)]
    assert ops.corner_angles(right).tolist() == pytest.approx(want, rel=1e-15)
    ring = [[0.0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]
    inward = make_mesh(ring, [[0, 1, 2, 3, 4, 5]], types="polygon")
    half = math.pi / 2
    want = [half, half, half, 3 * half, half, half]
    assert ops.corner_angles(inward).tolist() == pytest.approx(want, rel=1e-15)
    # A needle keeps its digits, where an arc cosine has none left.
    needle = make_mesh([[0.0, 0], [1, 0], [1, 1e-9]], [[0, 1, 2]])
    assert ops.corner_angles(needle)[0].item() == pytest.approx(1e-9, rel=1e-14)


def test_corner_angles_of_other_cells_are_nan() -> None:
    mesh = meshes.one_of_each()
    known = ~torch.isnan(ops.corner_angles(mesh))
    flat = (mesh.cells.dims == 2).repeat_interleave(mesh.cells.sizes)
    assert torch.equal(known, flat)


def test_a_quad_with_a_repeated_corner_is_a_triangle() -> None:
    mesh = make_mesh([[0.0, 0], [3, 0], [0, 4]], [[0, 1, 1, 2]], types="quad")
    want = [math.pi / 2, math.atan2(4, 3), 0, math.atan2(3, 4)]
    assert sorted(ops.corner_angles(mesh).tolist()) == pytest.approx(sorted(want), rel=1e-15)
    assert ops.dual_measures(mesh).tolist() == pytest.approx([3, 1.5, 1.5], rel=1e-15)


def test_strips_have_the_angles_of_their_triangles() -> None:
    strip = linear_cells()["triangle_strip"]
    apart = ops.simplices(strip)
    angles = ops.corner_angles(apart)
    want = strip.points.new_zeros(5).index_add(0, apart.cells.connectivity, angles)
    torch.testing.assert_close(ops.corner_angles(strip), want, rtol=1e-14, atol=0)
    torch.testing.assert_close(ops.angle_defects(strip), ops.angle_defects(apart))
    torch.testing.assert_close(ops.dual_measures(strip), ops.dual_measures(apart))


@pytest.mark.parametrize("name", CLOSED)
def test_defects_of_closed_surfaces_are_the_euler_characteristic(name: str) -> None:
    make, chi = CLOSED[name]
    mesh = make()
    mesh = mesh.replace(points=turned(mesh.points, 1))
    gap = ops.angle_defects(mesh).sum() - 2 * math.pi * chi
    assert abs(gap) <= EPS * math.pi * mesh.n_cells
    # As the definition says it, on triangles.
    angles = ops.corner_angles(mesh)
    total = mesh.points.new_zeros(mesh.n_points)
    total = total.index_add(0, mesh.cells.connectivity, angles)
    assert abs((2 * math.pi - total).sum() - 2 * math.pi * chi) <= EPS * math.pi * mesh.n_cells


@given(st.integers(0, 10**6), st.sampled_from(["quads", "torus", "polygons", "open", "branched"]))
def test_defects_of_any_surface(seed: int, kind: str) -> None:
    kinds: dict[str, Callable[[], tuple[Mesh, int]]] = {
        "quads": lambda: (ops.boundary(meshes.cube_hexes(2)), 2),
        "torus": lambda: (torus(6, 5, quads=True), 0),
        "polygons": lambda: (ops.boundary(meshes.split_cube_polyhedron()), 2),
        "open": lambda: (meshes.square_quads(3, 3), 1),
        "branched": lambda: (branched(), 1),
    }
    mesh, chi = kinds[kind]()
    g = torch.Generator().manual_seed(seed)
    noise = 0.2 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)
    defects = ops.angle_defects(mesh.replace(points=mesh.points + noise / 3))
    assert defects.sum().item() == pytest.approx(2 * math.pi * chi, abs=1e-12)


def branched() -> Mesh:
    """Three triangles on one edge, and two that touch them in one point."""
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 5, 6]]
    points = [[0.0, 0, 0], [0, 0, 1], [1, 0, 0], [-1, 1, 0], [-1, -1, 0], [1, 0, -1], [0, 1, -1]]
    return make_mesh(points, rows)


def test_boundary_defects_are_the_turning_of_the_boundary() -> None:
    defects = ops.angle_defects(meshes.square_triangles(2, 3))
    corners = torch.nonzero(defects.abs() > 1e-12).squeeze(1)
    assert corners.tolist() == [0, 2, 6, 8]
    assert defects[corners].tolist() == pytest.approx([math.pi / 2] * 4)


@pytest.mark.parametrize("radius", [1.0, 3e-5, 4e6])
def test_curvature_of_a_sphere(radius: float) -> None:
    mesh = icosphere(4, radius)
    gauss, mean = ops.gauss_curvature(mesh), ops.mean_curvature(mesh)
    assert gauss.mean().item() == pytest.approx(1 / radius**2, rel=0.01)
    assert gauss.tolist() == pytest.approx([1 / radius**2] * mesh.n_points, rel=2e-3)
    assert mean.tolist() == pytest.approx([1 / radius] * mesh.n_points, rel=2e-5)
    inward = make_mesh(mesh.points, mesh.cells.dense[:, [0, 2, 1]])
    torch.testing.assert_close(ops.mean_curvature(inward), -mean)
    torch.testing.assert_close(ops.gauss_curvature(inward), gauss)


def test_curvature_is_of_second_order() -> None:
    def errors(n: int, quads: bool) -> tuple[float, float]:
        mesh = torus(2 * n, n, quads)
        x = mesh.points
        b = torch.atan2(x[:, 2], x[:, :2].norm(dim=1) - 2)
        gauss = torch.cos(b) / (2 + torch.cos(b))
        mean = (1 + gauss) / 2
        gap = ops.gauss_curvature(mesh) - gauss, ops.mean_curvature(mesh) - mean
        return tuple(float(e.abs().max()) for e in gap)  # type: ignore[return-value]

    for quads in (True, False):
        coarse, fine = errors(24, quads), errors(48, quads)
        for a, b in zip(coarse, fine, strict=True):
            assert math.log2(a / b) > 1.9


def test_orders_of_point_normals() -> None:
    def on_torus(n: int) -> float:
        mesh = torus(2 * n, n, quads=True)
        x = mesh.points
        ring = x[:, :2] * 2 / x[:, :2].norm(dim=1, keepdim=True)
        centre = torch.nn.functional.pad(ring, (0, 1))
        return float((ops.point_normals(mesh) - (x - centre)).norm(dim=1).max())

    def on_sphere(level: int) -> float:
        mesh = icosphere(level)
        return float((ops.point_normals(mesh) - mesh.points).norm(dim=1).max())

    assert math.log2(on_torus(12) / on_torus(24)) > 1.9
    assert math.log2(on_sphere(3) / on_sphere(4)) > 0.9


def test_flat_and_bounded_surfaces() -> None:
    mesh = meshes.shaken(meshes.square_triangles(4, 2))
    inside = ((mesh.points > 0) & (mesh.points < 1)).all(1)
    assert ops.gauss_curvature(mesh)[inside].abs().max() < 1e-12
    mean = ops.mean_curvature(mesh)
    assert torch.equal(~torch.isnan(mean), inside)
    assert mean[inside].abs().max() < 1e-12


def test_dihedral_angles_by_hand() -> None:
    cube = ops.dihedral_angles(meshes.cube_hexes(1))
    assert cube.angles.tolist() == pytest.approx([math.pi / 2] * 12, rel=1e-15)
    torch.testing.assert_close(cube.edges[:2], torch.tensor([[0, 1], [1, 3]]))
    prism = ops.dihedral_angles(meshes.l_prism_polyhedron())
    inward = torch.nonzero(prism.angles > math.pi).squeeze(1)
    assert prism.edges[inward].tolist() == [[3, 9]]
    assert prism.angles[inward].tolist() == pytest.approx([1.5 * math.pi])
    flat = ops.dihedral_angles(meshes.split_cube_polyhedron())
    assert sum(a == pytest.approx(math.pi) for a in flat.angles.tolist()) == 4
    # The dihedral angle of a regular tetrahedron is arccos 1/3.
    regular = make_mesh([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [[0, 2, 1, 3]])
    found = ops.dihedral_angles(regular)
    if ops.cell_measures(regular) < 0:
        pytest.fail("the tet is inside out")
    assert found.angles.tolist() == pytest.approx([math.acos(1 / 3)] * 6, rel=1e-14)
    assert ops.dihedral_angles(meshes.square_quads(1)).offsets.tolist() == [0, 0]
    assert repr(cube) == "DihedralAngles(1 cells, 12 angles)"
    eight = ops.dihedral_angles(meshes.cube_hexes(2))
    assert repr(eight) == "DihedralAngles(8 cells, 96 angles)"


@pytest.mark.parametrize("make", [meshes.hanging_polyhedron, meshes.one_of_each, meshes.pyramids])
def test_angles_around_an_inner_edge_make_a_circle(make: Callable[[], Mesh]) -> None:
    mesh = make()
    found = ops.dihedral_angles(mesh)
    assert len(found.offsets) == mesh.n_cells + 1
    key = torch.sort(found.edges, 1).values
    edges, at = torch.unique(key, dim=0, return_inverse=True)
    total = found.angles.new_zeros(len(edges)).index_add(0, at, found.angles)
    skin = ops.boundary(mesh)
    outer = skin.point_data["parent_point"][ops.edges(skin).long()]
    on_skin = {tuple(sorted(e)) for e in outer.tolist()}
    inner = [i for i, e in enumerate(edges.tolist()) if tuple(e) not in on_skin]
    assert total[inner].tolist() == pytest.approx([2 * math.pi] * len(inner), rel=1e-14)


def test_polyhedra_have_the_dihedral_angles_of_their_twins() -> None:
    for name in ("tetra", "hexahedron", "wedge", "pyramid", "pentagonal_prism"):
        typed = linear_cells()[name]
        rings = ops.faces(typed)
        ends = rings.offsets.tolist()
        faces = [rings.connectivity[a:b].tolist() for a, b in pairwise(ends)]
        solid = make_mesh(typed.points, polyhedra=[faces])
        a, b = ops.dihedral_angles(typed), ops.dihedral_angles(solid)
        key = [sorted(map(tuple, torch.sort(x.edges, 1).values.tolist())) for x in (a, b)]
        assert key[0] == key[1]
        torch.testing.assert_close(
            torch.sort(a.angles).values, torch.sort(b.angles).values, rtol=1e-13, atol=0
        )


def test_edge_angles_by_hand() -> None:
    skin = meshes.cube_surface(2)
    angles = ops.edge_angles(skin)
    assert sorted(set(angles.mul(4 / math.pi).round().tolist())) == [2.0, 4.0]
    inward = make_mesh(skin.points, skin.cells.dense[:, [0, 2, 1]])
    assert ops.edge_angles(inward).max().item() == pytest.approx(1.5 * math.pi)
    assert torch.isnan(ops.edge_angles(meshes.square_triangles(1))).sum() == 4
    torn = make_mesh([[0.0, 0], [1, 0], [0, 1], [1, 1]], [[0, 1, 2], [1, 2, 3]])
    assert torch.isnan(ops.edge_angles(torn)).all()  # the two look to different sides


def test_point_normals() -> None:
    sphere = icosphere(3)
    torch.testing.assert_close(ops.point_normals(sphere), sphere.points, rtol=0, atol=6e-3)
    # Weighted by angle: the corner of a cube looks along its diagonal however it is cut.
    cube = meshes.cube_surface(1)
    want = (cube.points - 0.5) / math.sqrt(0.75)
    torch.testing.assert_close(ops.point_normals(cube), want, rtol=0, atol=1e-15)
    fold = make_mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    assert torch.isnan(ops.point_normals(fold)).all()


SURFACES = {
    "angles": ops.corner_angles,
    "defects": ops.angle_defects,
    "gauss": ops.gauss_curvature,
    "mean": ops.mean_curvature,
    "normals": ops.point_normals,
    "dual": ops.dual_measures,
    "edge_angles": ops.edge_angles,
}


def _inner(out: Tensor) -> Tensor:
    return out[~torch.isnan(out)]


@pytest.mark.parametrize("operator", SURFACES)
@pytest.mark.parametrize("kind", ["triangles", "quads", "open"])
def test_gradients_on_surfaces(operator: str, kind: str) -> None:
    mesh = {
        "triangles": lambda: icosphere(0),
        "quads": lambda: ops.boundary(meshes.cube_hexes(2)),
        "open": lambda: meshes.square_quads(2, 3),
    }[kind]()
    g = torch.Generator().manual_seed(5)
    noise = 0.1 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)
    points = (mesh.points + noise).requires_grad_()

    def of(x: Tensor) -> Tensor:
        return _inner(SURFACES[operator](mesh.replace(points=x)))

    assert torch.autograd.gradcheck(of, (points,))


@pytest.mark.parametrize("name", linear_cells())
def test_gradients_of_dual_measures_and_dihedral_angles(name: str) -> None:
    mesh = linear_cells()[name]
    g = torch.Generator().manual_seed(7)
    noise = 0.05 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)
    points = (mesh.points + noise).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.dual_measures(mesh.replace(points=x)), (points,))
    if mesh.dim == 3:
        assert torch.autograd.gradcheck(
            lambda x: ops.dihedral_angles(mesh.replace(points=x)).angles, (points,)
        )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unit_and_origin_do_not_matter(scale: float, dtype: torch.dtype) -> None:
    mesh = icosphere(2)
    eps = torch.finfo(dtype).eps
    moved = mesh.replace(points=(scale * (mesh.points + 1e4)).to(dtype))
    # The points themselves are rounded: what the operators say of those is what is asked.
    exact = mesh.replace(points=moved.points.double() - scale * 1e4)
    bound = 50 * eps * 8
    for operator, power in (
        (ops.dual_measures, 2),
        (ops.corner_angles, 0),
        (ops.angle_defects, 0),
        (ops.edge_angles, 0),
        (ops.point_normals, 0),
    ):
        want = operator(exact).double()
        found = operator(moved).double()
        if dtype == torch.float32:
            assert torch.isfinite(found).any()
        size = float(want[torch.isfinite(want)].abs().max())
        both = torch.isfinite(want) & torch.isfinite(found)
        gap = (found - want)[both].abs().max()
        assert gap <= bound * max(size, scale**power if power else 1.0), operator.__name__


def test_nan_touches_only_its_own() -> None:
    mesh = icosphere(2)
    points = mesh.points.clone()
    points[7, 1] = torch.nan
    spoilt = mesh.replace(points=points)
    around = torch.zeros(mesh.n_points, dtype=torch.bool)
    around[mesh.cells.dense[(mesh.cells.dense == 7).any(1)]] = True
    for operator in (ops.dual_measures, ops.gauss_curvature, ops.mean_curvature, ops.point_normals):
        found = torch.isnan(operator(spoilt))
        found = found.reshape(mesh.n_points, -1).any(1)
        assert torch.equal(found, around), operator.__name__


def test_refusals() -> None:
    for operator in (ops.gauss_curvature, ops.mean_curvature, ops.angle_defects):
        with pytest.raises(MeshError, match=r"expected a surface .* found dim 3"):
            operator(meshes.cube_hexes(1))
    with pytest.raises(MeshError, match=r"edge_angles: expected a surface"):
        ops.edge_angles(meshes.cube_hexes(1))


def test_defects_against_vtk() -> None:
    pyvista = pytest.importorskip("pyvista")
    mesh = icosphere(3, 2.0)
    surface = pyvista.PolyData.from_regular_faces(mesh.points.numpy(), mesh.cells.dense.numpy())
    gauss = torch.from_numpy(surface.curvature("gaussian"))
    mean = torch.from_numpy(surface.curvature("mean"))
    # VTK divides the same defect by a third of the area around a point, whatever the angles.
    third = ops.cell_measures(mesh)[:, None].expand(-1, 3) / 3
    area = third.new_zeros(mesh.n_points)
    area = area.index_add(0, mesh.cells.connectivity, third.reshape(-1))
    torch.testing.assert_close(ops.angle_defects(mesh), gauss * area, rtol=1e-11, atol=0)
    torch.testing.assert_close(ops.mean_curvature(mesh), mean.abs(), rtol=0.2, atol=0)
