"""Volumes and centroids of solids of one type in one pass over their corners, compiled.

The same parts as the torch code of `cell_moments`, which has their derivatives; the tests hold one
against the other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.celltypes import CellType
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.kernels import Array, array, kernel, over_rows


def solid_moments(row: CellType, table: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Volume [m], centroid relative to the vertex mean [m, 3], and vertex mean [m, 3].

    Args:
        row: a solid type with tabulated faces.
        table: int [m, k], its corners in the order of `corners`.
        points: [n_points, 3], on the CPU. Sums are float64, answers in their dtype.
    """
    m, k = table.shape
    volume, offset, middle = np.empty(m), np.empty((m, 3)), np.empty((m, 3))
    place = {p: i for i, p in enumerate(corners(row, k))}
    faces = () if row.shape == "tetra" else row.faces
    sizes = np.array([len(ring) for ring in faces], dtype=np.int64)
    rings = np.zeros((len(faces), int(sizes.max(initial=0))), dtype=np.int64)
    for f, ring in enumerate(faces):
        rings[f, : len(ring)] = [place[p] for p in ring]
    eps = torch.finfo(points.dtype).eps
    at, ids = array(points.double()), array(table)
    over_rows(_moments, m, at, ids, rings, sizes, eps, volume, offset, middle)
    whole, apart, mean = (torch.from_numpy(x).to(points.dtype) for x in (volume, offset, middle))
    return whole, apart, mean


@kernel
def _moments(
    lo: int,
    hi: int,
    points: Array,
    table: Array,
    rings: Array,
    sizes: Array,
    eps: float,
    volume: Array,
    offset: Array,
    middle: Array,
) -> None:
    k = table.shape[1]
    x = np.empty((k, 3))
    spokes = np.empty((rings.shape[1] + 1, 3))
    moment = np.empty(3)
    mean = np.empty(3)
    for row in range(lo, hi):
        reach = 0.0
        for a in range(3):
            first, total = points[table[row, 0], a], 0.0
            for i in range(k):
                x[i, a] = points[table[row, i], a] - first
                total += x[i, a]
            for i in range(k):
                x[i, a] -= total / k
                reach = max(reach, abs(x[i, a]))
            middle[row, a] = first + total / k
            moment[a] = 0.0
        whole = 0.0
        if len(rings) == 0:
            whole = _part(x[0], x[1], x[2], x[3])
        for f in range(len(rings)):
            n = sizes[f]
            for a in range(3):
                mean[a] = 0.0
                for i in range(n):
                    mean[a] += x[rings[f, i], a] / n
                for i in range(n):
                    spokes[i, a] = x[rings[f, i], a] - mean[a]
                spokes[n, a] = spokes[0, a]
            cone = 0.0
            for i in range(n):
                part = _cone(mean, spokes[i], spokes[i + 1])
                cone += part
                for a in range(3):
                    moment[a] += part * (spokes[i, a] + spokes[i + 1, a]) / 4
            whole += cone
            for a in range(3):
                moment[a] += 0.75 * cone * mean[a]
        volume[row] = whole
        usable = not abs(whole) <= eps * reach**3
        for a in range(3):
            offset[row, a] = moment[a] / whole if usable and len(rings) else 0.0


@kernel
def _cone(mean: Array, a: Array, b: Array) -> float:
    """The volume of the tet (origin, mean, mean + a, mean + b)."""
    x = mean[0] * (a[1] * b[2] - a[2] * b[1])
    y = mean[1] * (a[2] * b[0] - a[0] * b[2])
    z = mean[2] * (a[0] * b[1] - a[1] * b[0])
    volume: float = (x + y + z) / 6
    return volume


@kernel
def _part(a: Array, b: Array, c: Array, d: Array) -> float:
    """The volume of a tet."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    along: float = (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz
    return along / 6
