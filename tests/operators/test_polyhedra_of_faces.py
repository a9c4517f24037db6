"""Polyhedra out of owners and neighbours."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from meshkit.cells import Cells, Polyhedra
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import polyhedra_of_faces as door
from tests.meshes import kuhn_cube, shaken, split_cube_polyhedron, two_tetrahedra

WAYS = pytest.mark.parametrize("way", [door.rings_by_kernels, door.rings_by_sorting])


def as_polyhedra(mesh: Mesh) -> Mesh:
    """Every cell as a polyhedron of its faces."""
    table = ops.faces(mesh)
    every = torch.arange(mesh.n_cells)
    cells = mesh.cells
    solids = door.polyhedra_of_faces(table, every)
    types = torch.full_like(cells.types, 42)
    return mesh.replace(cells=Cells(types, cells.offsets, cells.connectivity, solids), faces=None)


@WAYS
def test_two_tets_by_hand(way: object) -> None:
    """Of the second one the shared face comes first, reversed with its first point kept."""
    table = two_tetrahedra().faces
    assert table is not None
    faces, offsets, rings = way(table, torch.tensor([0, 1]))  # type: ignore[operator]
    assert faces.tolist() == [0, 4, 8]
    assert offsets.tolist() == list(range(0, 25, 3))
    assert rings.reshape(-1, 3).tolist() == [
        *([0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]),
        *([0, 1, 2], [0, 4, 1], [1, 4, 2], [2, 4, 0]),
    ]


@WAYS
def test_some_cells_alone_in_int32(way: object) -> None:
    table = two_tetrahedra().faces
    assert table is not None
    small = table.apply(lambda x: x.int())
    faces, offsets, rings = way(small, torch.tensor([1]).int())  # type: ignore[operator]
    assert faces.tolist() == [0, 4] and len(offsets) == 5 and rings[:3].tolist() == [0, 1, 2]
    assert {x.dtype for x in (faces, offsets, rings)} == {torch.int32}
    none = way(small, torch.zeros(0).int())  # type: ignore[operator]
    assert [x.tolist() for x in none] == [[0], [0], []]


@WAYS
def test_faces_without_points_and_cells_without_faces(way: object) -> None:
    table = Faces(
        torch.tensor([0, 0, 3]),
        torch.tensor([2, 1, 0]),
        torch.tensor([0, 1]),
        torch.tensor([1, -1]),
    )
    faces, offsets, rings = way(table, torch.tensor([0, 1, 2]))  # type: ignore[operator]
    assert faces.tolist() == [0, 1, 3, 3]
    assert offsets.tolist() == [0, 0, 0, 3] and rings.tolist() == [2, 1, 0]


@pytest.mark.parametrize("mesh", [shaken(kuhn_cube(3)), split_cube_polyhedron()], ids=str)
def test_both_ways_give_the_same_closed_bodies(mesh: Mesh) -> None:
    table = ops.faces(mesh)
    every = torch.arange(mesh.n_cells)
    for a, b in zip(
        door.rings_by_kernels(table, every), door.rings_by_sorting(table, every), strict=True
    ):
        assert torch.equal(a, b) and a.dtype == b.dtype
    torch.testing.assert_close(ops.cell_measures(as_polyhedra(mesh)), ops.cell_measures(mesh))


def test_they_are_the_polyhedra_that_the_source_lists() -> None:
    mesh = split_cube_polyhedron()
    known = mesh.cells.polyhedra
    assert isinstance(known, Polyhedra)
    made = as_polyhedra(mesh).cells.polyhedra
    assert made is not None
    assert made.faces.tolist() == known.faces.tolist()
    for each in (made, known):
        assert len(each.connectivity) == int(each.offsets[-1])
    rings = [
        sorted(
            sorted(solid.connectivity[a:b].tolist())
            for a, b in zip(solid.offsets[:-1].tolist(), solid.offsets[1:].tolist(), strict=True)
        )
        for solid in (made, known)
    ]
    assert rings[0] == rings[1]
