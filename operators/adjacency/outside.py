"""The faces without a neighbour, without working out the others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.operators.adjacency import face_kernels as compiled, side_kernels as any_compiled
from meshkit.operators.adjacency.faces import evenly, ids_dtype
from meshkit.operators.adjacency.pairing import Pairing, kernels_pay, one_shape, pairing
from meshkit.operators.adjacency.sides import Sides, sides
from meshkit.operators.kernels import array, unset


@dataclass(frozen=True, eq=False)
class Outside:
    """The boundary rows of computed faces, without the others."""

    offsets: Tensor  # as those of the faces
    connectivity: Tensor
    owner: Tensor  # int64
    local: Tensor  # int64: which side of its owner each is


def outside(cells: Cells) -> Outside:
    """The faces without a neighbour, in the order of `faces`, of cells whose ids were checked."""
    pairs = pairing(cells)
    if not kernels_pay(cells):
        return _outside_by_indexing(cells, pairs)
    partner, shape = array(pairs.partner), one_shape(cells)
    n = len(partner) - 2 * pairs.n_pairs
    owner, local = unset(n, torch.int64), unset(n, torch.int64)
    if shape is None:
        table = sides(cells)
        offsets, points = array(table.offsets), array(table.connectivity)
        n_inside, n_outside = any_compiled.points_of_faces(offsets, partner)
        ends = unset(n + 1, ids_dtype(cells, n_inside + n_outside))
        rings = unset(n_outside, table.connectivity.dtype)
        any_compiled.outer_of_sides(
            *(offsets, array(table.cell), array(table.of_cell), points, partner),
            *(array(ends), array(rings), array(owner), array(local)),
        )
        return Outside(ends, rings, owner, local)
    ids, template = shape
    size = len(template[0])
    rings = unset(n * size, ids.dtype)
    compiled.outer_of_table(template)(
        array(ids).reshape(-1), ids.shape[1], partner, array(rings), array(owner), array(local)
    )
    wanted = ids_dtype(cells, (n + pairs.n_pairs) * size)
    return Outside(evenly(n, size, wanted), rings, owner, local)


def _outside_by_indexing(cells: Cells, pairs: Pairing) -> Outside:
    """In torch alone: on any device."""
    table = sides(cells)
    side = torch.nonzero(pairs.partner < 0).squeeze(1)
    offsets, places = csr.take_rows(table.offsets, side)
    every = int(table.offsets[-1]) - _inner_points(table, pairs.partner)
    offsets = offsets.to(ids_dtype(cells, every))
    return Outside(offsets, table.connectivity[places], table.cell[side], table.local(side))


def _inner_points(table: Sides, partner: Tensor) -> int:
    """How many points the rings of sides have that are faces of another cell as well."""
    side = torch.arange(len(table), device=partner.device)
    twice = (partner >= 0) & (partner < side)
    return int(csr.lengths_of(table.offsets)[twice].sum())
