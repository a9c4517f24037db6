"""Wedges whose source listed them inside out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.operators.measure.elements import element


def wedges_upright(cells: Cells, points: Tensor) -> tuple[Cells, dict[int, int]]:
    """Wedges reordered, all of a type together, where most of that type are inside out.

    No file says which of the two orders it has, so the majority of the signed volumes of a type
    decides; a minority of negative cells stays negative, and is a finding of `check`.

    Args:
        cells: any cells; ids in range.
        points: float [n_points, d]; NaN decides nothing.

    Returns:
        The cells (the same object where nothing changes), and how many of each type number were
        reordered.
    """
    turned: dict[int, int] = {}
    if not any(_is_wedge(number) for number in cells.present) or points.shape[1] < 3:
        return cells, turned
    ids = cells.connectivity
    for block in cells.blocks:
        if not _is_wedge(block.type):
            continue
        corners = points[block.connectivity[:, :6].long()]
        base = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        height = (corners[:, 3:] - corners[:, :3]).sum(1)
        signed = (base * height).sum(1)
        if int((signed < 0).sum()) <= int((signed > 0).sum()):
            continue
        if ids is cells.connectivity:
            ids = ids.clone()
        size = block.connectivity.shape[1]
        for degrees, rows in _by_degrees(cells, block.ids):
            order = torch.tensor(_reversal(block.type, size, degrees), device=ids.device)
            places = cells.offsets[:-1][block.ids[rows]].long()[:, None]
            places = places + torch.arange(size, device=ids.device)
            ids[places] = block.connectivity[rows][:, order]
        turned[block.type] = turned.get(block.type, 0) + len(block.ids)
    return (replace(cells, connectivity=ids) if turned else cells), turned


def _is_wedge(number: int) -> bool:
    return number in CELL_TYPES and CELL_TYPES[number].shape == "wedge"


Degrees = tuple[int, int, int] | None


def _by_degrees(cells: Cells, ids: Tensor) -> Iterator[tuple[Degrees, Tensor]]:
    """Rows of a block by the degrees of their cells; all rows where the cells have none."""
    if cells.degrees is None:
        yield None, torch.arange(len(ids), device=ids.device)
        return
    kinds, which = torch.unique(cells.degrees[ids].long(), dim=0, return_inverse=True)
    for i, (p, q, r) in enumerate(kinds.tolist()):
        yield (p, q, r), torch.nonzero(which == i).squeeze(1)


@cache
def _reversal(number: int, size: int, degrees: Degrees) -> tuple[int, ...]:
    """Which point stands at each place once the first two axes of the wedge are exchanged.

    Points 1 and 2, and 4 and 5, change places, and the points between them with them: what VTK
    up to 9.6 wrote, read as VTK from 9.7 and the finite elements do.
    """
    row = CELL_TYPES[number]
    if row.order == 1:
        return (0, 2, 1, 3, 5, 4)
    # Bezier cells have the points of Lagrange cells.
    made = element(row.name.replace("bezier", "lagrange"), row.shape, size, degrees)
    if made is None:
        raise MeshError(f"the points of a {row.name} are not known")
    place = {node: i for i, node in enumerate(made.nodes)}
    return tuple(place[s, r, t] for r, s, t in made.nodes)
