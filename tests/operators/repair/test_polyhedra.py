"""Polyhedra whose faces a source listed in any direction."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st

from meshkit import Mesh, Polyhedra, csr, make_mesh
from meshkit.operators.repair.polyhedra import oriented_polyhedra
from tests.meshes import hanging_polyhedron, l_prism_polyhedron, split_cube_polyhedron

SOLIDS = [l_prism_polyhedron(), split_cube_polyhedron(), hanging_polyhedron()]


def held(mesh: Mesh) -> Polyhedra:
    assert mesh.cells.polyhedra is not None
    return mesh.cells.polyhedra


def turned(polyhedra: Polyhedra, which: list[bool]) -> Polyhedra:
    """Those faces the other way round, their first point kept."""
    rings = []
    for i, turn in enumerate(which):
        ring = polyhedra.connectivity[polyhedra.offsets[i] : polyhedra.offsets[i + 1]].tolist()
        rings += [ring[0], *reversed(ring[1:])] if turn else ring
    return Polyhedra(polyhedra.faces, polyhedra.offsets, torch.tensor(rings))


@pytest.mark.parametrize("mesh", SOLIDS)
def test_outward_faces_stay_the_same_object(mesh: Mesh) -> None:
    out, changed = oriented_polyhedra(mesh.points, held(mesh))
    assert out is mesh.cells.polyhedra
    assert changed == 0


@given(st.sampled_from(SOLIDS), st.data())
def test_any_faces_turned_round_come_back(mesh: Mesh, data: st.DataObject) -> None:
    right = held(mesh)
    n = len(right.offsets) - 1
    which = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    out, changed = oriented_polyhedra(mesh.points, turned(right, which))
    assert out.connectivity.tolist() == right.connectivity.tolist()
    assert changed == int(any(which))


def test_only_wrong_cells_are_counted() -> None:
    mesh = l_prism_polyhedron()
    right = held(mesh)
    wrong = turned(right, [True] * 8)
    both = Polyhedra(
        torch.tensor([0, 8, 16]),
        torch.cat([right.offsets, wrong.offsets[1:] + right.offsets[-1]]),
        torch.cat([right.connectivity, wrong.connectivity]),
    )
    out, changed = oriented_polyhedra(mesh.points, both)
    assert changed == 1
    assert out.connectivity.tolist() == right.connectivity.tolist() * 2


def test_faces_that_share_no_edge_do_not_hang() -> None:
    points = torch.rand(9, 3, dtype=torch.float64)
    mesh = make_mesh(points, polyhedra=[[[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 1, 2]]])
    out, _ = oriented_polyhedra(points, held(mesh))
    assert csr.lengths_of(out.offsets).tolist() == [3, 3, 3, 3]
    none = Polyhedra(torch.tensor([0]), torch.tensor([0]), torch.zeros(0, dtype=torch.int64))
    assert oriented_polyhedra(points, none) == (none, 0)
