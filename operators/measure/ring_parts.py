"""What kernels take of a ring: its mean, its area vector, the size of a piece of its fan."""

from __future__ import annotations

import math

from meshkit.operators.kernels import Array, inlined


@inlined
def mean_from_first(points: Array, ids: Array, begin: int, end: int) -> tuple[float, float, float]:
    """The mean of the points ids[begin:end], less the first of them; NaN of none."""
    if begin == end:
        return math.nan, math.nan, math.nan
    n, p = end - begin, ids[begin]
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(begin + 1, end):
        p = ids[i]
        mx += points[p, 0] - ox
        my += points[p, 1] - oy
        mz += points[p, 2] - oz
    return mx / n, my / n, mz / n


@inlined
def mean_of_points(points: Array, ids: Array, begin: int, end: int) -> tuple[float, float, float]:
    """The mean of the points ids[begin:end]; NaN of none."""
    mx, my, mz = mean_from_first(points, ids, begin, end)
    if begin < end:
        p = ids[begin]
        mx, my, mz = points[p, 0] + mx, points[p, 1] + my, points[p, 2] + mz
    return mx, my, mz


@inlined
def area_vector(
    points: Array, ids: Array, begin: int, end: int
) -> tuple[float, float, float, float]:
    """The area vector of a ring of three or more, and how far it reaches from its first point."""
    p, q = ids[begin], ids[begin + 1]
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    bx, by, bz = points[q, 0] - ox, points[q, 1] - oy, points[q, 2] - oz
    reach = max(abs(bx), abs(by), abs(bz))
    if end - begin == 4:
        # Of a quad by its diagonals, which are exact where it is folded to nothing.
        r, s = ids[begin + 2], ids[begin + 3]
        ax, ay, az = points[r, 0] - ox, points[r, 1] - oy, points[r, 2] - oz
        reach = max(reach, abs(ax), abs(ay), abs(az))
        x, y, z = points[s, 0], points[s, 1], points[s, 2]
        reach = max(reach, abs(x - ox), abs(y - oy), abs(z - oz))
        bx, by, bz = x - points[q, 0], y - points[q, 1], z - points[q, 2]
        vx, vy, vz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        return vx / 2, vy / 2, vz / 2, reach
    vx, vy, vz = 0.0, 0.0, 0.0
    # A fan from the first point has the area vector of the one from the mean.
    for i in range(begin + 2, end):
        ax, ay, az = bx, by, bz
        r = ids[i]
        bx, by, bz = points[r, 0] - ox, points[r, 1] - oy, points[r, 2] - oz
        vx += ay * bz - az * by
        vy += az * bx - ax * bz
        vz += ax * by - ay * bx
        reach = max(reach, abs(bx), abs(by), abs(bz))
    return vx / 2, vy / 2, vz / 2, reach


@inlined
def size_facing(facing: float, x: float, y: float, z: float) -> float:
    """The length of a vector, negative where it faces back."""
    size = math.sqrt(x * x + y * y + z * z)
    return -size if facing < 0 else size
