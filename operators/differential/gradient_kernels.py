"""The loops of gradients: each difference gives three derivatives.

Fields come flat, with the distance between two rows and between two components: neither vectors
side by side nor components one after the other need a copy. Ids and distances between rows are
unsigned integers of one width, which compiled loops index fastest with. Where four entries are all
there is, they are written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshkit.operators.kernels import Array, kernel

BLOCK = 1024
"""Rows at a time: what lies between stays in the nearest cache, coefficients in the next."""


@kernel
def gradients(
    lo: int,
    hi: int,
    rows: Array,
    at: Array,
    cols: Array,
    coefs: Array,
    flat: Array,
    step: Any,
    apart: int,
    units: int,
    out: Array,
) -> None:
    """The rows lo to hi of one band of a map that takes differences and gives each component three
    derivatives: coefficients 0, 1 and 2 of one difference.

    Args:
        lo, hi: a range of the band.
        rows: unsigned [m], or empty where the band has all rows; then `out` is set, not added to.
        at: unsigned [m]: what differences are taken against; empty: each against its own row.
        cols: unsigned [width, m].
        coefs: [width, 3, m].
        flat, step, apart: component q of row r is flat[step x r + apart x q].
        units: how many components.
        out: [3 x units, n].
    """
    width, listed = cols.shape[0], len(rows) > 0
    space = np.empty((9, BLOCK if listed else 0), flat.dtype)
    for b in range(lo, hi, BLOCK):
        e = min(b + BLOCK, hi)
        u = 0
        while u < units:
            column = flat[apart * u :]
            together = apart == 1 and u + 3 <= units
            many = 9 if together else 3
            x = space[:, : e - b] if listed else out[3 * u : 3 * u + many, b:e]
            k = 0
            if width >= 4 and together:
                _vectors_of_four(at, cols, coefs, column, step, b, x)
                k = 4
            elif width >= 4:
                _scalars_of_four(at, cols, coefs, column, step, b, x)
                k = 4
            if (k < width or k == 0) and together:
                _vectors(k, at, cols, coefs, column, step, b, x)
            elif k < width or k == 0:
                _scalars(k, at, cols, coefs, column, step, b, x)
            if listed:
                for p in range(many):
                    _scatter(rows[b:e], x[p], out[3 * u + p])
            u += many // 3


@kernel
def _scalars_of_four(
    own_at: Array, cols: Array, coefs: Array, column: Array, step: Any, b: int, out: Array
) -> None:
    """Three derivatives from the first four entries of each row, set."""
    p, q, s, t = cols[0, b:], cols[1, b:], cols[2, b:], cols[3, b:]
    coefs = coefs[:, :, b:]
    x, y, z = out[0], out[1], out[2]
    given = len(own_at) > 0
    for r in range(out.shape[1]):
        own = column[np.uint64(step) * (np.uint64(own_at[b + r]) if given else np.uint64(b + r))]
        f, g = column[p[r] * step] - own, column[q[r] * step] - own
        h, i = column[s[r] * step] - own, column[t[r] * step] - own
        x[r] = coefs[0, 0, r] * f + coefs[1, 0, r] * g + coefs[2, 0, r] * h + coefs[3, 0, r] * i
        y[r] = coefs[0, 1, r] * f + coefs[1, 1, r] * g + coefs[2, 1, r] * h + coefs[3, 1, r] * i
        z[r] = coefs[0, 2, r] * f + coefs[1, 2, r] * g + coefs[2, 2, r] * h + coefs[3, 2, r] * i


@kernel
def _scalars(
    first: int,
    own_at: Array,
    cols: Array,
    coefs: Array,
    column: Array,
    step: Any,
    b: int,
    out: Array,
) -> None:
    """Three derivatives from the entries after `first`: set where there are none before them,
    else added."""
    x, y, z = out[0], out[1], out[2]
    if first == 0:
        out[:3] = 0
    given = len(own_at) > 0
    for w in range(first, cols.shape[0]):
        at, i, j, k = cols[w, b:], coefs[w, 0, b:], coefs[w, 1, b:], coefs[w, 2, b:]
        for r in range(out.shape[1]):
            own = np.uint64(step) * (np.uint64(own_at[b + r]) if given else np.uint64(b + r))
            f = column[at[r] * step] - column[own]
            x[r] += i[r] * f
            y[r] += j[r] * f
            z[r] += k[r] * f


@kernel
def _vectors_of_four(
    own_at: Array, cols: Array, coefs: Array, column: Array, step: Any, b: int, out: Array
) -> None:
    """As `_scalars_of_four` for three components side by side."""
    p, q, s, t = cols[0, b:], cols[1, b:], cols[2, b:], cols[3, b:]
    coefs = coefs[:, :, b:]
    second, third = column[1:], column[2:]
    given = len(own_at) > 0
    for r in range(out.shape[1]):
        own = np.uint64(step) * (np.uint64(own_at[b + r]) if given else np.uint64(b + r))
        x, y, z = column[own], second[own], third[own]
        at = p[r] * step
        f, f_, f__ = column[at] - x, second[at] - y, third[at] - z
        at = q[r] * step
        g, g_, g__ = column[at] - x, second[at] - y, third[at] - z
        at = s[r] * step
        h, h_, h__ = column[at] - x, second[at] - y, third[at] - z
        at = t[r] * step
        i, i_, i__ = column[at] - x, second[at] - y, third[at] - z
        for a in range(3):
            j, k, m, n = coefs[0, a, r], coefs[1, a, r], coefs[2, a, r], coefs[3, a, r]
            out[a, r] = j * f + k * g + m * h + n * i
            out[3 + a, r] = j * f_ + k * g_ + m * h_ + n * i_
            out[6 + a, r] = j * f__ + k * g__ + m * h__ + n * i__


@kernel
def _vectors(
    first: int,
    own_at: Array,
    cols: Array,
    coefs: Array,
    column: Array,
    step: Any,
    b: int,
    out: Array,
) -> None:
    """As `_scalars` for three components side by side."""
    second, third = column[1:], column[2:]
    if first == 0:
        out[:] = 0
    given = len(own_at) > 0
    for w in range(first, cols.shape[0]):
        at, i, j, k = cols[w, b:], coefs[w, 0, b:], coefs[w, 1, b:], coefs[w, 2, b:]
        for r in range(out.shape[1]):
            own = np.uint64(step) * (np.uint64(own_at[b + r]) if given else np.uint64(b + r))
            col = at[r] * step
            f, g, h = column[col] - column[own], second[col] - second[own], third[col] - third[own]
            c, d, e = i[r], j[r], k[r]
            out[0, r] += c * f
            out[1, r] += d * f
            out[2, r] += e * f
            out[3, r] += c * g
            out[4, r] += d * g
            out[5, r] += e * g
            out[6, r] += c * h
            out[7, r] += d * h
            out[8, r] += e * h


@kernel
def _scatter(rows: Array, values: Array, out: Array) -> None:
    for r in range(len(rows)):
        out[rows[r]] += values[r]
