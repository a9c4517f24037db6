"""Adjacency as compiled kernels and as torch alone: one answer, that of brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from meshkit import operators as ops
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import kernels
from meshkit.operators.adjacency import (
    alike_kernels,
    bucket_kernels,
    bucket_parts,
    matching_kernels,
    pairing,
    row_kernels,
    sides,
)
from meshkit.operators.adjacency.components import joined
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.templates import edge_template, side_template
from tests import meshes

NEVER = 1 << 60


@contextmanager
def answered_by(twin: str) -> Iterator[Callable[[Mesh], Mesh]]:
    """Topology by one of the twins; gives what takes a mesh there, with nothing worked out yet."""
    before = kernels.WORTH_COMPILING, pairing.at_hand
    try:
        compiled = twin.startswith("compiled")
        kernels.WORTH_COMPILING = 0 if compiled else NEVER  # type: ignore[misc]
        pairing.at_hand = lambda table, highest: twin == "compiled"
        device = "cuda" if twin == "cuda" else "cpu"

        def there(mesh: Mesh) -> Mesh:
            moved = mesh.to(device)
            own = None if moved.faces is None else moved.faces.apply(lambda x: x)
            return moved.replace(cells=moved.cells.apply(lambda x: x), faces=own)

        yield there
    finally:
        kernels.WORTH_COMPILING, pairing.at_hand = before  # type: ignore[misc]


@pytest.fixture(
    params=[
        "compiled",
        "compiled, as for scattered ids",
        "torch",
        pytest.param("cuda", marks=pytest.mark.cuda),
    ],
    scope="module",
)
def twin(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return str(request.param)


def rows_of(offsets: Tensor, values: Tensor) -> list[list[int]]:
    flat = values.tolist()
    return [flat[a:b] for a, b in pairwise(offsets.tolist())]


def answer(mesh: Mesh) -> dict[str, Any]:
    """Everything that adjacency says, as lists."""
    table = face_table(mesh)
    faces = table.faces
    rows = {
        "point_points": ops.point_points(mesh),
        "point_cells": ops.point_cells(mesh),
        "cell_cells": ops.cell_cells(mesh),
        "cells through points": ops.cell_cells(mesh, through="points"),
        "cell_faces": ops.cell_faces(mesh),
    }
    skin = ops.boundary(mesh)
    return {
        "rings": rows_of(faces.offsets, faces.connectivity),
        "owner": faces.owner.tolist(),
        "neighbour": faces.neighbour.tolist(),
        "face dtypes": [x.dtype for x in faces.sources],
        "owner_side": table.owner_side.tolist(),
        "neighbour_side": table.neighbour_side.tolist(),
        "face_of_side": table.face_of_side.tolist(),
        "crowd": table.crowd.tolist(),
        "edges": ops.edges(mesh).tolist(),
        "edge dtype": ops.edges(mesh).dtype,
        "parts": ops.components(mesh).tolist(),
        "parts through points": ops.components(mesh, through="points").tolist(),
        "skin": rows_of(skin.cells.offsets, skin.cells.connectivity),
        "skin types": skin.cells.types.tolist(),
        "parents": [skin.cell_data["parent_cell"].tolist(), skin.cell_data["local_face"].tolist()],
        "skin points": skin.point_data["parent_point"].tolist(),
        **{name: rows_of(found.offsets, found.indices) for name, found in rows.items()},
    }


def brute(mesh: Mesh) -> dict[str, Any]:
    """The same by loops and dictionaries, for meshes without faces of their own."""
    cells, dim = mesh.cells, mesh.dim
    points = rows_of(cells.offsets, cells.connectivity)
    top = [CELL_TYPES[t].dim == dim for t in cells.types.tolist()]
    sides = sides_of(cells, dim, points)
    alike: dict[frozenset[int], list[int]] = {}
    for i, (_, _, ring) in enumerate(sides):
        if len(set(ring)) >= max(dim, 1):
            alike.setdefault(frozenset(ring), []).append(i)
    partner = [-1] * len(sides)
    crowds = [group for group in alike.values() if len(group) > 2]
    for group in alike.values():
        if len(group) == 2 and sides[group[0]][0] != sides[group[1]][0]:
            partner[group[0]], partner[group[1]] = group[1], group[0]
    inner = [i for i in range(len(sides)) if partner[i] > i]
    outer = [i for i in range(len(sides)) if partner[i] < 0]
    order = inner + outer
    links = {(sides[i][0], sides[partner[i]][0]) for i in range(len(sides)) if partner[i] >= 0}
    links |= {(sides[a][0], sides[b][0]) for group in crowds for a in group for b in group}
    by_face = sorted(link for link in links if link[0] != link[1])
    edges = sorted({(min(e), max(e)) for e in edges_of(cells, dim, points, sides) if e[0] != e[1]})
    listed = sorted({(p, i) for i, row in enumerate(points) if top[i] for p in row})
    by_point = {(i, j) for p, i in listed for q, j in listed if p == q and i != j}
    n = len(points)
    cell_faces = sorted(
        {(sides[i][0], f) for f, i in enumerate(order)}
        | {(sides[partner[i]][0], f) for f, i in enumerate(inner)}
    )
    used = sorted({p for i in outer for p in sides[i][2]})
    return {
        "rings": [sides[i][2] for i in order],
        "owner": [sides[i][0] for i in order],
        "neighbour": [sides[partner[i]][0] for i in inner] + [-1] * len(outer),
        "owner_side": order,
        "neighbour_side": [partner[i] for i in order],
        "crowd": sorted(i for group in crowds for i in group),
        "edges": [list(e) for e in edges],
        "parts": parts_of(top, by_face),
        "parts through points": parts_of(top, sorted(by_point)),
        "skin": [[used.index(p) for p in sides[i][2]] for i in outer],
        "parents": [[sides[i][0] for i in outer], [sides[i][1] for i in outer]],
        "skin points": used,
        "point_points": listed_rows(mesh.n_points, [*edges, *((b, a) for a, b in edges)]),
        "point_cells": listed_rows(mesh.n_points, listed),
        "cell_cells": listed_rows(n, by_face),
        "cells through points": listed_rows(n, sorted(by_point)),
        "cell_faces": listed_rows(n, cell_faces),
    }


def listed_rows(n: int, pairs: list[tuple[int, int]]) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in range(n)]
    for row, value in sorted(pairs):
        out[row].append(value)
    return out


def sides_of(cells: Cells, dim: int, points: list[list[int]]) -> list[tuple[int, int, list[int]]]:
    """(cell, local face, ring) of every side."""
    out, solid = [], 0
    for i, number in enumerate(cells.types.tolist()):
        if CELL_TYPES[number].dim != dim or dim == 0:
            continue
        if number == 42 and cells.polyhedra is not None:
            rings = polyhedron(cells, solid)
            solid += 1
        else:
            rings = [[points[i][p] for p in r] for r in side_template(number, len(points[i]))]
        out += [(i, k, ring) for k, ring in enumerate(rings)]
    return out


def polyhedron(cells: Cells, which: int) -> list[list[int]]:
    held = cells.polyhedra
    assert held is not None
    rows = rows_of(held.offsets, held.connectivity)
    return rows[int(held.faces[which]) : int(held.faces[which + 1])]


def edges_of(
    cells: Cells, dim: int, points: list[list[int]], sides: list[tuple[int, int, list[int]]]
) -> Iterator[tuple[int, int]]:
    numbers = cells.types.tolist()
    for i, number in enumerate(numbers):
        if CELL_TYPES[number].dim == dim and number != 42:
            for a, b in edge_template(number, len(points[i])):
                yield points[i][a], points[i][b]
    for i, _, ring in sides:
        if numbers[i] == 42:
            yield from zip(ring, ring[1:] + ring[:1], strict=True)


def parts_of(top: list[bool], links: list[tuple[int, int]]) -> list[int]:
    label = list(range(len(top)))
    for _ in top:
        for a, b in links:
            label[a] = label[b] = min(label[a], label[b])
    kept = sorted({x for x, here in zip(label, top, strict=True) if here})
    return [kept.index(x) if here else -1 for x, here in zip(label, top, strict=True)]


def agrees(mesh: Mesh, twin: str) -> None:
    with answered_by(twin) as there:
        got = answer(there(mesh))
    for name, wanted in brute(mesh).items():
        assert got[name] == wanted, name


@settings(max_examples=200)
@given(meshes.random_meshes(faces=False, regions=(), names=("p",), depth=0))
def test_twins_are_brute_force_on_anything(twin: str, mesh: Mesh) -> None:
    agrees(mesh, twin)


def permuted(mesh: Mesh) -> Mesh:
    """Points and cells in random order."""
    to = torch.randperm(mesh.n_points)
    order = torch.randperm(mesh.n_cells)
    cells = mesh.cells.renumbered(to).take(order)
    return mesh.replace(points=mesh.points[torch.argsort(to)], cells=cells)


def with_ids(mesh: Mesh, dtype: torch.dtype) -> Mesh:
    return mesh.replace(
        cells=mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.to(dtype))
    )


def fan(n: int) -> Mesh:
    """n triangles around one point, all in one bucket, and the first edge shared by three."""
    ring = torch.arange(n) + 1
    rows = torch.stack([torch.zeros(n, dtype=torch.int64), ring, ring.roll(-1)], 1)
    rows = torch.cat([rows, torch.tensor([[1, n + 1, 0]])])
    return make_mesh(torch.rand(n + 2, 3), rows)


SHAPES: dict[str, Callable[[], Mesh]] = {
    "tets": lambda: meshes.kuhn_cube(3),
    "hexes": lambda: meshes.cube_hexes(3),
    "triangles": lambda: meshes.square_triangles(4),
    "quads": lambda: meshes.square_quads(4),
    "wedges": lambda: meshes.wedge_column(5),
    "pyramids": meshes.pyramids,
    "hanging nodes": meshes.hanging_polyhedron,
    "each type": meshes.one_of_each,
    "a full bucket": lambda: fan(700),
    "a full star": lambda: make_mesh(torch.rand(801, 3), [[0, i] for i in range(1, 801)]),
}


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


def test_sides_of_many_corners_that_share_the_lowest_are_told_apart() -> None:
    # Two prisms on one polygon of 7, whose other polygons share six of the seven lowest corners.
    ring = list(range(7))
    solids = []
    for top in (7, 14):
        lid = [*range(6), top]
        sides = [[ring[i], ring[(i + 1) % 7], lid[(i + 1) % 7], lid[i]] for i in range(7)]
        solids.append([ring[::-1], lid, *sides])
    mesh = make_mesh(torch.rand(15, 3), polyhedra=solids)
    for twin in ("compiled", "torch"):
        agrees(mesh, twin)


def test_what_words_confuse_is_not_believed() -> None:
    offsets = np.array([0, 6, 12, 18])
    rings = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 5, 6, 5, 4, 3, 2, 1, 0])
    crowd = matching_kernels.CROWD
    same, other = np.array([2, -1, 0], np.int32), np.array([1, 0, -1], np.int32)
    many = np.array([crowd, crowd, crowd], np.int32)
    assert alike_kernels.all_alike(offsets, rings, 4, crowd, same)
    assert not alike_kernels.all_alike(offsets, rings, 4, crowd, other)
    assert not alike_kernels.all_alike(offsets, rings, 4, crowd, many)
    assert alike_kernels.all_alike(offsets, rings, 6, crowd, other)
    # Quads: the same turned, turned and reversed, in another order; one with a point twice.
    for row, is_same in (
        ([2, 3, 0, 1], True),
        ([1, 0, 3, 2], True),
        ([0, 2, 1, 3], True),
        ([0, 1, 2, 2], False),
        ([0, 1, 2, 4], False),
    ):
        table = np.array([0, 1, 2, 3, *row])
        told = alike_kernels.all_alike_of_table(((0, 1, 2, 3),))
        for one, two in ((table, [1, 0]), (table, [crowd, crowd]), (np.roll(table, 4), [1, 0])):
            assert told(one, 4, crowd, np.array(two, np.int32)) is is_same


@pytest.mark.parametrize("good", [0, 2, None])
@pytest.mark.parametrize("name", ["tets", "hexes", "hanging nodes", "a prism"])
def test_what_words_confuse_is_tried_again_and_then_sorted(
    monkeypatch: pytest.MonkeyPatch, good: int | None, name: str
) -> None:
    # Words that say little or nothing, but for one try.
    factors = [(0, 0, 0), (1 << 63, 0, 0), (0, 0, 0)]
    if good is not None:
        factors[good] = pairing._FACTORS[0]
    monkeypatch.setattr(pairing, "_FACTORS", factors)
    monkeypatch.setattr(pairing, "_exact", lambda *_: False)
    asked: list[Cells] = []
    by_sorting = pairing.paired_by_sorting

    def noted(cells: Cells) -> pairing.Pairing:
        asked.append(cells)
        return by_sorting(cells)

    monkeypatch.setattr(pairing, "paired_by_sorting", noted)
    lid = list(range(6))
    prism = [lid[::-1], [x + 6 for x in lid]]
    prism += [[i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    mesh = make_mesh(torch.rand(12, 3), polyhedra=[prism]) if name == "a prism" else SHAPES[name]()
    for order in (mesh, permuted(mesh)):
        agrees(order, "compiled")
        agrees(order, "compiled, as for scattered ids")
    assert bool(asked) is (good is None)


@given(meshes.random_meshes(faces=False, regions=(), names=("p",), depth=0))
def test_words_that_may_confuse_give_the_same_answer(mesh: Mesh) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairing, "_exact", lambda *_: False)
        agrees(mesh, "compiled")


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("as_rings", [True, False])
@pytest.mark.parametrize(
    "mesh", [meshes.kuhn_cube(20), meshes.cube_hexes(32), meshes.square_triangles(150)], ids=repr
)
def test_buckets_filled_in_parts_pair_the_same(
    monkeypatch: pytest.MonkeyPatch, mesh: Mesh, as_rings: bool, near: bool
) -> None:
    looked_at: list[list[tuple[int, int]]] = []
    rows = bucket_parts.Counted.rows

    def noted(counted: bucket_parts.Counted, first: int, stop: int) -> list[tuple[int, int]]:
        looked_at.append(rows(counted, first, stop))
        return looked_at[-1]

    monkeypatch.setattr(bucket_parts, "WORTH_A_PART", 64)
    monkeypatch.setattr(bucket_parts.Counted, "rows", noted)
    monkeypatch.setattr(pairing, "at_hand", lambda *_: near)
    if as_rings:
        monkeypatch.setattr(pairing, "one_shape", lambda _: None)
    for order in (mesh, permuted(mesh)):
        looked_at.clear()
        wanted = pairing.paired_by_sorting(order.cells)
        found = pairing.paired_by_kernels(order.cells)
        assert torch.equal(found.partner, wanted.partner)
        assert found.n_pairs == wanted.n_pairs
        # Those triangles come in two sequences.
        assert len(looked_at) > 2 if order is mesh and mesh.dim == 3 else len(looked_at) == 2
        n = max(row for some in looked_at for _, row in some)
        assert sum(stop - begin for some in looked_at for begin, stop in some) <= 2 * n


def test_rows_of_some_buckets_and_their_parts_by_hand() -> None:
    run, each = bucket_kernels.RUN, bucket_parts.WORTH_A_PART
    spans = np.array([[0, 5], [3, 9], [9, 12]], np.uint32)
    counted = bucket_parts.Counted(np.zeros(0, np.uint32), spans, 2 * run + 7)
    assert counted.rows(0, 3) == [(0, run)]
    assert counted.rows(5, 9) == [(0, 2 * run)]
    assert counted.rows(9, 20) == [(run, 2 * run + 7)]
    assert counted.rows(13, 20) == []
    assert counted._replace(spans=spans[[0, 2, 1]]).rows(0, 6) == [(0, run), (2 * run, 2 * run + 7)]
    assert counted.parts(np.array([0, each, each, 2 * each], np.uint32)) == [(0, 1), (1, 3)]
    assert counted.parts(np.zeros(1, np.uint32)) == []
    # Eight parts where each run is of one of them, two where each has something of all.
    starts = np.arange(9, dtype=np.uint32) * each
    own = np.repeat(np.arange(8, dtype=np.uint32), 2).reshape(8, 2)
    assert counted._replace(spans=own).parts(starts) == [(i, i + 1) for i in range(8)]
    whole = np.tile(np.array([0, 7], np.uint32), (8, 1))
    assert counted._replace(spans=whole).parts(starts) == [(0, 4), (4, 8)]


def test_words_hold_the_points_of_a_side_where_they_fit() -> None:
    # 1M tets of 172k points, 5M tets; 50k hexes, 1M.
    for n_sides, none, n_more, fits in (
        (4_000_000, 175_000, 2, True),
        (20_000_000, 860_000, 2, False),
        (300_000, 52_000, 3, False),
        (30_000, 6_000, 3, True),
        (2**31 - 2, 2**31 - 1, 1, True),
    ):
        assert pairing._exact(n_sides, none, n_more) is fits


def test_sorting_rows_and_words_of_any_length() -> None:
    for n in (0, 1, 2, 9, 40, 300, 2000):
        values = torch.randint(0, n // 2 + 1, (n,)).numpy()
        wanted = sorted({*values.tolist()})
        end = row_kernels.sort_unique(values, 0, n)
        assert values[:end].tolist() == wanted
        words = torch.randint(0, 5, (n,)).numpy().astype(np.uint64) << np.uint64(61)
        wanted = sorted(words.tolist())
        row_kernels.sort(words, 0, n)
        assert words.tolist() == wanted


# --- components and patches ----------------------------------------------------------------------


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


@pytest.mark.parametrize("made", [meshes.kuhn_cube, meshes.cube_hexes])
def test_whether_ids_are_at_hand(made: Callable[[int], Mesh]) -> None:
    mesh = made(40)
    assert pairing.at_hand(mesh.cells.dense, mesh.n_points - 1)
    assert not pairing.at_hand(permuted(mesh).cells.dense, mesh.n_points - 1)


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
