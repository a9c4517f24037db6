"""From the tags of nodes or elements, in any order and with gaps, to their places."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_SPARSE: Final = 4
"""A table is made up to this many times as many tags as there are."""
_SMALL: Final = 1 << 20
_AT_ONCE: Final = 1 << 17


class Tags:
    """Tags in the order of the file, and the place of each.

    Args:
        tags: int [n].
        places: int [n], where these differ from 0 to n - 1.
    """

    def __init__(self, tags: NDArray[Any], places: Ints | None = None) -> None:
        self.tags = tags
        self.places = places
        n = len(tags)
        self.first = int(tags[0]) if n else 1
        run = n == 0 or int(tags[-1]) - self.first == n - 1
        self.in_order = run and _ascends(tags)
        self._table: Ints | None = None
        self._sorted: NDArray[Any] | None = None
        if not self.in_order:
            self._prepare()

    @property
    def counted(self) -> bool:
        """Whether they are 1, 2, 3, ..., so that nothing needs to be kept of them."""
        return self.in_order and self.first == 1

    def _prepare(self) -> None:
        low, high = int(self.tags.min()), int(self.tags.max())
        if low >= 0 and high < max(_SPARSE * len(self.tags), _SMALL):
            self._table = np.full(high + 1, -1, np.int64)
            self._table[self.tags] = np.arange(len(self.tags))
        else:
            self._sorted = np.argsort(self.tags, kind="stable")

    def repeated(self) -> int | None:
        """A tag that stands twice; None if there is none."""
        if self.in_order:
            return None
        if self._table is not None:
            wrong = self._table[self.tags] != np.arange(len(self.tags))
            return int(self.tags[np.argmax(wrong)]) if wrong.any() else None
        ordered = self.tags[self._sorted]
        same = ordered[1:] == ordered[:-1]
        return int(ordered[1:][np.argmax(same)]) if same.any() else None

    def of(self, wanted: NDArray[Any]) -> Ints:
        """The place of each tag; -1 where there is none."""
        n = len(self.tags)
        if self.in_order:
            at = wanted.astype(np.int64) - self.first
            at[(at < 0) | (at >= n)] = -1
        elif self._table is not None:
            known = (wanted >= 0) & (wanted < len(self._table))
            at = np.where(known, self._table[np.where(known, wanted, 0)], -1)
        else:
            order = self._sorted if self._sorted is not None else np.zeros(0, np.int64)
            ordered = self.tags[order]
            place = np.minimum(np.searchsorted(ordered, wanted), max(n - 1, 0))
            at = np.where(ordered[place] == wanted, order[place], -1)
        return at if self.places is None else np.where(at >= 0, self.places[at], -1)

    def replace(self, wanted: NDArray[Any]) -> int | None:
        """Tags exchanged for their places, in this array; where the first unknown one stands."""
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            if self.in_order and self.places is None:
                last = self.first + len(self.tags) - 1
                if self.first <= int(some.min()) and int(some.max()) <= last:
                    some -= some.dtype.type(self.first)
                    continue
            places = self.of(some)
            if len(places) and int(places.min()) < 0:
                return start + int(np.argmin(places))
            some[:] = places
        return None


def _ascends(tags: NDArray[Any]) -> bool:
    """Whether each tag is the one before it and one, a few at a time."""
    for start in range(0, len(tags) - 1, _AT_ONCE):
        some = tags[start : start + _AT_ONCE + 1]
        if not (some[1:] - some[:-1] == 1).all():
            return False
    return True
