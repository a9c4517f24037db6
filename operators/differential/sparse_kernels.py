"""The loops of sparse operators over columns: the CPU's way to apply them."""

from __future__ import annotations

import numpy as np

from meshkit.operators.kernels import Array, kernel

BLOCK = 128
"""Rows at a time: their differences stay in the nearest cache."""

LONG_BLOCK = 4096
"""Rows at a time where nothing lies between: their coefficients stay in the next cache."""

NOTHING, OWN_ROW, GIVEN = 0, 1, 2
"""Against what the differences are taken."""


@kernel
def apply_rows(
    lo: int,
    hi: int,
    rows: Array,
    base: Array,
    against: int,
    cols: Array,
    coefs: Array,
    terms: Array,
    signs: Array,
    values: Array,
    out: Array,
) -> None:
    """Add to `out` the rows lo to hi of one band.

    Args:
        lo, hi: a range of the band.
        rows: unsigned [m], or empty where the band has all rows; then `out` is set, not added to.
        base: unsigned [m] with `GIVEN`, else empty.
        against: what the differences are taken against.
        cols: unsigned [width, m].
        coefs: [width, c, m].
        terms: int64 [t, 3]: (out, coefficient, in), by in.
        signs: [t].
        values: [components, n_in].
        out: [components, n].
    """
    whole = len(rows) == 0
    if whole and against == OWN_ROW and _are_gradients(terms, signs):
        _gradients(lo, hi, cols, coefs, terms, values, out)
        return
    differences = np.empty((cols.shape[0], BLOCK), values.dtype)
    zeros = np.zeros(BLOCK, values.dtype)
    space = np.empty(BLOCK, values.dtype)
    for b in range(lo, hi, BLOCK):
        e = min(b + BLOCK, hi)
        some = e - b
        if whole:
            for p in range(out.shape[0]):
                out[p, b:e] = 0
        given = -1
        for t in range(len(terms)):
            p, c = terms[t, 0], terms[t, 1]
            if terms[t, 2] != given:
                given = terms[t, 2]
                column = values[given]
                own = zeros[:some]
                if against == GIVEN:
                    own = space[:some]
                    _take(base[b:e], column, own)
                elif against == OWN_ROW and whole:
                    own = column[b:e]
                elif against == OWN_ROW:
                    own = space[:some]
                    _take(rows[b:e], column, own)
                for k in range(cols.shape[0]):
                    _less(cols[k, b:e], column, own, differences[k, :some])
            if whole:
                _add(signs[t], coefs, c, b, differences, out[p, b:e])
            else:
                space[:some] = 0
                _add(signs[t], coefs, c, b, differences, space[:some])
                _scatter(rows[b:e], space, out[p])


@kernel
def _are_gradients(terms: Array, signs: Array) -> bool:
    """Whether each input gives coefficients 0, 1 and 2 to three outputs in a row."""
    if len(terms) % 3:
        return False
    for t in range(len(terms)):
        first = t - t % 3
        if terms[t, 1] != t % 3 or terms[t, 0] != terms[first, 0] + t % 3:
            return False
        if terms[t, 2] != terms[first, 2] or signs[t] != 1:
            return False
    return True


@kernel
def _gradients(
    lo: int, hi: int, cols: Array, coefs: Array, terms: Array, values: Array, out: Array
) -> None:
    """Three outputs at once, so that each difference stays in a register."""
    width = cols.shape[0]
    for b in range(lo, hi, LONG_BLOCK):
        e = min(b + LONG_BLOCK, hi)
        for t in range(0, len(terms), 3):
            column, p = values[terms[t, 2]], terms[t, 0]
            x, y, z = out[p], out[p + 1], out[p + 2]
            x[b:e] = 0
            y[b:e] = 0
            z[b:e] = 0
            k = 0
            while k + 4 <= width:
                _gradient_of_four(
                    cols[k], cols[k + 1], cols[k + 2], cols[k + 3], coefs, k, column, b, e, x, y, z
                )
                k += 4
            while k + 2 <= width:
                _gradient_of_two(cols[k], cols[k + 1], coefs, k, column, b, e, x, y, z)
                k += 2
            if k < width:
                _gradient_of_one(cols[k], coefs, k, column, b, e, x, y, z)


@kernel
def _gradient_of_four(
    p: Array,
    q: Array,
    s: Array,
    t: Array,
    coefs: Array,
    k: int,
    column: Array,
    b: int,
    e: int,
    x: Array,
    y: Array,
    z: Array,
) -> None:
    for r in range(b, e):
        own = column[r]
        f, g, h, i = column[p[r]] - own, column[q[r]] - own, column[s[r]] - own, column[t[r]] - own
        x[r] += (
            coefs[k, 0, r] * f
            + coefs[k + 1, 0, r] * g
            + coefs[k + 2, 0, r] * h
            + coefs[k + 3, 0, r] * i
        )
        y[r] += (
            coefs[k, 1, r] * f
            + coefs[k + 1, 1, r] * g
            + coefs[k + 2, 1, r] * h
            + coefs[k + 3, 1, r] * i
        )
        z[r] += (
            coefs[k, 2, r] * f
            + coefs[k + 1, 2, r] * g
            + coefs[k + 2, 2, r] * h
            + coefs[k + 3, 2, r] * i
        )


@kernel
def _gradient_of_two(
    p: Array,
    q: Array,
    coefs: Array,
    k: int,
    column: Array,
    b: int,
    e: int,
    x: Array,
    y: Array,
    z: Array,
) -> None:
    for r in range(b, e):
        own = column[r]
        f, g = column[p[r]] - own, column[q[r]] - own
        x[r] += coefs[k, 0, r] * f + coefs[k + 1, 0, r] * g
        y[r] += coefs[k, 1, r] * f + coefs[k + 1, 1, r] * g
        z[r] += coefs[k, 2, r] * f + coefs[k + 1, 2, r] * g


@kernel
def _gradient_of_one(
    p: Array,
    coefs: Array,
    k: int,
    column: Array,
    b: int,
    e: int,
    x: Array,
    y: Array,
    z: Array,
) -> None:
    for r in range(b, e):
        f = column[p[r]] - column[r]
        x[r] += coefs[k, 0, r] * f
        y[r] += coefs[k, 1, r] * f
        z[r] += coefs[k, 2, r] * f


@kernel
def _take(at: Array, column: Array, out: Array) -> None:
    for r in range(len(out)):
        out[r] = column[at[r]]


@kernel
def _less(at: Array, column: Array, own: Array, out: Array) -> None:
    for r in range(len(out)):
        out[r] = column[at[r]] - own[r]


@kernel
def _scatter(rows: Array, values: Array, out: Array) -> None:
    for r in range(len(rows)):
        out[rows[r]] += values[r]


@kernel
def _add(sign: float, coefs: Array, c: int, b: int, by: Array, out: Array) -> None:
    """out += sign x the sum over the width of coefs x by; four at a time to spare traffic."""
    width, some = coefs.shape[0], len(out)
    e = b + some
    k = 0
    while k + 4 <= width:
        _add_four(
            sign,
            coefs[k, c, b:e],
            coefs[k + 1, c, b:e],
            coefs[k + 2, c, b:e],
            coefs[k + 3, c, b:e],
            by[k, :some],
            by[k + 1, :some],
            by[k + 2, :some],
            by[k + 3, :some],
            out,
        )
        k += 4
    while k < width:
        _add_one(sign, coefs[k, c, b:e], by[k, :some], out)
        k += 1


@kernel
def _add_four(
    sign: float,
    a0: Array,
    a1: Array,
    a2: Array,
    a3: Array,
    b0: Array,
    b1: Array,
    b2: Array,
    b3: Array,
    out: Array,
) -> None:
    for r in range(len(out)):
        out[r] += sign * (a0[r] * b0[r] + a1[r] * b1[r] + a2[r] * b2[r] + a3[r] * b3[r])


@kernel
def _add_one(sign: float, a: Array, b: Array, out: Array) -> None:
    for r in range(len(out)):
        out[r] += sign * (a[r] * b[r])
