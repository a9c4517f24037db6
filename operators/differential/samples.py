"""Where the values of a field stand, and which of them are neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from meshkit import csr
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.neighbours import (
    Adjacency,
    by_sorting,
    cell_cells,
    point_cells,
    point_points,
)
from meshkit.operators.differential.frames import cell_frames, point_frames
from meshkit.operators.differential.wider import with_more
from meshkit.operators.measure.cell_moments import cell_moments
from meshkit.operators.values import need_choice

On = Literal["points", "cells"]


@dataclass(frozen=True, eq=False)
class Samples:
    """The places of the values of a field on points or cells; float64 for the sake of stretched
    and far-away meshes.
    """

    on: On
    positions: Tensor  # [n, d]: the points, or the centroids of the cells
    size: Tensor  # [n]: the measure of each cell, or its share of a point
    frame: Tensor | None  # [n, mesh.dim, d]: tangential; None where the cells fill the space
    neighbours: Adjacency  # through faces; through edges, of points in between the corners around

    def __len__(self) -> int:
        return len(self.positions)


def need_on(what: str, on: str, mesh: Mesh) -> On:
    """Refuse anything but points and cells, and meshes without cells to differentiate along.

    Raises:
        MeshError: the message says what was found.
    """
    need_choice(f"{what}: expected on", on, ("points", "cells"))
    if mesh.dim == 0:
        raise MeshError(
            f"{what}: expected cells that are curves, surfaces or solids, found {mesh.cells!r}; "
            "a cloud of points has no neighbours until it is meshed"
        )
    return "points" if on == "points" else "cells"


def in_double(mesh: Mesh) -> Mesh:
    """The mesh with float64 points, and without what geometry does not need."""
    return mesh if mesh.points.dtype == torch.float64 else mesh.replace(points=mesh.points.double())


def samples(mesh: Mesh, on: On) -> Samples:
    """Places, sizes, frames and neighbours of all points or cells.

    Raises:
        MeshError: as `faces` and `cell_measures`.
    """
    mesh = in_double(mesh)
    d = mesh.points.shape[1]
    measures, centroids = cell_moments(mesh)
    if on == "cells":
        places = centroids[:, :d].contiguous()
        return Samples(on, places, measures.detach(), cell_frames(mesh), cell_cells(mesh))
    around = point_cells(mesh)
    each = csr.lengths_of(mesh.cells.offsets).clamp(min=1)
    # Cells without a measure have no say, so that a point without a place spoils no other.
    share = torch.nan_to_num(measures.detach().abs() / each)[around.indices.long()]
    size = share.new_zeros(mesh.n_points).index_add(0, csr.row_of_each(around.offsets), share)
    frame = point_frames(mesh, around, measures)
    return Samples(on, mesh.points, size, frame, _point_neighbours(mesh, around))


def _point_neighbours(mesh: Mesh, around: Adjacency) -> Adjacency:
    """Points along edges; and where edges pass a point by, as in the middle of those of cells of
    high order, the corners of the cells around it."""
    along, n = point_points(mesh), mesh.n_points
    corner = csr.lengths_of(along.offsets) > 0
    between = torch.nonzero(~corner & (csr.lengths_of(around.offsets) > 0)).squeeze(1)
    if not len(between):
        return along
    offsets, places = csr.take_rows(around.offsets, between)
    row = between[csr.row_of_each(offsets)]
    offsets, places = csr.take_rows(mesh.cells.offsets, around.indices[places])
    row, col = row[csr.row_of_each(offsets)], mesh.cells.connectivity[places].long()
    row, col = row[corner[col]], col[corner[col]]
    found = by_sorting(row, col, n, n)
    return with_more(along, csr.row_of_each(found.offsets), found.indices)
