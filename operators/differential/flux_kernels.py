"""The coefficients of Gauss' theorem, cell by cell, compiled: the CPU's way where no derivative in
the points is asked for. The same operators as the torch code of `green_gauss` and `finite_volume`,
multiplied out: each cell's differences from its own value, of which each other cell has one.

Geometry comes with three coordinates whatever the mesh has, so that loops over them have no ends to
look up. A cell's faces and terms stand in small arrays that are made once for many cells.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Concatenate, Final

import numpy as np

from meshkit.operators.differential.flux_faces import (
    by_distance,
    extrapolated,
    seen_from,
    solid,
    straight_part,
    weigh,
)
from meshkit.operators.kernels import Array, Kernel, inlined, unaliased

PLAIN, CORRECTED, DIRECT = 0, 1, 2
"""What a value on a face is: see `plain_map`, `green_gauss_map` and `finite_volume_map`."""

ROWS: Final = 64
"""How many rows are written at a time."""


@cache
def coefficients(method: int) -> Kernel[Concatenate[int, int, ...], None]:
    """What fills the rows lo to hi of one band, by one of the methods above.

    Args of the kernel:
        rows, counts: int64: the band's cells, empty for all, and how many columns each has there.
        of_cell, indices: the faces of each cell.
        owner, neighbour, value_of: int64 [n_faces]: -1 where there is no other cell and no known
            value.
        n, most: how many cells there are, and the most terms that one of them has.
        ends, inner: the columns of the least-squares gradients, compressed rows.
        begin, slots: the places of each cell's terms, as `tell_apart` finds them.
        gradients: their coefficients [e, 3].
        from_owner, from_neighbour, middles: [n_faces, 3], float64; `from_neighbour` may be empty.
        warp: [n_faces, 9], for all but `CORRECTED` its trace [n_faces, 1]; or empty.
        centroids, has: [n, 3] and [n]: of the cells, and which of them have a gradient.
        dim: of the cells.
        cols, coefs: [width, m] and [width, c, m], to fill.
        determined: bool [n], to fill.
    """

    @unaliased
    def _coefficients(
        lo: int,
        hi: int,
        rows: Array,
        counts: Array,
        of_cell: Array,
        indices: Array,
        owner: Array,
        neighbour: Array,
        value_of: Array,
        n: int,
        most: int,
        ends: Array,
        inner: Array,
        begin: Array,
        slots: Array,
        gradients: Array,
        from_owner: Array,
        from_neighbour: Array,
        middles: Array,
        warp: Array,
        centroids: Array,
        has: Array,
        dim: int,
        cols: Array,
        coefs: Array,
        determined: Array,
    ) -> None:
        width, c, bent = cols.shape[0], coefs.shape[1], len(warp) > 0
        found, total = np.empty(most + 1, np.int64), np.empty((most + 1, 3))
        seen, far, near, sums = np.zeros(18), np.zeros(9), np.zeros(9), np.zeros(5)
        # Some rows side by side: one by one, each would touch a line of memory for every entry.
        some = max(1, min(ROWS, 65536 // width))
        ids, held = np.empty((width, some), cols.dtype), np.empty((width, c, some), coefs.dtype)
        done = lo
        for i in range(lo, hi):
            row = rows[i] if len(rows) > 0 else i
            count = counts[i]
            if count > 0:
                first, term = of_cell[row], begin[row]
                at = term + of_cell[row + 1] - first  # the first term of the gradients
                for k in range(count + 1):
                    found[k] = row
                    total[k, 0] = total[k, 1] = total[k, 2] = 0.0
                near[:] = 0.0
                sums[:] = 0.0
                volume = 0.0
                fine = True
                for f in range(first, of_cell[row + 1]):
                    face, slot = indices[f], np.uint64(slots[term])
                    term += 1
                    other, value = neighbour[face], value_of[face]
                    known, owns = value >= 0, owner[face] == row
                    if other >= 0 and not owns:
                        other = owner[face]
                    volume += seen_from(
                        face, row, other, owns, from_owner, from_neighbour, middles,
                        warp, centroids, seen,
                    )  # fmt: skip
                    weigh(seen, sums)
                    found[slot] = n + value if known else (other if other >= 0 else row)
                    if method == DIRECT:
                        fine = fine and has[row] and (other < 0 or has[other])
                        total[slot, 0] += straight_part(seen, other >= 0, known, far, near)
                    else:
                        share = 0.0
                        if method == PLAIN:
                            share = by_distance(seen) if other >= 0 else 0.0
                        else:
                            beside = other >= 0 and has[other]
                            if beside:
                                share = 0.5 if has[row] else 1.0
                            fine = fine and (has[row] or beside or (known and not bent))
                            extrapolated(seen, share, known, bent, far, near)
                        for x in range(3):
                            total[slot, x] += (1.0 if known else share) * seen[x]
                    if method != PLAIN and other >= 0:
                        if method == CORRECTED:
                            _spread(
                                far, ends, inner, gradients, other, slots, at, slot, found, total
                            )
                        else:
                            _spread_along(
                                far, ends, inner, gradients, other, slots, at, slot, found, total
                            )
                        at += ends[other + 1] - ends[other]
                zero = np.uint64(0)
                if method == CORRECTED:
                    _spread(near, ends, inner, gradients, row, slots, at, zero, found, total)
                elif method == DIRECT:
                    _spread_along(near, ends, inner, gradients, row, slots, at, zero, found, total)
                volume /= dim
                whole = solid(volume, dim, sums, row, centroids)
                determined[row] = whole and fine
                over = 1 / volume if whole else 1.0
                for k in range(count):
                    ids[k, i - done] = found[k + 1]
                    for x in range(c):
                        held[k, x, i - done] = total[k + 1, x] * over
            for k in range(count, width):
                ids[k, i - done] = row
                for x in range(c):
                    held[k, x, i - done] = 0.0
            if i + 1 == hi or i + 1 - done == some:
                _put(ids, held, done, i + 1, cols, coefs)
                done = i + 1

    return _coefficients


@inlined
def _put(ids: Array, held: Array, begin: Any, end: Any, cols: Array, coefs: Array) -> None:
    """Rows of entries as columns."""
    first = np.uint64(begin)
    for k in range(np.uint64(cols.shape[0])):
        for r in range(np.uint64(end - begin)):
            cols[k, first + r] = ids[k, r]
        for x in range(np.uint64(coefs.shape[1])):
            for r in range(np.uint64(end - begin)):
                coefs[k, x, first + r] = held[k, x, r]


@inlined
def _spread(
    turn: Array,
    ends: Array,
    inner: Array,
    gradients: Array,
    of: Any,
    slots: Array,
    begin: Any,
    against: Any,
    found: Array,
    total: Array,
) -> None:
    """Add a cell's gradient, turned, to the totals of its columns; less that of the cell itself."""
    a, b, c, d, e, f = turn[0], turn[1], turn[2], turn[3], turn[4], turn[5]
    g, h, i = turn[6], turn[7], turn[8]
    u = v = w = 0.0
    for at in range(ends[of], ends[of + 1]):
        slot = np.uint64(slots[begin + at - ends[of]])
        x, y, z = gradients[at, 0], gradients[at, 1], gradients[at, 2]
        p, q, r = a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
        found[slot] = inner[at]
        total[slot, 0] += p
        total[slot, 1] += q
        total[slot, 2] += r
        u, v, w = u + p, v + q, w + r
    total[against, 0] -= u
    total[against, 1] -= v
    total[against, 2] -= w


@inlined
def _spread_along(
    way: Array,
    ends: Array,
    inner: Array,
    gradients: Array,
    of: Any,
    slots: Array,
    begin: Any,
    against: Any,
    found: Array,
    total: Array,
) -> None:
    """The same of a gradient along a way, which is a number."""
    a, b, c, u = way[0], way[1], way[2], 0.0
    for at in range(ends[of], ends[of + 1]):
        slot = np.uint64(slots[begin + at - ends[of]])
        more = a * gradients[at, 0] + b * gradients[at, 1] + c * gradients[at, 2]
        found[slot] = inner[at]
        total[slot, 0] += more
        u += more
    total[against, 0] -= u
