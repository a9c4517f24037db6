"""What the fluxes through the faces of each cell need: faces as they are seen from each cell."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.neighbours import Adjacency, cell_faces
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.differential.samples import in_double
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.face_geometry import (
    area_vectors_of_sides,
    face_area_vectors,
    face_centroids,
)
from meshkit.operators.measure.fan import triangles


@dataclass(frozen=True, eq=False)
class FluxGeometry:
    """The faces of each cell, float64.

    On solids both sides of a face have opposite area vectors; on surfaces each cell has the edge's
    length times its own co-normal, which differ across a fold.
    """

    owner: Tensor  # int64 [n_faces]
    neighbour: Tensor  # int64 [n_faces], -1 on the boundary
    of_cell: Adjacency  # the faces of each cell
    from_owner: Tensor  # [n_faces, d]: out of the owner
    from_neighbour: Tensor  # [n_faces, d]: out of the neighbour; zero on the boundary
    centroids: Tensor  # [n_faces, d]
    warp: (
        Tensor | None
    )  # [n_faces, d, d]: the sum over the fan of area vector x (middle - centroid)

    @property
    def compiled(self) -> bool:
        """Whether compiled loops may follow: on the CPU, where no derivative is asked for."""
        return self.centroids.device.type == "cpu" and not self.centroids.requires_grad


def flux_geometry(mesh: Mesh) -> FluxGeometry:
    """The faces of each cell of dimension mesh.dim.

    Raises:
        MeshError: as `face_area_vectors`.
    """
    mesh = in_double(mesh)
    table = face_table(mesh)
    owner, neighbour = table.faces.owner.long(), table.faces.neighbour.long()
    vectors, centroids = face_area_vectors(mesh), face_centroids(mesh)
    inner = torch.nonzero(neighbour >= 0).squeeze(1)
    if mesh.dim == 3:
        back = torch.where((neighbour >= 0)[:, None], -vectors, 0)
    else:
        back = torch.zeros_like(vectors)
        back = back.index_copy(0, inner, area_vectors_of_sides(mesh, table.neighbour_side[inner]))
    return FluxGeometry(
        owner, neighbour, cell_faces(mesh), vectors, back, centroids, _warp(mesh, centroids)
    )


def _warp(mesh: Mesh, centroids: Tensor) -> Tensor | None:
    """What is left of a warped face when its fan's middles are taken to its centroid: zero on
    plane faces, and so None where all faces are triangles or edges.
    """
    found = face_table(mesh).faces
    points = in_space(mesh.points)
    if mesh.dim < 3:
        return None
    parts = []
    for rows, ring in tables(found.offsets, found.connectivity):
        if ring.shape[1] > 3:
            x = points[ring.long()]
            middle = x.mean(1, keepdim=True)
            spokes = x - middle
            thirds = (spokes + torch.roll(spokes, -1, 1)) / 3
            away = thirds + (middle - centroids[rows][:, None])
            parts.append((rows, torch.einsum("mka,mkb->mab", triangles(spokes), away)))
    if not parts:
        return None
    return assembled(len(found), parts, points.new_zeros(3, 3))
