"""Volumes and centroids of solids of one type in one pass over their corners, compiled.

The same parts as the torch code of `cell_moments`, which has their derivatives; the tests hold one
against the other.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CellType
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.kernels import Array, array, kernel, over_rows


def solid_moments(
    row: CellType, table: Tensor, points: Tensor, centroids: bool
) -> tuple[Tensor, Tensor]:
    """Volume [m] and centroid [m, 3] (without rows where these are not wanted).

    Args:
        row: a solid type with tabulated faces.
        table: int [m, k], its corners in the order of `corners`.
        points: [n_points, 3], on the CPU. Sums are float64, answers in their dtype.
        centroids: whether they are wanted.
    """
    m, k = table.shape
    volume, middle = _answers(m, points, centroids)
    place = {p: i for i, p in enumerate(corners(row, k))}
    faces = () if row.shape == "tetra" else row.faces
    sizes = np.array([len(ring) for ring in faces], dtype=np.int64)
    rings = np.zeros((len(faces), int(sizes.max(initial=0))), dtype=np.int64)
    for f, ring in enumerate(faces):
        rings[f, : len(ring)] = [place[p] for p in ring]
    eps = torch.finfo(points.dtype).eps
    at, ids = array(points.double()), array(table)
    over_rows(_moments, m, at, ids, rings, sizes, eps, volume, middle)
    return torch.from_numpy(volume), torch.from_numpy(middle)


def _answers(m: int, points: Tensor, centroids: bool) -> tuple[Array, Array]:
    dtype = array(points[:0]).dtype
    return np.empty(m, dtype), np.empty((m if centroids else 0, 3), dtype)


def polyhedron_moments(
    cells: Cells, solids: Polyhedra, points: Tensor, centroids: bool
) -> tuple[Tensor, Tensor]:
    """As `solid_moments`, of the polyhedra of a mesh."""
    ends, ids = polyhedron_corners(cells)
    m = len(ends) - 1
    volume, middle = _answers(m, points, centroids)
    faces = (array(solids.faces), array(solids.offsets), array(solids.connectivity))
    eps = torch.finfo(points.dtype).eps
    corner = (array(points.double()), array(ends), array(ids))
    over_rows(_polyhedra, m, *corner, *faces, eps, volume, middle)
    return torch.from_numpy(volume), torch.from_numpy(middle)


def polyhedron_corners(cells: Cells) -> tuple[Tensor, Tensor]:
    """Offsets [m + 1] and ids [..] of the points of each polyhedron."""
    ids = cells.polyhedron_ids
    if len(ids) == len(cells):
        return cells.offsets, cells.connectivity
    ends, places = csr.take_rows(cells.offsets, ids)
    return ends, cells.connectivity[places]


@kernel
def _polyhedra(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    ids: Array,
    faces: Array,
    ends: Array,
    rings: Array,
    eps: float,
    volume: Array,
    middle: Array,
) -> None:
    for row in range(lo, hi):
        begin, k = offsets[row], offsets[row + 1] - offsets[row]
        ox = oy = oz = math.nan
        if k:
            ox, oy, oz = points[ids[begin], 0], points[ids[begin], 1], points[ids[begin], 2]
        mx, my, mz, reach = 0.0, 0.0, 0.0, 0.0
        for i in range(begin + 1, begin + k):
            p = ids[i]
            mx += points[p, 0] - ox
            my += points[p, 1] - oy
            mz += points[p, 2] - oz
        mx, my, mz = ox + mx / k, oy + my / k, oz + mz / k
        for i in range(begin, begin + k):
            p = ids[i]
            x, y, z = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
            reach = max(reach, abs(x), abs(y), abs(z))
        whole, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
        for f in range(faces[row], faces[row + 1]):
            first, last = ends[f], ends[f + 1]
            n = last - first
            if n < 3:
                continue
            fx, fy, fz = 0.0, 0.0, 0.0
            for i in range(first, last):
                p = rings[i]
                fx += points[p, 0] - mx
                fy += points[p, 1] - my
                fz += points[p, 2] - mz
            fx, fy, fz = fx / n, fy / n, fz / n
            p = rings[last - 1]
            ax, ay, az = points[p, 0] - mx - fx, points[p, 1] - my - fy, points[p, 2] - mz - fz
            for i in range(first, last):
                p = rings[i]
                bx, by, bz = points[p, 0] - mx - fx, points[p, 1] - my - fy, points[p, 2] - mz - fz
                x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
                part = (fx * x + fy * y + fz * z) / 6
                whole += part
                sx += part * ((ax + bx) / 4 + 0.75 * fx)
                sy += part * ((ay + by) / 4 + 0.75 * fy)
                sz += part * ((az + bz) / 4 + 0.75 * fz)
                ax, ay, az = bx, by, bz
        volume[row] = whole
        if len(middle):
            flat = abs(whole) <= eps * reach**3
            middle[row, 0] = mx if flat else mx + sx / whole
            middle[row, 1] = my if flat else my + sy / whole
            middle[row, 2] = mz if flat else mz + sz / whole


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
    middle: Array,
) -> None:
    k = table.shape[1]
    x = np.empty((k, 3))
    spokes = np.empty((rings.shape[1] + 1, 3))
    moment = np.empty(3)
    centre = np.empty(3)
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
            centre[a] = first + total / k
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
        if len(middle):
            usable = not abs(whole) <= eps * reach**3
            for a in range(3):
                apart = moment[a] / whole if usable and len(rings) else 0.0
                middle[row, a] = centre[a] + apart


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
