"""The coefficients of Gauss' theorem, cell by cell, compiled: the CPU's way where no derivative in
the points is asked for. The same operators as the torch code of `green_gauss` and `finite_volume`,
multiplied out: each cell's differences from its own value, of which each other cell has one.

Geometry comes with three coordinates whatever the mesh has, so that loops over them have no ends to
look up. A cell's faces and terms stand in small arrays that are made once for many cells.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from meshkit.operators.kernels import Array, inlined, kernel, unaliased

PLAIN, CORRECTED, DIRECT = 0, 1, 2
"""What a value on a face is: see `plain_map`, `green_gauss_map` and `finite_volume_map`."""

ROWS: Final = 64
"""How many rows are written at a time."""

_HASH: Final = np.uint64(0x9E3779B97F4A7C15)


@unaliased
def lengths(
    lo: int,
    hi: int,
    of_cell: Array,
    indices: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    n: int,
    most: int,
    ends: Array,
    inner: Array,
    out: Array,
) -> None:
    """How many others each cell's answer depends on; 1 for a cell that stands alone, 0 without
    faces."""
    keys, places = np.empty(_room(most), np.int64), np.empty(_room(most), np.int64)
    found, slots = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    beyond = np.empty((2, most), np.int64)
    for row in range(lo, hi):
        begin, end = of_cell[row], of_cell[row + 1]
        _look(row, begin, end, indices, owner, neighbour, value_of, beyond)
        count = _tell_apart(row, end - begin, beyond, n, ends, inner, keys, places, found, slots)
        out[row] = max(count, 1) if end > begin else 0


@unaliased
def coefficients(
    lo: int,
    hi: int,
    method: int,
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
    """Fill the rows lo to hi of one band.

    Args:
        method: one of the above.
        rows, counts: int64: the band's cells, empty for all, and how many columns each has there.
        of_cell, indices: the faces of each cell.
        owner, neighbour, value_of: int64 [n_faces]: -1 where there is no other cell and no known
            value.
        n, most: how many cells there are, and the most terms that one of them has.
        ends, inner, gradients: the least-squares gradients, compressed rows of columns and their
            coefficients [e, 3].
        from_owner, from_neighbour, middles: [n_faces, 3], float64; `from_neighbour` may be empty.
        warp: [n_faces, 9], or empty.
        centroids, has: [n, 3] and [n]: of the cells, and which of them have a gradient.
        dim: of the cells.
        cols, coefs: [width, m] and [width, c, m], to fill.
        determined: bool [n], to fill.
    """
    width, c, bent = cols.shape[0], coefs.shape[1], len(warp) > 0
    keys, places = np.empty(_room(most), np.int64), np.empty(_room(most), np.int64)
    found, slots = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    beyond = np.empty((2, most), np.int64)
    seen, far, near, total = np.zeros(18), np.zeros(9), np.zeros(9), np.zeros((most + 1, 3))
    # Some rows side by side: written one by one, each would touch a line of memory for every entry.
    some = max(1, min(ROWS, 65536 // width))
    ids, held = np.empty((width, some), cols.dtype), np.empty((width, c, some), coefs.dtype)
    done = lo
    for i in range(lo, hi):
        row = rows[i] if len(rows) > 0 else i
        count = 0
        if counts[i] > 0:
            begin, end = of_cell[row], of_cell[row + 1]
            _look(row, begin, end, indices, owner, neighbour, value_of, beyond)
            count = _tell_apart(
                row, end - begin, beyond, n, ends, inner, keys, places, found, slots
            )
            for k in range(count + 1):
                total[k, 0] = total[k, 1] = total[k, 2] = 0.0
            near[:] = 0.0
            volume = through = 0.0
            fine, at = True, end - begin
            for k in range(end - begin):
                face, other, known = indices[begin + k], beyond[0, k], beyond[1, k] >= 0
                part = _see(
                    face, row, other, owner[face] == row, from_owner, from_neighbour, middles,
                    warp, centroids, seen,
                )  # fmt: skip
                volume += part
                through += abs(part)
                slot = slots[k]
                if method == DIRECT:
                    fine = fine and has[row] and (other < 0 or has[other])
                    total[slot, 0] += _straight(seen, other >= 0, known, far, near)
                else:
                    share = 0.0
                    if method == PLAIN:
                        share = _by_distance(seen) if other >= 0 else 0.0
                    else:
                        beside = other >= 0 and has[other]
                        if beside:
                            share = 0.5 if has[row] else 1.0
                        fine = fine and (has[row] or beside or (known and not bent))
                        _extrapolated(seen, share, known, bent, far, near)
                    for x in range(3):
                        total[slot, x] += (1.0 if known else share) * seen[x]
                if method != PLAIN and other >= 0:
                    first, stop = ends[other], at + ends[other + 1] - ends[other]
                    if method == CORRECTED:
                        _spread(far, slots, at, stop, gradients, first, slot, total)
                    else:
                        _spread_along(far, slots, at, stop, gradients, first, slot, total)
                    at = stop
            first, stop = ends[row], at + ends[row + 1] - ends[row]
            if method == CORRECTED:
                _spread(near, slots, at, stop, gradients, first, 0, total)
            elif method == DIRECT:
                _spread_along(near, slots, at, stop, gradients, first, 0, total)
            volume /= dim
            solid = abs(volume) > 64 * 2.220446049250313e-16 * through
            determined[row] = solid and fine
            over = 1 / volume if solid else 1.0
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


@kernel
def most_terms(of_cell: Array, indices: Array, owner: Array, neighbour: Array, ends: Array) -> int:
    """The most terms that a cell has, each of which may be that of another column."""
    most = 0
    for row in range(len(of_cell) - 1):
        terms = of_cell[row + 1] - of_cell[row] + ends[row + 1] - ends[row]
        for f in range(of_cell[row], of_cell[row + 1]):
            face = indices[f]
            other = neighbour[face] if owner[face] == row else owner[face]
            if neighbour[face] >= 0:
                terms += ends[other + 1] - ends[other]
        most = max(most, terms)
    return most


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


# --- who is beyond -------------------------------------------------------------------------------


@inlined
def _room(most: int) -> int:
    """A power of two that leaves half of a table empty."""
    room = 8
    while room < 2 * (most + 1):
        room *= 2
    return room


@inlined
def _look(
    row: Any,
    begin: Any,
    end: Any,
    indices: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    beyond: Array,
) -> None:
    """Of each face of a cell the cell beyond and the known value, -1 where there is none."""
    for f in range(begin, end):
        face = indices[f]
        other = neighbour[face]
        if other >= 0 and owner[face] != row:
            other = owner[face]
        beyond[0, f - begin], beyond[1, f - begin] = other, value_of[face]


@inlined
def _tell_apart(
    row: Any,
    faces: Any,
    beyond: Array,
    n: int,
    ends: Array,
    inner: Array,
    keys: Array,
    places: Array,
    found: Array,
    slots: Array,
) -> Any:
    """The distinct columns of a cell's terms, in the order in which they come.

    `found` gets them from place 1 on (at 0 stands the cell itself), `slots` the place of each term:
    of what is beyond each face, then of the gradients beyond each, then of the cell's own. Returns
    how many there are besides the cell.
    """
    terms = faces + ends[row + 1] - ends[row]
    for k in range(faces):
        other = beyond[0, k]
        terms += ends[other + 1] - ends[other] if other >= 0 else 0
    shift = np.uint64(61)
    while np.uint64(2) * np.uint64(terms + 1) > np.uint64(1) << (np.uint64(64) - shift):
        shift -= np.uint64(1)
    for h in range(np.uint64(1) << (np.uint64(64) - shift)):
        keys[h] = -1
    count = _place(row, -1, shift, keys, places, found)
    for k in range(faces):
        other, value = beyond[0, k], beyond[1, k]
        col = n + value if value >= 0 else (other if other >= 0 else row)
        slots[k] = _place(col, count, shift, keys, places, found)
        count = max(count, slots[k])
    at = faces
    for k in range(faces + 1):
        other = beyond[0, k] if k < faces else row
        if other >= 0:
            for j in range(ends[other], ends[other + 1]):
                slots[at] = _place(inner[j], count, shift, keys, places, found)
                count = max(count, slots[at])
                at += 1
    return count


@inlined
def _place(col: Any, count: Any, shift: Any, keys: Array, places: Array, found: Array) -> Any:
    """Where a column stands in `found`; a new one after the last, `count`."""
    last = (np.uint64(1) << (np.uint64(64) - shift)) - np.uint64(1)
    h = (np.uint64(col) * _HASH) >> shift
    while keys[h] >= 0 and keys[h] != col:
        h = (h + np.uint64(1)) & last
    if keys[h] < 0:
        keys[h], places[h] = col, count + 1
        found[count + 1] = col
    return places[h]


# --- what a face adds ----------------------------------------------------------------------------


@inlined
def _see(
    face: Any,
    row: Any,
    other: Any,
    owns: bool,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    centroids: Array,
    seen: Array,
) -> Any:
    """A face as seen from a cell: its area vector out of it, the ways to its middle from the cell's
    centroid and from that of the other (0 where there is none), the warp; and dim times its part in
    the volume."""
    through = 0.0
    for x in range(3):
        area = from_owner[face, x]
        if not owns:
            area = from_neighbour[face, x] if len(from_neighbour) > 0 else -area
        step = middles[face, x] - centroids[row, x]
        seen[x], seen[3 + x] = area, step
        seen[6 + x] = middles[face, x] - centroids[other, x] if other >= 0 else 0.0
        through += area * step
    if len(warp) > 0:
        for a in range(9):
            seen[9 + a] = warp[face, a] if owns else -warp[face, a]
        through += seen[9] + seen[13] + seen[17]
    return through


@inlined
def _by_distance(seen: Array) -> float:
    """How much the cell beyond has in the value on the face."""
    near = far = 0.0
    for x in range(3):
        near += seen[x] * seen[3 + x]
        far += seen[x] * seen[6 + x]
    near, far = abs(near), abs(far)
    total: float = near + far
    return near / total if total > 0.0 else 0.5


@inlined
def _extrapolated(
    seen: Array, share: float, known: bool, bent: bool, far: Array, near: Array
) -> None:
    """What turns the gradient beyond into its part in area x value; the cell's own is added up."""
    own = 0.0 if known else 1 - share
    for x in range(3):
        for y in range(3):
            at = 3 * x + y
            far[at] = share * seen[x] * seen[6 + y]
            near[at] += own * seen[x] * seen[3 + y]
            if bent:
                far[at] += share * seen[9 + at]
                near[at] += (1 - share) * seen[9 + at]


@inlined
def _straight(seen: Array, inner: bool, known: bool, far: Array, near: Array) -> float:
    """The part of a flux that the difference of the values gives; the gradients' are put in `far`
    and added to `near`."""
    across = 1.0 if inner or known else 0.0
    size = apart = 0.0
    for x in range(3):
        size += seen[x] ** 2
        apart += across * (seen[3 + x] - seen[6 + x]) ** 2
    straight: float = np.sqrt(size / apart) if apart > 0.0 else 0.0
    share = _by_distance(seen) if inner else 0.0
    for x in range(3):
        left = seen[x] - straight * across * (seen[3 + x] - seen[6 + x])
        far[x] = share * left
        near[x] += (1 - share) * left
    return straight


@inlined
def _spread(
    turn: Array,
    slots: Array,
    begin: Any,
    end: Any,
    gradients: Array,
    first: Any,
    against: Any,
    total: Array,
) -> None:
    """Add a gradient, turned, to the totals of its columns; less that of the cell whose it is."""
    a, b, c, d, e, f = turn[0], turn[1], turn[2], turn[3], turn[4], turn[5]
    g, h, i = turn[6], turn[7], turn[8]
    u = v = w = 0.0
    for j in range(begin, end):
        at, slot = first + j - begin, slots[j]
        x, y, z = gradients[at, 0], gradients[at, 1], gradients[at, 2]
        p, q, r = a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
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
    slots: Array,
    begin: Any,
    end: Any,
    gradients: Array,
    first: Any,
    against: Any,
    total: Array,
) -> None:
    """The same of a gradient along a way, which is a number."""
    a, b, c, u = way[0], way[1], way[2], 0.0
    for j in range(begin, end):
        at = first + j - begin
        more = a * gradients[at, 0] + b * gradients[at, 1] + c * gradients[at, 2]
        total[slots[j], 0] += more
        u += more
    total[against, 0] -= u
