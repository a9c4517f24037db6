"""Blocks of data sets, nested and named, as one mesh with a region for each; and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.vtk import VtkArray, VtkData, to_mesh
from meshkit.readers.vtk.joining import joined
from meshkit.readers.vtk.selection import taken, used_points
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

# Field array of the first block: how many points and cells the mesh had that was split in blocks.
# In each block, arrays of these names say which of them its points and cells are.
SPLIT: Final = "meshkit_blocks"
_POINT: Final = "meshkit_point"
_CELL: Final = "meshkit_cell"


@dataclass
class Block:
    """A block: a data set, or others below it.

    `pieces` says that what is below is one thing in pieces, so that they are no regions.
    """

    name: str | None
    data: VtkData | None = None
    below: list[Block] = field(default_factory=list)
    pieces: bool = False

    def leaves(self) -> Iterator[Block]:
        """The blocks that hold data, in order."""
        if self.data is not None:
            yield self
        for block in self.below:
            yield from block.leaves()


@dataclass
class _Range:
    """A region to be: the cells and points that a block became."""

    name: str
    path: str
    parent: str | None
    cells: range
    points: range


def mesh_of_blocks(
    top: Block, path: Path, ledger: Ledger, fields: Mapping[str, VtkArray] | None = None
) -> Mesh:
    """All blocks as one mesh: a cell region for each block with data, and each named one above.

    A region is called as its block is ("block 3" where that has no name), and its parent is the
    named block above. Blocks with points and no cells are point regions, named blocks that hold
    nothing regions of no cell. Names that are taken
    get their path in front, and are counted. Blocks that `split` made become the mesh it split.

    Args:
        top: what is not a block itself but holds them.
        path: for messages.
        fields: field arrays of the whole.

    Raises:
        ReadError: a data set is not sound, or blocks that meshkit wrote do not fit together.
    """
    leaves = list(top.leaves())
    parts = [block.data for block in leaves if block.data is not None]
    if parts and SPLIT in parts[0].field_arrays:
        return to_mesh(_unsplit(parts, path), path, ledger)
    labels = [block.name or f"block {i}" for i, block in enumerate(leaves)]
    if not parts:
        none = np.zeros(0, np.int64)
        points = np.zeros((0, 3))
        parts = [VtkData(points, none.astype(np.uint8), np.zeros(1, np.int64), none)]
        labels = ["no block"]
    data = joined(parts, labels, ledger)
    for name, array in (fields or {}).items():
        data.field_arrays.setdefault(name, array)
    mesh = to_mesh(data, path, ledger)
    regions = list(mesh.regions)
    taken_names = {region.name for region in regions}
    renamed: dict[str, str] = {}
    for found in _ranges(top):
        name, n = found.name, 1
        if name in taken_names:
            name = found.path
        while name in taken_names:
            n += 1
            name = f"{found.path} ({n})"
        taken_names.add(name)
        renamed[found.path] = name
        entity: Any = "cell" if found.cells or not found.points else "point"
        ids = found.cells if entity == "cell" else found.points
        if name != found.name:
            reason = f"renamed: there is another block {found.name!r}"
            ledger.converted("region", name, len(ids), reason)
        ledger.kept("region", name, len(ids), "a block")
        parent = None if found.parent is None else renamed.get(found.parent)
        dtype = mesh.cells.connectivity.dtype
        tensor = torch.arange(ids.start, ids.stop, dtype=dtype, device="cpu")
        regions.append(Region(name, entity, tensor, kind="block", parent=parent))
    return mesh.replace(regions=Regions(regions))


def _ranges(top: Block) -> Iterator[_Range]:
    """The regions that blocks become, those above before those below."""
    at = [0, 0, 0]  # cells, points, blocks with data

    def size(block: Block) -> tuple[int, int]:
        held = [leaf.data for leaf in block.leaves() if leaf.data is not None]
        return sum(len(d.types) for d in held), sum(len(d.points) for d in held)

    def walk(block: Block, above: str, parent: str | None) -> Iterator[_Range]:
        leaf = block.data is not None or block.pieces
        name = block.name or (f"block {at[2]}" if leaf else None)
        path = f"{above}/{name}" if above and name else name or above
        cells, points = size(block)
        if name is not None and block is not top:
            yield _Range(
                name,
                path,
                parent,
                range(at[0], at[0] + cells),
                range(at[1], at[1] + points),
            )
        if leaf:
            at[0], at[1], at[2] = at[0] + cells, at[1] + points, at[2] + 1
            return
        for child in block.below:
            yield from walk(child, path, path if name and block is not top else parent)

    yield from walk(top, "", None)


def split(data: VtkData, regions: Sequence[Region]) -> list[tuple[str, VtkData]]:
    """The data set in blocks, one for each cell region, when these are each cell exactly once.

    Otherwise all of it in one block "mesh". `mesh_of_blocks` puts blocks together again as they
    were: points and cells know their places, and the first block holds the arrays of meshkit and
    the points that no cell uses.
    """
    parents = {region.parent for region in regions}
    parts = [r for r in regions if r.entity == "cell" and r.name not in parents]
    ids = [region.ids.cpu().numpy() for region in parts]
    n_points, n_cells = len(data.points), len(data.types)
    said = VtkArray(np.array([[n_points, n_cells]]))
    count = np.bincount(np.concatenate([*ids, np.zeros(0, np.int64)]).astype(np.int64))
    if n_cells == 0 or len(count) != n_cells or not (count == 1).all():
        return [("mesh", replace(data, field_arrays={**data.field_arrays, SPLIT: said}))]
    blocks: list[tuple[str, VtkData]] = []
    unused = ~used_points(data)
    whole = replace(
        data,
        point_arrays={**data.point_arrays, _POINT: _numbered(n_points)},
        cell_arrays={**data.cell_arrays, _CELL: _numbered(n_cells)},
    )
    common = {k: v for k, v in data.field_arrays.items() if not k.startswith("meshkit_")}
    for region, cells in zip(parts, ids, strict=True):
        used = unused.copy() if not blocks else np.zeros(n_points, np.bool_)
        part = taken(whole, cells, np.arange(n_points))
        used |= used_points(part)
        part = taken(whole, cells, np.flatnonzero(used))
        part.field_arrays = dict(common)
        if not blocks:
            part.field_arrays = {**data.field_arrays, SPLIT: said}
        blocks.append((region.name, part))
    return blocks


def _numbered(n: int) -> VtkArray:
    dtype = np.int32 if n < 2**31 else np.int64
    return VtkArray(np.arange(n, dtype=dtype).reshape(-1, 1))


def _unsplit(parts: Sequence[VtkData], path: Path) -> VtkData:
    """Undo `split`."""

    def fail(problem: str) -> ReadError:
        return ReadError(path, f"its blocks are not those that meshkit wrote: {problem}")

    riders = dict(parts[0].field_arrays)
    said = riders.pop(SPLIT).values
    if isinstance(said, list) or said.size != 2:
        raise fail("no number of points and cells")
    n_points, n_cells = (int(x) for x in said.reshape(-1))
    if len(parts) == 1 and _POINT not in parts[0].point_arrays:
        return replace(parts[0], field_arrays=riders)
    bare = [replace(part, field_arrays={}) for part in parts]
    whole = joined(bare, [str(i) for i in range(len(bare))], Ledger())
    point_of = _numbers(whole.point_arrays.pop(_POINT, None), n_points)
    cell_of = _numbers(whole.cell_arrays.pop(_CELL, None), n_cells)
    if point_of is None or cell_of is None or len(cell_of) != n_cells:
        raise fail("points or cells do not know their places")
    _, first = np.unique(point_of, return_index=True)
    cells = np.argsort(cell_of, kind="stable")
    if len(first) != n_points or (cell_of[cells] != np.arange(n_cells)).any():
        raise fail("a point or a cell is missing")
    # Each point stands once in every block that uses it; the first stands for all.
    same = first[point_of]
    whole.connectivity = same[whole.connectivity].astype(whole.connectivity.dtype)
    if whole.polyhedra is not None:
        of_cell, offsets, ids = whole.polyhedra
        whole.polyhedra = (of_cell, offsets, same[ids].astype(ids.dtype))
    out = taken(whole, cells, first)
    out.field_arrays = riders
    return out


def _numbers(array: VtkArray | None, n: int) -> NDArray[Any] | None:
    """Places from 0 to n - 1 as an array says them; None where it does not."""
    if array is None or isinstance(array.values, list) or array.values.dtype.kind not in "iu":
        return None
    values = array.values.reshape(-1).astype(np.int64)
    sound = len(values) == 0 or 0 <= values.min() <= values.max() < n
    return values if sound else None
