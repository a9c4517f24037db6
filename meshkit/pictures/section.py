"""What solids show inside where they are cut: filled polygons, and the edges of the cells."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.celltypes import CELL_TYPES
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

# What vtk cuts right. It fills polyhedra wrongly where they are not convex, has no class for some
# pyramids, and mixes the values of others up: those are cut as the tets that all measures use.
_STRAIGHT: Final = tuple(
    number
    for number, row in CELL_TYPES.items()
    if row.dim == 3 and row.order == 1 and row.shape not in ("polyhedron", "convex_point_set")
)


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
    straight = np.isin(mesh.cells.types.numpy()[ids], _STRAIGHT)
    faceted = ~curved & ~straight
    out = []
    if curved.any():
        hexes = small_hexes(mesh, ids[curved], points, cut, cell, point)
        out.append(_contour(to_unstructured(hexes), cut))
    if faceted.any():
        tets = simplices(_bare(mesh, ids[faceted], points, cell, point))
        out.append(_contour(to_pyvista(tets), cut))
    if straight.any():
        solids = _bare(mesh, ids[straight], points, cell, point)
        out.append(_contour(to_pyvista(solids), cut))
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
