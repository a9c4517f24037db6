"""Fields of several parts as fields of the whole; what a part lacks is filled and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.report import Ledger

Array = NDArray[Any]


def filled(
    home: str, parts: Sequence[Mapping[str, Array]], counts: Sequence[int], ledger: Ledger
) -> dict[str, Array]:
    """Each field over all parts, one after the other, by first appearance.

    A part that lacks a field, or has fewer columns, is filled with NaN (integers and booleans
    with 0, texts with "") and counted. Dtypes that differ become their common one.

    Args:
        home: where the fields live ("point_data"), for the report.
        parts: the fields of each part, each [n, ...].
        counts: how many rows each part has.
    """
    out: dict[str, Array] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        held = [part[name] for part in parts if name in part]
        kind = np.result_type(*(x.dtype for x in held))
        shape = _widest([x.shape[1:] for x in held])
        fill: Any = np.nan if kind.kind in "fc" else "" if kind.kind in "US" else 0
        table = np.full((sum(counts), *shape), fill, kind)
        start = lacking = 0
        for part, n in zip(parts, counts, strict=True):
            if name in part:
                x = part[name]
                if x.ndim != table.ndim:
                    x = x.reshape(n, *x.shape[1:], *[1] * (table.ndim - x.ndim))
                table[(slice(start, start + n), *(slice(k) for k in x.shape[1:]))] = x
                lacking += n if x.shape[1:] != shape else 0
            else:
                lacking += n
            start += n
        out[name] = table
        ledger.kept("field", f"{home}/{name}", sum(counts))
        if lacking:
            reason = f"parts without it, or with fewer columns, are filled with {fill}"
            ledger.converted("field", f"{home}/{name}", lacking, reason)
    return out


def _widest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The least shape that holds each of these."""
    rank = max(map(len, shapes))
    padded = [(*shape, *[1] * (rank - len(shape))) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))
