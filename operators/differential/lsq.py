"""The least-squares gradient as a sparse map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from meshkit.operators.adjacency.neighbours import Adjacency
from meshkit.operators.differential.bands import bands
from meshkit.operators.differential.forms import gradient_form
from meshkit.operators.differential.least_squares import least_squares
from meshkit.operators.differential.samples import On, Samples
from meshkit.operators.differential.sparse_map import Part, SparseMap
from meshkit.operators.differential.wider import first_ring, next_ring, with_more

_WELL: Final[dict[On, float]] = {"cells": 0.2, "points": 0.5}
"""Neighbours that span less of the row's size are too few or almost in one plane. A point whose
edges lie along those of one hexahedron spans 8, a tet inside others 0.9."""

_ENOUGH: Final = 0.02
"""What the widest stencil must span; below it the gradient is not determined."""

_RINGS: Final = 3
"""How far a stencil may reach: neighbours of neighbours of neighbours."""


@dataclass(frozen=True, eq=False)
class Extra:
    """Values beyond those of the points or cells: on boundary faces."""

    positions: Tensor  # float64 [k, d]
    row: Tensor  # int64 [e]: which point or cell ...
    value: Tensor  # int64 [e]: ... has which of them as a neighbour


def lsq_map(
    where: Samples, extra: Extra | None, power: float, dtype: torch.dtype
) -> tuple[SparseMap, Tensor]:
    """The gradient at each row from its neighbours, and which rows have one, bool [n].

    Columns are the values of the field and, after them, the extra ones.
    """
    n, d = where.positions.shape
    positions, ring = where.positions, where.neighbours
    if extra is not None:
        positions = torch.cat([positions, extra.positions])
        ring = with_more(ring, extra.row, n + extra.value)
    span, well = where.size.new_zeros(n), _WELL[where.on]

    def solved(some: Tensor | None, ring: Adjacency) -> list[Part]:
        """The parts of some rows, whose spans are noted."""
        nonlocal span
        parts = []
        for band in bands(ring.offsets):
            rows = band.rows
            if some is not None:
                rows = some if rows is None else some[rows]
            cols, coefs, found = least_squares(
                positions, rows, band, ring.indices, where.frame, where.size, power, dtype
            )
            # The band of all rows comes first: of those that it holds nothing of others tell.
            if rows is None:
                span = found
            else:
                span[rows] = found
            parts.append(Part(rows, cols, coefs))
        return parts

    parts = solved(None, ring)
    some = torch.nonzero(span < well).squeeze(1)
    some = some[ring.offsets[some + 1] > ring.offsets[some]]
    wide = first_ring(where.neighbours, some)
    for _ in range(1, _RINGS):
        if not len(some):
            break
        parts = [_without(part, some) for part in parts]
        wide = next_ring(where.neighbours, some, wide)
        whole = wide
        if extra is not None:
            place = torch.full((n,), -1, device=some.device)
            place[some] = torch.arange(len(some), device=some.device)
            mine = place[extra.row] >= 0
            whole = with_more(wide, place[extra.row][mine], n + extra.value[mine])
        parts += solved(some, whole)
        short = span[some] < well
        some = some[short]
        wide = first_ring(wide, torch.nonzero(short).squeeze(1))
    lost = some[span[some] < _ENOUGH]
    parts = [_without(part, lost) for part in parts] if len(lost) else parts
    determined = span >= _ENOUGH
    kept = tuple(p for p in parts if p.rows is None or len(p.rows))
    return SparseMap(n, len(positions), gradient_form(d), "own row", kept), determined


def _without(part: Part, rows: Tensor) -> Part:
    """The part, with nothing but padding in these rows."""
    if not len(rows):
        return part
    if part.rows is not None:
        stays = torch.isin(part.rows, rows, invert=True)
        return Part(part.rows[stays], part.cols[:, stays], part.coefs[:, :, stays])
    # The part is ours alone so far, and no derivative goes through what is overwritten.
    part.cols[:, rows] = rows.to(part.cols.dtype)
    coefs = part.coefs.index_fill(2, rows, 0) if part.coefs.requires_grad else part.coefs
    return Part(None, part.cols, coefs.index_fill_(2, rows, 0))
