"""The compiled loops of `least_squares`, many rows side by side."""

from __future__ import annotations

from typing import Final

import numpy as np

from meshkit.operators.differential.difference_kernels import differences, in_coordinates
from meshkit.operators.kernels import Array, kernel

BLOCK: Final = 128
"""Rows at a time: loops over them run side by side, and what lies between stays in the cache."""

FINE, RESTORE, ONE_BY_ONE, NONE = 0, 1, 2, 4
"""What is left to do for a row: nothing; one correction; all of it, by orthogonal columns; there is
no answer. Bits, for some rows together."""


@kernel
def solve(
    lo: int,
    hi: int,
    rows: Array,
    listed: Array,
    offsets: Array,
    neighbours: Array,
    positions: Array,
    frame: Array | None,
    size: Array,
    power: float,
    narrow: bool,
    cols: Array,
    out: Array,
    span: Array,
    hard: Array,
) -> None:
    """The rows lo to hi of `least_squares`.

    Args:
        rows: int64 [m]: their numbers, or empty where they are those of the band.
        listed, offsets, neighbours: the band's rows, empty for all, and what they hold.
        positions, frame, size, power: as there. What is for a frame is compiled only for one.
        narrow: `out` has fewer digits than a well conditioned row loses, and so such rows are not
            restored.
        cols, out, span: [width, m], [width, d, m] and [m], to fill.
        hard: bool [m], to set where a row is left to `by_columns`.
    """
    width, d = cols.shape[0], positions.shape[1]
    s = d if frame is None else frame.shape[1]
    step = np.zeros((width, 3, BLOCK))  # differences along the directions
    weight = np.zeros((width, BLOCK))
    g, made = np.zeros((width, 3, BLOCK)), np.zeros((width, 3, BLOCK))
    plain, weighted, space = np.zeros((6, BLOCK)), np.zeros((6, BLOCK)), np.zeros((9, BLOCK))
    whole, state = np.zeros(BLOCK), np.zeros(BLOCK, np.int64)
    row = np.zeros(BLOCK, np.uint64)
    for b in range(lo, hi, BLOCK):
        n = min(BLOCK, hi - b)
        for r in range(n):
            row[r] = np.uint64(rows[b + r]) if len(rows) else np.uint64(b + r)
            whole[r] = abs(size[row[r]])
        _fill(b, listed, offsets, neighbours, row, cols[:, b : b + n])
        plain[:] = 0.0
        weighted[:] = 0.0
        for k in range(width):
            differences(cols[k, b : b + n], row, positions, frame, step[k], weight[k], power)
            _add_squares(step[k], weight[k], plain, weighted, n)
        _spans(plain, whole, s, span[b : b + n])
        _factor(weighted, s, space, 1e-3 if narrow else 2.0, state, n)
        left = 0
        for r in range(n):
            left |= state[r] if span[b + r] > 0.0 else NONE
        if left <= RESTORE and s == 3:
            for k in range(width):
                if left == FINE:
                    _substitute(step[k], weight[k], space, out[k, :, b : b + n])
                else:
                    _substitute(step[k], weight[k], space, g[k, :, :n])
            if left == RESTORE:
                _errors(step, g, state, space, n)
                for k in range(width):
                    _correct(g[k], space, out[k, :, b : b + n])
            continue
        for k in range(width):
            _substitute(step[k], weight[k], space, g[k, :, :n])
        _errors(step, g, state, space, n)
        for k in range(width):
            _correct(g[k], space, made[k, :, :n])
        for r in range(n):
            if not span[b + r] > 0.0:
                span[b + r] = 0.0
                made[:, :, r] = 0.0
            elif state[r] == ONE_BY_ONE:
                hard[b + r] = True
        for k in range(width):
            in_coordinates(made[k], row, frame, out[k, :, b : b + n])


@kernel
def _fill(
    b: int, listed: Array, offsets: Array, neighbours: Array, row: Array, cols: Array
) -> None:
    """The neighbours of the rows from b on, and the row itself where there are no more. Where a
    band of all rows has longer ones, it holds nothing of them."""
    width, n = cols.shape
    for r in range(n):
        place = listed[b + r] if len(listed) else b + r
        begin = offsets[place]
        length = offsets[place + 1] - begin
        if length == width:
            for k in range(width):
                cols[k, r] = neighbours[begin + k]
            continue
        length = length if length < width else 0
        for k in range(width):
            cols[k, r] = neighbours[begin + k] if k < length else np.int64(row[r])


@kernel
def _add_squares(step: Array, weight: Array, plain: Array, weighted: Array, n: int) -> None:
    """Products of steps, and the same by weights: xx, xy, xz, yy, yz, zz."""
    x, y, z = step[0], step[1], step[2]
    xx, xy, xz, yy, yz, zz = plain[0], plain[1], plain[2], plain[3], plain[4], plain[5]
    for r in range(n):
        i, j, k = x[r], y[r], z[r]
        xx[r] += i * i
        xy[r] += i * j
        xz[r] += i * k
        yy[r] += j * j
        yz[r] += j * k
        zz[r] += k * k
    xx, xy, xz = weighted[0], weighted[1], weighted[2]
    yy, yz, zz = weighted[3], weighted[4], weighted[5]
    for r in range(n):
        w, i, j, k = weight[r], x[r], y[r], z[r]
        xx[r] += w * i * i
        xy[r] += w * i * j
        xz[r] += w * i * k
        yy[r] += w * j * j
        yz[r] += w * j * k
        zz[r] += w * k * k


@kernel
def _spans(plain: Array, size: Array, s: int, span: Array) -> None:
    """The root of the Gram determinant over the size."""
    for r in range(len(span)):
        xx, xy, xz = plain[0, r], plain[1, r], plain[2, r]
        yy, yz, zz = plain[3, r], plain[4, r], plain[5, r]
        # Of directions, then by lengths: squares of volumes would leave the range of numbers soon.
        i, j, k = 1 / xx, 1 / yy, 1 / zz
        p, q, t = xy * i, yz * j, xz * k
        if s == 1:
            span[r] = np.sqrt(xx) / size[r]
        elif s == 2:
            span[r] = np.sqrt(xx * yy * max(1 - p * xy * j, 0.0)) / size[r]
        else:
            shape = 1 + 2 * p * q * t - p * xy * j - q * yz * k - t * xz * i
            span[r] = np.sqrt(xx * yy * max(shape, 0.0)) * np.sqrt(zz) / size[r]


@kernel
def _factor(weighted: Array, s: int, space: Array, enough: float, state: Array, n: int) -> None:
    """The normal matrix as L D L^T: what is below the diagonal of L, and one over D.

    `state` is `FINE` where every pivot is more than `enough` of what it was before, `RESTORE`
    where it is more than 1e-8, and else so badly conditioned that one correction would not restore
    the digits.
    """
    # Directions that there are not stand alone.
    if s < 3:
        weighted[5, :n] = 1.0
    if s < 2:
        weighted[3, :n] = 1.0
    for r in range(n):
        xx, xy, xz = weighted[0, r], weighted[1, r], weighted[2, r]
        yy, yz, zz = weighted[3, r], weighted[4, r], weighted[5, r]
        first = 1 / xx
        p, q = xy * first, xz * first
        middle = yy - p * xy
        second = 1 / middle
        rest = yz - q * xy
        t = rest * second
        last = zz - q * xz - t * rest
        space[0, r], space[1, r], space[2, r] = p, q, t
        space[3, r], space[4, r], space[5, r] = first, second, 1 / last
        low = FINE if middle > enough * yy and last > enough * zz else RESTORE
        state[r] = low if xx > 0.0 and middle > 1e-8 * yy and last > 1e-8 * zz else ONE_BY_ONE


@kernel
def _substitute(step: Array, weight: Array, space: Array, g: Array) -> None:
    """g = weight x the inverse of the normal matrix x step."""
    for r in range(g.shape[1]):
        p, q, t = space[0, r], space[1, r], space[2, r]
        x = step[0, r]
        y = step[1, r] - p * x
        z = space[5, r] * (step[2, r] - q * x - t * y)
        y = space[4, r] * y - t * z
        g[0, r] = weight[r] * (space[3, r] * x - p * y - q * z)
        g[1, r] = weight[r] * y
        g[2, r] = weight[r] * z


@kernel
def _errors(step: Array, g: Array, state: Array, off: Array, n: int) -> None:
    """1 - g step, of the rows to restore; `off` is space. (Of directions that there are not, g is
    0.)"""
    off[:] = 0.0
    off[0] = 1.0
    off[4] = 1.0
    off[8] = 1.0
    for k in range(len(g)):
        x, y, z = step[k, 0], step[k, 1], step[k, 2]
        u, v, w = g[k, 0], g[k, 1], g[k, 2]
        for r in range(n):
            i, j, m = x[r], y[r], z[r]
            off[0, r] -= u[r] * i
            off[1, r] -= u[r] * j
            off[2, r] -= u[r] * m
            off[3, r] -= v[r] * i
            off[4, r] -= v[r] * j
            off[5, r] -= v[r] * m
            off[6, r] -= w[r] * i
            off[7, r] -= w[r] * j
            off[8, r] -= w[r] * m
    for r in range(n):
        if state[r] != RESTORE:
            off[:, r] = 0.0


@kernel
def _correct(g: Array, off: Array, out: Array) -> None:
    """out = g + off g, after which out x step is 1 to rounding."""
    x, y, z = g[0], g[1], g[2]
    for r in range(out.shape[1]):
        i, j, m = x[r], y[r], z[r]
        out[0, r] = i + off[0, r] * i + off[1, r] * j + off[2, r] * m
        out[1, r] = j + off[3, r] * i + off[4, r] * j + off[5, r] * m
        out[2, r] = m + off[6, r] * i + off[7, r] * j + off[8, r] * m
