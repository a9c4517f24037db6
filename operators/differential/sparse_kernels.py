"""The loops of any sparse operator over columns: the CPU's way to apply them.

Fields come as in `gradient_kernels`. Loops over rows stand inside those over entries, so that few
streams of coefficients run at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshkit.operators.kernels import Array, kernel

BLOCK = 1024
"""Rows at a time: what lies between stays in the nearest cache, coefficients in the next."""

NOTHING, OWN_ROW, GIVEN = 0, 1, 2
"""Against what the differences are taken."""

ONE, THREE, ALONG, CROSS, MATRIX = range(5)
"""Terms that are added together: one; three of one output; and, of three outputs, three components
by one coefficient; a cross product; three of each."""


@kernel
def sums(
    lo: int,
    hi: int,
    rows: Array,
    base: Array,
    against: int,
    cols: Array,
    coefs: Array,
    runs: Array,
    terms: Array,
    signs: Array,
    flat: Array,
    step: Any,
    apart: int,
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
        runs: int64 [n, 2]: which terms after each other go together, `ONE` or its kin, and how
            many they are.
        terms: int64 [t, 3]: (out, coefficient, in), by out.
        signs: [t].
        flat, step, apart: component q of row r is flat[step x r + apart x q].
        out: [components, n].
    """
    whole = len(rows) == 0
    at = base if against == GIVEN else rows
    space = np.empty((3, BLOCK), flat.dtype)
    own = np.zeros((3, BLOCK), flat.dtype)
    for b in range(lo, hi, BLOCK):
        e = min(b + BLOCK, hi)
        if whole:
            for p in range(out.shape[0]):
                out[p, b:e] = 0
        t = 0
        for run, size in runs:
            p, many = terms[t, 0], 1 if run in (ONE, THREE) else 3
            target = out[p : p + many, b:e] if whole else space[:many, : e - b]
            if not whole:
                target[:] = 0
            if run == ONE:
                column = flat[apart * terms[t, 2] :]
                if against != NOTHING:
                    _take(at, column, step, b, e, own[0])
                _one(cols, coefs, terms[t, 1], signs[t], column, step, own[0], b, target[0])
            else:
                low = terms[t : t + size, 2].min()
                mine = terms[t : t + 3, 2] if run != CROSS else np.arange(low, low + 3)
                f, g, h = flat[apart * mine[0] :], flat[apart * mine[1] :], flat[apart * mine[2] :]
                if against != NOTHING:
                    _take(at, f, step, b, e, own[0])
                    _take(at, g, step, b, e, own[1])
                    _take(at, h, step, b, e, own[2])
                if run == CROSS:
                    _cross(cols, coefs, signs[t], f, g, h, step, own, b, target)
                elif run == ALONG:
                    _along(cols, coefs, terms[t, 1], signs[t], f, g, h, step, own, b, target)
                elif run == MATRIX:
                    _matrix(cols, coefs, terms[t:], signs[t:], f, g, h, step, own, b, target)
                else:
                    _three(cols, coefs, terms[t:], signs[t:], f, g, h, step, own, b, target[0])
            if not whole:
                for i in range(many):
                    _scatter(rows[b:e], target[i], out[p + i])
            t += size


@kernel
def _take(at: Array, column: Array, step: Any, b: int, e: int, out: Array) -> None:
    """The values that differences are taken against."""
    if len(at) > 0:
        for r in range(b, e):
            out[r - b] = column[np.uint64(step) * np.uint64(at[r])]
    else:
        for r in range(b, e):
            out[r - b] = column[np.uint64(step) * np.uint64(r)]


@kernel
def _one(
    cols: Array,
    coefs: Array,
    c: int,
    sign: float,
    column: Array,
    step: Any,
    own: Array,
    b: int,
    out: Array,
) -> None:
    width = cols.shape[0]
    w = 0
    while w + 4 <= width:
        p, q, s, t = cols[w, b:], cols[w + 1, b:], cols[w + 2, b:], cols[w + 3, b:]
        i, j, k, m = coefs[w, c, b:], coefs[w + 1, c, b:], coefs[w + 2, c, b:], coefs[w + 3, c, b:]
        for r in range(len(out)):
            x = own[r]
            out[r] += sign * (
                i[r] * (column[p[r] * step] - x)
                + j[r] * (column[q[r] * step] - x)
                + k[r] * (column[s[r] * step] - x)
                + m[r] * (column[t[r] * step] - x)
            )
        w += 4
    while w < width:
        p, i = cols[w, b:], coefs[w, c, b:]
        for r in range(len(out)):
            out[r] += sign * i[r] * (column[p[r] * step] - own[r])
        w += 1


@kernel
def _three(
    cols: Array,
    coefs: Array,
    terms: Array,
    signs: Array,
    f: Array,
    g: Array,
    h: Array,
    step: Any,
    own: Array,
    b: int,
    out: Array,
) -> None:
    """Three terms of one output."""
    s, t, u = signs[0], signs[1], signs[2]
    for w in range(cols.shape[0]):
        at = cols[w, b:]
        i, j, k = coefs[w, terms[0, 1], b:], coefs[w, terms[1, 1], b:], coefs[w, terms[2, 1], b:]
        for r in range(len(out)):
            col = at[r] * step
            out[r] += (
                s * i[r] * (f[col] - own[0, r])
                + t * j[r] * (g[col] - own[1, r])
                + u * k[r] * (h[col] - own[2, r])
            )


@kernel
def _along(
    cols: Array,
    coefs: Array,
    c: int,
    sign: float,
    f: Array,
    g: Array,
    h: Array,
    step: Any,
    own: Array,
    b: int,
    out: Array,
) -> None:
    """Three components, each by the same coefficient."""
    x, y, z = out[0], out[1], out[2]
    width = cols.shape[0]
    w = 0
    while w + 4 <= width:
        p, q, s, t = cols[w, b:], cols[w + 1, b:], cols[w + 2, b:], cols[w + 3, b:]
        i, j, k, m = coefs[w, c, b:], coefs[w + 1, c, b:], coefs[w + 2, c, b:], coefs[w + 3, c, b:]
        for r in range(len(x)):
            d, e, n, o = p[r] * step, q[r] * step, s[r] * step, t[r] * step
            u, v, a = own[0, r], own[1, r], own[2, r]
            x[r] += sign * (
                i[r] * (f[d] - u) + j[r] * (f[e] - u) + k[r] * (f[n] - u) + m[r] * (f[o] - u)
            )
            y[r] += sign * (
                i[r] * (g[d] - v) + j[r] * (g[e] - v) + k[r] * (g[n] - v) + m[r] * (g[o] - v)
            )
            z[r] += sign * (
                i[r] * (h[d] - a) + j[r] * (h[e] - a) + k[r] * (h[n] - a) + m[r] * (h[o] - a)
            )
        w += 4
    while w < width:
        at, i = cols[w, b:], coefs[w, c, b:]
        for r in range(len(x)):
            d = at[r] * step
            x[r] += sign * i[r] * (f[d] - own[0, r])
            y[r] += sign * i[r] * (g[d] - own[1, r])
            z[r] += sign * i[r] * (h[d] - own[2, r])
        w += 1


@kernel
def _matrix(
    cols: Array,
    coefs: Array,
    terms: Array,
    signs: Array,
    f: Array,
    g: Array,
    h: Array,
    step: Any,
    own: Array,
    b: int,
    out: Array,
) -> None:
    """Three terms of each of three outputs, all of the same inputs."""
    x, y, z = out[0], out[1], out[2]
    sign, c = signs[0], terms
    for w in range(cols.shape[0]):
        at = cols[w, b:]
        i, j, k = coefs[w, c[0, 1], b:], coefs[w, c[1, 1], b:], coefs[w, c[2, 1], b:]
        m, n, o = coefs[w, c[3, 1], b:], coefs[w, c[4, 1], b:], coefs[w, c[5, 1], b:]
        p, q, t = coefs[w, c[6, 1], b:], coefs[w, c[7, 1], b:], coefs[w, c[8, 1], b:]
        for r in range(len(x)):
            col = at[r] * step
            u, v, s = f[col] - own[0, r], g[col] - own[1, r], h[col] - own[2, r]
            x[r] += sign * (i[r] * u + j[r] * v + k[r] * s)
            y[r] += sign * (m[r] * u + n[r] * v + o[r] * s)
            z[r] += sign * (p[r] * u + q[r] * v + t[r] * s)


@kernel
def _cross(
    cols: Array,
    coefs: Array,
    sign: float,
    f: Array,
    g: Array,
    h: Array,
    step: Any,
    own: Array,
    b: int,
    out: Array,
) -> None:
    """Coefficients x differences, as vectors."""
    x, y, z = out[0], out[1], out[2]
    for w in range(cols.shape[0]):
        at, i, j, k = cols[w, b:], coefs[w, 0, b:], coefs[w, 1, b:], coefs[w, 2, b:]
        for r in range(len(x)):
            col = at[r] * step
            u, v, s = f[col] - own[0, r], g[col] - own[1, r], h[col] - own[2, r]
            x[r] += sign * (j[r] * s - k[r] * v)
            y[r] += sign * (k[r] * u - i[r] * s)
            z[r] += sign * (i[r] * v - j[r] * u)


@kernel
def _scatter(rows: Array, values: Array, out: Array) -> None:
    for r in range(len(rows)):
        out[rows[r]] += values[r]
