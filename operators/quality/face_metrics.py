"""Measures of how a face and the two cells beside it lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

import torch
from torch import Tensor

from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.cell_moments import cell_moments
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, over, plain
from meshkit.operators.measure.face_geometry import face_vectors_and_centroids
from meshkit.operators.quality import face_kernel as compiled
from meshkit.operators.quality.metrics import Metric

Values = tuple[Tensor, Tensor]
"""A measure [n_faces] as the owner has it, and as the neighbour has it."""


def face_metrics(mesh: Mesh, wanted: Iterable[str]) -> dict[str, Values]:
    """Each wanted measure of the faces; NaN on the boundary where it needs two cells.

    Args:
        mesh: any.
        wanted: names of the table of measures that follow from faces.

    Raises:
        MeshError: as `face_area_vectors`.
    """
    shapes = FaceShapes(mesh)
    return shapes.compiled({*wanted}) if plain(shapes.geometry.points) else shapes.all({*wanted})


def at_cells(table: Faces, values: Values, metric: Metric, n_cells: int) -> Tensor:
    """[n_cells]: the worst value of the faces around; NaN where there is none.

    The boundary counts for measures that it has.
    """
    own, other = values
    boundary = metric.name in ("skewness", "orthogonal_quality")
    low = metric.worse == "low"
    if plain(own) and plain(other):
        return compiled.at_cells(table, own, other, n_cells, boundary, low)
    inner = table.neighbour >= 0
    cell = torch.cat([table.owner[inner | boundary], table.neighbour[inner]]).long()
    found = torch.cat([own[inner | boundary], other[inner]])
    blank = own.new_full((n_cells,), float("nan"))
    how = "amin" if low else "amax"
    # NaN is not equal to itself, and so reducing it has a derivative of 0 / 0 for all of its cell.
    lost = torch.isnan(found.detach())
    out = blank.scatter_reduce(0, cell, torch.where(lost, 0, found), how, include_self=False)
    return out.index_fill(0, cell[lost], float("nan"))


class FaceShapes:
    """Faces with their normals and centroids, each worked out once."""

    def __init__(self, mesh: Mesh) -> None:
        points = in_space(mesh.points)
        wide = mesh.replace(points=points[:, : mesh.points.shape[1]])
        table = faces(mesh)
        self.faces = table
        self.owner, self.neighbour = table.owner.long(), table.neighbour.long()
        self.inner = self.neighbour >= 0
        vectors, centres = face_vectors_and_centroids(wide)
        measures, cells = cell_moments(wide)
        self.points, self.centres, self.measures = points, in_space(centres), measures
        self.geometry = compiled.Geometry(points, in_space(vectors), self.centres, cells, measures)

    def compiled(self, wanted: Set[str]) -> dict[str, Values]:
        """The wanted measures without derivatives, on the CPU."""
        return compiled.face_shapes(self.faces, self.geometry, wanted)

    def all(self, wanted: Set[str]) -> dict[str, Values]:
        """The wanted measures in torch: on any device, with derivatives."""
        # What is not known is left out before anything is divided, so that derivatives of what is
        # known stay finite.
        size = length(self.geometry.vectors)
        self.known = (size.detach() != 0) & torch.isfinite(size.detach())
        self.normals = over(self.geometry.vectors, size, self.known, 0.0)
        cells = self.geometry.cells
        self.own = cells[self.owner]
        self.other = torch.where(self.inner[:, None], cells[self.neighbour.clamp(min=0)], 0.0)
        found: dict[str, Callable[[], Values]] = {
            "non_orthogonality": lambda: _both(self.non_orthogonality()),
            "skewness": lambda: _both(self.skewness()),
            "growth_ratio": lambda: _both(self.growth_ratio()),
            "orthogonal_quality": self.orthogonality,
        }
        return {name: found[name]() for name in wanted}

    def non_orthogonality(self) -> Tensor:
        """[n_faces]: degrees between the normal and the line from owner to neighbour."""
        known = self.inner & self.known
        found = _degrees(torch.where(known[:, None], self.other - self.own, 1.0), self.normals)
        return torch.where(known, found, float("nan"))

    def growth_ratio(self) -> Tensor:
        """[n_faces]: the larger of the two measures over the smaller."""
        a = torch.where(self.inner, self.measures[self.owner].abs(), 1)
        b = torch.where(self.inner, self.measures[self.neighbour.clamp(min=0)].abs(), 1)
        big, small = torch.maximum(a, b), torch.minimum(a, b)
        found = over(big, small, small.detach() != 0, float("inf"))
        return torch.where(self.inner & (big.detach() != 0), found, float("nan"))

    def skewness(self) -> Tensor:
        """[n_faces]: how far the line of centroids misses the centroid of the face."""
        outward = self.centres - self.own
        straight = self.normals * dot(outward, self.normals).unsqueeze(-1)
        line = torch.where(self.inner[:, None], self.other - self.own, straight)
        along = dot(line, self.normals)
        usable = along.detach() != 0
        share = over(dot(outward, self.normals), along, usable, 0.0)
        share = torch.where(self.inner, share, 1.0)
        miss = outward - share.unsqueeze(-1) * line
        size = length(miss)
        toward = over(miss, size, size.detach() != 0, 0.0)
        inside, outside = (size.new_tensor(x) for x in (compiled.INSIDE, compiled.OUTSIDE))
        least = torch.where(self.inner, inside, outside) * length(line)
        reach = torch.maximum(least, self._reach(toward))
        known = self.known & (usable | ~self.inner) & ((size.detach() != 0) | (reach.detach() != 0))
        found = over(size, reach, reach.detach() != 0, float("inf"))
        return torch.where(known, found, float("nan"))

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
        beyond = torch.minimum(other, across)
        nan = float("nan")
        return torch.where(self.known, own, nan), torch.where(self.known, beyond, nan)


def _both(values: Tensor) -> Values:
    return values, values


def _cosine(a: Tensor, unit: Tensor) -> Tensor:
    size = length(a)
    return over(dot(a, unit), size, size.detach() != 0, float("nan"))


def _degrees(a: Tensor, b: Tensor) -> Tensor:
    return torch.rad2deg(torch.atan2(length(cross(a, b)), dot(a, b)))
