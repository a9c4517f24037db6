"""Compressed rows as columns: rows of about the same length side by side, so that loops over rows
run through memory in order and need no ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from meshkit import csr

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
    places: Tensor  # int64 [width, m]: entry k of each row; -1 where the row is shorter


def bands(offsets: Tensor) -> list[Band]:
    """Compressed rows in a few bands; empty rows stand in none, or are all -1.

    Mostly one length: one band of all rows (those longer than it are all -1 there), and the long
    rows in bands of their own. Else bands by length. Every value stands in exactly one place.

    Args:
        offsets: int [n + 1].
    """
    begin, lengths = offsets[:-1].long(), csr.lengths_of(offsets).long()
    n = len(lengths)
    counts = torch.bincount(lengths).tolist() if n else []
    out: list[Band] = []
    width = _width_of_all(counts)
    if width:
        fits = lengths <= width
        out.append(Band(None, _table(begin, torch.where(fits, lengths, 0), width)))
    for low, high in _classes(counts, width + 1):
        rows = torch.nonzero((lengths >= low) & (lengths <= high)).squeeze(1)
        out.append(Band(rows, _table(begin[rows], lengths[rows], high)))
    return out


def _table(begin: Tensor, lengths: Tensor, width: int) -> Tensor:
    k = torch.arange(width, device=begin.device)[:, None]
    return torch.where(k < lengths, begin + k, -1)


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
