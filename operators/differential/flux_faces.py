"""What a face adds to the balance of a cell: compiled parts of `flux_kernels`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from meshkit.operators.kernels import Array, inlined

ROUNDING: Final = 64 * 2.220446049250313e-16
"""A cell whose volume is at most this times its size to the power dim, or times the area of its
faces and the distance from the origin, has none: that much are digits of its faces' middles. The
square of the size is that of the way to the farthest middle of a face, and the area of the faces
(of a surface cell the square of its length)."""
OPEN: Final = 1e-3
"""A cell whose area vectors add up to more than this times volume / size is not closed: beyond the
rounding, of points too, that a sound cell may have where faces meet in a hanging node, and below
what a side seen from the wrong side adds up to."""


@inlined
def seen_from(
    face: Any,
    row: Any,
    other: Any,
    owns: bool,
    from_owner: Array,
    from_neighbour: Array,
    middles: Array,
    warp: Array,
    centroids: Array,
    seen: Array,
) -> Any:
    """A face as seen from a cell: its area vector out of it, the ways to its middle from the cell's
    centroid and from that of the other (0 where there is none), the warp or its trace; and dim
    times its part in the volume."""
    through = 0.0
    for x in range(3):
        area = from_owner[face, x]
        if not owns:
            area = from_neighbour[face, x] if len(from_neighbour) > 0 else -area
        step = middles[face, x] - centroids[row, x]
        seen[x], seen[3 + x] = area, step
        seen[6 + x] = middles[face, x] - centroids[other, x] if other >= 0 else 0.0
        through += area * step
    if len(warp) > 0:
        for a in range(warp.shape[1]):
            seen[9 + a] = warp[face, a] if owns else -warp[face, a]
        through += seen[9] if warp.shape[1] == 1 else seen[9] + seen[13] + seen[17]
    return through


@inlined
def weigh(seen: Array, sums: Array) -> None:
    """Add what `solid` needs of a face: the area vector, its size, the longest way squared."""
    far = size = 0.0
    for x in range(3):
        sums[x] += seen[x]
        size += seen[x] ** 2
        far += seen[3 + x] ** 2
    sums[3] += np.sqrt(size)
    sums[4] = max(sums[4], far)


@inlined
def solid(volume: Any, dim: Any, sums: Array, row: Any, centroids: Array) -> bool:
    """Whether a cell has a volume, and is closed; the same as `cell_fluxes.is_solid`."""
    away = off = 0.0
    for x in range(3):
        away += centroids[row, x] ** 2
        off += sums[x] ** 2
    size = sums[4]
    if dim > 1:
        size += sums[3] if dim == 3 else sums[3] ** 2
    size, amount = np.sqrt(size), abs(volume)
    rounding = ROUNDING * (sums[3] * np.sqrt(away) + size**dim)
    closed: bool = dim == 1 or np.sqrt(off) * size <= OPEN * amount + rounding
    return closed and amount > rounding


@inlined
def by_distance(seen: Array) -> float:
    """How much the cell beyond has in the value on the face."""
    near = far = 0.0
    for x in range(3):
        near += seen[x] * seen[3 + x]
        far += seen[x] * seen[6 + x]
    near, far = abs(near), abs(far)
    total: float = near + far
    return near / total if total > 0.0 else 0.5


@inlined
def extrapolated(
    seen: Array, share: float, known: bool, bent: bool, far: Array, near: Array
) -> None:
    """What turns the gradient beyond into its part in area x value; the cell's own is added up."""
    own = 0.0 if known else 1 - share
    for x in range(3):
        for y in range(3):
            at = 3 * x + y
            far[at] = share * seen[x] * seen[6 + y]
            near[at] += own * seen[x] * seen[3 + y]
            if bent:
                far[at] += share * seen[9 + at]
                near[at] += (1 - share) * seen[9 + at]


@inlined
def straight_part(seen: Array, inner: bool, known: bool, far: Array, near: Array) -> float:
    """The part of a flux that the difference of the values gives; the gradients' are put in `far`
    and added to `near`."""
    across = 1.0 if inner or known else 0.0
    size = apart = 0.0
    for x in range(3):
        size += seen[x] ** 2
        apart += across * (seen[3 + x] - seen[6 + x]) ** 2
    straight: float = np.sqrt(size / apart) if apart > 0.0 else 0.0
    share = by_distance(seen) if inner else 0.0
    for x in range(3):
        left = seen[x] - straight * across * (seen[3 + x] - seen[6 + x])
        far[x] = share * left
        near[x] += (1 - share) * left
    return straight
