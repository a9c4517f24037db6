"""Which two sides of cells are the two sides of one face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import Template, cell_type
from meshkit.operators.adjacency import matching_kernels as compiled
from meshkit.operators.adjacency.sides import need_polyhedra, sides, top_blocks
from meshkit.operators.adjacency.templates import known_type
from meshkit.operators.adjacency.vertex_sets import first_of_each, last_of_each, vertex_set_ids
from meshkit.operators.kernels import array, over_rows

MOST: Final = 2**31 - 2
"""Kernels number points and sides with 31 bits; larger meshes are sorted."""
WORTH_COMPILING: Final = 1 << 15
"""Below as many ids the answer comes sooner by sorting than a compiled kernel is loaded."""


@dataclass(frozen=True, eq=False)
class Pairing:
    """For each side the other side of its face. Sides are numbered as `sides(cells)` does."""

    partner: Tensor  # int [n_sides]: -1 where there is none; int32 where that is enough
    crowd: Tensor  # int64 [c]: the sides that more than two cells share, ascending
    crowd_set: Tensor  # int64 [c]: which of them are the same, numbered by their lowest side


def pairing(cells: Cells) -> Pairing:
    """Which sides of the cells of dimension `cells.dim` meet, worked out once.

    Two sides meet when they are of different cells, have the same set of points, at least as many
    as the dimension (one on curves), and no third side has that set. Ids must have been checked.

    Raises:
        MeshError: as `sides`.
    """

    def make() -> Pairing:
        return paired_by_kernels(cells) if kernels_pay(cells) else paired_by_sorting(cells)

    return cells.memo("pairing", make)


def kernels_pay(cells: Cells) -> bool:
    """Whether compiled kernels answer for these cells: on the CPU, neither small nor too large."""
    n = len(cells.connectivity)
    fits = n <= MOST // 8 and cells.id_range[1] <= MOST
    return worth_compiling(n, cells.types.device) and fits


def worth_compiling(n: int, device: torch.device) -> bool:
    """Whether compiled code is the faster way through n ids on this device."""
    return device.type == "cpu" and n >= WORTH_COMPILING


def need_dim_points(dim: int) -> int:
    """How many distinct points a side needs to be one: a triangle's, a line's, a point."""
    return max(dim, 1)


def paired_by_sorting(cells: Cells) -> Pairing:
    """The pairing through sorted keys, in torch alone: on any device."""
    table = sides(cells)
    n = len(table)
    ids, count = vertex_set_ids(table.offsets, table.connectivity, least=need_dim_points(cells.dim))
    partner = torch.full((n,), -1, dtype=torch.int64, device=ids.device)
    members = torch.bincount(ids[ids >= 0], minlength=count)
    first, last = first_of_each(ids, count), last_of_each(ids, count)
    pairs = torch.nonzero(members == 2).squeeze(1)
    a, b = first[pairs], last[pairs]
    apart = table.cell[a] != table.cell[b]
    a, b = a[apart], b[apart]
    partner[a], partner[b] = b, a
    crowd, low = a[:0], a[:0]
    if count:
        crowd = torch.nonzero((ids >= 0) & (members[ids.clamp(min=0)] > 2)).squeeze(1)
        low = first[ids[crowd]]
    return Pairing(partner.to(side_dtype(n)), crowd, torch.unique(low, return_inverse=True)[1])


def side_dtype(n: int) -> torch.dtype:
    """int32 where that is enough to number n sides."""
    return torch.int32 if n <= MOST else torch.int64


def one_shape(cells: Cells) -> tuple[Tensor, Template] | None:
    """Points [n_cells, k] and template of sides, where all cells are of one shape with kernels.

    These are tetrahedra, hexahedra, triangles and quads, also of high order.

    Raises:
        MeshError: as `sides`.
    """
    number = cells.uniform
    row = None if number is None else known_type(number, 0)
    if row is None or number is None or row.faces not in _HAVE_KERNELS:
        return None
    if row.size is None or not compiled.all_of_size(array(cells.offsets), row.size):
        top_blocks(cells)  # says which cell is of a wrong size
        return None
    return cells.connectivity.view(-1, row.size), row.faces


_HAVE_KERNELS: Final = {
    cell_type(name).faces for name in ("tetra", "hexahedron", "triangle", "quad")
}
"""Each shape costs compiling, so only the common ones have kernels of their own."""


def paired_by_kernels(cells: Cells) -> Pairing:
    """The pairing through buckets, in compiled code: on the CPU."""
    need_polyhedra(cells)
    n_points = cells.id_range[1] + 1
    counts = np.zeros(n_points + 1, np.uint32)
    shape = one_shape(cells)
    offsets = rings = cell_of = np.zeros(0, np.int64)
    if shape is not None:
        table, template = shape
        k, per_cell = table.shape[1], len(template)
        n, width, many = len(table) * per_cell, len(template[0]), False
        rings = array(table).reshape(-1)
        count, put = compiled.table_kernels(template)
        count(rings, k, counts)
        starts = np.cumsum(counts, dtype=np.uint32)
        ends, rows = starts[:-1].copy(), np.empty(n * width, np.uint32)
        put(rings, k, ends, rows)
    else:
        every = sides(cells)
        n, per_cell = len(every), 0
        longest = int(csr.lengths_of(every.offsets).max()) if n else 0
        width, many = min(max(longest, need_dim_points(cells.dim)), 4), longest > 4
        offsets, rings, cell_of = array(every.offsets), array(every.connectivity), array(every.cell)
        compiled.count_lows_of_rings(offsets, rings, counts)
        starts = np.cumsum(counts, dtype=np.uint32)
        ends, rows = starts[:-1].copy(), np.empty(n * width, np.uint32)
        compiled.put_rings(offsets, rings, width, need_dim_points(cells.dim), ends, rows)
    partner = np.full(n, -1, np.int32)
    crowds = np.empty(n_points, np.int64)
    over_rows(
        compiled.pair(width, many),
        n_points,
        *(starts, ends, rows, per_cell, cell_of, offsets, rings, partner, crowds),
    )
    found = torch.from_numpy(partner)
    if not crowds.any():
        none = torch.zeros(0, dtype=torch.int64)
        return Pairing(found, none, none)
    crowd = torch.nonzero(found <= compiled.CROWD).squeeze(1)
    low = compiled.CROWD - found[crowd].long()
    found[crowd] = -1
    return Pairing(found, crowd, torch.unique(low, return_inverse=True)[1])
