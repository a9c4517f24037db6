"""The flux out of every cell from vectors at points in one pass over the faces, compiled.

The same sums as the torch code of `flux`, which has their derivatives; the tests hold one against
the other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.faces import Faces
from meshkit.operators.kernels import Array, array, kernel


def flux_of_cells(points: Tensor, vectors: Tensor, faces: Faces, n_cells: int) -> Tensor:
    """float64 [n_cells]: the flux out of each solid, one flux a face.

    Args:
        points, vectors: [n_points, 3], on the CPU.
        faces: of the solids, ids in range.
        n_cells: how many cells there are.
    """
    out = np.zeros(n_cells)
    _flux(
        array(points.double()),
        array(vectors.double()),
        array(faces.offsets),
        array(faces.connectivity),
        array(faces.owner),
        array(faces.neighbour),
        out,
    )
    return torch.from_numpy(out)


@kernel
def _flux(
    points: Array,
    vectors: Array,
    offsets: Array,
    ids: Array,
    owner: Array,
    neighbour: Array,
    out: Array,
) -> None:
    for face in range(len(owner)):
        begin, end = offsets[face], offsets[face + 1]
        n = end - begin
        through = 0.0
        if n >= 3:
            through = _through(points, vectors, ids, begin, end)
        out[owner[face]] += through
        if neighbour[face] >= 0:
            out[neighbour[face]] -= through


@kernel
def _through(points: Array, vectors: Array, ids: Array, begin: int, end: int) -> float:
    """The integral of the vectors, linear in the fan of a ring, over it."""
    n = end - begin
    p = ids[begin]
    ox, oy, oz = points[p, 0], points[p, 1], points[p, 2]
    mx, my, mz, mu, mv, mw = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        p = ids[i]
        mx, my, mz = mx + points[p, 0] - ox, my + points[p, 1] - oy, mz + points[p, 2] - oz
        mu, mv, mw = mu + vectors[p, 0], mv + vectors[p, 1], mw + vectors[p, 2]
    mx, my, mz, mu, mv, mw = mx / n + ox, my / n + oy, mz / n + oz, mu / n, mv / n, mw / n
    p = ids[end - 1]
    ax, ay, az = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
    au, av, aw = vectors[p, 0], vectors[p, 1], vectors[p, 2]
    through = 0.0
    for i in range(begin, end):
        p = ids[i]
        bx, by, bz = points[p, 0] - mx, points[p, 1] - my, points[p, 2] - mz
        bu, bv, bw = vectors[p, 0], vectors[p, 1], vectors[p, 2]
        through += (ay * bz - az * by) * (au + bu + mu)
        through += (az * bx - ax * bz) * (av + bv + mv)
        through += (ax * by - ay * bx) * (aw + bw + mw)
        ax, ay, az, au, av, aw = bx, by, bz, bu, bv, bw
    return through / 6
