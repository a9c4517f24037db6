"""Compiled: the sides of cells of any types as one list of rings, and the faces that they are."""

from __future__ import annotations

from typing import Final

import numpy as np

from meshkit.operators.kernels import Array, kernel

POLYHEDRON: Final = 42

# --- sides of cells ------------------------------------------------------------------------------


@kernel
def ascends(offsets: Array) -> bool:
    """Whether no offset is less than the one before."""
    falls, starts, ends = np.int64(0), offsets[:-1], offsets[1:]
    for row in range(len(starts)):
        falls |= np.int64(ends[row] < starts[row])
    return bool(falls == 0)


@kernel
def count_sides(
    types: Array,
    offsets: Array,
    least: Array,
    most: Array,
    n_sides: Array,
    n_points: Array,
    solids: Array,
    solid_rings: Array,
    of_cell: Array,
) -> int:
    """How many points the sides of all cells have; of_cell [n_cells + 1] gets where they begin.

    By type number: the least and the greatest number of points of a cell, how many sides it has,
    and how many points these have together. Those of polyhedra are `solids` and `solid_rings`.

    Returns:
        -1 where a cell has another number of points.
    """
    solid, total, sound = 0, 0, True
    of_cell[0] = 0
    for cell in range(len(types)):
        kind = types[cell]
        size = np.int64(offsets[cell + 1]) - np.int64(offsets[cell])
        sound = sound and least[kind] <= size and size <= most[kind]
        n = n_sides[kind]
        total += n_points[kind]
        if kind == POLYHEDRON:
            if n < 0:  # its sides are wanted
                begin, end = solids[solid], solids[solid + 1]
                n = end - begin
                total += solid_rings[end] - solid_rings[begin]
            solid += 1
        of_cell[cell + 1] = of_cell[cell] + n
    return total if sound else -1


@kernel
def put_sides(
    types: Array,
    offsets: Array,
    points: Array,
    first: Array,
    starts: Array,
    local: Array,
    solids: Array,
    solid_rings: Array,
    solid_points: Array,
    of_cell: Array,
    cell_of: Array,
    ends: Array,
    rings: Array,
) -> None:
    """The cell, end and points of each side.

    Sides of cells of a type are the rings first[type] on of (starts, local), as local points.
    """
    solid, at = 0, 0
    ends[0] = 0
    for cell in range(len(types)):
        kind = types[cell]
        side, stop = of_cell[cell], of_cell[cell + 1]
        if kind == POLYHEDRON:
            if side < stop:
                ring = solids[solid]
                for q in range(solid_rings[ring], solid_rings[ring + stop - side]):
                    rings[at] = solid_points[q]
                    at += 1
                shift = at - solid_rings[ring + stop - side]
                for i in range(stop - side):
                    cell_of[side + i] = cell
                    ends[side + i + 1] = solid_rings[ring + i + 1] + shift
            solid += 1
            continue
        base, ring = np.int64(offsets[cell]), first[kind]
        for s in range(side, stop):
            for q in range(starts[ring], starts[ring + 1]):
                rings[at] = points[base + local[q]]
                at += 1
            cell_of[s] = cell
            ends[s + 1] = at
            ring += 1


# --- faces of sides ------------------------------------------------------------------------------


@kernel
def points_of_faces(offsets: Array, partner: Array) -> tuple[int, int]:
    """How many points the interior faces have, and those of the boundary."""
    inner, outer = 0, 0
    for side in range(len(partner)):
        if partner[side] < 0:
            outer += offsets[side + 1] - offsets[side]
        elif partner[side] > side:
            inner += offsets[side + 1] - offsets[side]
    return inner, outer


@kernel
def faces_of_sides(
    offsets: Array,
    cell_of: Array,
    points: Array,
    partner: Array,
    n_inner: int,
    n_inner_points: int,
    ends: Array,
    rings: Array,
    owner: Array,
    neighbour: Array,
) -> None:
    """Interior faces first, then the boundary, both by owner and local face."""
    inner, outer, at_inner, at_outer = 0, n_inner, 0, n_inner_points
    ends[0] = 0
    for side in range(len(partner)):
        other = np.int64(partner[side])
        begin, end = offsets[side], offsets[side + 1]
        if other < 0:
            owner[outer], neighbour[outer] = cell_of[side], -1
            for q in range(begin, end):
                rings[at_outer] = points[q]
                at_outer += 1
            outer += 1
            ends[outer] = at_outer
        elif other > side:
            owner[inner], neighbour[inner] = cell_of[side], cell_of[other]
            for q in range(begin, end):
                rings[at_inner] = points[q]
                at_inner += 1
            inner += 1
            ends[inner] = at_inner


@kernel
def outer_of_sides(
    offsets: Array,
    cell_of: Array,
    of_cell: Array,
    points: Array,
    partner: Array,
    ends: Array,
    rings: Array,
    owner: Array,
    local: Array,
) -> None:
    """The boundary faces alone."""
    face, at = 0, 0
    ends[0] = 0
    for side in range(len(partner)):
        if partner[side] < 0:
            for q in range(offsets[side], offsets[side + 1]):
                rings[at] = points[q]
                at += 1
            owner[face] = cell_of[side]
            local[face] = side - of_cell[cell_of[side]]
            face += 1
            ends[face] = at
