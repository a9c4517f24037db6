"""Least-squares gradients as compressed rows, which multiplied-out maps read row by row."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype
from meshkit.operators.kernels import Array, array, kernel, over_rows, unset


@dataclass(frozen=True, eq=False)
class GradientRows:
    """A gradient's differences from the row's own value, without padding."""

    offsets: Tensor  # int64 [n + 1]
    cols: Tensor  # int [e]
    coefs: Tensor  # [e, 3], zeros for coordinates that there are not
    has: Tensor  # bool [n]: which rows have one


def no_gradients(n: int, n_cols: int, dtype: torch.dtype) -> GradientRows:
    """None, of n rows."""
    nothing = torch.zeros(0, 3, dtype=dtype, device="cpu")
    ends, has = (
        torch.zeros(n + 1, dtype=torch.int64, device="cpu"),
        torch.zeros(n, dtype=torch.bool, device="cpu"),
    )
    return GradientRows(ends, torch.zeros(0, dtype=ids_dtype(n_cols), device="cpu"), nothing, has)


def gradient_rows(map: SparseMap, has: Tensor) -> GradientRows:
    """Those of a map "own row", and which of its rows have one."""
    parts, dtype = map.parts, map.parts[0].coefs.dtype if map.parts else torch.float64
    if not parts:
        return no_gradients(map.n_rows, map.n_cols, dtype)
    given = [(array(_numbers(part)), array(part.cols), array(part.coefs)) for part in parts]
    counts = torch.zeros(map.n_rows, dtype=torch.int64, device="cpu")
    for part in given:
        over_rows(_count, part[1].shape[1], *part[:2], counts.numpy())
    offsets = csr.offsets_of(counts)
    total = int(offsets[-1])
    cols = unset(total, parts[0].cols.dtype)
    coefs = unset(3 * total, dtype).reshape(total, 3)
    for part in given:
        over_rows(_gather, part[1].shape[1], *part, *(array(x) for x in (offsets, cols, coefs)))
    return GradientRows(offsets, cols, coefs, has)


def _numbers(part: Part) -> Tensor:
    return torch.arange(0, device="cpu") if part.rows is None else part.rows


@kernel
def _count(lo: int, hi: int, rows: Array, cols: Array, out: Array) -> None:
    """How many entries each row has; each has all of its in one part."""
    for k in range(cols.shape[0]):
        for i in range(lo, hi):
            row = rows[i] if len(rows) > 0 else i
            if cols[k, i] != row:
                out[row] += 1


@kernel
def _gather(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    coefs: Array,
    offsets: Array,
    out_cols: Array,
    out: Array,
) -> None:
    for i in range(lo, hi):
        row = rows[i] if len(rows) > 0 else i
        at = offsets[row]
        for k in range(cols.shape[0]):
            if cols[k, i] != row:
                out_cols[at] = cols[k, i]
                for x in range(3):
                    out[at, x] = coefs[k, x, i] if x < coefs.shape[1] else 0.0
                at += 1
