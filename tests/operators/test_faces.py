"""Faces and edges: counts by hand, owners, orders, rings outward, and VTK's numbering."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given

from meshkit import operators as ops
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.templates import corners, edge_template, side_template
from tests import meshes
from tests.operators.cells_for_tests import one_cell
from tests.random_meshes import random_meshes


def rings(mesh: Mesh) -> list[list[int]]:
    faces = ops.faces(mesh)
    ends = faces.offsets.tolist()
    flat = faces.connectivity.tolist()
    return [flat[a:b] for a, b in pairwise(ends)]


def test_kuhn_cube_has_the_counts_of_the_formula() -> None:
    mesh = meshes.kuhn_cube(12)
    faces = ops.faces(mesh)
    assert len(ops.edges(mesh)) == 13428
    assert len(faces) == 21600
    assert len(faces.boundary) == 1728


def test_order_is_interior_first_by_owner_and_local_face() -> None:
    mesh = meshes.two_tetrahedra().replace(faces=None)
    faces = ops.faces(mesh)
    assert rings(mesh)[0] == [0, 2, 1]  # local face 3 of cell 0, outward from it
    assert faces.owner.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert faces.neighbour.tolist() == [1, -1, -1, -1, -1, -1, -1]
    assert rings(mesh)[1:4] == [[0, 1, 3], [1, 2, 3], [2, 0, 3]]


def test_given_faces_are_returned_as_they_are() -> None:
    mesh = meshes.two_tetrahedra()
    assert ops.faces(mesh) is mesh.faces
    table = face_table(mesh)
    # All seven are found among the sides of the two tets: (cell, local face) of owner, neighbour.
    assert table.owner_side.tolist() == [3, 0, 1, 2, 6, 5, 4]
    assert table.neighbour_side.tolist() == [7, -1, -1, -1, -1, -1, -1]


def test_answers_are_worked_out_once() -> None:
    mesh = meshes.cube_hexes(2)
    assert ops.faces(mesh) is ops.faces(mesh)
    assert ops.faces(mesh.replace(points=mesh.points * 2)) is ops.faces(mesh)


def test_hanging_nodes_meet_by_vertex_set() -> None:
    mesh = meshes.hanging_polyhedron()
    faces = ops.faces(mesh)
    assert len(faces) == 41
    assert len(faces.boundary) == 25
    into = faces.neighbour == 8
    assert int(into.sum()) == 4  # the four quads, seen from the hexahedra
    assert sorted(faces.owner[into].tolist()) == [1, 3, 5, 7]


def test_high_order_cells_meet_linear_ones_through_corners() -> None:
    points = torch.rand(11, 3, dtype=torch.float64)
    rows = [[0, 1, 2, 3, 5, 6, 7, 8, 9, 10], [0, 2, 1, 4]]
    mesh = make_mesh(points, rows, types=["quadratic_tetra", "tetra"])
    faces = ops.faces(mesh)
    assert (len(faces), len(faces.boundary)) == (7, 6)


def test_a_face_of_three_cells_is_one_row_a_cell_and_all_are_linked() -> None:
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [1, 1, 1]]
    mesh = make_mesh(points, [[0, 1, 2, 3], [0, 2, 1, 4], [0, 1, 2, 5]])
    faces = ops.faces(mesh)
    assert len(faces) == 12
    assert (faces.neighbour == -1).all()
    assert len(face_table(mesh).nonmanifold) == 3
    links = ops.cell_cells(mesh)
    assert links.offsets.diff().tolist() == [2, 2, 2]
    assert links.indices.tolist() == [1, 2, 0, 2, 0, 1]


def test_a_collapsed_quad_meets_a_triangle_and_lines_meet_nothing() -> None:
    # A hexahedron whose side (1, 2, 6, 5) is collapsed to the triangle (1, 2, 5), beside a tet.
    points = torch.rand(8, 3)
    mesh = make_mesh(
        points, [[0, 1, 2, 3, 4, 5, 5, 6], [1, 5, 2, 7]], types=["hexahedron", "tetra"]
    )
    faces = ops.faces(mesh)
    inner = faces.neighbour >= 0
    assert inner.sum() == 1
    assert set(rings(mesh)[0]) == {1, 2, 5}
    assert len(rings(mesh)[0]) == 4  # the owner's ring, as it is
    flat = make_mesh(
        points, [[0, 1, 1, 0, 2, 3, 3, 2], [0, 1, 2, 3]], types=["hexahedron", "tetra"]
    )
    assert (ops.faces(flat).neighbour < 0).all()  # (0, 1, 1, 0) has two points


def test_duplicate_cells_share_all_faces() -> None:
    mesh = make_mesh(torch.rand(4, 3), [[0, 1, 2, 3], [3, 2, 1, 0]])
    faces = ops.faces(mesh)
    assert faces.owner.tolist() == [0] * 4
    assert faces.neighbour.tolist() == [1] * 4


def test_a_cell_is_not_its_own_neighbour() -> None:
    # Both ends of a closed polyline are the same point, and both triangles of a doubled polygon.
    mesh = make_mesh(torch.rand(3, 2), [[0, 1, 2, 0]], types="poly_line")
    assert ops.faces(mesh).neighbour.tolist() == [-1, -1]


def test_surfaces_and_curves() -> None:
    squares = meshes.square_quads(2)
    faces = ops.faces(squares)
    assert (len(faces), len(faces.boundary)) == (12, 8)
    line = make_mesh(torch.rand(4, 1), [[0, 1], [1, 2], [3, 2]], types="line")
    faces = ops.faces(line)
    assert rings(line) == [[1], [2], [0], [3]]
    assert faces.owner.tolist() == [0, 1, 0, 2]
    assert faces.neighbour.tolist() == [1, 2, -1, -1]


def test_only_cells_of_the_highest_dimension_have_faces() -> None:
    mesh = meshes.one_of_each()
    faces = ops.faces(mesh)
    assert len(faces) == 4 + 6 + 5 + 5
    assert faces.owner.min() == 4


def test_int32_ids_stay_int32() -> None:
    mesh = meshes.cube_hexes(2)
    cells = mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.int())
    faces = ops.faces(mesh.replace(cells=cells))
    assert {x.dtype for x in faces.sources} == {torch.int32}
    assert ops.edges(mesh.replace(cells=cells)).dtype == torch.int32
    assert torch.equal(faces.connectivity.long(), ops.faces(mesh).connectivity)


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (make_mesh(torch.zeros(3, 3), [[0, 1, 2, 3]]), "cell 0: expected point ids from 0 to 2"),
        (make_mesh(torch.zeros(4, 3), [[0, 1, 2, -1]]), r"found -1"),
        (
            make_mesh(torch.zeros(4, 3), [0, 1, 2], offsets=[0, 3], types=[10]),
            "cell 0: a tetra has 4 points, found 3",
        ),
        (
            make_mesh(torch.zeros(4, 3), [0, 1, 2, 3], offsets=[0, 4], types=[41]),
            "cell 0: a convex_point_set does not say.*as a polyhedron",
        ),
        (
            make_mesh(torch.zeros(4, 3), [0, 1, 2, 3], offsets=[0, 4], types=torch.tensor([99])),
            "cell 0: type 99 is unknown",
        ),
    ],
)
@pytest.mark.parametrize("operator", [ops.faces, ops.edges, ops.boundary, ops.cell_measures])
def test_refusals_name_the_cell(mesh: Mesh, message: str, operator: Any) -> None:
    with pytest.raises(MeshError, match=message) as caught:
        operator(mesh)
    assert "\n" not in str(caught.value)


def test_a_given_face_out_of_range_is_refused() -> None:
    mesh = meshes.two_tetrahedra()
    assert mesh.faces is not None
    faces = mesh.faces.apply(lambda x: x.clone())
    faces.owner[2] = 7
    with pytest.raises(MeshError, match="face 2: expected an owner from 0 to 1, found 7"):
        ops.boundary(mesh.replace(faces=faces))


# VTK makes no pyramid of any degree.
VTK_TYPES = [n for n in CELL_TYPES if n < 200 and n not in (0, 1, 2, 41, 42, 74, 81)]


@pytest.mark.parametrize("number", VTK_TYPES, ids=lambda n: CELL_TYPES[n].name)
def test_local_faces_and_edges_are_vtks(number: int) -> None:
    vtk: Any = pytest.importorskip("vtk")
    row = CELL_TYPES[number]
    cell = vtk.vtkGenericCell.InstantiateCell(number)
    size = row.size
    if size is None:
        degree_two = {"line": 3, "triangle": 6, "quad": 9, "tetra": 10, "hexahedron": 27}
        degree_two |= {"wedge": 18, "pyramid": 14, "polygon": 6}
        size = degree_two.get(row.shape, 5)
    cell.GetPointIds().SetNumberOfIds(size)
    cell.GetPoints().SetNumberOfPoints(size)
    for i in range(size):
        cell.GetPointIds().SetId(i, i)
        cell.GetPoints().SetPoint(i, i, i * i, 0)
    if hasattr(cell, "SetUniformOrderFromNumPoints"):
        cell.SetUniformOrderFromNumPoints(size)
    cell.Initialize()

    def linear(part: Any, count: int) -> set[int]:
        return {part.GetPointId(i) for i in range(count)}

    sides = side_template(number, size)
    edges = edge_template(number, size)
    if row.dim == 3:
        assert cell.GetNumberOfFaces() == len(sides)
        for i, ring in enumerate(sides):
            face = cell.GetFace(i)
            found = [face.GetPointId(k) for k in range(face.GetNumberOfPoints())]
            if face.GetClassName() == "vtkPixel":
                found = [found[k] for k in (0, 1, 3, 2)]
            found = found[: len(ring)]
            start = found.index(ring[0])
            # The same ring, in the same direction; where it begins is not numbering.
            assert tuple(found[start:] + found[:start]) == ring
    elif row.dim == 2:
        assert cell.GetNumberOfEdges() == len(sides)
        for i, ends in enumerate(sides):
            assert linear(cell.GetEdge(i), 2) == set(ends)
    if row.dim == 3 and row.name not in ("lagrange_tetrahedron", "bezier_tetrahedron"):
        # (The edges of those two do not end at corners in VTK 9.7.)
        assert cell.GetNumberOfEdges() == len(edges)
        found_edges = [linear(cell.GetEdge(i), 2) for i in range(len(edges))]
        wanted = [set(ends) for ends in edges]
        if row.order == 0 and row.shape == "hexahedron":
            # Of any degree, VTK has the last two uprights the other way round.
            found_edges[10:] = found_edges[:9:-1]
        assert found_edges == wanted


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_a_strip_is_run_round_once(size: int) -> None:
    ends = side_template(6, size)
    after: dict[int, int] = {}
    for a, b in ends:
        after[a] = b
    assert len(after) == size
    at, seen = 0, []
    for _ in range(size):
        seen.append(at)
        at = after[at]
    assert at == 0
    assert sorted(seen) == list(range(size))


def test_edges_by_hand() -> None:
    strip = one_cell("triangle_strip", torch.rand(4, 2))
    assert ops.edges(strip).tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    line = one_cell("poly_line", torch.rand(3, 2))
    assert ops.edges(line).tolist() == [[0, 1], [1, 2]]
    prism = meshes.l_prism_polyhedron()
    assert len(ops.edges(prism)) == 18
    assert len(ops.edges(make_mesh(torch.rand(3, 3)))) == 0


def test_no_cells_no_faces() -> None:
    for mesh in (make_mesh(torch.rand(3, 3)), make_mesh(torch.rand(2, 3), [[0], [1]])):
        assert len(ops.faces(mesh)) == 0
        assert ops.boundary(mesh).n_cells == 0
        assert ops.cell_faces(mesh).offsets.tolist() == [0] * (mesh.n_cells + 1)


def by_dictionary(cells: Cells, dim: int) -> dict[frozenset[int], list[int]]:
    """Every side's set of points -> the cells that have it: the plainest way to match."""
    out: dict[frozenset[int], list[int]] = {}
    ends, flat = cells.offsets.tolist(), cells.connectivity.tolist()
    which = 0
    for i, number in enumerate(cells.types.tolist()):
        points = flat[ends[i] : ends[i + 1]]
        if CELL_TYPES[number].dim != dim:
            continue
        local = [[points[p] for p in ring] for ring in side_template(number, len(points))]
        if number == 42 and cells.polyhedra is not None:
            solids = cells.polyhedra
            a, b = (int(solids.faces[which + k]) for k in (0, 1))
            local = [
                solids.connectivity[int(solids.offsets[f]) : int(solids.offsets[f + 1])].tolist()
                for f in range(a, b)
            ]
            which += 1
        for ring in local:
            out.setdefault(frozenset(ring), []).append(i)
    return out


@given(random_meshes(faces=False, regions=(), names=("p",), depth=0))
def test_matching_is_that_of_a_dictionary(mesh: Mesh) -> None:
    if mesh.dim == 0:
        return
    pairs = by_dictionary(mesh.cells, mesh.dim)
    want = sorted(
        tuple(sorted(c))
        for s, c in pairs.items()
        if len(s) >= mesh.dim and len(c) == 2 and c[0] != c[1]
    )
    faces = ops.faces(mesh)
    inner = faces.neighbour >= 0
    got = sorted(zip(faces.owner[inner].tolist(), faces.neighbour[inner].tolist(), strict=True))
    assert got == want
    assert len(faces) == sum(map(len, pairs.values())) - len(want)
    assert (faces.owner[inner] < faces.neighbour[inner]).all()


def test_corners_of_polygons() -> None:
    assert corners(CELL_TYPES[36], 8) == (0, 1, 2, 3)
    assert corners(CELL_TYPES[7], 5) == (0, 1, 2, 3, 4)
    assert corners(CELL_TYPES[8], 4) == (0, 1, 3, 2)


def test_neighbours_by_hand() -> None:
    mesh = meshes.square_quads(2)
    points = ops.point_points(mesh)
    assert points.indices[points.offsets[4] : points.offsets[5]].tolist() == [1, 3, 5, 7]
    cells = ops.point_cells(mesh)
    assert cells.indices[cells.offsets[4] : cells.offsets[5]].tolist() == [0, 1, 2, 3]
    around = ops.cell_cells(mesh)
    assert around.indices[: int(around.offsets[1])].tolist() == [1, 2]
    faces = ops.cell_faces(mesh)
    assert faces.offsets.tolist() == [0, 4, 8, 12, 16]
    table = ops.faces(mesh)
    for i in range(4):
        for f in faces.indices[faces.offsets[i] : faces.offsets[i + 1]].tolist():
            assert i in (int(table.owner[f]), int(table.neighbour[f]))


DEGENERATE = [
    ("triangle_strip", 2, "has at least 3 points, found 2"),
    ("polygon", 0, "has at least 3 points, found 0"),
    ("polygon", 2, "has at least 3 points, found 2"),
    ("quadratic_polygon", 4, "has at least 6 points and a multiple of 2, found 4"),
    ("quadratic_polygon", 7, "has at least 6 points and a multiple of 2, found 7"),
    ("poly_line", 1, "has at least 2 points, found 1"),
    ("poly_line", 0, "has at least 2 points, found 0"),
]
BY_FACES = [
    *(ops.faces, ops.boundary, ops.domain, ops.edges, ops.cell_cells, ops.cell_faces),
    *(ops.point_points, ops.face_area_vectors, ops.face_centroids),
]


@pytest.mark.parametrize(("name", "size", "said"), DEGENERATE)
def test_cells_too_small_to_have_faces_are_refused_by_name(name: str, size: int, said: str) -> None:
    sound = [0, 1] if name == "poly_line" else [0, 1, 2]
    mesh = make_mesh(
        torch.rand(8, 3),
        [*sound, *range(size)],
        offsets=[0, len(sound), len(sound) + size],
        types=["line" if len(sound) == 2 else "triangle", name],
    )
    assert "wrong_size" in {f.code for f in ops.check(mesh)}
    for operator in BY_FACES:
        with pytest.raises(MeshError, match=f"cell 1: a {name} {said}"):
            operator(mesh)
    assert ops.boundary(mesh.select([0])).n_cells == len(sound)
    assert ops.cell_measures(mesh).shape == (2,)  # one such cell does not take those of others
