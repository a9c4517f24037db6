"""From tables of elements to cells, and to what each cell belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.gmsh.element_tables import Table
from meshkit.readers.gmsh.entities import Key
from meshkit.readers.gmsh.numbers import Ints
from meshkit.readers.gmsh.tags import Tags

_AT_ONCE: Final = 1 << 18  # rows that are reordered together
_SHORT: Final = 16  # runs of one tag are shorter than this on average: they are not told apart


@dataclass
class Members:
    """Which cells belong to which thing: pairs of a cell and its tag, or ranges of cells.

    `cells` and `tags` are int [k]; a cell may stand several times.
    """

    cells: Ints
    dims: Ints
    tags: Ints

    def groups(self) -> dict[Key, Ints]:
        """The cells of each dimension and tag, ascending; in order of first appearance."""
        if not len(self.cells):
            return {}
        # One key a pair; tags are of 32 bits, with a sign.
        key = self.dims * (1 << 33) + self.tags
        unique, first, which = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(unique)))
        parts = np.split(order, ends[:-1])
        out: dict[Key, Ints] = {}
        for i in np.argsort(first).tolist():
            at = int(first[i])
            out[int(self.dims[at]), int(self.tags[at])] = self.cells[parts[i]]
        return out


@dataclass
class Elements:
    """The elements of a file as cells, in the order of the file.

    Nodes are still called by their tags. `tags` finds the cell of an element by its tag; several
    elements are one cell where a file repeats one for each group it is in.
    """

    types: NDArray[np.uint8]  # [n]
    sizes: NDArray[np.int32]  # [n]
    nodes: NDArray[Any]  # [sum of sizes]
    tags: Tags
    own_tags: NDArray[Any]  # [n], of each cell
    numbers: NDArray[np.int16]  # [n], gmsh's number of each cell's type
    entities: dict[Key, Ints]
    physical: dict[Key, Ints] = field(default_factory=dict)
    partitions: dict[int, Ints] = field(default_factory=dict)
    ghosts: dict[int, Ints] = field(default_factory=dict)
    dropped: dict[int, int] = field(default_factory=dict)
    clipped: dict[int, int] = field(default_factory=dict)
    repeated: int = 0

    def first(self, count: int) -> Elements:
        """The first so many of them, without what they belong to."""
        if count == len(self.types):
            return self
        own = self.own_tags[:count]
        return Elements(
            self.types[:count],
            self.sizes[:count],
            self.nodes,
            Tags(own),
            own,
            self.numbers[:count],
            {},
        )


def elements_of(
    tables: list[Table], together: NDArray[Any] | None, version: tuple[int, int]
) -> Elements:
    """The cells of all tables, which are used up.

    Args:
        together: the nodes of all tables one after the other, where they are the views of one
            array; it becomes the cells' own.
    """
    total = sum(len(table.own) for table in tables)
    kept = np.ones(total, np.bool_)
    types, sizes = np.zeros(total, np.uint8), np.zeros(total, np.int32)
    numbers = np.zeros(total, np.int16)
    wide = any(table.own.dtype.itemsize > 4 or table.nodes.dtype.itemsize > 4 for table in tables)
    dtype = np.int64 if wide else np.int32
    own = np.zeros(total, dtype)
    dropped: dict[int, int] = {}
    clipped: dict[int, int] = {}
    repeats = 0
    for table in tables:
        kind, at = table.type, table.places
        own[at] = table.own
        if kind.cell is None:
            dropped[kind.number] = dropped.get(kind.number, 0) + len(table.own)
            kept[at] = False
            continue
        if not kind.whole:
            clipped[kind.number] = clipped.get(kind.number, 0) + len(table.own)
        again = _repeated(table)
        types[at], sizes[at], numbers[at] = kind.cell, len(kind.order), kind.number
        if again is not None:
            kept[at] = ~again
            sizes[at] = np.where(again, 0, len(kind.order))
            repeats += int(again.sum())
    belonging = _Belonging(tables, kept, version)
    whole = bool(kept.all())
    if together is not None and whole and not clipped:
        nodes = _reordered(tables, together)
    else:
        nodes = _nodes(tables, kept, sizes, dtype)
    if whole:
        found = Tags(own)
        return Elements(
            types, sizes, nodes, found, own, numbers, **belonging.parts(), clipped=clipped
        )
    # A repeated element is the cell before it; what is no cell has no type.
    cell = np.where(types != 0, np.cumsum(kept) - 1, -1)
    found = Tags(own, cell)
    return Elements(
        types[kept],
        sizes[kept],
        nodes,
        found,
        own[kept],
        numbers[kept],
        **belonging.parts(),
        dropped=dropped,
        clipped=clipped,
        repeated=repeats,
    )


def _repeated(table: Table) -> NDArray[np.bool_] | None:
    """Rows that are the one before once more, for another physical group; None if none are.

    Version 2 has one group an element, so gmsh writes an element once for each of its groups.
    """
    tags = table.tags
    if tags is None or tags.shape[1] < 2 or len(tags) < 2:
        return None
    same = (tags[1:, 1] == tags[:-1, 1]) & (tags[1:, 0] != tags[:-1, 0])
    if not same.any():
        return None
    at = np.flatnonzero(same)
    same[at] = (table.nodes[at + 1] == table.nodes[at]).all(1)
    if not isinstance(table.places, slice):
        same &= np.diff(table.places) == 1
    return np.concatenate([[False], same]) if same.any() else None


def _nodes(
    tables: list[Table], kept: NDArray[np.bool_], sizes: NDArray[np.int32], dtype: Any
) -> NDArray[Any]:
    """The nodes of all cells in our order; `sizes` is 0 for elements that are none."""
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    out = np.empty(int(ends[-1]), dtype)
    tables.reverse()
    while tables:
        table = tables.pop()  # its memory is needed
        kind, at = table.type, table.places
        if kind.cell is None:
            continue
        k, nodes = len(kind.order), table.nodes
        mine = kept[at]
        if isinstance(at, slice):
            target = out[ends[at.start] : ends[at.stop]].reshape(-1, k)
            source = nodes if mine.all() else nodes[mine]
            if kind.as_it_is:
                target[:] = source
            else:
                for start in range(0, len(source), _AT_ONCE):
                    some = slice(start, start + _AT_ONCE)
                    target[some] = source[some][:, kind.order]
        else:
            out[ends[at[mine]][:, None] + np.arange(k)] = nodes[mine][:, kind.order]
    return out


def _reordered(tables: list[Table], together: NDArray[Any]) -> NDArray[Any]:
    """The same where all nodes are in place: only their order within a cell is ours to make."""
    for table in tables:
        if table.type.as_it_is:
            continue
        for start in range(0, len(table.nodes), _AT_ONCE):
            some = table.nodes[start : start + _AT_ONCE]
            some[:] = some[:, table.type.order]
    tables.clear()
    return together


class _Belonging:
    """What the cells belong to, by the tags in the rows or the heads of blocks."""

    def __init__(
        self, tables: list[Table], kept: NDArray[np.bool_], version: tuple[int, int]
    ) -> None:
        small = np.int32 if len(kept) < 1 << 31 else np.int64
        whole = bool(kept.all())
        cell: Any = np.arange(len(kept), dtype=small)
        if not whole:
            cell = np.cumsum(kept, dtype=small) - 1
        self._pairs: dict[str, list[tuple[Any, Any, Any]]] = {
            what: [] for what in ("entities", "physical", "partitions", "ghosts")
        }
        for table in tables:
            if table.type.cell is None:
                continue
            if table.entity is not None:
                mine = cell[table.places]
                mine = mine if whole else mine[kept[table.places]]
                self._add("entities", mine, table.entity[0], table.entity[1])
            else:
                self._of_tags(table, cell[table.places], kept[table.places], version)

    def _of_tags(
        self, table: Table, cell: Ints, kept: NDArray[np.bool_], version: tuple[int, int]
    ) -> None:
        tags = table.tags
        if tags is None:
            return
        dim, n = table.type.dim, tags.shape[1]
        if n > 0:
            some = np.flatnonzero(tags[:, 0])
            self._add("physical", cell[some], dim, tags[some, 0])
        if n > 1:
            some = np.flatnonzero(kept & (tags[:, 1] != 0))
            self._add("entities", cell[some], dim, tags[some, 1])
        if n > 2 and version < (2, 2):
            self._parts(cell, tags[:, 2:3], kept)
        elif n > 3:
            self._parts(cell, tags[:, 3:], kept & (tags[:, 2] > 0), tags[:, 2])

    def _parts(
        self, cell: Ints, listed: NDArray[Any], kept: NDArray[np.bool_], counts: Any = None
    ) -> None:
        """The partitions of cells; negative ones see the cell as a ghost."""
        for i in range(listed.shape[1]):
            there = kept if counts is None else kept & (counts > i)
            for what, some in (
                ("partitions", there & (listed[:, i] > 0)),
                ("ghosts", there & (listed[:, i] < 0)),
            ):
                at = np.flatnonzero(some)
                self._add(what, cell[at], 0, np.abs(listed[at, i]))

    def _add(self, what: str, cells: Ints, dim: int, tags: Any) -> None:
        """Cells that follow each other and have one tag go together, where that saves much."""
        if not len(cells):
            return
        if isinstance(tags, int):
            self._pairs[what].append((cells, dim, tags))
            return
        cuts = np.flatnonzero(tags[1:] != tags[:-1]) + 1
        if len(cuts) * _SHORT > len(tags):
            self._pairs[what].append((cells, dim, tags))
            return
        ends = [0, *cuts.tolist(), len(tags)]
        for start, stop in pairwise(ends):
            self._pairs[what].append((cells[start:stop], dim, int(tags[start])))

    def parts(self) -> dict[str, Any]:
        """Each as the cells by dimension and tag, those of partitions by tag."""
        out: dict[str, Any] = {}
        for what, found in self._pairs.items():
            groups = _grouped(found)
            by_tag = what in ("partitions", "ghosts")
            out[what] = {k[1]: v for k, v in groups.items()} if by_tag else groups
        return out


def _ascending(parts: list[Ints]) -> Ints:
    """Cells in their order; they mostly are already."""
    cells = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return cells if bool((cells[1:] >= cells[:-1]).all()) else np.sort(cells)


def _grouped(found: list[tuple[Ints, int, Any]]) -> dict[Key, Ints]:
    """The cells of each dimension and tag; blocks have one tag, rows one each."""
    if all(isinstance(tags, int) for _, _, tags in found):
        blocks: dict[Key, list[Ints]] = {}
        for cells, dim, tag in found:
            blocks.setdefault((dim, tag), []).append(cells)
        return {key: _ascending(some) for key, some in blocks.items()}
    cells = np.concatenate([c for c, _, _ in found])
    dims = np.concatenate([np.full(len(c), dim) for c, dim, _ in found])
    tags = np.concatenate([np.broadcast_to(np.int64(t), len(c)) for c, _, t in found])
    order = np.argsort(cells, kind="stable")
    return Members(cells[order], dims[order], tags[order]).groups()
