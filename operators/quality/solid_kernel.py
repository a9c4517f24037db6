"""The shape of solids of one type in one pass over their corners, compiled.

The same measures as the torch code of `cell_shapes`, which has their derivatives; the tests hold
one against the other.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows
from meshkit.operators.quality.metrics import COLUMNS
from meshkit.operators.quality.tetra_kernel import angle_inside

_HEXAHEDRON: Final = 1


def solid_shapes(
    points: Tensor,
    table: Tensor,
    *,
    edges: Array,
    rings: list[list[int]],
    corners: Array,
    shape: str,
    wanted: Set[str],
) -> Tensor:
    """float64 [6, m]: the `COLUMNS` of solids, but for the factors of their regular shapes.

    Of tets see `tetra_shapes`.

    Args:
        points: [n_points, 3], on the CPU.
        table: int [m, k], the corners.
        edges: [e, 4], each edge along its first face: two places in a row of the table, and its
            two faces.
        rings: the faces, places in a row of the table.
        corners: [c, 4]: a corner and the three others it has an edge to, right-handed; none for
            a solid without a scaled Jacobian.
        shape: its name; hexahedra have a rule of their own.
        wanted: names of `COLUMNS`; the columns of others mean nothing.
    """
    out = np.empty((len(COLUMNS), len(table)))
    sizes = np.array([len(ring) for ring in rings], dtype=np.int64)
    padded = np.zeros((len(rings), int(sizes.max())), dtype=np.int64)
    for f, ring in enumerate(rings):
        padded[f, : len(ring)] = ring
    kind = _HEXAHEDRON if shape == "hexahedron" else 0
    at, ids = array(points.double()), array(table)
    solid = (edges, padded, sizes, corners, kind)
    over_rows(
        _shapes,
        len(table),
        at,
        ids,
        *solid,
        "scaled_jacobian" in wanted,
        "aspect_ratio" in wanted,
        "aspect_ratio" in wanted or "edge_ratio" in wanted,
        "min_angle" in wanted or "max_angle" in wanted,
        "equiangle_skewness" in wanted,
        out,
    )
    return torch.from_numpy(out)


@kernel
def _shapes(
    lo: int,
    hi: int,
    points: Array,
    table: Array,
    edges: Array,
    rings: Array,
    sizes: Array,
    corners: Array,
    kind: int,
    jacobian: bool,
    surfaces: bool,
    lengths: bool,
    angles: bool,
    skewness: bool,
    out: Array,
) -> None:
    k, n_faces = table.shape[1], len(sizes)
    x = np.empty((k, 3))
    normal = np.empty((n_faces, 3))
    for row in range(lo, hi):
        # About the vertex mean: differences before products.
        p = table[row, 0]
        ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
        mx, my, mz = 0.0, 0.0, 0.0
        for i in range(k):
            p = table[row, i]
            x[i, 0], x[i, 1], x[i, 2] = points[p, 0] - ox, points[p, 1] - oy, points[p, 2] - oz
            mx, my, mz = mx + x[i, 0], my + x[i, 1], mz + x[i, 2]
        for i in range(k):
            x[i, 0], x[i, 1], x[i, 2] = x[i, 0] - mx / k, x[i, 1] - my / k, x[i, 2] - mz / k
        if jacobian:
            out[2, row] = _jacobian(x, corners, kind)
        if surfaces or angles:
            surface, volume = _outline(x, rings, sizes, normal)
        if lengths:
            longest, shortest = _lengths(x, edges)
            out[1, row] = longest / shortest
            if surfaces:
                out[0, row] = longest * surface / (volume + 0.0)  # never -0.0
        if angles:
            low, high = _between_faces(x, edges, normal)
            out[3, row], out[4, row] = low * 180 / math.pi, high * 180 / math.pi
        if skewness:
            out[5, row] = _skewness(x, rings, sizes)


@kernel
def _outline(x: Array, rings: Array, sizes: Array, normal: Array) -> tuple[float, float]:
    """The surface and the volume; the area vectors are written into `normal`."""
    surface, volume = 0.0, 0.0
    for f in range(len(sizes)):
        n = sizes[f]
        surface += _fan(x, rings[f], n, normal[f])
        mx, my, mz = 0.0, 0.0, 0.0
        for i in range(n):
            p = rings[f, i]
            mx, my, mz = mx + x[p, 0], my + x[p, 1], mz + x[p, 2]
        volume += (mx * normal[f, 0] + my * normal[f, 1] + mz * normal[f, 2]) / (3 * n)
    return surface, volume


@kernel
def _lengths(x: Array, edges: Array) -> tuple[float, float]:
    """Of the longest and the shortest edge; NaN where one is."""
    longest, shortest, whole = 0.0, math.inf, 0.0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        ex, ey, ez = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
        square = ex * ex + ey * ey + ez * ez
        whole += square
        longest, shortest = max(longest, square), min(shortest, square)
    if whole != whole:
        return math.nan, math.nan
    return math.sqrt(longest), math.sqrt(shortest)


@kernel
def _between_faces(x: Array, edges: Array, normal: Array) -> tuple[float, float]:
    """The least and the greatest angle between two faces, inside."""
    low, high = math.inf, -math.inf
    for e in range(len(edges)):
        a, b, f, g = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
        ex, ey, ez = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
        size = math.sqrt(ex * ex + ey * ey + ez * ez)
        ux, uy, uz = normal[f, 0], normal[f, 1], normal[f, 2]
        vx, vy, vz = normal[g, 0], normal[g, 1], normal[g, 2]
        cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        sine = (cx * ex + cy * ey + cz * ez) / size
        cosine = ux * vx + uy * vy + uz * vz
        angle = angle_inside(sine, cosine)
        if angle != angle:
            return math.nan, math.nan
        low, high = min(low, angle), max(high, angle)
    return low, high


@kernel
def _fan(x: Array, ring: Array, n: int, vector: Array) -> float:
    """The area of a ring's fan; its area vector is written into `vector`."""
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(n):
        mx += x[ring[i], 0] / n
        my += x[ring[i], 1] / n
        mz += x[ring[i], 2] / n
    vector[:] = 0.0
    if n == 3:
        mx, my, mz = x[ring[2], 0], x[ring[2], 1], x[ring[2], 2]
    last = 1 if n == 3 else n
    for step in range(2):
        area = 0.0
        for i in range(last):
            a, b = ring[i], ring[i + 1 if i + 1 < n else 0]
            ux, uy, uz = x[a, 0] - mx, x[a, 1] - my, x[a, 2] - mz
            vx, vy, vz = x[b, 0] - mx, x[b, 1] - my, x[b, 2] - mz
            cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            if step == 0:
                vector[0] += cx / 2
                vector[1] += cy / 2
                vector[2] += cz / 2
            size = math.sqrt(cx * cx + cy * cy + cz * cz) / 2
            back = step == 1 and cx * vector[0] + cy * vector[1] + cz * vector[2] < 0
            area += -size if back else size
    return area


@kernel
def _turn(sine: float, cosine: float) -> float:
    """What grows with the angle of a full turn as the angle does, without a transcendental."""
    if sine >= 0:
        return sine / (sine + cosine) if cosine >= 0 else 1 - cosine / (sine - cosine)
    return 2 - sine / (-sine - cosine) if cosine < 0 else 3 + cosine / (cosine - sine)


@kernel
def _angle(sine: float, cosine: float) -> float:
    """0 to 2 pi."""
    angle = math.atan2(sine, cosine)
    return angle if angle >= 0 else 2 * math.pi + angle


@kernel
def _skewness(x: Array, rings: Array, sizes: Array) -> float:
    """How far the angles of the faces are from those of the regular ones, the worst."""
    worst = -math.inf
    for n in range(3, rings.shape[1] + 1):
        low, high = math.inf, -math.inf
        low_sine, low_cosine, high_sine, high_cosine = 0.0, 0.0, 0.0, 0.0
        for f in range(len(sizes)):
            if sizes[f] != n:
                continue
            nx, ny, nz = _normal(x, rings[f], n)
            at, a = rings[f, n - 1], rings[f, 0]
            ux, uy, uz = x[a, 0] - x[at, 0], x[a, 1] - x[at, 1], x[a, 2] - x[at, 2]
            for i in range(n):
                at, a = a, rings[f, i + 1 if i + 1 < n else 0]
                vx, vy, vz = -ux, -uy, -uz
                ux, uy, uz = x[a, 0] - x[at, 0], x[a, 1] - x[at, 1], x[a, 2] - x[at, 2]
                cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
                sine = math.sqrt(cx * cx + cy * cy + cz * cz)
                if n > 3 and cx * nx + cy * ny + cz * nz < 0:
                    sine = -sine
                cosine = ux * vx + uy * vy + uz * vz
                turn = _turn(sine, cosine)
                if turn != turn:
                    return math.nan
                if turn < low:
                    low, low_sine, low_cosine = turn, sine, cosine
                if turn > high:
                    high, high_sine, high_cosine = turn, sine, cosine
        if low <= high:
            even = math.pi * (1 - 2 / n)
            least, most = _angle(low_sine, low_cosine), _angle(high_sine, high_cosine)
            worst = max(worst, (most - even) / (math.pi - even), (even - least) / even)
    return worst


@kernel
def _normal(x: Array, ring: Array, n: int) -> tuple[float, float, float]:
    """Twice the area vector of a ring."""
    nx, ny, nz, at = 0.0, 0.0, 0.0, ring[0]
    for i in range(1, n - 1):
        a, b = ring[i], ring[i + 1]
        ux, uy, uz = x[a, 0] - x[at, 0], x[a, 1] - x[at, 1], x[a, 2] - x[at, 2]
        vx, vy, vz = x[b, 0] - x[at, 0], x[b, 1] - x[at, 1], x[b, 2] - x[at, 2]
        nx, ny, nz = nx + uy * vz - uz * vy, ny + uz * vx - ux * vz, nz + ux * vy - uy * vx
    return nx, ny, nz


@kernel
def _determinant(x: Array, at: int, i: int, j: int, k: int) -> tuple[float, float]:
    """The triple product of three edges from a corner, and the product of their lengths."""
    ux, uy, uz = x[i, 0] - x[at, 0], x[i, 1] - x[at, 1], x[i, 2] - x[at, 2]
    vx, vy, vz = x[j, 0] - x[at, 0], x[j, 1] - x[at, 1], x[j, 2] - x[at, 2]
    wx, wy, wz = x[k, 0] - x[at, 0], x[k, 1] - x[at, 1], x[k, 2] - x[at, 2]
    triple = (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz
    size = math.sqrt(ux * ux + uy * uy + uz * uz) * math.sqrt(vx * vx + vy * vy + vz * vz)
    return triple, size * math.sqrt(wx * wx + wy * wy + wz * wz)


@kernel
def _jacobian(x: Array, corners: Array, kind: int) -> float:
    """The least scaled determinant."""
    least = math.inf
    for c in range(len(corners)):
        triple, size = _determinant(x, corners[c, 0], corners[c, 1], corners[c, 2], corners[c, 3])
        scaled = triple / size
        if scaled != scaled:
            return math.nan
        least = min(least, scaled)
    if len(corners) == 0:
        return math.nan
    if kind == _HEXAHEDRON:
        ux, uy, uz = _axis(x, 1, 7, 2, 4, 5, 3, 6, 0)
        vx, vy, vz = _axis(x, 2, 4, 3, 5, 6, 0, 7, 1)
        wx, wy, wz = _axis(x, 4, 0, 5, 1, 6, 2, 7, 3)
        triple = (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz
        size = math.sqrt(ux * ux + uy * uy + uz * uz) * math.sqrt(vx * vx + vy * vy + vz * vz)
        return min(least, triple / (size * math.sqrt(wx * wx + wy * wy + wz * wz)))
    return least


@kernel
def _axis(
    x: Array, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int
) -> tuple[float, float, float]:
    """Four points less four others."""
    return (
        x[a, 0] - x[b, 0] + x[c, 0] - x[d, 0] + x[e, 0] - x[f, 0] + x[g, 0] - x[h, 0],
        x[a, 1] - x[b, 1] + x[c, 1] - x[d, 1] + x[e, 1] - x[f, 1] + x[g, 1] - x[h, 1],
        x[a, 2] - x[b, 2] + x[c, 2] - x[d, 2] + x[e, 2] - x[f, 2] + x[g, 2] - x[h, 2],
    )
