"""Polyhedra whose faces do not bound a body."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.operators.adjacency.edges import following
from meshkit.operators.adjacency.vertex_sets import (
    lexicographic,
    packed,
    starts_of_runs,
    vertex_set_ids,
)
from meshkit.operators.soundness.finding import Finding, found, places


def of_polyhedra(cells: Cells, ids: Tensor) -> Iterator[Finding]:
    """Faces that do not close or disagree, and points that are not those of the faces.

    On a closed, consistent surface each edge is run through twice, once each way. `ids` are the
    cells' own.
    """
    solids = cells.polyhedra
    if solids is None or len(solids) == 0:
        return
    mine = ids[cells.polyhedron_ids]
    cell = csr.row_of_each(solids.faces)[csr.row_of_each(solids.offsets)]
    a = solids.connectivity.long()
    b = a[following(solids.offsets)]
    real = a != b
    cell, a, b = cell[real], a[real], b[real]
    opened = csr.lengths_of(solids.faces) == 0
    turned = torch.zeros_like(opened)
    if len(a):
        ends = torch.stack([torch.minimum(a, b), torch.maximum(a, b)], 1)
        keys = [cell, *packed(ends, int(ends.max()) + 1)]
        order = lexicographic(keys)
        starts = starts_of_runs(keys, order)
        run = torch.cumsum(starts, 0) - 1
        uses = torch.bincount(run)
        way = torch.where(a < b, 1, -1)[order]
        balance = torch.zeros_like(uses).index_add(0, run, way)
        of_run = cell[order][starts]
        opened[of_run[uses != 2]] = True
        turned[of_run[(uses == 2) & (balance != 0)]] = True
    what = "an edge that is not on exactly two faces"
    yield from found("open_polyhedron", "error", what, mine[places(opened)])
    what = "faces that disagree about what is outside"
    yield from found("polyhedron_orientation", "error", what, mine[places(turned & ~opened)])
    own_ends, at = csr.take_rows(cells.offsets, cells.polyhedron_ids)
    own_ends, face_ends = own_ends.long(), solids.offsets[solids.faces.long()].long()
    sets, _ = vertex_set_ids(
        torch.cat([own_ends, face_ends[1:] + own_ends[-1]]),
        torch.cat([cells.connectivity[at].long(), solids.connectivity.long()]),
    )
    differ = sets[: len(solids)] != sets[len(solids) :]
    what = "other points than those of the faces"
    yield from found("polyhedron_points", "warning", what, mine[places(differ)])
