"""The polyhedra that a table of faces bounds."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.derived_polyhedra import DerivedPolyhedra, Parts
from meshkit.faces import Faces
from meshkit.operators.adjacency.neighbours import by_sorting
from meshkit.operators.adjacency.row_kernels import count_faces, put_faces
from meshkit.operators.kernels import Array, array, kernel, unset, worth_compiling


def polyhedra_of_faces(table: Faces, cells: Tensor) -> DerivedPolyhedra:
    """Polyhedra out of owners and neighbours, whose own lists of faces are made on first use.

    Each lists the faces of which it is owner or neighbour by ascending id, the ring as the table
    has it where it is the owner, else reversed with the first point kept: so seen from outside.

    Args:
        table: faces whose area vectors point from owner to neighbour; ids that were checked.
        cells: int [n_polyhedra], which cells are polyhedra, ascending.

    Returns:
        Ids in the dtype of the table's rings, int64 where that is too small for their number.
        Exact; made where the tensors lie.
    """
    return DerivedPolyhedra(len(cells), (*table.sources, cells), rings_of_cells)


def rings_of_cells(
    offsets: Tensor, connectivity: Tensor, owner: Tensor, neighbour: Tensor, cells: Tensor
) -> Parts:
    """What `Polyhedra` holds, of these cells of a table of faces: see `polyhedra_of_faces`."""
    table = Faces(offsets, connectivity, owner, neighbour)
    if worth_compiling(len(connectivity), connectivity.device):
        return rings_by_kernels(table, cells)
    return rings_by_sorting(table, cells)


def _most_sides(table: Faces) -> int:
    """More ring points than this no cells have together."""
    return 2 * len(table.connectivity)


def _offsets_dtype(table: Faces) -> torch.dtype:
    dtype = table.connectivity.dtype
    return dtype if _most_sides(table) <= torch.iinfo(dtype).max else torch.int64


def rings_by_sorting(table: Faces, cells: Tensor) -> Parts:
    """In torch alone: on any device."""
    owner, neighbour, wanted = table.owner.long(), table.neighbour.long(), _offsets_dtype(table)
    inner = neighbour >= 0
    face = torch.arange(len(table), device=owner.device)
    of = torch.cat([owner, neighbour[inner]])
    n = int(torch.cat([of, cells.long()]).max()) + 1 if len(of) + len(cells) else 0
    around = by_sorting(of, torch.cat([face, face[inner]]), n, len(table))
    starts, places = csr.take_rows(around.offsets, cells)
    side = around.indices[places]
    mine = cells.long()[csr.row_of_each(starts)]
    rings, at = csr.take_rows(table.offsets, side)
    seen = Faces(rings, table.connectivity[at], mine, mine).flipped(owner[side] != mine)
    return starts.to(wanted), rings.to(wanted), seen.connectivity


def rings_by_kernels(table: Faces, cells: Tensor) -> Parts:
    """In compiled code: on the CPU."""
    given = [array(x) for x in table.sources]
    dtype = np.result_type(*given)
    offsets, ring, owner, neighbour = (x.astype(dtype, copy=False) for x in given)
    which = array(cells)
    most = int(max(owner.max(initial=-1), neighbour.max(initial=-1), which.max(initial=-1)))
    begins = np.zeros(most + 2, dtype)
    count_faces(owner, neighbour, begins)
    np.cumsum(begins, out=begins)
    side = np.empty(int(begins[-1]), dtype)
    put_faces(owner, neighbour, begins[:-1].copy(), side)
    wanted = _offsets_dtype(table)
    starts = unset(len(which) + 1, wanted)
    _count_rings(which, begins, array(starts))
    rings = unset(int(starts[-1]) + 1, wanted)
    _count_points(which, begins, side, offsets, array(rings))
    out = unset(int(rings[-1]), table.connectivity.dtype)
    _write_rings(which, begins, side, offsets, ring, owner, array(out))
    return starts, rings, out


@kernel
def _count_rings(cells: Array, begins: Array, starts: Array) -> None:
    starts[0] = 0
    for i in range(len(cells)):
        starts[i + 1] = starts[i] + (begins[cells[i] + 1] - begins[cells[i]])


@kernel
def _count_points(cells: Array, begins: Array, side: Array, offsets: Array, rings: Array) -> None:
    rings[0] = 0
    n = 0
    for cell in cells:
        for at in range(begins[cell], begins[cell + 1]):
            face = side[at]
            rings[n + 1] = rings[n] + (offsets[face + 1] - offsets[face])
            n += 1


@kernel
def _write_rings(
    cells: Array, begins: Array, side: Array, offsets: Array, ring: Array, owner: Array, out: Array
) -> None:
    n = 0
    for cell in cells:
        for at in range(begins[cell], begins[cell + 1]):
            face = side[at]
            begin, end = offsets[face], offsets[face + 1]
            if owner[face] == cell:
                for i in range(begin, end):
                    out[n] = ring[i]
                    n += 1
            elif end > begin:
                out[n] = ring[begin]
                n += 1
                for i in range(end - 1, begin, -1):
                    out[n] = ring[i]
                    n += 1
