"""A patch taken apart into simplices, over which every sum over it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.integral.patch import Patch
from meshkit.operators.measure.coordinates import cross, dot, extent, length, matters
from meshkit.operators.measure.fan import area_vector, triangles
from meshkit.operators.measure.rings import AT_ONCE


@dataclass(frozen=True, eq=False)
class Pieces:
    """Some rows of a patch, taken apart into simplices: triangles of the fans, edges, or ends."""

    rows: Tensor  # int64 [m]: of the patch
    points: Tensor  # int64 [m, k]
    at: Tensor  # [m, p, c, 3]: the corners of the pieces
    vectors: Tensor  # [m, p, 3]: area vectors, along the normals of the patch
    sizes: Tensor  # [m, p]: areas or lengths; of fans, negative where a triangle faces back


def spread(values: Tensor) -> Tensor:
    """[m, p, c, ...]: what stands at the k corners of a ring, at the corners of its pieces."""
    k = values.shape[1]
    if k <= 3:
        return values[:, None]
    mean = values.mean(1, keepdim=True).expand_as(values)
    return torch.stack([values, torch.roll(values, -1, 1), mean], 2)


def pieces(patch: Patch, points: Tensor) -> Iterator[Pieces]:
    """The patch taken apart, some rows at a time; every sum over it is one over these.

    Args:
        patch: any.
        points: float64 [n_points, 3].
    """
    sign = patch.signs.to(points.dtype)
    for rows, ring in tables(patch.offsets, patch.connectivity):
        for some, ids in zip(torch.split(rows, AT_ONCE), torch.split(ring, AT_ONCE), strict=True):
            x = points[ids]
            turn = None if patch.across is None else patch.across[some]
            vectors, sizes = _vectors(x, turn)
            yield Pieces(some, ids, spread(x), vectors * sign[some][:, None, None], sizes)


def _vectors(x: Tensor, across: Tensor | None) -> tuple[Tensor, Tensor]:
    """Area vectors [m, p, 3] and sizes [m, p] of the pieces of rings [m, k, 3]."""
    k = x.shape[1]
    if k < 3 and across is None:  # a polygon without an area
        return torch.zeros_like(x[:, :1]), torch.zeros_like(x[:, :1, 0])
    if k == 1 and across is not None:
        return across[:, None], torch.ones_like(x[..., 0])
    if k == 2 and across is not None:
        edge = x[:, 1] - x[:, 0]
        return cross(edge, across)[:, None], length(edge)[:, None]
    if k == 3:
        vector = area_vector(x)[:, None]
        return vector, length(vector)
    parts = triangles(x - x.mean(1, keepdim=True))
    whole = area_vector(x.detach())
    facing = torch.where(dot(parts.detach(), whole[:, None]) < 0, -1.0, 1.0).to(x.dtype)
    spokes = x.detach() - x.detach()[:, :1]
    usable = matters(length(whole), extent(spokes), 2)
    return parts, torch.where(usable[:, None], length(parts) * facing, 0.0)
