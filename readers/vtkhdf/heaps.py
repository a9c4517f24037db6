"""Texts of varying length in HDF5 files, without libhdf5, which walks a damaged heap for ever.

Such a text is a length, the place of a heap in the file, and which object of the heap it is.

Source: HDF5 File Format Specification 3.0: III.E (global heap), IV.A.2.d (variable-length types).
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

REFERENCE: Final = np.dtype([("length", "<u4"), ("heap", "<u8"), ("object", "<u4")])
"""How a dataset holds a text, in files with places of 8 bytes."""

_MAGIC: Final = b"GCOL\x01\0\0\0"
_HEAD: Final = struct.Struct("<8sQ")
_OBJECT: Final = struct.Struct("<HH4xQ")


class BadHeap(ValueError):
    """A heap or a reference into it is damaged."""


def texts_of(path: Path, references: NDArray[Any], base: int) -> list[bytes]:
    """The bytes of each text.

    Args:
        path: the file.
        references: of dtype `REFERENCE`.
        base: where in the file places are counted from.

    Raises:
        BadHeap: a heap or a reference is damaged, or texts are longer than the file altogether.
    """
    if not len(references):
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if int(references["length"].sum(dtype=np.uint64)) > len(data):
            raise BadHeap("its texts are longer than the file")
        heaps: dict[int, dict[int, tuple[int, int]]] = {}
        out = []
        for length, place, number in references.tolist():
            if length == 0:
                out.append(b"")
                continue
            if place not in heaps:
                heaps[place] = _objects(data, base + place)
            start, size = heaps[place].get(number, (0, -1))
            if length > size:
                raise BadHeap(f"no text of {length} bytes at {number} of the heap at byte {place}")
            out.append(data[start : start + length])
    return out


class Heaps:
    """All heaps of a file, looked at once, however many texts libhdf5 is asked for.

    Args:
        path: a file that stays as it is.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._sound = path, False

    def need_sound(self) -> None:
        """Look at every heap before libhdf5 does.

        Raises:
            BadHeap: one is damaged.
        """
        if self._sound:
            return
        with (
            self._path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            at = data.find(_MAGIC)
            while at >= 0:
                _objects(data, at)
                at = data.find(_MAGIC, at + 1)
        self._sound = True


def _objects(data: mmap.mmap, at: int) -> dict[int, tuple[int, int]]:
    """The objects of a heap: where each begins, and its size."""
    if at + _HEAD.size > len(data):
        raise BadHeap(f"a heap at byte {at} of {len(data)}")
    magic, size = _HEAD.unpack_from(data, at)
    if magic != _MAGIC or not _HEAD.size <= size <= len(data) - at:
        raise BadHeap(f"no sound heap at byte {at}")
    found: dict[int, tuple[int, int]] = {}
    place, stop = at + _HEAD.size, at + size
    while place + _OBJECT.size <= stop:
        number, _, size = _OBJECT.unpack_from(data, place)
        if number == 0:  # what is free, up to the end
            if size != stop - place:
                raise BadHeap(f"{size} free bytes at byte {place}, of {stop - place}")
            break
        start = place + _OBJECT.size
        if size > stop - start or number in found:
            raise BadHeap(f"an object of {size} bytes at byte {start}")
        found[number] = (start, size)
        place = start + -(-size // 8) * 8
    return found
