"""Regions that name what is not there, or name it twice."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.inheritance import looked_up
from meshkit.operators.soundness.finding import Finding, found, places
from meshkit.regions import Region


def of_regions(mesh: Mesh, side_counts: Tensor | None) -> Iterator[Finding]:
    """Ids out of range and ids that repeat, one finding a region.

    Args:
        mesh: any.
        side_counts: int64 [n_cells], how many sides each cell has, -1 where unknown; None where
            nothing is known of sides.
    """
    for region in mesh.regions:
        yield from of_range(mesh, region, side_counts)
        ids = region.ids.long()
        if region.entity == "edge":
            ids = torch.sort(ids, 1).values
        if len(ids) == 0:
            continue
        _, which = torch.unique(ids, dim=0, return_inverse=True)
        order = torch.argsort(which, stable=True)
        same = which[order][1:] == which[order][:-1]
        again = torch.sort(order[1:][same]).values
        what = f"{_named(region)} names something twice"
        yield from found("region_repeated", "warning", what, again, "rows")


def of_range(mesh: Mesh, region: Region, side_counts: Tensor | None) -> Iterator[Finding]:
    """Ids of one region that are out of range; `side_counts` as in `of_regions`."""
    outside = _outside(mesh, region, side_counts)
    what = f"{_named(region)} names what is not there"
    yield from found("region_out_of_range", "error", what, places(outside), "rows")


def _named(region: Region) -> str:
    return f"region {region.name!r} of {region.entity}s"


def _outside(mesh: Mesh, region: Region, side_counts: Tensor | None) -> Tensor:
    """bool [n]: rows that name no point, cell, side or face."""
    ids = region.ids.long()
    faces = 0 if mesh.faces is None else len(mesh.faces)
    top = {"point": mesh.n_points, "edge": mesh.n_points, "face": faces}.get(
        region.entity, mesh.n_cells
    )
    if region.entity != "side":
        wrong = (ids < 0) | (ids >= top)
        return wrong.any(1) if wrong.ndim == 2 else wrong
    cell, local = ids.unbind(1)
    wrong = (cell < 0) | (cell >= top) | (local < 0)
    if side_counts is None:
        return wrong
    count = looked_up(side_counts, cell)
    return wrong | ((count >= 0) & (local >= count))
