"""The numbers of a PLY file, element by element, as columns.

A position is a word in an ascii body and a byte in a binary one; all else is the same for both:
where rows begin, follows from the counts of their lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.ascii_numbers import BadNumber, parsed, words_count, words_end
from meshkit.readers.ply.header import Element, Header, Property
from meshkit.readers.ragged_rows import row_starts

_LONGEST = 1 << 40  # of a list; more is no count


@dataclass(frozen=True)
class Lists:
    """A list property: row i is values[offsets[i]:offsets[i + 1]]."""

    offsets: NDArray[np.int64]
    values: NDArray[Any]

    @property
    def size(self) -> int | None:
        """The one length of all rows, or None; also None without rows."""
        sizes = np.diff(self.offsets)
        return int(sizes[0]) if len(sizes) and (sizes == sizes[0]).all() else None


Column = NDArray[Any] | Lists


class Body:
    """A cursor over the numbers.

    Args:
        path: the file, for messages.
        data: all of the file.
        header: its header.

    Raises:
        ReadError: a word of an ascii file is no number.
    """

    def __init__(self, path: Path, data: bytes, header: Header) -> None:
        self.path, self.order, self.start = path, header.order, header.start
        self.raw = np.frombuffer(data, np.uint8)
        self.at = 0
        if self.order:
            self.units: NDArray[Any] = self.raw[header.start :]
            return
        try:
            count = words_count(self.raw, header.start)
            self.units = parsed(data[header.start :], count, np.dtype(np.float64))
        except BadNumber as why:
            place = self.place(why.index)
            raise ReadError(path, f"found {why.word!r}", place=place, expected="numbers") from None

    @property
    def left(self) -> int:
        """How many words or bytes follow."""
        return len(self.units) - self.at

    def place(self, position: int) -> str:
        """How a message names a position."""
        if self.order:
            return f"byte {self.start + position}"
        end = words_end(self.raw, self.start, position + 1) or len(self.raw)
        return f"line {np.count_nonzero(self.raw[:end] == 10) + 1}"

    def read(self, element: Element) -> dict[str, Column]:
        """The columns of the next element.

        Raises:
            ReadError: the file ends before it does, or a number does not fit its type.
        """
        rows, properties = element.rows, element.properties
        if not properties:
            return {}
        least = sum(self._width(p.count or p.dtype) for p in properties)
        if rows * least > self.left:
            raise self._too_short(element)
        if all(p.count is None for p in properties):
            starts = np.arange(rows + 1, dtype=np.int64) * least
        else:
            starts = row_starts(rows, self.left, lambda at: self._lengths(properties, at))
        if len(starts) != rows + 1 or starts[-1] > self.left:
            raise self._too_short(element)
        columns = self._columns(element, starts + self.at)
        self.at += int(starts[-1])
        return columns

    def _too_short(self, element: Element) -> ReadError:
        unit = "bytes" if self.order else "numbers"
        return ReadError(
            self.path,
            f"{self.left} {unit} are left for element {element.name!r}, fewer than it needs",
            place=self.place(self.at) if self.left else "end of the file",
            expected=f"{element.rows} rows",
        )

    def _width(self, dtype: np.dtype[Any]) -> int:
        return dtype.itemsize if self.order else 1

    def _lengths(self, properties: list[Property], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """How long a row would be that began `at` (from here on)."""
        end = at + self.at
        for p in properties:
            if p.count is None:
                end = end + self._width(p.dtype)
                continue
            count = self._gathered(np.minimum(end, len(self.units)), p.count, loose=True)
            end = end + self._width(p.count) + count * self._width(p.dtype)
        return end - self.at - at

    def _gathered(
        self, at: NDArray[np.int64], dtype: np.dtype[Any], *, loose: bool = False
    ) -> NDArray[Any]:
        """The numbers at these positions; `loose` ones are list counts from 0 to a limit."""
        width = self._width(dtype)
        places = at[:, None] + np.arange(width)
        if loose:
            places = np.minimum(places, len(self.units) - 1)
        block = self.units[places]
        if not loose:
            return self._typed(block, dtype)[:, 0]
        if not self.order:
            counts = np.nan_to_num(block[:, 0], posinf=_LONGEST)
        else:
            counts = block.view(dtype.newbyteorder(self.order))[:, 0].astype(np.int64)
        clipped: NDArray[Any] = counts.clip(0, _LONGEST).astype(np.int64)
        return clipped

    def _typed(self, block: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Units [n, k width] as numbers [n, k]; words that do not fit raise OverflowError."""
        if self.order:
            block = np.ascontiguousarray(block)
            if block.size == 0:
                return np.zeros((len(block), block.shape[1] // dtype.itemsize), dtype)
            numbers: NDArray[Any] = block.view(dtype.newbyteorder(self.order)).astype(dtype)
            return numbers
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                return block.astype(dtype)
        ends = np.iinfo(dtype)
        bad = ~((block >= ends.min) & (block <= ends.max) & (block == np.floor(block)))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise _Misfit(int(row), float(block[row, column]))
        return block.astype(dtype)

    def _columns(self, element: Element, starts: NDArray[np.int64]) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        at = starts[:-1]  # where the next property of each row stands
        for p in element.properties:
            try:
                counts = None
                if p.count is not None:
                    counts = self._strided(at, p.count, 1)[:, 0].astype(np.int64)
                    at = at + self._width(p.count)
                    if (counts < 0).any():
                        row = int(np.argmax(counts < 0))
                        raise _Misfit(row, float(counts[row]))
                if counts is None:
                    columns[p.name] = self._strided(at, p.dtype, 1)[:, 0]
                    at = at + self._width(p.dtype)
                else:
                    columns[p.name] = self._lists(at, counts, p.dtype)
                    at = at + counts * self._width(p.dtype)
            except _Misfit as why:
                raise ReadError(
                    self.path,
                    f"{why.value:g} for {p.name!r} of row {why.row} of {element.name!r}",
                    place=self.place(int(at[min(why.row, len(at) - 1)])),
                    expected=f"{(p.count or p.dtype).name}",
                ) from None
        return columns

    def _strided(self, at: NDArray[np.int64], dtype: np.dtype[Any], k: int) -> NDArray[Any]:
        """k numbers from each position, as a view of the rows where these are evenly spaced."""
        width = self._width(dtype) * k
        if len(at) == 0:
            return np.zeros((0, k), dtype)
        first, stride = int(at[0]), int(at[1] - at[0]) if len(at) > 1 else width
        if stride >= width and (np.diff(at) == stride).all():
            step = self.units.strides[0]
            block = np.lib.stride_tricks.as_strided(
                self.units[first:], (len(at), width), (stride * step, step), writeable=False
            )
            return self._typed(block, dtype)
        return self._typed(self.units[at[:, None] + np.arange(width)], dtype)

    def _lists(
        self, at: NDArray[np.int64], counts: NDArray[np.int64], dtype: np.dtype[Any]
    ) -> Lists:
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        if len(counts) and (counts == counts[0]).all():
            return Lists(offsets, self._strided(at, dtype, int(counts[0])).reshape(-1))
        row = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(offsets[-1]) - offsets[:-1][row]
        try:
            values = self._gathered(at[row] + place * self._width(dtype), dtype)
        except _Misfit as why:
            raise _Misfit(int(row[why.row]), why.value) from None
        return Lists(offsets, values)


class _Misfit(ValueError):
    """A number that does not fit its type: in which row, and its value."""

    def __init__(self, row: int, value: float) -> None:
        super().__init__(row, value)
        self.row, self.value = row, value
