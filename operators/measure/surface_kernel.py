"""Angles and normals of surfaces in one pass over their rings, compiled.

The same sums as the torch code of `corner_angles`, `point_normals` and `angle_defects`, which has
their derivatives; the tests hold one against the other. Sums are float64, whatever the dtype of
the points. What is summed up at points is so in the order of the rings, on one thread.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.measure.ring_parts import area_vector
from meshkit.operators.measure.rings import RingTable

ROUNDING: Final = 16.0
"""Sums of unit normals times angles cancel where they are less than this many eps."""


class Rings(NamedTuple):
    """Points, and rings of them as compressed rows."""

    points: Array  # float64 [n_points, 3]
    offsets: Array
    ids: Array


def rings_of(points: Tensor, rings: RingTable) -> Rings:
    """What kernels take."""
    return Rings(array(points.double()), array(rings.offsets), array(rings.points))


def ring_angles(points: Tensor, rings: RingTable, out: Tensor) -> None:
    """Put the angle at each corner of rings into out [len(connectivity)], where its place is.

    Angles at one place (of the triangles of a strip) add up.
    """
    if rings.places is None:
        over_rows(
            _angles, len(rings), *rings_of(points, rings), array(rings.points), False, array(out)
        )
    else:
        places = array(rings.places)
        _angles(0, len(rings), *rings_of(points, rings), places, True, array(out))


def angle_sums(points: Tensor, rings: RingTable) -> Tensor:
    """float64 [n_points]: the angles around; what a ring's lack of (n - 2) pi is shared."""
    out = np.zeros(len(points))
    _angle_sums(*rings_of(points, rings), out)
    return torch.from_numpy(out)


def unit_normals(points: Tensor, rings: RingTable) -> Tensor:
    """float64 [n_points, 3]: the direction of the sum of angle times unit normal over the rings
    around; NaN where that is nothing but rounding.
    """
    out, eps = np.zeros((len(points), 3)), torch.finfo(points.dtype).eps
    _normal_sums(*rings_of(points, rings), eps, out)
    over_rows(_unit, len(out), ROUNDING * eps, out)
    return torch.from_numpy(out)


_TAN_1, _TAN_3 = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


@kernel
def _angle(across: float, along: float) -> float:
    """The angle whose sine and cosine are to each other as these, the sine not negative.

    As atan2, in a third of its time: the ratio is turned to within pi / 8 of zero, where the best
    polynomial of degree 11 in its square is off by 1.3e-18. NaN where both are zero.
    """
    size = abs(along)
    if across > size * _TAN_3:
        ratio, turned = -size / across, math.pi / 2
    elif across > size * _TAN_1:
        ratio, turned = (across - size) / (across + size), math.pi / 4
    else:
        ratio, turned = across / size, 0.0
    z = ratio * ratio
    p = -0.017805397205419446
    p = p * z + 0.03796525745386593
    p = p * z - 0.05035102456601552
    p = p * z + 0.05846878297330872
    p = p * z - 0.06662951813629191
    p = p * z + 0.07692045330902225
    p = p * z - 0.09090896809064027
    p = p * z + 0.11111110744919658
    p = p * z - 0.14285714279250245
    p = p * z + 0.19999999999940893
    p = p * z - 0.3333333333333312
    angle: float = turned + (ratio + ratio * (z * p))
    return math.pi - angle if along < 0 else angle


@kernel
def _corner(
    points: Array,
    before: int,
    at: int,
    after: int,
    vx: float,
    vy: float,
    vz: float,
) -> float:
    """The angle of a ring at a corner, from 0 to 2 pi, about its area vector."""
    x, y, z = points[at, 0], points[at, 1], points[at, 2]
    ax, ay, az = points[after, 0] - x, points[after, 1] - y, points[after, 2] - z
    bx, by, bz = points[before, 0] - x, points[before, 1] - y, points[before, 2] - z
    tx, ty, tz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    angle = _angle(math.sqrt(tx * tx + ty * ty + tz * tz), ax * bx + ay * by + az * bz)
    return 2 * math.pi - angle if vx * tx + vy * ty + vz * tz < 0 else angle


@kernel
def _between(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> float:
    """The angle between two vectors."""
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return _angle(math.sqrt(x * x + y * y + z * z), ax * bx + ay * by + az * bz)


@kernel
def _of_triangle(points: Array, p: int, q: int, r: int) -> tuple[float, float, float]:
    """The angles at the corners of a triangle."""
    x, y, z = points[p, 0], points[p, 1], points[p, 2]
    ax, ay, az = points[q, 0] - x, points[q, 1] - y, points[q, 2] - z
    bx, by, bz = points[r, 0] - x, points[r, 1] - y, points[r, 2] - z
    # Not b - a: that would be of the rounding of both.
    cx = points[r, 0] - points[q, 0]
    cy = points[r, 1] - points[q, 1]
    cz = points[r, 2] - points[q, 2]
    first, second = _between(ax, ay, az, bx, by, bz), _between(cx, cy, cz, -ax, -ay, -az)
    return first, second, _between(bx, by, bz, cx, cy, cz)


@kernel
def _angles(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    places: Array,
    placed: bool,
    out: Array,
) -> None:
    for row in range(lo, hi):
        begin, end = offsets[row], offsets[row + 1]
        if end - begin == 3 and not placed:
            a, b, c = _of_triangle(points, ids[begin], ids[begin + 1], ids[begin + 2])
            out[begin], out[begin + 1], out[begin + 2] = a, b, c
            continue
        vx, vy, vz, _ = area_vector(points, ids, begin, end)
        if end - begin == 3:
            vx, vy, vz = 0.0, 0.0, 0.0
        before = ids[end - 1]
        for i in range(begin, end):
            after = ids[i + 1] if i + 1 < end else ids[begin]
            angle = _corner(points, before, ids[i], after, vx, vy, vz)
            if placed:
                out[places[i]] += angle
            else:
                out[i] = angle
            before = ids[i]


@kernel
def _angle_sums(points: Array, offsets: Array, ids: Array, out: Array) -> None:
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        if n == 3:
            p, q, r = ids[begin], ids[begin + 1], ids[begin + 2]
            a, b, c = _of_triangle(points, p, q, r)
            out[p] += a
            out[q] += b
            out[r] += c
            continue
        vx, vy, vz, _ = area_vector(points, ids, begin, end)
        missing = (n - 2) * math.pi
        before = ids[end - 1]
        for i in range(begin, end):
            after = ids[i + 1] if i + 1 < end else ids[begin]
            angle = _corner(points, before, ids[i], after, vx, vy, vz)
            out[ids[i]] += angle
            missing -= angle
            before = ids[i]
        for i in range(begin, end):
            out[ids[i]] += missing / n


@kernel
def _normal_sums(points: Array, offsets: Array, ids: Array, eps: float, out: Array) -> None:
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        vx, vy, vz, reach = area_vector(points, ids, begin, end)
        size = math.sqrt(vx * vx + vy * vy + vz * vz)
        if size <= eps * reach * reach:
            continue
        nx, ny, nz = vx / size, vy / size, vz / size
        if end - begin == 3:
            p, q, r = ids[begin], ids[begin + 1], ids[begin + 2]
            a, b, c = _of_triangle(points, p, q, r)
            _add(out, p, a, nx, ny, nz)
            _add(out, q, b, nx, ny, nz)
            _add(out, r, c, nx, ny, nz)
            continue
        before = ids[end - 1]
        for i in range(begin, end):
            after = ids[i + 1] if i + 1 < end else ids[begin]
            angle = _corner(points, before, ids[i], after, vx, vy, vz)
            _add(out, ids[i], angle, nx, ny, nz)
            before = ids[i]


@kernel
def _add(out: Array, at: int, angle: float, nx: float, ny: float, nz: float) -> None:
    if angle != angle:
        angle = 0.0  # at an edge without length
    out[at, 0] += angle * nx
    out[at, 1] += angle * ny
    out[at, 2] += angle * nz


@kernel
def _unit(lo: int, hi: int, least: float, out: Array) -> None:
    for row in range(lo, hi):
        x, y, z = out[row, 0], out[row, 1], out[row, 2]
        size = math.sqrt(x * x + y * y + z * z)
        if size <= least:
            size = math.nan
        out[row, 0], out[row, 1], out[row, 2] = x / size, y / size, z / size
