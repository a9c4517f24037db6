"""VTKHDF files in: one data set or blocks of them, at one time or over time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.vtk import VtkData, to_mesh
from meshkit.readers.vtk.blocks import Block, mesh_of_blocks
from meshkit.readers.vtk.names import decoded
from meshkit.readers.vtkhdf.data_sets import data_set
from meshkit.readers.vtkhdf.hdf5 import Group, opened
from meshkit.readers.vtkhdf.parts import Cache
from meshkit.readers.vtkhdf.steps import times_of
from meshkit.report import Ledger
from meshkit.series import MeshSeries

_ROOT: Final = "VTKHDF"
_COMPOSITES: Final = ("PartitionedDataSetCollection", "MultiBlockDataSet")
_ASSEMBLY: Final = "Assembly"
_MOST_NESTED: Final = 20
_MOST_BLOCKS: Final = 100_000
_NEWEST: Final = 2  # the major version of the format


def read(path: Path, ledger: Ledger) -> Mesh:
    """The data set of a file, at its last time where it has times.

    Unstructured grids and poly data, in parts or not, and images, rectilinear and structured
    grids; blocks of these are cell regions.
    What `write` wrote is read as it was.

    Raises:
        ReadError: the file is damaged, or holds something else; the message names the dataset.
    """
    with opened(path) as file:
        root = _root(file)
        times = _times(root)
        mesh = _mesh(root, None if times is None else len(times) - 1, Cache(), ledger)
    return mesh if times is None else mesh.replace(info=mesh.info.replace(time=times[-1]))


def series(path: Path) -> MeshSeries | None:
    """The data set of a file over its times; None where it has none.

    Points and cells that stay are read once. Times that repeat or do not ascend (VTK's writer
    rounds them to float32) are replaced by their numbers, and the report says so.

    Raises:
        ReadError: as `read`.
    """
    with opened(path) as file:
        times = _times(_root(file))
    if times is None:
        return None
    order = sorted(range(len(times)), key=times.__getitem__)
    said = [times[i] for i in order]
    sound = all(np.isfinite(said)) and all(a < b for a, b in itertools.pairwise(said))
    if not sound:
        order, said = list(range(len(times))), [float(i) for i in range(len(times))]
    cache = Cache()

    def load(i: int) -> Mesh:
        ledger = Ledger()
        with opened(path) as file:
            mesh = _mesh(_root(file), order[i], cache, ledger)
        if sound:
            ledger.kept("time", "", 1)
        else:
            reason = f"times repeat or descend: {times[order[i]]:g} is called {said[i]:g}"
            ledger.converted("time", "", 1, reason)
        return mesh.replace(info=mesh.info.replace(report=ledger.report()))

    return MeshSeries(said, load)


def _root(file: Group) -> Group:
    """The group that everything stands in.

    Raises:
        ReadError: it is missing, or of a version that is not known yet.
    """
    root = file.group(_ROOT)
    if root is None:
        raise ReadError(file.path, f"is HDF5 without a group {_ROOT!r}", expected="a VTKHDF file")
    major = root.whole_numbers("Version", 2)[0]
    if not 0 < major <= _NEWEST:
        raise root.error(f"is of version {major}", expected=f"version 1 to {_NEWEST}")
    return root


def _times(root: Group) -> list[float] | None:
    """The times of the data set, or those that all blocks share."""
    if root.attribute("Type") not in _COMPOSITES:
        return times_of(root)
    found: list[tuple[Group, list[float]]] = []
    for block in _data_sets(root).values():
        times = times_of(block)
        if times is not None:
            found.append((block, times))
    for block, times in found[1:]:
        if times != found[0][1]:
            raise block.error(
                f"has other times than {found[0][0].name}", expected="all blocks at the same times"
            )
    return found[0][1] if found else None


def _mesh(root: Group, index: int | None, cache: Cache, ledger: Ledger) -> Mesh:
    if root.attribute("Type") in _COMPOSITES:
        return mesh_of_blocks(_blocks(root, index, cache, ledger), root.path, ledger)
    data = _at(root, index, cache, ledger)
    return to_mesh(data, root.path, ledger)


def _at(group: Group, index: int | None, cache: Cache, ledger: Ledger) -> VtkData:
    """A data set at one of the times; one without times is the same at all."""
    own = index if index is not None and group.has("Steps") else None
    return decoded(data_set(group, own, cache, ledger), ledger)


# --- blocks ---------------------------------------------------------------------------------------


def _data_sets(root: Group) -> dict[str, Group]:
    """The data sets of a composite by name; those with an index in its order."""
    found: list[tuple[int, str, Group]] = []
    for name in root.names():
        member = None if name == _ASSEMBLY else root.member(name)
        if isinstance(member, Group) and member.attribute("Type") is not None:
            index = member.attribute("Index")
            held = index is not None and np.asarray(index).dtype.kind in "iu"
            found.append((int(np.asarray(index).flat[0]) if held else 0, name, member))
    return {name: group for _, name, group in sorted(found, key=lambda row: row[0])}


def _blocks(root: Group, index: int | None, cache: Cache, ledger: Ledger) -> Block:
    """The tree of blocks; data sets that it does not name come last."""
    data_sets = _data_sets(root)
    used: set[str] = set()
    assembly = root.group(_ASSEMBLY)
    if assembly is None and not data_sets:
        raise root.error("holds no block", expected=f"data sets, and {_ASSEMBLY!r} that names them")
    count = 0

    def block(label: str, name: str) -> Iterator[Block]:
        nonlocal count
        count += 1
        if count > _MOST_BLOCKS:
            raise root.error(f"has more than {_MOST_BLOCKS} blocks")
        if name in used:
            reason = f"the same data as another block: {name}"
            ledger.dropped("region", label, 1, reason)
        elif name in data_sets:
            used.add(name)
            yield Block(label, _at(data_sets[name], index, cache, ledger))

    def below(group: Group, depth: int) -> list[Block]:
        if depth > _MOST_NESTED:
            raise group.error("is nested too deeply", expected=f"{_MOST_NESTED} levels at most")
        out: list[Block] = []
        for name in group.names():
            target = group.soft(name)
            if target is not None:
                out += block(name, _name_of(group, name, target))
                continue
            member = group.member(name)
            if isinstance(member, Group):
                out.append(Block(name, below=below(member, depth + 1)))
        return out

    top = Block(None, below=[] if assembly is None else below(assembly, 0))
    for name in data_sets:
        if name not in used:
            top.below += block(name, name)
    return top


def _name_of(group: Group, name: str, target: str) -> str:
    """The data set that a symbolic link of the assembly points to."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    if len(parts) != 2 or parts[0] != _ROOT or not target.startswith("/"):
        raise ReadError(
            group.path,
            f"points to {target[:100]!r}",
            place=f"{group.name}/{name}",
            expected=f"a block below /{_ROOT}",
        )
    return parts[1]
