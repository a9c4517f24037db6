"""Compiled: whether sides of cells that were taken for the same have the same points."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from meshkit.celltypes import Template
from meshkit.operators.kernels import Array, Kernel, kernel


@kernel
def lie_in(points: Array, begin: Any, end: Any, rings: Array, start: Any, stop: Any) -> bool:
    """Whether the points begin to end are all among those of a ring."""
    all_there = True
    for q in range(begin, end):
        there = False
        for r in range(start, stop):
            there = there or points[q] == rings[r]
        all_there = all_there and there
    return all_there


@kernel
def all_alike(offsets: Array, rings: Array, exact: int, crowd: int, partner: Array) -> bool:
    """Whether all sides of more than `exact` points that met have the same points.

    Sides in a crowd have the partner `crowd` minus the lowest of them.
    """
    alike = True
    for side in range(len(partner)):
        other = np.int64(partner[side])
        if other < -1:
            other = crowd - other
        begin, end = offsets[side], offsets[side + 1]
        if other >= 0 and end - begin > exact:
            start, stop = offsets[other], offsets[other + 1]
            alike = alike and lie_in(rings, begin, end, rings, start, stop)
            alike = alike and lie_in(rings, start, stop, rings, begin, end)
    return alike


@cache
def all_alike_of_table(template: Template) -> Kernel[[Array, int, int, Array], bool]:
    """`(table, k, crowd, partner)`: as `all_alike`, for cells of one shape.

    Two neighbours go round their face in opposite directions, which is looked for first.
    """
    n_sides, size = len(template), len(template[0])
    local = np.array(template, np.uint64).reshape(-1)

    @kernel
    def _all_alike_of_table(table: Array, k: int, crowd: int, partner: Array) -> bool:
        alike = True
        ours, theirs = np.empty(size, np.int64), np.empty(size, np.int64)
        for cell in range(table.size // k):
            for i in range(n_sides):
                side = cell * n_sides + i
                other = np.int64(partner[np.uint64(side)])
                if 0 <= other < side or other == -1:
                    continue
                if other < -1:
                    other = crowd - other
                beyond = other // n_sides
                begin, at, turn = i * size, (other - beyond * n_sides) * size, 0
                for j in range(size):
                    ours[j] = table[np.uint64(cell * k) + local[begin + j]]
                    theirs[j] = table[np.uint64(beyond * k) + local[at + j]]
                    turn = j if theirs[j] == ours[0] else turn
                same = True
                for j in range(size):
                    same = same and ours[j] == theirs[(turn + size - j) % size]
                if not same:
                    same = lie_in(ours, 0, size, theirs, 0, size)
                    same = same and lie_in(theirs, 0, size, ours, 0, size)
                alike = alike and same
        return alike

    return _all_alike_of_table
