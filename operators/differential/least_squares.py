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

import torch
from torch import Tensor

from meshkit.operators.differential.bands import Band
from meshkit.operators.differential.least_squares_kernels import solve
from meshkit.operators.differential.orthogonal_kernels import by_columns
from meshkit.operators.differential.sparse_map import ids_dtype
from meshkit.operators.kernels import array, over_rows, unset
from meshkit.operators.measure.coordinates import plain

_RANK: Final = 1e-10
"""A column whose part across the columns before it is less than this has none."""


def least_squares(
    positions: Tensor,
    rows: Tensor | None,
    band: Band,
    neighbours: Tensor,
    frame: Tensor | None,
    size: Tensor,
    power: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients of the differences f[cols] - f[row] in the gradient at each row.

    Args:
        positions: float64 [N, d].
        rows: int64 [m]: the numbers of the band's rows, None for 0 to m - 1.
        band, neighbours: the rows' neighbours as compressed rows. Neighbours in the same place and
            neighbours without finite coordinates are left out.
        frame: float64 [n, s, d], the orthonormal directions to differentiate along; None: all.
        size: float64 [n], what the neighbours should span: the cell's measure, or the point's.
        power: a neighbour weighs as its distance to minus this power.
        dtype: of the coefficients.

    Returns:
        columns int [width, m], the row's own number where there are no more neighbours;
        coefficients [width, d, m]; and how well the neighbours span the directions, float64 [m]:
        the length, area or volume of their differences (the root of the Gram determinant) over
        the size; about 1 where all is well, 0 where the derivative is not determined. It does not
        change when the mesh is stretched.

    Differentiable in positions and frame where they need derivatives (then in torch, else by a
    compiled loop).
    """
    ids, (width, m, d) = ids_dtype(len(positions)), (band.width, len(band), positions.shape[1])
    if not plain(positions) or (frame is not None and not plain(frame)):
        cols = band.columns(neighbours, rows).to(ids)
        return cols, *in_torch(positions, rows, cols, frame, size, power, dtype)
    cols = unset(width * m, ids).reshape(width, m)
    out = unset(width * d * m, dtype).reshape(width, d, m)
    span = unset(m, torch.float64)
    hard = torch.zeros(m, dtype=torch.bool, device="cpu")
    none = neighbours.new_empty(0).long()
    numbers, places = array(none if rows is None else rows), array(positions)
    along = None if frame is None else array(frame)
    over_rows(
        solve,
        m,
        numbers,
        array(none if band.rows is None else band.rows),
        array(band.offsets),
        array(neighbours),
        places,
        along,
        array(size),
        power,
        dtype == torch.float32,
        cols.numpy(),
        out.numpy(),
        span.numpy(),
        hard.numpy(),
    )
    left = torch.nonzero(hard).squeeze(1)
    if len(left):
        given = array(left), numbers, places, along, power
        over_rows(by_columns, len(left), *given, cols.numpy(), out.numpy(), span.numpy())
    return cols, out, span


def in_torch(
    positions: Tensor,
    rows: Tensor | None,
    cols: Tensor,
    frame: Tensor | None,
    size: Tensor,
    power: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Coefficients and spans, entry by entry over columns int [width, m]; a column equal to its row
    is none."""
    row = torch.arange(cols.shape[1], device=cols.device) if rows is None else rows.long()
    at = cols.long()
    away = positions[at] - positions[row]  # [width, m, d]
    directions = None if frame is None else frame[row]
    steps: list[Tensor] = list(
        away.unbind(-1)
        if directions is None
        else torch.einsum("wmd,msd->swm", away, directions).unbind(0)
    )
    apart = (away.detach() ** 2).sum(-1)
    placed = sum((x.detach() ** 2 for x in steps), apart) < torch.inf
    real = (at != row) & (apart > 0) & placed
    # Left out before anything is divided, so that derivatives stay finite too.
    steps = [torch.where(real, x, 0) for x in steps]
    # Distances in space: a neighbour straight above a surface weighs no more than one beside.
    lengths = torch.where(real, (torch.where(real[..., None], away, 0) ** 2).sum(-1), 1)
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
