"""Compiled: the faces that follow from which sides of cells meet.

What a kernel knows beforehand is written into it: the kernels of cells of one shape are compiled
for that shape. Ids are read as unsigned, so that no index is looked at for being negative.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from meshkit.celltypes import Template
from meshkit.operators.kernels import Array, Kernel, kernel

_1, _ONE = np.uint64(1), np.uint32(1)


@kernel
def all_of_size(offsets: Array, size: int) -> bool:
    """Whether all rows have this size."""
    wrong, starts, ends = np.int64(0), offsets[:-1], offsets[1:]
    for row in range(len(starts)):
        wrong |= (ends[row] - starts[row]) ^ size
    return bool(wrong == 0)


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
