"""The flux of vectors at points through rings and out of cells in one pass, compiled.

The same sums as the torch code of `flux`, which has their derivatives; the tests hold one against
the other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.faces import Faces
from meshkit.operators.kernels import Array, array, kernel, over_rows


def flux_of_rings(points: Tensor, vectors: Tensor, offsets: Tensor, ids: Tensor) -> Tensor:
    """[n, c]: the flux through each ring of vectors [n_points, c, 3] that are linear in its fan.

    Args:
        points: float64 [n_points, 3], on the CPU.
        vectors: float64 [n_points, c, 3].
        offsets, ids: the rings, int [n + 1] and int [..], ids in range.
    """
    out = np.empty((len(offsets) - 1, vectors.shape[1]))
    over_rows(_rings, len(out), array(points), array(vectors), array(offsets), array(ids), out)
    return torch.from_numpy(out)


def flux_of_cells(points: Tensor, vectors: Tensor, faces: Faces, n_cells: int) -> Tensor:
    """float64 [n_cells]: the flux out of each solid, one flux a face.

    Args:
        points, vectors: [n_points, 3], on the CPU.
        faces: of the solids, ids in range.
        n_cells: how many cells there are.
    """
    out = np.zeros(n_cells)
    _cells(
        array(points.double()),
        array(vectors.double()[:, None]),
        array(faces.offsets),
        array(faces.connectivity),
        array(faces.owner),
        array(faces.neighbour),
        out,
    )
    return torch.from_numpy(out)


@kernel
def _rings(
    lo: int, hi: int, points: Array, vectors: Array, offsets: Array, ids: Array, out: Array
) -> None:
    for row in range(lo, hi):
        for c in range(vectors.shape[1]):
            out[row, c] = _through(points, vectors, c, ids, offsets[row], offsets[row + 1])


@kernel
def _cells(
    points: Array,
    vectors: Array,
    offsets: Array,
    ids: Array,
    owner: Array,
    neighbour: Array,
    out: Array,
) -> None:
    for face in range(len(owner)):
        through = _through(points, vectors, 0, ids, offsets[face], offsets[face + 1])
        out[owner[face]] += through
        if neighbour[face] >= 0:
            out[neighbour[face]] -= through


@kernel
def _through(points: Array, vectors: Array, c: int, ids: Array, begin: int, end: int) -> float:
    """The integral of the vectors, linear in the fan of a ring, over it."""
    n = end - begin
    if n < 3:
        return 0.0
    p = ids[begin]
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    mx, my, mz, mu, mv, mw = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        p = ids[i]
        mx, my, mz = mx + points[p, 0] - ox, my + points[p, 1] - oy, mz + points[p, 2] - oz
        mu, mv, mw = mu + vectors[p, c, 0], mv + vectors[p, c, 1], mw + vectors[p, c, 2]
    mx, my, mz, mu, mv, mw = mx / n + ox, my / n + oy, mz / n + oz, mu / n, mv / n, mw / n
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
    return through / 6
