"""Which two sides of cells are the two sides of one face."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import Template, cell_type
from meshkit.operators.adjacency import alike_kernels as alike, matching_kernels as compiled
from meshkit.operators.adjacency.bucket_kernels import (
    FEW,
    count_blocks,
    count_lows_of_rings,
    longest_row,
    sort_crowded,
)
from meshkit.operators.adjacency.bucket_parts import Counted
from meshkit.operators.adjacency.face_kernels import all_of_size
from meshkit.operators.adjacency.sides import need_polyhedra, sides, top_blocks
from meshkit.operators.adjacency.templates import known_type
from meshkit.operators.adjacency.vertex_sets import first_of_each, last_of_each, vertex_set_ids
from meshkit.operators.kernels import Array, array, over_rows, worth_compiling

MOST: Final = 2**31 - 2
"""Kernels number points and sides with 31 bits; larger meshes are sorted."""


@dataclass(frozen=True, eq=False)
class Pairing:
    """For each side the other side of its face. Sides are numbered as `sides(cells)` does."""

    partner: Tensor  # int [n_sides]: -1 where there is none; int32 where that is enough
    n_pairs: int
    crowd: Tensor  # int64 [c]: the sides that more than two cells share, ascending
    crowd_set: Tensor  # int64 [c]: which of them are the same, numbered by their lowest side


def pairing(cells: Cells) -> Pairing:
    """Which sides of the cells of dimension `cells.dim` meet, worked out once.

    Two sides meet when they are of different cells, have the same set of points, at least as many
    as the dimension (one on curves), and no third side has that set. Ids must have been checked.

    Raises:
        MeshError: as `sides`.
    """

    def make() -> Pairing:
        return paired_by_kernels(cells) if kernels_pay(cells) else paired_by_sorting(cells)

    return cells.memo("pairing", make)


def kernels_pay(cells: Cells) -> bool:
    """Whether compiled kernels answer for these cells: on the CPU, neither small nor too large."""
    return lists_pay(cells) and cells.id_range[1] <= MOST


def lists_pay(cells: Cells) -> bool:
    """The same of kernels that take any ids, which need not be looked at before."""
    n = len(cells.connectivity)
    return max(n, len(cells)) <= MOST // 8 and worth_compiling(n, cells.types.device)


def need_dim_points(dim: int) -> int:
    """How many distinct points a side needs to be one: a triangle's, a line's, a point."""
    return max(dim, 1)


def paired_by_sorting(cells: Cells) -> Pairing:
    """The pairing through sorted keys, in torch alone: on any device."""
    table = sides(cells)
    n = len(table)
    ids, count = vertex_set_ids(table.offsets, table.connectivity, least=need_dim_points(cells.dim))
    partner = torch.full((n,), -1, dtype=torch.int64, device=ids.device)
    members = torch.bincount(ids[ids >= 0], minlength=count)
    first, last = first_of_each(ids, count), last_of_each(ids, count)
    pairs = torch.nonzero(members == 2).squeeze(1)
    a, b = first[pairs], last[pairs]
    apart = table.cell[a] != table.cell[b]
    a, b = a[apart], b[apart]
    partner[a], partner[b] = b, a
    crowd, low = a[:0], a[:0]
    if count:
        crowd = torch.nonzero((ids >= 0) & (members[ids.clamp(min=0)] > 2)).squeeze(1)
        low = first[ids[crowd]]
    group = torch.unique(low, return_inverse=True)[1]
    return Pairing(partner.to(side_dtype(n)), len(a), crowd, group)


def side_dtype(n: int) -> torch.dtype:
    """int32 where that is enough to number n sides."""
    return torch.int32 if n <= MOST else torch.int64


def one_shape(cells: Cells) -> tuple[Tensor, Template] | None:
    """Points [n_cells, k] and template of sides, where all cells are of one shape with kernels.

    These are tetrahedra, hexahedra, triangles and quads, also of high order. Found out once.

    Raises:
        MeshError: as `sides`.
    """
    return cells.memo("one_shape", lambda: _one_shape(cells))


def _one_shape(cells: Cells) -> tuple[Tensor, Template] | None:
    number = cells.uniform
    row = None if number is None else known_type(number, 0)
    if row is None or number is None or row.faces not in _HAVE_KERNELS:
        return None
    if row.size is None or not all_of_size(array(cells.offsets), row.size):
        top_blocks(cells)  # says which cell is of a wrong size
        return None
    return cells.connectivity.view(-1, row.size), row.faces


_HAVE_KERNELS: Final = {
    cell_type(name).faces for name in ("tetra", "hexahedron", "triangle", "quad")
}
"""Each shape costs compiling, so only the common ones have kernels of their own."""


def paired_by_kernels(cells: Cells) -> Pairing:
    """The pairing through buckets, in compiled code: on the CPU."""
    need_polyhedra(cells)
    shape = one_shape(cells)
    return _of_rings(cells) if shape is None else _of_table(cells, *shape)


def _of_table(cells: Cells, table: Tensor, template: Template) -> Pairing:
    """Of cells of one shape."""
    flat, k, per_cell = array(table).reshape(-1), table.shape[1], len(template)
    count, put = compiled.table_kernels(template)
    counted = Counted.none(cells.id_range[1] + 1, len(table))
    count(flat, k, counted.counts, counted.spans)

    def put_some(begin: int, end: int, buckets: compiled.Buckets) -> None:
        put(flat, k, begin, end, *buckets)

    tries = _tries(counted, put_some, len(table) * per_cell, table, longest=len(template[0]))
    for partner, exact in tries:
        if exact or alike.all_alike_of_table(template)(flat, k, compiled.CROWD, partner):
            return _finished(partner, per_cell, np.zeros(0, np.int64))
    return paired_by_sorting(cells)


def _of_rings(cells: Cells) -> Pairing:
    """Of any cells."""
    every, least = sides(cells), need_dim_points(cells.dim)
    offsets, rings = array(every.offsets), array(every.connectivity)
    counted = Counted.none(cells.id_range[1] + 1, len(every))
    count_lows_of_rings(offsets, rings, counted.counts, counted.spans)
    longest = int(csr.lengths_of(every.offsets).max()) if len(every) else 0

    def put_some(begin: int, end: int, buckets: compiled.Buckets) -> None:
        compiled.put_rings(offsets, rings, least, begin, end, *buckets)

    ids = cells.connectivity[:, None]
    for partner, exact in _tries(counted, put_some, len(every), ids, longest=longest):
        told = exact and longest <= _IN_A_WORD
        known = _IN_A_WORD if exact else 0
        if told or alike.all_alike(offsets, rings, known, compiled.CROWD, partner):
            return _finished(partner, 0, array(every.of_cell))
    return paired_by_sorting(cells)


_IN_A_WORD: Final = 4
"""Of how many points of a side its word in a bucket knows, the lowest being that of the bucket."""
_FACTORS: Final = (
    (0x8E2B1D7E9F6C53A5, 0xD1B54A32D192ED03, 0xA0761D6478BD642F),
    (0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3),
    (0x1D8E4E27C47D124F, 0xEB44ACCAB455D165, 0x9C6E6877736C46E3),
)
"""Arbitrary odd numbers: each takes two sides for one with odds of about 1 to 2^32 or less."""


def _tries(
    counted: Counted,
    put: Callable[[int, int, compiled.Buckets], None],
    n_sides: int,
    rows: Tensor,
    *,
    longest: int,
) -> Iterator[tuple[Array, bool]]:
    """The partners of sides of at most so many points, and whether these are the same for sure.
    If they are not, another try has other words.

    Args:
        counted: what goes where, and from where.
        put: puts the sides of some rows into buckets.
        n_sides: how many there are.
        rows: int [n, k], points of cells as they come; are their buckets still at hand then?
    """
    starts = np.cumsum(counted.counts, dtype=np.uint32, out=counted.counts)
    none = len(starts) - 1
    near = at_hand(rows, none - 1)
    n_more, each = min(longest, _IN_A_WORD) - 1, none.bit_length()
    exact = _exact(n_sides, none, n_more)
    beside = [1 << 64 - i * each if i <= n_more else 0 for i in (1, 2, 3)] if exact else []
    parts = counted.parts(starts)
    sizes = [int(starts[stop] - starts[first]) for first, stop in parts]
    words = np.empty(max(sizes, default=0), np.uint64)
    for factors in (beside,) if exact else _FACTORS:
        one, two, three = (np.uint64(x) for x in factors)
        partner = np.full(n_sides, -1, np.int32)
        for first, stop in parts:
            begins = starts[first : stop + 1] - starts[first]
            buckets = compiled.Buckets(
                np.uint64(first),
                FEW if near else 0,
                (one, two, three),
                np.uint64(none),
                np.uint64(1 << n_sides.bit_length()),
                begins,
                begins[:-1].copy(),
                words,
                partner,
            )
            for begin, end in counted.rows(first, stop):
                put(begin, end, buckets)
            _settle(buckets)
        yield partner, exact


def _exact(n_sides: int, none: int, n_more: int) -> bool:
    """Whether a word holds so many points up to `none`, its side's number and the bit `taken`."""
    return n_more * none.bit_length() + 1 + n_sides.bit_length() <= 64


def _settle(buckets: compiled.Buckets) -> None:
    """Let the sides meet that did not yet."""
    n, starts = len(buckets.ends), buckets.starts
    most = longest_row(starts)
    if most > FEW:
        over_rows(sort_crowded, n, starts, buckets.ends, buckets.words)
    if most > buckets.few:
        over_rows(compiled.settle, n, *buckets)


def _finished(partner: Array, per_cell: int, of_cell: Array) -> Pairing:
    """Without pairs in one cell, and with the crowds by themselves."""
    n_pairs, n_crowd, n_own = compiled.count_pairs(per_cell)(partner) if per_cell else (0, 0, 1)
    if n_own:
        n_pairs, n_crowd = compiled.finish(per_cell, of_cell, partner)
    found = torch.from_numpy(partner)
    if n_crowd == 0:
        none = torch.zeros(0, dtype=torch.int64, device="cpu")
        return Pairing(found, n_pairs, none, none)
    crowd = torch.nonzero(found <= compiled.CROWD).squeeze(1)
    low = compiled.CROWD - found[crowd].long()
    found[crowd] = -1
    return Pairing(found, n_pairs, crowd, torch.unique(low, return_inverse=True)[1])


_RUN, _RUNS, _BLOCK = 4096, 8, 16
_ALL_AT_HAND: Final = 1 << 15
"""As many ids, with what belongs to them, stay in the processor's memory wherever they point."""


def at_hand(table: Tensor, highest: int) -> bool:
    """Whether rows of ids [n, k] that follow each other name near ids, so that what belongs to
    them is still in the processor's memory when it is needed again.

    Looks at eight runs of rows: how many blocks of ids up to `highest` have the lowest of a row.
    """
    n, k = table.shape
    if max(n * k, highest) <= _ALL_AT_HAND:
        return True
    flat, seen, found = array(table).reshape(-1), np.zeros(highest // _BLOCK + 1, np.uint8), 0
    for turn in range(_RUNS):
        begin = max(n - _RUN, 0) * turn // (_RUNS - 1)
        end = min(begin + _RUN, n)
        found += count_blocks(flat, k, begin, end, _BLOCK, turn + 1, seen)
    return 4 * found < _RUNS * min(n, _RUN)
