"""Area vectors, areas and centroids of rings of any size in one pass, compiled.

The same parts as the torch code of `fan`, which has their derivatives; the tests hold one against
the other. Sums are float64 about a point of the ring, whatever the dtype of the points.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, inlined, kernel, over_rows
from meshkit.operators.measure.ring_parts import area_vector, mean_from_first, size_facing


def ring_geometry(points: Tensor, offsets: Tensor, ids: Tensor, *wanted: str) -> dict[str, Tensor]:
    """What is wanted of rings, in the dtype of the points, without derivatives.

    Args:
        points: [n_points, 3], on the CPU.
        offsets, ids: the rings, int [n + 1] and int [..], ids in range.
        wanted: some of "vectors" [n, 3], the area vectors; "areas" [n], of the fans; "centroids"
            [n, 3]. A ring without points has zero vector and area, and NaN for a centroid.
    """
    n = len(offsets) - 1
    dtype = array(points[:0]).dtype
    columns = {"vectors": 3, "areas": 1, "centroids": 3}
    out = {k: np.empty((n if k in wanted else 0, c), dtype) for k, c in columns.items()}
    rings = (array(points.double()), array(offsets), array(ids), torch.finfo(points.dtype).eps)
    if wanted == ("vectors",):
        over_rows(_vectors, n, *rings, False, 0.0, out["vectors"])
    else:
        over_rows(_rings, n, *rings, *out.values())
    return {k: torch.from_numpy(out[k]).squeeze(1) for k in wanted}


def ring_normals(points: Tensor, offsets: Tensor, ids: Tensor, otherwise: float) -> Tensor:
    """[n, 3]: the unit vectors along the area vectors of rings; `otherwise` where these are
    nothing but rounding beside the ring. Arguments as for `ring_geometry`.
    """
    out = np.empty((len(offsets) - 1, 3), array(points[:0]).dtype)
    rings = (array(points.double()), array(offsets), array(ids), torch.finfo(points.dtype).eps)
    over_rows(_vectors, len(out), *rings, True, otherwise, out)
    return torch.from_numpy(out)


@kernel
def _vectors(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    eps: float,
    unit: bool,
    otherwise: float,
    vectors: Array,
) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        x, y, z = 0.0, 0.0, 0.0
        if end - begin >= 3:
            x, y, z, _ = area_vector(points, ids, begin, end)
        if unit:
            size, reach = math.sqrt(x * x + y * y + z * z), 0.0
            mx, my, mz = mean_from_first(points, ids, begin, end)
            for i in range(begin, end):
                p, q = ids[begin], ids[i]
                reach = max(reach, abs(points[q, 0] - points[p, 0] - mx))
                reach = max(reach, abs(points[q, 1] - points[p, 1] - my))
                reach = max(reach, abs(points[q, 2] - points[p, 2] - mz))
            if size <= eps * reach * reach:
                x, y, z = otherwise, otherwise, otherwise
            else:
                x, y, z = x / size, y / size, z / size
        vectors[row, 0], vectors[row, 1], vectors[row, 2] = x, y, z


@kernel
def _rings(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    eps: float,
    vectors: Array,
    areas: Array,
    centroids: Array,
) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        if n == 4:
            p, q, r, s = ids[begin], ids[begin + 1], ids[begin + 2], ids[begin + 3]
            found = _quad(points, p, q, r, s, eps, len(areas) > 0)
        elif n == 3:
            found = _triangle(points, ids[begin], ids[begin + 1], ids[begin + 2])
        else:
            found = _ring(points, ids, begin, end, eps)
        if len(vectors):
            vectors[row, 0], vectors[row, 1], vectors[row, 2] = found[0], found[1], found[2]
        if len(areas):
            areas[row, 0] = found[3]
        if len(centroids):
            centroids[row, 0], centroids[row, 1], centroids[row, 2] = found[4], found[5], found[6]


Geometry = tuple[float, float, float, float, float, float, float]
"""The area vector of a ring, its area and its centroid."""


@inlined
def _triangle(points: Array, p: int, q: int, r: int) -> Geometry:
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    ax, ay, az = points[q, 0] - ox, points[q, 1] - oy, points[q, 2] - oz
    bx, by, bz = points[r, 0] - ox, points[r, 1] - oy, points[r, 2] - oz
    vx, vy, vz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    area = math.sqrt(vx * vx + vy * vy + vz * vz) / 2
    cx, cy, cz = ox + (ax + bx) / 3, oy + (ay + by) / 3, oz + (az + bz) / 3
    return vx / 2, vy / 2, vz / 2, area, cx, cy, cz


@inlined
def _quad(points: Array, p: int, q: int, r: int, s: int, eps: float, sized: bool) -> Geometry:
    """The area is that of the fan only where it is asked for: it takes four roots."""
    # By its diagonals u and v, which are exact where it is folded to nothing, and w, from the
    # mean half way to the middle of u: four times the triangles of the fan are u x v, and that
    # more and less 2 u x w and 2 v x w.
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    ax, ay, az = points[q, 0] - ox, points[q, 1] - oy, points[q, 2] - oz
    ux, uy, uz = points[r, 0] - ox, points[r, 1] - oy, points[r, 2] - oz
    bx, by, bz = points[s, 0] - ox, points[s, 1] - oy, points[s, 2] - oz
    vx, vy, vz = (
        points[s, 0] - points[q, 0],
        points[s, 1] - points[q, 1],
        points[s, 2] - points[q, 2],
    )
    wx, wy, wz = (ux - ax - bx) / 4, (uy - ay - by) / 4, (uz - az - bz) / 4
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    square = nx * nx + ny * ny + nz * nz
    twice = math.sqrt(square)
    reach = abs(wx) + max(abs(ux), abs(vx)) / 2
    reach = max(reach, abs(wy) + max(abs(uy), abs(vy)) / 2)
    reach = max(reach, abs(wz) + max(abs(uz), abs(vz)) / 2)
    area, cx, cy, cz = twice / 2, 0.0, 0.0, 0.0
    if not twice <= 2 * eps * reach * reach:
        ex, ey, ez = ux + vx, uy + vy, uz + vz
        fx, fy, fz = ux - vx, uy - vy, uz - vz
        if sized:
            gx, gy, gz = 2 * (ey * wz - ez * wy), 2 * (ez * wx - ex * wz), 2 * (ex * wy - ey * wx)
            hx, hy, hz = 2 * (fy * wz - fz * wy), 2 * (fz * wx - fx * wz), 2 * (fx * wy - fy * wx)
            first, second = gx * nx + gy * ny + gz * nz, hx * nx + hy * ny + hz * nz
            area = size_facing(square + first, nx + gx, ny + gy, nz + gz)
            area += size_facing(square - first, nx - gx, ny - gy, nz - gz)
            area += size_facing(square + second, nx + hx, ny + hy, nz + hz)
            area += size_facing(square - second, nx - hx, ny - hy, nz - hz)
            area /= 8
        gx, gy, gz = ny * wz - nz * wy, nz * wx - nx * wz, nx * wy - ny * wx
        along, beside = gx * ux + gy * uy + gz * uz, gx * vx + gy * vy + gz * vz
        scale = 1 / (3 * square)
        cx, cy, cz = along * vx + beside * ux, along * vy + beside * uy, along * vz + beside * uz
        cx, cy, cz = cx * scale, cy * scale, cz * scale
    cx, cy, cz = cx + (ax + ux + bx) / 4, cy + (ay + uy + by) / 4, cz + (az + uz + bz) / 4
    return nx / 2, ny / 2, nz / 2, area, ox + cx, oy + cy, oz + cz


@inlined
def _ring(points: Array, ids: Array, begin: int, end: int, eps: float) -> Geometry:
    n = end - begin
    ox = oy = oz = math.nan
    if n:
        ox, oy, oz = points[ids[begin], 0], points[ids[begin], 1], points[ids[begin], 2]
    mx, my, mz = mean_from_first(points, ids, begin, end)
    vx, vy, vz, reach = 0.0, 0.0, 0.0, 0.0
    if n >= 3:
        vx, vy, vz, _ = area_vector(points, ids, begin, end)
    size = math.sqrt(vx * vx + vy * vy + vz * vz)
    area, cx, cy, cz = size, 0.0, 0.0, 0.0
    if n > 3:
        area = 0.0
        p = ids[end - 1]
        ax, ay, az = points[p, 0] - ox - mx, points[p, 1] - oy - my, points[p, 2] - oz - mz
        for i in range(begin, end):
            r = ids[i]
            bx, by, bz = points[r, 0] - ox - mx, points[r, 1] - oy - my, points[r, 2] - oz - mz
            reach = max(reach, abs(bx), abs(by), abs(bz))
            tx, ty, tz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            along = (tx * vx + ty * vy + tz * vz) / 2
            area += size_facing(along, tx, ty, tz) / 2
            cx += along * (ax + bx)
            cy += along * (ay + by)
            cz += along * (az + bz)
            ax, ay, az = bx, by, bz
        scale = 1 / (3 * size * size)
        if size <= eps * reach * reach:
            area, scale = size, 0.0
        cx, cy, cz = cx * scale, cy * scale, cz * scale
    return vx, vy, vz, area, ox + (mx + cx), oy + (my + cy), oz + (mz + cz)
