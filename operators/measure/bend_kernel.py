"""Mean curvature at points in one pass over the rings of a surface, compiled.

The same sums as the torch code of `curvature`, which has their derivatives; the tests hold one
against the other. Sums are float64, in the order of the rings, on one thread.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.measure.rings import RingTable
from meshkit.operators.measure.surface_kernel import rings_of, unit_normals


def mean_bends(points: Tensor, rings: RingTable, areas: Tensor, known: Tensor) -> Tensor:
    """float64 [n_points]: half the derivative of the area along the normal, over the dual areas
    [n_points]; NaN where there is none, and where not `known`.
    """
    growth = np.zeros((len(points), 3))
    longest = int(np.diff(array(rings.offsets)).max(initial=0))
    _area_gradients(*rings_of(points, rings), torch.finfo(points.dtype).eps, longest, growth)
    out = np.empty(len(points))
    normals = array(unit_normals(points, rings))
    over_rows(_bends, len(out), growth, normals, array(areas.double()), array(known), out)
    return torch.from_numpy(out)


@kernel
def _area_gradients(
    points: Array, offsets: Array, ids: Array, eps: float, longest: int, out: Array
) -> None:
    spokes = np.empty((longest + 1, 3))
    own = np.empty((longest, 3))
    reach = np.empty(3)
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        if n == 3:
            p, q, r = ids[begin], ids[begin + 1], ids[begin + 2]
            x, y, z = points[p, 0], points[p, 1], points[p, 2]
            ax, ay, az = points[q, 0] - x, points[q, 1] - y, points[q, 2] - z
            bx, by, bz = points[r, 0] - x, points[r, 1] - y, points[r, 2] - z
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            far = max(abs(ax), abs(ay), abs(az), abs(bx), abs(by), abs(bz))
            size = math.sqrt(x * x + y * y + z * z)
            half = 0.0 if size <= 2 * eps * far * far else 0.5 / size
            nx, ny, nz = x * half, y * half, z * half
            _add(out, p, nx, ny, nz, bx - ax, by - ay, bz - az)
            _add(out, q, nx, ny, nz, -bx, -by, -bz)
            _add(out, r, nx, ny, nz, ax, ay, az)
            continue
        for a in range(3):
            first, mean = points[ids[begin], a], 0.0
            for i in range(n):
                spokes[i, a] = points[ids[begin + i], a] - first
                reach[a] = max(reach[a] if i else 0.0, abs(spokes[i, a]))
                mean += spokes[i, a]
            for i in range(n):
                spokes[i, a] -= mean / n
                own[i, a] = 0.0
            spokes[n, a] = spokes[0, a]
        least = eps * max(reach[0], reach[1], reach[2]) ** 2
        vx, vy, vz = 0.0, 0.0, 0.0
        for i in range(n):
            ax, ay, az = spokes[i, 0], spokes[i, 1], spokes[i, 2]
            bx, by, bz = spokes[i + 1, 0], spokes[i + 1, 1], spokes[i + 1, 2]
            vx += ay * bz - az * by
            vy += az * bx - ax * bz
            vz += ax * by - ay * bx
        mx, my, mz = 0.0, 0.0, 0.0
        for i in range(n):
            ax, ay, az = spokes[i, 0], spokes[i, 1], spokes[i, 2]
            bx, by, bz = spokes[i + 1, 0], spokes[i + 1, 1], spokes[i + 1, 2]
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            size = math.sqrt(x * x + y * y + z * z)
            half = 0.0 if size <= 2 * least else 0.5 / size
            if x * vx + y * vy + z * vz < 0:
                half = -half
            x, y, z = x * half, y * half, z * half
            j = (i + 1) % n
            own[i, 0] -= y * bz - z * by
            own[i, 1] -= z * bx - x * bz
            own[i, 2] -= x * by - y * bx
            own[j, 0] += y * az - z * ay
            own[j, 1] += z * ax - x * az
            own[j, 2] += x * ay - y * ax
            mx += y * (bz - az) - z * (by - ay)
            my += z * (bx - ax) - x * (bz - az)
            mz += x * (by - ay) - y * (bx - ax)
        for i in range(n):
            at = ids[begin + i]
            out[at, 0] += own[i, 0] + mx / n
            out[at, 1] += own[i, 1] + my / n
            out[at, 2] += own[i, 2] + mz / n


@kernel
def _add(
    out: Array, at: int, nx: float, ny: float, nz: float, ax: float, ay: float, az: float
) -> None:
    """The cross product of n and a."""
    out[at, 0] += ny * az - nz * ay
    out[at, 1] += nz * ax - nx * az
    out[at, 2] += nx * ay - ny * ax


@kernel
def _bends(
    lo: int, hi: int, growth: Array, normals: Array, areas: Array, known: Array, out: Array
) -> None:
    for row in range(lo, hi):
        along = 0.0
        for a in range(3):
            along += growth[row, a] * normals[row, a]
        out[row] = along / (2 * areas[row]) if known[row] and areas[row] != 0.0 else math.nan
