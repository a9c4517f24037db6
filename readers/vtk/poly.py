"""How poly data keeps cells: vertices, lines, polygons and strips in four lists.

That changes the order of the cells and forgets some types (a pixel becomes a quad, a polygon of
three points a triangle). Field arrays say how it was, so that what meshkit wrote comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import cell_type
from meshkit.readers.vtk import VtkArray, VtkData
from meshkit.readers.vtk.selection import rows_of, taken_rows

Numbers = NDArray[Any]

# The cells that poly data holds, by the list they stand in, in the order of its cell data.
LISTS: Final = {"Verts": (1, 2), "Lines": (3, 4), "Polys": (5, 7, 8, 9), "Strips": (6,)}
POLY_TYPES: Final = frozenset(number for types in LISTS.values() for number in types)
"""The cell types that poly data has a place for."""

PIXEL: Final = 8

ORDER: Final = "meshkit_order"
TYPES: Final = "meshkit_types"
"""Field arrays of poly data: where each cell stood before it was sorted by kind, and its type."""


def types_of_list(name: str, numbers: Sequence[int], sizes: Numbers) -> Numbers:
    """Poly data says only which list a cell is in; the number of points says the rest."""
    if name == "Polys":
        return np.where(sizes == 3, 5, np.where(sizes == 4, 9, 7)).astype(np.uint8)
    if name == "Strips":
        return np.full(len(sizes), 6, np.uint8)
    single, many = numbers
    return np.where(sizes == cell_type(single).size, single, many).astype(np.uint8)


def sorted_by_list(data: VtkData) -> tuple[VtkData, dict[str, tuple[Numbers, Numbers]]]:
    """The data with its cell arrays in poly data's order, and the cells of each list."""
    lists: dict[str, tuple[Numbers, Numbers]] = {}
    seen: list[Numbers] = []
    order: list[Numbers] = []
    sizes = np.diff(data.offsets)
    for name, numbers in LISTS.items():
        which = np.flatnonzero(np.isin(data.types, numbers))
        if len(which) == 0:
            continue
        order.append(which)
        seen.append(types_of_list(name, numbers, sizes[which]))
        lists[name] = (
            (data.offsets, data.connectivity)
            if len(which) == len(data.types)
            else rows_of(data.offsets, data.connectivity, which)
        )
    if not order:
        return data, lists
    places = np.concatenate(order)
    pixels = data.types[places] == PIXEL
    if pixels.any():
        lists["Polys"] = _pixels_as_quads(data, *lists["Polys"])
    out = VtkData(data.points, data.types, data.offsets, data.connectivity)
    out.point_arrays = data.point_arrays
    out.field_arrays = dict(data.field_arrays)
    out.cell_arrays = data.cell_arrays
    if (places != np.arange(len(places))).any():
        out.cell_arrays = {k: taken_rows(v, places) for k, v in data.cell_arrays.items()}
        out.field_arrays[ORDER] = VtkArray(places.reshape(-1, 1))
    if (data.types[places] != np.concatenate(seen)).any():
        out.field_arrays[TYPES] = VtkArray(data.types.reshape(-1, 1))
    return out, lists


def _pixels_as_quads(
    data: VtkData, offsets: Numbers, connectivity: Numbers
) -> tuple[Numbers, Numbers]:
    """The same polygons with the pixels' points along their ring, as a quad has them."""
    which = data.types[np.isin(data.types, LISTS["Polys"])] == PIXEL
    return offsets, _swapped(offsets, connectivity, which & (np.diff(offsets) == 4))


def _swapped(offsets: Numbers, connectivity: Numbers, which: Numbers) -> Numbers:
    """Ids with the last two points of some cells of four exchanged (pixel from and to quad)."""
    at = offsets[:-1][which]
    out = connectivity.copy()
    out[at + 2], out[at + 3] = connectivity[at + 3], connectivity[at + 2]
    return out


def unsorted(data: VtkData) -> VtkData:
    """Undo `sorted_by_list`, where its field arrays are there and make sense."""
    order = data.field_arrays.pop(ORDER, None)
    types = data.field_arrays.pop(TYPES, None)
    n = len(data.types)
    if order is not None and not isinstance(order.values, list):
        places = order.values.reshape(-1)
        rows = {len(array.values) for array in data.cell_arrays.values()}
        if rows <= {n} and len(places) == n and (np.sort(places) == np.arange(n)).all():
            back = np.empty(n, np.int64)
            back[places] = np.arange(n)
            data.types = data.types[back]
            data.offsets, data.connectivity = rows_of(data.offsets, data.connectivity, back)
            data.cell_arrays = {k: taken_rows(v, back) for k, v in data.cell_arrays.items()}
    if types is not None and not isinstance(types.values, list):
        said = types.values.reshape(-1)
        if len(said) == n:
            pixels = (said == PIXEL) & (np.diff(data.offsets) == 4)
            if pixels.any():
                data.connectivity = _swapped(data.offsets, data.connectivity, pixels)
            data.types = said.astype(np.uint8)
    return data
