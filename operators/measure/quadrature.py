"""Gauss rules on the reference shapes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.memo import constant
from meshkit.operators.measure.shape_functions import SIMPLEX_AXES


@constant
def line_rule(n: int) -> tuple[Tensor, Tensor]:
    """The Gauss-Legendre points and weights [n] on [0, 1]: exact up to degree 2 n - 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return torch.from_numpy((x + 1) / 2), torch.from_numpy(w / 2)


def rule(shape: str, axes: int, inside: int, along: int) -> tuple[Tensor, Tensor]:
    """Points [q, axes] and weights [q], float64, on a reference shape.

    Simplices are squares or cubes with one side drawn together, which costs one degree for each
    axis but the first.

    Args:
        shape: a reference shape.
        axes: its dimension.
        inside: exact up to this total degree in the simplex axes.
        along: exact up to this degree along each other axis.

    Source: Stroud, Approximate Calculation of Multiple Integrals (1971), conical products.
    """
    k = SIMPLEX_AXES[shape]
    counts = [(inside + max(k - 1, 0)) // 2 + 1] * k + [along // 2 + 1] * (axes - k)
    rules = [line_rule(n) for n in counts]
    grid = torch.cartesian_prod(*(x for x, _ in rules)).reshape(-1, axes)
    weight = torch.cartesian_prod(*(w for _, w in rules)).reshape(-1, axes).prod(1)
    at = grid.clone()
    left = torch.ones_like(weight)
    for axis in range(k):
        at[:, axis] = grid[:, axis] * left
        weight = weight * left
        left = left - at[:, axis]
    return at, weight
