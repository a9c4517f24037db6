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
from meshkit.readers.obj.states import KINDS, read_names
from meshkit.regions import Region
from meshkit.report import Ledger
from meshkit.words import BLANKS, words_of

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
        if not name or name != name.strip(BLANKS) or UNWRITABLE.search(name):
            ledger.dropped("region", region.name, len(region), f"no name that a {kind} can have")
        elif kind == "group" and words_of(name) != [name]:
            reason = "a group's name has no blanks; regions of kind 'object' may have"
            ledger.dropped("region", region.name, len(region), reason)
        elif any(_name_of(r) == name for r in by_kind[kind]):
            reason = f"another region is the {kind} {name!r} already"
            ledger.dropped("region", region.name, len(region), reason)
        else:
            by_kind[kind].append(region)
    changes: list[Change] = []
    in_file: list[Region] = []
    for word, kind in KINDS.items():
        regions = by_kind[kind]
        if kind != "group" and regions and not _exclusive(regions, place, len(able)):
            for region in regions:
                reason = f"a cell is in two {kind}s, or in none after one that is in some"
                ledger.dropped("region", region.name, len(region), reason)
            continue
        for region in regions:
            _note_region(region, kind, place, ledger)
        of_kind = _changes(word, regions, place, len(able))
        in_file += _by_appearance(kind, regions, of_kind)
        changes += of_kind
    _note_order(mesh, in_file, ledger)
    changes += _smoothing(mesh, able, ledger, held)
    return sorted(changes, key=lambda change: change.cell)


def _name_of(region: Region) -> str:
    own = region.attributes.get("name")
    return own if isinstance(own, str) else region.name


def _by_appearance(kind: str, regions: Sequence[Region], of_kind: Sequence[Change]) -> list[Region]:
    """The regions of one kind in the order in which reading meets their names."""
    said = [change.line.partition(" ")[2] for change in of_kind]
    names = [name for rest in said for name in (words_of(rest) if kind == "group" else [rest])]
    by_name = {_name_of(region): region for region in regions}
    return [by_name[name] for name in dict.fromkeys(names) if name in by_name]


def _note_order(mesh: Mesh, in_file: Sequence[Region], ledger: Ledger) -> None:
    """Count what reading will order or call otherwise."""
    held = {region.name for region in in_file}
    given = [r.name for r in mesh.regions if r.entity == "cell" and r.name in held]
    if given != [region.name for region in in_file]:
        reason = "their order: objects, groups, materials, each by first appearance"
        ledger.converted("regions", "", len(in_file), reason)
    kinds = [r.kind if r.kind in KINDS.values() else "group" for r in in_file]
    said = [(kind, _name_of(r)) for kind, r in zip(kinds, in_file, strict=True)]
    for region, name in zip(in_file, read_names(said), strict=True):
        if name != region.name:
            ledger.converted("region", region.name, len(region), f"read as {name!r}")


def _note_region(region: Region, kind: str, place: Ints, ledger: Ledger) -> None:
    ledger.kept("region", region.name, len(region))
    if (np.diff(_members(region, place)) <= 0).any():
        reason = "its cells in the order of the file, each once"
        ledger.converted("region", region.name, len(region), reason)
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
