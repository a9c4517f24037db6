"""Compiled: rows of values turned round, into the rows that list each value.

Rows are put from the last to the first, so that what tells where those of a value end tells in the
end where they begin, and the rows of a value come in order. A row that has a value twice is looked
for when all is put, where its two entries stand side by side.
"""

from __future__ import annotations

import numpy as np

from meshkit.operators.kernels import Array, kernel

_1, _NONE = np.uint32(1), np.uint32(0xFFFFFFFF)


@kernel
def count_listed(offsets: Array, values: Array, top: Array, ends: Array) -> bool:
    """Where the entries of each value below n end, one for each time that rows have it.

    Args:
        top: which rows count; all where it is empty.
        ends: uint32 [n + 1], of zeros; the last becomes the number of all entries.

    Returns:
        False where any row, counted or not, has another value.
    """
    n = np.uint64(len(ends) - 1)
    for i in range(len(values)):
        x = np.uint64(values[i])
        if x >= n:  # a negative one, too
            return False
        ends[x] += _1
    for row in range(len(top)):
        if not top[row]:
            for i in range(offsets[row], offsets[row + 1]):
                ends[np.uint64(values[i])] -= _1
    for i in range(len(ends) - 1):
        ends[i + 1] += ends[i]
    return True


@kernel
def put_listed(offsets: Array, values: Array, top: Array, ends: Array, out: Array) -> None:
    """The rows that list each value, ascending, one for each time; `ends` become the starts."""
    i = np.int64(len(values))
    for row in range(len(offsets) - 2, -1, -1):
        begin = np.int64(offsets[row])
        if len(top) and not top[row]:
            i = begin
        while i > begin:
            i -= 1
            x = np.uint64(values[i])
            at = ends[x] - _1
            ends[x] = at
            out[at] = row


@kernel
def widen_listed(starts: Array, rows: Array, out: Array) -> bool:
    """What was put, uint32, as int64; it may lie in the second half of `out`.

    Returns:
        Whether the entries of a value have a row twice.
    """
    twice, value, before = False, 0, _NONE
    for i in range(len(out)):
        row = rows[i]
        if row == before:
            while starts[value] < i:
                value += 1
            twice = twice or starts[value] != i
        before = row
        out[i] = row
    return twice


@kernel
def drop_repeats(starts: Array, out: Array) -> None:
    """Each entry of the ascending rows of `out` once, from the front on; `starts` follow."""
    kept, begin = 0, starts[0]
    for row in range(len(starts) - 1):
        end, first = starts[row + 1], kept
        for i in range(begin, end):
            if kept == first or out[kept - 1] != out[i]:
                out[kept] = out[i]
                kept += 1
        begin = end
        starts[row + 1] = kept
