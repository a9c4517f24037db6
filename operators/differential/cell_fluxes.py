"""The faces of each cell side by side, as bands: what each of them adds to its cell's balance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.bands import bands
from meshkit.operators.differential.flux_faces import OPEN, ROUNDING
from meshkit.operators.differential.flux_geometry import FluxGeometry
from meshkit.operators.differential.sparse_map import ids_dtype


@dataclass(frozen=True, eq=False)
class CellFluxes:
    """Entry k of column r is the k-th face of cell rows[r]; `real` is False where it has fewer."""

    rows: Tensor | None  # int64 [m]; None: all cells in order
    own: Tensor  # int64 [m]: the cell
    real: Tensor  # bool [width, m]
    other: Tensor  # int64 [width, m]: the cell beyond; the cell itself where there is none
    inner: Tensor  # bool [width, m]: there is a cell beyond
    value: Tensor  # int64 [width, m]: which known boundary value stands on the face, else -1
    area: Tensor  # float64 [width, m, d]: out of the cell; zero where not real
    to_face: Tensor  # float64 [width, m, d]: from the cell's centroid to the face's
    from_other: Tensor  # float64 [width, m, d]: from the other's centroid to the face's
    warp: Tensor | None  # float64 [width, m, d, d]: out of the cell
    volume: Tensor  # float64 [m]: by the divergence theorem on these very faces, signed
    solid: Tensor  # bool [m]: the volume is more than rounding, and the cell is closed

    @property
    def known(self) -> Tensor:
        """bool [width, m]: a boundary value stands on the face."""
        return self.value >= 0

    def columns(self, n: int, n_known: int) -> Tensor:
        """int [width, m]: the column of the value beyond each face; the cell's own where none."""
        found = torch.where(self.known, n + self.value, self.other)
        return found.to(ids_dtype(n + n_known))


def cell_fluxes(
    mesh: Mesh, faces: FluxGeometry, centroids: Tensor, known: Tensor | None
) -> Iterator[CellFluxes]:
    """The faces of all cells of dimension mesh.dim.

    Args:
        mesh: any of dimension 1 to 3.
        faces: of it.
        centroids: float64 [n_cells, d].
        known: int64 [k], the boundary faces (as rows of the boundary) that have values.
    """
    n = mesh.n_cells
    value_of = values_of_faces(faces, known)
    for band in bands(faces.of_cell.offsets):
        real = band.places >= 0
        own = torch.arange(n, device=real.device) if band.rows is None else band.rows
        face = faces.of_cell.indices.long()[band.places.clamp(min=0)]
        owns = faces.owner[face] == own
        inner = real & (faces.neighbour[face] >= 0)
        other = torch.where(owns, faces.neighbour[face], faces.owner[face])
        other = torch.where(inner, other, own)
        area = faces.from_owner[face]
        back = -area if faces.from_neighbour is None else faces.from_neighbour[face]
        area = torch.where(owns[..., None], area, back)
        area = torch.where(real[..., None], area, 0)
        warp = None
        if faces.warp is not None:
            sign = real.double() * torch.where(owns, 1.0, -1.0)
            warp = sign[..., None, None] * faces.warp[face]
        middle = faces.centroids[face]
        to_face = torch.where(real[..., None], middle - centroids[own], 0)
        through = (area * to_face).sum(-1)
        if warp is not None:
            through = through + warp.diagonal(dim1=-2, dim2=-1).sum(-1)
        volume = through.sum(0) / mesh.dim
        yield CellFluxes(
            band.rows,
            own,
            real,
            other,
            inner,
            torch.where(real, value_of[face], -1),
            area,
            to_face,
            torch.where(inner[..., None], middle - centroids[other], 0),
            warp,
            volume,
            is_solid(area, to_face, volume, centroids[own], mesh.dim),
        )


def is_solid(area: Tensor, to_face: Tensor, volume: Tensor, centroids: Tensor, dim: int) -> Tensor:
    """bool [m]: whether cells have a volume, and are closed; the same as `flux_faces.solid`."""
    area, amount = area.detach(), volume.detach().abs()
    length = torch.linalg.vector_norm
    total = length(area, dim=-1).sum(0)
    size = (to_face.detach() ** 2).sum(-1).amax(0) if len(area) else torch.zeros_like(amount)
    if dim > 1:
        size = size + (total if dim == 3 else total**2)
    size = size.sqrt()
    rounding = ROUNDING * (total * length(centroids.detach(), dim=-1) + size**dim)
    solid: Tensor = amount > rounding
    if dim > 1:
        solid = solid & (length(area.sum(0), dim=-1) * size <= OPEN * amount + rounding)
    return solid


def values_of_faces(faces: FluxGeometry, known: Tensor | None) -> Tensor:
    """int64 [n_faces]: which known value stands on each face, else -1."""
    value_of = torch.full_like(faces.owner, -1)
    if known is not None:
        boundary = torch.nonzero(faces.neighbour < 0).squeeze(1)
        value_of[boundary[known]] = torch.arange(len(known), device=known.device)
    return value_of
