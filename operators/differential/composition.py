"""Sums and products of sparse maps, applied one after the other: the way where derivatives go
through the coefficients, and on other devices. `flux_map` has the same multiplied out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.sparse_map import rows_of_pairs
from meshkit.operators.differential.sparse_matrix import product


class LinearMap(Protocol):
    """What sparse maps, their sums and their products have in common."""

    @property
    def n_rows(self) -> int:
        """Rows of the answer."""

    @property
    def n_cols(self) -> int:
        """Rows of the field."""

    @property
    def form(self) -> Form:
        """Which axes a field loses and gains."""

    @property
    def dtype(self) -> torch.dtype:
        """Of the coefficients."""

    @property
    def requires_grad(self) -> bool:
        """Whether coefficients need derivatives."""

    def pattern(self) -> tuple[Tensor, Tensor]:
        """Row and column of each entry, int64 [e]; some may repeat."""

    def apply(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """[n_cols, ..., *takes] -> [n_rows, ..., *gives]; in `out` where given, which has the
        dtype of the coefficients, runs component by component and takes no derivatives."""

    def transpose(self) -> LinearMap:
        """The transposed map."""

    def of_dtype(self, dtype: torch.dtype) -> LinearMap:
        """The map with coefficients of this dtype."""

    def matrix(self, units: int = 1) -> Tensor:
        """Sparse [n_rows x units x gives, n_cols x units x takes]."""


@dataclass(frozen=True, eq=False, repr=False)
class Sum:
    """first + second."""

    first: LinearMap
    second: LinearMap

    def __repr__(self) -> str:
        return f"({self.first} + {self.second})"

    @property
    def n_rows(self) -> int:
        """Rows of the answer."""
        return self.first.n_rows

    @property
    def n_cols(self) -> int:
        """Rows of the field."""
        return self.first.n_cols

    @property
    def form(self) -> Form:
        """Which axes a field loses and gains."""
        return self.first.form

    @property
    def dtype(self) -> torch.dtype:
        """Of the coefficients."""
        return self.first.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether coefficients of either need derivatives."""
        return self.first.requires_grad or self.second.requires_grad

    def pattern(self) -> tuple[Tensor, Tensor]:
        """The entries of both."""
        (a, b), (c, d) = self.first.pattern(), self.second.pattern()
        return torch.cat([a, c]), torch.cat([b, d])

    def apply(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """Both, added: into the memory of the first, unless derivatives go through it."""
        first, second = self.first.apply(values, out), self.second.apply(values)
        return first + second if first.requires_grad or second.requires_grad else first.add_(second)

    def transpose(self) -> Sum:
        """The sum of the transposes."""
        return Sum(self.first.transpose(), self.second.transpose())

    def of_dtype(self, dtype: torch.dtype) -> Sum:
        """Both of this dtype."""
        return Sum(self.first.of_dtype(dtype), self.second.of_dtype(dtype))

    def matrix(self, units: int = 1) -> Tensor:
        """The sum of the matrices."""
        return (self.first.matrix(units) + self.second.matrix(units)).coalesce()


@dataclass(frozen=True, eq=False, repr=False)
class Product:
    """outer after inner, where inner makes of each component of a unit a whole unit of its own."""

    outer: LinearMap
    inner: LinearMap
    form: Form

    def __repr__(self) -> str:
        return f"{self.outer} after {self.inner}"

    @property
    def n_rows(self) -> int:
        """Rows of the answer."""
        return self.outer.n_rows

    @property
    def n_cols(self) -> int:
        """Rows of the field."""
        return self.inner.n_cols

    @property
    def dtype(self) -> torch.dtype:
        """Of the coefficients."""
        return self.outer.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether coefficients of either need derivatives."""
        return self.outer.requires_grad or self.inner.requires_grad

    def pattern(self) -> tuple[Tensor, Tensor]:
        """What the outer map reads of the rows of the inner one, and what those read."""
        row, middle = self.outer.pattern()
        inner = rows_of_pairs(*self.inner.pattern(), self.inner.n_rows, self.inner.n_cols)
        offsets, places = csr.take_rows(inner.offsets, middle)
        return row[csr.row_of_each(offsets)], inner.indices[places]

    def apply(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """One after the other."""
        return self.outer.apply(self.inner.apply(values), out)

    def transpose(self) -> Product:
        """The transposes in the other order."""
        return Product(self.inner.transpose(), self.outer.transpose(), self.form.transposed())

    def of_dtype(self, dtype: torch.dtype) -> Product:
        """Both of this dtype."""
        return Product(self.outer.of_dtype(dtype), self.inner.of_dtype(dtype), self.form)

    def matrix(self, units: int = 1) -> Tensor:
        """The product of the matrices."""
        each = units * prod(self.form.takes)
        inner = self.inner.matrix(each // prod(self.inner.form.takes))
        return product(self.outer.matrix(units), inner)
