"""Measures, centroids and normals of cells: by hand, exact, slivers and cells without size."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, strategies as st

from meshkit import operators as ops
from meshkit.making import make_mesh
from tests import meshes
from tests.operators.cells_for_tests import SHEAR, linear_cells, one_cell, turned

DET = float(torch.linalg.det(SHEAR))


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
