"""Compiled: compressed rows of neighbours, each row ascending and without repeats.

As in `matching_kernels`, what shares a point goes into the bucket of that point, and what a kernel
knows of the shape of the cells is written into it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from meshkit.celltypes import Template
from meshkit.operators.kernels import Array, Kernel, kernel

FEW: Final = 128
"""Longer rows are sorted before repeats are looked for."""

_1, _ONE = np.uint64(1), np.uint32(1)


@kernel
def sort(values: Array, begin: Any, end: Any) -> None:
    """Values begin to end ascending (Shell's way; for a short row by insertion)."""
    gap = 1
    while gap < (end - begin) // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            held = values[i]
            j = i
            while j - gap >= begin and values[j - gap] > held:
                values[j] = values[j - gap]
                j -= gap
            values[j] = held
        gap //= 3


@kernel
def sort_unique(values: Array, begin: Any, end: Any) -> Any:
    """Values begin to end ascending and once each, from begin on; where they then end."""
    if end - begin > FEW:
        sort(values, begin, end)
        kept = begin
        for i in range(begin, end):
            if kept == begin or values[kept - 1] != values[i]:
                values[kept] = values[i]
                kept += 1
        return kept
    kept = begin
    for i in range(begin, end):
        held = values[i]
        j = kept
        while j > begin and values[j - 1] > held:
            j -= 1
        if j > begin and values[j - 1] == held:
            continue
        m = kept
        while m > j:
            values[m] = values[m - 1]
            m -= 1
        values[j] = held
        kept += 1
    return kept


# --- edges ---------------------------------------------------------------------------------------


@cache
def count_edges(template: Template) -> Kernel[[Array, int, Array], None]:
    """`(table, k, counts)`: how many edges have each point as their lower, from counts[1] on."""
    ends = template

    @kernel
    def _count_edges(table: Array, k: int, counts: Array) -> None:
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            for edge in ends:
                a = np.uint32(table[base + np.uint64(edge[0])])
                b = np.uint32(table[base + np.uint64(edge[1])])
                counts[np.uint64(min(a, b)) + _1] += _ONE

    return _count_edges


@cache
def put_edges(template: Template) -> Kernel[[Array, int, Array, Array], None]:
    """`(table, k, cursor, upper)`: the upper point of each edge into the bucket of its lower."""
    ends = template

    @kernel
    def _put_edges(table: Array, k: int, cursor: Array, upper: Array) -> None:
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            for edge in ends:
                a = np.uint32(table[base + np.uint64(edge[0])])
                b = np.uint32(table[base + np.uint64(edge[1])])
                low = min(a, b)
                if a != b:
                    at = cursor[low]
                    cursor[low] = at + _ONE
                    upper[at] = max(a, b)

    return _put_edges


@kernel
def unique_rows(lo: int, hi: int, starts: Array, ends: Array, values: Array) -> None:
    """Each of the rows starts[i] to ends[i] ascending and once each; `ends` follows."""
    for row in range(lo, hi):
        ends[row] = sort_unique(values, np.int64(starts[row]), np.int64(ends[row]))


@kernel
def pairs_of_rows(starts: Array, ends: Array, values: Array, out: Array) -> None:
    """Every (row, value), flat, row by row."""
    at = 0
    for row in range(len(ends)):
        for i in range(starts[row], ends[row]):
            out[at] = row
            out[at + 1] = values[i]
            at += 2


@kernel
def count_both_ends(edges: Array, counts: Array) -> None:
    """How many edges end at each point, from counts[1] on; edges flat, two points each."""
    for i in range(len(edges)):
        counts[np.uint64(edges[i]) + _1] += 1


@kernel
def put_both_ends(edges: Array, cursor: Array, out: Array) -> None:
    """The other end of each edge into the rows of both; ascending, since the edges are."""
    for i in range(len(edges) // 2):
        low, high = np.uint64(edges[2 * i]), np.uint64(edges[2 * i + 1])
        out[cursor[high]] = low
        cursor[high] += 1
    for i in range(len(edges) // 2):
        low, high = np.uint64(edges[2 * i]), np.uint64(edges[2 * i + 1])
        out[cursor[low]] = high
        cursor[low] += 1


# --- rows the other way round --------------------------------------------------------------------


@kernel
def count_faces(owner: Array, neighbour: Array, counts: Array) -> None:
    """How many faces each cell has, from counts[1] on."""
    for face in range(len(owner)):
        counts[np.uint64(owner[face]) + _1] += 1
        if neighbour[face] >= 0 and neighbour[face] != owner[face]:
            counts[np.uint64(neighbour[face]) + _1] += 1


@kernel
def put_faces(owner: Array, neighbour: Array, cursor: Array, out: Array) -> None:
    """The faces of each cell, ascending."""
    for face in range(len(owner)):
        cell = np.uint64(owner[face])
        out[cursor[cell]] = face
        cursor[cell] += 1
        if neighbour[face] >= 0 and neighbour[face] != owner[face]:
            cell = np.uint64(neighbour[face])
            out[cursor[cell]] = face
            cursor[cell] += 1


# --- cells to cells ------------------------------------------------------------------------------


@cache
def cells_by_sides(n_sides: int) -> Kernel[[Array, Array, Array], int]:
    """`(partner, offsets, out)`: the cells beyond the sides of each, for `n_sides` sides a cell."""
    sides = np.uint32(n_sides)

    @kernel
    def _cells_by_sides(partner: Array, offsets: Array, out: Array) -> int:
        at = 0
        side = np.uint64(0)
        for cell in range(len(offsets) - 1):
            begin = at
            for _ in range(n_sides):
                other = partner[side]
                side += _1
                if other >= 0:
                    beyond = np.int64(np.uint32(other) // sides)
                    j = at
                    while j > begin and out[j - 1] > beyond:
                        j -= 1
                    if j > begin and out[j - 1] == beyond:
                        continue
                    m = at
                    while m > j:
                        out[m] = out[m - 1]
                        m -= 1
                    out[j] = beyond
                    at += 1
            offsets[cell + 1] = at
        return at

    return _cells_by_sides


@kernel
def cells_by_any_sides(
    of_cell: Array, cell_of: Array, partner: Array, offsets: Array, out: Array
) -> int:
    """The cells beyond the sides of each; offsets [n_cells + 1] get where each row begins."""
    at = 0
    for cell in range(len(offsets) - 1):
        begin = at
        for side in range(of_cell[cell], of_cell[cell + 1]):
            if partner[side] >= 0:
                out[at] = cell_of[partner[side]]
                at += 1
        at = sort_unique(out, begin, at)
        offsets[cell + 1] = at
    return at


@kernel
def cells_by_points(
    lo: int,
    hi: int,
    offsets: Array,
    points: Array,
    top: Array,
    starts: Array,
    cells: Array,
    sizes: Array,
    places: Array,
    out: Array,
) -> None:
    """The other cells around the points of each of the cells lo to hi, as merged ascending rows.

    (starts, cells) are the cells around each point. Where `out` is empty rows are only counted, in
    sizes[lo:hi]; else they are written from places[cell] on.
    """
    most = 0
    for cell in range(lo, hi):
        most = max(most, offsets[cell + 1] - offsets[cell])
    at, stop = np.empty(most, np.int64), np.empty(most, np.int64)
    for cell in range(lo, hi):
        n, found = 0, 0
        if top[cell]:
            for i in range(offsets[cell], offsets[cell + 1]):
                point = np.uint64(points[i])
                at[n], stop[n] = starts[point], starts[point + _1]
                n += 1
        while True:
            least = np.int64(-1)
            for i in range(n):
                if at[i] < stop[i] and (least < 0 or cells[at[i]] < least):
                    least = cells[at[i]]
            if least < 0:
                break
            for i in range(n):
                if at[i] < stop[i] and cells[at[i]] == least:
                    at[i] += 1
            if least != cell:
                if len(out):
                    out[places[cell] + found] = least
                found += 1
        sizes[cell] = found


# --- what hangs together -------------------------------------------------------------------------


@kernel
def root(parent: Array, i: Any) -> Any:
    """The least member of the set of i that is known so far; the way there is halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(parent: Array, one: Array, other: Array) -> None:
    """Join the sets of one[i] and other[i]; each set's least member stands for it."""
    for i in range(len(one)):
        a, b = root(parent, one[i]), root(parent, other[i])
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@kernel
def settle(parent: Array) -> None:
    """Let every member point at the least of its set."""
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]
