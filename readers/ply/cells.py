"""The cells in a PLY file: faces, strips and edges, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.errors import ReadError
from meshkit.readers.ply.body import Column, Lists
from meshkit.report import Ledger

INDICES: Final = ("vertex_indices", "vertex_index")
ENDS: Final = ("vertex1", "vertex2")
# By how many vertices a face has; any other is a polygon.
TYPE_OF_SIZE: Final = {0: 0, 1: 1, 2: 3, 3: 5, 4: 9}
POLYGON: Final = 7
STRIP: Final = 6


@dataclass
class Block:
    """The cells of one element, and its other properties, a row a cell."""

    element: str
    sizes: NDArray[np.int64]
    ids: NDArray[np.int64]
    types: NDArray[np.uint8]
    columns: dict[str, Column]


def blocks_of(
    path: Path, tables: Mapping[str, dict[str, Column]], n_points: int, ledger: Ledger
) -> list[Block]:
    """The cells of each element that has some, in the order of the file.

    Raises:
        ReadError: a vertex is out of range, or is no integer.
    """
    found = []
    for name, columns in tables.items():
        block = None
        if name in ("face", "tristrips"):
            key = next((k for k in INDICES if isinstance(columns.get(k), Lists)), None)
            if key is not None:
                others = {k: v for k, v in columns.items() if k != key}
                block = _listed(path, name, columns[key], others, ledger)
        elif name == "edge":
            ends = [columns.get(end) for end in ENDS]
            whole = [x for x in ends if isinstance(x, np.ndarray) and x.dtype.kind in "iu"]
            if len(whole) == len(ENDS):
                ids = np.stack([x.astype(np.int64) for x in whole], 1).reshape(-1)
                n = len(whole[0])
                sizes, types = np.full(n, 2, np.int64), np.full(n, 3, np.uint8)
                others = {k: v for k, v in columns.items() if k not in ENDS}
                block = Block(name, sizes, ids, types, others)
        if block is not None:
            _refuse_out_of_range(path, block, n_points)
            found.append(block)
    return found


def cells_of(blocks: list[Block]) -> Cells:
    """The cells of all blocks, ids int32 where they fit."""
    none = np.zeros(0, np.int64)
    sizes = np.concatenate([none, *(b.sizes for b in blocks)])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    ids = np.concatenate([none, *(b.ids for b in blocks)])
    types = np.concatenate([none.astype(np.uint8), *(b.types for b in blocks)])
    if max(int(ids.max(initial=0)), len(ids)) < 2**31:
        offsets, ids = offsets.astype(np.int32), ids.astype(np.int32)
    return Cells(torch.from_numpy(types), torch.from_numpy(offsets), torch.from_numpy(ids))


def _listed(
    path: Path, name: str, column: Column, others: dict[str, Column], ledger: Ledger
) -> Block:
    if not isinstance(column, Lists) or column.values.dtype.kind == "f":
        raise ReadError(
            path, "vertices are no integers", place=f"element {name!r}", expected="integers"
        )
    sizes = np.diff(column.offsets)
    ids = column.values.astype(np.int64)
    if name == "tristrips":
        return _strips(sizes, ids, others, ledger)
    types = np.full(len(sizes), POLYGON, np.uint8)
    for size, number in TYPE_OF_SIZE.items():
        types[sizes == size] = number
    _count_small(sizes, "face", ledger)
    return Block(name, sizes, ids, types, others)


def _count_small(sizes: NDArray[np.int64], what: str, ledger: Ledger) -> None:
    small = int((sizes < 3).sum())
    if small:
        reason = f"{what}s of fewer than three vertices, as vertices, lines and empty cells"
        ledger.converted("cells", what, small, reason)


def _strips(
    sizes: NDArray[np.int64], ids: NDArray[np.int64], columns: dict[str, Column], ledger: Ledger
) -> Block:
    """Strips, taken apart where an id of -1 starts the next; each gets the row's properties."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    restarts = ids == -1
    if restarts.any():
        nothing = int((sizes == 0).sum())
        if nothing:
            ledger.dropped("cells", "strip", nothing, "rows without vertices")
        part = row + np.cumsum(restarts)  # another number in each row and after each restart
        part, row, ids = part[~restarts], row[~restarts], ids[~restarts]
        _, first, sizes = np.unique(part, return_index=True, return_counts=True)
        owner = row[first]
        columns = {
            name: _rows(column, owner) if isinstance(column, Lists) else column[owner]
            for name, column in columns.items()
        }
    types = np.full(len(sizes), STRIP, np.uint8)
    for size in range(3):
        types[sizes == size] = TYPE_OF_SIZE[size]
    _count_small(sizes, "strip", ledger)
    return Block("tristrips", sizes, ids, types, columns)


def _rows(lists: Lists, rows: NDArray[np.int64]) -> Lists:
    sizes = np.diff(lists.offsets)[rows]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    shift = np.repeat(lists.offsets[:-1][rows] - offsets[:-1], sizes)
    return Lists(offsets, lists.values[np.arange(offsets[-1]) + shift])


def _refuse_out_of_range(path: Path, block: Block, n_points: int) -> None:
    bad = (block.ids < 0) | (block.ids >= n_points)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(np.cumsum(block.sizes), at, side="right"))
        raise ReadError(
            path,
            f"vertex {block.ids[at]} in row {row}",
            place=f"element {block.element!r}",
            expected=f"vertices from 0 to {n_points - 1}",
        )
