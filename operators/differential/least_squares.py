"""Small least-squares problems in closed form: the derivative at each row from its neighbours.

For each row the weighted sum of squares of f_k - f - g . (x_k - x) is made least over g, by
orthogonalising the columns of the weighted differences one after the other (Gram-Schmidt), then
inverting the triangle, then one step that restores exactness for linear fields to rounding. Sums
of squares would square the condition, which stretched cells (1:1000) do not survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from meshkit.operators.kernels import Array, array, kernel, over_rows

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
    out = torch.empty(width, d, m, dtype=dtype)
    span = torch.empty(m, dtype=torch.float64)
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
    framed = len(frame) > 0
    s = frame.shape[1] if framed else d
    step = np.zeros((3, width))  # differences along the directions
    a = np.zeros((3, width))  # weighted, then orthonormal
    g = np.zeros((3, width))
    weight = np.zeros(width)
    r = np.zeros((3, 3))
    for i in range(lo, hi):
        row = rows[i] if len(rows) else i
        for k in range(width):
            col = cols[k, i]
            squares = 0.0
            for j in range(s):
                along = 0.0
                if framed and col != row:
                    for x in range(d):
                        along += frame[row, j, x] * (positions[col, x] - positions[row, x])
                elif col != row:
                    along = positions[col, j] - positions[row, j]
                step[j, k] = along
                squares += along * along
            if squares > 0.0 and squares < np.inf:
                weight[k] = 1 / np.sqrt(squares) if power == 1.0 else squares ** (-0.5 * power)
            else:
                weight[k] = 0.0
                for j in range(s):
                    step[j, k] = 0.0
            for j in range(s):
                a[j, k] = weight[k] * step[j, k]
        span[i] = _spanned(step, s, width) / abs(size[row])
        if _orthogonal(a, r, s, width):
            _invert(a, r, g, weight, s, width)
            _restore(g, step, r, s, width)
        else:
            span[i] = 0.0
        if not span[i] > 0.0:
            span[i] = 0.0
            g[:] = 0.0
        for k in range(width):
            for x in range(d):
                if framed:
                    value = 0.0
                    for j in range(s):
                        value += g[j, k] * frame[row, j, x]
                    out[k, x, i] = value
                else:
                    out[k, x, i] = g[x, k]


@kernel
def _spanned(step: Array, s: int, width: int) -> float:
    """The root of the Gram determinant."""
    xx = xy = xz = yy = yz = zz = 0.0
    for k in range(width):
        xx += step[0, k] * step[0, k]
        if s > 1:
            xy += step[0, k] * step[1, k]
            yy += step[1, k] * step[1, k]
        if s > 2:
            xz += step[0, k] * step[2, k]
            yz += step[1, k] * step[2, k]
            zz += step[2, k] * step[2, k]
    if s == 1:
        return float(np.sqrt(xx))
    if s == 2:
        return float(np.sqrt(max(xx * yy - xy * xy, 0.0)))
    # Scaled, so that neither tiny nor huge units leave the range of numbers.
    if not (xx > 0.0 and yy > 0.0 and zz > 0.0):
        return 0.0
    x, y, z = np.sqrt(xx), np.sqrt(yy), np.sqrt(zz)
    p, q, t = xy / (x * y), xz / (x * z), yz / (y * z)
    return float(x * y * z * np.sqrt(max(1 + 2 * p * q * t - p * p - q * q - t * t, 0.0)))


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


@kernel
def _restore(g: Array, step: Array, r: Array, s: int, width: int) -> None:
    """g += (1 - g step) g, after which g step is 1 to rounding; r is space."""
    for i in range(s):
        for j in range(s):
            value = 1.0 if i == j else 0.0
            for k in range(width):
                value -= g[i, k] * step[j, k]
            r[i, j] = value
    for k in range(width):
        g0, g1, g2 = g[0, k], g[1, k], g[2, k]
        for i in range(s):
            g[i, k] += r[i, 0] * g0
            if s > 1:
                g[i, k] += r[i, 1] * g1
            if s > 2:
                g[i, k] += r[i, 2] * g2


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
