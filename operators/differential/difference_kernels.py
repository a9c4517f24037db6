"""What least squares take of a neighbour: the step to it, along a frame where given, its weight."""

from __future__ import annotations

import numpy as np

from meshkit.operators.kernels import Array, kernel


@kernel
def differences(
    cols: Array,
    row: Array,
    positions: Array,
    frame: Array | None,
    step: Array,
    weight: Array,
    power: float,
) -> None:
    """The steps from some rows to one neighbour each, and the squares of their weights."""
    if frame is None:
        _steps(cols, row, positions, step)
        _weigh(step, weight, power, len(cols))
    else:
        _steps_along(cols, row, positions, frame, step)
        _weigh_in_space(cols, row, positions, step, weight, power)


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
def in_coordinates(g: Array, row: Array, frame: Array | None, out: Array) -> None:
    """From the directions of a frame to coordinates."""
    if frame is None:
        for x in range(out.shape[0]):
            for r in range(out.shape[1]):
                out[x, r] = g[x, r]
        return
    _turn_back(g, row, frame, out)


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
    lost = 0
    for r in range(n):
        squares = x[r] * x[r] + y[r] * y[r] + z[r] * z[r]
        placed = squares < np.inf
        weight[r] = 1 / squares if placed and squares > 0.0 else 0.0
        lost |= 0 if placed else 1
    if lost:
        for r in range(n):
            if not x[r] * x[r] + y[r] * y[r] + z[r] * z[r] < np.inf:
                x[r] = y[r] = z[r] = 0.0
    if power != 1.0:
        for r in range(n):
            weight[r] = weight[r] ** power if weight[r] > 0.0 else 0.0


@kernel
def _weigh_in_space(
    cols: Array, row: Array, positions: Array, step: Array, weight: Array, power: float
) -> None:
    """The same by the distances in space, of which the steps along a frame are only a part: a
    neighbour straight above weighs no more than one beside."""
    for r in range(len(cols)):
        squares = 0.0
        for x in range(positions.shape[1]):
            away = positions[cols[r], x] - positions[row[r], x]
            squares += away * away
        along = step[0, r] * step[0, r] + step[1, r] * step[1, r] + step[2, r] * step[2, r]
        if not squares + along < np.inf:
            squares = step[0, r] = step[1, r] = step[2, r] = 0.0
        weight[r] = squares**-power if squares > 0.0 else 0.0
