"""Named, overlapping parts of a mesh: patches, zones, sets, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Final, Literal

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.cells import brief
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.fields import Fields, freeze, mapped, tensor_of
from meshkit.jsonable import plain

Entity = Literal["point", "cell", "side", "edge", "face"]
ENTITIES: Final = ("point", "cell", "side", "edge", "face")
_COLUMNS: Final = {"side": 2, "edge": 2}


@dataclass(frozen=True, eq=False, init=False)
class Region:
    """A named part of a mesh, and what is known of it.

    `entity` says what the ids are: "point" and "cell" ids [n]; "side" ids [n, 2], each a cell
    and its local face; "edge" ids [n, 2], each two points; "face" ids [n] of `mesh.faces`.

    Args:
        name: any text; a mesh may have one region of a name for each entity.
        entity: what the ids are.
        ids: int32 or int64; a tensor, an array, a range or a list.
        flip: bool [n], as the ids are given, for faces and sides whose normal the region turns
            round.
        kind: what the source calls it ("wall", "inlet", "cellZone", ...).
        data: fields with one row per id (patch values, distribution factors).
        attributes: settings and the like, as JSON can say them.
        source_id: the number the source gave it.
        parent: the name of the region it is part of.

    Raises:
        MeshError: the parts contradict each other.
    """

    name: str
    entity: Entity
    ids: Tensor  # int [n], or [n, 2] for sides and edges
    flip: Tensor | None  # bool [n]
    kind: str | None
    data: TensorDictBase | None  # each field [n, ...]
    attributes: Mapping[str, Any]
    source_id: int | None
    parent: str | None

    def __init__(
        self,
        name: str,
        entity: Entity,
        ids: Tensor | Sequence[Any],
        flip: Tensor | Sequence[bool] | None = None,
        kind: str | None = None,
        data: Fields | None = None,
        attributes: Mapping[str, Any] | None = None,
        source_id: int | None = None,
        parent: str | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise MeshError(f"region {name!r}: expected a name as text")
        if entity not in ENTITIES:
            raise MeshError(
                f"region {name!r}: expected an entity of {', '.join(ENTITIES)}, found {entity!r}"
            )
        for part, text in (("kind", kind), ("parent", parent)):
            if text is not None and not isinstance(text, str):
                raise MeshError(f"region {name!r}: expected {part} as text, found {text!r:.60}")
        if source_id is not None and (
            isinstance(source_id, bool) or not isinstance(source_id, Integral)
        ):
            raise MeshError(f"region {name!r}: expected source_id as int, found {source_id!r:.60}")
        held = _ids(name, entity, ids)
        turned = None if flip is None else _flip(name, held, flip)
        parts: dict[str, Any] = {
            "name": name,
            "entity": entity,
            "ids": held,
            "flip": turned,
            "kind": kind,
            "data": None if data is None else _data(name, data, held),
            "attributes": plain(f"region {name!r}: attributes", attributes or {}),
            "source_id": None if source_id is None else int(source_id),
            "parent": parent,
        }
        for part, value in parts.items():
            object.__setattr__(self, part, value)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        kind = f", kind={self.kind!r}" if self.kind else ""
        return f"Region({self.name!r}, {len(self)} {self.entity}s{kind})"

    def replace(self, **parts: Any) -> Region:
        """The same region with some parts exchanged."""
        return replace(self, **parts)

    def apply(self, ids: Callable[[Tensor], Tensor], data: Callable[[Tensor], Tensor]) -> Region:
        """Ids and flip changed by the function `ids`, data by `data` (moving, casting)."""
        fields = self.data
        if fields is not None:
            fields = mapped(fields, len(self), lambda _, x: data(x))
        flip = None if self.flip is None else ids(self.flip)
        return replace(self, ids=ids(self.ids), flip=flip, data=fields)


def _data(name: str, given: Fields, ids: Tensor) -> TensorDictBase:
    data, texts = freeze(f"region {name!r}", given, len(ids), ids.device)
    if texts:
        field = "/".join(next(iter(texts)))
        raise MeshError(
            f"region {name!r}: data {field!r} is text; give codes, and their texts as the "
            'vocabulary of info.fields["regions", name, entity, field]'
        )
    return data


def _ids(name: str, entity: str, given: Tensor | Sequence[Any]) -> Tensor:
    ids = tensor_of(f"region {name!r}", given)
    if ids.numel() == 0 and not isinstance(given, Tensor):
        ids = ids.long()
    columns = _COLUMNS.get(entity)
    if columns and ids.numel() == 0:
        ids = ids.reshape(0, columns)
    shaped = ids.ndim == 1 if columns is None else ids.ndim == 2 and ids.shape[1] == columns
    if not shaped or ids.dtype not in (torch.int32, torch.int64):
        want = "[n]" if columns is None else f"[n, {columns}]"
        raise MeshError(
            f"region {name!r} of {entity}s: expected int32 or int64 ids {want}, found {brief(ids)}"
        )
    return ids


def _flip(name: str, ids: Tensor, given: Tensor | Sequence[bool]) -> Tensor:
    flip = tensor_of(f"region {name!r}: flip", given)
    if not isinstance(given, Tensor):
        flip = (flip.bool() if flip.numel() == 0 else flip).to(ids.device)
    if flip.dtype != torch.bool or flip.shape != ids.shape[:1]:
        raise MeshError(
            f"region {name!r}: expected flip bool {list(ids.shape[:1])}, found {brief(flip)}"
        )
    need_device(f"region {name!r}: flip", flip.device, ids.device, "its ids")
    return flip


class Regions:
    """The regions of a mesh, in order; (name, entity) is unique.

    >>> both = Regions([Region("wall", "point", torch.tensor([0])), Region("fluid", "cell", [])])
    >>> both.names, both["wall"].entity, len(both)
    (('wall', 'fluid'), 'point', 2)
    """

    __slots__ = ("_by_key",)

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self._by_key: dict[tuple[str, str], Region] = {}
        if not isinstance(regions, Iterable):
            raise MeshError(f"regions: expected a list of them, found {type(regions).__name__}")
        for region in regions:
            if not isinstance(region, Region):
                raise MeshError(f"regions: expected Region, found {region!r}")
            key = (region.name, region.entity)
            if key in self._by_key:
                raise MeshError(f"region {region.name!r} of {region.entity}s is given twice")
            self._by_key[key] = region

    def __iter__(self) -> Iterator[Region]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, name: object) -> bool:
        return any(r.name == name for r in self)

    def __repr__(self) -> str:
        return f"Regions({', '.join(f'{r.name} ({len(r)} {r.entity}s)' for r in self)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order; one that two entities share stands twice."""
        return tuple(r.name for r in self)

    def __getitem__(self, name: str) -> Region:
        return self.find(name)

    def find(self, name: str, entity: str | None = None) -> Region:
        """The region of this name, and entity where a name has several.

        Raises:
            MeshError: there is none, or several of different entities and none was asked for.
        """
        found = [r for r in self if r.name == name and entity in (None, r.entity)]
        if not found:
            kind = f" of {entity}s" if entity else ""
            known = ", ".join(repr(n) for n in dict.fromkeys(self.names)) or "none"
            raise MeshError(f"no region {name!r}{kind}; the mesh has {known}")
        if len(found) > 1:
            raise MeshError(
                f"region {name!r} exists for {', '.join(r.entity for r in found)}; name the entity"
            )
        return found[0]
