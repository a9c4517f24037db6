"""cellZones, faceZones, pointZones and the sets beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.openfoam.entries import Dictionary, is_list
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.lists import Array, Values
from meshkit.readers.openfoam.plain_settings import plain
from meshkit.readers.openfoam.poly_mesh import Places, RawMesh, read_labels, read_named
from meshkit.regions import Entity
from meshkit.report import Ledger

_ZONES: Final[tuple[tuple[str, Entity, str], ...]] = (
    ("cellZones", "cell", "cellLabels"),
    ("faceZones", "face", "faceLabels"),
    ("pointZones", "point", "pointLabels"),
)
_SETS: Final[dict[str, Entity]] = {"cellSet": "cell", "faceSet": "face", "pointSet": "point"}


@dataclass(frozen=True)
class Zone:
    """A zone or set: ids of cells, faces or points, and for face zones which are turned round."""

    name: str
    entity: Entity
    ids: Array
    kind: str
    flip: Array | None
    settings: dict[str, Any]


def read_zones(places: Places, mesh: RawMesh, ledger: Ledger) -> tuple[Zone, ...]:
    """All zones and sets of a mesh, in the order of their files.

    Raises:
        ReadError: a file is damaged, or names what the mesh does not have.
    """
    beyond = places.need("faces").rpartition("/")[0]
    found: list[Zone] = []
    counts = {"cell": mesh.n_cells, "face": mesh.n_faces, "point": mesh.n_points}
    for file, entity, key in _ZONES:
        where = places.find(file, beyond)
        if where is None:
            continue
        path = places.folder.path / where
        for name, entry in read_named(places.folder, where):
            found.append(_zone(path, name, entry, entity, key, counts[entity]))
    sets = f"{beyond}/sets" if beyond else "sets"
    for name in places.folder.names(sets):
        made = _set(places.folder, f"{sets}/{name}", name, counts, ledger)
        found += [] if made is None else [made]
    return tuple(found)


def _zone(path: Any, name: str, entry: Dictionary, entity: Entity, key: str, count: int) -> Zone:
    place = f"line {entry.line}, zone {name!r}"
    ids = _array(path, entry, key, place, count)
    _need_ids(path, place, ids, count, entity)
    flip = None
    if entity == "face":
        flip = np.zeros(len(ids), np.bool_)
        if entry.find("flipMap") is not None:
            flip = _array(path, entry, "flipMap", place, count).astype(np.bool_)
        if len(flip) != len(ids):
            raise ReadError(
                path, f"flipMap has {len(flip)} values", place=place, expected=str(len(ids))
            )
    settings = plain(entry, (key, "flipMap", "type"))
    return Zone(name, entity, ids, entry.word("type") or f"{entity}Zone", flip, settings)


def _array(path: Any, entry: Dictionary, key: str, place: str, most: int) -> Array:
    """The labels or truths of an entry; no more than the mesh has cells, faces or points."""
    items = entry.items_of(key)
    if not items:
        raise ReadError(path, f"has no {key}", place=place, expected=f"{key} List<label>")
    last = items[-1] if items else []
    if isinstance(last, Values):
        if last.count > most:
            raise ReadError(
                path, f"{key} has {last.count} rows", place=place, expected=f"{most} at most"
            )
        return np.repeat(last.rows, last.count) if last.uniform else last.rows
    if items == [0] or (is_list(items) and all(isinstance(x, int) for x in last)):
        return np.array(last if isinstance(last, list) else [], np.int32)
    raise ReadError(path, f"{key} is no list of labels", place=place, expected="List<label>")


def _need_ids(path: Any, place: str, ids: Array, count: int, entity: str) -> None:
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= count):
        wrong = ids[(ids < 0) | (ids >= count)][0]
        raise ReadError(
            path, f"{entity} {wrong} is named", place=place,
            expected=f"{entity}s from 0 to {count - 1}",
        )  # fmt: skip


def _set(
    folder: Folder, where: str, name: str, counts: dict[str, int], ledger: Ledger
) -> Zone | None:
    if folder.find(where) is None:
        ledger.dropped("file", where, 1, "is no file of a set")
        return None
    with folder.open(where) as (_, header):
        kind = header.class_name
    entity = _SETS.get(kind)
    if entity is None:
        ledger.dropped("file", where, 1, f"a set of unknown class {kind!r}")
        return None
    ids, _ = read_labels(folder, where)
    _need_ids(folder.path / where, f"set {name!r}", ids, counts[entity], entity)
    return Zone(name, entity, np.sort(ids), kind, None, {})
