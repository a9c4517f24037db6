"""How the measure of cells is shared among their points, in one pass over the cells, compiled.

The same shares as the torch code of `shares`, which has their derivatives; the tests hold one
against the other. Sums are float64 in the order of the cells, on one thread: each adds what it
gives to the points' total.
"""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from meshkit.celltypes import CellType
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.kernels import Array, array, kernel
from meshkit.operators.measure.ring_parts import area_vector, mean_of_points, size_facing
from meshkit.operators.measure.rings import RingTable


def share_rings(points: Tensor, rings: RingTable, linear: bool, out: Tensor) -> None:
    """Add the shares of surface cells.

    Args:
        points: [n_points, 3], on the CPU.
        rings: of the surface cells.
        linear: by the rule of that name, else by that of "dual".
        out: float64 [n_points].
    """
    at = array(points.double())
    _of_rings(at, array(rings.offsets), array(rings.points), linear, array(out))


def share_solids(points: Tensor, row: CellType, table: Tensor, linear: bool, out: Tensor) -> None:
    """Add the shares of solids of one type with tabulated faces; `table` [m, k] are their corners
    in the order of `corners`. Other arguments as for `share_rings`.
    """
    at, ids = array(points.double()), array(table)
    if row.shape == "tetra":
        _of_tets(at, ids, array(out))
        return
    place = {p: i for i, p in enumerate(corners(row, table.shape[1]))}
    flat = np.array([place[p] for ring in row.faces for p in ring], dtype=np.int64)
    ends = np.cumsum([0, *map(len, row.faces)], dtype=np.int64)
    _of_solids(at, ids, flat, ends, linear, array(out))


def share_polyhedra(
    points: Tensor,
    corner: tuple[Tensor, Tensor],
    faces: tuple[Tensor, Tensor, Tensor],
    linear: bool,
    out: Tensor,
) -> None:
    """Add the shares of polyhedra.

    Args:
        corner: offsets [m + 1] and ids [..] of the points of each.
        faces: rows of faces [m + 1] of each, and offsets and ids of these.
        points, linear, out: as for `share_rings`.
    """
    offsets, ids = map(array, corner)
    first, ends, rings = map(array, faces)
    _of_polyhedra(array(points.double()), offsets, ids, first, ends, rings, linear, array(out))


@kernel
def _of_rings(points: Array, offsets: Array, ids: Array, linear: bool, out: Array) -> None:
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        if end - begin == 3:
            _of_triangle(points, ids[begin], ids[begin + 1], ids[begin + 2], linear, out)
        else:
            _of_fan(points, ids, begin, end, linear, out)


@kernel
def _of_triangle(points: Array, p: int, q: int, r: int, linear: bool, out: Array) -> None:
    x, y, z = points[p, 0], points[p, 1], points[p, 2]
    ux, uy, uz = points[q, 0], points[q, 1], points[q, 2]
    wx, wy, wz = points[r, 0], points[r, 1], points[r, 2]
    ax, ay, az = ux - x, uy - y, uz - z
    bx, by, bz = wx - ux, wy - uy, wz - uz
    cx, cy, cz = x - wx, y - wy, z - wz
    x, y, z = ay * cz - az * cy, az * cx - ax * cz, ax * cy - ay * cx
    twice = math.sqrt(x * x + y * y + z * z)
    if linear:
        out[p] += twice / 6
        out[q] += twice / 6
        out[r] += twice / 6
        return
    # Of the corners: the edges there, by the cosine of the angle between them.
    at_p = -(ax * cx + ay * cy + az * cz)
    at_q = -(bx * ax + by * ay + bz * az)
    at_r = -(cx * bx + cy * by + cz * bz)
    if at_p < 0 or at_q < 0 or at_r < 0 or twice == 0.0:
        out[p] += twice / (4 if at_p < 0 else 8)
        out[q] += twice / (4 if at_q < 0 else 8)
        out[r] += twice / (4 if at_r < 0 else 8)
        return
    a = (ax * ax + ay * ay + az * az) * at_r / twice
    b = (bx * bx + by * by + bz * bz) * at_p / twice
    c = (cx * cx + cy * cy + cz * cz) * at_q / twice
    out[p] += (a + c) / 8
    out[q] += (a + b) / 8
    out[r] += (b + c) / 8


@kernel
def _of_fan(points: Array, ids: Array, begin: int, end: int, linear: bool, out: Array) -> None:
    n = end - begin
    if n < 3:
        return
    vx, vy, vz, _ = area_vector(points, ids, begin, end)
    mx, my, mz = mean_of_points(points, ids, begin, end)
    whole = 0.0
    for i in range(begin, end):
        p, q = ids[i], ids[i + 1] if i + 1 < end else ids[begin]
        ax, ay, az = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
        bx, by, bz = points[q, 0] - mx, points[q, 1] - my, points[q, 2] - mz
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        part = size_facing(x * vx + y * vy + z * vz, x, y, z) / 2
        whole += part
        share = part / (3 if linear else 2)
        out[p] += share
        out[q] += share
    if linear:
        for i in range(begin, end):
            out[ids[i]] += whole / (3 * n)


@kernel
def _of_tets(points: Array, table: Array, out: Array) -> None:
    for row in range(len(table)):
        p, q, r, s = table[row, 0], table[row, 1], table[row, 2], table[row, 3]
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        ax, ay, az = points[q, 0] - x, points[q, 1] - y, points[q, 2] - z
        bx, by, bz = points[r, 0] - x, points[r, 1] - y, points[r, 2] - z
        cx, cy, cz = points[s, 0] - x, points[s, 1] - y, points[s, 2] - z
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        share = (x * cx + y * cy + z * cz) / 24
        out[p] += share
        out[q] += share
        out[r] += share
        out[s] += share


@kernel
def _of_face(
    points: Array,
    ids: Array,
    begin: int,
    end: int,
    cx: float,
    cy: float,
    cz: float,
    linear: bool,
    out: Array,
) -> float:
    """The shares of the tets between a ring and a point; returns their volume."""
    n = end - begin
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(begin, end):
        p = ids[i]
        mx += points[p, 0] - cx
        my += points[p, 1] - cy
        mz += points[p, 2] - cz
    mx, my, mz = mx / n, my / n, mz / n
    whole = 0.0
    for i in range(begin, end):
        p, q = ids[i], ids[i + 1] if i + 1 < end else ids[begin]
        ax, ay, az = points[p, 0] - cx - mx, points[p, 1] - cy - my, points[p, 2] - cz - mz
        bx, by, bz = points[q, 0] - cx - mx, points[q, 1] - cy - my, points[q, 2] - cz - mz
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        part = (mx * x + my * y + mz * z) / 6
        whole += part
        if n > 3:
            share = part / (4 if linear else 2)
            out[p] += share
            out[q] += share
    if n == 3 or linear:
        for i in range(begin, end):
            out[ids[i]] += whole / (n if not linear else 4 if n == 3 else 4 * n)
    return whole


@kernel
def _of_solids(
    points: Array, table: Array, flat: Array, ends: Array, linear: bool, out: Array
) -> None:
    k, corners = table.shape[1], table.reshape(-1)
    ring = np.empty(len(flat), table.dtype)
    for row in range(len(table)):
        mx, my, mz = mean_of_points(points, corners, row * k, row * k + k)
        for i in range(len(flat)):
            ring[i] = table[row, flat[i]]
        whole = 0.0
        for f in range(len(ends) - 1):
            whole += _of_face(points, ring, ends[f], ends[f + 1], mx, my, mz, linear, out)
        if linear:
            for i in range(k):
                out[table[row, i]] += whole / (4 * k)


@kernel
def _of_polyhedra(
    points: Array,
    offsets: Array,
    ids: Array,
    faces: Array,
    ends: Array,
    rings: Array,
    linear: bool,
    out: Array,
) -> None:
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        k = end - begin
        if k == 0:
            continue
        mx, my, mz = mean_of_points(points, ids, begin, end)
        whole = 0.0
        for f in range(faces[row], faces[row + 1]):
            if ends[f + 1] - ends[f] >= 3:
                whole += _of_face(points, rings, ends[f], ends[f + 1], mx, my, mz, linear, out)
        if linear:
            for i in range(begin, end):
                out[ids[i]] += whole / (4 * k)
