"""Solids that are star-shaped beyond doubt, told without taking them apart."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES, Template
from meshkit.operators.adjacency.templates import corners

_AT_ONCE: Final = 1 << 14
"""Cells that are worked on together, so that what lies between stays in the cache."""

_ROUNDING: Final = 64
"""Bound on the rounding of a tet's volume, in eps of the cube of the cell's extent."""


def surely_star_shaped(cells: Cells, points: Tensor) -> Tensor:
    """Which solids have a fan of tets of positive volume only, by more than rounding.

    The fan is that of `simplices`: between the edges of each face, the face's vertex mean and the
    cell's. Where the answer is False nothing is known: polyhedra and cells that are not solids
    are not looked at.

    Args:
        cells: of known types and sizes.
        points: float32 or float64 [n_points, 3].

    Returns:
        bool [n_cells]. Cells with NaN are not sure.
    """
    sure = torch.zeros(len(cells), dtype=torch.bool, device=points.device)
    for block in cells.blocks:
        row = CELL_TYPES[block.type]
        if row.dim != 3 or not row.faces:
            continue
        at = list(corners(row, block.connectivity.shape[1]))
        place = {p: i for i, p in enumerate(at)}
        rings = tuple(tuple(place[p] for p in ring) for ring in row.faces)
        parts = (torch.split(x, _AT_ONCE) for x in (block.ids, block.connectivity))
        for ids, some in zip(*parts, strict=True):
            sure[ids] = _surely(points[some[:, at].long()], rings)
    return sure


def _surely(x: Tensor, rings: Template) -> Tensor:
    """bool [m], of corners [m, k, 3] and the faces among them."""
    at = (x - x.mean(1, keepdim=True)).permute(2, 1, 0).contiguous()  # rows of cells
    bound = _ROUNDING * torch.finfo(x.dtype).eps * at.abs().amax((0, 1)) ** 3
    sure = torch.ones_like(bound, dtype=torch.bool)
    for ring in rings:
        begin = at[:, list(ring)]
        end = at[:, [*ring[1:], ring[0]]]
        volumes = (begin.mean(1, keepdim=True) * torch.linalg.cross(begin, end, dim=0)).sum(0)
        sure &= volumes.amin(0) > bound
    return sure
