"""Polyhedra that are made on first use: when that is, and that nothing else tells them apart."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor

from meshkit import MeshError, collate, make_mesh
from meshkit.cells import Cells
from meshkit.derived_polyhedra import DerivedPolyhedra, Parts
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import sides_by_kernels
from tests.mesh_differences import differences

TET = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
made: list[int] = []


def rings_of_owners(offsets: Tensor, ring: Tensor, owner: Tensor) -> Parts:
    """Each face to its owner; `made` says how often this was asked."""
    made.append(len(owner))
    counts = torch.bincount(owner.long())
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)]), offsets, ring


def given() -> Mesh:
    """One tet as a polyhedron, its faces given as polyhedra and as a table."""
    plain = make_mesh(torch.eye(4, 3), polyhedra=[TET])
    solids = plain.cells.polyhedra
    assert solids is not None
    table = Faces(solids.offsets, solids.connectivity, torch.zeros(4).long(), torch.full((4,), -1))
    return plain.replace(faces=table)


def derived(mesh: Mesh) -> Mesh:
    """The same with polyhedra that follow from the table."""
    table, cells = mesh.faces, mesh.cells
    assert table is not None
    solids = DerivedPolyhedra(1, table.sources[:3], rings_of_owners)
    made.clear()
    return mesh.replace(cells=Cells(cells.types, cells.offsets, cells.connectivity, solids))


def test_they_are_made_once_and_only_when_asked_for() -> None:
    mesh = derived(given())
    solids = mesh.cells.polyhedra
    assert solids is not None and len(solids) == 1 and "1" in repr(solids)
    assert mesh.cells.dim == 3 and mesh.cells.polyhedron_ids.tolist() == [0]
    moved = mesh.to("cpu", torch.float32)
    assert made == []
    assert solids.faces.tolist() == [0, 4]
    assert solids.connectivity.reshape(4, 3).tolist() == TET
    assert made == [4]
    assert moved.cells.polyhedra is not None
    assert moved.cells.polyhedra.offsets.tolist() == [0, 3, 6, 9, 12]
    assert made == [4, 4]


def test_a_write_into_what_they_follow_from_makes_them_anew() -> None:
    mesh = derived(given())
    solids = mesh.cells.polyhedra
    assert solids is not None and mesh.faces is not None
    assert mesh.cells.id_range == (0, 3) and solids.connectivity[0] == 0
    mesh.faces.connectivity[0] = 7
    assert solids.connectivity[0] == 7 and mesh.cells.id_range == (0, 7)


def test_moving_keeps_them_and_the_faces_on_the_same_memory() -> None:
    moved = derived(given()).to("meta")
    solids = moved.cells.polyhedra
    assert isinstance(solids, DerivedPolyhedra) and moved.faces is not None
    assert solids.basis[1] is moved.faces.connectivity
    assert solids.basis[1].device.type == "meta"


def test_nothing_else_tells_them_from_plain_ones() -> None:
    plain = given()
    assert differences(plain, derived(plain)) == []
    assert differences(plain, pickle.loads(pickle.dumps(derived(plain)))) == []
    assert differences(plain, Mesh.from_tensordict(derived(plain).to_tensordict())) == []
    assert differences(plain.select([0]), derived(plain).select([0])) == []
    two = [collate([mesh, mesh]) for mesh in (plain, derived(plain))]
    assert differences(*two) == []
    assert two[1].cells.polyhedra is not None and len(two[1].cells.polyhedra) == 2


def test_pickling_takes_along_the_basis_alone() -> None:
    mesh = derived(given())
    solids = mesh.cells.polyhedra
    assert solids is not None
    small = len(pickle.dumps(solids))
    assert solids.faces.tolist() == [0, 4]
    assert len(pickle.dumps(solids)) == small


def test_what_does_not_make_polyhedra_is_refused() -> None:
    wrong = DerivedPolyhedra(1, [torch.zeros(1)], _halves)
    with pytest.raises(MeshError, match=r"polyhedra.connectivity: expected int32 or int64"):
        _ = wrong.faces


def _halves(x: Tensor) -> Parts:
    return x, x, x


def test_compiled_topology_sees_them_as_others() -> None:
    plain, same = given(), derived(given())
    expected, found = sides_by_kernels(plain.cells), sides_by_kernels(same.cells)
    assert expected is not None and found is not None
    for name in ("of_cell", "cell", "offsets", "connectivity"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
