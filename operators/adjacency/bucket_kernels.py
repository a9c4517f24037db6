"""Compiled: how many sides of cells go into the bucket of each point, and their order there.

Runs of `RUN` rows tell the least and the greatest of their points as well, so that who fills the
buckets of some points only need not look at all rows.

What a kernel knows beforehand is written into it: the kernels of cells of one shape are compiled
for that shape. Ids are read as unsigned, so that no index is looked at for being negative.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from meshkit.celltypes import Template
from meshkit.operators.adjacency.row_kernels import sort
from meshkit.operators.kernels import Array, Kernel, kernel

NONE: Final = np.uint32(0xFFFFFFFF)
FEW: Final = 256
"""Buckets of more sides than this are sorted before they are compared."""
RUN: Final = 4096
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_ONE, _THREE = np.uint32(1), np.uint32(3)


@kernel
def note_span(ids: Array, begin: Any, end: Any, run: Any, spans: Array) -> None:
    """The least and the greatest of the ids begin to end into spans[run]."""
    least, greatest = ids[begin], ids[begin]
    for i in range(begin, end):
        least, greatest = min(least, ids[i]), max(greatest, ids[i])
    spans[run, 0], spans[run, 1] = least, greatest


@cache
def count_lows(template: Template) -> Kernel[[Array, int, Array, Array], None]:
    """`(table, k, counts, spans)`: how many sides have each point as their lowest, from counts[1]
    on, and the least and greatest point of each run of cells, uint32 [n_runs, 2].

    The cells' points are the flat table, k each; their sides the template, all of one size.
    """
    rings = template

    @kernel
    def _count_lows(table: Array, k: int, counts: Array, spans: Array) -> None:
        n = table.size // k
        for run in range(len(spans)):
            begin, end = run * RUN, min(run * RUN + RUN, n)
            note_span(table, begin * k, end * k, run, spans)
            for cell in range(begin, end):
                base = np.uint64(cell * k)
                for ring in rings:
                    low = NONE
                    for point in ring:
                        low = min(low, np.uint32(table[base + np.uint64(point)]))
                    counts[np.uint64(low) + _1] += _ONE

    return _count_lows


@kernel
def count_lows_of_tets(table: Array, k: int, counts: Array, spans: Array) -> None:
    """As `count_lows`, for tets: three sides have the lowest corner, one the next."""
    n = table.size // k
    for run in range(len(spans)):
        begin, end = run * RUN, min(run * RUN + RUN, n)
        note_span(table, begin * k, end * k, run, spans)
        for cell in range(begin, end):
            base = np.uint64(cell * k)
            a, b = np.uint32(table[base]), np.uint32(table[base + _1])
            c, d = np.uint32(table[base + _2]), np.uint32(table[base + _3])
            ab, cd = min(a, b), min(c, d)
            counts[np.uint64(min(ab, cd)) + _1] += _THREE
            counts[np.uint64(min(max(ab, cd), min(max(a, b), max(c, d)))) + _1] += _ONE


@kernel
def count_lows_of_rings(offsets: Array, rings: Array, counts: Array, spans: Array) -> None:
    """As `count_lows`, for rings of any size."""
    n = len(offsets) - 1
    for run in range(len(spans)):
        begin, end = run * RUN, min(run * RUN + RUN, n)
        if offsets[begin] < offsets[end]:
            note_span(rings, offsets[begin], offsets[end], run, spans)
        for s in range(begin, end):
            if offsets[s] < offsets[s + 1]:
                low = NONE
                for q in range(offsets[s], offsets[s + 1]):
                    low = min(low, np.uint32(rings[q]))
                counts[np.uint64(low) + _1] += _ONE


@kernel
def longest_row(starts: Array) -> Any:
    """The greatest number of sides in a bucket."""
    most = np.int64(0)
    for point in range(len(starts) - 1):
        most = max(most, np.int64(starts[point + 1]) - np.int64(starts[point]))
    return most


@kernel
def sort_crowded(lo: int, hi: int, starts: Array, ends: Array, words: Array) -> None:
    """Sort the buckets of the points lo to hi that more than `FEW` sides are in."""
    for point in range(lo, hi):
        if ends[point] - starts[point] > FEW:
            sort(words, np.int64(starts[point]), np.int64(ends[point]))


@kernel
def count_blocks(
    flat: Array, k: int, begin: int, end: int, size: int, turn: int, seen: Array
) -> Any:
    """In how many blocks of `size` ids the lowest ids of the rows begin to end are.

    Args:
        flat: the rows, k ids each.
        seen: uint8 [blocks]: the last turn in which each was seen, below `turn`.
    """
    found = 0
    for row in range(begin, end):
        low = NONE
        for i in range(np.uint64(row * k), np.uint64(row * k + k)):
            low = min(low, np.uint32(flat[i]))
        block = np.uint64(low // size)
        found += seen[block] != turn
        seen[block] = turn
    return found
