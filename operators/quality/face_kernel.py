"""How faces and the two cells beside each lie, in one pass over the faces, compiled.

The same measures as the torch code of `face_metrics`, which has their derivatives; the tests hold
one against the other.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from meshkit.faces import Faces
from meshkit.operators.kernels import Array, array, kernel, over_rows

_COLUMNS: Final = ("non_orthogonality", "skewness", "growth_ratio", "orthogonal_quality")

INSIDE: Final = 0.2
OUTSIDE: Final = 0.4
"""The least size of a face that its skewness is measured by, in lengths between centroids."""


class Geometry(NamedTuple):
    """What the measures of faces follow from, float64 or float32."""

    points: Tensor  # [n_points, 3]
    vectors: Tensor  # [n_faces, 3]
    centres: Tensor  # [n_faces, 3]
    cells: Tensor  # [n_cells, 3]: centroids
    measures: Tensor  # [n_cells]


def face_shapes(
    faces: Faces, geometry: Geometry, wanted: Set[str]
) -> dict[str, tuple[Tensor, Tensor]]:
    """Each wanted measure float64 [n_faces], as the owner and as the neighbour has it.

    Args:
        faces: ids in range.
        geometry: on the CPU.
        wanted: names of measures that follow from faces.
    """
    n = len(faces)
    out = np.empty((len(_COLUMNS) + 1, n))
    points, vectors, centres, cells, measures = (array(x.double()) for x in geometry)
    over_rows(
        _shapes,
        n,
        array(faces.offsets),
        array(faces.connectivity),
        array(faces.owner),
        array(faces.neighbour),
        points,
        vectors,
        centres,
        cells,
        measures,
        np.array([name in wanted for name in _COLUMNS]),
        out,
    )
    found = [torch.from_numpy(column) for column in out]
    others = [*found[:3], found[4]]
    return {name: (found[i], others[i]) for i, name in enumerate(_COLUMNS) if name in wanted}


def at_cells(faces: Faces, own: Tensor, other: Tensor, n: int, boundary: bool, low: bool) -> Tensor:
    """float64 [n]: the greatest or, where `low`, the least value of the faces around each cell.

    NaN where there is none, and where one is NaN; `boundary` tells whether faces without a
    neighbour count.
    """
    out, met = np.empty(n), np.zeros(n, dtype=np.bool_)
    sign = -1.0 if low else 1.0
    sides = (array(faces.owner), array(faces.neighbour))
    _at_cells(*sides, array(own), array(other), boundary, sign, met, out)
    out[~met] = np.nan
    return torch.from_numpy(out)


@kernel
def _at_cells(
    owner: Array,
    neighbour: Array,
    own: Array,
    other: Array,
    boundary: bool,
    sign: float,
    met: Array,
    out: Array,
) -> None:
    for face in range(len(owner)):
        inner = neighbour[face] >= 0
        if inner or boundary:
            _put(owner[face], own[face], sign, met, out)
        if inner:
            _put(neighbour[face], other[face], sign, met, out)


@kernel
def _put(cell: int, value: float, sign: float, met: Array, out: Array) -> None:
    if not met[cell] or value != value or sign * value > sign * out[cell]:
        out[cell] = value
    met[cell] = True


@kernel
def _shapes(
    lo: int,
    hi: int,
    offsets: Array,
    ids: Array,
    owner: Array,
    neighbour: Array,
    points: Array,
    vectors: Array,
    centres: Array,
    cells: Array,
    measures: Array,
    wanted: Array,
    out: Array,
) -> None:
    leaning, skewed, growing, orthogonal = wanted[0], wanted[1], wanted[2], wanted[3]
    for face in range(lo, hi):
        own, other = owner[face], neighbour[face]
        inner = other >= 0
        vx, vy, vz = vectors[face, 0], vectors[face, 1], vectors[face, 2]
        size = math.sqrt(vx * vx + vy * vy + vz * vz)
        if size == 0.0:
            size = math.nan
        nx, ny, nz = vx / size, vy / size, vz / size
        # From the owner to the middle of the face, and to the neighbour.
        mx = centres[face, 0] - cells[own, 0]
        my = centres[face, 1] - cells[own, 1]
        mz = centres[face, 2] - cells[own, 2]
        away = mx * nx + my * ny + mz * nz
        lx, ly, lz, along = away * nx, away * ny, away * nz, away
        if inner:
            lx = cells[other, 0] - cells[own, 0]
            ly = cells[other, 1] - cells[own, 1]
            lz = cells[other, 2] - cells[own, 2]
            along = lx * nx + ly * ny + lz * nz
        length = math.sqrt(lx * lx + ly * ly + lz * lz)
        if leaning:
            cx, cy, cz = ly * nz - lz * ny, lz * nx - lx * nz, lx * ny - ly * nx
            across = math.sqrt(cx * cx + cy * cy + cz * cz)
            out[0, face] = math.atan2(across, along) * 180 / math.pi if inner else math.nan
        if growing:
            out[2, face] = _growth(measures[own], measures[other]) if inner else math.nan
        if orthogonal:
            out[3, face] = _cosine(away, mx, my, mz)
            out[4, face] = math.nan
            if inner:
                between = _cosine(along, lx, ly, lz)
                wx, wy, wz = lx - mx, ly - my, lz - mz
                beyond = _cosine(wx * nx + wy * ny + wz * nz, wx, wy, wz)
                out[3, face] = _least(out[3, face], between)
                out[4, face] = _least(beyond, between)
        if skewed:
            share = 1.0
            if inner:
                share = away / along if along != 0.0 else math.nan
            sx, sy, sz = mx - share * lx, my - share * ly, mz - share * lz
            miss = math.sqrt(sx * sx + sy * sy + sz * sz)
            if miss > 0.0:
                sx, sy, sz = sx / miss, sy / miss, sz / miss
            reach = 0.0
            for i in range(offsets[face], offsets[face + 1]):
                p = ids[i]
                x = points[p, 0] - centres[face, 0]
                y = points[p, 1] - centres[face, 1]
                z = points[p, 2] - centres[face, 2]
                far = abs(x * sx + y * sy + z * sz)
                reach = far if far > reach or far != far else reach
            least = (INSIDE if inner else OUTSIDE) * length
            if least > reach or least != least:
                reach = least
            out[1, face] = miss / reach


@kernel
def _growth(a: float, b: float) -> float:
    a, b = abs(a), abs(b)
    if a != a or b != b:
        return math.nan
    return max(a, b) / min(a, b)


@kernel
def _least(a: float, b: float) -> float:
    return a if a < b or a != a else b


@kernel
def _cosine(along: float, x: float, y: float, z: float) -> float:
    size = math.sqrt(x * x + y * y + z * z)
    return along / size if size != 0.0 else math.nan
