"""What the rings of a patch weigh, and what presses on them, in one pass, compiled.

The same sums as the torch code of `force` and `weights`, which has their derivatives; the tests
hold one against the other. Everything is float64.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.integral.summation import total
from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.measure.ring_parts import area_vector, mean_of_points, size_facing

_EPS: Final = float(np.finfo(np.float64).eps)
_BLOCK: Final = 1 << 10
"""Rows that are summed to one, in their order, whatever the number of threads."""


def taken_rings(offsets: Tensor, ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Some rows of compressed ones, in this order: offsets int64 [m + 1] and ids int64 [..]."""
    new = np.empty(len(rows) + 1, np.int64)
    _count(array(offsets), array(rows), new)
    out = np.empty(int(new[-1]), np.int64)
    over_rows(_take, len(rows), array(offsets), array(ids), array(rows), new, out)
    return torch.from_numpy(new), torch.from_numpy(out)


def corner_weights(points: Tensor, offsets: Tensor, ids: Tensor) -> Tensor:
    """[len(ids)]: the integral over each ring of the shape function of each of its corners.

    Args:
        points: float64 [n_points, 3], on the CPU.
        offsets, ids: the rings, int [n + 1] and int [..], ids in range.
    """
    out = np.empty(len(ids))
    over_rows(_weights, len(offsets) - 1, *_arrays(points, offsets, ids), out)
    return torch.from_numpy(out)


def shares(
    points: Tensor, offsets: Tensor, ids: Tensor, centres: Tensor, cell: Tensor, other: Tensor
) -> Tensor:
    """[n]: the weight of the value of `cell` on each ring, as `cell_share` has it.

    Args:
        points, offsets, ids: as for `corner_weights`.
        centres: float64 [n_cells, 3].
        cell, other: int64 [n].
    """
    out = np.empty(len(cell))
    rings = _arrays(points, offsets, ids)
    over_rows(_shares, len(out), *rings, array(centres), array(cell), array(other), out)
    return torch.from_numpy(out)


def force_on_rings(
    points: Tensor,
    offsets: Tensor,
    ids: Tensor,
    signs: Tensor,
    pressure: Tensor,
    shear: Tensor | None,
    at_points: bool,
) -> Tensor:
    """[c, 6]: the force and moment about the origin of pressures and tractions on rings.

    Args:
        points, offsets, ids: as for `corner_weights`.
        signs: float64 [n], by which normals are multiplied.
        pressure: float64 [n_points, c] or [n, c].
        shear: float64 [n_points, c, 3] or [n, c, 3], or None.
        at_points: whether values are those of points, linear in the fans; else of whole rings.
    """
    c, n = pressure.shape[1], len(signs)
    traction = pressure.new_zeros(0, c, 3) if shear is None else shear
    out = np.zeros((-(-n // _BLOCK), c, 6))
    values = (array(signs), array(pressure), array(traction))
    _blocks(0, len(out), *_arrays(points, offsets, ids), *values, at_points, out)
    return total(torch.from_numpy(out))


def _arrays(points: Tensor, offsets: Tensor, ids: Tensor) -> tuple[Array, Array, Array]:
    return array(points), array(offsets), array(ids)


@kernel
def _count(offsets: Array, rows: Array, out: Array) -> None:
    out[0] = 0
    for i in range(len(rows)):
        out[i + 1] = out[i] + (offsets[rows[i] + 1] - offsets[rows[i]])


@kernel
def _take(
    lo: int, hi: int, offsets: Array, ids: Array, rows: Array, new: Array, out: Array
) -> None:
    for i in range(lo, hi):
        begin, at = offsets[rows[i]], new[i]
        for j in range(new[i + 1] - at):
            out[at + j] = ids[begin + j]


@kernel
def _weights(lo: int, hi: int, points: Array, offsets: Array, ids: Array, out: Array) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        for i in range(begin, end):
            out[i] = 0.0
        if n < 3:
            continue
        vx, vy, vz, reach = area_vector(points, ids, begin, end)
        if n == 3:
            third = math.sqrt(vx * vx + vy * vy + vz * vz) / 3
            out[begin], out[begin + 1], out[begin + 2] = third, third, third
            continue
        if math.sqrt(vx * vx + vy * vy + vz * vz) <= _EPS * reach * reach:
            continue
        mx, my, mz = mean_of_points(points, ids, begin, end)
        whole, last = 0.0, end - 1
        p = ids[last]
        ax, ay, az = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
        for i in range(begin, end):
            p = ids[i]
            bx, by, bz = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            part = size_facing(x * vx + y * vy + z * vz, x, y, z) / 6
            out[last] += part
            out[i] += part
            whole += part
            ax, ay, az, last = bx, by, bz, i
        for i in range(begin, end):
            out[i] += whole / n


@kernel
def _shares(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    centres: Array,
    cell: Array,
    other: Array,
    out: Array,
) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        out[row] = 1.0
        if other[row] < 0:
            continue
        if end - begin < 3:
            out[row] = 0.5
            continue
        a, b = cell[row], other[row]
        mx, my, mz = mean_of_points(points, ids, begin, end)
        vx, vy, vz, _ = area_vector(points, ids, begin, end)
        x, y, z = mx - centres[a, 0], my - centres[a, 1], mz - centres[a, 2]
        near = abs(x * vx + y * vy + z * vz)
        x, y, z = centres[b, 0] - mx, centres[b, 1] - my, centres[b, 2] - mz
        far = abs(x * vx + y * vy + z * vz)
        out[row] = far / (near + far) if near + far > 0 else 0.5


@kernel
def _blocks(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    signs: Array,
    pressure: Array,
    shear: Array,
    at_points: bool,
    out: Array,
) -> None:
    for block in range(lo, hi):
        for c in range(pressure.shape[1]):
            sums, p, t = out[block, c], pressure[:, c], shear[:, c]
            for row in range(block * _BLOCK, min(len(signs), (block + 1) * _BLOCK)):
                begin, end = offsets[row], offsets[row + 1]
                if end - begin >= 3:
                    whole = -1 if at_points else row
                    _press(points, ids, begin, end, p, t, whole, signs[row] / 2, sums)


@kernel
def _press(
    points: Array,
    ids: Array,
    begin: int,
    end: int,
    pressure: Array,
    shear: Array,
    whole: int,
    half: float,
    sums: Array,
) -> None:
    """Add what one ring bears: the row `whole` of the values; where -1 those at its corners.

    The fan is taken piece by piece, between the corners a and b and what all pieces share, m.
    """
    vx, vy, vz, reach = area_vector(points, ids, begin, end)
    usable = not math.sqrt(vx * vx + vy * vy + vz * vz) <= _EPS * reach * reach
    # A triangle is one piece, with its first corner for m; else m is the mean of all corners.
    first, n, a = begin, end - begin, ids[end - 1]
    if n == 3:
        first, n, a = begin + 2, 1, ids[begin + 1]
    mx, my, mz = mean_of_points(points, ids, begin, begin + n)
    sheared = usable and len(shear) > 0
    if whole >= 0:
        n = 1
    pm, fx, fy, fz = 0.0, 0.0, 0.0, 0.0
    for i in range(begin, begin + n):
        p = ids[i] if whole < 0 else whole
        pm += pressure[p] / n
        if sheared:
            fx, fy, fz = fx + shear[p, 0] / n, fy + shear[p, 1] / n, fz + shear[p, 2] / n
    for i in range(first, end):
        b = ids[i]
        ax, ay, az = points[a, 0], points[a, 1], points[a, 2]
        bx, by, bz = points[b, 0], points[b, 1], points[b, 2]
        ux, uy, uz = ax - mx, ay - my, az - mz
        wx, wy, wz = bx - mx, by - my, bz - mz
        tx, ty, tz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        sx, sy, sz = ax + bx + mx, ay + by + my, az + bz + mz
        if sheared:
            size = size_facing(tx * vx + ty * vy + tz * vz, tx, ty, tz) / 6
            if whole >= 0:
                _pull(sums, 3 * size, fx, fy, fz, sx / 3, sy / 3, sz / 3)
            else:
                # What stands at a corner acts where its shape function has its mean.
                kx, ky, kz = sx / 4, sy / 4, sz / 4
                gx, gy, gz = shear[a, 0], shear[a, 1], shear[a, 2]
                hx, hy, hz = shear[b, 0], shear[b, 1], shear[b, 2]
                _pull(sums, size, fx, fy, fz, kx + mx / 4, ky + my / 4, kz + mz / 4)
                _pull(sums, size, gx, gy, gz, kx + ax / 4, ky + ay / 4, kz + az / 4)
                _pull(sums, size, hx, hy, hz, kx + bx / 4, ky + by / 4, kz + bz / 4)
        pa, pb = (pressure[a], pressure[b]) if whole < 0 else (pm, pm)
        summed = pa + pb + pm
        tx, ty, tz = tx * half, ty * half, tz * half
        x = (summed * sx + pa * ax + pb * bx + pm * mx) / 12
        y = (summed * sy + pa * ay + pb * by + pm * my) / 12
        z = (summed * sz + pa * az + pb * bz + pm * mz) / 12
        sums[0] += summed * tx / 3
        sums[1] += summed * ty / 3
        sums[2] += summed * tz / 3
        sums[3] += y * tz - z * ty
        sums[4] += z * tx - x * tz
        sums[5] += x * ty - y * tx
        a = b


@kernel
def _pull(
    sums: Array, size: float, fx: float, fy: float, fz: float, x: float, y: float, z: float
) -> None:
    """Add a traction on an area that acts at a place, and its moment."""
    fx, fy, fz = fx * size, fy * size, fz * size
    sums[0] += fx
    sums[1] += fy
    sums[2] += fz
    sums[3] += y * fz - z * fy
    sums[4] += z * fx - x * fz
    sums[5] += x * fy - y * fx
