"""Regions that overlap as entities that do not: which cells belong to the same regions.

Gmsh gives a cell one entity, and an entity any number of physical groups. So the cells of each
combination of regions are an entity, and each region a group of some of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.readers.gmsh.entities import KINDS, Key
from meshkit.readers.gmsh.grouping import DIMENSION, ENTITY, PHYSICAL
from meshkit.regions import Region
from meshkit.report import Ledger

Ints = NDArray[np.int64]
_TOP = 1 << 31
_MANY_RUNS = 1024
_DENSE = 8
"""An entity whose cells list more than a part in so many of all points marks the points it has."""


@dataclass
class Entity:
    """An entity to be: its dimension, its tag (0 until it has one), the groups it is in."""

    dim: int
    tag: int
    origin: int  # the tag of the region of the kind "entity" that it is part of, or 0
    groups: list[int] = field(default_factory=list)  # negative where the group turns it round
    size: int = 0


@dataclass
class Labels:
    """The entity of each cell, and the groups and entities that regions become.

    Args:
        of_cell: int32 [n_cells], a place in `entities`.
        groups: the regions by the groups (dimension, tag) that they are written as.
        kept: regions of the kind "entity" that are entities, and which.
    """

    of_cell: NDArray[np.int32]
    entities: list[Entity]
    groups: list[tuple[Region, list[Key]]]
    kept: list[tuple[Region, list[Key]]]


def labelled(cells: Cells, regions: Iterable[Region], ledger: Ledger) -> Labels:
    """The entities that regions of cells make."""
    dims = cells.dims.cpu().numpy()
    of_cell = np.zeros(len(dims), np.int64)
    kept: list[tuple[Region, Key]] = []
    others: list[Region] = []
    own: set[Key] = set()
    for region in regions:
        key = _entity_key(region, dims, of_cell)
        if key is None or key in own:
            others.append(region)
        else:
            own.add(key)
            of_cell[_ids(region)] = key[1]
            kept.append((region, key))
    starts = runs(dims, of_cell)[:-1]
    keys = dims[starts].astype(np.int64) * (2 * _TOP) + of_cell[starts] + _TOP
    unique, labels = np.unique(keys, return_inverse=True)
    entities = []
    for key in unique.tolist():
        dim, tag = divmod(key, 2 * _TOP)
        entities.append(Entity(dim, tag - _TOP, tag - _TOP))
    lengths = np.diff(starts, append=len(dims))
    out = Labels(np.repeat(labels.reshape(-1).astype(np.int32), lengths), entities, [], [])
    for place, size in enumerate(np.bincount(out.of_cell, minlength=len(entities)).tolist()):
        entities[place].size = size
    tags = _GroupTags(others)
    for region in others:
        _split(out, region, tags, dims)
    _number(out, kept, ledger)
    return out


def _ids(region: Region) -> Ints:
    return region.ids.long().cpu().numpy()


def _entity_key(region: Region, dims: NDArray[np.uint8], taken: Ints) -> Key | None:
    """The entity that a region is, if it can be one: of one dimension, with a tag, on its own."""
    tag, dim = region.source_id, region.attributes.get(DIMENSION)
    ids = _ids(region)
    sound = region.kind == ENTITY and region.flip is None and dim in range(len(KINDS))
    if not sound or dim is None or tag is None or not 0 < tag < _TOP or not len(ids):
        return None
    if (dims[ids] != dim).any() or taken[ids].any():
        return None
    return (int(dim), int(tag))


class _GroupTags:
    """Hands out tags of groups, none twice in a dimension: a region's own where it is free."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self._used: set[Key] = set()
        self._wanted = {
            (int(region.attributes.get(DIMENSION, -1)), region.source_id)
            for region in regions
            if region.kind == PHYSICAL and region.source_id is not None
        }
        self._next = dict.fromkeys(range(len(KINDS)), 1)

    def tag(self, region: Region, dim: int) -> int:
        """The region's own tag where nobody else has it."""
        own = region.source_id
        free = own is not None and 0 < own < _TOP and (dim, own) not in self._used
        mine = region.kind == PHYSICAL or (dim, own) not in self._wanted
        if own is not None and free and mine:
            self._used.add((dim, own))
            return own
        while (dim, self._next[dim]) in self._used | self._wanted:
            self._next[dim] += 1
        self._used.add((dim, self._next[dim]))
        return self._next[dim]


def _split(out: Labels, region: Region, tags: _GroupTags, dims: NDArray[np.uint8]) -> None:
    """Make the cells of a region whole entities, and these its groups, one a dimension."""
    ids = _ids(region)
    turned = np.zeros(len(ids), bool) if region.flip is None else region.flip.cpu().numpy()
    if len(ids) > 1 and not bool((ids[1:] > ids[:-1]).all()):
        ids, first = np.unique(ids, return_index=True)
        turned = turned[first]
    keys: list[Key] = []
    dims_of = dims[ids]
    present = np.flatnonzero(np.bincount(dims_of, minlength=len(KINDS))).tolist()
    if not present:
        dim = region.attributes.get(DIMENSION, -1)
        present = [dim if dim in range(len(KINDS)) else int(dims.max(initial=0))]
    for dim in present:
        tag = tags.tag(region, dim)
        keys.append((dim, tag))
        mine = ids if len(present) == 1 else ids[dims_of == dim]
        away = turned if len(present) == 1 else turned[dims_of == dim]
        if not away.any():
            _refine(out, mine, tag)
            continue
        _refine(out, mine[~away], tag)
        _refine(out, mine[away], -tag)
    out.groups.append((region, keys))


def _refine(out: Labels, ids: Ints, group: int) -> None:
    """Put some cells in a group; an entity that is only partly in it becomes two."""
    if not len(ids):
        return
    before = out.of_cell[ids]
    counts = np.bincount(before, minlength=len(out.entities))
    new = np.arange(len(counts), dtype=np.int32)
    for place in np.flatnonzero(counts).tolist():
        entity, count = out.entities[place], int(counts[place])
        if count == entity.size:
            entity.groups.append(group)
            continue
        entity.size -= count
        new[place] = len(out.entities)
        out.entities.append(
            Entity(entity.dim, entity.tag, entity.origin, [*entity.groups, group], count)
        )
    if len(out.entities) > len(counts):
        out.of_cell[ids] = new[before]


def _number(out: Labels, kept: list[tuple[Region, Key]], ledger: Ledger) -> None:
    """A tag for each entity: its own, where it was one entity and still is."""
    used = {(entity.dim, entity.tag) for entity in out.entities if entity.tag}
    first: set[Key] = set()
    parts: dict[Key, list[Key]] = {}
    following = dict.fromkeys(range(len(KINDS)), 1)
    for entity in out.entities:
        if not entity.tag or (entity.dim, entity.tag) in first:
            while (entity.dim, following[entity.dim]) in used:
                following[entity.dim] += 1
            entity.tag = following[entity.dim]
            used.add((entity.dim, entity.tag))
        first.add((entity.dim, entity.tag))
        if entity.origin:
            parts.setdefault((entity.dim, entity.origin), []).append((entity.dim, entity.tag))
    for region, key in kept:
        out.kept.append((region, parts[key]))
        if len(parts[key]) > 1:
            reason = f"as {len(parts[key])} entities, for groups divide it"
            ledger.converted("region", region.name, len(region), reason)


def runs(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Where runs of rows begin that are equal in all columns, and the end."""
    n = len(columns[0])
    if not n:
        return np.zeros(1, np.int64)
    differs = np.zeros(n - 1, np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    return np.concatenate([[0], np.flatnonzero(differs) + 1, [n]])


def boxes(
    of_cell: NDArray[np.int32], count: int, cells: Cells, points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Least and greatest coordinates of the cells of each entity, [count, 6]; 0 without cells."""
    d = points.shape[1]
    ends = runs(of_cell)
    if len(ends) > count + _MANY_RUNS:
        order = np.argsort(of_cell, kind="stable")
        of_cell, cells = of_cell[order], cells.take(torch.from_numpy(order).to(cells.types.device))
        ends = runs(of_cell)
    offsets, flat = cells.offsets.cpu().numpy(), cells.connectivity.cpu().numpy()
    parts: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    for start, stop in pairwise(ends.tolist()):
        parts[of_cell[start]].append(flat[offsets[start] : offsets[stop]])
    out = np.zeros((count, 6))
    seen = np.zeros(len(points), np.bool_)
    for place, some in enumerate(parts):
        used: NDArray[Any] = np.concatenate(some) if len(some) > 1 else np.array([], np.int64)
        used = some[0] if len(some) == 1 else used
        if len(used) * _DENSE > len(points):
            seen[:] = False
            seen[used] = True
            used = np.flatnonzero(seen)
        for axis in range(d if len(used) else 0):
            x = points[used, axis]
            out[place, axis], out[place, 3 + axis] = np.fmin.reduce(x), np.fmax.reduce(x)
    return np.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0)
