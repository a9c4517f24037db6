"""Answers worked out block by block, put together in the order of the mesh."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Part = tuple[Tensor, Tensor]
"""Which rows int64 [m], and their values [m, ...]."""


def assembled(n: int, parts: Sequence[Part], blank: Tensor, fill: float = 0.0) -> Tensor:
    """[n, ...]: the values of all parts at their rows, `fill` elsewhere.

    `blank` has the shape of one row, the dtype and the device. Rows of a part that covers
    everything ascend, and its values are returned as they are.
    """
    if len(parts) == 1 and len(parts[0][0]) == n:
        return parts[0][1]
    out = blank.new_full((n, *blank.shape), fill)
    if not parts:
        return out
    rows = torch.cat([r for r, _ in parts])
    return out.index_copy(0, rows, torch.cat([v for _, v in parts]))
