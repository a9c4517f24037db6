"""The rows of one element of a PLY file, as the bytes of a little-endian file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.ply.header import NAMES


@dataclass
class VertexLists:
    """The list property of an element: its name, the length of each row's list, all vertices."""

    name: str
    sizes: NDArray[np.int64]
    ids: NDArray[np.int32]

    @property
    def count(self) -> np.dtype[Any]:
        """The type of the lengths: a byte where they fit."""
        return np.dtype("<i4" if int(self.sizes.max(initial=0)) > 255 else "u1")


@dataclass
class Table:
    """An element: a list of vertices first, if it has one, then a number for each column."""

    n: int
    lists: VertexLists | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)

    def properties(self) -> Iterator[str]:
        """The lines of the header."""
        if self.lists is not None:
            yield f"property list {NAMES[self.lists.count.name]} int {self.lists.name}"
        for name, values in self.columns.items():
            yield f"property {NAMES[values.dtype.name]} {name}"

    def rows(self) -> bytes:
        """The bytes of all rows."""
        numbers = self._numbers()
        if self.lists is None:
            return numbers.tobytes()
        sizes = self.lists.sizes
        counts = _bytes(sizes.astype(self.lists.count).reshape(-1, 1))
        ids = self.lists.ids.astype("<i4")
        if self.n and (sizes == sizes[0]).all():
            listed = _bytes(ids.reshape(self.n, -1))
            return np.concatenate([counts, listed, numbers], 1).tobytes()
        head, tail = counts.shape[1], numbers.shape[1]
        ends = np.cumsum(head + 4 * sizes + tail)
        starts = ends - (head + 4 * sizes + tail)
        out = np.empty(int(ends[-1]) if self.n else 0, np.uint8)
        out[starts[:, None] + np.arange(head)] = counts
        out[(ends - tail)[:, None] + np.arange(tail)] = numbers
        # Before an id stand its row's start, the heads up to its row, and the ids before.
        shift = np.repeat(starts + head - 4 * (np.cumsum(sizes) - sizes), sizes)
        places = shift + 4 * np.arange(len(ids))
        out[places[:, None] + np.arange(4)] = _bytes(ids.reshape(-1, 1))
        return out.tobytes()

    def _numbers(self) -> NDArray[np.uint8]:
        """The columns, side by side as bytes [n, width]."""
        kinds = [(f"c{i}", x.dtype.newbyteorder("<")) for i, x in enumerate(self.columns.values())]
        width = sum(kind.itemsize for _, kind in kinds)
        rows = np.empty(self.n, np.dtype(kinds))
        for (name, _), values in zip(kinds, self.columns.values(), strict=True):
            rows[name] = values
        if width == 0 or self.n == 0:
            return np.empty((self.n, width), np.uint8)
        return rows.view(np.uint8).reshape(self.n, width)


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Rows [n, k] as bytes [n, k itemsize]."""
    if values.size == 0:
        return np.empty((len(values), 0), np.uint8)
    return np.ascontiguousarray(values).view(np.uint8)
