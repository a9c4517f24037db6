"""The directions in which a surface or a curve lets a field be differentiated."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.neighbours import Adjacency
from meshkit.operators.adjacency.sides import top_blocks
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, over
from meshkit.operators.measure.surface_normals import surface_normals

_BEYOND: Final = 0.01
"""How much more than a right angle two cells have to differ for one to be seen from behind, as a
cosine: rounding must not decide how the edge of a cube is seen."""


def cell_frames(mesh: Mesh) -> Tensor | None:
    """float [n_cells, mesh.dim, d]: orthonormal, tangential; None where cells fill the space.

    NaN for cells of other dimensions and for those without area or length.
    """
    d = mesh.points.shape[1]
    if mesh.dim == d:
        return None
    return _around(_cell_axes(mesh), mesh.dim, d)


def point_frames(mesh: Mesh, cells: Adjacency, measures: Tensor) -> Tensor | None:
    """float [n_points, mesh.dim, d]: across the mean normal, or along the mean tangent, of the
    cells around, weighted by their measures. One that differs from the first by more than a right
    angle counts as turned round, so that which way cells are turned matters at right angles only.
    """
    d = mesh.points.shape[1]
    if mesh.dim == d:
        return None
    axes = _cell_axes(mesh)
    row = csr.row_of_each(cells.offsets)
    at = cells.indices.long()
    first = at[cells.offsets[:-1].long().clamp(max=max(len(at) - 1, 0))] if len(at) else at
    known = torch.isfinite(axes[at]).all(1)
    share = torch.where(known[:, None], axes[at] * measures[at].abs()[:, None], 0)
    turned = dot(share, axes[first][row]) < -_BEYOND * length(share)
    share = torch.where(turned[:, None], -share, share)
    total = share.new_zeros(mesh.n_points, 3).index_add(0, row, share)
    size = length(total)
    return _around(over(total, size, size.detach() > 0, float("nan")), mesh.dim, d)


def _cell_axes(mesh: Mesh) -> Tensor:
    """[n_cells, 3]: the unit normal of surface cells, or the unit tangent of curves; else NaN."""
    points = in_space(mesh.points)
    nan = float("nan")
    if mesh.dim == 2:
        return surface_normals(mesh, points, nan)
    parts = []
    for block in top_blocks(mesh.cells):
        at = corners(CELL_TYPES[block.type], block.connectivity.shape[1])
        along = points[block.connectivity[:, at[-1]].long()]
        along = along - points[block.connectivity[:, at[0]].long()]
        size = length(along)
        parts.append((block.ids, over(along, size, size.detach() > 0, nan)))
    return assembled(mesh.n_cells, parts, points.new_zeros(3), nan)


def _around(axes: Tensor, dim: int, d: int) -> Tensor:
    """[n, dim, d] from the normals of surfaces, or the tangents of curves, [n, 3]."""
    if dim == 1:
        return axes[:, None, :d]
    # Across the coordinate that the normal has least of, which is never parallel to it.
    least = torch.nan_to_num(axes.detach()).abs().argmin(1)
    other = torch.nn.functional.one_hot(least, 3).to(axes)
    first = cross(axes, other)
    first = first / length(first)[:, None]
    return torch.stack([first, cross(axes, first)], 1)
