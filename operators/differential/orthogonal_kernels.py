"""Least squares of badly conditioned rows, one by one; compiled when a mesh has any."""

from __future__ import annotations

import numpy as np

from meshkit.operators.differential.difference_kernels import differences, in_coordinates
from meshkit.operators.kernels import Array, kernel


@kernel
def by_columns(
    lo: int,
    hi: int,
    which: Array,
    rows: Array,
    positions: Array,
    frame: Array | None,
    power: float,
    cols: Array,
    out: Array,
    span: Array,
) -> None:
    """The rows that `solve` leaves over.

    Args:
        which: int64: their places in the band.
        rows, positions, frame, power: as for `solve`.
        cols: [width, m], filled.
        out, span: [width, d, m] and [m], to fill; the span is 0 where there is no answer.
    """
    width = cols.shape[0]
    s = positions.shape[1] if frame is None else frame.shape[1]
    step, weight, g = np.zeros((width, 3, 1)), np.zeros((width, 1)), np.zeros((width, 3, 1))
    row = np.zeros(1, np.uint64)
    for i in range(lo, hi):
        r = which[i]
        row[0] = np.uint64(rows[r]) if len(rows) else np.uint64(r)
        for k in range(width):
            differences(cols[k, r : r + 1], row, positions, frame, step[k], weight[k], power)
        if not _orthogonal_columns(step, weight, g, s):
            span[r] = 0.0
            g[:] = 0.0
        for k in range(width):
            in_coordinates(g[k], row, frame, out[k, :, r : r + 1])


@kernel
def _orthogonal_columns(step: Array, weight: Array, g: Array, s: int) -> bool:
    """g of one row by orthogonal columns, which bear any condition up to the rank;
    False: there is no such rank."""
    width = len(step)
    steps, a, of_row = np.zeros((3, width)), np.zeros((3, width)), np.zeros((3, width))
    root, triangle = np.zeros(width), np.zeros((3, 3))
    for k in range(width):
        root[k] = np.sqrt(weight[k, 0])
        for j in range(s):
            steps[j, k] = step[k, j, 0]
            a[j, k] = root[k] * steps[j, k]
    if not _orthogonal(a, triangle, s, width):
        return False
    _invert(a, triangle, of_row, root, s, width)
    for i in range(s):
        for j in range(s):
            triangle[i, j] = 1.0 if i == j else 0.0
            for k in range(width):
                triangle[i, j] -= of_row[i, k] * steps[j, k]
    for k in range(width):
        for i in range(3):
            g[k, i, 0] = of_row[i, k]
            for j in range(s):
                if i < s:
                    g[k, i, 0] += triangle[i, j] * of_row[j, k]
    return True


@kernel
def _orthogonal(a: Array, r: Array, s: int, width: int) -> bool:
    """Columns made orthonormal in place, r such that q r is what they were; False: dependent."""
    for j in range(s):
        before = 0.0
        for k in range(width):
            before += a[j, k] * a[j, k]
        for i in range(j):
            r[i, j] = 0.0
            for k in range(width):
                r[i, j] += a[i, k] * a[j, k]
            for k in range(width):
                a[j, k] -= r[i, j] * a[i, k]
        after = 0.0
        for k in range(width):
            after += a[j, k] * a[j, k]
        if not after > 1e-20 * before:
            return False
        r[j, j] = np.sqrt(after)
        for k in range(width):
            a[j, k] /= r[j, j]
    return True


@kernel
def _invert(a: Array, r: Array, g: Array, weight: Array, s: int, width: int) -> None:
    """g = the inverse of r times the transpose of q, by weights."""
    for k in range(width):
        for back in range(s):
            j = s - 1 - back
            value = a[j, k]
            for i in range(j + 1, s):
                value -= r[j, i] * g[i, k]
            g[j, k] = value / r[j, j]
        # g is complete before it is weighted, since the rows above use those below.
        for j in range(s):
            g[j, k] *= weight[k]
