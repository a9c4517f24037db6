"""Where the objects, groups, materials and smoothing groups of a mesh change from cell to cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from meshkit.mesh import Mesh
from meshkit.readers.obj.lines import Ints
from meshkit.readers.obj.states import KINDS
from meshkit.regions import Region
from meshkit.report import Ledger

# Line ends, and lone surrogates, which no encoding has.
UNWRITABLE: Final = re.compile("[\r\n\ud800-\udfff]|\\\\$")


@dataclass(frozen=True)
class Change:
    """A line of state before a cell."""

    cell: int
    line: str


def state_changes(mesh: Mesh, able: Ints, ledger: Ledger, held: set[str]) -> list[Change]:
    """Where objects, groups, materials and smoothing groups change."""
    place = np.full(mesh.n_cells, -1)
    place[able] = np.arange(len(able))
    by_kind: dict[str, list[Region]] = {"object": [], "group": [], "material": []}
    for region in mesh.regions:
        if region.entity != "cell":
            reason = f"OBJ has no regions of {region.entity}s"
            ledger.dropped("region", region.name, len(region), reason)
            continue
        kind = region.kind if region.kind in by_kind else "group"
        name = _name_of(region)
        if not name or name != name.strip() or UNWRITABLE.search(name):
            ledger.dropped("region", region.name, len(region), f"no name that a {kind} can have")
        elif kind == "group" and re.search(r"\s", name):
            reason = "a group's name has no blanks; regions of kind 'object' may have"
            ledger.dropped("region", region.name, len(region), reason)
        else:
            by_kind[kind].append(region)
    changes: list[Change] = []
    for word, kind in KINDS.items():
        regions = by_kind[kind]
        if kind != "group" and regions and not _exclusive(regions, place, len(able)):
            for region in regions:
                reason = f"a cell is in two {kind}s, or in none after one that is in some"
                ledger.dropped("region", region.name, len(region), reason)
            continue
        for region in regions:
            _note_region(region, kind, ledger)
        changes += _changes(word, regions, place, len(able))
    changes += _smoothing(mesh, able, ledger, held)
    return sorted(changes, key=lambda change: change.cell)


def _name_of(region: Region) -> str:
    own = region.attributes.get("name")
    return own if isinstance(own, str) else region.name


def _note_region(region: Region, kind: str, ledger: Ledger) -> None:
    ledger.kept("region", region.name, len(region))
    if region.kind is None:
        ledger.converted("region", region.name, len(region), "without a kind, read as a group")
    attributes = {k: v for k, v in region.attributes.items() if k != "name"}
    known = {
        "kind": None if region.kind in (None, kind) else region.kind,
        "data": region.data,
        "attributes": attributes or None,
        "source_id": region.source_id,
        "parent": region.parent,
    }
    for part, value in known.items():
        if value is not None:
            ledger.dropped("region", f"{region.name}: {part}", 1, f"a {kind} has a name only")


def _members(region: Region, place: Ints) -> Ints:
    ids: Ints = place[region.ids.long().cpu().numpy()]
    return ids[ids >= 0]


def _exclusive(regions: Sequence[Region], place: Ints, n: int) -> bool:
    """Whether no cell is in two, and none without follows one that is in some."""
    count = np.zeros(n, np.int64)
    for region in regions:
        np.add.at(count, _members(region, place), 1)
    covered = np.flatnonzero(count)
    return bool((count <= 1).all()) and (not len(covered) or bool((count[covered[0] :] == 1).all()))


def _changes(word: str, regions: Sequence[Region], place: Ints, n: int) -> list[Change]:
    """The lines of one keyword, each before the cell from which it holds."""
    if not regions:
        return []
    names = [_name_of(r) for r in regions]
    # Each cell's set of regions as one number: two cells have the same exactly if their sets are.
    key = np.zeros(n, np.int64)
    sets: dict[int, tuple[int, ...]] = {0: ()}
    for i, region in enumerate(regions):
        members = _members(region, place)
        old = np.unique(key[members])
        fresh = {int(k): len(sets) + j for j, k in enumerate(old)}
        for k, new in fresh.items():
            sets[new] = (*sets[k], i)
        key[members] = np.array([fresh[int(k)] for k in old], np.int64)[
            np.searchsorted(old, key[members])
        ]
    starts = np.flatnonzero(np.diff(key, prepend=0)) if n else np.zeros(0, np.int64)
    out = [Change(int(s), " ".join([word, *(names[i] for i in sets[int(key[s])])])) for s in starts]
    empty = [name for name, r in zip(names, regions, strict=True) if not len(_members(r, place))]
    return out + [Change(n, f"{word} {name}") for name in empty]


def _smoothing(mesh: Mesh, able: Ints, ledger: Ledger, held: set[str]) -> list[Change]:
    x = mesh.cell_data.get("smoothing_group", None)
    if not isinstance(x, torch.Tensor) or x.dtype != torch.int32 or x.ndim != 1:
        return []
    numbers = x.cpu().numpy()
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < 10**9:
        return []
    held.add("cell_data/smoothing_group")
    ledger.kept("field", "cell_data/smoothing_group", len(numbers))
    numbers = numbers[able]
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()] if len(numbers) else []
    return [Change(s, f"s {numbers[s] or 'off'}") for s in starts]
