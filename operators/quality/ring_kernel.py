"""The shape of surface cells of one size in one pass over their rings, compiled.

The same measures as the torch code of `cell_shapes`, which has their derivatives; the tests hold
one against the other.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.quality.metrics import COLUMNS


def ring_shapes(points: Tensor, table: Tensor, sides: bool, angles: bool, sines: bool) -> Tensor:
    """float64 [6, m]: the `COLUMNS` of rings, but for the factors of their regular shapes.

    Args:
        points: [n_points, 3], on the CPU.
        table: int [m, k], the corners, three or more.
        sides, angles, sines: whether ratios of lengths, angles and skewness, and scaled Jacobians
            are wanted; else their columns mean nothing.
    """
    out = np.empty((len(COLUMNS), len(table)))
    at, ids = array(points.double()), array(table)
    over_rows(_shapes, len(table), at, ids, sides, angles, sines, out)
    return torch.from_numpy(out)


@kernel
def _shapes(
    lo: int,
    hi: int,
    points: Array,
    table: Array,
    sides: bool,
    angles: bool,
    sines: bool,
    out: Array,
) -> None:
    k = table.shape[1]
    x = np.empty((k + 2, 3))  # the first two once more at the end
    size = np.empty(k + 1)
    even = math.pi * (1 - 2 / k)
    for row in range(lo, hi):
        p = table[row, 0]
        for a in range(3):
            for i in range(k):
                x[i, a] = points[table[row, i], a] - points[p, a]
            x[k, a], x[k + 1, a] = x[0, a], x[1, a]
        vx, vy, vz = 0.0, 0.0, 0.0
        for i in range(1, k - 1):
            vx += x[i, 1] * x[i + 1, 2] - x[i, 2] * x[i + 1, 1]
            vy += x[i, 2] * x[i + 1, 0] - x[i, 0] * x[i + 1, 2]
            vz += x[i, 0] * x[i + 1, 1] - x[i, 1] * x[i + 1, 0]
        if k == 4:
            cx, cy, cz = x[3, 0] - x[1, 0], x[3, 1] - x[1, 1], x[3, 2] - x[1, 2]
            vx = x[2, 1] * cz - x[2, 2] * cy
            vy = x[2, 2] * cx - x[2, 0] * cz
            vz = x[2, 0] * cy - x[2, 1] * cx
        outline, longest, shortest = 0.0, 0.0, math.inf
        for i in range(k):
            ex, ey, ez = x[i + 1, 0] - x[i, 0], x[i + 1, 1] - x[i, 1], x[i + 1, 2] - x[i, 2]
            size[i] = math.sqrt(ex * ex + ey * ey + ez * ez)
            outline += size[i]
            longest, shortest = max(longest, size[i]), min(shortest, size[i])
        size[k] = size[0]
        if outline != outline:
            longest = shortest = math.nan
        if sides:
            area = math.sqrt(vx * vx + vy * vy + vz * vz) / 2 if k == 3 else _fan(x, k, vx, vy, vz)
            out[0, row] = longest * outline / area
            out[1, row] = longest / shortest
        if not (angles or sines):
            continue
        low, high, least = math.inf, -math.inf, math.inf
        if shortest == 0.0:
            low = high = least = math.nan
        for i in range(k if low == low else 0):
            ux, uy, uz = x[i, 0] - x[i + 1, 0], x[i, 1] - x[i + 1, 1], x[i, 2] - x[i + 1, 2]
            wx, wy, wz = (
                x[i + 2, 0] - x[i + 1, 0],
                x[i + 2, 1] - x[i + 1, 1],
                x[i + 2, 2] - x[i + 1, 2],
            )
            tx, ty, tz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
            across = math.sqrt(tx * tx + ty * ty + tz * tz)
            facing = 1.0 if k == 3 else tx * vx + ty * vy + tz * vz
            if sines:
                scaled = across / (size[i] * size[i + 1])
                if facing <= 0:
                    scaled = 0.0 * scaled if facing == 0 else -scaled
                least = scaled if scaled < least or scaled != scaled else least
                if scaled != scaled:
                    break
            if angles:
                along = ux * wx + uy * wy + uz * wz
                opposite = size[(i + 2) % 3]
                if k == 3 and shortest < opposite < longest:
                    continue  # neither the least nor the greatest
                angle = math.nan if across == 0.0 and along == 0.0 else math.atan2(across, along)
                if facing < 0:
                    angle = 2 * math.pi - angle
                low = angle if angle < low or angle != angle else low
                high = angle if angle > high or angle != angle else high
                if angle != angle:
                    break
        if angles and low != low:
            high = least = low
        out[2, row] = least
        out[3, row] = low * 180 / math.pi
        out[4, row] = high * 180 / math.pi
        out[5, row] = max((high - even) / (math.pi - even), (even - low) / even)


@kernel
def _fan(x: Array, k: int, vx: float, vy: float, vz: float) -> float:
    """The area of the fan of a ring [k + 1 or more, 3] from its mean."""
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(k):
        mx, my, mz = mx + x[i, 0] / k, my + x[i, 1] / k, mz + x[i, 2] / k
    area = 0.0
    for i in range(k):
        ax, ay, az = x[i, 0] - mx, x[i, 1] - my, x[i, 2] - mz
        bx, by, bz = x[i + 1, 0] - mx, x[i + 1, 1] - my, x[i + 1, 2] - mz
        cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        part = math.sqrt(cx * cx + cy * cy + cz * cz) / 2
        area += -part if cx * vx + cy * vy + cz * vz < 0 else part
    return area
