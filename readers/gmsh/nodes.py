"""$Nodes and $ParametricNodes of every version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.gmsh.numbers import (
    EXACT,
    WHOLE,
    BinaryNumbers,
    Floats,
    Ints,
    Numbers,
    numbers_of,
    text_numbers,
)
from meshkit.readers.gmsh.sections import MshFile, Section
from meshkit.readers.gmsh.tags import Tags
from meshkit.readers.ragged_rows import row_starts


@dataclass
class Nodes:
    """The nodes in the order of the file.

    `entity` is the dimension and the tag of the entity each is classified on, `parameters` the
    coordinates on it; NaN where it has none.
    """

    tags: Tags
    points: Floats  # [n, 3]
    entity: NDArray[np.int32] | None = None  # [n, 2]
    parameters: Floats | None = None  # [n, 3]


def nodes(msh: MshFile) -> Nodes:
    """All nodes of a file.

    Raises:
        ReadError: there are none, counts contradict the file, or a tag stands twice.
    """
    section = msh.only("Nodes") or msh.only("ParametricNodes")
    if section is None:
        raise msh.error("has no $Nodes", at=0, expected="a mesh")
    if msh.version >= (4, 0):
        found = _of_blocks(msh, section)
    elif section.name == "ParametricNodes":
        found = _parametric(msh, section)
    else:
        found = _plain(msh, section)
    again = found.tags.repeated()
    if again is not None:
        raise msh.error(f"node {again} stands twice", at=section.start, expected="tags once each")
    return found


# --- version 4 ------------------------------------------------------------------------------------


def _of_blocks(msh: MshFile, section: Section) -> Nodes:
    numbers = numbers_of(msh, section)
    head = numbers.sizes(4 if msh.version >= (4, 1) else 2, "the counts of $Nodes").tolist()
    read = _block if msh.version >= (4, 1) else _inline_block
    blocks = [read(numbers) for _ in range(min(head[0], section.end - section.start))]
    numbers.finish()
    total = sum(len(block.tags) for block in blocks)
    if total != head[1]:
        raise msh.error(
            f"declares {head[1]} nodes, its blocks have {total}", at=section.start, expected="one"
        )
    counts = [len(block.tags) for block in blocks]
    keys = np.array([block.entity for block in blocks], np.int64).reshape(-1, 2)
    parameters = None
    if any(block.rows.shape[1] > 3 for block in blocks):
        parameters = np.full((total, 3), np.nan)
        at = 0
        for block in blocks:
            more = block.rows[:, 3:]
            parameters[at : at + len(more), : more.shape[1]] = more
            at += len(more)
    return Nodes(
        Tags(_joined([block.tags for block in blocks], np.zeros(0, np.int64))),
        _joined([block.rows[:, :3] for block in blocks], np.zeros((0, 3))),
        np.repeat(keys.astype(np.int32), counts, axis=0),
        parameters,
    )


@dataclass
class _Block:
    entity: tuple[int, int]
    tags: Ints
    rows: Floats  # [n, 3 and more]


def _joined(parts: list[Any], none: NDArray[Any]) -> NDArray[Any]:
    if not parts:
        return none
    return np.ascontiguousarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def _head(numbers: Numbers, order: tuple[int, int]) -> tuple[tuple[int, int], int, int]:
    """The entity of a block, how many numbers a node has, and how many nodes there are."""
    found = numbers.ints(3, "a block of nodes").tolist()
    dim, tag, parametric = found[order[0]], found[order[1]], found[2]
    if not 0 <= dim <= 3 or parametric not in (0, 1) or abs(tag) >= 1 << 31:
        raise numbers.error(
            f"found {found}", "a dimension from 0 to 3, a tag, and 1 for parametric nodes or 0"
        )
    (count,) = numbers.sizes(1, "the count of a block of nodes").tolist()
    return (dim, tag), 3 + dim * parametric, count


def _block(numbers: Numbers) -> _Block:
    entity, width, count = _head(numbers, (0, 1))
    tags = numbers.sizes(count, "the tags of nodes")
    rows = numbers.doubles(count * width, "the coordinates of nodes").reshape(count, width)
    return _Block(entity, tags, rows)


def _inline_block(numbers: Numbers) -> _Block:
    """Version 4.0: the tag of the entity first, and each node's tag before its coordinates."""
    entity, width, count = _head(numbers, (1, 0))
    rows = numbers.doubles(count * (width + 1), "nodes").reshape(count, width + 1)
    return _Block(entity, _whole(rows[:, 0], numbers), rows[:, 1:])


def _whole(tags: Floats, numbers: Numbers) -> Ints:
    with np.errstate(invalid="ignore"):
        whole = tags.astype(np.int64)
    wrong = (whole != tags) | (np.abs(tags) >= EXACT)
    if wrong.any():
        raise numbers.error(f"found {tags[wrong][0]:g} as the tag of a node", WHOLE)
    return whole


# --- version 2 ------------------------------------------------------------------------------------


def counted(msh: MshFile, section: Section) -> tuple[int, int]:
    """The count in the first line of a section, and where the next begins.

    Raises:
        ReadError: there is no such count.
    """
    msh.file.seek(section.start)
    line = msh.file.readline(64)
    if not line.strip().isdigit() or section.start + len(line) > section.end:
        raise msh.error(
            f"found {line[:20]!r} after ${section.name}", at=section.start, expected="a count"
        )
    return int(line), section.start + len(line)


def _plain(msh: MshFile, section: Section) -> Nodes:
    count, start = counted(msh, section)
    if msh.binary:
        row = np.dtype([("tag", f"{msh.order}i4"), ("at", f"{msh.order}f8", (3,))])
        numbers = BinaryNumbers(msh, section, start)
        table = numbers.take(row, count, "nodes")
        numbers.finish()
        return Nodes(Tags(table["tag"].astype(np.int64)), table["at"].astype(np.float64))
    flat = text_numbers(msh, start, section.end, np.dtype(np.float64))
    if len(flat) != 4 * count:
        raise msh.error(
            f"declares {count} nodes, but has {len(flat)} numbers",
            at=section.start,
            expected="a tag and three coordinates each",
        )
    rows = flat.reshape(count, 4)
    return Nodes(Tags(_tags(msh, section, rows[:, 0])), np.ascontiguousarray(rows[:, 1:]))


def _tags(msh: MshFile, section: Section, tags: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        whole = tags.astype(np.int64)
    wrong = (whole != tags) | (np.abs(tags) >= EXACT)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise msh.error(f"node {bad} has the tag {tags[bad]:g}", at=section.start, expected=WHOLE)
    return whole


def _parametric(msh: MshFile, section: Section) -> Nodes:
    """Each node with the dimension and tag of its entity, and as many coordinates on it."""
    count, start = counted(msh, section)
    extra = np.array([0, 1, 2, 0])
    if msh.binary:
        msh.file.seek(start)
        raw = msh.file.read(section.end - start)
        flat = np.frombuffer(raw[: len(raw) // 4 * 4], f"{msh.order}i4").astype(np.int64)
        sizes, dim_at, unit = 9 + 2 * extra, 7, 4
    else:
        flat = text_numbers(msh, start, section.end, np.dtype(np.float64))
        sizes, dim_at, unit = 6 + extra, 4, 1

    def lengths(at: Ints) -> Ints:
        dims = flat[np.minimum(at + dim_at, len(flat) - 1)]
        with np.errstate(invalid="ignore"):
            whole = dims.astype(np.int64)
        return np.where((whole >= 0) & (whole <= 3) & (whole == dims), sizes[whole & 3], 1)

    starts = row_starts(count, len(flat), lengths)
    fits = len(starts) == count + 1 and starts[-1] <= len(flat)
    if not fits or (np.diff(starts) < sizes.min()).any() or len(flat) - starts[-1] >= unit:
        raise msh.error(
            f"declares {count} parametric nodes, its rows are not of that number",
            at=section.start,
            expected="a tag, coordinates, an entity and the coordinates on it each",
        )
    begin, dims = starts[:-1], np.zeros(0, np.int64)
    dims = flat[begin + dim_at].astype(np.int64)

    def column(place: int, which: NDArray[Any]) -> Floats:
        at = begin[which] + place
        found: NDArray[Any] = flat[at]
        if msh.binary:
            words = np.frombuffer(raw[: len(raw) // 4 * 4], "V4")
            found = np.stack([words[at], words[at + 1]], 1).view(f"{msh.order}f8").reshape(-1)
        return found.astype(np.float64)

    step = 2 if msh.binary else 1
    every = np.arange(count)
    points = np.stack([column(1 + step * i, every) for i in range(3)], 1)
    parameters = np.full((count, 3), np.nan)
    for i in range(2):
        has = np.flatnonzero((dims == 2) | ((dims == 1) & (i == 0)))
        parameters[has, i] = column(dim_at + 2 + step * i, has)
    tag = flat[begin + dim_at + 1]
    entity = np.stack([dims, tag.astype(np.int64)], 1).astype(np.int32)
    return Nodes(
        Tags(_tags(msh, section, flat[begin].astype(np.float64))), points, entity, parameters
    )
