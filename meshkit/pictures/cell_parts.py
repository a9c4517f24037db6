"""The faces and edges of high-order cells as cells of their own, numbered as vtk numbers them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

Degrees = tuple[int, int, int]

_BASE: Final = {200: (24, 10), 201: (27, 13)}
"""Our own types: the vtk type that has the same faces, and how many of its points it has."""

_LAGRANGE: Final = range(68, 82)
"""The types whose cells need to be told their degrees where these differ from axis to axis."""

_UNKNOWN_TO_VTK: Final = (74, 81)
"""Pyramids of any degree have a number in vtk and no class."""


class Part(NamedTuple):
    """A face or edge: its vtk type, its points as local points of the cell, its degrees."""

    type: int
    nodes: tuple[int, ...]
    degrees: Degrees | None


@lru_cache(maxsize=512)
def parts(
    what: Literal["Face", "Edge"], number: int, size: int, degrees: Degrees | None = None
) -> tuple[Part, ...]:
    """The faces or edges of a cell of one type with `size` points.

    Degrees are those of a Lagrange or Bezier cell; None where its size says them. A solid has
    faces and edges, a surface cell edges; other cells have none here, nor those that vtk lacks.
    """
    if number in _UNKNOWN_TO_VTK:
        return ()
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid

    number, size = _BASE.get(number, (number, size))
    grid = vtkUnstructuredGrid()
    points = vtkPoints()
    points.SetNumberOfPoints(size)
    for i in range(size):
        points.SetPoint(i, i, i * i, i * i * i)  # anywhere, but not all in one place
    grid.SetPoints(points)
    if degrees is not None:
        set_degrees(grid, [degrees])
    grid.InsertNextCell(number, size, range(size))
    cell = grid.GetCell(0)
    count = getattr(cell, f"GetNumberOf{what}s")()
    # vtk gives the same object again and again: each is read before the next is asked for.
    return tuple(_part(getattr(cell, f"Get{what}")(i), degrees is not None) for i in range(count))


def set_degrees(grid: Any, degrees: Any) -> None:
    """Tell a vtk grid the degrees [n, 3] of its Lagrange cells."""
    import numpy as np
    from vtkmodules.util.numpy_support import numpy_to_vtk

    held = numpy_to_vtk(np.asarray(degrees, np.float64), deep=True)
    held.SetName("HigherOrderDegrees")
    grid.GetCellData().SetHigherOrderDegrees(held)


def _part(cell: Any, told: bool) -> Part:
    nodes = tuple(cell.GetPointId(i) for i in range(cell.GetNumberOfPoints()))
    number = cell.GetCellType()
    if not told or number not in _LAGRANGE:
        return Part(number, nodes, None)
    order = [cell.GetOrder(i) for i in range(cell.GetCellDimension())]
    first, second, third = (*order, 1, 1)[:3]
    return Part(number, nodes, (first, second, third))
