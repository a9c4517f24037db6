"""$Elements as tables of elements of one type; here those of version 2.

No loop runs over elements. Every row says its own type and number of tags, and rows of one kind
that follow each other are found together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.gmsh.elements import POLYTOPES, ElementType, element_types, sizes
from meshkit.readers.gmsh.nodes import counted
from meshkit.readers.gmsh.numbers import Ints, text_numbers
from meshkit.readers.gmsh.sections import MshFile, Section
from meshkit.readers.ragged_rows import row_starts

_SHORT: Final = 32
"""Runs of fewer rows than this on average are not looked for one by one."""


@dataclass
class Table:
    """Elements of one type, and where they stand among all elements of the file.

    Args:
        type: what they are.
        own: int [m], the tag of each.
        nodes: int [m, size], the tags of its nodes.
        places: a slice, or int [m].
        tags: int [m, ...], its other tags (version 2).
        entity: dimension and tag of the entity of all of them (version 4).
    """

    type: ElementType
    own: NDArray[Any]
    nodes: NDArray[Any]
    places: slice | Ints
    tags: NDArray[Any] | None = None
    entity: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Run:
    """Rows of one kind, one after the other."""

    start: int
    count: int  # of rows
    elements: int  # in each row
    kind: tuple[int, ...]


class _Layout:
    """How a row of version 2 is laid out: in text the tag, the type and the number of tags; in
    bytes the type, how many elements follow and the number of tags."""

    def __init__(self, flat: NDArray[Any], *, binary: bool) -> None:
        self.flat, self.binary = flat, binary
        self.type_at, self.tags_at = (0, 2) if binary else (1, 2)
        self._sizes = np.array(sizes())
        self._polytope = np.isin(np.arange(len(self._sizes)), list(POLYTOPES))

    def kind(self, at: int) -> tuple[int, ...]:
        """What the rows of a run have in common: type, number of tags, elements."""
        flat = self.flat
        more = int(flat[at + 1]) if self.binary else 1
        return int(flat[at + self.type_at]), int(flat[at + 2]), more

    def alike(self, rows: NDArray[Any], kind: tuple[int, ...]) -> NDArray[np.bool_]:
        """Which rows [m, width] are of a kind."""
        same: NDArray[np.bool_] = (rows[:, self.type_at] == kind[0]) & (rows[:, 2] == kind[1])
        return same & (rows[:, 1] == kind[2]) if self.binary else same

    def lengths(self, at: Ints) -> Ints:
        """How many numbers rows would have if they began there; 1 where none can begin."""
        flat, last = self.flat, len(self.flat) - 1
        types = flat[np.minimum(at + self.type_at, last)].astype(np.int64)
        tags = flat[np.minimum(at + 2, last)].astype(np.int64)
        known = (types >= 0) & (types < len(self._sizes)) & (tags >= 0) & (tags <= last)
        types, tags = np.where(known, types, 0), np.where(known, tags, 0)
        points = self._sizes[types]
        if self.binary:
            more = flat[np.minimum(at + 1, last)].astype(np.int64)
            more = np.where((more >= 0) & (more <= last), more, 0)
            found = 3 + more * (1 + tags + points)
        else:
            listed = flat[np.minimum(at + 3 + tags, last)].astype(np.int64)
            of_any = self._polytope[types]
            known &= ~of_any | ((listed >= 0) & (listed <= last))
            found = 3 + tags + np.where(of_any, 1 + listed, points)
        return np.where(known & ((points > 0) | self._polytope[types]), found, 1)


def of_rows(msh: MshFile, section: Section) -> list[Table]:
    """All elements of a file of version 2.

    Raises:
        ReadError: counts contradict the file, or an element is of an unknown type.
    """
    count, start = counted(msh, section)
    if msh.binary:
        msh.file.seek(start)
        raw = msh.file.read(section.end - start)
        flat = np.frombuffer(raw[: len(raw) // 4 * 4], f"{msh.order}i4").astype(
            np.int32, copy=False
        )
    else:
        flat = text_numbers(msh, start, section.end, np.dtype(np.int64))
    out: list[Table] = []
    layout, at, place = _Layout(flat, binary=msh.binary), 0, 0
    while place < count:
        run = _next_run(layout, at, count - place)
        if run is None:
            raise _bad_row(msh, section, layout, at, place, count)
        width = int(layout.lengths(np.array([at]))[0])
        out += _table(layout, run, width, place)
        at += width * run.count
        place += run.count * run.elements
        if len(out) > 1000 and place < _SHORT * len(out) and not msh.binary:
            return _mixed(msh, section, layout, count)
    if place > count or at < len(flat):
        raise msh.error(
            f"declares {count} elements, its rows have {place} and {len(flat) - at} numbers more",
            at=section.start,
            expected="true counts",
        )
    return out


def _next_run(layout: _Layout, at: int, most: int) -> _Run | None:
    """The rows from a place on that are of one kind; None where no row begins there."""
    flat = layout.flat
    if at + 3 > len(flat):
        return None
    kind = layout.kind(at)
    width = int(layout.lengths(np.array([at]))[0])
    elements = kind[2]
    bare = width == 3 and elements > 0  # a head that promises more than there can be
    if width < 3 or bare or at + width > len(flat) or elements < 0:
        return None
    if elements != 1 or kind[0] in POLYTOPES:
        return _Run(at, 1, elements, kind)
    most = min(most, (len(flat) - at) // width)
    found, step = 1, 64
    while found < most:
        some = min(step, most - found)
        rows = flat[at + found * width : at + (found + some) * width].reshape(some, width)
        same = layout.alike(rows, kind)
        if not same.all():
            found += int(np.argmin(same))
            break
        found, step = found + some, 2 * step
    return _Run(at, found, 1, kind)


def _table(layout: _Layout, run: _Run, width: int, place: int) -> list[Table]:
    type_number, tags, _ = run.kind
    rows = layout.flat[run.start : run.start + run.count * width]
    total = run.count * run.elements
    number_at, before = 0, 3
    if layout.binary and run.elements == 1:
        number_at, before = 3, 4
    elif layout.binary:
        rows, before = rows[3:], 1
    if total == 0:
        return []
    kind = _type(type_number, width - before - tags)
    found = rows.reshape(total, -1)
    return [_sliced(kind, found, slice(place, place + total), number_at, (before, before + tags))]


def _sliced(
    kind: ElementType,
    rows: NDArray[Any],
    places: slice | Ints,
    number_at: int,
    tags_at: tuple[int, int],
) -> Table:
    """A table of rows, whose nodes come last."""
    nodes = rows[:, rows.shape[1] - kind.size :]
    return Table(kind, rows[:, number_at], nodes, places, rows[:, slice(*tags_at)])


def _type(number: int, size: int) -> ElementType:
    """The type; of a polygon or polyhedron one of this size that no cell of ours is."""
    if number in POLYTOPES:
        return ElementType(number, POLYTOPES[number], size, None, ())
    return element_types()[number]


def _mixed(msh: MshFile, section: Section, layout: _Layout, count: int) -> list[Table]:
    """The tables of a text whose rows change their kind all the time."""
    flat = layout.flat
    starts = row_starts(count, len(flat), layout.lengths)
    widths = np.diff(starts)
    wrong = np.flatnonzero(widths < 4)
    if len(wrong) or len(starts) != count + 1 or starts[-1] != len(flat):
        place = int(wrong[0]) if len(wrong) else len(starts) - 1
        raise _bad_row(msh, section, layout, int(starts[min(place, len(starts) - 1)]), place, count)
    begin = starts[:-1]
    types, tags = flat[begin + 1].astype(np.int64), flat[begin + 2].astype(np.int64)
    keys = np.stack([types, tags, widths], 1)
    kinds, which = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(kinds)))
    out = []
    for (number, n_tags, width), some in zip(
        kinds.tolist(), np.split(order, ends[:-1]), strict=True
    ):
        rows = flat[begin[some][:, None] + np.arange(width)]
        kind = _type(number, width - 3 - n_tags)
        out.append(_sliced(kind, rows, some, 0, (3, 3 + n_tags)))
    return out


def _bad_row(
    msh: MshFile, section: Section, layout: _Layout, at: int, place: int, count: int
) -> ReadError:
    """What is wrong with the row that should begin at a number."""
    flat = layout.flat
    if at + 3 > len(flat):
        problem = f"declares {count} elements, but holds {place}"
    else:
        number = int(flat[at + layout.type_at])
        known = 0 <= number < len(sizes()) and (sizes()[number] or number in POLYTOPES)
        problem = f"element {place} is of type {number}"
        if known:
            problem = f"element {place} does not fit what is left, or has {flat[at + 2]} tags"
    return msh.error(problem, at=section.start, expected="a type of gmsh's table and all its nodes")
