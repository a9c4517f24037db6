"""Fields of several parts as fields of the whole; what a part lacks is filled and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.padded_rows import blank
from meshkit.report import Ledger

Array = NDArray[Any]


def filled(
    home: str, parts: Sequence[Mapping[str, Array]], counts: Sequence[int], ledger: Ledger
) -> dict[str, Array]:
    """Each field over all parts, one after the other, by first appearance.

    A part that lacks a field, or has fewer columns, is filled with NaN (signed integers with -1,
    unsigned ones and booleans with 0, texts with "") and counted. Dtypes that differ become their
    common one where that holds every value exactly, which is counted; else the values stay apart
    by their kind, in fields "name" and "name (2)".

    Args:
        home: where the fields live ("point_data"), for the report.
        parts: the fields of each part, each [n, ...].
        counts: how many rows each part has.
    """
    out: dict[str, Array] = {}
    names = dict.fromkeys(name for part in parts for name in part)
    for name in names:
        found = [part.get(name) for part in parts]
        for i, group in enumerate(_alike(found)):
            unique, n = name, i
            while i and (unique == name or unique in names or unique in out):
                n += 1
                unique = f"{name} ({n})"
            out[unique] = _one(f"{home}/{unique}", group, counts, ledger)
            if i:
                kind = next(x.dtype for x in group if x is not None)
                reason = f"{kind} apart from {name!r}, for no dtype holds all values exactly"
                ledger.converted("field", f"{home}/{unique}", sum(counts), reason)
    return out


def _one(name: str, found: Sequence[Array | None], counts: Sequence[int], ledger: Ledger) -> Array:
    """One field of all parts; None where a part lacks it."""
    held = [x for x in found if x is not None]
    kind = _common([x.dtype for x in held])
    shape = _widest([x.shape[1:] for x in held])
    fill: Any = "" if kind.kind in "US" else blank(kind)
    table = np.full((sum(counts), *shape), fill, kind)
    start = lacking = 0
    for x, n in zip(found, counts, strict=True):
        if x is None:
            lacking += n
        else:
            if x.ndim != table.ndim:
                x = x.reshape(n, *x.shape[1:], *[1] * (table.ndim - x.ndim))
            table[(slice(start, start + n), *(slice(k) for k in x.shape[1:]))] = x
            lacking += n if x.shape[1:] != shape else 0
        start += n
    ledger.kept("field", name, sum(counts))
    others = dict.fromkeys(str(x.dtype) for x in held if x.dtype != kind and kind.kind not in "US")
    if others:
        rows = sum(len(x) for x in held if str(x.dtype) in others)
        ledger.converted("field", name, rows, f"{' and '.join(others)} as {kind}")
    if lacking:
        reason = f"parts without it, or with fewer columns, are filled with {fill}"
        ledger.converted("field", name, lacking, reason)
    return table


def _alike(found: Sequence[Array | None]) -> list[list[Array | None]]:
    """The arrays in groups that have an exact common dtype: one group, or one a kind of number.

    Empty arrays go with the first group, whatever they are.
    """
    held = [x for x in found if x is not None and x.size]
    if not held:
        return [list(found)]
    if _exact(held):
        return [[x if x is None or x.size else x.astype(held[0].dtype) for x in found]]
    kinds = list(dict.fromkeys(x.dtype.kind for x in held))
    groups: list[list[Array | None]] = [
        [x if x is not None and x.size and x.dtype.kind == kind else None for x in found]
        for kind in kinds
    ]
    return groups


def _common(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    return np.result_type(*dtypes)


def _exact(arrays: Sequence[Array]) -> bool:
    """Whether the common dtype holds every value, and numbers stay numbers and texts texts."""
    if len({x.dtype.kind in "US" for x in arrays}) > 1:
        return False
    kind = _common([x.dtype for x in arrays])
    return all(_holds(kind, x) for x in arrays)


def _holds(kind: np.dtype[Any], x: Array) -> bool:
    if x.dtype.kind not in "iu" or kind.kind not in "fc":
        return True  # wider, of one kind; or texts
    digits = np.finfo(kind).nmant + 1
    low, high = int(x.min()), int(x.max())
    if -(1 << digits) <= low and high <= 1 << digits:
        return True
    back = x.astype(kind).real
    ends = np.iinfo(x.dtype)  # as floats they round up to a power of two, which x cannot hold
    fits = (back >= float(ends.min)) & (back < float(ends.max))
    return bool(fits.all()) and bool((back.astype(x.dtype) == x).all())


def _widest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The least shape that holds each of these."""
    rank = max(map(len, shapes))
    padded = [(*shape, *[1] * (rank - len(shape))) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))
