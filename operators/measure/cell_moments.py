"""The measure of each cell, and where its middle is: what measures and centroids share."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Block, Cells
from meshkit.celltypes import POLYHEDRON, CellType
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids, need_polyhedra, need_sides
from meshkit.operators.adjacency.templates import corners, known_type, need_size, strip_triangles
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.assembled import Part, assembled
from meshkit.operators.measure.coordinates import (
    cross,
    dot,
    extent,
    in_space,
    length,
    matters,
    over,
    plain,
)
from meshkit.operators.measure.curved import curved_moments
from meshkit.operators.measure.elements import has_element
from meshkit.operators.measure.fan import area_and_moment, cone
from meshkit.operators.measure.ring_kernel import ring_geometry
from meshkit.operators.measure.row_sums import summed
from meshkit.operators.measure.solid_kernel import polyhedron_moments, solid_moments

_AT_ONCE = 1 << 17
"""Cells of one block that are worked on together, to bound the memory of what lies between."""

Moments = tuple[Tensor, Tensor]
"""Measure [m] and centroid [m, 3]; without rows where it was not asked for and costs time."""


def cell_moments(mesh: Mesh, centroids: bool = True) -> Moments:
    """Measures [n_cells] and centroids [n_cells, 3], in a dtype that can be computed in.

    Args:
        mesh: any.
        centroids: whether they are wanted; else theirs is an empty tensor.

    Raises:
        MeshError: a point id is out of range, a type is unknown, a size is wrong, or a convex
            point set does not say what its faces are.
    """
    need_point_ids(mesh)
    need_polyhedra(mesh.cells)
    points = in_space(mesh.points)
    found: list[tuple[Tensor, Moments]] = []
    for block in mesh.cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if row.dim == 3:
            need_sides(block)
        if block.type != POLYHEDRON:
            need_size(block)
            for part in [block] if _compiled(row, points) else _chunks(block):
                found.append((part.ids, _moments(mesh.cells, row, part, points, centroids)))
    if len(mesh.cells.polyhedron_ids):
        ids = mesh.cells.polyhedron_ids
        found.append((ids, _of_polyhedra(mesh.cells, points, centroids)))
    measures: list[Part] = [(ids, measure) for ids, (measure, _) in found]
    middles: list[Part] = [(ids, middle) for ids, (_, middle) in found]
    n = mesh.n_cells
    return (
        assembled(n, measures, points.new_zeros(())),
        assembled(n, middles, points.new_zeros(3)) if centroids else points.new_zeros(0, 3),
    )


def _chunks(block: Block) -> Iterator[Block]:
    some, rows = (torch.split(x, _AT_ONCE) for x in (block.ids, block.connectivity))
    return (Block(block.type, ids, table) for ids, table in zip(some, rows, strict=True))


def _compiled(row: CellType, points: Tensor) -> bool:
    """Whether a compiled loop answers, which has nothing in between to be bounded."""
    looped = row.dim == 3 or (row.dim == 2 and row.shape != "triangle_strip")
    return looped and not has_element(row) and plain(points)


def _moments(cells: Cells, row: CellType, block: Block, points: Tensor, centroids: bool) -> Moments:
    local = corners(row, block.connectivity.shape[1])
    straight = local == tuple(range(block.connectivity.shape[1]))
    table = block.connectivity if straight else block.connectivity[:, list(local)]
    if _compiled(row, points):
        found = _of_polygons(table, points, centroids) if row.dim == 2 else None
        return found or solid_moments(row, table, points, centroids)
    x = points[table.long()]
    middle = x.mean(1)
    curved = curved_moments(row, block, cells.degrees, points)
    if curved is not None:
        measure, offset = curved
    else:
        measure, offset = _straight(row, local, x - middle[:, None])
    return measure, middle + offset


def _straight(row: CellType, local: tuple[int, ...], x: Tensor) -> Moments:
    """Measure, and centroid relative to the vertex mean, of corners [m, k, 3] about that."""
    nothing = x.new_zeros(len(x), 3)
    if row.dim == 0 or x.shape[1] == 0:
        return x.new_zeros(len(x)), nothing
    if row.dim == 1:
        return _of_lines(x)
    if row.shape == "triangle_strip":
        return _of_strips(x)
    if row.dim == 2:
        return area_and_moment(x)
    if row.shape == "tetra":
        a, b, c, d = x.unbind(1)
        return dot(cross(b - a, c - a), d - a) / 6, nothing
    place = {p: i for i, p in enumerate(local)}
    volume, moment = x.new_zeros(len(x)), x.new_zeros(len(x), 3)
    for face in row.faces:
        part, first = cone(x[:, [place[p] for p in face]])
        volume, moment = volume + part, moment + first
    return volume, _divided(moment, volume, extent(x), 3)


def _of_polygons(table: Tensor, points: Tensor, centroids: bool) -> Moments:
    ends = torch.arange(len(table) + 1, device="cpu") * table.shape[1]
    wanted = ("areas", "centroids") if centroids else ("areas",)
    found = ring_geometry(points, ends, table.reshape(-1), *wanted)
    return found["areas"], found.get("centroids", points[:0])


def _divided(moment: Tensor, measure: Tensor, scale: Tensor, dim: int) -> Tensor:
    """The centroid, or the vertex mean where the measure is nothing but rounding."""
    return over(moment, measure, matters(measure, scale, dim), 0.0)


def _of_lines(x: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x[:, :-1], x[:, 1:]
    parts = length(b - a)
    whole = parts.sum(1)
    if x.shape[1] == 2:
        return whole, torch.zeros_like(x[:, 0])
    moment = (parts.unsqueeze(-1) * (a + b)).sum(1) / 2
    return whole, _divided(moment, whole, extent(x), 1)


def _of_strips(x: Tensor) -> tuple[Tensor, Tensor]:
    at = torch.tensor(strip_triangles(x.shape[1]), device=x.device).long().reshape(-1, 3)
    rings = x[:, at]  # [m, triangles, 3, 3]
    parts, _ = area_and_moment(rings)
    whole = parts.sum(1)
    moment = (parts.unsqueeze(-1) * rings.mean(2)).sum(1)
    return whole, _divided(moment, whole, extent(x), 2)


def _of_polyhedra(cells: Cells, points: Tensor, centroids: bool) -> Moments:
    """Through the fans of their own faces."""
    solids = cells.polyhedra
    if solids is None or len(points) == 0:
        n = len(cells.polyhedron_ids)
        blank = points.new_full((n, 3), float("nan"))
        return points.new_zeros(n), blank
    if plain(points):
        return polyhedron_moments(cells, solids, points, centroids)
    middle, scale = polyhedron_middles(cells, points)
    cell = csr.row_of_each(solids.faces)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for rows, ring in tables(solids.offsets, solids.connectivity):
        x = points[ring.long()] - middle[cell[rows]][:, None]
        parts.append((rows, *cone(x)))
    n = len(solids.offsets) - 1
    volume = assembled(n, [(r, v) for r, v, _ in parts], points.new_zeros(()))
    moment = assembled(n, [(r, m) for r, _, m in parts], points.new_zeros(3))
    volume, moment = summed(volume, solids.faces), summed(moment, solids.faces)
    return volume, middle + _divided(moment, volume, scale, 3)


def polyhedron_middles(cells: Cells, points: Tensor) -> tuple[Tensor, Tensor]:
    """The vertex mean [m, 3] of each polyhedron and its largest coordinate [m] about it.

    The mean of a cell without points is NaN.
    """
    ends, places = csr.take_rows(cells.offsets, cells.polyhedron_ids)
    of_corner = csr.row_of_each(ends)
    corner = points[cells.connectivity.long()[places]]
    count = csr.lengths_of(ends)
    if len(corner) == 0:
        return points.new_full((len(count), 3), float("nan")), points.new_zeros(len(count))
    # A cell without points borrows a corner; its mean is NaN by its count.
    first = corner[ends[:-1].long().clamp(max=len(corner) - 1)]
    # Sums of differences from the first corner keep their digits far from the origin.
    apart = corner - first[of_corner]
    middle = first + summed(apart, ends) / count[:, None]
    with torch.no_grad():
        near = (corner - middle[of_corner]).abs().amax(1)
        scale = near.new_zeros(len(count)).scatter_reduce(0, of_corner, near, "amax")
    return middle, scale
