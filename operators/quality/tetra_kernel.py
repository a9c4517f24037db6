"""The shape of tetrahedra, compiled: as `solid_kernel`, through what only tets have."""

from __future__ import annotations

import math
import sys
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.quality.metrics import COLUMNS

_FLAT: Final = 8 * sys.float_info.epsilon
"""Faces closer than this lie on each other: the angle between them is 0, and never 2 pi."""


def tetra_shapes(
    points: Tensor, table: Tensor, surfaces: bool, angles: bool, skewness: bool
) -> Tensor:
    """float64 [6, m]: the `COLUMNS` of tets, but for the factors of the regular one.

    Args:
        points: [n_points, 3], on the CPU.
        table: int [m, 4].
        surfaces, angles, skewness: whether aspect ratios, angles and skewness are wanted; else
            their columns mean nothing.
    """
    out = np.empty((len(COLUMNS), len(table)))
    at, ids = array(points.double()), array(table)
    over_rows(_shapes, len(table), at, ids, surfaces, angles, skewness, out)
    return torch.from_numpy(out)


@kernel
def _shapes(
    lo: int,
    hi: int,
    points: Array,
    table: Array,
    surfaces: bool,
    angles: bool,
    skewness: bool,
    out: Array,
) -> None:
    for row in range(lo, hi):
        p, q, r, s = table[row, 0], table[row, 1], table[row, 2], table[row, 3]
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        ux, uy, uz = points[q, 0], points[q, 1], points[q, 2]
        vx, vy, vz = points[r, 0], points[r, 1], points[r, 2]
        wx, wy, wz = points[s, 0], points[s, 1], points[s, 2]
        # Edges from the first point to the others, and between these.
        ax, ay, az = ux - x, uy - y, uz - z
        bx, by, bz = vx - x, vy - y, vz - z
        cx, cy, cz = wx - x, wy - y, wz - z
        dx, dy, dz = vx - ux, vy - uy, vz - uz
        ex, ey, ez = wx - ux, wy - uy, wz - uz
        fx, fy, fz = wx - vx, wy - vy, wz - vz
        a = math.sqrt(ax * ax + ay * ay + az * az)
        b = math.sqrt(bx * bx + by * by + bz * bz)
        c = math.sqrt(cx * cx + cy * cy + cz * cz)
        d = math.sqrt(dx * dx + dy * dy + dz * dz)
        e = math.sqrt(ex * ex + ey * ey + ez * ez)
        f = math.sqrt(fx * fx + fy * fy + fz * fz)
        longest, shortest = max(a, b, c, d, e, f), min(a, b, c, d, e, f)
        most = max(a * b * c, a * d * e, b * d * f, c * e * f)
        if a + b + c + d + e + f != a + b + c + d + e + f:
            longest = shortest = most = math.nan
        # Twice the area vectors, outward where the volume is positive.
        jx, jy, jz = by * az - bz * ay, bz * ax - bx * az, bx * ay - by * ax  # across from s
        kx, ky, kz = ay * cz - az * cy, az * cx - ax * cz, ax * cy - ay * cx  # from r
        lx, ly, lz = cy * bz - cz * by, cz * bx - cx * bz, cx * by - cy * bx  # from q
        mx, my, mz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex  # from p
        triple = 0.0 - (jx * cx + jy * cy + jz * cz)  # never -0.0
        out[1, row] = longest / shortest
        out[2, row] = triple / most
        if surfaces:
            surface = math.sqrt(jx * jx + jy * jy + jz * jz)
            surface += math.sqrt(kx * kx + ky * ky + kz * kz)
            surface += math.sqrt(lx * lx + ly * ly + lz * lz)
            surface += math.sqrt(mx * mx + my * my + mz * mz)
            out[0, row] = 3 * longest * surface / triple
        if angles:
            first = angle_inside(a * triple, jx * kx + jy * ky + jz * kz)
            second = angle_inside(b * triple, jx * lx + jy * ly + jz * lz)
            third = angle_inside(c * triple, kx * lx + ky * ly + kz * lz)
            fourth = angle_inside(d * triple, jx * mx + jy * my + jz * mz)
            fifth = angle_inside(e * triple, kx * mx + ky * my + kz * mz)
            sixth = angle_inside(f * triple, lx * mx + ly * my + lz * mz)
            low = min(first, second, third, fourth, fifth, sixth)
            high = max(first, second, third, fourth, fifth, sixth)
            total = first + second + third + fourth + fifth + sixth
            if total != total:
                low = high = total
            out[3, row] = low * 180 / math.pi
            out[4, row] = high * 180 / math.pi
        if skewness:
            worst = 0.0
            worst = max(worst, _skewness(ax, ay, az, a, bx, by, bz, b, dx, dy, dz, d))
            worst = max(worst, _skewness(ax, ay, az, a, cx, cy, cz, c, ex, ey, ez, e))
            worst = max(worst, _skewness(bx, by, bz, b, cx, cy, cz, c, fx, fy, fz, f))
            worst = max(worst, _skewness(dx, dy, dz, d, ex, ey, ez, e, fx, fy, fz, f))
            out[5, row] = math.nan if shortest == 0.0 or shortest != shortest else worst


@kernel
def angle_inside(sine: float, cosine: float) -> float:
    """The angle between two faces, from their normals; NaN where one has no area."""
    if sine == 0.0 and cosine == 0.0:
        return math.nan
    if cosine < 0 and abs(sine) <= -_FLAT * cosine:
        sine = abs(sine)
    return math.pi - math.atan2(sine, cosine)


@kernel
def _skewness(
    ax: float,
    ay: float,
    az: float,
    a: float,
    bx: float,
    by: float,
    bz: float,
    b: float,
    cx: float,
    cy: float,
    cz: float,
    c: float,
) -> float:
    """How far the angles of a triangle with the edges a, b and c = b - a are from 60 degrees."""
    first = _between(ax, ay, az, bx, by, bz)
    second = _between(-ax, -ay, -az, cx, cy, cz)
    third = _between(bx, by, bz, cx, cy, cz)
    low, high = min(first, second, third), max(first, second, third)
    even = math.pi / 3
    return max((high - even) / (math.pi - even), (even - low) / even)


@kernel
def _between(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> float:
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return math.atan2(math.sqrt(x * x + y * y + z * z), ax * bx + ay * by + az * bz)
