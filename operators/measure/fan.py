"""What a ring of points is: the fan of triangles from its vertex mean.

Area vectors, areas, centroids and volumes all use this one surface, so that they agree with each
other to rounding, also where a ring is warped or not convex. A triangle is its own fan. All
functions take rings [..., k, 3] and use differences of points only, taken before products.
"""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.operators.measure.coordinates import cross, dot, extent, length, matters, over


def area_vector(ring: Tensor) -> Tensor:
    """[..., 3]: the sum of the area vectors of the fan; where the fan starts does not matter."""
    k = ring.shape[-2]
    if k < 3:
        return ring.new_zeros(*ring.shape[:-2], 3)
    if k == 3:
        a, b, c = ring.unbind(-2)
        return cross(b - a, c - a) / 2
    if k == 4:
        a, b, c, d = ring.unbind(-2)
        return cross(c - a, d - b) / 2
    return triangles(ring - ring.mean(-2, keepdim=True)).sum(-2)


def triangles(spokes: Tensor) -> Tensor:
    """[..., k, 3]: the area vectors of the triangles of a fan, from its spokes [..., k, 3]."""
    return cross(spokes, torch.roll(spokes, -1, -2)) / 2


def area_and_moment(ring: Tensor) -> tuple[Tensor, Tensor]:
    """The area of rings, and their centroids relative to the vertex mean.

    Triangles of the fan that face against the area vector count negative: the area of a plane
    ring is right where it is not convex, that of a warped one is the area of its fan; where the
    area vector is nothing but rounding there is no facing, and no area. The centroid weighs the
    triangles by their area projected along the area vector; where that is zero it is the vertex
    mean.

    Returns:
        [...] and [..., 3].
    """
    k = ring.shape[-2]
    if k < 3:
        zero = ring.sum((-2, -1)) * 0
        return zero, zero.unsqueeze(-1).expand(*ring.shape[:-2], 3)
    if k == 3:
        area = length(area_vector(ring))
        return area, torch.zeros_like(ring[..., 0, :])
    spokes = ring - ring.mean(-2, keepdim=True)
    parts = triangles(spokes)
    whole = parts.sum(-2)
    facing = dot(parts, whole.unsqueeze(-2))
    area = (length(parts) * torch.where(facing < 0, -1.0, 1.0).to(ring.dtype)).sum(-1)
    thirds = (spokes + torch.roll(spokes, -1, -2)) / 3
    size = length(whole)
    usable = matters(size, extent(spokes), 2)
    area = torch.where(usable, area, size)
    unit = over(whole, size, usable, 0.0)
    weight = dot(parts, unit.unsqueeze(-2))
    moment = (weight.unsqueeze(-1) * thirds).sum(-2)
    return area, over(moment, size, usable, 0.0)


def cone(ring: Tensor) -> tuple[Tensor, Tensor]:
    """The tets between the fan and the origin: volume [...] and first moment [..., 3].

    The volume is positive where the ring, seen from the origin, turns away from it. A moment is
    the integral of the position over the tets.
    """
    k = ring.shape[-2]
    if k < 3:
        zero = ring.sum((-2, -1)) * 0
        return zero, zero.unsqueeze(-1).expand(*ring.shape[:-2], 3)
    middle = ring.mean(-2)
    if k == 3:
        volume = dot(middle, area_vector(ring)) / 3
        return volume, volume.unsqueeze(-1) * middle * 0.75
    spokes = ring - middle.unsqueeze(-2)
    parts = dot(middle.unsqueeze(-2), triangles(spokes)) / 3
    volume = parts.sum(-1)
    # The centroid of a tet with one corner at the origin is a quarter of the sum of the others.
    ends = spokes + torch.roll(spokes, -1, -2)
    moment = (parts.unsqueeze(-1) * ends).sum(-2) / 4 + volume.unsqueeze(-1) * middle * 0.75
    return volume, moment
