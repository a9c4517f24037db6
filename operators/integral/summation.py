"""Sums that keep their digits and their bits."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

_AT_ONCE: Final = 1 << 18
"""Rows that are widened to float64 together."""

_BLOCK: Final = 1 << 10
"""Rows that are summed to one before the next level."""


def wide(values: Tensor) -> Tensor:
    """The same values in float64, or complex128."""
    return values.to(torch.complex128 if values.dtype.is_complex else torch.float64)


def narrow_dtype(values: Tensor, points: Tensor) -> torch.dtype:
    """What an integral of these values is given in: the wider of the two dtypes."""
    return torch.promote_types(values.dtype, points.dtype)


def total(values: Tensor) -> Tensor:
    """[...]: the sum of float64 or complex128 rows [n, ...].

    By blocks of a fixed size, level by level: the error grows with the logarithm of n, and the
    order of the sum does not depend on the number of threads.
    """
    while len(values) > _BLOCK:
        whole = len(values) // _BLOCK * _BLOCK
        blocks = values[:whole].reshape(-1, _BLOCK, *values.shape[1:]).sum(1)
        rest = values[whole:].sum(0, keepdim=True)
        values = torch.cat([blocks, rest])
    return values.sum(0)


def weighted_total(rows: Tensor | None, weights: Tensor, values: Tensor) -> Tensor:
    """[...]: the sum of weights [k] times values [n, ...] at these rows [k] (None: all)."""
    parts = []
    n = len(weights)
    for begin in range(0, n, _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        part = wide(values[some] if rows is None else values[rows[some]])
        share = weights[some].reshape(-1, *([1] * (part.ndim - 1)))
        parts.append(total(part * share))
    if not parts:
        return wide(values[:0]).sum(0)
    return total(torch.stack(parts))
