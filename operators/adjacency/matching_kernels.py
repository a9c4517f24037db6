"""Compiled: which two sides of cells have the same points.

Every side goes into the bucket of its lowest point, as one word: what tells it from the others
there, made of its next points, and its own number. Only sides of one bucket are compared, and these
lie next to each other in memory. Where cells that come one after the other share points, as they do
in most meshes, a side is compared as it comes, while its bucket is still at hand, and is kept only
if it is the first of its kind. Where a mesh is numbered at random each look into a bucket waits for
memory; then all sides are put down first and the buckets settled one by one. The buckets of some
points are filled at a time, and the sides of others left out.

The upper bits of a word are a sum of products of the side's second, third and fourth point. Where
they hold all these points the factors put them one beside the other. Where they are too few, they
may be the same for different sides, so that the points of sides that met are compared as well. A
point that is not there counts as `none`, which is no point's id; where a side has more than four
points, the fourth is a number made of the rest.

What a kernel knows beforehand is written into it: the kernels of cells of one shape are compiled
for that shape. Ids are read as unsigned, so that no index is looked at for being negative.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from meshkit.celltypes import Template, cell_type
from meshkit.operators.adjacency.bucket_kernels import FEW, count_lows, count_lows_of_tets
from meshkit.operators.kernels import Array, Kernel, bare_kernel, inlined, kernel

CROWD: Final = -2
"""Sides that more than two cells share have the partner `CROWD` minus the lowest of them."""

_1, _2, _3, _4 = (np.uint64(x) for x in (1, 2, 3, 4))
_BEYOND: Final = np.uint64(1 << 63)
Factors: TypeAlias = tuple[np.uint64, np.uint64, np.uint64]

# --- one side and its bucket ---------------------------------------------------------------------


class Buckets(NamedTuple):
    """Where sides are put down, and what comes of it."""

    first: np.uint64  # the point of the first of these buckets; those of other points are left out
    few: int  # sides meet as they come in buckets of at most this many
    factors: Factors  # of the second, third and fourth point
    none: np.uint64  # stands for a point that is not there
    taken: np.uint64  # the bit of a word that says it met another; below it is the side's number
    starts: Array  # uint32 [n_buckets + 1]: where the bucket of each point begins
    ends: Array  # uint32 [n_buckets]: where what is in it ends; at first where it begins
    words: Array  # uint64, at least [starts[-1]]
    partner: Array  # int32 [n_sides]: -1, or the other side of each; in a crowd `CROWD`


@inlined
def put(
    low: Any, begin: Any, word: Any, taken: Any, ends: Array, words: Array, partner: Array
) -> None:
    """Let a side meet its like in a bucket, from `begin` on, or keep it there.

    Sides of one kind come in ascending order, so that what is met is the lowest of them. (All of
    it is one function without a way out in between, or the compiler counts references to arrays.)
    """
    end, below = np.uint64(ends[low]), taken << _1
    at = min(begin, end)
    while at < end and words[at] ^ word >= below:
        at += _1
    if at == end:
        words[end] = word
        ends[low] = end + _1
    else:
        first, side = words[at], word & (taken - _1)
        lowest = first & (taken - _1)
        if first & taken == 0:
            words[at] = first | taken
            partner[lowest], partner[side] = side, lowest
        else:
            mark = CROWD - np.int64(lowest)
            if partner[lowest] >= 0:
                partner[np.uint64(partner[lowest])] = mark
            partner[lowest], partner[side] = mark, mark


@inlined
def word_of(second: Any, third: Any, fourth: Any, side: Any, factors: Any, taken: Any) -> Any:
    """What stands for a side in its bucket."""
    one, two, three = factors
    mixed = np.uint64(second) * one + np.uint64(third) * two + np.uint64(fourth) * three
    return mixed & ~((taken << _1) - _1) | side


@inlined
def first_look(low: Any, few: int, starts: Array) -> Any:
    """Where in a bucket to look for the like of what comes; beyond its end in one of many sides."""
    begin = starts[low]
    count = starts[np.uint64(low) + _1] - begin
    return np.uint64(begin) if np.int64(count) <= few else _BEYOND


# --- the sides of cells into their buckets -------------------------------------------------------

TETRA: Final = cell_type("tetra").faces
# Which side of a tet lies opposite to each of its corners, two bits each.
_OPPOSITE: Final = np.uint64(
    sum(next(f for f, ring in enumerate(TETRA) if c not in ring) << 2 * c for c in range(4))
)


@bare_kernel
def put_tets(
    table: Array,
    k: int,
    begin: int,
    end: int,
    first: np.uint64,
    few: int,
    factors: Factors,
    none: np.uint64,
    taken: np.uint64,
    starts: Array,
    ends: Array,
    words: Array,
    partner: Array,
) -> None:
    """As `table_kernels` says, for tets: a tet's corners are sorted once for all its sides."""
    n = np.uint64(len(ends))
    for cell in range(begin, end):
        base = np.uint64(cell * k)
        # Each corner with its place in the two lowest bits.
        a = np.uint64(np.uint32(table[base])) << _2
        b = np.uint64(np.uint32(table[base + _1])) << _2 | _1
        c = np.uint64(np.uint32(table[base + _2])) << _2 | _2
        d = np.uint64(np.uint32(table[base + _3])) << _2 | _3
        a, b, c, d = min(a, b), max(a, b), min(c, d), max(c, d)
        a, b, c, d = min(a, c), min(b, d), max(a, c), max(b, d)
        b, c = min(b, c), max(b, c)
        one, two, three, four = a >> _2, b >> _2, c >> _2, d >> _2
        side = np.uint64(cell) * _4
        low = one - first
        if low < n:
            look = first_look(low, few, starts)
            if one < two and two < three:
                at = side + (_OPPOSITE >> (d & _3) * _2 & _3)
                word = word_of(two, three, none, at, factors, taken)
                put(low, look, word, taken, ends, words, partner)
            if one < two and two < four:
                at = side + (_OPPOSITE >> (c & _3) * _2 & _3)
                word = word_of(two, four, none, at, factors, taken)
                put(low, look, word, taken, ends, words, partner)
            if one < three and three < four:
                at = side + (_OPPOSITE >> (b & _3) * _2 & _3)
                word = word_of(three, four, none, at, factors, taken)
                put(low, look, word, taken, ends, words, partner)
        low = two - first
        if low < n and two < three and three < four:
            at = side + (_OPPOSITE >> (a & _3) * _2 & _3)
            word = word_of(three, four, none, at, factors, taken)
            put(low, first_look(low, few, starts), word, taken, ends, words, partner)


Counting: TypeAlias = Kernel[[Array, int, Array, Array], None]
Putting: TypeAlias = Kernel[
    [
        Array,
        int,
        int,
        int,
        np.uint64,
        int,
        Factors,
        np.uint64,
        np.uint64,
        Array,
        Array,
        Array,
        Array,
    ],
    None,
]


@cache
def put_quads(template: Template) -> Putting:
    """As `table_kernels` says, for sides of four points."""
    rings = template
    n_sides = np.uint64(len(template))

    @bare_kernel
    def _put_quads(
        table: Array,
        k: int,
        begin: int,
        end: int,
        first: np.uint64,
        few: int,
        factors: Factors,
        none: np.uint64,
        taken: np.uint64,
        starts: Array,
        ends: Array,
        words: Array,
        partner: Array,
    ) -> None:
        missing, n = np.uint32(none), np.uint64(len(ends))
        for cell in range(begin, end):
            base = np.uint64(cell * k)
            side = np.uint64(cell) * n_sides
            for ring in rings:
                a = np.uint32(table[base + np.uint64(ring[0])])
                b = np.uint32(table[base + np.uint64(ring[1])])
                c = np.uint32(table[base + np.uint64(ring[2])])
                d = np.uint32(table[base + np.uint64(ring[3])])
                ab, ba, cd, dc = min(a, b), max(a, b), min(c, d), max(c, d)
                one, fourth = min(ab, cd), max(ba, dc)
                p, q = max(ab, cd), min(ba, dc)
                second, third = min(p, q), max(p, q)
                # Three different points make a triangle of it, fewer no side at all.
                if one == second or second == third or third == fourth:
                    second = third if one == second else second
                    third, fourth = fourth, missing
                low = np.uint64(one) - first
                if low < n and one < second and second < third:
                    look = first_look(low, few, starts)
                    word = word_of(second, third, fourth, side, factors, taken)
                    put(low, look, word, taken, ends, words, partner)
                side += _1

    return _put_quads


@cache
def put_edges(template: Template) -> Putting:
    """As `table_kernels` says, for sides of two points."""
    rings = template
    n_sides = np.uint64(len(template))

    @bare_kernel
    def _put_edges(
        table: Array,
        k: int,
        begin: int,
        end: int,
        first: np.uint64,
        few: int,
        factors: Factors,
        none: np.uint64,
        taken: np.uint64,
        starts: Array,
        ends: Array,
        words: Array,
        partner: Array,
    ) -> None:
        n = np.uint64(len(ends))
        for cell in range(begin, end):
            base = np.uint64(cell * k)
            side = np.uint64(cell) * n_sides
            for ring in rings:
                a = np.uint32(table[base + np.uint64(ring[0])])
                b = np.uint32(table[base + np.uint64(ring[1])])
                low = np.uint64(min(a, b)) - first
                if low < n and a != b:
                    look = first_look(low, few, starts)
                    word = word_of(max(a, b), none, none, side, factors, taken)
                    put(low, look, word, taken, ends, words, partner)
                side += _1

    return _put_edges


def table_kernels(template: Template) -> tuple[Counting, Putting]:
    """What counts and what puts into buckets the sides of cells of one shape.

    Both take the flat table of the cells' points and how many each cell has; then the one what
    `count_lows` says, the other the first cell, the one after the last, and `Buckets`.
    """
    if template == TETRA:
        return count_lows_of_tets, put_tets
    put = put_quads if len(template[0]) == 4 else put_edges
    return count_lows(template), put(template)


@kernel
def next_above(rings: Array, begin: Any, end: Any, floor: Any) -> Any:
    """The least point of a ring above `floor`; -1 where there is none."""
    best = np.int64(-1)
    for q in range(begin, end):
        x = np.int64(rings[q])
        if x > floor and (best < 0 or x < best):
            best = x
    return best


@bare_kernel
def put_rings(
    offsets: Array,
    rings: Array,
    least: int,
    begin: int,
    end: int,
    first: np.uint64,
    few: int,
    factors: Factors,
    none: np.uint64,
    taken: np.uint64,
    starts: Array,
    ends: Array,
    words: Array,
    partner: Array,
) -> None:
    """Rings of any size into their buckets; those of fewer than `least` points into none."""
    n = np.uint64(len(ends))
    for s in range(begin, end):
        start, stop = offsets[s], offsets[s + 1]
        low = next_above(rings, start, stop, -1)
        bucket = np.uint64(low) - first
        if low < 0 or bucket >= n:
            continue
        second = next_above(rings, start, stop, low)
        third = next_above(rings, start, stop, second) if second >= 0 else second
        fourth = next_above(rings, start, stop, third) if third >= 0 else third
        if 1 + (second >= 0) + (third >= 0) + (fourth >= 0) < least:
            continue
        if fourth >= 0:
            last = fourth
            for q in range(start, stop):
                last = max(last, np.int64(rings[q]))
            if last > fourth:
                fourth = (fourth * 2654435761 + last * 40503) & 0xFFFFFFFF
        word = word_of(
            second if second >= 0 else none,
            third if third >= 0 else none,
            fourth if fourth >= 0 else none,
            np.uint64(s),
            factors,
            taken,
        )
        look = first_look(bucket, few, starts)
        put(bucket, look, word, taken, ends, words, partner)


# --- buckets that were only filled ---------------------------------------------------------------


@bare_kernel
def settle(
    lo: int,
    hi: int,
    first: np.uint64,
    few: int,
    factors: Factors,
    none: np.uint64,
    taken: np.uint64,
    starts: Array,
    ends: Array,
    words: Array,
    partner: Array,
) -> None:
    """Let the sides meet in those buckets lo to hi in which they did not yet."""
    for bucket in range(lo, hi):
        look, stop = np.uint64(starts[bucket]), np.uint64(ends[bucket])
        if np.int64(starts[bucket + 1] - starts[bucket]) <= few:
            continue
        crowded = stop - look > FEW  # and sorted
        ends[bucket] = starts[bucket]
        i = look
        while i < stop:
            word, last = words[i], np.uint64(ends[bucket]) - _1
            if crowded and last + _1 > look and words[last] ^ word >= taken << _1:
                look = last + _1  # nothing that comes is like what came
            put(bucket, look, word, taken, ends, words, partner)
            i += _1


@cache
def count_pairs(n_sides: int) -> Kernel[[Array], tuple[int, int, int]]:
    """`(partner)`: how many pairs there are, sides in crowds, and sides that met one of their own
    cell, where each cell has `n_sides` sides. Of a sound mesh that is all that `finish` tells."""

    @kernel
    def _count_pairs(partner: Array) -> tuple[int, int, int]:
        pairs, crowd, own = np.int32(0), np.int32(0), np.int32(0)
        for cell in range(len(partner) // n_sides):
            begin = np.int32(cell * n_sides)
            end = np.int32(begin + n_sides)
            for i in range(n_sides):
                other = partner[np.uint64(begin) + np.uint64(i)]
                pairs += np.int32(other >= end)
                crowd += np.int32(other < np.int32(-1))
                own += np.int32(begin <= other and other < end)
        return int(pairs), int(crowd), int(own)

    return _count_pairs


@kernel
def finish(n_sides: int, of_cell: Array, partner: Array) -> tuple[int, int]:
    """Part the sides of one cell that met; how many pairs are left, and sides in crowds.

    Each cell has `n_sides` sides; where that is 0, the sides of_cell[i] to of_cell[i + 1].
    """
    inner, crowd = 0, 0
    n = len(partner) // n_sides if n_sides else len(of_cell) - 1
    for cell in range(n):
        begin = cell * n_sides if n_sides else of_cell[cell]
        end = begin + n_sides if n_sides else of_cell[cell + 1]
        for side in range(begin, end):
            other = partner[np.uint64(side)]
            inner += other >= end
            crowd += other < -1
            if begin <= other and other < end:
                partner[np.uint64(side)] = -1
    return inner, crowd
