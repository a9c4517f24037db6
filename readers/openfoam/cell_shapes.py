"""Cells out of faces: which shape each has, its points in VTK's order, and polyhedra's faces.

OpenFOAM says of a cell only which faces it has. A cell whose faces are those of a tetrahedron,
hexahedron, wedge or pyramid, corner by corner, becomes one; every other is a polyhedron.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, cell_type
from meshkit.operators.kernels import kernel
from meshkit.readers.openfoam.memory import room

Array = NDArray[Any]

_KINDS: Final = tuple(cell_type(n).number for n in ("tetra", "hexahedron", "wedge", "pyramid"))


def _template(what: str) -> Array:
    """Faces [4, 6] or neighbours [4, 8] of corners as sets of bits, for each of the four shapes."""
    table = np.zeros((4, 8), np.int64)
    for row, number in enumerate(_KINDS):
        known = CELL_TYPES[number]
        if what == "faces":
            for i, face in enumerate(known.faces):
                table[row, i] = sum(1 << p for p in face)
        else:
            for a, b in known.edges:
                table[row, a] |= 1 << b
                table[row, b] |= 1 << a
    return table


_FACES: Final = _template("faces")
_EDGES: Final = _template("edges")


def cells_of_faces(
    offsets: Array, rings: Array, owner: Array, neighbour: Array, n_cells: int, n_points: int
) -> Cells:
    """The cells that faces bound.

    Args:
        offsets, rings: the faces, int [n + 1] and int [..]; area vectors from owner to neighbour.
        owner, neighbour: int [n], neighbour -1 on the boundary; all ids in range.

    Returns:
        Cells in int32 where it is large enough. A polyhedron lists its faces by ascending id,
        each seen from outside with its first point kept, and its points by first appearance.
    """
    given = (offsets, rings, owner, neighbour)
    sides = 2 * len(rings)  # no more points than this in the faces of polyhedra
    wide = sides > np.iinfo(np.int32).max or any(x.dtype != np.int32 for x in given)
    ids = np.dtype(np.int64 if wide else np.int32)
    at, ring, one, other = (np.ascontiguousarray(x, ids) for x in given)
    starts = np.zeros(n_cells + 1, ids)
    _count_sides(one, other, starts)
    np.cumsum(starts, out=starts)
    of_cell = room(int(starts[-1]), ids)
    _list_sides(one, other, starts[:-1].copy(), of_cell)
    types = np.empty(n_cells, np.uint8)
    sizes = np.zeros((3, n_cells + 1), ids)
    shared = (at, ring, one, starts, of_cell, _FACES, _EDGES, types)
    seen = room(n_points, ids)
    for counted in (seen[:0], seen):
        _classify(*shared, sizes, counted)
        solids = np.flatnonzero(types == POLYHEDRON)
        ends = np.cumsum(sizes[0], dtype=ids)
        points = room(int(ends[-1]), ids)
        poly_faces = np.concatenate([[0], np.cumsum(sizes[1, 1:][solids])]).astype(ids)
        ring_offsets = np.zeros(int(poly_faces[-1]) + 1, ids)
        poly_rings = room(int(sizes[2].sum()), ids)
        seen.fill(-1)
        if _fill(*shared, ends, points, seen, ring_offsets, poly_rings):
            break
        seen.fill(-1)
    polyhedra = None
    if len(solids):
        polyhedra = Polyhedra(*map(torch.from_numpy, (poly_faces, ring_offsets, poly_rings)))
    return Cells(
        torch.from_numpy(types), torch.from_numpy(ends), torch.from_numpy(points), polyhedra
    )


@kernel
def _count_sides(owner: Array, neighbour: Array, counts: Array) -> None:
    for face in range(len(owner)):
        counts[owner[face] + 1] += 1
        if neighbour[face] >= 0:
            counts[neighbour[face] + 1] += 1


@kernel
def _list_sides(owner: Array, neighbour: Array, at: Array, faces: Array) -> None:
    for face in range(len(owner)):
        cell = owner[face]
        faces[at[cell]] = face
        at[cell] += 1
        cell = neighbour[face]
        if cell >= 0:
            faces[at[cell]] = face
            at[cell] += 1


@kernel
def _beyond(ring: Array, a: int, b: int) -> int:
    """In a ring with the edge a-b, the point beside a that is not b; -1 without that edge."""
    n = len(ring)
    for i in range(n):
        if ring[i] == a:
            before = int(ring[i - 1 if i > 0 else n - 1])
            after = int(ring[i + 1 if i + 1 < n else 0])
            if before == b:
                return after
            if after == b:
                return before
    return -1


@kernel
def _shape(
    cell: int, mine: Array, offsets: Array, rings: Array, owner: Array, faces: Array,
    edges: Array, corners: Array,
) -> int:  # fmt: skip
    """The row of the shape that a cell's faces make up, its corners filled in; -1 if none."""
    n = len(mine)
    if n < 4 or n > 6:
        return -1
    triangles, base = 0, -1
    for i in range(n):
        size = offsets[mine[i] + 1] - offsets[mine[i]]
        if size == 3:
            triangles += 1
        elif size != 4:
            return -1
    if n == 4 and triangles == 4:
        row, width, wanted = 0, 3, 3
    elif n == 6 and triangles == 0:
        row, width, wanted = 1, 4, 4
    elif n == 5 and triangles == 2:
        row, width, wanted = 2, 3, 3
    elif n == 5 and triangles == 4:
        row, width, wanted = 3, 4, 4
    else:
        return -1
    for i in range(n):
        if offsets[mine[i] + 1] - offsets[mine[i]] == wanted:
            base = i
            break
    # The base is seen from inside: its normal points into the cell.
    face = mine[base]
    begin = offsets[face]
    for i in range(width):
        j = i if owner[face] != cell or i == 0 else width - i
        corners[i] = rings[begin + j]
    size = width
    for i in range(width):
        a, b = corners[i], corners[i + 1 if i + 1 < width else 0]
        top = -1
        for k in range(n):
            if k != base:
                top = _beyond(rings[offsets[mine[k]] : offsets[mine[k] + 1]], a, b)
                if top >= 0:
                    break
        if top < 0:
            return -1
        if row == 1 or row == 2 or i == 0:
            corners[size] = top
            size += 1
    # Each face must be one of the shape's, each once, and run along the shape's edges.
    used = 0
    for k in range(n):
        begin, end = offsets[mine[k]], offsets[mine[k] + 1]
        bits, last = 0, -1
        for i in range(begin, end):
            local = -1
            for j in range(size):
                if corners[j] == rings[i]:
                    local = j
                    break
            if local < 0:
                return -1
            bits |= 1 << local
            if last >= 0 and not (edges[row, last] >> local) & 1:
                return -1
            last = local
        found = -1
        for j in range(n):
            if faces[row, j] == bits and not (used >> j) & 1:
                found = j
                break
        if found < 0:
            return -1
        used |= 1 << found
    return row


@kernel
def _classify(
    offsets: Array, rings: Array, owner: Array, starts: Array, sides: Array, faces: Array,
    edges: Array, types: Array, sizes: Array, seen: Array,
) -> None:  # fmt: skip
    """The type of each cell; how many points it lists, and as a polyhedron faces and their points.

    Column c + 1 of `sizes` is of cell c. Without `seen` the points of a polyhedron are not counted
    but follow from its faces and edges by Euler's formula, which holds where its surface is closed
    and has no holes.
    """
    corners = np.empty(8, rings.dtype)
    for cell in range(len(types)):
        mine = sides[starts[cell] : starts[cell + 1]]
        row = _shape(cell, mine, offsets, rings, owner, faces, edges, corners)
        if row >= 0:
            types[cell] = (10, 12, 13, 14)[row]
            sizes[0, cell + 1] = (4, 8, 6, 5)[row]
            continue
        types[cell] = 42
        total = 0
        for face in mine:
            total += offsets[face + 1] - offsets[face]
        distinct = max(total // 2 - len(mine) + 2, 0)
        if len(seen) > 0:
            distinct = 0
            for face in mine:
                for i in range(offsets[face], offsets[face + 1]):
                    if seen[rings[i]] != cell:
                        seen[rings[i]] = cell
                        distinct += 1
        sizes[0, cell + 1] = distinct
        sizes[1, cell + 1] = len(mine)
        sizes[2, cell + 1] = total


@kernel
def _fill(
    offsets: Array, rings: Array, owner: Array, starts: Array, sides: Array, faces: Array,
    edges: Array, types: Array, ends: Array, points: Array, seen: Array, ring_offsets: Array,
    poly_rings: Array,
) -> bool:  # fmt: skip
    """Points of all cells, and the rings of polyhedra seen from outside.

    False, and nothing of use is filled in, where a polyhedron has not as many points as `ends` say.
    """
    corners = np.empty(8, rings.dtype)
    ring, at = 0, 0
    for cell in range(len(types)):
        mine = sides[starts[cell] : starts[cell + 1]]
        out = ends[cell]
        if types[cell] != 42:
            _shape(cell, mine, offsets, rings, owner, faces, edges, corners)
            for i in range(ends[cell + 1] - out):
                points[out + i] = corners[i]
            continue
        first = at
        for face in mine:
            begin, end = offsets[face], offsets[face + 1]
            if owner[face] == cell:
                for i in range(begin, end):
                    poly_rings[at] = rings[i]
                    at += 1
            elif end > begin:
                poly_rings[at] = rings[begin]
                at += 1
                for i in range(end - 1, begin, -1):
                    poly_rings[at] = rings[i]
                    at += 1
            ring += 1
            ring_offsets[ring] = at
        for i in range(first, at):
            point = poly_rings[i]
            if seen[point] != cell:
                seen[point] = cell
                if out == ends[cell + 1]:
                    return False
                points[out] = point
                out += 1
        if out != ends[cell + 1]:
            return False
    return True
