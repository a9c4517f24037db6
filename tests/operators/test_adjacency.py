"""Adjacency as compiled kernels and as torch alone: one answer, that of brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import sides
from tests import meshes
from tests.operators.brute_adjacency import agrees, answer, brute, rows_of
from tests.operators.topology_twins import SHAPES, answered_by, permuted, with_ids
from tests.random_meshes import random_meshes


@settings(max_examples=200)
@given(random_meshes(faces=False, regions=(), names=("p",), depth=0))
def test_twins_are_brute_force_on_anything(twin: str, mesh: Mesh) -> None:
    agrees(mesh, twin)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("name", SHAPES)
def test_twins_agree_on_each_shape(twin: str, name: str, dtype: torch.dtype) -> None:
    mesh = permuted(with_ids(SHAPES[name](), dtype))
    with answered_by("torch") as there:
        wanted = answer(there(mesh))
    if name not in ("a full bucket", "a full star"):
        assert {k: wanted[k] for k in brute(mesh)} == brute(mesh)
    with answered_by(twin) as there:
        assert answer(there(mesh)) == wanted


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_cells_of_each_point_by_hand(twin: str, dtype: torch.dtype) -> None:
    points = torch.rand(6, 3)
    wedge, hexes = [[0, 1, 1, 0, 2, 3, 3, 2], [4, 3, 2, 1, 4, 3, 2, 1]], "hexahedron"
    for rows, types, wanted in (
        # A cell that names a point twice lists it once; next to each other or not.
        (wedge, hexes, [[0], [0, 1], [0, 1], [0, 1], [1], []]),
        # The last cell of each point is the first of the next: no cell is there twice.
        ([[i, i + 1] for i in range(4)], "line", [[0], [0, 1], [1, 2], [2, 3], [3], []]),
        ([[5], [0], [5], [5]], "vertex", [[1], [], [], [], [], [0, 2, 3]]),
        # Cells of lower dimension are left out, also one that names a point twice.
        (
            [[0, 0], [3, 3, 1], [1, 2], [1, 5, 3]],
            ["line", "triangle", "line", "triangle"],
            [[], [1, 3], [], [1, 3], [], [3]],
        ),
    ):
        mesh = with_ids(make_mesh(points, rows, types=types), dtype)
        with answered_by(twin) as there:
            found = ops.point_cells(there(mesh))
        assert rows_of(found.offsets, found.indices) == wanted
        assert (found.offsets.dtype, found.indices.dtype) == (torch.int64, torch.int64)
    with answered_by(twin) as there:
        found = ops.point_cells(there(make_mesh(points)))
    assert (found.offsets.tolist(), found.indices.tolist()) == ([0] * 7, [])


def test_cells_of_points_that_are_not_there_are_refused(twin: str) -> None:
    types = ["triangle", "line"]
    solid = meshes.hanging_polyhedron()
    held = solid.cells.polyhedra
    assert held is not None
    wrong = replace(held, connectivity=held.connectivity + 1)
    for mesh, said in (
        (make_mesh(torch.rand(3, 3), [[0, 1, 2], [0, 3]], types=types), "cell 1: .* 2, found 3"),
        (make_mesh(torch.rand(3, 3), [[0, -1, 2], [0, 2]], types=types), "cell 0: .*, found -1"),
        (
            make_mesh(torch.rand(3, 3), [0, 1, 2, 0], offsets=[0, 4, 3, 4], types=[5, 5, 5]),
            "cells.offsets: expected to ascend, found 4 and then 3 at row 1",
        ),
        (
            solid.replace(cells=replace(solid.cells, polyhedra=wrong)),
            f"cells.polyhedra: .* {solid.n_points - 1}, found {solid.n_points}",
        ),
    ):
        with answered_by(twin) as there, pytest.raises(MeshError, match=said):
            ops.point_cells(there(mesh))


def test_sides_of_mixed_cells_are_the_same_by_kernels(twin: str) -> None:
    mixed = meshes.one_of_each()
    for mesh in (mixed, permuted(mixed), meshes.hanging_polyhedron(), meshes.pyramids()):
        wanted = sides.sides_by_indexing(mesh.cells)
        with answered_by(twin) as there:
            found = sides.sides(there(mesh).cells)
        for name in ("of_cell", "cell", "offsets", "connectivity"):
            one, two = getattr(found, name).cpu(), getattr(wanted, name)
            assert one.dtype == two.dtype and torch.equal(one, two), name


def test_a_cell_of_a_wrong_size_is_named(twin: str) -> None:
    rows = [0, 1, 2, 3, 0, 1, 2, 3, 4]
    mesh = make_mesh(torch.rand(6, 3), rows, offsets=[0, 4, 9], types=["tetra", "tetra"])
    with (
        answered_by(twin) as there,
        pytest.raises(MeshError, match="cell 1: a tetra has 4 points, found 5"),
    ):
        ops.faces(there(mesh))


def test_counts_of_the_kuhn_cube(twin: str) -> None:
    with answered_by(twin) as there:
        mesh = there(meshes.kuhn_cube(12))
        assert len(ops.edges(mesh)) == 13428
        assert len(ops.faces(mesh)) == 21600
        assert ops.boundary(mesh).n_cells == 1728
        assert len(ops.cell_cells(mesh).indices) == 39744
        assert len(ops.point_points(mesh).indices) == 2 * 13428


def test_edge_index_is_what_graph_libraries_take() -> None:
    mesh = meshes.square_quads(2)
    index = ops.cell_cells(mesh).to_edge_index()
    assert index.tolist() == [[0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2]]


def test_points_between_corners_have_no_edge() -> None:
    points = [[0.0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]]
    mesh = make_mesh(points, [[0, 1, 2, 3, 4, 5]], types="quadratic_triangle")
    assert ops.edges(mesh).tolist() == [[0, 1], [0, 2], [1, 2]]
    around = ops.point_points(mesh)
    assert around.offsets.tolist() == [0, 2, 4, 6, 6, 6, 6]
    assert {i for row in around.to_edge_index().tolist() for i in row} == {0, 1, 2}


def test_an_adjacency_is_shown_in_one_line() -> None:
    # Four quads in a square: two neighbours each. Its 9 points have 12 edges, each seen twice.
    mesh = meshes.square_quads(2)
    assert repr(ops.cell_cells(mesh)) == "Adjacency(4 rows, 8 entries)"
    assert repr(ops.point_points(mesh)) == "Adjacency(9 rows, 24 entries)"


def test_adjacencies_are_worked_out_once() -> None:
    mesh = meshes.cube_hexes(2)
    for operator in (ops.point_points, ops.point_cells, ops.cell_cells, ops.cell_faces, ops.edges):
        assert operator(mesh) is operator(mesh)
        assert operator(mesh.replace(points=mesh.points * 2)) is operator(mesh)
    own = meshes.two_tetrahedra()
    assert ops.cell_cells(own) is ops.cell_cells(own)
    assert ops.cell_faces(own) is ops.cell_faces(own)
