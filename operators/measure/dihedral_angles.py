"""The angles between the faces of solids, along their edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES, POLYHEDRON
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.edges import following
from meshkit.operators.adjacency.sides import need_point_ids, need_polyhedra, need_sides
from meshkit.operators.adjacency.templates import edge_template, known_type
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, matters, over
from meshkit.operators.measure.fan import area_vector
from meshkit.operators.measure.rings import AT_ONCE
from meshkit.operators.of_mesh import of_mesh


@dataclass(frozen=True, eq=False)
class DihedralAngles:
    """The edges of each solid, and the angle inside the solid along each of them.

    Cell i has the rows offsets[i] to offsets[i + 1]: in VTK's order of the cell's edges; of a
    polyhedron by the lower, then the higher point id.

    Args:
        offsets: int64 [n_cells + 1]: rows of cells that are no solids are empty.
        edges: int64 [n, 2]: the point ids at the ends.
        angles: [n] in the dtype of the points: radians, 0 to 2 pi, or NaN.
    """

    offsets: Tensor
    edges: Tensor
    angles: Tensor

    def __len__(self) -> int:
        return len(self.angles)

    def __repr__(self) -> str:
        return f"DihedralAngles({len(self.offsets) - 1} cells, {len(self)} angles)"


@of_mesh
def dihedral_angles(mesh: Mesh) -> DihedralAngles:
    """The angle between the two faces at each edge of each solid, measured inside the solid.

    Below pi where the solid is convex there, pi where the faces are in one plane, above pi where
    the edge points inward. A warped face counts as its mean plane. High-order cells: through
    their corners.

    Returns:
        DihedralAngles, the angles in the dtype of the points (float16 and bfloat16 are computed
        in float32), accurate to a few eps, differentiable in the points. NaN where a face has no
        area, an edge no length, or an edge of a polyhedron is not on exactly two of its faces.

    Raises:
        MeshError: as `cell_measures`.
    """
    need_point_ids(mesh)
    need_polyhedra(mesh.cells)
    points = in_space(mesh.points)
    counts = torch.zeros(mesh.n_cells, dtype=torch.int64, device=mesh.device)
    none = Angles(counts[:0], counts.new_zeros(0, 2), points.new_zeros(0))
    found = [none, *solid_angles(mesh.cells, points)]
    cell = torch.cat([part.cell for part in found])
    order = torch.argsort(cell, stable=True)
    edges = torch.cat([part.edges for part in found])[order]
    angles = torch.cat([part.angles for part in found])[order]
    counts = counts.index_add(0, cell, torch.ones_like(cell))
    return DihedralAngles(csr.offsets_of(counts), edges, angles.to(mesh.points.dtype))


@dataclass(frozen=True, eq=False)
class Angles:
    """Some edges of some solids."""

    cell: Tensor  # int64 [n]
    edges: Tensor  # int64 [n, 2]
    angles: Tensor  # [n]


def solid_angles(cells: Cells, points: Tensor) -> Iterator[Angles]:
    """The angles of all solids, some cells at a time; those of one cell together and in order.

    Raises:
        MeshError: a type is unknown, a size wrong, or a solid does not say what its faces are.
    """
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if row.dim != 3 or block.type == POLYHEDRON:
            continue
        need_sides(block)
        pairs = edges_and_faces(block.type)
        for ids, table in zip(
            torch.split(block.ids, AT_ONCE), torch.split(block.connectivity, AT_ONCE), strict=True
        ):
            x = points[table.long()]
            out = [_normal(x[:, list(ring)]) for ring in row.faces]
            normals = torch.stack(out, 1)
            at = torch.tensor(pairs, device=ids.device)
            edge = x[:, at[:, 1]] - x[:, at[:, 0]]
            angles = angle_inside(normals[:, at[:, 2]], normals[:, at[:, 3]], edge)
            cell = ids[:, None].expand(-1, len(pairs)).reshape(-1)
            yield Angles(cell, table[:, at[:, :2]].long().reshape(-1, 2), angles.reshape(-1))
    if cells.polyhedra is not None and len(cells.polyhedra):
        yield polyhedron_angles(cells, points)


@lru_cache(maxsize=512)
def edges_and_faces(number: int) -> tuple[tuple[int, int, int, int], ...]:
    """Each edge of a type: its ends along the ring of its first face, and its two faces."""
    row = CELL_TYPES[number]
    steps = {
        (ring[i], ring[(i + 1) % len(ring)]): f
        for f, ring in enumerate(row.faces)
        for i in range(len(ring))
    }
    return tuple((a, b, steps[a, b], steps[b, a]) for a, b in edge_template(number, row.size or 0))


def polyhedron_angles(cells: Cells, points: Tensor) -> Angles:
    """The angles of all polyhedra; `cell` is the id of the cell.

    Raises:
        MeshError: there are polyhedra without faces.
    """
    solids = cells.polyhedra
    if solids is None:
        raise MeshError("polyhedra: expected their faces, found none")
    ring = solids.connectivity.long()
    begin, end = ring, ring[following(solids.offsets)]
    face = csr.row_of_each(solids.offsets)
    solid = csr.row_of_each(solids.faces)[face]
    low, high = torch.minimum(begin, end), torch.maximum(begin, end)
    bound = len(points)
    order = torch.argsort(high, stable=True)
    order = order[torch.argsort((solid * bound + low)[order], stable=True)]
    order = order[(low != high)[order]]
    keys = torch.stack([solid[order], low[order], high[order]], 1)
    unique, count = torch.unique_consecutive(keys, dim=0, return_counts=True)
    first = order[csr.offsets_of(count)[:-1]]
    second = order[(csr.offsets_of(count)[:-1] + 1).clamp(max=max(len(order) - 1, 0))]
    parts = [(rows, _normal(points[some.long()])) for rows, some in tables(solids.offsets, ring)]
    normals = assembled(len(solids.offsets) - 1, parts, points.new_zeros(3), float("nan"))
    along = points[end[first]] - points[begin[first]]
    angles = angle_inside(normals[face[first]], normals[face[second]], along)
    paired = (count == 2) & (begin[first] == end[second])
    angles = torch.where(paired, angles, float("nan"))
    return Angles(cells.polyhedron_ids[unique[:, 0]], unique[:, 1:], angles)


def _normal(x: Tensor) -> Tensor:
    vector = area_vector(x)
    size = length(vector)
    scale = (x - x[:, :1]).detach().abs().amax((1, 2))
    return over(vector, size, matters(size, scale, 2), float("nan"))


def angle_inside(first: Tensor, second: Tensor, along: Tensor) -> Tensor:
    """The angle from the one face to the other through the solid.

    Args:
        first, second: unit normals out of the solid.
        along: the edge, in the direction of the first face's ring.
    """
    size = length(along)
    known = (size.detach() != 0) & torch.isfinite((first + second).detach().sum(-1))
    axis = over(along, size, known, 0.0)
    # Normals that are not there are left out before anything is multiplied, else the derivative of
    # their angle would be NaN and spoil what shares a point with it.
    first, second = (torch.where(known[..., None], x, 1.0) for x in (first, second))
    found = angle_of_faces(dot(cross(first, second), axis), dot(first, second))
    return torch.where(known, found, float("nan"))


def angle_of_faces(sine: Tensor, cosine: Tensor) -> Tensor:
    """The angle inside, from those between the normals; faces that lie on each other make 0."""
    folded = (cosine.detach() < 0) & (sine.detach().abs() <= 8 * torch.finfo(sine.dtype).eps)
    return math.pi - torch.atan2(torch.where(folded, sine.abs(), sine), cosine)
