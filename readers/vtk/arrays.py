"""The plain arrays of a VTK dataset, and the refusal of those that make no mesh."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.celltypes import CELL_TYPES, POLYHEDRON
from meshkit.errors import ReadError
from meshkit.info import Grid

ROLES: Final = frozenset(
    {"scalars", "vectors", "normals", "tcoords", "tensors", "global_ids", "pedigree_ids"}
)
"""What VTK can declare an array as, and `FieldInfo.kind` says."""

ATTRIBUTES: Final = {
    "scalars": "Scalars",
    "vectors": "Vectors",
    "normals": "Normals",
    "tcoords": "TCoords",
    "tensors": "Tensors",
    "global_ids": "GlobalIds",
    "pedigree_ids": "PedigreeIds",
    "edge_flag": "EdgeFlag",
    "tangents": "Tangents",
    "rational_weights": "RationalWeights",
    "degrees": "HigherOrderDegrees",
    "process_ids": "ProcessIds",
}
"""What VTK's files call the roles of arrays, in the order of vtkDataSetAttributes."""

ATTRIBUTE_WIDTHS: Final = {
    "vectors": (3,),
    "normals": (3,),
    "tcoords": (1, 2, 3),
    "tensors": (6, 9),
    "global_ids": (1,),
    "edge_flag": (1,),
    "tangents": (3,),
    "degrees": (3,),
}
"""How many components VTK accepts of an array that is declared as such; of others any number."""

_WINDOW: Final = 1 << 15


@dataclass
class VtkArray:
    """One named array: numbers [n, c] (c >= 1, native byte order), or n texts.

    `role` is the attribute it was declared as, in lower case ("scalars", "vectors", "normals",
    "tcoords", "tensors", "global_ids", "pedigree_ids", and "degrees" for the degrees [n, 3] of
    Lagrange and Bezier cells, VTK's HIGHERORDERDEGREES), `components` the names of its
    components, `unit` what an information key says of its unit, `changed` how the values differ
    from what the file holds.
    """

    values: NDArray[Any] | list[str]
    role: str | None = None
    components: tuple[str, ...] | None = None
    unit: str | None = None
    changed: str | None = None


@dataclass
class VtkData:
    """Points, cells and arrays as VTK has them: always 3-D, cells in VTK's types and order.

    `polyhedra` is (faces, offsets, connectivity) as in `meshkit.Polyhedra`. For structured data
    the cells are explicit here too (types 11 voxel / 12 hexahedron, 8 pixel / 9 quad, 3 line,
    1 vertex by dimension), and `grid` keeps the lattice. `checked` says that the reader has found
    the offsets of the cells to ascend and their ids to be ids of the points, as it read them.
    """

    points: NDArray[Any]  # float32 or float64 [n, 3]
    types: NDArray[np.uint8]  # [n_cells]
    offsets: NDArray[Any]  # int32 or int64 [n_cells + 1]
    connectivity: NDArray[Any]  # int32 or int64
    polyhedra: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None
    point_arrays: dict[str, VtkArray] = field(default_factory=dict)
    cell_arrays: dict[str, VtkArray] = field(default_factory=dict)
    field_arrays: dict[str, VtkArray] = field(default_factory=dict)
    grid: Grid | None = None
    checked: bool = False


def compact(data: VtkData) -> VtkData:
    """The same data with int32 ids and offsets, each array where it fits."""

    def small(array: NDArray[Any], top: int) -> NDArray[Any]:
        fits = top <= np.iinfo(np.int32).max
        return array.astype(np.int32, copy=False) if fits else array

    n = len(data.points)
    polyhedra = None
    if data.polyhedra is not None:
        faces, rings, ids = data.polyhedra
        polyhedra = (small(faces, len(rings)), small(rings, len(ids)), small(ids, n))
    return replace(
        data,
        offsets=small(data.offsets, len(data.connectivity)),
        connectivity=small(data.connectivity, n),
        polyhedra=polyhedra,
    )


def json_array(value: Any) -> VtkArray:
    """A value as the bytes of its JSON text: numbers pass through programs that know no texts."""
    text = json.dumps(value)  # ASCII only
    return VtkArray(np.frombuffer(text.encode(), np.uint8).reshape(-1, 1).copy())


def json_of(array: VtkArray) -> Any:
    """The value that `json_array` wrote.

    Raises:
        ValueError: it is not such an array.
    """
    if isinstance(array.values, list):
        raise ValueError("expected the bytes of a JSON text, found texts")
    return json.loads(array.values.astype(np.uint8).tobytes().decode())


def tensor_of(array: NDArray[Any]) -> Tensor:
    """A tensor that shares the array's memory where it can be written to."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def refuse_unsound(data: VtkData, path: Path) -> list[tuple[int, int]]:
    """One line for the first thing that makes the arrays no mesh.

    Returns:
        Each (type, number of points) that cells have. Of types that vary in size any number
        passes: what meshkit wrote comes back as it was.

    Raises:
        ReadError: counts, offsets, ids or types contradict each other.
    """

    def fail(problem: str, place: str, expected: str | None = None) -> ReadError:
        return ReadError(path, problem, place=place, expected=expected)

    n_points, n_cells = len(data.points), len(data.types)
    for place, offsets, end in (
        ("cells", data.offsets, len(data.connectivity)),
        *(
            (
                ("polyhedra", data.polyhedra[0], len(data.polyhedra[1]) - 1),
                ("faces of polyhedra", data.polyhedra[1], len(data.polyhedra[2])),
            )
            if data.polyhedra is not None
            else ()
        ),
    ):
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
            raise fail("offsets do not span what they point into", place, f"0 to {end}")
        at = -1 if data.checked and offsets is data.offsets else descent(offsets)
        if at >= 0:
            raise fail(f"offsets descend at {at}", place)
    if len(data.offsets) != n_cells + 1:
        raise fail(f"{len(data.offsets) - 1} cells have offsets", "cells", f"{n_cells}")
    kinds = _distinct_sizes(data)
    for number, size in kinds:
        row = CELL_TYPES.get(number)
        if row is None:
            place = f"cell {_first_of(data, number, size)}"
            raise fail(f"unknown cell type {number}", place, "a type number of VTK 9.7")
        if row.size is not None and row.size != size:
            place = f"cell {_first_of(data, number, size)}"
            raise fail(f"a {row.name} of {size} points", place, f"{row.size}")
    ids = [] if data.checked else [("cell {}", data.connectivity, data.offsets)]
    if data.polyhedra is not None:
        ids.append(("face {} of the polyhedra", data.polyhedra[2], data.polyhedra[1]))
    for place, used, ends in ids:
        # As unsigned numbers, negative ids are beyond all others: one pass.
        if len(used) and used.view(f"u{used.itemsize}").max() >= n_points:
            at, bad = stranger(used, ends, n_points)
            raise fail(f"point id {bad}", place.format(at), f"ids from 0 to {n_points - 1}")
    solid = any(number == POLYHEDRON for number, _ in kinds)
    wanted = int(np.count_nonzero(data.types == POLYHEDRON)) if solid else 0
    found = 0 if data.polyhedra is None else len(data.polyhedra[0]) - 1
    if wanted != found:
        raise fail(f"{found} polyhedra have faces", "cells", f"{wanted}")
    for home, arrays, rows in (
        ("point", data.point_arrays, n_points),
        ("cell", data.cell_arrays, n_cells),
    ):
        for name, array in arrays.items():
            if len(array.values) != rows:
                raise fail(f"{len(array.values)} rows", f"{home} array {name!r}", f"{rows}")
    return kinds


def _first_of(data: VtkData, number: int, size: int) -> int:
    """The first cell of a type and a number of points."""
    return int(np.argmax((data.types == number) & (np.diff(data.offsets) == size)))


def stranger(ids: NDArray[Any], offsets: NDArray[Any], n: int) -> tuple[int, int]:
    """The first id that is not from 0 to n - 1, behind the number of the row that has it."""
    at = int(np.argmax((ids < 0) | (ids >= n)))
    return int(np.searchsorted(offsets, at, side="right")) - 1, int(ids[at])


def descent(offsets: NDArray[Any]) -> int:
    """The first place where an offset is greater than the next one; -1: they ascend."""
    for at in range(0, len(offsets), _WINDOW):  # what fits in the cache needs no new memory
        ends = offsets[at : at + _WINDOW + 1]
        falls = ends[1:] < ends[:-1]
        if falls.any():
            return at + int(np.argmax(falls))
    return -1


def _distinct_sizes(data: VtkData) -> list[tuple[int, int]]:
    """Each (type, size) that occurs."""
    found: set[tuple[int, int]] = set()
    for at in range(0, len(data.types), _WINDOW):  # what fits in the cache is looked at twice
        types = data.types[at : at + _WINDOW]
        ends = data.offsets[at : at + len(types) + 1]
        sizes = ends[1:] - ends[:-1]
        low, high = int(sizes.min()), int(sizes.max())
        if low == high and types.min() == types.max():
            found.add((int(types[0]), low))
            continue
        width = high + 1
        keys = types.astype(np.int64) * width + sizes
        distinct = np.flatnonzero(np.bincount(keys)) if width < 4096 else np.unique(keys)
        found.update(divmod(key, width) for key in distinct.tolist())
    return sorted(found)
