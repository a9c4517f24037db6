"""Rows that say their own length, one after the other: where does each begin?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_WINDOW: Final = 1 << 16

Lengths = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""From places to the lengths that rows would have if they began there. Most places are inside
of a row, so any answer must do; lengths under 1 count as 1."""


def row_starts(count: int, size: int, lengths: Lengths) -> NDArray[np.int64]:
    """Where `count` rows begin that follow one another from place 0, and where the last ends.

    Rows of one length are found at once. Otherwise the place after each place is worked out for
    a window of places and followed by doubling: from the first m rows and "m rows on from each
    place" follow the first 2 m. No loop runs over rows.

    Returns:
        int64 [count + 1]; fewer when the rows run past `size`. The last may end past it too.
    """
    if count == 0 or size <= 0:
        return np.zeros(1, np.int64)
    one = max(int(lengths(np.zeros(1, np.int64))[0]), 1)
    if one <= size // count:
        places = np.arange(count + 1, dtype=np.int64) * one
        if (lengths(places[:-1]) == one).all():
            return places
    found: list[NDArray[np.int64]] = []
    at = total = 0
    while total < count and at < size:
        width = min(_WINDOW, size - at)
        here = np.arange(width, dtype=np.int64)
        length = np.maximum(lengths(here + at), 1)
        on = np.append(np.minimum(here + np.minimum(length, width), width), width)
        rows = np.zeros(1, np.int64)
        while rows[-1] < width and total + len(rows) < count:
            rows = np.concatenate([rows, on[rows]])
            on = on[on]
        rows = rows[rows < width][: count - total]
        found.append(rows + at)
        total += len(rows)
        at += int(rows[-1] + length[rows[-1]])
    found.append(np.array([at], np.int64))
    return np.concatenate(found)


def without_counts(flat: NDArray[Any], count: int) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    """(offsets [count + 1], values) of `count` rows each of which begins with its length.

    None when the rows do not make up exactly the whole of `flat`.
    """
    starts = row_starts(count, len(flat), lambda at: flat[at].astype(np.int64) + 1)
    if len(starts) != count + 1 or starts[-1] != len(flat):
        return None
    sizes = np.diff(starts) - 1
    if (flat[starts[:-1]] != sizes).any():  # a negative length
        return None
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if count and (sizes == sizes[0]).all():
        return offsets, flat.reshape(count, -1)[:, 1:].reshape(-1)
    keep = np.ones(len(flat), np.bool_)
    keep[starts[:-1]] = False
    return offsets, flat[keep]


def with_counts(offsets: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    """The inverse of `without_counts`: each row with its length before it."""
    return np.insert(values, offsets[:-1], np.diff(offsets))
