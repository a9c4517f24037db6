"""Solids close and add up, far from the origin, too; vectors and centroids of faces."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from tests import meshes
from tests.operators.cells_for_tests import linear_cells, turned

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


@pytest.mark.parametrize("name", ["hexes", "hanging"])
def test_the_origin_does_not_matter(name: str) -> None:
    mesh = SOLIDS[name]()
    # Shifts by powers of two leave lattice coordinates exact.
    away = mesh.replace(points=mesh.points * 3 / 3 + 2.0**20)
    back = mesh.replace(points=away.points - 2.0**20)
    torch.testing.assert_close(ops.cell_measures(away), ops.cell_measures(back), rtol=1e-13, atol=0)
