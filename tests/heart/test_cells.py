"""Cells by type and size, taken, renumbered, and what they remember."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st

from meshkit import CELL_TYPES, Cells, MeshError, cell_type, make_mesh
from meshkit.csr import lengths_of, offsets_of, place_of_each, row_of_each, take_rows
from tests.meshes import cube_hexes, hanging_polyhedron, one_of_each


def test_dense_is_a_view_of_uniform_cells() -> None:
    cells = cube_hexes(2).cells
    assert cells.dense.shape == (8, 8)
    assert cells.dense.data_ptr() == cells.connectivity.data_ptr()
    assert cells.uniform == 12


def test_mixed_cells_come_apart_by_type_and_size() -> None:
    cells = make_mesh(
        torch.zeros(5, 2),
        [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 4], [1, 2, 3]],
        types=["polygon", "triangle", "polygon", "triangle"],
    ).cells
    found = {(b.type, b.connectivity.shape[1]): b.ids.tolist() for b in cells.blocks}
    assert found == {(5, 3): [1, 3], (7, 4): [0], (7, 5): [2]}
    ids, rows = cells.block("triangle")
    assert ids.tolist() == [1, 3] and rows.tolist() == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(MeshError, match="polygon cells differ in size"):
        cells.block("polygon")
    with pytest.raises(MeshError, match="not uniform"):
        _ = cells.dense


def test_a_block_that_is_not_there_is_empty() -> None:
    ids, rows = cube_hexes().cells.block("tetra")
    assert len(ids) == 0 and rows.shape == (0, 4)


def test_dims_of_mixed_cells() -> None:
    assert one_of_each().cells.dims.tolist() == [0, 1, 2, 2, 3, 3, 3, 3]


def test_what_is_remembered_goes_when_the_ids_change() -> None:
    cells = Cells.of("line", torch.tensor([[0, 1]]))
    assert cells.id_range == (0, 1)
    cells.connectivity[1] = 7
    assert cells.id_range == (0, 7)


def test_take_carries_polyhedra_in_the_order_asked_for() -> None:
    cells = hanging_polyhedron().cells
    taken = cells.take(torch.tensor([8, 0]))
    assert taken.types.tolist() == [42, 12]
    assert taken.polyhedra is not None and len(taken.polyhedra) == 1
    assert cells.take(torch.tensor([1])).polyhedra is None


def test_every_row_of_the_table_is_sound() -> None:
    for number, row in CELL_TYPES.items():
        assert row.number == number and cell_type(row.name) is row
        points = range(row.size if row.size is not None else 100)
        for face in row.faces:
            assert len(set(face)) == len(face) and all(p in points for p in face)
        if row.dim == 3 and row.faces:
            # Every edge is shared by two faces that run along it in opposite directions.
            runs = [(f[i], f[(i + 1) % len(f)]) for f in row.faces for i in range(len(f))]
            assert sorted(runs) == sorted((b, a) for a, b in runs)
            assert {frozenset(run) for run in runs} == {frozenset(edge) for edge in row.edges}


lists = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


@given(lists, st.data())
def test_compressed_rows_are_the_lists_they_came_from(
    rows: list[list[int]], data: st.DataObject
) -> None:
    offsets = offsets_of(torch.tensor([len(r) for r in rows], dtype=torch.int32))
    values = torch.tensor([x for r in rows for x in r])
    assert offsets.dtype == torch.int32 and lengths_of(offsets).tolist() == [len(r) for r in rows]
    assert row_of_each(offsets).tolist() == [i for i, r in enumerate(rows) for _ in r]
    assert place_of_each(offsets).tolist() == [j for r in rows for j in range(len(r))]
    some = st.lists(st.integers(0, len(rows) - 1)) if rows else st.just([])
    picked = data.draw(some)
    new, places = take_rows(offsets, torch.tensor(picked, dtype=torch.int64))
    assert values[places].tolist() == [x for i in picked for x in rows[i]]
    assert lengths_of(new).tolist() == [len(rows[i]) for i in picked]
