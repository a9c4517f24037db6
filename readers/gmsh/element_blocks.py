"""$Elements of version 4: blocks of elements of one type and one entity."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.gmsh.element_tables import Table, of_rows
from meshkit.readers.gmsh.elements import ElementType, element_types
from meshkit.readers.gmsh.numbers import BinaryNumbers, numbers_of
from meshkit.readers.gmsh.sections import MshFile, Section

_SHORT: Final = np.iinfo(np.int32).max


def tables(msh: MshFile) -> tuple[list[Table], NDArray[Any] | None]:
    """All elements of a file of any version; none where it has no $Elements.

    Returns:
        The tables, and the nodes of all of them where they are views of one array.

    Raises:
        ReadError: counts contradict the file, or an element is of an unknown type.
    """
    section = msh.only("Elements")
    if section is None:
        return [], None
    return _of_blocks(msh, section) if msh.version >= (4, 0) else (of_rows(msh, section), None)


def _of_blocks(msh: MshFile, section: Section) -> tuple[list[Table], NDArray[Any] | None]:
    numbers = numbers_of(msh, section, whole=True)
    head = numbers.sizes(4 if msh.version >= (4, 1) else 2, "the counts of $Elements").tolist()
    binary = isinstance(numbers, BinaryNumbers)
    pool = _Pool((section.end - section.start) // msh.width if binary else 0)
    out: list[Table] = []
    total = 0
    for _ in range(head[0]):
        found = numbers.ints(3, "a block of elements").tolist()
        dim, tag = (found[0], found[1]) if msh.version >= (4, 1) else (found[1], found[0])
        kind = element_types().get(found[2])
        if kind is None:
            raise numbers.error(f"element type {found[2]}", "a type that has a number of nodes", 2)
        if not 0 <= dim <= 3 or abs(tag) >= 1 << 31:
            raise numbers.error(f"entity {tag} of dimension {dim}", "a dimension from 0 to 3")
        (count,) = numbers.sizes(1, "the count of a block of elements").tolist()
        if isinstance(numbers, BinaryNumbers):
            own, nodes = pool.read(numbers, count, kind)
        else:
            rows = numbers.sizes(count * (1 + kind.size), "elements").reshape(count, 1 + kind.size)
            own, nodes = rows[:, 0], rows[:, 1:]
        out.append(Table(kind, own, nodes, slice(total, total + count), entity=(dim, tag)))
        total += count
    numbers.finish()
    if total != head[1]:
        raise msh.error(
            f"declares {head[1]} elements, its blocks have {total}",
            at=section.start,
            expected="one",
        )
    return out, pool.nodes if binary else None


class _Pool:
    """Memory for the nodes of all blocks, one after the other, in 4 bytes each where they fit.

    Only what is written to takes memory, so it may be larger than what is read.
    """

    def __init__(self, most: int) -> None:
        self._nodes = np.empty(most, np.int32)
        self._own = np.empty(most, np.int32)
        self._at = self._count = 0
        self._fits = True

    @property
    def nodes(self) -> NDArray[Any] | None:
        """All nodes that have been read; None where some are elsewhere, in 8 bytes each."""
        return self._nodes[: self._at] if self._fits else None

    def read(
        self, numbers: BinaryNumbers, count: int, kind: ElementType
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The tags [count] of a block, and those of their nodes [count, size]."""
        numbers.require(count, 1 + kind.size, "elements")
        stop, end = self._count + count, self._at + count * kind.size
        own = self._own[self._count : stop]
        nodes = self._nodes[self._at : end].reshape(count, kind.size)
        if numbers.rows(own, nodes, _SHORT, "elements"):
            self._count, self._at = stop, end
            return own, nodes
        self._fits = False
        wide = np.empty(count, np.int64), np.empty((count, kind.size), np.int64)
        numbers.rows(*wide, None, "elements")
        return wide
