"""Compressed rows as columns: rows of about the same length side by side, so that loops over rows
run through memory in order and need no ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.kernels import Array, array, kernel, over_rows, unset

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
    begin: Tensor  # int64 [m]: the first value of each row
    lengths: Tensor  # int64 [m]: how many of them; 0 where another band has them
    width: int  # the most of them

    @property
    def places(self) -> Tensor:
        """int64 [width, m]: entry k of each row; -1 where the row is shorter."""
        k = torch.arange(self.width, device=self.begin.device)[:, None]
        return torch.where(k < self.lengths, self.begin + k, -1)

    def columns(self, values: Tensor, own: Tensor | None, dtype: torch.dtype) -> Tensor:
        """[width, m]: the values of each row, filled up with its own number.

        Args:
            values: int, the flat array.
            own: int64 [m]; None: 0 to m - 1.
            dtype: int32 or int64.
        """
        if self.begin.device.type != "cpu":
            own = torch.arange(len(self.begin), device=self.begin.device) if own is None else own
            places = self.places
            return torch.where(places >= 0, values[places.clamp(min=0)].to(dtype), own.to(dtype))
        m = len(self.begin)
        out = unset(self.width * m, dtype).reshape(self.width, m)
        none = self.begin[:0]
        over_rows(
            _fill,
            m,
            array(self.begin),
            array(self.lengths),
            array(values),
            array(none if own is None else own),
            out.numpy(),
        )
        return out


@kernel
def _fill(
    lo: int, hi: int, begin: Array, lengths: Array, values: Array, own: Array, out: Array
) -> None:
    for r in range(lo, hi):
        for k in range(lengths[r]):
            out[k, r] = values[begin[r] + k]
        for k in range(lengths[r], out.shape[0]):
            out[k, r] = own[r] if len(own) else r


def bands(offsets: Tensor) -> list[Band]:
    """Compressed rows in a few bands; empty rows stand in none, or have length 0.

    Mostly one length: one band of all rows (those longer than it are empty there), and the long
    rows in bands of their own. Else bands by length. Every value stands in exactly one band.

    Args:
        offsets: int [n + 1].
    """
    begin, lengths = offsets[:-1].long(), csr.lengths_of(offsets).long()
    n = len(lengths)
    counts = torch.bincount(lengths).tolist() if n else []
    out: list[Band] = []
    width = _width_of_all(counts)
    if width:
        fits = lengths if len(counts) <= width + 1 else torch.where(lengths <= width, lengths, 0)
        out.append(Band(None, begin, fits, width))
    for low, high in _classes(counts, width + 1):
        rows = torch.nonzero((lengths >= low) & (lengths <= high)).squeeze(1)
        out.append(Band(rows, begin[rows], lengths[rows], high))
    return out


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
