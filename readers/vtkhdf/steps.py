"""Where the data of one time stand in datasets that hold all times, one after the other.

Source: VTK File Formats, VTKHDF: temporal data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.stored import Stored

Numbers = NDArray[Any]

_STEPS = "Steps"


@dataclass(frozen=True)
class Step:
    """One time of a data set; without `index`, a data set without times.

    Args:
        group: the group of the data set.
        index: which time.
    """

    group: Group
    index: int | None = None

    @property
    def steps(self) -> Group | None:
        """The group that says where each time stands."""
        return None if self.index is None else self.group.group(_STEPS)

    @property
    def count(self) -> int:
        """How many times there are."""
        return len(times_of(self.group) or ())

    def said(self, name: str, *, columns: int = 1) -> tuple[int, ...] | None:
        """What the group of times says for this time; None where it says nothing.

        Raises:
            ReadError: it has no row for this time, or a negative number.
        """
        steps = self.steps
        at = None if steps is None else _below(steps, name)
        return None if at is None else _row(at, self.index or 0, columns)

    def start(self, name: str, otherwise: int = 0) -> int:
        """Where this time begins in a dataset, as the group of times says."""
        found = self.said(name)
        return otherwise if found is None else found[0]

    def parts(self, total: int) -> range:
        """Which of the parts of the data set are those of this time.

        Raises:
            ReadError: the file has fewer parts.
        """
        steps = self.steps
        if steps is None:
            return range(total)
        shared = max(self.count, 1)
        said = self.said("NumberOfParts")
        count = said[0] if said else total // shared if total % shared == 0 else 1
        begin = self.start("PartOffsets", (self.index or 0) * count)
        if begin + count > total:
            raise steps.error(
                f"time {self.index} has parts {begin} to {begin + count - 1}",
                expected=f"at most {total} parts",
            )
        return range(begin, begin + count)

    def everywhere(self, name: str) -> Numbers | None:
        """What the group of times says for each time, first column; None where it says nothing.

        Fewer numbers than times mean that it does not say it for all.
        """
        steps = self.steps
        at = None if steps is None else _below(steps, name)
        if at is None or at.dtype.kind not in "iu" or len(at.shape) > 2:
            return None
        return at.read(0, min(len(at), self.count)).reshape(-1, math.prod(at.shape[1:]))[:, 0]


def _below(group: Group, name: str) -> Stored | None:
    """The dataset at "CellOffsets", or at "PointDataOffsets" and a name after the first "/"."""
    first, slash, rest = name.partition("/")
    if not slash:
        return group.find(first)
    inner = group.group(first)
    return None if inner is None else inner.find(rest)


def _row(stored: Stored, index: int, columns: int) -> tuple[int, ...]:
    width = math.prod(stored.shape[1:])
    if stored.dtype.kind not in "iu" or width < columns:
        raise stored.error(
            f"holds {stored.dtype} in {width} columns", expected=f"whole numbers in {columns}"
        )
    values = [int(x) for x in stored.read(index, 1).reshape(-1)[:columns]]
    if min(values) < 0 or max(values) >= 1 << 60:
        raise stored.error(f"says {values} for time {index}", expected="0 or more")
    return tuple(values)


def times_of(group: Group) -> list[float] | None:
    """The times of a data set in their order in the file; None where it has none.

    Raises:
        ReadError: the group of times says no times, or not as many as it declares.
    """
    steps = group.group(_STEPS)
    if steps is None:
        return None
    values = steps.need("Values")
    declared = steps.attribute("NSteps")
    count = len(values) if declared is None else steps.whole_numbers("NSteps", 1)[0]
    if values.dtype.kind not in "iuf" or math.prod(values.shape[1:]) != 1:
        raise values.error(f"holds {values.dtype} {list(values.shape)}", expected="times [n]")
    if not 0 < count <= len(values):
        raise ReadError(
            group.path,
            f"declares {count} times",
            place=f"{steps.place}: attribute 'NSteps'",
            expected=f"1 to {len(values)}, as Values has",
        )
    return [float(x) for x in values.read(0, count).reshape(-1)]
