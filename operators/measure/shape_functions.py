"""Shape functions of an element, from where its nodes are and which polynomials it spans.

They follow by solving for those that are 1 at one node and 0 at all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Final

import torch
from torch import Tensor

from meshkit.operators.measure.lagrange_nodes import Nodes

Power = tuple[int, ...]
Bubble = tuple[tuple[int, ...], int]
"""A product of barycentric coordinates of the simplex axes, times a power of the last axis."""

SIMPLEX_AXES: Final = {
    "line": 0,
    "triangle": 2,
    "quad": 0,
    "tetra": 3,
    "hexahedron": 0,
    "wedge": 2,
}
"""How many leading axes of a reference shape run over a simplex; the others over [0, 1]."""


@dataclass(frozen=True, eq=False)
class Element:
    """One element: its nodes in the reference shape, and what its shape functions span."""

    shape: str
    nodes: Nodes
    powers: tuple[Power, ...]
    bubbles: tuple[Bubble, ...] = ()

    @property
    def degrees(self) -> tuple[int, int]:
        """The highest total degree in the simplex axes, and the highest one along another axis."""
        k = SIMPLEX_AXES[self.shape]
        inside = [sum(p[:k]) for p in self.powers] + [len(f) for f, _ in self.bubbles]
        along = [max(p[k:], default=0) for p in self.powers] + [c for _, c in self.bubbles]
        return max(inside), max(along)

    def functions(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Shape functions [q, k] and their derivatives [q, k, dim] at float64 points [q, dim]."""
        nodes, _ = self._spanning(torch.tensor(self.nodes, dtype=torch.float64, device="cpu"))
        values, slopes = self._spanning(at)
        inverse = torch.linalg.inv(nodes)
        return values @ inverse, torch.einsum("qmd,mk->qkd", slopes, inverse)

    def _spanning(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """The spanning polynomials [q, m] and their derivatives [q, m, dim].

        Powers stand for products of Legendre polynomials, which span the same (each set holds
        with a power all lower ones) and keep the solve well conditioned.
        """
        top = max(max(p) for p in self.powers)
        value, slope = _legendre(at, top)
        axes, powers = (
            torch.arange(at.shape[1], device=at.device),
            torch.tensor(self.powers, device=at.device),
        )
        factor, steep = value[:, axes, powers], slope[:, axes, powers]  # [q, m, dim]
        derived = torch.eye(at.shape[1], dtype=torch.bool, device=at.device)
        columns = [factor.prod(-1)]
        slopes = [torch.where(derived, steep[:, :, None], factor[:, :, None]).prod(-1)]
        for factors, n in self.bubbles:
            column, derivative = self._bubble(at, factors, value, slope, n)
            columns.append(column[:, None])
            slopes.append(derivative[:, None])
        return torch.cat(columns, 1), torch.cat(slopes, 1)

    def _bubble(
        self, at: Tensor, factors: tuple[int, ...], value: Tensor, slope: Tensor, n: int
    ) -> tuple[Tensor, Tensor]:
        k, dim = SIMPLEX_AXES[self.shape], at.shape[1]
        barycentric = torch.cat([1 - at[:, :k].sum(1, keepdim=True), at[:, :k]], 1)
        toward = torch.zeros(
            k + 1, dim, dtype=at.dtype, device=at.device
        )  # derivatives of the coordinates
        toward[0, :k] = -1
        toward[torch.arange(1, k + 1, device=at.device), torch.arange(k, device=at.device)] = 1
        bubble = reduce(mul, [barycentric[:, f] for f in factors])
        derivative = torch.zeros_like(at)
        for f in factors:
            rest = reduce(mul, [barycentric[:, g] for g in factors if g != f])
            derivative = derivative + rest[:, None] * toward[f]
        if dim == k:
            return bubble, derivative
        along, steep = value[:, k, n], slope[:, k, n]
        derivative = derivative * along[:, None]
        derivative[:, k] = bubble * steep
        return bubble * along, derivative


def _legendre(at: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """Legendre polynomials of 2 x - 1 up to a degree, and their derivatives, [q, dim, top + 1]."""
    x = 2 * at - 1
    value, slope = [torch.ones_like(x), x], [torch.zeros_like(x), torch.full_like(x, 2.0)]
    for n in range(1, top):
        value.append(((2 * n + 1) * x * value[n] - n * value[n - 1]) / (n + 1))
        slope.append(((2 * n + 1) * (2 * value[n] + x * slope[n]) - n * slope[n - 1]) / (n + 1))
    return torch.stack(value[: top + 1], -1), torch.stack(slope[: top + 1], -1)
