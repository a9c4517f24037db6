"""Compressed rows as columns: rows of about the same length side by side, so that loops over rows
run through memory in order and need no ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.kernels import Array, array, kernel

_FULL: Final = 0.8
"""How much of one table of all rows must be values, before the table is worth its padding."""

_MOST: Final = 0.9
"""How many of the rows such a table must hold."""

_SPREAD: Final = 1.2
"""By how much the longest row of a band may exceed the shortest."""


@dataclass(frozen=True, eq=False)
class Band:
    """Some rows, and where their values stand in the flat array."""

    rows: Tensor | None  # int64 [m], ascending; None: all rows in order
    offsets: Tensor  # int [n + 1]: of all rows
    width: int  # the most values of a row; where a band of all rows has longer ones, they are empty

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self.rows is None else len(self.rows)

    @property
    def begin(self) -> Tensor:
        """int64 [m]: the first value of each row."""
        first = self.offsets[:-1] if self.rows is None else self.offsets[self.rows]
        return first.long()

    @property
    def lengths(self) -> Tensor:
        """int64 [m]: how many values; 0 where another band has them."""
        if self.rows is not None:
            return (self.offsets[self.rows + 1] - self.offsets[self.rows]).long()
        found = csr.lengths_of(self.offsets).long()
        return torch.where(found > self.width, 0, found)

    @property
    def places(self) -> Tensor:
        """int64 [width, m]: entry k of each row; -1 where the row is shorter."""
        k = torch.arange(self.width, device=self.offsets.device)[:, None]
        return torch.where(k < self.lengths, self.begin + k, -1)

    def columns(self, values: Tensor, own: Tensor | None) -> Tensor:
        """[width, m]: the values of each row, filled up with its own number.

        Args:
            values: int, the flat array.
            own: int64 [m]; None: 0 to m - 1.
        """
        own = torch.arange(len(self), device=self.offsets.device) if own is None else own
        places = self.places
        return torch.where(places >= 0, values[places.clamp(min=0)], own.to(values))


def bands(offsets: Tensor) -> list[Band]:
    """Compressed rows in a few bands; empty rows stand in none, or have length 0.

    Mostly one length: first a band of all rows (those longer than it are empty there), then the
    long rows in bands of their own. Else bands by length. Every value stands in exactly one band.

    Args:
        offsets: int [n + 1].
    """
    counts = _counts(offsets)
    out: list[Band] = []
    width = _width_of_all(counts)
    if width:
        out.append(Band(None, offsets, width))
    classes = list(_classes(counts, width + 1))
    lengths = csr.lengths_of(offsets) if classes else offsets
    for low, high in classes:
        rows = torch.nonzero((lengths >= low) & (lengths <= high)).squeeze(1)
        out.append(Band(rows, offsets, high))
    return out


def _counts(offsets: Tensor) -> list[int]:
    """How many rows there are of each length."""
    if len(offsets) < 2:
        return []
    if offsets.device.type != "cpu":
        return cast(list[int], torch.bincount(csr.lengths_of(offsets)).tolist())
    ends = array(offsets)
    return cast(list[int], _tally(ends).tolist())


@kernel
def _tally(offsets: Array) -> Array:
    most = 0
    for r in range(len(offsets) - 1):
        most = max(most, offsets[r + 1] - offsets[r])
    found = np.zeros(most + 1, np.int64)
    for r in range(len(offsets) - 1):
        found[offsets[r + 1] - offsets[r]] += 1
    return found


def _width_of_all(counts: list[int]) -> int:
    """The width of a table of all rows, 0 where none is worth it."""
    n = sum(counts)
    held = values = 0
    for width, count in enumerate(counts):
        held += count
        values += width * count
        if held >= _MOST * n:
            return width if width and values >= _FULL * n * width else 0
    return 0


def _classes(counts: list[int], least: int) -> list[tuple[int, int]]:
    """The shortest and the longest row of each band."""
    out: list[tuple[int, int]] = []
    for length, count in enumerate(counts):
        if length < max(least, 1) or not count:
            continue
        if out and length <= max(_SPREAD * out[-1][0], out[-1][0] + 1):
            out[-1] = (out[-1][0], length)
        else:
            out.append((length, length))
    return out
