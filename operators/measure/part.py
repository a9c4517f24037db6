"""Some cells of a mesh, with all its points."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.regions import Regions


def top_cells(mesh: Mesh) -> Cells:
    """The cells of dimension `mesh.dim`; all of them where there are no others."""
    cells = mesh.cells

    def chosen() -> Cells:
        top = cells.dims == cells.dim
        return cells if bool(top.all()) else cells.take(torch.nonzero(top).squeeze(1))

    return cells.memo("top_cells", chosen)


def bare(points: Tensor, cells: Cells) -> Mesh:
    """A mesh of nothing but points and cells."""
    return Mesh(
        points=points,
        cells=cells,
        faces=None,
        point_data={},  # type: ignore[arg-type]
        cell_data={},  # type: ignore[arg-type]
        face_data={},  # type: ignore[arg-type]
        global_data={},  # type: ignore[arg-type]
        regions=Regions(),
        info=MeshInfo(),
    )
