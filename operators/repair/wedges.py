"""Wedges whose source listed them inside out."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES

# The same wedge with points 1 and 2 (and 4 and 5) exchanged, and its mid-edge and mid-face
# points with them: what VTK up to 9.6 wrote, read as VTK from 9.7 and the finite elements do.
_REVERSED: Final[dict[int, tuple[int, ...]]] = {
    13: (0, 2, 1, 3, 5, 4),
    26: (0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9, 12, 14, 13),
    31: (0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9),
    32: (0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9, 12, 14, 13, 17, 16, 15),
}


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
    ids = cells.connectivity
    for block in cells.blocks:
        if CELL_TYPES[block.type].shape != "wedge" or points.shape[1] < 3:
            continue
        corners = points[block.connectivity[:, :6].long()]
        base = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        height = (corners[:, 3:] - corners[:, :3]).sum(1)
        signed = (base * height).sum(1)
        if int((signed < 0).sum()) <= int((signed > 0).sum()):
            continue
        order = torch.tensor(_reversal(block.type, block.connectivity.shape[1]))
        places = cells.offsets[:-1][block.ids].long()[:, None]
        places = places + torch.arange(len(order), device=ids.device)
        if ids is cells.connectivity:
            ids = ids.clone()
        ids[places] = block.connectivity[:, order.to(ids.device)]
        turned[block.type] = turned.get(block.type, 0) + len(block.ids)
    return (replace(cells, connectivity=ids) if turned else cells), turned


def _reversal(number: int, size: int) -> tuple[int, ...]:
    """Which point of the reversed cell each point becomes."""
    return _REVERSED[number]
