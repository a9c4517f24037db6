"""Measures, centroids, normals and face geometry: by hand, exact, closed, far from the origin."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from meshkit import operators as ops
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.measure.elements import element
from meshkit.operators.measure.quadrature import rule
from meshkit.operators.measure.shape_functions import SIMPLEX_AXES
from tests import meshes
from tests.operators.cells_for_tests import (
    HIGH_ORDER,
    LAGRANGE,
    SHEAR,
    linear_cells,
    linear_twin,
    nodes_of,
    one_cell,
    turned,
)

DET = float(torch.linalg.det(SHEAR))

SOLIDS: dict[str, Callable[[], Mesh]] = {
    "tets": lambda: meshes.kuhn_cube(3),
    "hexes": lambda: meshes.cube_hexes(3),
    "wedges": lambda: meshes.wedge_column(3),
    "pyramids": meshes.pyramids,
    "hanging": meshes.hanging_polyhedron,
    "split": meshes.split_cube_polyhedron,
    "l_prism": meshes.l_prism_polyhedron,
}


def cell_sums(mesh: Mesh, of_face: Tensor, *, signed: bool) -> Tensor:
    """Sums over the faces of each cell, the neighbour's with the opposite sign."""
    faces = ops.faces(mesh)
    inner = faces.neighbour >= 0
    out = of_face.new_zeros(mesh.n_cells, *of_face.shape[1:])
    out = out.index_add(0, faces.owner, of_face)
    return out.index_add(0, faces.neighbour[inner], of_face[inner] * (-1 if signed else 1))


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
def test_solids_close_and_add_up(name: str, stretch: float) -> None:
    mesh = SOLIDS[name]()
    if name in ("tets", "hexes", "hanging"):
        mesh = meshes.shaken(mesh, 0.2)
    mesh = meshes.stretched(mesh, stretch, 1.0, 1.0)
    vectors = ops.face_area_vectors(mesh)
    sizes = cell_sums(mesh, vectors.norm(dim=1), signed=False)
    closure = cell_sums(mesh, vectors, signed=True).norm(dim=1)
    assert (closure <= 1e-14 * sizes).all()
    volumes = ops.cell_measures(mesh)
    assert (volumes > 0).all()
    skin = ops.boundary(mesh)
    assert enclosed(skin) == pytest.approx(float(volumes.sum()), rel=1e-12)
    # The volume is what the same faces enclose, cell by cell: Gauss about the cell's centroid.
    apart = parts_about(mesh)
    torch.testing.assert_close(apart, volumes, rtol=1e-12, atol=0)


def enclosed(skin: Mesh) -> float:
    """The volume within a closed mesh of polygons, through the fan of each."""
    total = 0.0
    for block in skin.cells.blocks:
        ring = skin.points[block.connectivity]
        middle = ring.mean(1)
        after = torch.roll(ring, -1, 1)
        vector = torch.linalg.cross(ring - middle[:, None], after - middle[:, None]).sum(1) / 2
        total += float((middle * vector).sum() / 3)
    return total


def parts_about(mesh: Mesh) -> Tensor:
    """Volumes of cells from face means and area vectors."""
    faces = ops.faces(mesh)
    ends = faces.offsets.tolist()
    means = torch.stack([mesh.points[faces.connectivity[a:b]].mean(0) for a, b in pairwise(ends)])
    vectors = ops.face_area_vectors(mesh)
    centre = ops.cell_centroids(mesh)
    out = torch.zeros(mesh.n_cells, dtype=mesh.points.dtype)
    own = ((means - centre[faces.owner]) * vectors).sum(1) / 3
    out = out.index_add(0, faces.owner, own)
    inner = faces.neighbour >= 0
    other = ((means - centre[faces.neighbour.clamp(min=0)]) * vectors).sum(1) / -3
    return out.index_add(0, faces.neighbour[inner], other[inner])


@pytest.mark.parametrize("name", ["tets", "hexes", "hanging"])
def test_normals_point_outward_and_from_owner_to_neighbour(name: str) -> None:
    mesh = meshes.shaken(SOLIDS[name](), 0.2)
    faces = ops.faces(mesh)
    vectors, centres = ops.face_area_vectors(mesh), ops.face_centroids(mesh)
    cells = ops.cell_centroids(mesh)
    assert (((centres - cells[faces.owner]) * vectors).sum(1) > 0).all()
    inner = faces.neighbour >= 0
    across = cells[faces.neighbour[inner]] - centres[inner]
    assert ((across * vectors[inner]).sum(1) > 0).all()


@pytest.mark.parametrize("name", [*SOLIDS, *(n for n, m in linear_cells().items() if m.dim == 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_compiled_is_the_same_as_torch(name: str, dtype: torch.dtype) -> None:
    mesh = meshes.shaken(SOLIDS[name](), 0.2) if name in SOLIDS else linear_cells()[name]
    points = mesh.points.clone()
    points[-1] = points[0]  # cells with an edge, and a cell of its own, without size
    for x in (mesh.points, points):
        at = mesh.replace(points=x.to(dtype))
        followed = at.replace(points=at.points.clone().requires_grad_())
        eps = torch.finfo(dtype).eps
        for operator in (ops.cell_measures, ops.cell_centroids):
            found, want = operator(at), operator(followed).detach()
            assert found.dtype == dtype
            gap = 50 * eps if operator is ops.cell_measures else 1e4 * eps
            torch.testing.assert_close(found, want, rtol=gap, atol=50 * eps)


def test_by_hand() -> None:
    assert ops.cell_measures(meshes.l_prism_polyhedron()).item() == pytest.approx(3, rel=1e-15)
    centroid = ops.cell_centroids(meshes.l_prism_polyhedron())[0].tolist()
    assert centroid == pytest.approx([5 / 6, 5 / 6, 0.5], rel=1e-15)
    split = meshes.split_cube_polyhedron()
    assert ops.cell_measures(split).item() == pytest.approx(1, rel=1e-15)
    assert ops.cell_centroids(split)[0].tolist() == pytest.approx([0.5] * 3, rel=1e-15)
    each = ops.cell_measures(meshes.one_of_each()).tolist()
    assert each == pytest.approx([0, 1, 1 / 2, 1, 1 / 6, 1, 1 / 2, 1 / 3], rel=1e-15)
    tet = meshes.tetrahedron()
    area = ops.face_area_vectors(tet).norm(dim=1).sum()
    assert area.item() == pytest.approx((3 + math.sqrt(3)) / 2, rel=1e-15)


# Length, area and volume before the shear, where an affine map keeps their meaning.
MEASURES = {
    "tetra": 1 / 6,
    "voxel": 1.0,
    "hexahedron": 1.0,
    "wedge": 1 / 2,
    "pyramid": 1 / 3,
    "hexagonal_prism": 36.0,
}
CENTROIDS = {
    "triangle": [1 / 3, 1 / 3, 0],
    "polygon": [5 / 6, 5 / 6, 0],
    "pixel": [0.5, 0.5, 0],
    "quad": [0.5, 0.5, 0],
    "tetra": [1 / 4, 1 / 4, 1 / 4],
    "voxel": [0.5, 0.5, 0.5],
    "hexahedron": [0.5, 0.5, 0.5],
    "wedge": [1 / 3, 1 / 3, 0.5],
    "pyramid": [0.375, 0.5, 0.25],
    "hexagonal_prism": [0, 0, 1.5],
}


@pytest.mark.parametrize("name", MEASURES)
def test_volume_by_hand_under_a_shear(name: str) -> None:
    found = ops.cell_measures(linear_cells()[name]).item()
    assert found == pytest.approx(MEASURES[name] * DET, rel=1e-14)


@pytest.mark.parametrize("name", CENTROIDS)
def test_centroid_by_hand_under_a_shear(name: str) -> None:
    want = torch.tensor(CENTROIDS[name], dtype=torch.float64) @ SHEAR + 0.3
    if name == "pyramid":  # not symmetric: from the tets between base and apex
        want = torch.tensor([0.375, 0.375, 0.25], dtype=torch.float64) @ SHEAR + 0.3
    found = ops.cell_centroids(linear_cells()[name])[0]
    torch.testing.assert_close(found, want, rtol=1e-14, atol=1e-15)


def test_lines_and_strips_by_hand() -> None:
    line = one_cell("poly_line", torch.tensor([[0.0, 0], [3, 0], [3, 1]]))
    assert ops.cell_measures(line).item() == 4
    assert ops.cell_centroids(line)[0].tolist() == pytest.approx([(1.5 * 3 + 3) / 4, 1 / 8])
    strip = one_cell(
        "triangle_strip",
        torch.tensor([[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 2]]),
    )
    assert ops.cell_measures(strip).item() == pytest.approx(1 + 1)  # it turns a corner
    assert ops.cell_normals(strip)[0].tolist() == pytest.approx(
        [0.7071068, 0, -0.7071068], abs=1e-6
    )


def test_normals() -> None:
    mesh = meshes.one_of_each()
    normals = ops.cell_normals(mesh)
    assert normals[2].tolist() == [0, 0, 1]
    assert normals[3].tolist() == [0, 0, 1]
    assert torch.isnan(normals[[0, 1, 4, 5, 6, 7]]).all()
    flat = make_mesh([[0.0, 0], [1, 0], [0, 1], [2, 2]], [[0, 1, 2], [0, 2, 1], [0, 3, 3]])
    assert ops.cell_normals(flat)[:2].tolist() == [[0, 0, 1], [0, 0, -1]]
    assert torch.isnan(ops.cell_normals(flat)[2]).all()


def test_a_rounding_is_no_normal() -> None:
    along = torch.tensor([[0.1], [0.2], [0.7]], dtype=torch.float64)
    line = along * torch.tensor([[0.3, 0.7, 0.9]], dtype=torch.float64) + 0.1
    assert torch.isnan(ops.cell_normals(make_mesh(line, [[0, 1, 2]]))).all()


def test_faces_of_surfaces_are_co_normals() -> None:
    # A clockwise and a counter-clockwise triangle: both look outward.
    points = [[0.0, 0], [1, 0], [0, 1], [1, 1]]
    mesh = make_mesh(points, [[0, 1, 2], [1, 2, 3]])
    faces = ops.faces(mesh)
    vectors, centres = ops.face_area_vectors(mesh), ops.face_centroids(mesh)
    middle = ops.cell_centroids(mesh)[faces.owner]
    assert vectors.shape == (5, 2)
    assert (((centres - middle) * vectors).sum(1) > 0).all()
    assert vectors.norm(dim=1).tolist() == pytest.approx([math.sqrt(2), 1, 1, 1, 1])
    turned_mesh = mesh.replace(points=turned(torch.nn.functional.pad(mesh.points, (0, 1))))
    sums = cell_sums(turned_mesh, ops.face_area_vectors(turned_mesh), signed=False)
    assert sums.shape == (2, 3)


def test_faces_of_curves_are_tangents() -> None:
    mesh = make_mesh([[0.0, 0], [2, 0], [2, 3]], [[0, 1, 2]], types="poly_line")
    assert ops.face_area_vectors(mesh).tolist() == [[-1, 0], [0, 1]]
    assert ops.face_centroids(mesh).tolist() == [[0, 0], [2, 3]]
    lines = make_mesh([[0.0], [2], [1]], [[0, 2], [1, 2], [1, 1]], types="line")
    faces = ops.faces(lines)
    for face, vector in enumerate(ops.face_area_vectors(lines)[:, 0].tolist()):
        cell = int(faces.owner[face])
        out = ops.face_centroids(lines)[face] - ops.cell_centroids(lines)[cell]
        assert vector == float(torch.sign(out[0]))


def test_given_faces_of_a_surface_may_run_either_way() -> None:
    mesh = meshes.square_quads(2)
    faces = ops.faces(mesh)
    every = torch.ones(len(faces), dtype=torch.bool)
    backward = mesh.replace(faces=faces.flipped(every))
    torch.testing.assert_close(ops.face_area_vectors(backward), ops.face_area_vectors(mesh))


def test_face_centroids_of_plane_faces_that_are_not_convex() -> None:
    mesh = meshes.l_prism_polyhedron()
    centres = ops.face_centroids(mesh)
    torch.testing.assert_close(
        centres[:2], torch.tensor([[5 / 6, 5 / 6, 0], [5 / 6, 5 / 6, 1]], dtype=torch.float64)
    )


def test_polygons_that_are_not_star_shaped() -> None:
    ring = [[0.0, 0], [4, 0], [4, 1], [1, 1], [1, 4], [0, 4]]
    mesh = make_mesh(ring, [list(range(6))], types="polygon")
    assert ops.cell_measures(mesh).item() == pytest.approx(7, rel=1e-15)
    x = (4 * 2 + 3 * 0.5) / 7  # of the two arms
    assert ops.cell_centroids(mesh)[0].tolist() == pytest.approx([x, x], rel=1e-15)


def test_a_warped_quad_is_its_fan() -> None:
    mesh = make_mesh([[0.0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]], [[0, 1, 2, 3]], types="quad")
    assert ops.cell_measures(mesh).item() == pytest.approx(math.sqrt(2), rel=1e-15)
    torch.testing.assert_close(
        ops.cell_measures(ops.simplices(mesh)).sum(), ops.cell_measures(mesh)[0]
    )


def test_inverted_and_flat_cells() -> None:
    points = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    mesh = make_mesh(points, [[0, 2, 1, 3], [0, 1, 2, 4]])
    assert ops.cell_measures(mesh).tolist() == pytest.approx([-1 / 6, 0])
    torch.testing.assert_close(ops.cell_centroids(mesh)[1], points[[0, 1, 2, 4]].mean(0))
    flat = make_mesh(torch.zeros(8, 3), [list(range(8))], types="hexahedron")
    assert ops.cell_measures(flat).item() == 0
    assert ops.cell_centroids(flat)[0].tolist() == [0, 0, 0]


def test_one_nan_spoils_the_cells_that_use_it() -> None:
    mesh = meshes.hanging_polyhedron()
    points = mesh.points.clone()
    points[0, 1] = torch.nan
    spoilt = torch.isnan(ops.cell_measures(mesh.replace(points=points)))
    assert spoilt.tolist() == [True] + [False] * 8
    spoilt = torch.isnan(ops.cell_centroids(mesh.replace(points=points))).any(1)
    assert spoilt.tolist() == [True] + [False] * 8


@given(st.integers(0, 10**6))
def test_float32_slivers(seed: int) -> None:
    height = 1e-4
    base = torch.tensor([[0, 0, 0], [1, 0, 0], [0.3, 0.9, 0], [0.4, 0.3, height]]).double()
    points = turned(base, seed).float()
    mesh = make_mesh(points, [[0, 1, 2, 3]])
    # Against the same rounded points in float64: what the float32 arithmetic loses.
    exact = ops.cell_measures(mesh.replace(points=points.double())).item()
    assert ops.cell_measures(mesh).item() == pytest.approx(exact, rel=1e-3)
    for face in range(2):
        thin = make_mesh(points, [[0, 1, 3], [0, 2, 3]])
        exact = ops.cell_measures(thin.replace(points=points.double()))[face].item()
        assert ops.cell_measures(thin)[face].item() == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("name", ["hexes", "hanging"])
def test_the_origin_does_not_matter(name: str) -> None:
    mesh = SOLIDS[name]()
    # Shifts by powers of two leave lattice coordinates exact.
    away = mesh.replace(points=mesh.points * 3 / 3 + 2.0**20)
    back = mesh.replace(points=away.points - 2.0**20)
    torch.testing.assert_close(ops.cell_measures(away), ops.cell_measures(back), rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes_stay(dtype: torch.dtype) -> None:
    mesh = meshes.cube_hexes(1)
    small = mesh.replace(points=mesh.points.to(dtype))
    for operator in (
        ops.cell_measures,
        ops.cell_centroids,
        ops.face_area_vectors,
        ops.face_centroids,
    ):
        assert operator(small).dtype == dtype
    assert ops.cell_normals(ops.boundary(small)).dtype == dtype
    assert ops.cell_measures(small).item() == 1


# --- curved cells --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_straight_high_order_cells_measure_as_their_corners(name: str) -> None:
    check_straight(name, cell_type(name).size or 0, None)


@pytest.mark.parametrize(("name", "size", "degrees"), LAGRANGE)
def test_straight_lagrange_cells_measure_as_their_corners(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    check_straight(name, size, degrees)


def check_straight(name: str, size: int, degrees: tuple[int, int, int] | None) -> None:
    mesh = one_cell(name, nodes_of(name, size, degrees) @ SHEAR + 0.3, degrees)
    twin = linear_twin(mesh)
    torch.testing.assert_close(ops.cell_measures(mesh), ops.cell_measures(twin), rtol=2e-14, atol=0)
    torch.testing.assert_close(
        ops.cell_centroids(mesh), ops.cell_centroids(twin), rtol=1e-14, atol=1e-14
    )
    assert ops.cell_measures(mesh).item() > 0


def bent(x: Tensor) -> Tensor:
    """A polynomial map of degree 2 with det = 1 + x + y: volumes by hand."""
    return torch.stack([x[:, 0] + x[:, 0] ** 2 / 2 + x[:, 0] * x[:, 1], x[:, 1], x[:, 2]], 1)


# The integral of 1 + x + y over the reference cell.
BENT = {"tetra": 1 / 6 + 2 / 24, "hexahedron": 2.0, "wedge": (1 / 2 + 2 / 6)}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("quadratic_tetra", 10),
        ("tetra14", 14),
        ("quadratic_hexahedron", 20),
        ("biquadratic_quadratic_hexahedron", 24),
        ("triquadratic_hexahedron", 27),
        ("quadratic_wedge", 15),
        ("quadratic_linear_wedge", 12),
        ("biquadratic_quadratic_wedge", 18),
        ("lagrange_tetrahedron", 20),
        ("lagrange_tetrahedron", 15),
        ("lagrange_hexahedron", 64),
        ("lagrange_wedge", 40),
        ("lagrange_wedge", 21),
    ],
)
def test_curved_volumes_by_hand(name: str, size: int) -> None:
    mesh = one_cell(name, bent(nodes_of(name, size)))
    shape = CELL_TYPES[mesh.cells.present[0]].shape
    assert ops.cell_measures(mesh).item() == pytest.approx(BENT[shape], rel=1e-13)
    # z is not bent: its mean is the integral of z (1 + x + y), by hand.
    moment = {"tetra": 1 / 24 + 2 / 120, "hexahedron": 1.0, "wedge": BENT["wedge"] / 2}[shape]
    centre = ops.cell_centroids(mesh)[0, 2].item()
    assert centre == pytest.approx(moment / BENT[shape], rel=1e-13)


@pytest.mark.parametrize(
    ("name", "size"), [("biquadratic_quad", 9), ("lagrange_quadrilateral", 16)]
)
def test_curved_areas_by_hand(name: str, size: int) -> None:
    at = nodes_of(name, size)
    plane = bent(at)
    assert ops.cell_measures(one_cell(name, plane)).item() == pytest.approx(2, rel=1e-14)
    # A parabolic gutter z = x^2: its area is the length of a parabola.
    gutter = torch.stack([at[:, 0], at[:, 1], at[:, 0] ** 2], 1)
    exact = math.sqrt(5) / 2 + math.asinh(2) / 4
    assert ops.cell_measures(one_cell(name, gutter)).item() == pytest.approx(exact, rel=1e-5)


def test_curved_lengths_by_hand() -> None:
    for name, size in (("quadratic_edge", 3), ("cubic_line", 4), ("lagrange_curve", 6)):
        at = nodes_of(name, size)[:, 0]
        parabola = torch.stack([at, at**2], 1)
        exact = math.sqrt(5) / 2 + math.asinh(2) / 4
        found = ops.cell_measures(one_cell(name, parabola)).item()
        assert found == pytest.approx(exact, rel=1e-5)


def test_quadrature_of_a_curved_length_converges() -> None:
    # Circles of n quadratic edges: the error of the length falls with the fourth power.
    def error(n: int) -> float:
        angle = torch.linspace(0, 2 * math.pi, 2 * n + 1, dtype=torch.float64)
        points = torch.stack([torch.cos(angle), torch.sin(angle)], 1)
        rows = [[2 * i, 2 * i + 2, 2 * i + 1] for i in range(n)]
        length = ops.cell_measures(make_mesh(points, rows, types="quadratic_edge")).sum().item()
        return abs(length - 2 * math.pi)

    assert 3.8 < math.log2(error(16) / error(32)) < 4.2


@pytest.mark.parametrize(
    ("name", "size", "degrees"),
    [
        *((name, cell_type(name).size or 0, None) for name in HIGH_ORDER),
        *LAGRANGE,
    ],
)
def test_gauss_rules_are_exact_for_volumes(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    row = cell_type(name)
    made = element(name, row.shape, size, degrees)
    assert made is not None
    if row.dim < 3:
        return
    nodes = nodes_of(name, size, degrees)
    x = nodes + 0.1 * torch.rand(nodes.shape, dtype=torch.float64)
    mesh = one_cell(name, x, degrees)
    # The same integrals by a rule of far more points.
    inside, along = made.degrees
    at, weights = rule(made.shape, 3, 8 * inside, 8 * along)
    values, slopes = made.functions(at)
    density = torch.linalg.det(torch.einsum("qkd,kc->qdc", slopes, x)) * weights
    volume, moment = density.sum(), (density[:, None] * (values @ x)).sum(0)
    torch.testing.assert_close(ops.cell_measures(mesh)[0], volume, rtol=1e-12, atol=0)
    torch.testing.assert_close(ops.cell_centroids(mesh)[0], moment / volume, rtol=1e-12, atol=0)


@pytest.mark.parametrize("shape", ["line", "triangle", "quad", "tetra", "hexahedron", "wedge"])
def test_rules_integrate_powers_by_hand(shape: str) -> None:
    axes = {"line": 1, "triangle": 2, "quad": 2}.get(shape, 3)
    k = SIMPLEX_AXES[shape]
    at, weights = rule(shape, axes, 4, 4)
    for power in ((0, 0, 0), (1, 2, 1), (2, 0, 2), (4, 0, 0)):
        exponents = torch.tensor(power[:axes])
        found = (weights * (at**exponents).prod(1)).sum().item()
        simplex, others = power[:axes][:k], power[:axes][k:]
        # Dirichlet's formula on the simplex, 1 / (n + 1) along an axis.
        want = math.prod(map(math.factorial, simplex)) / math.factorial(sum(simplex) + k)
        assert found == pytest.approx(want * math.prod(1 / (n + 1) for n in others), rel=1e-14)


def test_lagrange_cells_of_no_degree_are_refused() -> None:
    with pytest.raises(MeshError, match="cell 0: a lagrange_quadrilateral does not have 5 points"):
        ops.cell_measures(one_cell("lagrange_quadrilateral", torch.rand(5, 2)))
    with pytest.raises(MeshError, match=r"degrees \(2, 2, 0\) does not have 12"):
        ops.cell_measures(one_cell("lagrange_quadrilateral", torch.rand(12, 2), (2, 2, 0)))


@pytest.mark.parametrize("name", ["quadratic_pyramid", "bezier_hexahedron", "quadratic_polygon"])
def test_other_high_order_cells_go_through_their_corners(name: str) -> None:
    if name == "quadratic_pyramid":
        corners = torch.tensor([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]).double()
        mesh = one_cell(name, torch.cat([corners, torch.rand(8, 3).double()]))
        assert ops.cell_measures(mesh).item() == pytest.approx(1 / 3)
    elif name == "bezier_hexahedron":
        mesh = one_cell(name, torch.rand(27, 3).double())
        assert ops.cell_measures(mesh).item() == ops.cell_measures(linear_twin(mesh)).item()
    else:
        square = torch.tensor([[0.0, 0], [1, 0], [1, 1], [0, 1]]).double()
        mesh = one_cell(name, torch.cat([square, torch.rand(4, 2).double()]))
        assert ops.cell_measures(mesh).item() == pytest.approx(1)


def test_lagrange_hexahedron_of_a_file(samples: Path) -> None:
    vtk: Any = pytest.importorskip("vtk")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(samples / "derived" / "lagrange_p3_hex.vtu"))
    reader.Update()
    from vtk.util.numpy_support import vtk_to_numpy

    grid = reader.GetOutput()
    points = torch.from_numpy(vtk_to_numpy(grid.GetPoints().GetData()).copy()).double()
    ids = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
    mesh = one_cell("lagrange_hexahedron", points[torch.from_numpy(ids.copy()).long()])
    assert ops.cell_measures(mesh).item() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_fixed_elements_are_vtks(name: str) -> None:
    row = cell_type(name)
    if row.number >= 200:
        pytest.skip("VTK has no such cell")
    check_vtk(row.number, row.size or 0, None)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("number", range(68, 74), ids=lambda n: CELL_TYPES[n].name)
def test_lagrange_elements_are_vtks(number: int, p: int) -> None:
    size = {
        "line": p + 1,
        "triangle": (p + 1) * (p + 2) // 2,
        "quad": (p + 1) ** 2,
        "tetra": (p + 1) * (p + 2) * (p + 3) // 6,
        "hexahedron": (p + 1) ** 3,
        "wedge": (p + 1) ** 2 * (p + 2) // 2,
    }[CELL_TYPES[number].shape]
    check_vtk(number, size, None)


@pytest.mark.parametrize(
    ("number", "size", "degrees"),
    [
        *((69, 7, None), (71, 15, None), (73, 21, None), (70, 12, (2, 3, 0))),
        *((72, 60, (2, 3, 4)), (73, 24, (2, 2, 3)), (73, 20, (3, 3, 1))),
    ],
)
def test_uneven_lagrange_elements_are_vtks(
    number: int, size: int, degrees: tuple[int, int, int] | None
) -> None:
    check_vtk(number, size, degrees)


def check_vtk(number: int, size: int, degrees: tuple[int, int, int] | None) -> None:
    """Nodes and shape functions against vtk's own."""
    vtk: Any = pytest.importorskip("vtk")
    row = CELL_TYPES[number]
    cell = vtk.vtkGenericCell.InstantiateCell(number)
    if row.order == 0:
        cell.GetPointIds().SetNumberOfIds(size)
        cell.GetPoints().SetNumberOfPoints(size)
        for i in range(size):
            cell.GetPointIds().SetId(i, i)
            cell.GetPoints().SetPoint(i, 0, 0, 0)
        if degrees is None and hasattr(cell, "SetUniformOrderFromNumPoints"):
            cell.SetUniformOrderFromNumPoints(size)
        elif degrees is not None:
            more = {"quad": degrees[:2], "wedge": (*degrees, size)}.get(row.shape, degrees)
            cell.SetOrder(*more)
        cell.Initialize()
    made = element(row.name, row.shape, size, degrees)
    assert made is not None
    given = cell.GetParametricCoords()
    nodes = torch.tensor([given[i] for i in range(3 * size)], dtype=torch.float64).reshape(-1, 3)
    from_minus_one = row.name == "cubic_line"  # vtk's runs from -1 to 1
    nodes = (nodes + 1) / 2 if from_minus_one else nodes
    torch.testing.assert_close(
        torch.tensor(made.nodes, dtype=torch.float64), nodes[:, : row.dim], rtol=0, atol=1e-12
    )
    k = SIMPLEX_AXES[row.shape]
    for _ in range(3):
        at = torch.rand(row.dim, dtype=torch.float64)
        at[:k] /= at[:k].sum() + 0.5
        weights = [0.0] * size
        where = [*(2 * at - 1 if from_minus_one else at).tolist(), 0.0, 0.0][:3]
        cell.InterpolateFunctions(where, weights)
        found = made.functions(at[None])[0][0]
        torch.testing.assert_close(
            found, torch.tensor(weights, dtype=torch.float64), rtol=0, atol=1e-11
        )


def test_derivatives_of_shape_functions_are_those_of_their_values() -> None:
    for name, size in (("tetra14", 14), ("lagrange_wedge", 21), ("quadratic_hexahedron", 20)):
        row = cell_type(name)
        made = element(name, row.shape, size)
        assert made is not None
        at = torch.full((1, row.dim), 0.2, dtype=torch.float64)
        step = 1e-6
        _, slopes = made.functions(at)
        for axis in range(row.dim):
            e = torch.zeros_like(at)
            e[0, axis] = step
            rise = (made.functions(at + e)[0] - made.functions(at - e)[0]) / (2 * step)
            torch.testing.assert_close(slopes[..., axis], rise, rtol=0, atol=1e-8)
