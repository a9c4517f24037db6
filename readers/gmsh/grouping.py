"""Physical groups, entities, partitions and periodic links as regions of the mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.readers.gmsh.cells import Elements
from meshkit.readers.gmsh.entities import ANY_DIMENSION, KINDS, Entity, Key
from meshkit.readers.gmsh.links import Ghosts, Link
from meshkit.readers.gmsh.numbers import Ints
from meshkit.readers.gmsh.tags import Tags
from meshkit.regions import Region
from meshkit.report import Ledger

PHYSICAL, ENTITY, PARTITION, GHOST, PERIODIC = (
    *("physical", "entity", "partition", "ghost", "periodic"),
)
"""The kinds of the regions that reading makes."""

DIMENSION: Final = "dimension"


@dataclass
class Groups:
    """All that a file says of what belongs together."""

    names: Mapping[Key, str]
    entities: Mapping[Key, Entity]
    elements: Elements
    ghosts: Ghosts
    links: list[Link]


def regions_of(groups: Groups, nodes: Tags, ledger: Ledger) -> list[Region]:
    """A region for each physical group, each entity that has cells, each partition and link.

    A group and an entity are cell regions with their tag as `source_id` and the attribute
    "dimension"; what is empty stays when it has a name. Partitions are cell regions, and so are the
    cells that a partition sees as ghosts; periodic links are regions of edges, a node and its
    master.
    """
    made: dict[tuple[str, str], Region] = {}
    found = (
        *_physical(groups, ledger),
        *_entities(groups, ledger),
        *_partitions(groups),
        *_ghosts(groups, ledger),
        *_periodic(groups.links, nodes, ledger),
    )
    for region in found:
        name, n = region.name, 1
        while (name, region.entity) in made:
            n += 1
            name = f"{region.name} ({n})"
        made[name, region.entity] = region if n == 1 else region.replace(name=name)
        ledger.kept("region", name, len(region))
    return list(made.values())


def physical_name(dim: int, tag: int) -> str:
    """What a physical group without a name is called."""
    return f"physical {KINDS[dim]} {tag}"


def entity_name(dim: int, tag: int) -> str:
    """What an entity is called."""
    return f"{KINDS[dim]} {tag}"


def link_name(dim: int, tag: int) -> str:
    """What the periodic link of an entity is called."""
    return f"periodic {entity_name(dim, tag)}"


def is_link(region: Region) -> bool:
    """Whether a region is a periodic link as reading makes them."""
    said = region.attributes
    numbers = [said.get(DIMENSION), said.get("master"), region.source_id]
    affine = said.get("affine")
    return (
        region.entity == "edge"
        and region.kind == PERIODIC
        and all(isinstance(n, int) and abs(n) < 1 << 31 for n in numbers)
        and said.get(DIMENSION) in range(4)
        and region.name == link_name(said[DIMENSION], region.source_id or 0)
        and isinstance(affine, list | tuple)
        and all(isinstance(x, int | float) for x in affine)
    )


def _tensor(ids: NDArray[Any]) -> torch.Tensor:
    """Ids in 32 bits where they fit."""
    if len(ids) == 0 or int(ids.max()) <= np.iinfo(np.int32).max:
        ids = ids.astype(np.int32, copy=False)
    return torch.from_numpy(np.ascontiguousarray(ids))


def _physical(groups: Groups, ledger: Ledger) -> Iterator[Region]:
    members = _members(groups)
    names = _of_dimensions(groups.names, members)
    keys = dict.fromkeys((*names, *members))
    of_name: dict[str, list[Key]] = {}
    for key, name in names.items():
        of_name.setdefault(name, []).append(key)
    for dim, tag in keys:
        attributes: dict[str, Any] = {DIMENSION: dim}
        called = names.get((dim, tag), physical_name(dim, tag))
        alike = of_name.get(called, []) if (dim, tag) in names else []
        if len(alike) > 1 and (dim, tag) != max(alike, key=lambda key: key[0]):
            attributes["name"] = name = called
            alone = sum(key[0] == dim for key in alike) == 1
            called = f"{name} ({KINDS[dim]}s)" if alone else f"{name} ({KINDS[dim]}s {tag})"
            reason = f"called {called!r}: several groups are called {name!r}"
            ledger.converted("region", called, 1, reason)
        parts = members.get((dim, tag), [])
        ids = np.concatenate([cells for cells, _ in parts] or [np.zeros(0, np.int32)])
        turned = np.concatenate(
            [np.full(len(cells), t) for cells, t in parts] or [np.zeros(0, bool)]
        )
        if len(parts) > 1:
            order = np.argsort(ids, kind="stable")
            ids, turned = ids[order], turned[order]
        flip = torch.from_numpy(turned) if turned.any() else None
        yield Region(called, "cell", _tensor(ids), flip, PHYSICAL, None, attributes, tag)


def _of_dimensions(names: Mapping[Key, str], members: Iterable[Key]) -> dict[Key, str]:
    """The names of version 2.0, which say no dimension, given to the groups of their tag."""
    out: dict[Key, str] = {}
    for (dim, tag), name in names.items():
        alike = [key for key in members if key[1] == tag] if dim == ANY_DIMENSION else [(dim, tag)]
        # A group without elements could be of any dimension.
        out.update(dict.fromkeys(alike or [(len(KINDS) - 1, tag)], name))
    return out


def _members(groups: Groups) -> dict[Key, list[tuple[Ints, bool]]]:
    """The cells of each physical group, part by part, and whether it turns them round."""
    out: dict[Key, list[tuple[Ints, bool]]] = {}
    elements = groups.elements
    for key, entity in groups.entities.items():
        for tag in entity.physical:
            parts = out.setdefault((key[0], abs(tag)), [])
            if key in elements.entities:
                parts.append((elements.entities[key], tag < 0))
    for (dim, tag), cells in elements.physical.items():
        out.setdefault((dim, abs(tag)), []).append((cells, tag < 0))
    return out


def _entities(groups: Groups, ledger: Ledger) -> Iterator[Region]:
    there = groups.elements.entities
    known = [key for key in groups.entities if key in there]
    for key in dict.fromkeys((*known, *there)):
        if groups.entities and key not in groups.entities:
            reason = "elements of an entity that $Entities does not have: in no physical group"
            ledger.converted("region", entity_name(*key), len(there[key]), reason)
        row = groups.entities.get(key)
        parent = None
        if row is not None and row.parent is not None and row.parent in there:
            parent = entity_name(*row.parent)
        yield Region(
            entity_name(*key),
            "cell",
            _tensor(there[key]),
            kind=ENTITY,
            attributes={DIMENSION: key[0]},
            source_id=key[1],
            parent=parent,
        )


def _partitions(groups: Groups) -> Iterator[Region]:
    parts: dict[int, list[Ints]] = {p: [ids] for p, ids in groups.elements.partitions.items()}
    for key, entity in groups.entities.items():
        for partition in entity.partitions:
            if key in groups.elements.entities:
                parts.setdefault(partition, []).append(groups.elements.entities[key])
    for partition, cells in sorted(parts.items()):
        ids = np.unique(np.concatenate(cells))
        name = f"partition {partition}"
        yield Region(name, "cell", _tensor(ids), kind=PARTITION, source_id=partition)


def _ghosts(groups: Groups, ledger: Ledger) -> Iterator[Region]:
    for partition, seen in sorted(groups.elements.ghosts.items()):
        name = f"ghosts of partition {partition}"
        yield Region(name, "cell", _tensor(np.unique(seen)), kind=GHOST, source_id=partition)
    ghosts = groups.ghosts
    cells = groups.elements.tags.of(ghosts.elements)
    strangers = int((cells < 0).sum())
    if strangers:
        reason = "ghost elements that the mesh does not have"
        ledger.dropped("region", "ghosts", strangers, reason)
    for partition in np.unique(ghosts.partitions[cells >= 0]).tolist():
        mine = np.unique(cells[(ghosts.partitions == partition) & (cells >= 0)])
        name = f"ghosts of partition {partition}"
        yield Region(name, "cell", _tensor(mine), kind=GHOST, source_id=partition)


def _periodic(links: list[Link], nodes: Tags, ledger: Ledger) -> Iterator[Region]:
    for link in links:
        name = link_name(link.dim, link.tag)
        ids = nodes.of(link.pairs.reshape(-1)).reshape(-1, 2)
        known = (ids >= 0).all(1)
        if not known.all():
            reason = "pairs of nodes that the mesh does not have"
            ledger.dropped("region", name, int((~known).sum()), reason)
        attributes = {
            DIMENSION: link.dim,
            "master": link.master,
            "affine": [float(x) for x in link.affine],
        }
        yield Region(
            name,
            "edge",
            _tensor(ids[known]),
            kind=PERIODIC,
            attributes=attributes,
            source_id=link.tag,
        )
