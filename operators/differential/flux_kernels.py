"""The coefficients of Gauss' theorem, cell by cell, compiled: the CPU's way where no derivative in
the points is asked for. The same answers as the torch code of `green_gauss` and `finite_volume`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.differential.bands import Band, bands
from meshkit.operators.differential.flux_geometry import FluxGeometry
from meshkit.operators.differential.sparse_map import Part, ids_dtype
from meshkit.operators.kernels import Array, array, kernel, over_rows, unset


@dataclass(frozen=True, eq=False)
class Filled:
    """What a kernel made of one band."""

    jumps: Part
    slopes: Part | None  # None: of the plain method
    held: Tensor  # int64: the rows that the band holds something of
    good: Tensor  # bool: which of them are determined


def filled(
    method: Any,
    faces: FluxGeometry,
    places: Tensor,
    value_of: Tensor,
    has: Tensor,
    dim: int,
    sizes: tuple[int, int],
    dtype: torch.dtype,
) -> list[Filled]:
    """The coefficients of every band by `plain`, `corrected` or `direct`.

    Args:
        method: one of the kernels below.
        faces, places: the geometry and the centroids [n, d] of the cells, float64.
        value_of: int64 [n_faces]: which known value stands on each face, else -1.
        has: bool [n]: the cells with a least-squares gradient.
        dim: of the cells.
        sizes: coefficients of each entry of the jumps, and of the slopes (0: there are none).
        dtype: of the coefficients.
    """
    n, ids = len(places), ids_dtype(len(places) + len(value_of))
    warp = places[:0] if faces.warp is None else faces.warp.reshape(len(faces.warp), -1)
    back = places[:0] if faces.from_neighbour is None else faces.from_neighbour
    geometry = (faces.owner, faces.neighbour, value_of, faces.from_owner, back)
    given = tuple(map(array, (*geometry, faces.centroids, warp, places, has)))
    out = []
    for band in bands(faces.of_cell.offsets):
        jumps, slopes = (_blank(band, wider, c, ids, dtype) for wider, c in enumerate(sizes))
        lengths = band.lengths
        good = torch.zeros(len(band), dtype=torch.bool)
        none = lengths[:0] if band.rows is None else band.rows
        where = tuple(map(array, (none, band.begin, lengths, faces.of_cell.indices)))
        answers = [array(x) for part in (jumps, slopes) for x in (part.cols, part.coefs)]
        every: list[Any] = [*where, *given, dim, n, *answers, good.numpy()]
        over_rows(method, len(band), *every)
        own = torch.arange(n) if band.rows is None else band.rows
        held = lengths > 0
        out.append(Filled(jumps, slopes if sizes[1] else None, own[held], good[held]))
    return out


def _blank(band: Band, wider: int, c: int, ids: torch.dtype, dtype: torch.dtype) -> Part:
    """A part of a band for a kernel to fill; no columns where it has no coefficients."""
    width, m = band.width + wider if c else 0, len(band)
    cols = unset(width * m, ids).reshape(width, m)
    return Part(band.rows, cols, unset(width * c * m, dtype).reshape(width, c, m))


@kernel
def plain(
    lo: int,
    hi: int,
    rows: Array,
    begin: Array,
    lengths: Array,
    indices: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    places: Array,
    has: Array,
    dim: int,
    n: int,
    cols: Array,
    coefs: Array,
    _more: Array,
    _none: Array,
    good: Array,
) -> None:
    """Face values by distance, see `plain_map`."""
    width, d = cols.shape[0], places.shape[1]
    seen, beyond = np.zeros((3, width, 3)), np.zeros((2, width), np.int64)
    bent = np.zeros((width, 9))
    for i in range(lo, hi):
        row = rows[i] if len(rows) else i
        mine = indices[begin[i] : begin[i] + lengths[i]]
        volume, solid = _see(
            row, mine, owner, neighbour, value_of, from_owner, from_neighbour, middles, warp,
            places, dim, seen, beyond, bent,
        )  # fmt: skip
        good[i] = solid
        for k in range(width):
            other, value = row, -1
            if k < len(mine):
                other, value = beyond[0, k], beyond[1, k]
            cols[k, i] = n + value if value >= 0 else (other if other >= 0 else row)
            share = 0.0
            if value >= 0:
                share = 1.0
            elif k < len(mine) and other >= 0:
                share = _share(seen, k, d)
            for x in range(d):
                coefs[k, x, i] = share * seen[0, k, x] / volume if share != 0.0 else 0.0


@kernel
def corrected(
    lo: int,
    hi: int,
    rows: Array,
    begin: Array,
    lengths: Array,
    indices: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    places: Array,
    has: Array,
    dim: int,
    n: int,
    cols: Array,
    coefs: Array,
    far_cols: Array,
    far_coefs: Array,
    good: Array,
) -> None:
    """Face values extrapolated from both cells, see `green_gauss_map`."""
    width, d = cols.shape[0], places.shape[1]
    seen, beyond = np.zeros((3, width, 3)), np.zeros((2, width), np.int64)
    bent = np.zeros((width, 9))
    near = np.zeros(9)
    for i in range(lo, hi):
        row = rows[i] if len(rows) else i
        mine = indices[begin[i] : begin[i] + lengths[i]]
        volume, solid = _see(
            row, mine, owner, neighbour, value_of, from_owner, from_neighbour, middles, warp,
            places, dim, seen, beyond, bent,
        )  # fmt: skip
        near[:] = 0.0
        for k in range(width):
            there = k < len(mine)
            other = beyond[0, k] if there else -1
            value = beyond[1, k] if there else -1
            cols[k, i] = n + value if value >= 0 else (other if other >= 0 else row)
            far_cols[k, i] = other if other >= 0 else row
            share = 0.0
            if other >= 0:
                share = (1.0 if has[other] else 0.0) / (2.0 if has[row] and has[other] else 1.0)
            if there:
                fine = has[row] or (other >= 0 and has[other])
                solid = solid and (fine or (len(warp) == 0 and value >= 0))
            jump = 1.0 if value >= 0 else share
            own = 0.0 if value >= 0 else 1 - share
            for x in range(d):
                area = seen[0, k, x] if there else 0.0
                coefs[k, x, i] = jump * area / volume if value >= 0 or other >= 0 else 0.0
                for y in range(d):
                    at = d * x + y
                    far = share * area * seen[2, k, y] if there else 0.0
                    near[at] += own * area * seen[1, k, y] if there else 0.0
                    if len(warp) and there:
                        far += share * bent[k, at]
                        near[at] += (1 - share) * bent[k, at]
                    far_coefs[k, at, i] = far / volume
        far_cols[width, i] = row
        for at in range(d * d):
            far_coefs[width, at, i] = near[at] / volume
        good[i] = solid


@kernel
def direct(
    lo: int,
    hi: int,
    rows: Array,
    begin: Array,
    lengths: Array,
    indices: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    places: Array,
    has: Array,
    dim: int,
    n: int,
    cols: Array,
    coefs: Array,
    far_cols: Array,
    far_coefs: Array,
    good: Array,
) -> None:
    """Fluxes of the gradient, see `finite_volume_map`."""
    width, d = cols.shape[0], places.shape[1]
    seen, beyond = np.zeros((3, width, 3)), np.zeros((2, width), np.int64)
    bent = np.zeros((width, 9))
    near = np.zeros(3)
    for i in range(lo, hi):
        row = rows[i] if len(rows) else i
        mine = indices[begin[i] : begin[i] + lengths[i]]
        volume, solid = _see(
            row, mine, owner, neighbour, value_of, from_owner, from_neighbour, middles, warp,
            places, dim, seen, beyond, bent,
        )  # fmt: skip
        near[:] = 0.0
        for k in range(width):
            there = k < len(mine)
            other = beyond[0, k] if there else -1
            value = beyond[1, k] if there else -1
            cols[k, i] = n + value if value >= 0 else (other if other >= 0 else row)
            far_cols[k, i] = other if other >= 0 else row
            if not there:
                coefs[k, 0, i] = 0.0
                for x in range(d):
                    far_coefs[k, x, i] = 0.0
                continue
            solid = solid and has[row] and (other < 0 or has[other])
            across = 1.0 if other >= 0 or value >= 0 else 0.0
            size = apart = 0.0
            for x in range(d):
                size += seen[0, k, x] ** 2
                apart += across * (seen[1, k, x] - seen[2, k, x]) ** 2
            straight = np.sqrt(size) / np.sqrt(apart) if apart > 0.0 else 0.0
            share = _share(seen, k, d) if other >= 0 else 0.0
            coefs[k, 0, i] = straight / volume
            for x in range(d):
                left = seen[0, k, x] - straight * across * (seen[1, k, x] - seen[2, k, x])
                far_coefs[k, x, i] = share * left / volume
                near[x] += (1 - share) * left
        far_cols[width, i] = row
        for x in range(d):
            far_coefs[width, x, i] = near[x] / volume
        good[i] = solid


@kernel
def _see(
    row: Any,
    mine: Array,
    owner: Array,
    neighbour: Array,
    value_of: Array,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    places: Array,
    dim: int,
    seen: Array,
    beyond: Array,
    bent: Array,
) -> Any:
    """The faces of one cell as seen from it, its volume (1 where it has none) and whether it has.

    `seen`: the area vector out of the cell, from its centroid and from that of the other to the
    face's; `beyond`: the other cell, -1 on the boundary, and the known value, else -1; `bent`: the
    warp.
    """
    d = places.shape[1]
    volume = most = 0.0
    for k in range(len(mine)):
        face = mine[k]
        owns = owner[face] == row
        other = neighbour[face] if owns else owner[face]
        if neighbour[face] < 0:
            other = -1
        beyond[0, k], beyond[1, k] = other, value_of[face]
        through = 0.0
        for x in range(d):
            area = from_owner[face, x]
            if not owns:
                area = from_neighbour[face, x] if len(from_neighbour) else -area
            step = middles[face, x] - places[row, x]
            seen[0, k, x], seen[1, k, x] = area, step
            seen[2, k, x] = middles[face, x] - places[other, x] if other >= 0 else 0.0
            through += area * step
        if len(warp):
            for a in range(d * d):
                bent[k, a] = warp[face, a] if owns else -warp[face, a]
            for x in range(d):
                through += bent[k, d * x + x]
        volume += through
        most += abs(through)
    volume /= dim
    solid = abs(volume) > 64 * 2.220446049250313e-16 * most
    return (volume if solid else 1.0), solid


@kernel
def _share(seen: Array, k: int, d: int) -> float:
    """How much the cell beyond has in the value on the face, by distance."""
    near = far = 0.0
    for x in range(d):
        near += seen[0, k, x] * seen[1, k, x]
        far += seen[0, k, x] * seen[2, k, x]
    near, far = abs(near), abs(far)
    total: float = near + far
    return near / total if total > 0.0 else 0.5
