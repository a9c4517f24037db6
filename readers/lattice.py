"""The cells of a structured grid, written out: types, offsets and connectivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import cell_type
from meshkit.memory import need_room
from meshkit.places import Place

# By how many axes have an extent; of grids with straight axes and of others.
_STRAIGHT: Final = ("vertex", "line", "pixel", "voxel")
_POINT: Final = 24  # bytes of a point
_ID: Final = 4
_CURVED: Final = ("vertex", "line", "quad", "hexahedron")


def lattice_counts(dims: Sequence[int]) -> tuple[int, int]:
    """How many points and cells a lattice of `dims` points an axis has.

    An axis of one point has no extent; one of none empties the lattice.
    """
    if min(dims) < 1:
        return 0, 0
    return math.prod(dims), math.prod(max(d - 1, 1) for d in dims)


def need_lattice_room(path: Place, dims: Sequence[int]) -> None:
    """Refuse a lattice whose points and cells have no room in memory once they are written out.

    A few bytes say how many there are, and one a point may be all that the file holds of them.

    Raises:
        ReadError: there is no room for them.
    """
    n_points, n_cells = lattice_counts(dims)
    ids = 1 + 2 ** sum(d > 1 for d in dims)  # and an offset
    size = n_points * _POINT + n_cells * (ids * _ID + 1)
    need_room(path, size, place=f"a lattice of {_by(dims)}")


def _by(dims: Sequence[int]) -> str:
    return " x ".join(map(str, dims))


def lattice_cells(
    dims: Sequence[int], *, straight: bool
) -> tuple[NDArray[np.uint8], NDArray[np.signedinteger], NDArray[np.signedinteger]]:
    """Cells in VTK's order (first axis fastest) and of VTK's types.

    Args:
        dims: points an axis, three.
        straight: axes are straight, as in an image or a rectilinear grid: voxels and pixels;
            otherwise hexahedra and quads.

    Returns:
        types uint8 [n], offsets [n + 1] and connectivity, int32 where the ids fit.
    """
    n_points, n_cells = lattice_counts(dims)
    axes = [axis for axis in range(3) if dims[axis] > 1]
    row = cell_type((_STRAIGHT if straight else _CURVED)[len(axes)])
    size = 2 ** len(axes)
    fits = max(n_points, n_cells * size) < 2**31
    dtype = np.dtype(np.int32 if fits else np.int64)
    offsets = np.arange(n_cells + 1, dtype=dtype) * size
    types = np.full(n_cells, row.number, np.uint8)
    if n_cells == 0:
        return types, offsets, np.zeros(0, dtype)
    strides = (1, dims[0], dims[0] * dims[1])
    corners = np.zeros(1, dtype)
    for axis in axes:
        corners = np.concatenate([corners, corners + strides[axis]])
    if not straight and len(axes) > 1:
        ring = [0, 1, 3, 2]
        corners = corners[ring + [4 + i for i in ring] if len(axes) == 3 else ring]
    first = np.zeros((1, 1, 1), dtype)
    for axis in range(3):
        shape = [1, 1, 1]
        shape[2 - axis] = max(dims[axis] - 1, 1)
        steps = np.arange(shape[2 - axis], dtype=dtype) * strides[axis]
        first = first + steps.reshape(shape)
    return types, offsets, (first.reshape(-1, 1) + corners).reshape(-1)
