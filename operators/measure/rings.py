"""The rings that what is measured at points is made of: surface cells, and the faces of solids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import POLYHEDRON
from meshkit.operators.adjacency.sides import need_sides
from meshkit.operators.adjacency.templates import corners, known_type, need_size, strip_triangles
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.cell_moments import polyhedron_middles
from meshkit.operators.measure.elements import has_element

AT_ONCE: Final = 1 << 17
"""Rings that are worked on together, to bound the memory of what lies between."""


@dataclass(frozen=True, eq=False)
class SurfaceRings:
    """Surface cells of one number of corners; a strip stands here as its triangles."""

    cell: Tensor  # int64 [m]
    points: Tensor  # int64 [m, k]: no point follows itself
    places: Tensor  # int64 [m, k]: where in cells.connectivity

    def take(self, rows: Tensor) -> SurfaceRings:
        """Some of them."""
        return SurfaceRings(self.cell[rows], self.points[rows], self.places[rows])


def surface_rings(cells: Cells, curved: bool = True) -> Iterator[SurfaceRings]:
    """The corners of every surface cell, of three or more; repeats of a point are left out.

    Args:
        cells: any.
        curved: also cells that have a curved element of ours.

    Raises:
        MeshError: a type is unknown or a size wrong.
    """
    for block in cells.blocks:
        kind = known_type(block.type, int(block.ids[0]))
        if kind.dim != 2 or (has_element(kind) and not curved):
            continue
        row = need_size(block)
        size = block.connectivity.shape[1]
        strip = row.shape == "triangle_strip"
        local = strip_triangles(size) if strip else (corners(row, size),)
        if not local or len(local[0]) < 3:
            continue
        at = torch.tensor(local, device=block.ids.device)
        for ids, table in zip(
            torch.split(block.ids, AT_ONCE), torch.split(block.connectivity, AT_ONCE), strict=True
        ):
            k = at.shape[1]
            places = cells.offsets[ids].long()[:, None, None] + at
            rings = SurfaceRings(
                torch.repeat_interleave(ids, len(at)),
                table[:, at].reshape(-1, k).long(),
                places.reshape(-1, k),
            )
            yield from _without_repeats(rings)


def _without_repeats(rings: SurfaceRings) -> Iterator[SurfaceRings]:
    """A quad that lists a corner twice is a triangle."""
    keep = rings.points != torch.roll(rings.points, 1, 1)
    whole = keep.all(1)
    if bool(whole.all()):
        yield rings
        return
    yield rings.take(torch.nonzero(whole).squeeze(1))
    width = keep.sum(1)
    order = torch.argsort((~keep).long(), dim=1, stable=True)
    for k in range(3, keep.shape[1]):
        rows = torch.nonzero(width == k).squeeze(1)
        if len(rows):
            at = order[rows, :k]
            yield SurfaceRings(
                rings.cell[rows],
                torch.gather(rings.points[rows], 1, at),
                torch.gather(rings.places[rows], 1, at),
            )


@dataclass(frozen=True, eq=False)
class RingTable:
    """The rings of all surface cells as compressed rows, for compiled code."""

    cell: Tensor | None  # int64 [n]; None: ring i is cell i
    offsets: Tensor  # int [n + 1]
    points: Tensor  # int [..]: no point follows itself
    places: Tensor | None  # int64 [..]: where in cells.connectivity; None: right there

    def __len__(self) -> int:
        return len(self.offsets) - 1


def ring_table(cells: Cells) -> RingTable:
    """The rings of `surface_rings`, worked out once while the cells stay unchanged.

    Raises:
        MeshError: a type is unknown or a size wrong.
    """
    return cells.memo("ring_table", lambda: _own_rings(cells) or _gathered(cells))


def _own_rings(cells: Cells) -> RingTable | None:
    """The cells as they are, where each is the ring of all its points."""
    for block in cells.blocks:
        row = need_size(block)
        size = block.connectivity.shape[1]
        whole = corners(row, size) == tuple(range(size)) and size > 2
        if row.dim != 2 or row.shape == "triangle_strip" or not whole:
            return None
        table = block.connectivity
        if any(bool((table[:, i - 1] == table[:, i]).any()) for i in range(size)):
            return None
    return RingTable(None, cells.offsets, cells.connectivity, None) if len(cells) else None


def _gathered(cells: Cells) -> RingTable:
    found = list(surface_rings(cells))
    none = torch.zeros(0, dtype=torch.int64, device=cells.types.device)
    widths = [torch.full_like(part.cell, part.points.shape[1]) for part in found]
    return RingTable(
        torch.cat([none, *(part.cell for part in found)]),
        csr.offsets_of(torch.cat([none, *widths])),
        torch.cat([none, *(part.points.reshape(-1) for part in found)]),
        torch.cat([none, *(part.places.reshape(-1) for part in found)]),
    )


@dataclass(frozen=True, eq=False)
class SolidRings:
    """Faces of solids of one number of corners, seen from outside; tets are not among them."""

    cell: Tensor  # int64 [m]
    points: Tensor  # int64 [m, k]
    at: Tensor  # [m, k, 3]: the corners relative to the cell's vertex mean


def solid_rings(cells: Cells, points: Tensor, curved: bool = True) -> Iterator[SolidRings]:
    """The faces of every solid that is no tet, with their corners about the cell's vertex mean.

    Args:
        cells: point ids in range, polyhedra paired with their faces.
        points: [n_points, 3].
        curved: also cells that have a curved element of ours.

    Raises:
        MeshError: a type is unknown, a size wrong, or a solid does not say what its faces are.
    """
    for block in cells.blocks:
        row = known_type(block.type, int(block.ids[0]))
        if row.dim != 3 or row.shape == "tetra" or block.type == POLYHEDRON:
            continue
        if has_element(row) and not curved:
            continue
        need_sides(block)
        local = corners(row, block.connectivity.shape[1])
        place = {p: i for i, p in enumerate(local)}
        for ids, table in zip(
            torch.split(block.ids, AT_ONCE), torch.split(block.connectivity, AT_ONCE), strict=True
        ):
            corner = table[:, list(local)].long()
            x = points[corner]
            x = x - x.mean(1, keepdim=True)
            for face in row.faces:
                at = [place[p] for p in face]
                yield SolidRings(ids, corner[:, at], x[:, at])
    solids = cells.polyhedra
    if solids is None:
        return
    middle, _ = polyhedron_middles(cells, points)
    owner = csr.row_of_each(solids.faces)
    for rows, ring in tables(solids.offsets, solids.connectivity):
        if ring.shape[1] < 3:
            continue
        for some, corner in zip(
            torch.split(rows, AT_ONCE), torch.split(ring.long(), AT_ONCE), strict=True
        ):
            cell = owner[some]
            x = points[corner] - middle[cell][:, None]
            yield SolidRings(cells.polyhedron_ids[cell], corner, x)
