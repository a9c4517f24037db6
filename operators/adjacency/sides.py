"""Every side of every cell of the highest dimension, as one list of rings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Block, Cells
from meshkit.celltypes import CELL_TYPES, POLYHEDRON
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import side_kernels as compiled
from meshkit.operators.adjacency.templates import need_size, side_template
from meshkit.operators.kernels import Array, array, unset, worth_compiling


@dataclass(frozen=True, eq=False)
class Sides:
    """Each (cell, local face) pair, by cell and then by local face.

    The sides of cell i are of_cell[i] to of_cell[i + 1]; side s is the ring
    connectivity[offsets[s]:offsets[s + 1]], outward from its cell.
    """

    of_cell: Tensor  # int64 [n_cells + 1]
    cell: Tensor  # int64 [n_sides]
    offsets: Tensor  # int64 [n_sides + 1]
    connectivity: Tensor  # int [..], the cells' dtype

    def __len__(self) -> int:
        return len(self.cell)

    def local(self, sides: Tensor) -> Tensor:
        """int64: the local face number of each of these sides; -1 for a side of -1."""
        if len(self) == 0:
            return torch.full_like(sides, -1)
        at = sides.clamp(min=0)
        return torch.where(sides < 0, -1, at - self.of_cell[self.cell[at]])

    def find(self, pairs: Tensor) -> Tensor:
        """int64 [n]: the side of each (cell, local face) [n, 2]; -1 where there is none."""
        cell, local = pairs.long().unbind(1)
        n = len(self.of_cell) - 1
        known = (cell >= 0) & (cell < n) & (local >= 0)
        cell = torch.where(known, cell, 0)
        if n == 0:
            return torch.full_like(cell, -1)
        side = self.of_cell[cell] + local
        return torch.where(known & (side < self.of_cell[cell + 1]), side, -1)


def need_ascending(what: str, offsets: Tensor) -> None:
    """Refuse offsets that fall.

    Raises:
        MeshError: the message names the first row of negative length.
    """
    if worth_compiling(len(offsets), offsets.device) and compiled.ascends(array(offsets)):
        return
    falls = torch.nonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        row = int(falls[0])
        raise MeshError(
            f"{what}: expected to ascend, found {int(offsets[row])} and then "
            f"{int(offsets[row + 1])} at row {row}"
        )


def need_point_ids(mesh: Mesh) -> None:
    """Refuse cells that use a point the mesh does not have, or whose offsets fall.

    Raises:
        MeshError: the message names the first such cell.
    """
    need_rows(mesh.cells)
    low, high = mesh.cells.id_range
    n = mesh.n_points
    if low >= 0 and high < n:
        return
    cells = mesh.cells
    wrong = torch.nonzero((cells.connectivity < 0) | (cells.connectivity >= n))
    if len(wrong):
        at = int(wrong[0])
        cell = int(torch.searchsorted(cells.offsets, at, right=True)) - 1
        found = int(cells.connectivity[at])
        raise MeshError(f"cell {cell}: expected point ids from 0 to {n - 1}, found {found}")
    raise MeshError(
        f"cells.polyhedra: expected point ids from 0 to {n - 1}, found {low if low < 0 else high}"
    )


def need_rows(cells: Cells) -> None:
    """Refuse cells whose offsets fall; looked at once.

    Raises:
        MeshError: the message names the first such row.
    """

    def ascending() -> bool:
        need_ascending("cells.offsets", cells.offsets)
        if cells.polyhedra is not None:
            need_ascending("cells.polyhedra.faces", cells.polyhedra.faces)
            need_ascending("cells.polyhedra.offsets", cells.polyhedra.offsets)
        return True

    cells.memo("ascending", ascending)


def need_polyhedra(cells: Cells) -> None:
    """Refuse polyhedra without faces and faces without polyhedra.

    Raises:
        MeshError: the message says how many of each.
    """
    wanted = len(cells.polyhedron_ids)
    found = 0 if cells.polyhedra is None else len(cells.polyhedra)
    if wanted != found:
        raise MeshError(f"polyhedra: expected faces of {wanted} type-42 cells, found {found}")


def need_sides(block: Block) -> None:
    """Refuse a solid that does not say what its faces are.

    Raises:
        MeshError: the message names the first one and says what to do.
    """
    row = need_size(block)
    if row.shape == "convex_point_set":
        raise MeshError(
            f"cell {int(block.ids[0])}: a {row.name} does not say what its faces are; "
            "give it as a polyhedron or as tetrahedra"
        )


_LEAST: Final = {"poly_line": 2, "polygon": 3, "triangle_strip": 3}
"""How many corners a cell needs to have sides, where its type does not fix its size."""


def need_ring(block: Block) -> None:
    """Refuse a polygon, strip or polyline of too few points to have sides.

    Raises:
        MeshError: the message names the first one.
    """
    row = need_size(block)
    size, order = block.connectivity.shape[1], max(row.order, 1)
    least = _LEAST.get(row.shape, 0) * order
    if row.size is None and (size < least or (row.shape == "polygon" and size % order)):
        multiple = f" and a multiple of {order}" if order > 1 else ""
        raise MeshError(
            f"cell {int(block.ids[0])}: a {row.name} has at least {least} points{multiple}, "
            f"found {size}; select the other cells"
        )


def top_blocks(cells: Cells) -> list[Block]:
    """The blocks of the cells of the highest dimension, sizes checked.

    Raises:
        MeshError: a type is unknown, a size does not fit, or a solid has no faces of its own.
    """
    blocks = []
    for block in cells.blocks:
        row = need_size(block)
        if row.dim == cells.dim:
            need_sides(block)
            need_ring(block)
            blocks.append(block)
    return blocks


def sides(cells: Cells) -> Sides:
    """The sides of the cells of the highest dimension, worked out once.

    Raises:
        MeshError: as `top_blocks`, or polyhedra and their faces do not pair up.
    """

    def make() -> Sides:
        need_polyhedra(cells)
        found = (
            sides_by_kernels(cells)
            if worth_compiling(len(cells.connectivity), cells.types.device)
            else None
        )
        return sides_by_indexing(cells) if found is None else found

    return cells.memo("sides", make)


def sides_by_kernels(cells: Cells) -> Sides | None:
    """In compiled code, on the CPU; None for types whose sides depend on their size."""
    tables = _tables(cells.present, cells.dim)
    if tables is None:
        return None
    least, most, n_sides, n_points, first, starts, local = tables
    none = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64)
    held = cells.polyhedra if cells.dim == 3 else None
    given = () if held is None else (held.faces, held.offsets, held.connectivity)
    solids, rings, ids = (array(x) for x in given) if given else none
    solids, rings = solids.astype(np.int64, copy=False), rings.astype(np.int64, copy=False)
    types, offsets, points = array(cells.types), array(cells.offsets), array(cells.connectivity)
    of_cell = unset(len(types) + 1, torch.int64)
    total = compiled.count_sides(
        types, offsets, least, most, n_sides, n_points, solids, rings, array(of_cell)
    )
    if total < 0:
        top_blocks(cells)  # says which cell is of a wrong size
        return None
    n = int(of_cell[-1])
    cell, ends = unset(n, torch.int64), unset(n + 1, torch.int64)
    out = unset(total, cells.connectivity.dtype)
    compiled.put_sides(
        *(types, offsets, points, first, starts, local),
        *(solids, rings, ids.astype(points.dtype, copy=False)),
        *(array(of_cell), array(cell), array(ends), array(out)),
    )
    return Sides(of_cell, cell, ends, out)


@lru_cache(maxsize=64)
def _tables(present: tuple[int, ...], dim: int) -> tuple[Array, ...] | None:
    """By type number what `side_kernels` asks for, and the rings of all types, as local points."""
    least, most, n_sides, n_points, first = (np.zeros(256, np.int64) for _ in range(5))
    rings: list[tuple[int, ...]] = []
    for number in present:
        row = CELL_TYPES.get(number)
        if row is None or (row.dim == dim and not row.faces and number != POLYHEDRON):
            return None
        least[number] = row.size or len(row.corners or ())
        most[number] = row.size or np.iinfo(np.int64).max
        if row.dim == dim and dim > 0:
            first[number], n_sides[number] = len(rings), len(row.faces)
            n_points[number] = sum(map(len, row.faces))
            if number == POLYHEDRON:
                n_sides[number] = -1
            rings += row.faces
    starts = np.cumsum([0, *map(len, rings)])
    return least, most, n_sides, n_points, first, starts, np.array(sum(rings, ()), np.int64)


def sides_by_indexing(cells: Cells) -> Sides:
    """In torch alone: on any device."""
    n, device = len(cells), cells.types.device
    blocks = [b for b in top_blocks(cells) if cells.dim > 0]
    templates = {
        i: side_template(b.type, b.connectivity.shape[1])
        for i, b in enumerate(blocks)
        if b.type != POLYHEDRON
    }
    solids = cells.polyhedra if cells.dim == 3 else None
    ids = cells.polyhedron_ids
    counts = torch.zeros(n, dtype=torch.int64, device=device)
    lengths = torch.zeros(n, dtype=torch.int64, device=device)  # of all rings of a cell together
    for i, template in templates.items():
        counts[blocks[i].ids] = len(template)
        lengths[blocks[i].ids] = sum(map(len, template))
    if solids is not None:
        counts[ids] = csr.lengths_of(solids.faces).long()
        lengths[ids] = csr.lengths_of(solids.offsets[solids.faces.long()]).long()
    of_cell, starts = csr.offsets_of(counts), csr.offsets_of(lengths)
    sizes = torch.zeros(int(of_cell[-1]), dtype=torch.int64, device=device)
    rings = cells.connectivity.new_empty(int(starts[-1]))
    for i, template in templates.items():
        block = blocks[i]
        size_of = torch.tensor([len(ring) for ring in template], device=device).long()
        flat = torch.tensor([p for ring in template for p in ring], device=device).long()
        sizes[_run(of_cell, block.ids, len(template))] = size_of.expand(len(block.ids), -1)
        rings[_run(starts, block.ids, len(flat))] = block.connectivity[:, flat]
    if solids is not None:
        _, at = csr.take_rows(of_cell, ids)
        sizes[at] = csr.lengths_of(solids.offsets).long()
        _, at = csr.take_rows(starts, ids)
        rings[at] = solids.connectivity.to(rings.dtype)
    return Sides(of_cell, csr.row_of_each(of_cell), csr.offsets_of(sizes), rings)


def _run(starts: Tensor, rows: Tensor, length: int) -> Tensor:
    """int64 [m, length]: the places from the start of each row on."""
    return starts[rows][:, None] + torch.arange(length, device=starts.device)
