"""Which columns a row has where operators are multiplied out: the terms of each cell told apart.

Compiled. What a term's column is the second pass, `flux_kernels`, knows from the faces again; what
it is told here is the place of each, in a byte where a cell has few.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from meshkit.operators.kernels import Array, inlined, kernel, unaliased

_HASH: Final = np.uint64(0x9E3779B97F4A7C15)


@kernel
def count_terms(
    lo: int,
    hi: int,
    of_cell: Array,
    indices: Array,
    owner: Array,
    neighbour: Array,
    ends: Array,
    out: Array,
) -> None:
    """How many terms each cell has: one a face, those of the gradients beyond, those of its own."""
    for row in range(lo, hi):
        terms = of_cell[row + 1] - of_cell[row] + ends[row + 1] - ends[row]
        for f in range(of_cell[row], of_cell[row + 1]):
            other = _beyond(row, indices[f], owner, neighbour)
            if other >= 0:
                terms += ends[other + 1] - ends[other]
        out[row] = terms


@unaliased
def tell_apart(
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
    begin: Array,
    slots: Array,
    counts: Array,
) -> None:
    """The place of each term's column among those of its cell, and how many others these are.

    Places are counted in the order in which columns come, from 1 on; the cell itself has 0. Terms
    are what is beyond each face, then the gradients beyond each, then the cell's own gradient.

    Args:
        of_cell, indices: the faces of each cell.
        owner, neighbour, value_of: int64 [n_faces]: -1 where there is no other cell and no known
            value, which is column n and on.
        n, most: how many cells there are, and the most terms that one of them has.
        ends, inner: the columns of each cell's gradient, compressed rows.
        begin: int64 [n + 1]: where the terms of each cell begin.
        slots: of each term, to fill.
        counts: int64 [n], to fill: 1 for a cell that stands alone, 0 without faces.
    """
    room = 8
    while room < 2 * (most + 1):
        room *= 2
    keys, places = np.empty(room, np.int64), np.empty(room, np.int64)
    for row in range(lo, hi):
        first, faces, at = of_cell[row], of_cell[row + 1] - of_cell[row], begin[row]
        shift = np.uint64(61)
        while np.uint64(2 * (begin[row + 1] - at + 1)) > np.uint64(1) << (np.uint64(64) - shift):
            shift -= np.uint64(1)
        for h in range(np.uint64(1) << (np.uint64(64) - shift)):
            keys[h] = -1
        count = _place(np.int64(row), np.int64(-1), shift, keys, places)
        for k in range(faces):
            face = indices[first + k]
            other, value = _beyond(row, face, owner, neighbour), value_of[face]
            col = np.int64(n + value if value >= 0 else (other if other >= 0 else row))
            slot = _place(col, count, shift, keys, places)
            count = max(count, slot)
            slots[at] = slot
            at += 1
        for k in range(faces + 1):
            other = _beyond(row, indices[first + k], owner, neighbour) if k < faces else row
            if other >= 0:
                for j in range(ends[other], ends[other + 1]):
                    slot = _place(np.int64(inner[j]), count, shift, keys, places)
                    count = max(count, slot)
                    slots[at] = slot
                    at += 1
        counts[row] = max(count, 1) if faces > 0 else 0


@inlined
def _beyond(row: Any, face: Any, owner: Array, neighbour: Array) -> Any:
    """The cell beyond a face, -1 where there is none."""
    other = neighbour[face]
    return owner[face] if other >= 0 and owner[face] != row else other


@inlined
def _place(col: Any, count: Any, shift: Any, keys: Array, places: Array) -> Any:
    """The place of a column; of a new one that after the last, `count`."""
    last = (np.uint64(1) << (np.uint64(64) - shift)) - np.uint64(1)
    h = (np.uint64(col) * _HASH) >> shift
    while keys[h] >= 0 and keys[h] != col:
        h = (h + np.uint64(1)) & last
    if keys[h] < 0:
        keys[h], places[h] = col, count + 1
    return places[h]
