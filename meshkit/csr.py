"""Compressed rows: many lists of different lengths as one flat array and its offsets.

Row i of (offsets, values) is values[offsets[i]:offsets[i + 1]]. All functions are vectorised,
keep dtype and device, and copy nothing they can share.
"""

from __future__ import annotations

import torch
from torch import Tensor


def offsets_of(lengths: Tensor) -> Tensor:
    """Offsets [n + 1] of rows with these lengths [n], in the lengths' dtype.

    >>> offsets_of(torch.tensor([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    out = lengths.new_zeros(len(lengths) + 1)
    out[1:] = torch.cumsum(lengths, 0, dtype=lengths.dtype)
    return out


def lengths_of(offsets: Tensor) -> Tensor:
    """Lengths [n] of the rows."""
    return offsets[1:] - offsets[:-1]


def row_of_each(offsets: Tensor) -> Tensor:
    """For each value, the row it stands in; int64.

    >>> row_of_each(torch.tensor([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    lengths = lengths_of(offsets).long()
    return torch.repeat_interleave(torch.arange(len(lengths), device=offsets.device), lengths)


def place_of_each(offsets: Tensor) -> Tensor:
    """For each value, its place within its row; int64.

    >>> place_of_each(torch.tensor([0, 2, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = offsets[:-1].long()
    total = torch.arange(int(offsets[-1]) if len(offsets) else 0, device=offsets.device)
    return total - starts[row_of_each(offsets)]


def take_rows(offsets: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The offsets of the chosen rows, and where their values stand in the old flat array (int64).

    >>> new, places = take_rows(torch.tensor([0, 2, 2, 5]), torch.tensor([2, 0]))
    >>> new.tolist(), places.tolist()
    ([0, 3, 5], [2, 3, 4, 0, 1])
    """
    rows = rows.long()
    lengths = offsets[rows + 1] - offsets[rows]
    new = offsets_of(lengths)
    shift = offsets[:-1][rows].long() - new[:-1].long()
    total = int(new[-1])
    places = torch.arange(total, device=offsets.device)
    return new, places + torch.repeat_interleave(shift, lengths.long(), output_size=total)
