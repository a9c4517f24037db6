"""Whole numbers of VTKHDF: how many each part has, ids, and where its rows begin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.stored import Stored

Numbers = NDArray[Any]


def counts(group: Group, name: str, parts: range) -> list[int]:
    """How many each of these parts has; a data set of no parts is one part of nothing."""
    stored = group.need(name)
    values = [int(x) for x in ids(stored, parts.start, len(parts))]
    if values and (min(values) < 0 or max(values) >= 1 << 60):
        raise stored.error(f"says {min(values)} to {max(values)}", expected="0 or more")
    return values or [0]


def before(group: Group, name: str, parts: range) -> int:
    """How many all parts before these have."""
    return sum(counts(group, name, range(parts.start))) if parts.start else 0


def ids(stored: Stored, start: int, count: int) -> Numbers:
    """Flat whole numbers, signed."""
    if stored.dtype.kind not in "iu" or math.prod(stored.shape[1:]) != 1:
        raise stored.error(
            f"holds {stored.dtype} {list(stored.shape)}", expected="whole numbers [n]"
        )
    values = stored.read(start, count).reshape(-1)
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise stored.error(f"says {values.max()}", expected="an id or an offset")
    return values if values.dtype in (np.int32, np.int64) else values.astype(np.int64)


def split(values: Numbers, counts: Sequence[int]) -> list[Numbers]:
    """Values one after the other, as those of each part."""
    return np.split(values, np.cumsum(counts)[:-1])


def offsets(
    stored: Stored, begin: int, parts: range, counts: Sequence[int], ends: Sequence[int] | None
) -> list[Numbers]:
    """Each part's offsets, one more than what they are of.

    Every part before has one row more than cells. Where cells stand only once for several times,
    parts before may have none: then the first place with sound offsets is meant.
    """
    if not len(parts):
        return [np.zeros(1, np.int64)]
    total = sum(counts) + len(counts)
    found: list[Numbers] = []
    for place in dict.fromkeys((begin + parts.start, begin)):
        if place + total > len(stored) and place != begin:
            continue
        found = split(ids(stored, place, total), [n + 1 for n in counts])
        if ends is None or all(
            x[0] == 0 and x[-1] == end for x, end in zip(found, ends, strict=True)
        ):
            return found
    return found


def need_rows(stored: Stored, offsets: Numbers, end: int) -> None:
    """Refuse offsets that do not run from 0 to the end."""
    if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise stored.error(
            f"runs from {offsets[0]} to {offsets[-1]}", expected=f"0 to {end}, never descending"
        )
