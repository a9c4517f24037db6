"""Volumes and centroids of solids of one type in one pass over their corners, compiled.

The same parts as the torch code of `cell_moments`, which has their derivatives; the tests hold one
against the other.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CellType
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.measure.ring_parts import mean_of_points


def solid_moments(
    row: CellType, table: Tensor, points: Tensor, centroids: bool
) -> tuple[Tensor, Tensor]:
    """Volume [m] and centroid [m, 3] (without rows where these are not wanted).

    Args:
        row: a solid type with tabulated faces.
        table: int [m, k], its corners in the order of `corners`.
        points: [n_points, 3], on the CPU. Sums are float64, answers in their dtype.
        centroids: whether they are wanted.
    """
    m, k = table.shape
    volume, middle = _answers(m, points, centroids)
    place = {p: i for i, p in enumerate(corners(row, k))}
    rings = [[place[p] for p in ring] for ring in row.faces]
    at, ids = array(points.double()), array(table)
    if row.shape == "tetra":
        over_rows(_tets, m, at, ids, volume, middle)
    elif max(map(len, rings)) <= 4:
        # The fan of a triangle is plane wherever it starts: a quad that ends twice in one corner.
        quads = np.array([(ring + ring[-1:])[:4] for ring in rings], dtype=np.uint32)
        eps = torch.finfo(points.dtype).eps
        over_rows(_of_quads, m, at, ids, quads, eps, volume, middle)
    else:
        ends = torch.tensor([0, *itertools.accumulate(map(len, rings))], device="cpu")
        steps = torch.arange(m, device="cpu")[:, None]
        return _of_rings(
            points,
            (torch.arange(m + 1, device="cpu") * k, table.reshape(-1)),
            (
                torch.arange(m + 1, device="cpu") * len(rings),
                torch.cat([(steps * ends[-1] + ends[:-1]).reshape(-1), ends[-1:] * m]),
                table[:, list(itertools.chain(*rings))].reshape(-1),
            ),
            centroids,
        )
    return torch.from_numpy(volume), torch.from_numpy(middle)


def _answers(m: int, points: Tensor, centroids: bool) -> tuple[Array, Array]:
    dtype = array(points[:0]).dtype
    return np.empty(m, dtype), np.empty((m if centroids else 0, 3), dtype)


def polyhedron_moments(
    cells: Cells, solids: Polyhedra, points: Tensor, centroids: bool
) -> tuple[Tensor, Tensor]:
    """As `solid_moments`, of the polyhedra of a mesh."""
    rings = (solids.faces, solids.offsets, solids.connectivity)
    return _of_rings(points, polyhedron_corners(cells), rings, centroids)


def _of_rings(
    points: Tensor,
    corner: tuple[Tensor, Tensor],
    rings: tuple[Tensor, Tensor, Tensor],
    centroids: bool,
) -> tuple[Tensor, Tensor]:
    """Of solids whose corners and faces are compressed rows."""
    m = len(corner[0]) - 1
    volume, middle = _answers(m, points, centroids)
    eps = torch.finfo(points.dtype).eps
    at = (array(points.double()), array(corner[0]), array(corner[1]))
    faces = (array(rings[0]), array(rings[1]), array(rings[2]))
    over_rows(_polyhedra, m, *at, *faces, eps, volume, middle)
    return torch.from_numpy(volume), torch.from_numpy(middle)


def polyhedron_corners(cells: Cells) -> tuple[Tensor, Tensor]:
    """Offsets [m + 1] and ids [..] of the points of each polyhedron."""
    ids = cells.polyhedron_ids
    if len(ids) == len(cells):
        return cells.offsets, cells.connectivity
    ends, places = csr.take_rows(cells.offsets, ids)
    return ends, cells.connectivity[places]


@kernel
def _polyhedra(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    faces: Array,
    ends: Array,
    rings: Array,
    eps: float,
    volume: Array,
    middle: Array,
) -> None:
    for row in range(lo, hi):
        begin, k = offsets[row], offsets[row + 1] - offsets[row]
        mx, my, mz = mean_of_points(points, ids, begin, begin + k)
        reach = 0.0
        for i in range(begin, begin + k):
            p = ids[i]
            x, y, z = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
            reach = max(reach, abs(x), abs(y), abs(z))
        whole, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
        for f in range(faces[row], faces[row + 1]):
            first, last = ends[f], ends[f + 1]
            n = last - first
            if n < 3:
                continue
            fx, fy, fz = 0.0, 0.0, 0.0
            for i in range(first, last):
                p = rings[i]
                fx += points[p, 0] - mx
                fy += points[p, 1] - my
                fz += points[p, 2] - mz
            fx, fy, fz = fx / n, fy / n, fz / n
            p = rings[last - 1]
            ax, ay, az = points[p, 0] - mx - fx, points[p, 1] - my - fy, points[p, 2] - mz - fz
            for i in range(first, last):
                p = rings[i]
                bx, by, bz = points[p, 0] - mx - fx, points[p, 1] - my - fy, points[p, 2] - mz - fz
                x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
                part = (fx * x + fy * y + fz * z) / 6
                whole += part
                sx += part * ((ax + bx) / 4 + 0.75 * fx)
                sy += part * ((ay + by) / 4 + 0.75 * fy)
                sz += part * ((az + bz) / 4 + 0.75 * fz)
                ax, ay, az = bx, by, bz
        volume[row] = whole
        if len(middle):
            flat = abs(whole) <= eps * reach**3
            middle[row, 0] = mx if flat else mx + sx / whole
            middle[row, 1] = my if flat else my + sy / whole
            middle[row, 2] = mz if flat else mz + sz / whole


@kernel
def _tets(lo: int, hi: int, points: Array, table: Array, volume: Array, middle: Array) -> None:
    for row in range(lo, hi):
        p, q, r, s = table[row, 0], table[row, 1], table[row, 2], table[row, 3]
        ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
        ax, ay, az = points[q, 0] - ox, points[q, 1] - oy, points[q, 2] - oz
        bx, by, bz = points[r, 0] - ox, points[r, 1] - oy, points[r, 2] - oz
        cx, cy, cz = points[s, 0] - ox, points[s, 1] - oy, points[s, 2] - oz
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        volume[row] = (x * cx + y * cy + z * cz) / 6
        if len(middle):
            middle[row, 0] = ox + (ax + bx + cx) / 4
            middle[row, 1] = oy + (ay + by + cy) / 4
            middle[row, 2] = oz + (az + bz + cz) / 4


@kernel
def _of_quads(
    lo: int,
    hi: int,
    points: Array,
    table: Array,
    quads: Array,
    eps: float,
    volume: Array,
    middle: Array,
) -> None:
    # A fan about the mean m of a quad, with the diagonals u and v and w from m half way to the
    # middle of u, has the volume m . (u x v) / 6, and 24 times its first moment is
    # 3 m (m . u x v) + (m x w . u) v + (m x w . v) u.
    k = table.shape[1]
    x = np.empty((k, 3))
    for row in range(lo, hi):
        p = table[row, 0]
        ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
        for i in range(k):
            p = table[row, i]
            x[i, 0], x[i, 1], x[i, 2] = points[p, 0] - ox, points[p, 1] - oy, points[p, 2] - oz
        cx, cy, cz, reach = 0.0, 0.0, 0.0, 0.0
        if len(middle):
            for i in range(k):
                cx, cy, cz = cx + x[i, 0], cy + x[i, 1], cz + x[i, 2]
            cx, cy, cz = cx / k, cy / k, cz / k
            for i in range(k):
                x[i, 0], x[i, 1], x[i, 2] = x[i, 0] - cx, x[i, 1] - cy, x[i, 2] - cz
                reach = max(reach, abs(x[i, 0]), abs(x[i, 1]), abs(x[i, 2]))
        whole, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
        for f in range(len(quads)):
            a, b, c, d = quads[f, 0], quads[f, 1], quads[f, 2], quads[f, 3]
            ux, uy, uz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
            vx, vy, vz = x[d, 0] - x[b, 0], x[d, 1] - x[b, 1], x[d, 2] - x[b, 2]
            ex, ey, ez = x[a, 0] + x[c, 0], x[a, 1] + x[c, 1], x[a, 2] + x[c, 2]
            fx, fy, fz = x[b, 0] + x[d, 0], x[b, 1] + x[d, 1], x[b, 2] + x[d, 2]
            mx, my, mz = ex + fx, ey + fy, ez + fz
            part = mx * (uy * vz - uz * vy) + my * (uz * vx - ux * vz) + mz * (ux * vy - uy * vx)
            whole += part
            if len(middle):
                wx, wy, wz = ex - fx, ey - fy, ez - fz
                gx, gy, gz = my * wz - mz * wy, mz * wx - mx * wz, mx * wy - my * wx
                along, beside = gx * ux + gy * uy + gz * uz, gx * vx + gy * vy + gz * vz
                sx += 3 * mx * part + along * vx + beside * ux
                sy += 3 * my * part + along * vy + beside * uy
                sz += 3 * mz * part + along * vz + beside * uz
        whole = whole / 24
        volume[row] = whole
        if len(middle):
            scale = 0.0 if abs(whole) <= eps * reach**3 else 1 / (384 * whole)
            middle[row, 0] = ox + (cx + sx * scale)
            middle[row, 1] = oy + (cy + sy * scale)
            middle[row, 2] = oz + (cz + sz * scale)
