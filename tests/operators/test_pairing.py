"""How sides find their partners: by words, in buckets filled in parts, by sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given

from meshkit.cells import Cells
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import (
    alike_kernels,
    bucket_kernels,
    bucket_parts,
    matching_kernels,
    pairing,
    row_kernels,
)
from tests import meshes
from tests.operators.brute_adjacency import agrees
from tests.operators.topology_twins import SHAPES, permuted
from tests.random_meshes import random_meshes


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


@given(random_meshes(faces=False, regions=(), names=("p",), depth=0))
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


@pytest.mark.parametrize("made", [meshes.kuhn_cube, meshes.cube_hexes])
def test_whether_ids_are_at_hand(made: Callable[[int], Mesh]) -> None:
    mesh = made(40)
    assert pairing.at_hand(mesh.cells.dense, mesh.n_points - 1)
    assert not pairing.at_hand(permuted(mesh).cells.dense, mesh.n_points - 1)
    small = permuted(made(5))
    assert pairing.at_hand(small.cells.dense, small.n_points - 1)
