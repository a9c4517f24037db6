"""Neighbours of neighbours, for rows whose own neighbours do not suffice."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.adjacency.neighbours import Adjacency


def first_ring(neighbours: Adjacency, rows: Tensor) -> Adjacency:
    """The neighbours of some rows."""
    offsets, places = csr.take_rows(neighbours.offsets, rows)
    return Adjacency(offsets.long(), neighbours.indices[places].long())


def next_ring(neighbours: Adjacency, rows: Tensor, ring: Adjacency) -> Adjacency:
    """`ring` of these rows and the neighbours of all in it, but not the row itself.

    Args:
        neighbours: of everything.
        rows: int64 [m].
        ring: one row for each of `rows`.
    """
    n = max(len(neighbours), 1)
    offsets, places = csr.take_rows(neighbours.offsets, ring.indices)
    local = csr.row_of_each(ring.offsets)
    more = neighbours.indices.long()[places]
    row = torch.cat([local, local[csr.row_of_each(offsets)]])
    col = torch.cat([ring.indices, more])
    apart = col != rows[row]
    key = torch.unique(row[apart] * n + col[apart])
    counts = torch.bincount(key // n, minlength=len(rows))
    return Adjacency(csr.offsets_of(counts), key % n)


def with_more(ring: Adjacency, row: Tensor, col: Tensor) -> Adjacency:
    """`ring` with further entries: column `col` in row `row`, int64 [e] each."""
    rows = torch.cat([csr.row_of_each(ring.offsets), row])
    cols = torch.cat([ring.indices.long(), col])
    order = torch.argsort(rows, stable=True)
    counts = torch.bincount(rows, minlength=len(ring))
    return Adjacency(csr.offsets_of(counts), cols[order])
