"""The data sets of VTKHDF, each of one time, as plain arrays.

Source: VTK File Formats, VTKHDF: image data, unstructured grid, poly data; what vtkHDFWriter of
VTK 9.7 makes of rectilinear and structured grids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.readers.lattice import lattice_counts
from meshkit.readers.vtk import VtkData
from meshkit.readers.vtk.arrays import compact, refuse_unsound
from meshkit.readers.vtk.objects import (
    image_of,
    lists_joined,
    rectilinear_of,
    solids_of,
    structured_of,
)
from meshkit.readers.vtk.parallel import united
from meshkit.readers.vtk.poly import LISTS
from meshkit.readers.vtkhdf.arrays import add_arrays
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.steps import Step
from meshkit.readers.vtkhdf.stored import Stored
from meshkit.report import Ledger

Numbers = NDArray[Any]

# The groups of poly data's cells, in the order of its cell data and of vtk's four lists.
_POLY_GROUPS: Final = dict(zip(("Vertices", "Lines", "Polygons", "Strips"), LISTS, strict=True))
# A lattice without any array: more points are taken for a damaged header.
_MOST_IMPLICIT: Final = 1 << 24
_MOST_SHARED: Final = 16  # a face belongs to two cells; more often only in damaged files


@dataclass
class Parts:
    """The points and cells of one time, each part apart, without arrays."""

    key: tuple[Any, ...]  # what the file says of where they stand
    parts: list[VtkData]
    starts: dict[str, int]  # where points and cells begin in arrays of which nothing is said
    lattice: bool = False


@dataclass
class Cache:
    """The points and cells that were read last: at most times they stay."""

    held: dict[str, Parts] = field(default_factory=dict)

    def get(self, group: Group, key: tuple[Any, ...], make: Callable[[], Parts]) -> Parts:
        """Those of a group, read anew if they stand elsewhere now."""
        found = self.held.get(group.name)
        if found is None or found.key != key:
            found = self.held[group.name] = make()
        return found


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
    add_arrays(step, parts, geometry.starts, geometry.lattice, ledger)
    for part in parts:
        refuse_unsound(part, group.path)
    fields = parts[0].field_arrays
    if len(parts) > 1:
        parts[0] = replace(parts[0], field_arrays={})
        data = united(parts, [f"part {i}" for i in range(len(parts))], ledger)
        data.field_arrays.update(fields)
        return data
    return parts[0]


# --- whole numbers that say how many --------------------------------------------------------------


def _counts(group: Group, name: str, parts: range) -> list[int]:
    """How many each of these parts has."""
    stored = group.need(name)
    values = [int(x) for x in _ids(stored, parts.start, len(parts))]
    if values and (min(values) < 0 or max(values) >= 1 << 60):
        raise stored.error(f"says {min(values)} to {max(values)}", expected="0 or more")
    return values


def _before(group: Group, name: str, parts: range) -> int:
    """How many all parts before these have."""
    return sum(_counts(group, name, range(parts.start))) if parts.start else 0


def _ids(stored: Stored, start: int, count: int) -> Numbers:
    """Flat whole numbers, signed."""
    if stored.dtype.kind not in "iu" or math.prod(stored.shape[1:]) != 1:
        raise stored.error(
            f"holds {stored.dtype} {list(stored.shape)}", expected="whole numbers [n]"
        )
    values = stored.read(start, count).reshape(-1)
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise stored.error(f"says {values.max()}", expected="an id or an offset")
    return values if values.dtype in (np.int32, np.int64) else values.astype(np.int64)


def _split(values: Numbers, counts: Sequence[int]) -> list[Numbers]:
    return np.split(values, np.cumsum(counts)[:-1])


def _points(step: Step, parts: range, start: int, ledger: Ledger) -> list[Numbers]:
    """The points of each part."""
    group = step.group
    counts = _counts(group, "NumberOfPoints", parts)
    stored = group.need("Points")
    if stored.shape[1:] != (3,) or stored.dtype.kind not in "iuf":
        raise stored.error(f"holds {stored.dtype} {list(stored.shape)}", expected="points [n, 3]")
    values = stored.read(start, sum(counts))
    if values.dtype not in (np.float32, np.float64):
        ledger.converted("points", "", len(values), f"{values.dtype} as float64")
        values = values.astype(np.float64)
    return _split(values, counts)


def _point_start(step: Step, parts: range) -> int:
    said = step.said("PointOffsets")
    return said[0] if said else _before(step.group, "NumberOfPoints", parts)


def _offsets(
    stored: Stored, begin: int, parts: range, counts: Sequence[int], ends: Sequence[int] | None
) -> list[Numbers]:
    """Each part's offsets, one more than what they are of.

    Every part before has one row more than cells. Where cells stand only once for several times,
    parts before may have none: then the first place with sound offsets is meant.
    """
    total = sum(counts) + len(counts)
    found: list[Numbers] = []
    for place in dict.fromkeys((begin + parts.start, begin)):
        if place + total > len(stored) and place != begin:
            continue
        found = _split(_ids(stored, place, total), [n + 1 for n in counts])
        if ends is None or all(
            x[0] == 0 and x[-1] == end for x, end in zip(found, ends, strict=True)
        ):
            return found
    return found


# --- unstructured grid ----------------------------------------------------------------------------


def _unstructured(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    parts = step.parts(len(group.need("NumberOfPoints")))
    cells = _counts(group, "NumberOfCells", parts)
    ids = _counts(group, "NumberOfConnectivityIds", parts)
    cell_start = step.start("CellOffsets", _before(group, "NumberOfCells", parts))
    id_start = step.start("ConnectivityIdOffsets", _before(group, "NumberOfConnectivityIds", parts))
    point_start = _point_start(step, parts)
    solids = _solid_starts(step, parts)
    key = (parts, point_start, cell_start, id_start, solids)

    def make() -> Parts:
        points = _points(step, parts, point_start, ledger)
        types = _ids(group.need("Types"), cell_start, sum(cells))
        if len(types) and (types.min() < 0 or types.max() > 255):
            raise group.need("Types").error(
                f"says {types.min()} to {types.max()}", expected="cell types from 0 to 255"
            )
        kinds = _split(types.astype(np.uint8), cells)
        offsets = _offsets(group.need("Offsets"), cell_start, parts, cells, ids)
        rows = _split(_ids(group.need("Connectivity"), id_start, sum(ids)), ids)
        faces: list[Any] = [None] * len(parts)
        if solids is not None and (types == POLYHEDRON).any():
            faces = _solids(step, parts, solids, cells, cell_start, kinds)
        made = [
            compact_ids(VtkData(*arrays))
            for arrays in zip(points, kinds, offsets, rows, faces, strict=True)
        ]
        return Parts(key, made, {"point_data": point_start, "cell_data": cell_start})

    return cache.get(group, key, make)


def compact_ids(data: VtkData) -> VtkData:
    """Ids as int32 where they fit, so that the meshes of all times share them."""
    arrays = [x for x in (data.offsets, data.connectivity, *(data.polyhedra or ())) if len(x)]
    low = min((int(x.min()) for x in arrays), default=0)
    high = max((int(x.max()) for x in arrays), default=0)
    return compact(data) if low >= 0 and high <= np.iinfo(np.int32).max else data


def _solid_starts(step: Step, parts: range) -> tuple[int, ...] | None:
    """Where the faces of polyhedra begin: points of faces, faces, faces of cells."""
    group = step.group
    if not group.has("FaceConnectivity"):
        return None
    return tuple(
        step.start(said, _before(group, name, parts))
        for said, name in (
            ("FaceConnectivityOffsets", "NumberOfFaceConnectivityIds"),
            ("FaceOffsetsOffsets", "NumberOfFaces"),
            ("PolyhedronToFaceIdOffsets", "NumberOfPolyhedronToFaceIds"),
        )
    )


def _solids(
    step: Step,
    parts: range,
    starts: tuple[int, ...],
    cells: Sequence[int],
    cell_start: int,
    kinds: Sequence[Numbers],
) -> list[tuple[Numbers, Numbers, Numbers] | None]:
    """The faces of each part's polyhedra, each polyhedron its own."""
    group = step.group
    n_ids, n_faces, n_rows = (
        _counts(group, name, parts)
        for name in ("NumberOfFaceConnectivityIds", "NumberOfFaces", "NumberOfPolyhedronToFaceIds")
    )
    ids = _split(_ids(group.need("FaceConnectivity"), starts[0], sum(n_ids)), n_ids)
    ends = _offsets(group.need("FaceOffsets"), starts[1], parts, n_faces, n_ids)
    rows = _split(_ids(group.need("PolyhedronToFaces"), starts[2], sum(n_rows)), n_rows)
    places = _offsets(group.need("PolyhedronOffsets"), cell_start, parts, cells, n_rows)
    out = []
    for i, types in enumerate(kinds):
        _need_rows(group.need("FaceOffsets"), ends[i], n_ids[i])
        _need_rows(group.need("PolyhedronOffsets"), places[i], n_rows[i])
        if len(rows[i]) and (rows[i].min() < 0 or rows[i].max() >= n_faces[i]):
            raise group.need("PolyhedronToFaces").error(
                f"says face {rows[i].min()} to {rows[i].max()}",
                expected=f"0 to {n_faces[i] - 1}",
            )
        if int(np.diff(ends[i])[rows[i]].sum()) > _MOST_SHARED * (len(ids[i]) + 1000):
            raise group.need("PolyhedronToFaces").error(
                "names faces again and again", expected="a face at most twice"
            )
        made = solids_of(types, places[i], rows[i], ends[i], ids[i])
        out.append(made if (types == POLYHEDRON).any() else None)
    return out


def _need_rows(stored: Stored, offsets: Numbers, end: int) -> None:
    """Refuse offsets that do not run from 0 to the end."""
    if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise stored.error(
            f"runs from {offsets[0]} to {offsets[-1]}", expected=f"0 to {end}, never descending"
        )


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
        lists: list[dict[str, tuple[Numbers, Numbers]]] = [{} for _ in parts]
        cell_start = 0
        for i, (name, list_name) in enumerate(_POLY_GROUPS.items()):
            inner = group.group(name)
            if inner is None:
                continue
            cells = _counts(inner, "NumberOfCells", parts)
            ids = _counts(inner, "NumberOfConnectivityIds", parts)
            begin = starts[i] if starts else _before(inner, "NumberOfCells", parts)
            first = id_starts[i] if id_starts else _before(inner, "NumberOfConnectivityIds", parts)
            cell_start += begin
            offsets = _offsets(inner.need("Offsets"), begin, parts, cells, ids)
            rows = _split(_ids(inner.need("Connectivity"), first, sum(ids)), ids)
            for part, ends, row, n in zip(lists, offsets, rows, ids, strict=True):
                _need_rows(inner.need("Offsets"), ends, n)
                if len(ends) > 1:
                    part[list_name] = (ends, row)
        made = [
            compact_ids(lists_joined(where, rows))
            for where, rows in zip(points, lists, strict=True)
        ]
        return Parts(key, made, {"point_data": point_start, "cell_data": cell_start})

    return cache.get(group, key, make)


# --- lattices ------------------------------------------------------------------------------------


def _image(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    extent = group.whole_numbers("WholeExtent", 6)
    origin, spacing = group.decimals("Origin", 3), group.decimals("Spacing", 3)
    held = group.attribute("Direction") is not None
    direction = group.decimals("Direction", 9) if held else (1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0)
    dims = tuple(b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True))
    if max(map(abs, extent)) >= 1 << 31 or min(dims) < 0:
        raise group.error(f"WholeExtent is {' '.join(map(str, extent))}")
    _need_plausible(group, dims)
    key = (extent, origin, spacing, direction)

    def make() -> Parts:
        data = image_of(extent, origin, spacing, np.array(direction).reshape(3, 3))
        return _lattice(key, data)

    return cache.get(group, key, make)


def _dimensions(group: Group) -> tuple[int, ...]:
    dims = group.whole_numbers("Dimensions", 3)
    if min(dims) < 0 or max(dims) >= 1 << 31:
        raise group.error(f"Dimensions are {' '.join(map(str, dims))}")
    _need_plausible(group, dims)
    return dims


def _rectilinear(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    dims = _dimensions(group)
    names = [f"{axis}Coordinates" for axis in "XYZ"]
    starts = tuple(step.start(f"{name}Offsets") for name in names)
    key = (dims, starts)

    def make() -> Parts:
        axes = []
        for name, start, n in zip(names, starts, dims, strict=True):
            stored = group.need(name)
            if stored.dtype.kind not in "iuf" or math.prod(stored.shape[1:]) != 1:
                raise stored.error(
                    f"holds {stored.dtype} {list(stored.shape)}", expected="coordinates [n]"
                )
            axes.append(stored.read(start, n).reshape(-1))
        return _lattice(key, rectilinear_of(axes, dims))

    return cache.get(group, key, make)


def _structured(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    group = step.group
    dims = _dimensions(group)
    stored = group.need("Points")
    timed = step.index is not None and len(stored.shape) == 5
    row = stored.shape[1:] if timed else stored.shape
    if row != (*reversed(dims), 3) or stored.dtype.kind not in "iuf":
        raise stored.error(
            f"holds {stored.dtype} {list(stored.shape)}",
            expected=f"points {[*reversed(dims), 3]}{' at each time' if timed else ''}",
        )
    begin = step.start("PointOffsets") if timed else 0
    key = (dims, begin)

    def make() -> Parts:
        points = stored.read(begin, 1 if timed else None).reshape(-1, 3)
        if points.dtype not in (np.float32, np.float64):
            ledger.converted("points", "", len(points), f"{points.dtype} as float64")
            points = points.astype(np.float64)
        return _lattice(key, structured_of(points, dims))

    return cache.get(group, key, make)


def _lattice(key: tuple[Any, ...], data: VtkData) -> Parts:
    return Parts(key, [data], {"point_data": 0, "cell_data": 0}, lattice=True)


def _need_plausible(group: Group, dims: Sequence[int]) -> None:
    """Refuse a huge lattice that no array confirms: no more than its size stands in the file."""
    n_points, n_cells = lattice_counts(dims) if min(dims) > 0 else (0, 0)
    if n_points <= _MOST_IMPLICIT:
        return
    for name, rows in (("PointData", n_points), ("CellData", n_cells)):
        inner = group.group(name)
        for array in inner.names() if inner is not None else ():
            found = inner.member(array) if inner is not None else None
            if isinstance(found, Stored) and math.prod(found.shape) >= rows:
                found.need_data(0, len(found))
                return
    raise group.error(
        f"declares {n_points} points and no array of them",
        expected=f"{_MOST_IMPLICIT} at most",
    )


_MAKERS: Final[dict[str, Callable[[Step, Cache, Ledger], Parts]]] = {
    "UnstructuredGrid": _unstructured,
    "PolyData": _poly,
    "ImageData": _image,
    "RectilinearGrid": _rectilinear,
    "StructuredGrid": _structured,
}
