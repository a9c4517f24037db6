"""Entries as a sparse matrix of torch."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit import csr


def coo_matrix(row: Tensor, col: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Sparse COO of this size, repeated entries added. Differentiable in the values.

    The entries are our own, so nothing is checked (torch warns unless told so).
    """
    ids = torch.stack([row, col])
    return torch.sparse_coo_tensor(
        ids, values, size, check_invariants=False, device=values.device
    ).coalesce()


def square_matrix(row: Tensor, col: Tensor, values: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    """[n, n], sparse COO; narrow dtypes become float32. Differentiable in the values."""
    wide = dtype if dtype.itemsize >= 4 else torch.float32
    return coo_matrix(row, col, values.to(wide), (n, n))


def product(left: Tensor, right: Tensor) -> Tensor:
    """The product of two coalesced COO matrices, coalesced. Differentiable in both.

    (`torch.sparse.mm` goes through CSR on the CPU, which warns that it is in beta.)
    """
    row, middle = left.indices()
    across, col = right.indices()
    offsets = csr.offsets_of(torch.bincount(across, minlength=right.shape[0]))
    ends, places = csr.take_rows(offsets, middle)
    mine = csr.row_of_each(ends)
    values = left.values()[mine] * right.values()[places]
    return coo_matrix(row[mine], col[places], values, (left.shape[0], right.shape[1]))
