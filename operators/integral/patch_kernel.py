"""What passes through the rings of a patch, and what presses on them, in one pass, compiled.

The same sums as the torch code of `flux`, `force` and `weights`, which has their derivatives; the
tests hold one against the other. Everything is float64.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.integral.summation import total
from meshkit.operators.kernels import Array, array, kernel, over_rows

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


def flux_of_rings(points: Tensor, vectors: Tensor, offsets: Tensor, ids: Tensor) -> Tensor:
    """[n, c]: the flux through each ring of vectors [n_points, c, 3] that are linear in its fan.

    Args:
        points: float64 [n_points, 3], on the CPU.
        vectors: float64 [n_points, c, 3].
        offsets, ids: the rings, int [n + 1] and int [..], ids in range.
    """
    out = np.empty((len(offsets) - 1, vectors.shape[1]))
    over_rows(_fluxes, len(out), *_arrays(points, offsets, ids), array(vectors), out)
    return torch.from_numpy(out)


def corner_weights(points: Tensor, offsets: Tensor, ids: Tensor) -> Tensor:
    """[len(ids)]: the integral over each ring of the shape function of each of its corners.

    Args as for `flux_of_rings`.
    """
    out = np.empty(len(ids))
    over_rows(_weights, len(offsets) - 1, *_arrays(points, offsets, ids), out)
    return torch.from_numpy(out)


def shares(
    points: Tensor, offsets: Tensor, ids: Tensor, centres: Tensor, cell: Tensor, other: Tensor
) -> Tensor:
    """[n]: the weight of the value of `cell` on each ring, as `cell_share` has it.

    Args:
        points, offsets, ids: as for `flux_of_rings`.
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
        points, offsets, ids: as for `flux_of_rings`.
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
def _mean(points: Array, ids: Array, begin: int, end: int) -> tuple[float, float, float]:
    """The vertex mean of a ring."""
    p, n = ids[begin], end - begin
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(begin + 1, end):
        p = ids[i]
        mx, my, mz = mx + points[p, 0] - ox, my + points[p, 1] - oy, mz + points[p, 2] - oz
    return ox + mx / n, oy + my / n, oz + mz / n


@kernel
def _area_vector(
    points: Array, ids: Array, begin: int, end: int
) -> tuple[float, float, float, bool]:
    """The area vector of a ring of three or more, and whether it is more than rounding."""
    p, q = ids[begin], ids[begin + 1]
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    bx, by, bz = points[q, 0] - ox, points[q, 1] - oy, points[q, 2] - oz
    vx, vy, vz, reach = 0.0, 0.0, 0.0, max(abs(bx), abs(by), abs(bz))
    for i in range(begin + 2, end):
        ax, ay, az = bx, by, bz
        p = ids[i]
        bx, by, bz = points[p, 0] - ox, points[p, 1] - oy, points[p, 2] - oz
        vx, vy, vz = vx + ay * bz - az * by, vy + az * bx - ax * bz, vz + ax * by - ay * bx
        reach = max(reach, abs(bx), abs(by), abs(bz))
    usable = not math.sqrt(vx * vx + vy * vy + vz * vz) <= 2 * _EPS * reach * reach
    return vx / 2, vy / 2, vz / 2, usable


@kernel
def _fluxes(
    lo: int, hi: int, points: Array, offsets: Array, ids: Array, vectors: Array, out: Array
) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        for c in range(vectors.shape[1]):
            if n < 3:
                out[row, c] = 0.0
                continue
            mx, my, mz = _mean(points, ids, begin, end)
            mu, mv, mw = 0.0, 0.0, 0.0
            for i in range(begin, end):
                p = ids[i]
                mu, mv, mw = mu + vectors[p, c, 0], mv + vectors[p, c, 1], mw + vectors[p, c, 2]
            mu, mv, mw = mu / n, mv / n, mw / n
            p = ids[end - 1]
            ax, ay, az = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
            au, av, aw = vectors[p, c, 0], vectors[p, c, 1], vectors[p, c, 2]
            through = 0.0
            for i in range(begin, end):
                p = ids[i]
                bx, by, bz = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
                bu, bv, bw = vectors[p, c, 0], vectors[p, c, 1], vectors[p, c, 2]
                through += (ay * bz - az * by) * (au + bu + mu)
                through += (az * bx - ax * bz) * (av + bv + mv)
                through += (ax * by - ay * bx) * (aw + bw + mw)
                ax, ay, az, au, av, aw = bx, by, bz, bu, bv, bw
            out[row, c] = through / 6


@kernel
def _weights(lo: int, hi: int, points: Array, offsets: Array, ids: Array, out: Array) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        for i in range(begin, end):
            out[i] = 0.0
        if n < 3:
            continue
        vx, vy, vz, usable = _area_vector(points, ids, begin, end)
        if n == 3:
            third = math.sqrt(vx * vx + vy * vy + vz * vz) / 3
            out[begin], out[begin + 1], out[begin + 2] = third, third, third
            continue
        if not usable:
            continue
        mx, my, mz = _mean(points, ids, begin, end)
        whole, last = 0.0, end - 1
        p = ids[last]
        ax, ay, az = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
        for i in range(begin, end):
            p = ids[i]
            bx, by, bz = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            part = math.sqrt(x * x + y * y + z * z) / 6
            if x * vx + y * vy + z * vz < 0:
                part = -part
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
        mx, my, mz = _mean(points, ids, begin, end)
        vx, vy, vz, _ = _area_vector(points, ids, begin, end)
        x, y, z = mx - centres[a, 0], my - centres[a, 1], mz - centres[a, 2]
        near = abs(x * vx + y * vy + z * vz)
        x, y, z = centres[b, 0] - mx, centres[b, 1] - my, centres[b, 2] - mz
        far = abs(x * vx + y * vy + z * vz)
        out[row] = far / (near + far) if near + far > 0 else 0.5


@kernel
def _add_traction(
    out: Array,
    block: int,
    c: int,
    fx: float,
    fy: float,
    fz: float,
    x: float,
    y: float,
    z: float,
) -> None:
    out[block, c, 0] += fx
    out[block, c, 1] += fy
    out[block, c, 2] += fz
    out[block, c, 3] += y * fz - z * fy
    out[block, c, 4] += z * fx - x * fz
    out[block, c, 5] += x * fy - y * fx


@kernel
def _press(
    points: Array,
    ids: Array,
    begin: int,
    end: int,
    row: int,
    c: int,
    half: float,
    pressure: Array,
    shear: Array,
    at_points: bool,
    out: Array,
    block: int,
) -> None:
    """Add what one ring bears: the fan piece by piece, between a, b and its mean m."""
    n, sheared = end - begin, len(shear) > 0
    vx, vy, vz, usable = _area_vector(points, ids, begin, end)
    if n == 3:
        # A triangle is one piece, with its first corner for m.
        p, first, a = ids[begin], begin + 2, ids[begin + 1]
        mx, my, mz = points[p, 0], points[p, 1], points[p, 2]
    else:
        first, a = begin, ids[end - 1]
        mx, my, mz = _mean(points, ids, begin, end)
    pm, fx, fy, fz, count = 0.0, 0.0, 0.0, 0.0, 1 if n == 3 else n
    if at_points:
        for i in range(begin, begin + count):
            pm += pressure[ids[i], c] / count
        if sheared:
            for i in range(begin, begin + count):
                p = ids[i]
                fx += shear[p, c, 0] / count
                fy += shear[p, c, 1] / count
                fz += shear[p, c, 2] / count
    else:
        pm = pressure[row, c]
        if sheared:
            fx, fy, fz = shear[row, c, 0], shear[row, c, 1], shear[row, c, 2]
    for i in range(first, end):
        b = ids[i]
        ax, ay, az = points[a, 0], points[a, 1], points[a, 2]
        bx, by, bz = points[b, 0], points[b, 1], points[b, 2]
        ux, uy, uz = ax - mx, ay - my, az - mz
        wx, wy, wz = bx - mx, by - my, bz - mz
        tx, ty, tz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        sx, sy, sz = ax + bx + mx, ay + by + my, az + bz + mz
        if sheared and usable:
            size = math.sqrt(tx * tx + ty * ty + tz * tz) / 6
            size = -size if tx * vx + ty * vy + tz * vz < 0 else size
            if at_points:
                # What stands at a corner acts where its shape function has its mean.
                gx, gy, gz = fx * size, fy * size, fz * size
                x, y, z = (sx + mx) / 4, (sy + my) / 4, (sz + mz) / 4
                _add_traction(out, block, c, gx, gy, gz, x, y, z)
                gx, gy, gz = shear[a, c, 0] * size, shear[a, c, 1] * size, shear[a, c, 2] * size
                x, y, z = (sx + ax) / 4, (sy + ay) / 4, (sz + az) / 4
                _add_traction(out, block, c, gx, gy, gz, x, y, z)
                gx, gy, gz = shear[b, c, 0] * size, shear[b, c, 1] * size, shear[b, c, 2] * size
                x, y, z = (sx + bx) / 4, (sy + by) / 4, (sz + bz) / 4
                _add_traction(out, block, c, gx, gy, gz, x, y, z)
            else:
                gx, gy, gz = 3 * fx * size, 3 * fy * size, 3 * fz * size
                _add_traction(out, block, c, gx, gy, gz, sx / 3, sy / 3, sz / 3)
        pa, pb = pm, pm
        if at_points:
            pa, pb = pressure[a, c], pressure[b, c]
        whole = pa + pb + pm
        tx, ty, tz = tx * half, ty * half, tz * half
        x = (whole * sx + pa * ax + pb * bx + pm * mx) / 12
        y = (whole * sy + pa * ay + pb * by + pm * my) / 12
        z = (whole * sz + pa * az + pb * bz + pm * mz) / 12
        out[block, c, 0] += whole * tx / 3
        out[block, c, 1] += whole * ty / 3
        out[block, c, 2] += whole * tz / 3
        out[block, c, 3] += y * tz - z * ty
        out[block, c, 4] += z * tx - x * tz
        out[block, c, 5] += x * ty - y * tx
        a = b


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
        for row in range(block * _BLOCK, min(len(signs), (block + 1) * _BLOCK)):
            if offsets[row + 1] - offsets[row] < 3:
                continue
            for c in range(pressure.shape[1]):
                _press(
                    points,
                    ids,
                    offsets[row],
                    offsets[row + 1],
                    row,
                    c,
                    signs[row] / 2,
                    pressure,
                    shear,
                    at_points,
                    out,
                    block,
                )
