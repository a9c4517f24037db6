"""Small meshes of every kind: kernels and torch alone give the same tensors, to the dtype, so that
it makes no difference when a process begins to use kernels for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.celltypes import cell_type
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.polyhedra_of_faces import rings_of_cells
from tests import meshes
from tests.operators.brute_adjacency import adjacencies
from tests.operators.cells_for_tests import HIGH_ORDER, linear_cells, nodes_of, one_cell
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere, torus
from tests.operators.topology_twins import answered_by, permuted, with_ids


def curved(name: str) -> Mesh:
    """One high-order cell of a type of fixed size."""
    size = cell_type(name).size
    assert size is not None
    return one_cell(name, nodes_of(name, size))


MESHES: Final[dict[str, Callable[[], Mesh]]] = {
    **{f"{n} {name}": partial(make, n) for n in (1, 2) for name, make in KINDS.items()},
    **{f"one {name}": partial(linear_cells().__getitem__, name) for name in linear_cells()},
    **{f"one {name}": partial(curved, name) for name in HIGH_ORDER},
    "one of each": meshes.one_of_each,
    "sphere": lambda: icosphere(1),
    "torus": lambda: torus(8, 5, quads=True),
    "plane": lambda: meshes.square_triangles(3),
    "l_prism": meshes.l_prism_polyhedron,
    "pyramids": meshes.pyramids,
    "faces of its own": meshes.two_tetrahedra,
    "curve": lambda: make_mesh(torch.rand(5, 2), [[0, 1], [1, 2], [3, 2], [4, 3]]),
    "closed curve": lambda: make_mesh(torch.rand(3, 2), [[0, 1, 2, 0]], types="poly_line"),
    "vertices": lambda: make_mesh(torch.rand(3, 2), [[2], [0]], types="vertex"),
    "three on a face": lambda: make_mesh(
        torch.rand(6, 3), [[0, 1, 2, 3], [0, 2, 1, 4], [0, 1, 2, 5]]
    ),
    "twice the same": lambda: make_mesh(torch.rand(4, 3), [[0, 1, 2, 3], [3, 2, 1, 0]]),
    "points": lambda: make_mesh(torch.rand(3, 3)),
    "nothing": lambda: make_mesh(torch.zeros(0, 3)),
}


def topology(mesh: Mesh) -> dict[str, Tensor]:
    """Every tensor that says how cells hang together."""
    table, skin = face_table(mesh), ops.boundary(mesh)
    rows = adjacencies(mesh)
    faces = table.faces
    parts = (faces.offsets, faces.connectivity, faces.owner, faces.neighbour)
    lists = {
        "faces": parts,
        "skin": (*skin.cells.sources, *skin.cell_data.values(), *skin.point_data.values()),
        "polyhedra": rings_of_cells(*parts, torch.arange(mesh.n_cells)),
    }
    names = ("of_cell", "cell", "offsets", "connectivity")
    links = ("owner_side", "neighbour_side", "face_of_side", "crowd", "crowd_set", "nonmanifold")
    return {
        "edges": ops.edges(mesh),
        "components": ops.components(mesh),
        **{name: getattr(table.sides, name) for name in names},
        **{name: getattr(table, name) for name in links},
        **{f"{name} offsets": found.offsets for name, found in rows.items()},
        **{f"{name} indices": found.indices for name, found in rows.items()},
        **{f"{name} {i}": x for name, found in lists.items() for i, x in enumerate(found)},
    }


def long_offsets(mesh: Mesh) -> Mesh:
    """With ids of 32 bits and offsets of 64."""
    cells = with_ids(mesh, torch.int32).cells
    return mesh.replace(cells=replace(cells, offsets=cells.offsets.long()))


IDS: Final[dict[str, Callable[[Mesh], Mesh]]] = {
    "int64": partial(with_ids, dtype=torch.int64),
    "int32": partial(with_ids, dtype=torch.int32),
    "int32, offsets int64": long_offsets,
}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", MESHES)
def test_kernels_are_torch_to_the_dtype(name: str, ids: str) -> None:
    given = MESHES[name]()
    for mesh in (given, given if given.faces is not None else permuted(given)):
        made = IDS[ids](mesh)
        answers = []
        for twin in ("torch", "compiled", "compiled, as for scattered ids"):
            with answered_by(twin) as there:
                answers.append(topology(there(made)))
        for found in answers[1:]:
            assert found.keys() == answers[0].keys()
            for key, wanted in answers[0].items():
                assert found[key].dtype == wanted.dtype, key
                assert torch.equal(found[key], wanted), key
