"""Cells taken apart into simplices around their vertex means: the topology of it.

The parts are those whose measures `cell_measures` sums: triangles between an edge of a ring and
its vertex mean, tets between such a triangle and the cell's vertex mean. A triangle has no mean
point of its own, a simplex is its own part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Block, Cells
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, CellType, Template
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import corner_rings
from meshkit.operators.adjacency.sides import (
    Sides,
    need_point_ids,
    need_polyhedra,
    need_sides,
    sides,
)
from meshkit.operators.adjacency.templates import corners, known_type, need_size, strip_triangles
from meshkit.operators.adjacency.vertex_sets import first_of_each, tables, vertex_set_ids
from meshkit.operators.inheritance import GONE

MIDDLE: Final = -1
"""In a template, the vertex mean of the cell."""
FACE: Final = -2
"""In a template, FACE - f is the vertex mean of local face f."""

_OUTSIDE: Final = 3
"""The local face (0, 2, 1) of a tet, which lies on the face of the cell it is a part of."""


@dataclass(frozen=True, eq=False)
class Split:
    """The simplices of the cells of a mesh, by cell and then by local face."""

    points: Tensor  # int64 [n, 4]: -1 where a simplex has fewer corners
    parent: Tensor  # int64 [n], ascending
    of_cell: Tensor  # int64 [n_cells + 1]
    whole: Tensor  # bool [n_cells]: the cell is one simplex, through its corners
    mean_offsets: Tensor  # int64 [n_added + 1]: the added points, each ...
    mean_points: Tensor  # int64 [..]: ... the mean of these


def split(mesh: Mesh) -> Split:
    """Which simplices the cells of every dimension consist of.

    Added points come after the mesh's own: one for each set of more than three corners that is a
    face of a solid or a surface cell, so that both sides of a face use the same; then one for
    each solid that is no tet.

    Raises:
        MeshError: a point id is out of range, a type is unknown, a size is wrong, or a convex
            point set does not say what its faces are.
    """
    need_point_ids(mesh)
    cells = mesh.cells
    need_polyhedra(cells)
    templates = dict(_templates(cells))
    counts = torch.zeros(len(cells), dtype=torch.int64, device=cells.types.device)
    whole = torch.zeros(len(cells), dtype=torch.bool, device=cells.types.device)
    for block, template in templates.values():
        counts[block.ids] = len(template)
        whole[block.ids] = len(template) == 1
    solids = cells.polyhedra
    if solids is not None:
        each = _parts_of_rings(solids.offsets)
        ends = csr.offsets_of(each)[solids.faces.long()]
        counts[cells.polyhedron_ids] = csr.lengths_of(ends)
    of_cell = csr.offsets_of(counts)
    means = _means(cells, mesh.n_points)
    out = torch.full((int(of_cell[-1]), 4), GONE, dtype=torch.int64, device=counts.device)
    for block, template in templates.values():
        if template:
            at = of_cell[block.ids][:, None] + torch.arange(len(template), device=out.device)
            width = len(template[0])
            out[at, :width] = _filled(block, template, means)
    if solids is not None:
        _fill_polyhedra(out, cells, of_cell, means)
    return Split(
        out,
        csr.row_of_each(of_cell),
        of_cell,
        whole,
        means.offsets,
        means.points,
    )


_SIMPLICES: Final = ("vertex", "line", "triangle", "tetra")


def _templates(cells: Cells) -> Iterator[tuple[int, tuple[Block, Template]]]:
    for i, block in enumerate(cells.blocks):
        row = known_type(block.type, int(block.ids[0]))
        if row.dim == 3:
            need_sides(block)
        if block.type != POLYHEDRON:
            need_size(block)
            yield i, (block, part_template(block.type, block.connectivity.shape[1]))


@lru_cache(maxsize=512)
def part_template(number: int, size: int) -> Template:
    """The simplices of a cell of one type: local points, `MIDDLE`, and `FACE` - f."""
    row = CELL_TYPES[number]
    at = corners(row, size)
    if row.shape in _SIMPLICES or (row.shape == "polygon" and len(at) == 3):
        return (at,)
    if row.dim == 0:
        return tuple((p,) for p in at)
    if row.dim == 1:
        return tuple(pairwise(at))
    if row.shape == "triangle_strip":
        return strip_triangles(size)
    if row.dim == 2:
        n = len(at)
        return tuple((at[i], at[(i + 1) % n], MIDDLE) for i in range(n)) if n > 3 else ()
    parts: list[tuple[int, ...]] = []
    for f, ring in enumerate(row.faces):
        # The face looks out of the cell; a tet wants its first three points to look in.
        if len(ring) == 3:
            parts.append((ring[1], ring[0], ring[2], MIDDLE))
            continue
        n = len(ring)
        parts += [(ring[(i + 1) % n], ring[i], FACE - f, MIDDLE) for i in range(n)]
    return tuple(parts)


@lru_cache(maxsize=512)
def side_parts(number: int, size: int) -> tuple[tuple[int, int, int], ...]:
    """Which part of a cell has which local face on which side: (part, its side, cell's side)."""
    row = CELL_TYPES[number]
    parts = part_template(number, size)
    if row.shape in _SIMPLICES or (row.shape == "polygon" and len(parts) == 1):
        return tuple((0, i, i) for i in range({0: 0, 1: 2, 2: 3, 3: 4}[row.dim]))
    if row.dim == 1:
        return ((0, 0, 0), (len(parts) - 1, 1, 1)) if parts else ()
    if row.shape == "triangle_strip":
        return _strip_sides(size) if parts else ()
    if row.dim == 2:
        return tuple((i, 0, i) for i in range(len(parts)))
    owners = [f for f, ring in enumerate(row.faces) for _ in range(_parts_of(len(ring)))]
    return tuple((i, _OUTSIDE, f) for i, f in enumerate(owners))


def _strip_sides(size: int) -> tuple[tuple[int, int, int], ...]:
    """A strip's edge i lies on its triangle i - 1, the first and the last on the ends."""
    inner = ((i - 1, 2 if i % 2 else 1, i) for i in range(1, size - 1))
    return ((0, 0, 0), *inner, (size - 3, 1 if size % 2 else 2, size - 1))


def _parts_of(ring: int) -> int:
    return ring if ring > 3 else 1


def _parts_of_rings(offsets: Tensor) -> Tensor:
    """int64: how many tets stand on each face of a polyhedron; none on fewer than 3 points."""
    size = csr.lengths_of(offsets).long()
    return torch.where(size > 3, size, (size == 3).long())


@dataclass(frozen=True, eq=False)
class _Means:
    """The added points, and where each face and cell finds its own."""

    offsets: Tensor
    points: Tensor
    sides: Sides | None
    of_side: Tensor  # int64 [n_sides]: -1 for triangles
    of_cell: Tensor  # int64 [n_cells]: the middle of surfaces and solids, -1 where there is none


def _means(cells: Cells, n_points: int) -> _Means:
    device = cells.types.device
    table = sides(cells) if cells.dim == 3 else None
    none = torch.zeros(0, dtype=torch.int64, device=device)
    rings = (none.new_zeros(1), cells.connectivity[:0]) if table is None else _rings_of(table)
    flat_ids, flat_offsets, flat = corner_rings(cells, 2)
    n_sides = len(rings[0]) - 1
    offsets = torch.cat([rings[0], flat_offsets[1:] + rings[0][-1]])
    ring = torch.cat([rings[1].long(), flat.long()])
    large = torch.nonzero(csr.lengths_of(offsets) > 3).squeeze(1)
    large_offsets, places = csr.take_rows(offsets, large)
    found, count = vertex_set_ids(large_offsets, ring[places])
    first = torch.sort(first_of_each(found, count)).values  # in order of first appearance
    new = torch.empty(count, dtype=torch.int64, device=device)
    new[found[first]] = n_points + torch.arange(count, device=device)
    of_ring = torch.full((len(offsets) - 1,), GONE, dtype=torch.int64, device=device)
    of_ring[large] = new[found]
    of_cell = torch.full((len(cells),), GONE, dtype=torch.int64, device=device)
    of_cell[flat_ids] = of_ring[n_sides:]
    shared, at = csr.take_rows(large_offsets, first)
    solid_ids, solid_offsets, solid_points = _solids(cells)
    of_cell[solid_ids] = n_points + count + torch.arange(len(solid_ids), device=device)
    return _Means(
        torch.cat([shared, solid_offsets[1:] + shared[-1]]),
        torch.cat([ring[places][at], solid_points]),
        table,
        of_ring[:n_sides],
        of_cell,
    )


def _rings_of(table: Sides) -> tuple[Tensor, Tensor]:
    return table.offsets, table.connectivity


def _solids(cells: Cells) -> tuple[Tensor, Tensor, Tensor]:
    """The solids that need a middle: ids int64 [m], ascending, and their corners."""
    ids: list[Tensor] = []
    for block in cells.blocks:
        row = CELL_TYPES[block.type]
        if row.dim == 3 and row.shape != "tetra":
            ids.append(block.ids)
    if not ids:
        none = torch.zeros(0, dtype=torch.int64, device=cells.types.device)
        return none, none.new_zeros(1), none
    which = torch.sort(torch.cat(ids)).values
    sizes = torch.zeros(len(cells), dtype=torch.int64, device=which.device)
    for block in cells.blocks:
        sizes[block.ids] = len(corners(CELL_TYPES[block.type], block.connectivity.shape[1]))
    offsets = csr.offsets_of(sizes[which])
    # The corners of a solid are its first points, a voxel's in another order.
    begin = torch.repeat_interleave(cells.offsets[:-1].long()[which], sizes[which])
    return which, offsets, cells.connectivity.long()[begin + csr.place_of_each(offsets)]


def _filled(block: Block, template: Template, means: _Means) -> Tensor:
    """int64 [m, parts, width]: the template with the points of each cell."""
    codes = torch.tensor(template, device=block.ids.device)
    out = block.connectivity.long()[:, codes.clamp(min=0).reshape(-1)]
    out = out.reshape(len(block.ids), *codes.shape)
    middle = means.of_cell[block.ids][:, None, None]
    out = torch.where(codes == MIDDLE, middle, out)
    if means.sides is not None and bool((codes <= FACE).any()):
        face = (FACE - codes).clamp(min=0)
        side = means.sides.of_cell[block.ids][:, None, None] + face
        known = codes <= FACE
        side = torch.where(known, side, means.sides.of_cell[block.ids][:, None, None])
        out = torch.where(known, means.of_side[side], out)
    return out


def _fill_polyhedra(out: Tensor, cells: Cells, of_cell: Tensor, means: _Means) -> None:
    """The tets of the polyhedra, written into their places."""
    solids = cells.polyhedra
    if solids is None or means.sides is None:
        return
    each = _parts_of_rings(solids.offsets)
    cell = cells.polyhedron_ids[csr.row_of_each(solids.faces)]
    starts = csr.offsets_of(each)
    # Where the tets on each face begin: the cell's first, and those of its faces before.
    begin = of_cell[cell] + starts[:-1] - starts[solids.faces.long()][csr.row_of_each(solids.faces)]
    side = means.sides.of_cell[cell] + csr.place_of_each(solids.faces)
    for rows, ring in tables(solids.offsets, solids.connectivity):
        k = ring.shape[1]
        if k < 3:
            continue
        ring = ring.long()
        middle = means.of_cell[cell[rows]]
        if k == 3:
            out[begin[rows]] = torch.cat([ring[:, [1, 0, 2]], middle[:, None]], 1)
            continue
        at = begin[rows][:, None] + torch.arange(k, device=out.device)
        across = means.of_side[side[rows]][:, None].expand(-1, k)
        apex = middle[:, None].expand(-1, k)
        out[at] = torch.stack([torch.roll(ring, -1, 1), ring, across, apex], 2)


def parts_on_sides(cells: Cells, of_cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which part of which cell lies on each side: side, part and the part's own local face.

    Args:
        cells: of which only those of the highest dimension have sides.
        of_cell: int64 [n_cells + 1], where the parts of each cell start.

    Returns:
        int64 [m] each, ascending by side and part.
    """
    table = sides(cells)
    rows: list[tuple[Tensor, Tensor, Tensor]] = []
    for block in cells.blocks:
        row: CellType = CELL_TYPES[block.type]
        if row.dim != cells.dim or block.type == POLYHEDRON:
            continue
        pairs = side_parts(block.type, block.connectivity.shape[1])
        if pairs:
            part, own, side = torch.tensor(pairs, device=of_cell.device).unbind(1)
            part = of_cell[block.ids][:, None] + part
            side = table.of_cell[block.ids][:, None] + side
            rows.append((side.reshape(-1), part.reshape(-1), own.expand_as(part).reshape(-1)))
    if cells.polyhedra is not None and cells.dim == 3:
        solids = cells.polyhedra
        each = _parts_of_rings(solids.offsets)
        ids = cells.polyhedron_ids
        _, part = csr.take_rows(of_cell, ids)
        _, side_of = csr.take_rows(table.of_cell, ids)
        rows.append((torch.repeat_interleave(side_of, each), part, torch.full_like(part, _OUTSIDE)))
    if not rows:
        none = of_cell[:0]
        return none, none, none
    side, part, own = (torch.cat(x) for x in zip(*rows, strict=True))
    order = torch.argsort(part, stable=True)
    order = order[torch.argsort(side[order], stable=True)]
    return side[order], part[order], own[order]
