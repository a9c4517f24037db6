"""Sums of compressed rows that torch can differentiate any number of times, forward and backward.

torch.segment_reduce itself has a first derivative only, and none forward.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from meshkit import csr


def summed(values: Tensor, offsets: Tensor) -> Tensor:
    """The sum of each compressed row of values [.., ...]; in order, so always the same bits."""
    if len(values) == 0:
        return values.new_zeros(len(offsets) - 1, *values.shape[1:])
    if torch.compiler.is_compiling():  # which cannot look into what has forward derivatives
        return _sums(values, offsets)
    return cast(Tensor, _Summed.apply(values, offsets))  # type: ignore[no-untyped-call]


def _sums(values: Tensor, offsets: Tensor) -> Tensor:
    return torch.segment_reduce(values, "sum", offsets=offsets.long(), axis=0, initial=0)


class _Summed(torch.autograd.Function):
    """One value for each row: the sum of its own."""

    @staticmethod
    def forward(values: Tensor, offsets: Tensor) -> Tensor:
        return _sums(values, offsets)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.offsets = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Spread.apply(grads[0], ctx.offsets), None  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Any:
        return _Summed.apply(tangents[0], ctx.offsets)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(_: Any, dims: tuple[int, None], values: Tensor, offsets: Tensor) -> Any:
        return summed(values.movedim(dims[0], -1), offsets), -1


class _Spread(torch.autograd.Function):
    """The transpose: each value gets that of its row."""

    @staticmethod
    def forward(sums: Tensor, offsets: Tensor) -> Tensor:
        return sums[csr.row_of_each(offsets)]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.offsets = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Summed.apply(grads[0], ctx.offsets), None  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Any:
        return _Spread.apply(tangents[0], ctx.offsets)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(_: Any, dims: tuple[int, None], sums: Tensor, offsets: Tensor) -> Any:
        spread = _Spread.apply(sums.movedim(dims[0], -1), offsets)  # type: ignore[no-untyped-call]
        return spread, -1
