"""Measures of how a face and the two cells beside it lie."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.cell_centroids import cell_centroids
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, over
from meshkit.operators.measure.face_geometry import face_area_vectors, face_centroids

_INSIDE: Final = 0.2
_OUTSIDE: Final = 0.4
"""The least size of a face that its skewness is measured by, in lengths between centroids."""


class FaceShapes:
    """Faces with their normals and centroids, each worked out once."""

    def __init__(self, mesh: Mesh) -> None:
        self.points = in_space(mesh.points)
        wide = mesh.replace(points=self.points[:, : mesh.points.shape[1]])
        table = faces(mesh)
        self.faces = table
        self.owner, self.neighbour = table.owner.long(), table.neighbour.long()
        self.inner = self.neighbour >= 0
        vectors = in_space(face_area_vectors(wide))
        size = length(vectors)
        self.normals = over(vectors, size, size.detach() != 0, float("nan"))
        self.centres = in_space(face_centroids(wide))
        self.measures = cell_measures(wide)
        cells = in_space(cell_centroids(wide))
        self.own, self.other = cells[self.owner], cells[self.neighbour.clamp(min=0)]

    def non_orthogonality(self) -> Tensor:
        """[n_faces]: degrees between the normal and the line from owner to neighbour."""
        found = _degrees(self.other - self.own, self.normals)
        return torch.where(self.inner, found, float("nan"))

    def growth_ratio(self) -> Tensor:
        """[n_faces]: the larger of the two measures over the smaller."""
        a = self.measures[self.owner].abs()
        b = self.measures[self.neighbour.clamp(min=0)].abs()
        return torch.where(self.inner, torch.maximum(a, b) / torch.minimum(a, b), float("nan"))

    def skewness(self) -> Tensor:
        """[n_faces]: how far the line of centroids misses the centroid of the face."""
        outward = self.centres - self.own
        straight = self.normals * dot(outward, self.normals).unsqueeze(-1)
        line = torch.where(self.inner[:, None], self.other - self.own, straight)
        along = dot(line, self.normals)
        usable = along.detach() != 0
        share = over(dot(outward, self.normals), along, usable, float("nan"))
        miss = outward - share.unsqueeze(-1) * line
        size = length(miss)
        toward = over(miss, size, size.detach() != 0, 0.0)
        least = torch.where(self.inner, _INSIDE, _OUTSIDE).to(size.dtype) * length(line)
        return size / torch.maximum(least, self._reach(toward))

    def _reach(self, toward: Tensor) -> Tensor:
        """[n_faces]: how far the corners of each face reach from its centroid, along a line."""
        out = self.points.new_zeros(len(self.faces))
        for rows, ring in tables(self.faces.offsets, self.faces.connectivity):
            spokes = self.points[ring.long()] - self.centres[rows][:, None]
            reach = dot(spokes, toward[rows][:, None]).abs().amax(1)
            out = out.index_copy(0, rows, reach)
        return out

    def orthogonality(self) -> tuple[Tensor, Tensor]:
        """[n_faces] for the owner and the neighbour: the smaller cosine between the normal out
        of the cell and the lines to the face's centroid and to the other cell's.
        """
        across = _cosine(self.other - self.own, self.normals)
        own = _cosine(self.centres - self.own, self.normals)
        other = _cosine(self.other - self.centres, self.normals)
        own = torch.where(self.inner, torch.minimum(own, across), own)
        return own, torch.minimum(other, across)

    def at_cells(
        self, values: Tensor, n_cells: int, how: str, other: Tensor | None = None
    ) -> Tensor:
        """[n_cells]: the greatest or least value of the faces around; NaN where there is none.

        Args:
            values: [n_faces], for the owner; NaN on the boundary is left out.
            n_cells: how many.
            how: "amax" or "amin".
            other: [n_faces], for the neighbour, where it has another value.
        """
        both = values if other is None else other
        own = self.inner if other is None else torch.ones_like(self.inner)
        cell = torch.cat([self.owner[own], self.neighbour[self.inner]])
        found = torch.cat([values[own], both[self.inner]])
        blank = values.new_full((n_cells,), float("nan"))
        return blank.scatter_reduce(0, cell, found, how, include_self=False)


def _cosine(a: Tensor, unit: Tensor) -> Tensor:
    size = length(a)
    return over(dot(a, unit), size, size.detach() != 0, float("nan"))


def _degrees(a: Tensor, b: Tensor) -> Tensor:
    return torch.rad2deg(torch.atan2(length(cross(a, b)), dot(a, b)))
