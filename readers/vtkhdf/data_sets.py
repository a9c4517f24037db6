"""The data sets of VTKHDF, each of one time, as plain arrays.

Source: VTK File Formats, VTKHDF: unstructured grid, poly data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from meshkit.readers.vtk import VtkData
from meshkit.readers.vtk.arrays import compact, refuse_unsound
from meshkit.readers.vtk.objects import lists_joined
from meshkit.readers.vtk.parallel import united
from meshkit.readers.vtk.poly import LISTS
from meshkit.readers.vtkhdf.arrays import POLY_GROUPS, add_arrays
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.lattices import image, rectilinear, structured
from meshkit.readers.vtkhdf.parts import Cache, Parts
from meshkit.readers.vtkhdf.polyhedra import said_starts, solids
from meshkit.readers.vtkhdf.rows import Numbers, before, counts, ids, need_rows, offsets, split
from meshkit.readers.vtkhdf.steps import Step
from meshkit.report import Ledger

# The groups of poly data's cells, in the order of its cell data and of vtk's four lists.
_POLY_GROUPS: Final = dict(zip(POLY_GROUPS, LISTS, strict=True))


def data_set(group: Group, index: int | None, cache: Cache, ledger: Ledger) -> VtkData:
    """A data set of the file, at one of its times; parts one after the other.

    Ghost cells of several parts go, as in a .pvtu: another part owns them.

    Raises:
        ReadError: it is damaged, or of a type that is no mesh.
    """
    kind = group.attribute("Type")
    make = _MAKERS.get(str(kind))
    if make is None:
        raise group.error(
            f"holds a data set of type {str(kind)[:60]!r}",
            expected=f"one of {', '.join(_MAKERS)}, or blocks of these",
        )
    step = Step(group, index)
    geometry = make(step, cache, ledger)
    parts = [
        replace(part, point_arrays={}, cell_arrays={}, field_arrays={}) for part in geometry.parts
    ]
    add_arrays(step, parts, geometry.starts, geometry.lattice, cache, ledger)
    for part in parts:
        refuse_unsound(part, group.path)
    fields = parts[0].field_arrays
    if len(parts) > 1:
        parts[0] = replace(parts[0], field_arrays={})
        data = united(parts, [f"part {i}" for i in range(len(parts))], ledger)
        data.field_arrays.update(fields)
        return data
    return parts[0]


def _points(step: Step, parts: range, start: int, ledger: Ledger) -> list[Numbers]:
    """The points of each part."""
    group = step.group
    n_points = counts(group, "NumberOfPoints", parts)
    stored = group.need("Points")
    if stored.shape[1:] != (3,) or stored.dtype.kind not in "iuf":
        raise stored.error(f"holds {stored.dtype} {list(stored.shape)}", expected="points [n, 3]")
    values = stored.read(start, sum(n_points))
    if values.dtype not in (np.float32, np.float64):
        ledger.converted("points", "", len(values), f"{values.dtype} as float64")
        values = values.astype(np.float64)
    return split(values, n_points)


def _point_start(step: Step, parts: range) -> int:
    said = step.said("PointOffsets")
    return said[0] if said else before(step.group, "NumberOfPoints", parts)


# --- unstructured grid ----------------------------------------------------------------------------


def _unstructured(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    parts = step.parts(len(group.need("NumberOfPoints")))
    cells = counts(group, "NumberOfCells", parts)
    n_ids = counts(group, "NumberOfConnectivityIds", parts)
    cell_start = step.start("CellOffsets", before(group, "NumberOfCells", parts))
    id_start = step.start("ConnectivityIdOffsets", before(group, "NumberOfConnectivityIds", parts))
    point_start = _point_start(step, parts)
    key = (parts, point_start, cell_start, id_start, said_starts(step))

    def make() -> Parts:
        points = _points(step, parts, point_start, ledger)
        types = ids(group.need("Types"), cell_start, sum(cells))
        if len(types) and (types.min() < 0 or types.max() > 255):
            raise group.need("Types").error(
                f"says {types.min()} to {types.max()}", expected="cell types from 0 to 255"
            )
        kinds = split(types.astype(np.uint8), cells)
        ends = offsets(group.need("Offsets"), cell_start, parts, cells, n_ids)
        rows = split(ids(group.need("Connectivity"), id_start, sum(n_ids)), n_ids)
        faces = solids(step, parts, cell_start, kinds)
        made = [
            compact_ids(VtkData(*arrays))
            for arrays in zip(points, kinds, ends, rows, faces, strict=True)
        ]
        return Parts(key, made, {"point_data": point_start, "cell_data": cell_start})

    return cache.get(group, key, make)


def compact_ids(data: VtkData) -> VtkData:
    """Ids as int32 where they fit, so that the meshes of all times share them."""
    arrays = [x for x in (data.offsets, data.connectivity, *(data.polyhedra or ())) if len(x)]
    low = min((int(x.min()) for x in arrays), default=0)
    high = max((int(x.max()) for x in arrays), default=0)
    return compact(data) if low >= 0 and high <= np.iinfo(np.int32).max else data


# --- poly data ------------------------------------------------------------------------------------


def _poly(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    parts = step.parts(len(group.need("NumberOfPoints")))
    starts = step.said("CellOffsets", columns=4)
    id_starts = step.said("ConnectivityIdOffsets", columns=4)
    point_start = _point_start(step, parts)
    key = (parts, point_start, starts, id_starts)

    def make() -> Parts:
        points = _points(step, parts, point_start, ledger)
        lists: list[dict[str, tuple[Numbers, Numbers]]] = [{} for _ in points]
        cell_start = 0
        for i, (name, list_name) in enumerate(_POLY_GROUPS.items()):
            inner = group.group(name)
            if inner is None:
                continue
            cells = counts(inner, "NumberOfCells", parts)
            n_ids = counts(inner, "NumberOfConnectivityIds", parts)
            begin = starts[i] if starts else before(inner, "NumberOfCells", parts)
            first = id_starts[i] if id_starts else before(inner, "NumberOfConnectivityIds", parts)
            cell_start += begin
            found = offsets(inner.need("Offsets"), begin, parts, cells, n_ids)
            rows = split(ids(inner.need("Connectivity"), first, sum(n_ids)), n_ids)
            for part, ends, row, n in zip(lists, found, rows, n_ids, strict=True):
                need_rows(inner.need("Offsets"), ends, n)
                if len(ends) > 1:
                    part[list_name] = (ends, row)
        made = [
            compact_ids(lists_joined(where, rows))
            for where, rows in zip(points, lists, strict=True)
        ]
        return Parts(key, made, {"point_data": point_start, "cell_data": cell_start})

    return cache.get(group, key, make)


_MAKERS: Final[dict[str, Callable[[Step, Cache, Ledger], Parts]]] = {
    "UnstructuredGrid": _unstructured,
    "PolyData": _poly,
    "ImageData": image,
    "RectilinearGrid": rectilinear,
    "StructuredGrid": structured,
}
