"""What solids show inside where they are cut: filled polygons, and the edges of the cells."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.simplices import simplices
from meshkit.pictures.curved_solids import has_shape, small_hexes
from meshkit.pictures.cut import Cut
from meshkit.pictures.facets import SHADE
from meshkit.readers.interop.pyvista import to_pyvista
from meshkit.readers.vtk.objects import to_unstructured

Reals = NDArray[np.float64]
Ids = NDArray[np.int64]

# Cells that vtk fills wrongly when they are not convex, or has no class for: they are cut as the
# tets that all measures use.
_FACETED: Final = (41, 42, 74, 81)


def section(
    mesh: Mesh,
    ids: Ids,
    points: Reals,
    cut: Cut,
    cell: Reals | None,
    point: Reals | None,
) -> list[Any]:
    """Where the plane goes through solids: `pyvista.PolyData` of polygons, with their shades.

    Args:
        ids: the solids that it goes through.
        points: [n_points, 3] as they are drawn.
        cell, point: the shades of all cells or of all points.
    """
    curved = has_shape(mesh, ids)
    faceted = np.isin(mesh.cells.types.numpy()[ids], _FACETED)
    out = []
    if curved.any():
        hexes = small_hexes(mesh, ids[curved], points, cut, cell, point)
        out.append(_contour(to_unstructured(hexes), cut))
    if faceted.any():
        tets = simplices(_bare(mesh, ids[faceted], points, cell, point))
        out.append(_contour(to_pyvista(tets), cut))
    others = ids[~curved & ~faceted]
    if len(others):
        out.append(_contour(to_pyvista(_bare(mesh, others, points, cell, point)), cut))
    return out


def section_lines(surface: Any, cut: Cut) -> Any:
    """Where the plane goes through surfaces: a `pyvista.PolyData` of lines."""
    return _contour(surface, cut) if surface.n_cells else surface


def _bare(
    mesh: Mesh,
    ids: Ids,
    points: Reals,
    cell: Reals | None,
    point: Reals | None,
) -> Mesh:
    """These cells over the points that they use, with nothing but their shades."""
    cells = mesh.cells.take(torch.from_numpy(ids))
    used = np.zeros(mesh.n_points, np.bool_)
    used[cells.connectivity.long().numpy()] = True
    kept = np.flatnonzero(used)
    new = torch.from_numpy(np.cumsum(used) - 1)
    return make_mesh(
        points[kept],
        cells.renumbered(new),
        cell_data=None if cell is None else {SHADE: cell[ids]},
        point_data=None if point is None else {SHADE: point[kept]},
    )


def _contour(data: Any, cut: Cut) -> Any:
    import pyvista
    from vtkmodules.vtkFiltersCore import vtkCutter

    cutter = vtkCutter()
    cutter.SetInputData(data)
    cutter.SetCutFunction(cut.plane())
    cutter.GenerateTrianglesOff()
    cutter.GenerateCutScalarsOff()
    cutter.Update()
    return pyvista.wrap(cutter.GetOutput())
