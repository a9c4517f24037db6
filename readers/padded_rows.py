"""Rows of different lengths as a table: each row's own values, then fill.

A table has one row for each point or cell, so what selects, joins or splits a mesh carries it
along; offsets and values would be left behind.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MOST_PADDING: Final = 8
"""How many times the memory of the values themselves a table may take."""
_SMALL: Final = 1 << 24  # bytes; a table up to here is made whatever it pads


def blank(dtype: np.dtype[Any]) -> Any:
    """What stands where there is no value: NaN, -1, or 0 where the dtype has neither."""
    return np.nan if dtype.kind in "fc" else -1 if dtype.kind == "i" else 0


def fits_padded(rows: int, widest: int, values: int, itemsize: int) -> bool:
    """Whether a table of so many rows is worth its memory.

    >>> fits_padded(10, 4, 20, 8), fits_padded(10**6, 10**6, 10**7, 8)
    (True, False)
    """
    size = rows * widest * itemsize
    return size <= max(_SMALL, MOST_PADDING * values * itemsize)


def padded(lengths: NDArray[np.int64], values: NDArray[Any], widest: int) -> NDArray[Any]:
    """The table [rows, widest, ...] of values [sum of lengths, ...] that follow row by row."""
    table = np.full((len(lengths), widest, *values.shape[1:]), blank(values.dtype), values.dtype)
    table[np.arange(widest) < lengths[:, None]] = values
    return table
