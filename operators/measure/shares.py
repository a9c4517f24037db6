"""How the measure of cells is shared among their points."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Block, Cells
from meshkit.celltypes import POLYHEDRON, CellType
from meshkit.operators.adjacency.sides import need_polyhedra, need_sides
from meshkit.operators.adjacency.templates import corners, known_type, need_size
from meshkit.operators.measure import share_kernel as compiled
from meshkit.operators.measure.coordinates import cross, dot, length, over, plain
from meshkit.operators.measure.curved import curved_shares
from meshkit.operators.measure.elements import has_element
from meshkit.operators.measure.fan import area_vector, triangles
from meshkit.operators.measure.rings import AT_ONCE, ring_table, solid_rings, surface_rings
from meshkit.operators.measure.solid_kernel import polyhedron_corners

Rule = Literal["dual", "linear"]
"""dual: each point has what is nearest to it. linear: each has the integral of its own shape
function in the fan, where the means of faces and cells have the mean of the values around."""


def point_shares(cells: Cells, points: Tensor, rule: Rule) -> Tensor:
    """[n_points]: the measure of the cells, of whatever dimension, shared among their points.

    Args:
        cells: point ids in range.
        points: [n_points, 3].
        rule: how. Both sum up to the measures of the cells (dual: of their corners).

    Raises:
        MeshError: as `cell_measures`.
    """
    need_polyhedra(cells)
    if plain(points):
        return _compiled(cells, points, rule)
    out = points.new_zeros(len(points))
    through_corners = rule == "dual"
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if block.type == POLYHEDRON:
            continue
        need_sides(block) if row.dim == 3 else need_size(block)
        if has_element(row) and not through_corners:
            for ids, some in curved_shares(row, block, cells.degrees, points):
                out = out.index_add(0, ids.reshape(-1), some.reshape(-1))
        elif row.dim == 1 or row.shape == "tetra":
            out = _straight(out, row, block, points)
    for flat in surface_rings(cells, curved=through_corners):
        share = _of_triangles if flat.points.shape[1] == 3 else _of_polygons
        some = share(points[flat.points], rule)
        out = out.index_add(0, flat.points.reshape(-1), some.reshape(-1))
    return _of_solids(out, cells, points, rule)


def _compiled(cells: Cells, points: Tensor, rule: Rule) -> Tensor:
    linear = rule == "linear"
    out = torch.zeros(len(points), dtype=torch.float64, device="cpu")
    curved = {}
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if block.type == POLYHEDRON:
            continue
        need_sides(block) if row.dim == 3 else need_size(block)
        if has_element(row) and linear:
            curved[block.type] = row
            for ids, some in curved_shares(row, block, cells.degrees, points.double()):
                out = out.index_add(0, ids.reshape(-1), some.reshape(-1))
        elif row.dim == 1:
            out = _straight(out, row, block, points.double())
        elif row.dim == 3:
            local = corners(row, block.connectivity.shape[1])
            compiled.share_solids(points, row, block.connectivity[:, list(local)], linear, out)
    flat = cells
    if any(row.dim == 2 for row in curved.values()):
        kept = [b.ids for b in cells.blocks if b.type not in curved]
        flat = cells.take(torch.sort(torch.cat([*kept, cells.polyhedron_ids[:0]])).values)
    compiled.share_rings(points, ring_table(flat), linear, out)
    solids = cells.polyhedra
    if solids is not None:
        faces = (solids.faces, solids.offsets, solids.connectivity)
        compiled.share_polyhedra(points, polyhedron_corners(cells), faces, linear, out)
    return out.to(points.dtype)


def _straight(out: Tensor, row: CellType, block: Block, points: Tensor) -> Tensor:
    """Lines and tets: the same share for each corner, by either rule."""
    local = list(corners(row, block.connectivity.shape[1]))
    for table in torch.split(block.connectivity, AT_ONCE):
        ids = table[:, local].long()
        x = points[ids]
        if row.dim == 3:
            a, b, c, d = x.unbind(1)
            share = (dot(cross(b - a, c - a), d - a) / 24)[:, None].expand(-1, 4)
            out = out.index_add(0, ids.reshape(-1), share.reshape(-1))
        elif x.shape[1] > 1:
            half = length(x[:, 1:] - x[:, :-1]) / 2
            out = out.index_add(0, ids[:, :-1].reshape(-1), half.reshape(-1))
            out = out.index_add(0, ids[:, 1:].reshape(-1), half.reshape(-1))
    return out


def _of_triangles(x: Tensor, rule: Rule) -> Tensor:
    """[m, 3]: by the dual rule what lies nearest to each corner, held inside the triangle.

    The part of corner i is (|e_j|^2 cot_j + |e_k|^2 cot_k) / 8, e the edges at i, cot of the
    angles across from them. Where an angle is obtuse, half goes to its corner, a quarter to each
    of the others; at a right angle both say the same.
    """
    twice = length(cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]))
    if rule == "linear":
        return (twice / 6)[:, None].expand(-1, 3)
    forth, back = torch.roll(x, -1, 1) - x, torch.roll(x, 1, 1) - x
    along = dot(forth, back)  # |a| |b| cos of the angle at each corner
    obtuse = along.detach() < 0
    sharp = ~obtuse.any(1) & (twice.detach() != 0)
    cot = over(along, twice, sharp, 0.0)
    squared = dot(forth, forth)  # of the edge from corner i to i + 1, across from i + 2
    part = squared * torch.roll(cot, -2, 1)
    nearest = (part + torch.roll(part, 1, 1)) / 8
    held = (twice / 8)[:, None] * torch.where(obtuse, 2.0, 1.0).to(x.dtype)
    # A triangle without area and without an obtuse angle has nothing to share.
    return torch.where(sharp[:, None], nearest, held)


def _of_polygons(x: Tensor, rule: Rule) -> Tensor:
    """[m, k]: of the fan from the vertex mean."""
    parts = triangles(x - x.mean(1, keepdim=True))
    facing = dot(parts.detach(), area_vector(x.detach())[:, None])
    return _of_fan(length(parts) * torch.where(facing < 0, -1.0, 1.0).to(x.dtype), rule, 3)


def _of_fan(parts: Tensor, rule: Rule, corners_each: int) -> Tensor:
    """[m, k]: the parts between corners i and i + 1 of a fan, shared among the corners.

    By the linear rule each part has as many corners as a simplex; what belongs to the mean of
    the ring goes to all its corners alike (and what belongs to that of the cell is left out).
    """
    both = parts + torch.roll(parts, 1, 1)
    if rule == "dual":
        return both / 2
    return (both + parts.mean(1, keepdim=True)) / corners_each


def _of_solids(out: Tensor, cells: Cells, points: Tensor, rule: Rule) -> Tensor:
    """The solids that are no tets."""
    volume = points.new_zeros(len(cells))
    for rings in solid_rings(cells, points, curved=rule == "dual"):
        k = rings.at.shape[1]
        middle = rings.at.mean(1, keepdim=True)
        if k == 3:
            whole = dot(middle[:, 0], area_vector(rings.at)) / 3
            share = (whole / (3 if rule == "dual" else 4))[:, None].expand(-1, 3)
        else:
            parts = dot(middle, triangles(rings.at - middle)) / 3
            whole = parts.sum(1)
            share = _of_fan(parts, rule, 4)
        out = out.index_add(0, rings.points.reshape(-1), share.reshape(-1))
        volume = volume.index_add(0, rings.cell, whole)
    if rule == "dual":
        return out
    # A quarter of each tet belongs to the cell's vertex mean, and so to all its corners.
    quarter = volume / 4
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if row.dim != 3 or row.shape == "tetra" or has_element(row) or block.type == POLYHEDRON:
            continue
        ids = block.connectivity[:, list(corners(row, block.connectivity.shape[1]))].long()
        share = (quarter[block.ids] / ids.shape[1])[:, None].expand_as(ids)
        out = out.index_add(0, ids.reshape(-1), share.reshape(-1))
    if cells.polyhedra is not None:
        ends, places = csr.take_rows(cells.offsets, cells.polyhedron_ids)
        share = quarter[cells.polyhedron_ids] / csr.lengths_of(ends).clamp(min=1)
        ids = cells.connectivity.long()[places]
        out = out.index_add(0, ids, share[csr.row_of_each(ends)])
    return out
