"""Measures of the shape of each cell by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from functools import partial
from typing import Final

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import POLYHEDRON, CellType
from meshkit.operators.adjacency.sides import need_polyhedra, need_sides
from meshkit.operators.adjacency.templates import corners, edge_template, known_type, need_size
from meshkit.operators.measure.assembled import Part, assembled
from meshkit.operators.measure.coordinates import plain
from meshkit.operators.measure.dihedral_angles import (
    angle_of_faces,
    edges_and_faces,
    polyhedron_angles,
)
from meshkit.operators.measure.fan import area_and_moment, cone
from meshkit.operators.measure.rings import solid_rings
from meshkit.operators.quality.compiled_shapes import compiled_shapes
from meshkit.operators.quality.component_first import (
    cross,
    dot,
    length,
    ring_angles,
    ring_area,
    ring_vector,
)
from meshkit.operators.quality.regular_shapes import (
    HEX_CORNERS,
    IDEAL,
    PYRAMID_CORNERS,
    REGULAR,
    WEDGE_CORNERS,
)

_AT_ONCE: Final = 1 << 13
"""Cells that are worked on together, so that what lies between stays near the cache."""

Values = dict[str, Tensor]


def shape_metrics(cells: Cells, points: Tensor, wanted: Set[str]) -> Values:
    """Each wanted measure [n_cells], NaN where a cell has none.

    Args:
        cells: point ids in range.
        points: [n_points, 3].
        wanted: names of the table that follow from the cell alone.

    Raises:
        MeshError: as `cell_measures`.
    """
    need_polyhedra(cells)
    parts: dict[str, list[Part]] = {name: [] for name in wanted}
    compiled = plain(points)
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if row.dim == 3:
            need_sides(block)
        need_size(block)
        size = block.connectivity.shape[1]
        if row.dim < 2 or block.type == POLYHEDRON or row.shape == "triangle_strip":
            continue
        local = list(corners(row, size))
        if len(local) < 3:
            continue
        if compiled:
            table = block.connectivity
            table = table if local == list(range(size)) else table[:, local]
            for name, value in compiled_shapes(row, points, table, wanted).items():
                parts[name].append((block.ids, value))
            continue
        for ids, table in zip(
            torch.split(block.ids, _AT_ONCE),
            torch.split(block.connectivity, _AT_ONCE),
            strict=True,
        ):
            x = points[table[:, local].long()]
            x = (x - x[:, :1]).permute(2, 1, 0).contiguous()  # [3, k, m]
            work = partial(_of_surfaces if row.dim == 2 else _of_solids, row, size)
            for name, value in _where_known(work, x, wanted).items():
                parts[name].append((ids, value))
    if cells.polyhedra is not None and len(cells.polyhedra):
        ids = cells.polyhedron_ids
        part = cells if len(ids) == len(cells) else cells.take(ids)
        for name, value in _of_polyhedra(part, points, wanted).items():
            parts[name].append((ids, value))
    blank = points.new_zeros(())
    return {n: assembled(len(cells), p, blank, float("nan")) for n, p in parts.items()}


def _where_known(work: Callable[[Tensor, Set[str]], Values], x: Tensor, wanted: Set[str]) -> Values:
    """The measures of cells [3, k, m]. Those that are not finite have no derivative, instead of one
    that is NaN and spoils the points that they share with others."""
    out = work(x, wanted)
    for name, value in out.items():
        known = torch.isfinite(value.detach())
        if bool(known.all()):
            continue
        at = torch.nonzero(known).squeeze(1)
        out[name] = value.detach().index_copy(0, at, work(x[:, :, at], {name})[name])
    return out


def _of_surfaces(row: CellType, size: int, x: Tensor, wanted: Set[str]) -> Values:
    n = x.shape[1]
    out: Values = {}
    edge = torch.roll(x, -1, 1) - x
    if wanted & {"aspect_ratio", "edge_ratio"}:
        along = length(edge)
        out["edge_ratio"] = along.amax(0) / along.amin(0)
        regular = 4 * math.tan(math.pi / n)
        out["aspect_ratio"] = along.amax(0) * along.sum(0) / (regular * ring_area(x))
    if wanted & {"min_angle", "max_angle", "equiangle_skewness"}:
        angles = ring_angles(x)
        low, high = angles.amin(0), angles.amax(0)
        out["min_angle"], out["max_angle"] = torch.rad2deg(low), torch.rad2deg(high)
        if n <= 4:
            out["equiangle_skewness"] = _skewness(low, high, n)
    if "scaled_jacobian" in wanted and n <= 4:
        turn = cross(edge, torch.roll(edge, -1, 1))  # at corner i + 1
        sign = dot(turn, ring_vector(x)[:, None])
        along = length(edge)
        sine = length(turn) * torch.sign(sign.detach()) if n == 4 else length(turn)
        scaled = sine / (along * torch.roll(along, -1, 0))
        out["scaled_jacobian"] = scaled.amin(0) * IDEAL["triangle" if n == 3 else "quad"]
    return {name: value for name, value in out.items() if name in wanted}


def _skewness(low: Tensor, high: Tensor, n: int) -> Tensor:
    """How far the angles of a ring are from those of the regular one, 0 to 1."""
    even = math.pi * (1 - 2 / n)
    return torch.maximum((high - even) / (math.pi - even), (even - low) / even)


def _of_solids(row: CellType, size: int, x: Tensor, wanted: Set[str]) -> Values:
    local = corners(row, size)
    place = {p: i for i, p in enumerate(local)}
    rings = [[place[p] for p in ring] for ring in row.faces]
    edges = [(place[a], place[b]) for a, b in edge_template(row.number, size)]
    out: Values = {}
    if wanted & {"aspect_ratio", "edge_ratio"}:
        a, b = ([e[i] for e in edges] for i in (0, 1))
        along = length(x[:, b] - x[:, a])
        longest = along.amax(0)
        out["edge_ratio"] = longest / along.amin(0)
        if "aspect_ratio" in wanted:
            surface = torch.stack([ring_area(x[:, ring]) for ring in rings]).sum(0)
            volume = _volume(rings, x)
            out["aspect_ratio"] = (
                longest * surface / (REGULAR[row.shape] * (volume + 0.0))
            )  # never -0.0
    if wanted & {"min_angle", "max_angle"}:
        found = _dihedral(row, place, rings, x)
        out["min_angle"] = torch.rad2deg(found.amin(0))
        out["max_angle"] = torch.rad2deg(found.amax(0))
    if "equiangle_skewness" in wanted and row.shape in IDEAL:
        each = []
        for ring in rings:
            angles = ring_angles(x[:, ring])
            each.append(_skewness(angles.amin(0), angles.amax(0), len(ring)))
        out["equiangle_skewness"] = torch.stack(each).amax(0)
    if "scaled_jacobian" in wanted and row.shape in IDEAL:
        out["scaled_jacobian"] = _JACOBIANS[row.shape](x) * IDEAL[row.shape]
    return {name: value for name, value in out.items() if name in wanted}


def _volume(rings: list[list[int]], x: Tensor) -> Tensor:
    """[m]: of the tets between the fans of the faces and the vertex mean."""
    if x.shape[1] == 4:
        return _triple(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]) / 6
    x = x - x.mean(1, keepdim=True)
    return torch.stack([_cone(x[:, ring]) for ring in rings]).sum(0)


def _cone(x: Tensor) -> Tensor:
    return dot(x.mean(1), ring_vector(x)) / 3


def _dihedral(row: CellType, place: dict[int, int], rings: list[list[int]], x: Tensor) -> Tensor:
    """[edges, m]: the angles inside solids at their edges."""
    vectors = torch.stack([ring_vector(x[:, ring]) for ring in rings], 1)
    size = length(vectors)
    normals = vectors / size
    pairs = [(place[a], place[b], f, g) for a, b, f, g in edges_and_faces(row.number)]
    a, b, f, g = (list(column) for column in zip(*pairs, strict=True))
    edge = x[:, b] - x[:, a]
    first, second = normals[:, f], normals[:, g]
    across = dot(cross(first, second), edge) / length(edge)
    return angle_of_faces(across, dot(first, second))


def _of_polyhedra(part: Cells, points: Tensor, wanted: Set[str]) -> Values:
    """[n]: what a solid of any faces has; the angles and edges of all its faces. As `_where_known`,
    of polyhedra.
    """
    out: Values = {}
    if wanted & {"aspect_ratio", "edge_ratio"}:
        out |= _ratios(part, points)
    if wanted & {"min_angle", "max_angle"}:
        out |= _angles_of_polyhedra(part, points)
    for name, value in out.items():
        known = torch.isfinite(value.detach())
        if name in wanted and not bool(known.all()):
            at = torch.nonzero(known).squeeze(1)
            again = _of_polyhedra(part.take(at), points, {name})
            out[name] = value.detach().index_copy(0, at, again[name])
    return {name: value for name, value in out.items() if name in wanted}


def _ratios(part: Cells, points: Tensor) -> Values:
    n = len(part)
    volume, surface, longest = (points.new_zeros(n) for _ in range(3))
    shortest = points.new_full((n,), float("inf"))
    for rings in solid_rings(part, points):
        volume = volume.index_add(0, rings.cell, cone(rings.at)[0])
        surface = surface.index_add(0, rings.cell, area_and_moment(rings.at)[0])
        along = torch.linalg.vector_norm(torch.roll(rings.at, -1, 1) - rings.at, dim=-1)
        longest = longest.scatter_reduce(0, rings.cell, along.amax(1), "amax")
        shortest = shortest.scatter_reduce(0, rings.cell, along.amin(1), "amin")
    aspect = longest * surface / (REGULAR["polyhedron"] * (volume + 0.0))
    return {"edge_ratio": longest / shortest, "aspect_ratio": aspect}


def _angles_of_polyhedra(part: Cells, points: Tensor) -> Values:
    found = polyhedron_angles(part, points)
    blank = points.new_full((len(part),), float("nan"))
    low, high = (
        blank.scatter_reduce(0, found.cell, found.angles, how, include_self=False)
        for how in ("amin", "amax")
    )
    return {"min_angle": torch.rad2deg(low), "max_angle": torch.rad2deg(high)}


def _triple(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return dot(cross(a, b), c)


def _of_corners(x: Tensor, table: list[tuple[int, int, int, int]]) -> Tensor:
    """[m]: the least determinant of unit vectors from a corner to three others."""
    at, i, j, k = (list(column) for column in zip(*table, strict=True))
    a, b, c = (x[:, ends] - x[:, at] for ends in (i, j, k))
    size = length(a) * length(b) * length(c)
    return (_triple(a, b, c) / size).amin(0)


def _tetra_jacobian(x: Tensor) -> Tensor:
    """The determinant over the largest product of the three edges at a corner."""
    a, b, c = (x[:, i] - x[:, 0] for i in (1, 2, 3))
    ends = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    e = {pair: length(x[:, pair[1]] - x[:, pair[0]]) for pair in ends}
    at = ([(0, 1), (0, 2), (0, 3)], [(0, 1), (1, 2), (1, 3)])
    more = ([(0, 2), (1, 2), (2, 3)], [(0, 3), (1, 3), (2, 3)])
    products = torch.stack([e[p] * e[q] * e[r] for p, q, r in (*at, *more)])
    return _triple(a, b, c) / products.amax(0)


def _hexahedron_jacobian(x: Tensor) -> Tensor:
    """The least over the corners and the middle, there of the three mean axes."""
    u = x[:, [1, 2, 5, 6]].sum(1) - x[:, [0, 3, 4, 7]].sum(1)
    v = x[:, [2, 3, 6, 7]].sum(1) - x[:, [0, 1, 4, 5]].sum(1)
    w = x[:, [4, 5, 6, 7]].sum(1) - x[:, [0, 1, 2, 3]].sum(1)
    middle = _triple(u, v, w) / (length(u) * length(v) * length(w))
    return torch.minimum(_of_corners(x, HEX_CORNERS), middle)


_JACOBIANS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "tetra": _tetra_jacobian,
    "hexahedron": _hexahedron_jacobian,
    "wedge": lambda x: _of_corners(x, WEDGE_CORNERS),
    "pyramid": lambda x: _of_corners(x, PYRAMID_CORNERS),
}
