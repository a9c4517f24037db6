"""Images, rectilinear and structured grids of VTKHDF.

Source: VTK File Formats, VTKHDF: image data; what vtkHDFWriter of VTK 9.7 makes of rectilinear and
structured grids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from meshkit.readers.lattice import lattice_counts, need_lattice_room
from meshkit.readers.vtk import VtkData
from meshkit.readers.vtk.objects import image_of, rectilinear_of, structured_of
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.parts import Cache, Parts
from meshkit.readers.vtkhdf.steps import Step
from meshkit.readers.vtkhdf.stored import Stored
from meshkit.report import Ledger

# A lattice without any array: more points are taken for a damaged header.
_MOST_IMPLICIT: Final = 1 << 24


def image(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    """An image at one time; its points are implied."""
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


def rectilinear(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    """A rectilinear grid at one time: coordinates along each axis."""
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


def structured(step: Step, cache: Cache, ledger: Ledger) -> Parts:
    """A structured grid at one time; points [z, y, x, 3], or with an axis for time before."""
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
        need_lattice_room(group.path, dims)
        return
    for name, rows in (("PointData", n_points), ("CellData", n_cells)):
        inner = group.group(name)
        for array in inner.names() if inner is not None else ():
            found = inner.member(array) if inner is not None else None
            if isinstance(found, Stored) and math.prod(found.shape) >= rows:
                found.need_data(0, len(found))
                need_lattice_room(group.path, dims)
                return
    raise group.error(
        f"declares {n_points} points and no array of them",
        expected=f"{_MOST_IMPLICIT} at most",
    )
