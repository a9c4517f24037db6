"""Checksums (CRC-32C) in meshkit's note: what was written so is told from what was changed since.

Another program may change points, cells and fields, and that is no damage: the note then no longer
speaks of these cells, and the file is read like anyone's. The note itself and the ids of regions,
faces and cells beside it are nobody's but meshkit's: when they differ, the file is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from meshkit.readers.vtk.arrays import VtkArray, VtkData

_WINDOW: Final = 1 << 14


def sealed(note: Mapping[str, Any]) -> dict[str, Any]:
    """A note with a checksum of itself."""
    import google_crc32c

    rest = {key: value for key, value in note.items() if key != "crc32c"}
    return {**rest, "crc32c": int(google_crc32c.value(json.dumps(rest).encode()))}


def sums(data: VtkData, cells: Mapping[str, Any], riders: Mapping[str, VtkArray]) -> dict[str, Any]:
    """What a note says of the arrays as they are written.

    Args:
        data: points and cells.
        cells: what the note says of the cells; the name of their degrees is in there.
        riders: meshkit's own arrays.
    """
    kinds = {name: getattr(array.values, "dtype", None) for name, array in riders.items()}
    ids = [name for name, dtype in kinds.items() if dtype is not None and dtype.kind in "iu"]
    return {
        "cells_crc32c": _cells(data),
        "more_crc32c": _beside_cells(data, cells),
        "ids": ids,
        "ids_crc32c": _sum_of(riders[name].values for name in ids),
    }


def need_seals(data: VtkData, said: Mapping[str, Any]) -> None:
    """Refuse a note, or ids beside it, that are not as they were written.

    Raises:
        ValueError: they are not.
        KeyError: the note says nothing of it, or ids are gone.
    """
    if said["crc32c"] != sealed(said)["crc32c"]:
        raise ValueError("the note is not as it was written")
    if said["ids_crc32c"] != _sum_of(data.field_arrays[name].values for name in said["ids"]):
        raise ValueError("the ids of regions, faces or cells are not as they were written")


def same_cells(data: VtkData, said: Mapping[str, Any]) -> bool:
    """Whether the cells are those that the note speaks of."""
    if said["cells_crc32c"] != _cells(data):
        return False
    more = said.get("more_crc32c")  # not in the first version
    return more is None or bool(more == _beside_cells(data, said["cells"]))


def _cells(data: VtkData) -> int:
    return _sum_of((data.types, data.offsets, data.connectivity))


def _beside_cells(data: VtkData, how: Mapping[str, Any]) -> int:
    """Of the faces of polyhedra, and of degrees."""
    degrees = [data.cell_arrays[name].values for name in how.get("degrees", ())[:1]]
    return _sum_of((*(data.polyhedra or ()), *degrees))


def _sum_of(arrays: Iterable[Any]) -> int:
    """A checksum of whole numbers as int64."""
    import google_crc32c

    total = 0
    for array in map(np.ravel, arrays):
        for at in range(0, len(array), _WINDOW):  # what fits in the cache is looked at twice
            wide = array[at : at + _WINDOW].astype("<i8")
            total = google_crc32c.extend(total, wide.tobytes())
    return int(total)
