"""The weight of each value in an integral."""

from __future__ import annotations

from numbers import Real

import torch
from torch import Tensor

from meshkit.cells import need_ids
from meshkit.devices import need_known
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.integral.patch import Patch, need_faces
from meshkit.operators.integral.patch_kernel import corner_weights, shares
from meshkit.operators.integral.patches import all_faces, patch_of
from meshkit.operators.integral.pieces import pieces
from meshkit.operators.integral.values import On, distinct, found_region, n_rows, no_repeats
from meshkit.operators.measure.cell_centroids import cell_centroids
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.operators.measure.coordinates import dot, in_space, length, over
from meshkit.operators.measure.part import bare, top_cells
from meshkit.operators.measure.ring_kernel import ring_geometry
from meshkit.operators.measure.shares import point_shares
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import shown
from meshkit.regions import Region

Weights = tuple[Tensor | None, Tensor]
"""Rows int64 [k] (None: all of them, in order), and float64 weights [k]."""


@of_mesh
def integration_weights(
    mesh: Mesh,
    *,
    on: On,
    region: str | Region | None = None,
    rows: Tensor | None = None,
    chance: float | Tensor | None = None,
) -> Tensor:
    """The weights with which values sum up to their integral: `integrate` is the sum of weight
    times value.

    With `rows`, a random subset of the points, cells or faces, each weight is divided by the
    chance that its row was drawn. The sum over the subset is then an unbiased estimate: its mean
    over all draws is the integral, whatever the sizes of the cells.

    Args:
        mesh, on, region: as for `integrate`.
        rows: int64 [k], drawn at random without repeats.
        chance: that a row is drawn: one number, or [k] for rows drawn with different chances.
            By default k / n with n all points, cells or faces: a uniform draw from all of them. A
            uniform draw from the n rows of a region has k / n of that region.

    Returns:
        [n] (0 outside the region), or [k], in the dtype of the points; worked out in float64.
        Differentiable in the points.

    Raises:
        MeshError: as `integrate`; a row is none of the mesh's or comes twice, or a chance is not
            above 0 and at most 1.
    """
    n = n_rows("integration_weights", mesh, on)
    at, weights = weight_rows(mesh, on, region)
    whole = weights if at is None else weights.new_zeros(n).index_add(0, at, weights)
    if rows is None:
        if chance is not None:
            raise MeshError("integration_weights: a chance needs the rows that were drawn")
        return whole.to(mesh.points.dtype)
    _need_rows(rows, n, on)
    drawn = _chances(len(rows) / max(n, 1) if chance is None else chance, len(rows)).to(whole)
    if not bool(((drawn > 0) & (drawn <= 1)).all()) and len(rows):
        wrong = drawn.reshape(-1)[~((drawn > 0) & (drawn <= 1)).reshape(-1)]
        raise MeshError(
            "integration_weights: expected chances above 0 and at most 1, "
            f"found {float(wrong.detach()[0]):.6g}"
        )
    return (whole[rows.long()] / drawn).to(mesh.points.dtype)


def _need_rows(rows: Tensor, n: int, on: On) -> None:
    """Refuse what does not name rows.

    Raises:
        MeshError: the message says what was found.
    """
    need_ids("integration_weights: rows", rows)
    need_known("integration_weights: rows", rows)
    wrong = rows[(rows < 0) | (rows >= n)]
    if len(wrong):
        raise MeshError(
            f"integration_weights: expected rows from 0 to {n - 1} ({on}), found {int(wrong[0])}"
        )
    if not no_repeats(rows.long()):
        twice = torch.sort(rows).values
        row = int(twice[1:][twice.diff() == 0][0])
        raise MeshError(
            f"integration_weights: expected rows without repeats, found row {row} twice; "
            "draw without replacement"
        )


def _chances(given: float | Tensor, n: int) -> Tensor:
    """The chances, one or n."""
    if isinstance(given, Real):
        return torch.tensor(float(given), dtype=torch.float64, device="cpu")
    if isinstance(given, Tensor) and given.shape in ((), (n,)):
        need_known("integration_weights: chance", given)
        return given
    raise MeshError(
        f"integration_weights: expected a chance, or a tensor [{n}] of them, found {shown(given)}"
    )


def weight_rows(mesh: Mesh, on: On, region: str | Region | None) -> Weights:
    """Which rows an integral takes, and their weights; a row may come several times.

    Raises:
        MeshError: as `integrate`.
    """
    need_point_ids(mesh)
    points = in_space(mesh.points).double()
    if region is None:
        if on == "faces":
            return None, _sizes(all_faces(mesh), points)
        return _of_cells(mesh, points, on, None)
    found = found_region(mesh, region)
    if found.entity == "cell" and on != "faces":
        return _of_cells(mesh, points, on, distinct(found.ids))
    if found.entity == "point" and on == "points":
        ids = distinct(found.ids)
        return ids, points.new_ones(len(ids))
    if found.entity == "edge" and on == "points":
        pairs = distinct(torch.sort(found.ids.long(), 1).values)
        half = length(points[pairs[:, 1]] - points[pairs[:, 0]]) / 2
        return torch.cat([pairs[:, 0], pairs[:, 1]]), torch.cat([half, half])
    if found.entity in ("point", "edge"):
        raise MeshError(
            f"region {found.name!r} of {found.entity}s holds no {on}; give values on points"
        )
    return _of_patch(mesh, points, on, found)


def _of_cells(mesh: Mesh, points: Tensor, on: On, ids: Tensor | None) -> Weights:
    cells = top_cells(mesh) if ids is None else mesh.cells.take(ids)
    if on == "points":
        weights = point_shares(cells, points, "linear")
        used = torch.zeros(len(points), dtype=torch.bool, device=points.device)
        used[cells.connectivity.long()] = True
        if bool(used.all()):
            return None, weights
        rows = torch.nonzero(used).squeeze(1)
        return rows, weights[rows]
    rows_of = ids
    if ids is None and cells is not mesh.cells:
        rows_of = torch.nonzero(mesh.cells.dims == mesh.dim).squeeze(1)
    return rows_of, cell_measures(bare(points, cells))


def _of_patch(mesh: Mesh, points: Tensor, on: On, region: Region) -> Weights:
    patch = patch_of(mesh, region)
    if on == "points":
        return _corner_weights(patch, points)
    sizes = _sizes(patch, points)
    if on == "cells":
        share = cell_share(mesh, points, patch)
        inner = torch.nonzero(patch.other >= 0).squeeze(1)
        rows = torch.cat([patch.cell, patch.other[inner]])
        return rows, torch.cat([sizes * share, (sizes * (1 - share))[inner]])
    need_faces(patch)
    return patch.face, sizes


def _sizes(patch: Patch, points: Tensor) -> Tensor:
    """[n]: the area or length of each row of a patch; 1 for an end."""
    if patch.compiled(points):
        return ring_geometry(points, patch.offsets, patch.connectivity, "areas")["areas"]
    out = points.new_zeros(len(patch))
    for part in pieces(patch, points):
        out = out.index_copy(0, part.rows, part.sizes.sum(1))
    return out


def _corner_weights(patch: Patch, points: Tensor) -> Weights:
    if patch.compiled(points):
        return patch.connectivity, corner_weights(points, patch.offsets, patch.connectivity)
    rows, weights = [patch.face[:0]], [points.new_zeros(0)]
    for part in pieces(patch, points):
        rows.append(part.points.reshape(-1))
        weights.append(corner_shares(part.sizes, part.points.shape[1]).reshape(-1))
    return torch.cat(rows), torch.cat(weights)


def corner_shares(sizes: Tensor, k: int) -> Tensor:
    """[m, k]: the integral of each corner's shape function over rings, from the sizes of pieces
    [m, p]; the mean of a ring has the mean of the values at its corners.
    """
    if k <= 3:
        return (sizes / k).expand(-1, k)
    return (sizes + torch.roll(sizes, 1, 1) + sizes.mean(1, keepdim=True)) / 3


def cell_share(mesh: Mesh, points: Tensor, patch: Patch) -> Tensor:
    """[n]: how much the value of `cell` has in the value on the patch; 1 where it is alone.

    Between two cells values are interpolated linearly along the normal: the nearer cell has the
    larger share.
    """
    inner = patch.other >= 0
    if not bool(inner.any()):
        return points.new_ones(len(patch))
    centres = in_space(cell_centroids(mesh.replace(points=points[:, : mesh.points.shape[1]])))
    if patch.compiled(points):
        rings = (points, patch.offsets, patch.connectivity)
        return shares(*rings, centres, patch.cell, patch.other)
    middle, normal = points.new_zeros(len(patch), 3), points.new_zeros(len(patch), 3)
    for part in pieces(patch, points):
        middle = middle.index_copy(0, part.rows, part.at.mean((1, 2)))
        normal = normal.index_copy(0, part.rows, part.vectors.sum(1))
    near = dot(middle - centres[patch.cell], normal).abs()
    far = dot(centres[patch.other.clamp(min=0)] - middle, normal).abs()
    both = near + far
    usable = inner & (both.detach() > 0)
    share = over(far, both, usable, 0.5)
    return torch.where(inner, share, 1.0)
