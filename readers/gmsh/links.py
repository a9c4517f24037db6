"""$Periodic and $GhostElements: which nodes and elements belong together across a border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.gmsh.numbers import BinaryNumbers, Ints, Numbers, TextNumbers, numbers_of
from meshkit.readers.gmsh.sections import MshFile, Section
from meshkit.readers.ragged_rows import row_starts

_AFFINE: Final = b"Affine"


@dataclass(frozen=True)
class Link:
    """An entity whose nodes follow those of another: pairs of tags, and the map between them.

    `affine` is the matrix 4 x 4, row by row, or what the file has in its place.
    """

    dim: int
    tag: int
    master: int
    affine: tuple[float, ...]
    pairs: Ints  # [n, 2]: a node's tag, its master's


def periodic(msh: MshFile) -> list[Link]:
    """The periodic links of a file.

    Raises:
        ReadError: counts contradict the file.
    """
    section = msh.only("Periodic")
    if section is None:
        return []
    if msh.version < (4, 0) or not msh.binary:
        return _in_text(msh, section)
    numbers = numbers_of(msh, section)
    (count,) = numbers.sizes(1, "the count of periodic links").tolist()
    links = []
    for _ in range(count):
        dim, tag, master = numbers.ints(3, "a periodic link").tolist()
        (n,) = numbers.sizes(1, "the count of an affine map").tolist()
        affine = tuple(numbers.doubles(n, "an affine map").tolist())
        (n,) = numbers.sizes(1, "the count of periodic nodes").tolist()
        links.append(Link(dim, tag, master, affine, numbers.sizes(2 * n, "periodic nodes")))
    numbers.finish()
    return _checked(msh, section, links)


def _checked(msh: MshFile, section: Section, links: list[Link]) -> list[Link]:
    for link in links:
        if not 0 <= link.dim <= 3:
            raise msh.error(
                f"a periodic link of dimension {link.dim}", at=section.start, expected="0 to 3"
            )
    return [
        Link(link.dim, link.tag, link.master, link.affine, link.pairs.reshape(-1, 2))
        for link in links
    ]


def _in_text(msh: MshFile, section: Section) -> list[Link]:
    """Version 2 says "Affine" and 16 numbers, or nothing; its binary files too are text here."""
    numbers = _Words(msh, section)
    (count,) = numbers.ints(1, "the count of periodic links").tolist()
    links = []
    for _ in range(count):
        dim, tag, master = numbers.ints(3, "a periodic link").tolist()
        affine: tuple[float, ...] = ()
        if msh.version < (4, 1):
            if numbers.skip_mark():
                affine = tuple(numbers.doubles(16, "an affine map").tolist())
        else:
            (n,) = numbers.ints(1, "the count of an affine map").tolist()
            affine = tuple(numbers.doubles(n, "an affine map").tolist())
        (n,) = numbers.ints(1, "the count of periodic nodes").tolist()
        links.append(Link(dim, tag, master, affine, numbers.ints(2 * n, "periodic nodes")))
    numbers.finish()
    return _checked(msh, section, links)


class _Words(TextNumbers):
    """Numbers among which the word "Affine" may stand; it reads as NaN."""

    def __init__(self, msh: MshFile, section: Section) -> None:
        text = msh.text(section)
        self.marked = _AFFINE in text
        if not self.marked:
            super().__init__(msh, section, whole=False)
            return
        self.msh, self.section = msh, section
        parts: list[NDArray[Any]] = []
        at = section.start
        for i, piece in enumerate(text.split(_AFFINE)):
            if i:
                parts.append(np.array([np.nan]))
            own = TextNumbers(msh, Section(section.name, at, at + len(piece)), whole=False)
            parts.append(own.flat)
            at += len(piece) + len(_AFFINE)
        self.flat = np.concatenate(parts)
        self.at = self.last = 0

    def skip_mark(self) -> bool:
        """Whether the word stands here; the next number is the one after it."""
        here = self.marked and self.at < len(self.flat) and bool(np.isnan(self.flat[self.at]))
        self.at += here
        return here


@dataclass(frozen=True)
class Ghosts:
    """Elements that partitions see as ghosts: pairs of an element's tag and a partition.

    The partition that owns an element is that of its entity.
    """

    elements: Ints
    partitions: Ints


def ghosts(msh: MshFile) -> Ghosts:
    """The ghost elements of a file of version 4.

    Raises:
        ReadError: counts contradict the file.
    """
    section = msh.only("GhostElements")
    none = np.zeros(0, np.int64)
    if section is None:
        return Ghosts(none, none)
    return _binary_ghosts(msh, section) if msh.binary else _text_ghosts(msh, section)


def _text_ghosts(msh: MshFile, section: Section) -> Ghosts:
    numbers = numbers_of(msh, section)
    (count,) = numbers.ints(1, "the count of ghost elements").tolist()
    flat = numbers.ints(_left(numbers), "ghost elements")
    return _unrolled(msh, section, flat, count, 1, lambda at: (flat[at], flat[at + 2]))


def _left(numbers: Numbers) -> int:
    return len(numbers.flat) - numbers.at if isinstance(numbers, TextNumbers) else 0


def _binary_ghosts(msh: MshFile, section: Section) -> Ghosts:
    numbers = BinaryNumbers(msh, section)
    (count,) = numbers.sizes(1, "the count of ghost elements").tolist()
    raw = numbers.take(
        np.dtype(f"{msh.order}i4"), (section.end - numbers.at) // 4, "ghost elements"
    )
    flat = raw.astype(np.int64)
    wide = msh.width // 4

    def size(at: Ints) -> Ints:
        if wide == 1:
            return flat[at] & 0xFFFFFFFF
        pair = np.stack([raw[at], raw[at + 1]], 1)
        return pair.view(f"{msh.order}i8").reshape(-1).astype(np.int64)

    def row(at: Ints) -> tuple[Ints, Ints]:
        return size(at), size(at + wide + 1)

    return _unrolled(msh, section, flat, count, wide, row)


def _unrolled(
    msh: MshFile, section: Section, flat: Ints, count: int, wide: int, row: Any
) -> Ghosts:
    """Rows of an element, its partition, how many others see it, and those."""
    head = 2 * wide + 1

    def lengths(at: Ints) -> Ints:
        inside = np.minimum(at, max(len(flat) - head, 0))
        n = row(inside)[1] if len(flat) >= head else np.zeros(len(at), np.int64)
        return np.where((n >= 0) & (n <= len(flat)), head + n, 1)

    starts = row_starts(count, len(flat), lengths)
    short = (np.diff(starts) < head).any() if len(starts) > 1 else False
    if len(starts) != count + 1 or short or starts[-1] > len(flat):
        raise msh.error(
            f"declares {count} ghost elements, its rows do not add up to them",
            at=section.start,
            expected="true counts",
        )
    begin = starts[:-1]
    if not count:
        return Ghosts(begin, begin)
    elements, n = row(begin)
    places = np.arange(int(n.sum())) + np.repeat(begin + head - (np.cumsum(n) - n), n)
    return Ghosts(np.repeat(elements, n), flat[places])
