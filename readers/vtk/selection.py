"""Some cells and points of a VTK data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.readers.vtk import VtkArray, VtkData

Numbers = NDArray[Any]


def rows_of(offsets: Numbers, values: Numbers, which: Numbers) -> tuple[Numbers, Numbers]:
    """Some rows of compressed rows."""
    sizes = np.diff(offsets)[which]
    new = np.concatenate([offsets[:1] * 0, np.cumsum(sizes, dtype=offsets.dtype)])
    places = np.arange(new[-1]) + np.repeat(offsets[:-1][which] - new[:-1], sizes)
    return new, values[places]


def taken(data: VtkData, cells: Numbers, points: Numbers) -> VtkData:
    """Some cells, in this order, with some points, in this order; field arrays as they are.

    Args:
        cells: int [m], which.
        points: int [k], which; every point that the cells use is among them.
    """
    new = np.full(len(data.points), -1, np.int64)
    new[points] = np.arange(len(points))
    types, offsets, connectivity, polyhedra = _taken_cells(data, cells)
    moved = new[connectivity].astype(connectivity.dtype)
    if polyhedra is not None:
        polyhedra = (*polyhedra[:2], new[polyhedra[2]].astype(polyhedra[2].dtype))
    return VtkData(
        data.points[points],
        types,
        offsets,
        moved,
        polyhedra,
        {name: taken_rows(array, points) for name, array in data.point_arrays.items()},
        {name: taken_rows(array, cells) for name, array in data.cell_arrays.items()},
        dict(data.field_arrays),
    )


def used_points(data: VtkData) -> NDArray[np.bool_]:
    """Which points a cell lists, or a face of a polyhedron."""
    used = np.zeros(len(data.points), np.bool_)
    used[data.connectivity] = True
    if data.polyhedra is not None:
        used[data.polyhedra[2]] = True
    return used


def _taken_cells(
    data: VtkData, which: Numbers
) -> tuple[Numbers, Numbers, Numbers, tuple[Numbers, Numbers, Numbers] | None]:
    """types, offsets, connectivity and polyhedra of some cells, in this order."""
    types = data.types[which]
    offsets, connectivity = rows_of(data.offsets, data.connectivity, which)
    if data.polyhedra is None or not (types == POLYHEDRON).any():
        return types, offsets, connectivity, None
    of_cell, face_offsets, ids = data.polyhedra
    place = np.cumsum(data.types == POLYHEDRON) - 1
    of_cell, faces = rows_of(
        of_cell, np.arange(len(face_offsets) - 1), place[which[types == POLYHEDRON]]
    )
    return types, offsets, connectivity, (of_cell, *rows_of(face_offsets, ids, faces))


def taken_rows(array: VtkArray, which: Numbers) -> VtkArray:
    """The same array with only these rows, in this order."""
    values = array.values
    if isinstance(values, list):
        return VtkArray(
            [values[i] for i in which.tolist()], array.role, array.components, array.unit
        )
    return VtkArray(values[which], array.role, array.components, array.unit)
