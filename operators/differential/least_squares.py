"""Small least-squares problems in closed form: the derivative at each row from its neighbours.

For each row the weighted sum of squares of f_k - f - g . (x_k - x) is made least over g, then one
step restores exactness for linear fields to rounding. Sums of squares square the condition, and so
that step halves the digits that are lost again: cells stretched 1:1000 have all of theirs, and
where a pivot says that they would not, the columns of the weighted differences are made orthogonal
one after the other (Gram-Schmidt) and the triangle is inverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows, unset

BLOCK: Final = 128
"""Rows at a time: loops over them run side by side, and what lies between stays in the cache."""

_RANK: Final = 1e-10
"""A column whose part across the columns before it is less than this has none."""


def least_squares(
    positions: Tensor,
    rows: Tensor | None,
    cols: Tensor,
    frame: Tensor | None,
    size: Tensor,
    power: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Coefficients of the differences f[cols] - f[row] in the gradient at each row.

    Args:
        positions: float64 [N, d].
        rows: int [m], or None for all.
        cols: int [width, m]; a column equal to its row is none. Neighbours in the same place and
            neighbours without finite coordinates are left out.
        frame: float64 [n, s, d], the orthonormal directions to differentiate along; None: all.
        size: float64 [n], what the neighbours should span: the cell's measure, or the point's.
        power: a neighbour weighs as its distance to minus this power.
        dtype: of the coefficients.

    Returns:
        coefficients [width, d, m], and how well the neighbours span the directions, float64 [m]:
        the length, area or volume of their differences (the root of the Gram determinant) over
        the size; about 1 where all is well, 0 where the derivative is not determined. It does not
        change when the mesh is stretched.

    Differentiable in positions and frame where they need derivatives (then in torch, else by a
    compiled loop).
    """
    needs = positions.requires_grad or (frame is not None and frame.requires_grad)
    if needs or positions.device.type != "cpu":
        return in_torch(positions, rows, cols, frame, size, power, dtype)
    width, m = cols.shape
    d = positions.shape[1]
    out = unset(width * d * m, dtype).reshape(width, d, m)
    span = unset(m, torch.float64)
    over_rows(
        _solve,
        m,
        array(positions.new_empty(0).long() if rows is None else rows.long()),
        array(cols),
        array(positions),
        array(positions.new_empty(0, 1, d) if frame is None else frame),
        array(size),
        power,
        out.numpy(),
        span.numpy(),
    )
    return out, span


@kernel
def _solve(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    positions: Array,
    frame: Array,
    size: Array,
    power: float,
    out: Array,
    span: Array,
) -> None:
    width, d = cols.shape[0], positions.shape[1]
    s = frame.shape[1] if len(frame) > 0 else d
    step = np.zeros((width, 3, BLOCK))  # differences along the directions
    weight = np.zeros((width, BLOCK))
    g = np.zeros((width, 3, BLOCK))
    plain, weighted, space = np.zeros((6, BLOCK)), np.zeros((6, BLOCK)), np.zeros((9, BLOCK))
    whole, fine = np.zeros(BLOCK), np.zeros(BLOCK)
    row = np.zeros(BLOCK, np.uint64)
    for b in range(lo, hi, BLOCK):
        n = min(BLOCK, hi - b)
        for r in range(n):
            row[r] = np.uint64(rows[b + r]) if len(rows) else np.uint64(b + r)
            whole[r] = abs(size[row[r]])
        plain[:] = 0.0
        weighted[:] = 0.0
        for k in range(width):
            if len(frame) > 0:
                _steps_along(cols[k, b : b + n], row, positions, frame, step[k])
            else:
                _steps(cols[k, b : b + n], row, positions, step[k])
            _weigh(step[k], weight[k], power, n)
            _add_squares(step[k], weight[k], plain, weighted, n)
        _spans(plain, whole, s, span[b : b + n])
        _factor(weighted, s, space, fine, n)
        for k in range(width):
            _substitute(step[k], weight[k], space, g[k], n)
        _restore(step, g, space, n)
        for r in range(n):
            if not fine[r] > 0.0:
                good = span[b + r] > 0.0 and _one_by_one(r, step, weight, g, s)
                if not good:
                    span[b + r] = 0.0
                    g[:, :, r] = 0.0
            elif not span[b + r] > 0.0:
                span[b + r] = 0.0
                g[:, :, r] = 0.0
        for k in range(width):
            if len(frame) > 0:
                _turn_back(g[k], row, frame, out[k, :, b : b + n])
            else:
                for x in range(d):
                    for r in range(n):
                        out[k, x, b + r] = g[k, x, r]


@kernel
def _steps(cols: Array, row: Array, positions: Array, step: Array) -> None:
    """The differences of places."""
    if positions.shape[1] == 3:
        x, y, z = step[0], step[1], step[2]
        for r in range(len(cols)):
            a, b = cols[r], row[r]
            x[r] = positions[a, 0] - positions[b, 0]
            y[r] = positions[a, 1] - positions[b, 1]
            z[r] = positions[a, 2] - positions[b, 2]
        return
    for x in range(positions.shape[1]):
        for r in range(len(cols)):
            step[x, r] = positions[cols[r], x] - positions[row[r], x]


@kernel
def _steps_along(cols: Array, row: Array, positions: Array, frame: Array, step: Array) -> None:
    """The same along the directions of a frame."""
    for r in range(len(cols)):
        for j in range(frame.shape[1]):
            along = 0.0
            for x in range(positions.shape[1]):
                along += frame[row[r], j, x] * (positions[cols[r], x] - positions[row[r], x])
            # A row without a frame has no step to itself either.
            step[j, r] = along if cols[r] != row[r] else 0.0


@kernel
def _turn_back(g: Array, row: Array, frame: Array, out: Array) -> None:
    """From the directions of a frame to coordinates."""
    for r in range(out.shape[1]):
        for x in range(out.shape[0]):
            value = 0.0
            for j in range(frame.shape[1]):
                value += g[j, r] * frame[row[r], j, x]
            out[x, r] = value


@kernel
def _weigh(step: Array, weight: Array, power: float, n: int) -> None:
    """Squares of weights; neither for neighbours in the same place nor for those without one."""
    x, y, z = step[0], step[1], step[2]
    for r in range(n):
        squares = x[r] * x[r] + y[r] * y[r] + z[r] * z[r]
        real = squares > 0.0 and squares < np.inf
        weight[r] = 1 / squares if real else 0.0
        x[r] = x[r] if real else 0.0
        y[r] = y[r] if real else 0.0
        z[r] = z[r] if real else 0.0
    if power != 1.0:
        for r in range(n):
            weight[r] = weight[r] ** power if weight[r] > 0.0 else 0.0


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
def _factor(weighted: Array, s: int, space: Array, fine: Array, n: int) -> None:
    """The normal matrix as L D L^T: what is below the diagonal of L, and one over D.

    `fine` is 0 where it is so badly conditioned that one correction would not restore the digits:
    a pivot is less than 1e-8 of what it was before.
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
        fine[r] = 1.0 if xx > 0.0 and middle > 1e-8 * yy and last > 1e-8 * zz else 0.0


@kernel
def _substitute(step: Array, weight: Array, space: Array, g: Array, n: int) -> None:
    """g = weight x the inverse of the normal matrix x step."""
    for r in range(n):
        p, q, t = space[0, r], space[1, r], space[2, r]
        x = step[0, r]
        y = step[1, r] - p * x
        z = space[5, r] * (step[2, r] - q * x - t * y)
        y = space[4, r] * y - t * z
        g[0, r] = weight[r] * (space[3, r] * x - p * y - q * z)
        g[1, r] = weight[r] * y
        g[2, r] = weight[r] * z


@kernel
def _restore(step: Array, g: Array, off: Array, n: int) -> None:
    """g += (1 - g step) g, after which g step is 1 to rounding; `off` is space.

    (Of directions that there are not, g is 0.)
    """
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
    for k in range(len(g)):
        x, y, z = g[k, 0], g[k, 1], g[k, 2]
        for r in range(n):
            i, j, m = x[r], y[r], z[r]
            x[r] = i + off[0, r] * i + off[1, r] * j + off[2, r] * m
            y[r] = j + off[3, r] * i + off[4, r] * j + off[5, r] * m
            z[r] = m + off[6, r] * i + off[7, r] * j + off[8, r] * m


@kernel
def _one_by_one(r: int, step: Array, weight: Array, g: Array, s: int) -> bool:
    """g of one row of a block by orthogonal columns, which bear any condition up to the rank;
    False: there is no such rank."""
    width = len(step)
    steps, a, of_row = np.zeros((3, width)), np.zeros((3, width)), np.zeros((3, width))
    root, triangle = np.zeros(width), np.zeros((3, 3))
    for k in range(width):
        root[k] = np.sqrt(weight[k, r])
        for j in range(s):
            steps[j, k] = step[k, j, r]
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
            g[k, i, r] = of_row[i, k]
            for j in range(s):
                if i < s:
                    g[k, i, r] += triangle[i, j] * of_row[j, k]
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


def in_torch(
    positions: Tensor,
    rows: Tensor | None,
    cols: Tensor,
    frame: Tensor | None,
    size: Tensor,
    power: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The same, entry by entry over [width, m]."""
    row = torch.arange(cols.shape[1], device=cols.device) if rows is None else rows.long()
    at = cols.long()
    away = positions[at] - positions[row]  # [width, m, d]
    directions = None if frame is None else frame[row]
    steps: list[Tensor] = list(
        away.unbind(-1)
        if directions is None
        else torch.einsum("wmd,msd->swm", away, directions).unbind(0)
    )
    squares = sum((x.detach() ** 2 for x in steps), torch.zeros_like(steps[0]))
    real = (at != row) & (squares > 0) & (squares < torch.inf)
    # Left out before anything is divided, so that derivatives stay finite too.
    steps = [torch.where(real, x, 0) for x in steps]
    lengths = torch.where(real, sum((x**2 for x in steps), torch.zeros_like(steps[0])), 1)
    weight = torch.where(real, lengths ** (-0.5 * power), 0)
    span = _span_in_torch([x.detach() for x in steps]) / size[row].abs()
    a = [weight * x for x in steps]
    good = torch.ones_like(span, dtype=torch.bool)
    r: dict[tuple[int, int], Tensor] = {}
    for j in range(len(a)):
        before = (a[j].detach() ** 2).sum(0)
        for i in range(j):
            r[i, j] = (a[i] * a[j]).sum(0)
            a[j] = a[j] - r[i, j] * a[i]
        after = (a[j] ** 2).sum(0)
        good = good & (after.detach() > _RANK**2 * before)
        r[j, j] = torch.where(good, after, 1).sqrt()
        a[j] = a[j] / r[j, j]
    good = good & (span > 0)
    g: list[Tensor] = [torch.zeros_like(a[0])] * len(a)
    for j in reversed(range(len(a))):
        value = a[j]
        for i in range(j + 1, len(a)):
            value = value - r[j, i] * g[i]
        g[j] = value / r[j, j]
    g = [torch.where(good, weight * x, 0) for x in g]
    g = _restored_in_torch(g, steps)
    g = [torch.where(good, x, 0) for x in g]
    out = torch.stack(g, 1)  # [width, s, m]
    if directions is not None:
        known = torch.where(good[:, None, None], directions, 0)
        out = torch.einsum("wsm,msd->wdm", out, known)
    return out.to(dtype), torch.where(good, span, 0)


def _restored_in_torch(g: Sequence[Tensor], steps: Sequence[Tensor]) -> list[Tensor]:
    out = []
    for i, mine in enumerate(g):
        more = mine
        for j, other in enumerate(g):
            off = float(i == j) - (mine * steps[j]).sum(0)
            more = more + off * other
        out.append(more)
    return out


def _span_in_torch(steps: Sequence[Tensor]) -> Tensor:
    gram = [[(a * b).sum(0) for b in steps] for a in steps]
    if len(steps) == 1:
        return gram[0][0].sqrt()
    if len(steps) == 2:
        return (gram[0][0] * gram[1][1] - gram[0][1] ** 2).clamp(min=0).sqrt()
    x, y, z = (gram[i][i].sqrt() for i in range(3))
    p, q, t = gram[0][1] / (x * y), gram[0][2] / (x * z), gram[1][2] / (y * z)
    found = x * y * z * (1 + 2 * p * q * t - p**2 - q**2 - t**2).clamp(min=0).sqrt()
    return torch.where((x > 0) & (y > 0) & (z > 0), found, 0)
