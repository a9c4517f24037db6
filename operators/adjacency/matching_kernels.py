"""Compiled: which two sides of cells have the same points, and the faces that follow.

Every side goes into the bucket of its lowest point, and with it what tells it from the others
there: its next points. Only sides of one bucket are compared, and these lie next to each other in
memory, so that it matters little how a mesh is numbered.

A side in a bucket is a row of `width` uint32: its points but the lowest, ascending, then its own
number. `NONE` stands for a point that is not there; a row of four holds three points, and where a
side has more of them the last of the three is a number made of the rest, and the sides themselves
are compared as well.

What a kernel knows beforehand is written into it: the kernels of cells of one shape are compiled
for that shape. Ids are read as unsigned, so that no index is looked at for being negative.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from meshkit.celltypes import Template, cell_type
from meshkit.operators.kernels import Array, Kernel, kernel

NONE: Final = np.uint32(0xFFFFFFFF)
TAKEN: Final = np.uint32(0x80000000)
"""Set in the number of a side that was compared with all of its bucket."""
NUMBER: Final = np.uint32(0x7FFFFFFF)
FEW: Final = 256
"""Buckets of more sides than this are sorted before they are compared."""
CLOSE: Final = np.uint32(64)
"""Sides whose numbers differ by less may be of one cell, which is then asked."""
CROWD: Final = -2
"""Sides that more than two cells share have the partner `CROWD` minus the lowest of them."""

_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_ONE, _THREE, _FOUR = np.uint32(1), np.uint32(3), np.uint64(4)

# --- into buckets --------------------------------------------------------------------------------


@cache
def count_lows(template: Template) -> Kernel[[Array, int, Array], None]:
    """`(table, k, counts)`: how many sides have each point as their lowest, from counts[1] on.

    The cells' points are the flat table, k each; their sides the template, all of one size.
    """
    rings = template

    @kernel
    def _count_lows(table: Array, k: int, counts: Array) -> None:
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            for ring in rings:
                low = NONE
                for point in ring:
                    low = min(low, np.uint32(table[base + np.uint64(point)]))
                counts[np.uint64(low) + _1] += _ONE

    return _count_lows


TETRA: Final = cell_type("tetra").faces
# Which side of a tet lies opposite to each of its corners, two bits each.
_OPPOSITE: Final = np.uint64(
    sum(next(f for f, ring in enumerate(TETRA) if c not in ring) << 2 * c for c in range(4))
)
_4, _8, _CORNER, _NO_CORNER = np.uint64(4), np.uint64(8), np.uint64(3), np.uint64(2)


@kernel
def count_lows_of_tets(table: Array, k: int, counts: Array) -> None:
    """As `count_lows`, for tets: three sides have the lowest corner, one the next."""
    for cell in range(table.size // k):
        base = np.uint64(cell * k)
        a, b = np.uint32(table[base]), np.uint32(table[base + _1])
        c, d = np.uint32(table[base + _2]), np.uint32(table[base + _3])
        ab, cd = min(a, b), min(c, d)
        counts[np.uint64(min(ab, cd)) + _1] += _THREE
        counts[np.uint64(min(max(ab, cd), min(max(a, b), max(c, d)))) + _1] += _ONE


@kernel
def put_tets(table: Array, k: int, cursor: Array, rows: Array) -> None:
    """The sides of tets into their buckets, rows of three: a tet's corners are sorted once."""
    for cell in range(table.size // k):
        base = np.uint64(cell * k)
        # Each corner with its place in the two lowest bits.
        a = np.uint64(np.uint32(table[base])) << _2
        b = np.uint64(np.uint32(table[base + _1])) << _2 | _1
        c = np.uint64(np.uint32(table[base + _2])) << _2 | _2
        d = np.uint64(np.uint32(table[base + _3])) << _2 | _CORNER
        a, b, c, d = min(a, b), max(a, b), min(c, d), max(c, d)
        a, b, c, d = min(a, c), min(b, d), max(a, c), max(b, d)
        b, c = min(b, c), max(b, c)
        low, second = np.uint32(a >> _NO_CORNER), np.uint32(b >> _NO_CORNER)
        third, high = np.uint32(c >> _NO_CORNER), np.uint32(d >> _NO_CORNER)
        side = np.uint64(cell) * _4
        without_low = side + (_OPPOSITE >> (a & _CORNER) * _2 & _CORNER)
        without_second = side + (_OPPOSITE >> (b & _CORNER) * _2 & _CORNER)
        without_third = side + (_OPPOSITE >> (c & _CORNER) * _2 & _CORNER)
        without_high = side + (_OPPOSITE >> (d & _CORNER) * _2 & _CORNER)
        if low < second and second < third and third < high:
            at = np.uint64(cursor[low])
            cursor[low] = np.uint32(at + _3)
            at *= _3
            rows[at] = second
            rows[at + _1] = third
            rows[at + _2] = np.uint32(without_high)
            rows[at + _3] = second
            rows[at + _4] = high
            rows[at + _4 + _1] = np.uint32(without_third)
            rows[at + _4 + _2] = third
            rows[at + _4 + _3] = high
            rows[at + _8] = np.uint32(without_second)
            at = np.uint64(cursor[second])
            cursor[second] = np.uint32(at + _1)
            at *= _3
            rows[at] = third
            rows[at + _1] = high
            rows[at + _2] = np.uint32(without_low)
        else:
            put_triangle(low, second, third, without_high, cursor, rows)
            put_triangle(low, second, high, without_third, cursor, rows)
            put_triangle(low, third, high, without_second, cursor, rows)
            put_triangle(second, third, high, without_low, cursor, rows)


@kernel
def put_triangle(a: Any, b: Any, c: Any, side: Any, cursor: Array, rows: Array) -> None:
    """A side of three ascending points into its bucket, if they are three."""
    if a < b and b < c:
        at = np.uint64(cursor[a])
        cursor[a] = np.uint32(at + _1)
        at *= _3
        rows[at] = b
        rows[at + _1] = c
        rows[at + _2] = np.uint32(side)


@cache
def put_quads(template: Template) -> Kernel[[Array, int, Array, Array], None]:
    """`(table, k, cursor, rows)`: sides of four points into their buckets, rows of four."""
    rings = template
    n_sides = np.uint32(len(template))

    @kernel
    def _put_quads(table: Array, k: int, cursor: Array, rows: Array) -> None:
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            side = np.uint32(cell) * n_sides
            for ring in rings:
                a = np.uint32(table[base + np.uint64(ring[0])])
                b = np.uint32(table[base + np.uint64(ring[1])])
                c = np.uint32(table[base + np.uint64(ring[2])])
                d = np.uint32(table[base + np.uint64(ring[3])])
                ab, ba, cd, dc = min(a, b), max(a, b), min(c, d), max(c, d)
                low, high = min(ab, cd), max(ba, dc)
                p, q = max(ab, cd), min(ba, dc)
                second, third = min(p, q), max(p, q)
                if low == second or second == third or third == high:
                    # Three different points make a triangle of it, fewer no side at all.
                    if low == second:
                        second, third = third, high
                    elif second == third:
                        third = high
                    high = NONE
                    if low == second or second == third or third == NONE:
                        side += _ONE
                        continue
                at = np.uint64(cursor[low])
                cursor[low] = np.uint32(at + _1)
                at *= _FOUR
                rows[at] = second
                rows[at + _1] = third
                rows[at + _2] = high
                rows[at + _3] = side
                side += _ONE

    return _put_quads


@cache
def put_edges(template: Template) -> Kernel[[Array, int, Array, Array], None]:
    """`(table, k, cursor, rows)`: sides of two points into their buckets, rows of two."""
    rings = template
    n_sides = np.uint32(len(template))

    @kernel
    def _put_edges(table: Array, k: int, cursor: Array, rows: Array) -> None:
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            side = np.uint32(cell) * n_sides
            for ring in rings:
                a = np.uint32(table[base + np.uint64(ring[0])])
                b = np.uint32(table[base + np.uint64(ring[1])])
                low = min(a, b)
                if a != b:
                    at = np.uint64(cursor[low])
                    cursor[low] = np.uint32(at + _1)
                    rows[at * _2] = max(a, b)
                    rows[at * _2 + _1] = side
                side += _ONE

    return _put_edges


Counting: TypeAlias = Kernel[[Array, int, Array], None]
Putting: TypeAlias = Kernel[[Array, int, Array, Array], None]


def table_kernels(template: Template) -> tuple[Counting, Putting]:
    """What counts and what puts into buckets the sides of cells of one shape.

    Both take the flat table of the cells' points and how many each cell has; then the counting
    takes counts uint32 [n_points + 1], filled from counts[1] on; the putting takes the cursor
    uint32 [n_points], from where each bucket begins to where it ends, and rows uint32 [..].
    """
    if template == TETRA:
        return count_lows_of_tets, put_tets
    put = put_quads if len(template[0]) == 4 else put_edges
    return count_lows(template), put(template)


@kernel
def count_lows_of_rings(offsets: Array, rings: Array, counts: Array) -> None:
    """How many rings of any size have each point as their lowest, from counts[1] on."""
    for s in range(len(offsets) - 1):
        if offsets[s] < offsets[s + 1]:
            low = NONE
            for q in range(offsets[s], offsets[s + 1]):
                low = min(low, np.uint32(rings[q]))
            counts[np.uint64(low) + _1] += _ONE


@kernel
def next_above(rings: Array, begin: Any, end: Any, floor: Any) -> Any:
    """The least point of a ring above `floor`; -1 where there is none."""
    best = np.int64(-1)
    for q in range(begin, end):
        x = np.int64(rings[q])
        if x > floor and (best < 0 or x < best):
            best = x
    return best


@kernel
def put_rings(
    offsets: Array, rings: Array, width: int, least: int, cursor: Array, rows: Array
) -> None:
    """Rings of any size into their buckets; those of fewer than `least` points into none."""
    for s in range(len(offsets) - 1):
        begin, end = offsets[s], offsets[s + 1]
        low = next_above(rings, begin, end, -1)
        if low < 0:
            continue
        second = next_above(rings, begin, end, low)
        third = next_above(rings, begin, end, second) if second >= 0 else second
        fourth = next_above(rings, begin, end, third) if third >= 0 else third
        if 1 + (second >= 0) + (third >= 0) + (fourth >= 0) < least:
            continue
        if fourth >= 0:
            last = fourth
            for q in range(begin, end):
                last = max(last, np.int64(rings[q]))
            if last > fourth:
                fourth = (fourth * 2654435761 + last * 40503) & 0xFFFFFFFF
        at = np.int64(cursor[low]) * width
        cursor[low] += _ONE
        # NONE is what -1 is as uint32.
        if width > 1:
            rows[at] = np.uint32(second & 0xFFFFFFFF)
        if width > 2:
            rows[at + 1] = np.uint32(third & 0xFFFFFFFF)
        if width > 3:
            rows[at + 2] = np.uint32(fourth & 0xFFFFFFFF)
        rows[at + width - 1] = np.uint32(s)


# --- out of buckets, in pairs --------------------------------------------------------------------


@kernel
def same_points(offsets: Array, rings: Array, one: Any, other: Any) -> bool:
    """Whether two rings have the same set of points."""
    for turn in range(2):
        x, y = (np.int64(one), np.int64(other)) if turn else (np.int64(other), np.int64(one))
        for q in range(offsets[x], offsets[x + 1]):
            found = False
            for r in range(offsets[y], offsets[y + 1]):
                found = found or rings[q] == rings[r]
            if not found:
                return False
    return True


@kernel
def sort_rows(rows: Array, begin: Any, end: Any, width: int) -> None:
    """Rows begin to end in ascending order (Shell's way: in place, and the same at every run)."""
    gap = 1
    while gap < (end - begin) // 9:
        gap = 3 * gap + 1
    held = np.empty(4, np.uint32)
    while gap > 0:
        for i in range(begin + gap, end):
            for c in range(width):
                held[c] = rows[i * width + c]
            j = i
            while j - gap >= begin:
                before, c = (j - gap) * width, 0
                while c < width - 1 and rows[before + c] == held[c]:
                    c += 1
                if rows[before + c] <= held[c]:
                    break
                for c in range(width):
                    rows[j * width + c] = rows[before + c]
                j -= gap
            for c in range(width):
                rows[j * width + c] = held[c]
        gap //= 3


@kernel
def alike(rows: Array, at: Any, other: Any, width: int) -> Any:
    """Whether two rows have the same points."""
    equal: Any = True
    if width > 1:
        equal &= rows[at] == rows[other]
    if width > 2:
        equal &= rows[at + _1] == rows[other + _1]
    if width > 3:
        equal &= rows[at + _2] == rows[other + _2]
    return equal


@cache
def pair(
    width: int, many: bool
) -> Kernel[[int, int, Array, Array, Array, int, Array, Array, Array, Array, Array], None]:
    """A kernel that pairs the sides in the buckets of the points lo to hi, in rows of one width.

    `many` is for sides that may have more than four points. The kernel takes

        starts uint32 [n_points + 1], ends uint32 [n_points]: where each bucket begins and ends
        rows uint32 [.. * width]: the sides; they are marked, and reordered where there are many
        n_sides: how many sides each cell has; 0: `cell_of` int64 [all sides] tells each one's cell
        offsets, rings: the sides themselves, looked at where `many`
        partner int32 [all sides]: the other side of each, given as -1 for none
        crowds int64 [n_points]: gets how many sides of this bucket more than two cells share
    """
    row, last = np.uint64(width), np.uint64(width - 1)

    @kernel
    def _pair(
        lo: int,
        hi: int,
        starts: Array,
        ends: Array,
        rows: Array,
        n_sides: int,
        cell_of: Array,
        offsets: Array,
        rings: Array,
        partner: Array,
        crowds: Array,
    ) -> None:
        for point in range(lo, hi):
            begin, stop = np.uint64(starts[point]), np.uint64(ends[point])
            crowds[point] = 0
            if stop - begin > FEW:
                sort_rows(rows, np.int64(begin), np.int64(stop), width)
            while begin < stop:
                end = stop
                if stop - begin > FEW:
                    end = begin + _1
                    while end < stop and alike(rows, begin * row, end * row, width):
                        end += _1
                i: Any = begin
                while i < end:
                    at = i * row
                    side = rows[at + last]
                    if side >= TAKEN:
                        i += _1
                        continue
                    found, where = 0, at
                    j = i + _1
                    while j < end:
                        if alike(rows, at, j * row, width) and (
                            not many
                            or same_points(offsets, rings, side, rows[j * row + last] & NUMBER)
                        ):
                            found += 1
                            where = j * row
                        j += _1
                    i += _1
                    if found == 1:
                        other = rows[where + last]
                        rows[where + last] = other | TAKEN
                        apart = True
                        if max(side, other) - min(side, other) < CLOSE:
                            if n_sides:
                                apart = side // np.uint32(n_sides) != other // np.uint32(n_sides)
                            else:
                                apart = cell_of[side] != cell_of[other]
                        if apart:
                            partner[side] = other
                            partner[other] = side
                    elif found > 1:
                        crowds[point] += 1 + mark_crowd(
                            rows, at, i, end, width, many, offsets, rings, partner
                        )
                begin = end

    return _pair


@kernel
def mark_crowd(
    rows: Array,
    at: Any,
    begin: Any,
    end: Any,
    width: int,
    many: bool,
    offsets: Array,
    rings: Array,
    partner: Array,
) -> int:
    """Mark the side in the row at `at` and those like it in the rows begin to end; how many."""
    row, last = np.uint64(width), np.uint64(width - 1)
    side = rows[at + last]
    low, count = side, 0
    for marking in range(2):
        j = begin
        while j < end:
            other = rows[j * row + last] & NUMBER
            if alike(rows, at, j * row, width) and (
                not many or same_points(offsets, rings, side, other)
            ):
                if marking:
                    partner[other] = CROWD - np.int64(low)
                    rows[j * row + last] = other | TAKEN
                    count += 1
                low = min(low, other)
            j += _1
    partner[side] = CROWD - np.int64(low)
    return count


@kernel
def all_of_size(offsets: Array, size: int) -> bool:
    """Whether all rows have this size."""
    wrong = 0
    for row in range(len(offsets) - 1):
        wrong += offsets[row + 1] - offsets[row] != size
    return wrong == 0


# --- faces ---------------------------------------------------------------------------------------


@kernel
def count_inner(partner: Array) -> int:
    """How many pairs of sides there are."""
    inner = 0
    for side in range(len(partner)):
        inner += partner[side] > side
    return inner


@cache
def faces_of_table(
    template: Template,
) -> Kernel[[Array, int, Array, int, Array, Array, Array], None]:
    """`(table, k, partner, n_inner, rings, owner, neighbour)`: the faces of cells of one shape.

    Interior faces first, then the boundary, both by owner and local face.
    """
    sides = template
    n_sides = np.uint32(len(template))
    size = np.uint64(len(template[0]))

    @kernel
    def _faces_of_table(
        table: Array,
        k: int,
        partner: Array,
        n_inner: int,
        rings: Array,
        owner: Array,
        neighbour: Array,
    ) -> None:
        inner, outer = np.uint64(0), np.uint64(n_inner)
        for cell in range(table.size // k):
            base = np.uint64(cell * k)
            side = np.uint32(cell) * n_sides
            for ring in sides:
                other = partner[np.uint64(side)]
                if other < 0 or np.uint32(other) > side:
                    if other < 0:
                        face, beyond = outer, np.int64(-1)
                        outer += _1
                    else:
                        face, beyond = inner, np.int64(np.uint32(other) // n_sides)
                        inner += _1
                    owner[face] = cell
                    neighbour[face] = beyond
                    at = face * size
                    for point in ring:
                        rings[at] = table[base + np.uint64(point)]
                        at += _1
                side += _ONE

    return _faces_of_table


@cache
def outer_of_table(
    template: Template,
) -> Kernel[[Array, int, Array, Array, Array, Array], None]:
    """`(table, k, partner, rings, owner, local)`: the boundary faces alone, for one shape."""
    sides = template
    n_sides = np.uint64(len(template))
    size = np.uint64(len(template[0]))

    @kernel
    def _outer_of_table(
        table: Array, k: int, partner: Array, rings: Array, owner: Array, local: Array
    ) -> None:
        face = np.uint64(0)
        for cell in range(table.size // k):
            side = np.uint64(cell) * n_sides
            for ring in sides:
                if partner[side] < 0:
                    owner[face] = cell
                    local[face] = side - np.uint64(cell) * n_sides
                    at = face * size
                    face += _1
                    for point in ring:
                        rings[at] = table[np.uint64(cell * k) + np.uint64(point)]
                        at += _1
                side += _1

    return _outer_of_table
