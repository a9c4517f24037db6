"""Buckets of points filled a part at a time, so that only one part's words are in memory."""

from __future__ import annotations

import itertools
from typing import Final, NamedTuple

import numpy as np

from meshkit.operators.adjacency.bucket_kernels import RUN
from meshkit.operators.kernels import Array

MOST, LEAST = 8, 2
"""Into how many parts the buckets are split. In two, each row is looked at twice at most; in more
where that stays so, as rows that follow each other name near points."""

WORTH_A_PART: Final = 1 << 17
"""As many sides fill a part at least."""


class Counted(NamedTuple):
    """How many sides go into the bucket of each point, and from which rows they come."""

    counts: Array  # uint32 [n_points + 1], from counts[1] on
    spans: Array  # uint32 [n_runs, 2]: the least and the greatest point of each run of rows
    n_rows: int

    @classmethod
    def none(cls, n_points: int, n_rows: int) -> Counted:
        """Nothing counted yet."""
        n_runs = -(-n_rows // RUN)
        return cls(np.zeros(n_points + 1, np.uint32), np.zeros((n_runs, 2), np.uint32), n_rows)

    def rows(self, first: int, stop: int) -> list[tuple[int, int]]:
        """Where the rows begin and end that may have sides in the buckets of first to stop."""
        runs = self._runs(first, stop)
        breaks = np.nonzero(np.diff(runs) > 1)[0] + 1
        return [
            (int(some[0]) * RUN, min(int(some[-1] + 1) * RUN, self.n_rows))
            for some in np.split(runs, breaks)
            if len(some)
        ]

    def parts(self, starts: Array) -> list[tuple[int, int]]:
        """Which buckets make up each part, from and to; about as many sides in each.

        Args:
            starts: uint32 [n_points + 1], where the bucket of each begins.
        """
        found, count = _split(starts, MOST), MOST
        while count > LEAST and self._looks(found) > LEAST * len(self.spans):
            count //= 2
            found = _split(starts, count)
        return found

    def _runs(self, first: int, stop: int) -> Array:
        least, greatest = self.spans.T
        return np.nonzero((least < stop) & (greatest >= first))[0]

    def _looks(self, parts: list[tuple[int, int]]) -> int:
        return sum(len(self._runs(*part)) for part in parts)


def _split(starts: Array, most: int) -> list[tuple[int, int]]:
    n, total = len(starts) - 1, int(starts[-1])
    count = max(1, min(most, total // WORTH_A_PART))
    ends = np.searchsorted(starts, [total * i // count for i in range(1, count)])
    return list(itertools.pairwise(np.unique([0, *ends, n]).tolist()))
