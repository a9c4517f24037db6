"""Compiled loops over the arrays of a sparse map: worked out once, then called for each field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from torch import Tensor

from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.sparse_kernels import sums
from meshkit.operators.kernels import Array, array, over_rows

Band = tuple[Tensor | None, Tensor, Tensor, Tensor | None]
"""Rows, columns, coefficients and what differences are taken against, as `Part` has them."""


@dataclass(frozen=True, eq=False)
class Loops:
    """What a map's kernel is called with, apart from the field and the answer.

    On small meshes this takes longer to put together than the loops run.
    """

    kernel: Any
    takes: int  # components of the field that its terms take
    ids: type[np.uint32 | np.uint64]  # of distances in the field, which are as wide as columns
    sets: bool  # whether every row of the answer is set; else only added to
    bands: tuple[tuple[int, tuple[Any, ...]], ...]  # how many rows, and the arrays

    def run(self, rows: Tensor, answer: Array) -> None:
        """Fill [outputs, n_rows] from a field [n_cols, inputs].

        The field is copied only where neither its components nor its rows lie side by side.
        """
        n, width = rows.shape
        if rows.is_contiguous() and (self.ids is np.uint64 or n * width < 1 << 32):
            field = array(rows).reshape(-1), self.ids(width), self.ids(1)
        else:
            field = array(rows.T).reshape(-1), self.ids(1), self.ids(n)
        units = width // self.takes
        out = answer.reshape(units, len(answer) // max(units, 1), answer.shape[1])
        if not self.sets:
            out.fill(0)
        for many, arrays in self.bands:
            given: list[Any] = [*arrays, *field, self.takes, out]
            over_rows(self.kernel, many, *given)


def loops(form: Form, units: int, differences: bool, bands: Iterable[Band]) -> Loops:
    """Those that apply a form to so many units of a field at once.

    Args:
        form: of the map.
        units: three components read their coefficients once.
        differences: whether values are taken against others.
        bands: of the map; one with all rows sets the answer, so that it has to come first.
    """
    found = []
    ids: type[np.uint32 | np.uint64] = np.uint32
    sets = False
    for rows, cols, coefs, base in sorted(bands, key=lambda band: band[0] is not None):
        columns = _unsigned(cols)
        ids = np.uint64 if columns.dtype == np.uint64 else np.uint32
        sets = sets or rows is None
        none = columns.reshape(-1)[:0]
        which = none if rows is None else _unsigned(rows.to(cols.dtype))
        at = which if base is None else _unsigned(base.to(cols.dtype))
        found.append((columns.shape[1], (which, at, differences, columns, array(coefs))))
    kernel = sums(tuple(form.terms(units)))
    return Loops(kernel, units * prod(form.takes), ids, sets, tuple(found))


def _unsigned(ids: Tensor) -> Any:
    """As unsigned integers of the same width, which compiled loops index faster with."""
    held = array(ids)
    return held.view(np.uint32 if held.dtype == np.int32 else np.uint64)
