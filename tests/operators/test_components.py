"""Components and patches: by hand and of known shapes, by each twin."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.operators.adjacency.components import joined
from tests import meshes
from tests.operators.topology_twins import answered_by, permuted


def test_components_by_hand(twin: str) -> None:
    # Two squares that touch in a corner, one far away, and a line between.
    points = torch.tensor([[0, 0], [1, 0], [1, 1], [0, 1], [2, 1], [2, 2], [1, 2], [9, 9], [8, 9]])
    mesh = make_mesh(
        points.double(),
        [[0, 1, 2], [7, 5], [2, 4, 5], [0, 2, 3], [5, 7, 8]],
        types=["triangle", "line", "triangle", "triangle", "triangle"],
    )
    with answered_by(twin) as there:
        assert ops.components(there(mesh)).tolist() == [0, -1, 1, 0, 2]
        assert ops.components(there(mesh), through="points").tolist() == [0, -1, 0, 0, 0]
    with pytest.raises(MeshError, match=r"expected through .faces. or .points., found 'edges'"):
        ops.components(mesh, through="edges")  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"expected through .faces. or .points., found 'edges'"):
        ops.cell_cells(mesh, through="edges")  # type: ignore[arg-type]
    assert len(ops.components(make_mesh(torch.rand(3, 3)))) == 0


def test_a_long_chain_is_one_component(twin: str) -> None:
    n = 5000
    order = torch.randperm(n)
    one, other = order[:-1], order[1:]
    with answered_by(twin):
        device = "cuda" if twin == "cuda" else "cpu"
        assert not joined(n, one.to(device), other.to(device)).any()
        alone = joined(n, one[:0].to(device), other[:0].to(device))
        assert torch.equal(alone.cpu(), torch.arange(n))


def test_the_sides_of_a_cube_are_its_patches(twin: str) -> None:
    mesh = permuted(meshes.cube_surface(3))
    flipped = mesh.cells.dense.clone()
    flipped[::3] = flipped[::3].flip(1)  # orientation plays no role
    for rows in (mesh.cells.dense, flipped):
        with answered_by(twin) as there:
            surface = there(make_mesh(mesh.points, rows))
            patches = ops.feature_patches(surface)
            assert torch.bincount(patches).tolist() == [18] * 6
            centres = ops.cell_centroids(surface)
            for i in range(6):
                side = centres[patches == i]
                spread = side.amax(0) - side.amin(0)
                assert spread.min() < 1e-12
            assert ops.feature_patches(surface, angle=90).max() == 0
            assert ops.feature_patches(surface, angle=89).max() == 5


def test_patches_end_at_crowded_edges_and_cells_without_area() -> None:
    points = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [2.0, 0, 0]])
    rows = [[0, 1, 2], [1, 0, 3], [0, 1, 4]]
    assert ops.feature_patches(make_mesh(points, rows[:2])).tolist() == [0, 0]
    assert ops.feature_patches(make_mesh(points, rows), angle=180).tolist() == [0, 1, 2]
    thin = make_mesh(points, [[0, 1, 2], [1, 0, 5]])
    assert ops.feature_patches(thin, angle=180).tolist() == [0, 1]


def test_patches_refuse_what_is_no_surface_and_no_angle() -> None:
    with pytest.raises(MeshError, match=r"found dim 3; take ops.boundary\(mesh\)"):
        ops.feature_patches(meshes.tetrahedron())
    with pytest.raises(MeshError, match="from 0 to 180 degrees, found 181"):
        ops.feature_patches(meshes.cube_surface(), angle=181)
