"""Cells out of faces: which shape each has, its points in VTK's order, and polyhedra's faces.

OpenFOAM says of a cell only which faces it has. A cell whose faces are those of a tetrahedron,
hexahedron, wedge or pyramid, corner by corner, becomes one; every other is a polyhedron.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, cell_type
from meshkit.faces import Faces
from meshkit.operators.adjacency.polyhedra_of_faces import polyhedra_of_faces
from meshkit.operators.adjacency.row_kernels import count_faces, put_faces
from meshkit.operators.kernels import array, kernel
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


def cells_of_faces(table: Faces, n_cells: int, n_points: int) -> Cells:
    """The cells that faces bound.

    Args:
        table: area vectors from owner to neighbour; all ids in range.

    Returns:
        Cells in int32 where it is large enough. A polyhedron lists its faces by ascending id,
        each seen from outside with its first point kept, and its points by first appearance.
    """
    given = [array(x) for x in table.sources]
    ids = np.result_type(*given)
    # A cell lists no more points than its faces have; two sides a face.
    if 2 * len(given[1]) > np.iinfo(ids).max:
        ids = np.dtype(np.int64)
    at, ring, one, other = (x.astype(ids, copy=False) for x in given)
    starts = np.zeros(n_cells + 1, ids)
    count_faces(one, other, starts)
    np.cumsum(starts, out=starts)
    of_cell = room(int(starts[-1]), ids)
    put_faces(one, other, starts[:-1].copy(), of_cell)
    types = np.empty(n_cells, np.uint8)
    ends = np.zeros(n_cells + 1, ids)
    shared = (at, ring, one, starts, of_cell, _FACES, _EDGES, types, ends)
    seen = room(n_points, ids)
    for counted in (seen[:0], seen):
        _classify(*shared, counted)
        np.cumsum(ends, out=ends)
        points = room(int(ends[-1]), ids)
        seen.fill(-1)
        if _fill(*shared, points, seen):
            break
        seen.fill(-1)
    solids = np.flatnonzero(types == POLYHEDRON).astype(ids)
    made, offsets, connectivity, which = map(torch.from_numpy, (types, ends, points, solids))
    polyhedra = polyhedra_of_faces(table, which) if len(solids) else None
    return Cells(made, offsets, connectivity, polyhedra)


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
    """The type of each cell c, and in sizes[c + 1] how many points it lists.

    Without `seen` the points of a polyhedron are not counted but follow from its faces and edges
    by Euler's formula, which holds where its surface is closed and has no holes.
    """
    corners = np.empty(8, rings.dtype)
    sizes[0] = 0
    for cell in range(len(types)):
        mine = sides[starts[cell] : starts[cell + 1]]
        row = _shape(cell, mine, offsets, rings, owner, faces, edges, corners)
        if row >= 0:
            types[cell] = (10, 12, 13, 14)[row]
            sizes[cell + 1] = (4, 8, 6, 5)[row]
            continue
        types[cell] = 42
        if len(seen) > 0:
            distinct = 0
            for face in mine:
                for i in range(offsets[face], offsets[face + 1]):
                    if seen[rings[i]] != cell:
                        seen[rings[i]] = cell
                        distinct += 1
        else:
            total = 0
            for face in mine:
                total += offsets[face + 1] - offsets[face]
            distinct = max(total // 2 - len(mine) + 2, 0)
        sizes[cell + 1] = distinct


@kernel
def _fill(
    offsets: Array, rings: Array, owner: Array, starts: Array, sides: Array, faces: Array,
    edges: Array, types: Array, ends: Array, points: Array, seen: Array,
) -> bool:  # fmt: skip
    """The points of all cells, a polyhedron's as they come in its faces seen from outside.

    False, and nothing of use is filled in, where a polyhedron has not as many points as `ends` say.
    """
    corners = np.empty(8, rings.dtype)
    for cell in range(len(types)):
        mine = sides[starts[cell] : starts[cell + 1]]
        out = ends[cell]
        if types[cell] != 42:
            _shape(cell, mine, offsets, rings, owner, faces, edges, corners)
            for i in range(ends[cell + 1] - out):
                points[out + i] = corners[i]
            continue
        for face in mine:
            begin = offsets[face]
            size = offsets[face + 1] - begin
            for i in range(size):
                j = i if owner[face] == cell or i == 0 else size - i
                point = rings[begin + j]
                if seen[point] != cell:
                    seen[point] = cell
                    if out == ends[cell + 1]:
                        return False
                    points[out] = point
                    out += 1
        if out != ends[cell + 1]:
            return False
    return True
