"""Meshes of OpenFOAM, one or more regions of them, as one `Mesh`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.faces import Faces
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_all
from meshkit.readers.filling import filled
from meshkit.readers.openfoam.case import DEFAULT_REGION
from meshkit.readers.openfoam.cell_shapes import cells_of_faces
from meshkit.readers.openfoam.fields import Field, OnPatch
from meshkit.readers.openfoam.lists import Array, Values
from meshkit.readers.openfoam.poly_mesh import RawMesh
from meshkit.readers.openfoam.zones import Zone
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

_HOMES: Final = {"cell": "cell_data", "face": "face_data", "point": "point_data"}
_IN_SI: Final = "m"


@dataclass(frozen=True)
class Part:
    """A region of a case at a time: its topology, points, zones and fields.

    `more` are arrays beside the fields, by their key in a mesh's info (a processor's addressing).
    """

    region: str | None
    raw: RawMesh
    points: Array
    zones: Sequence[Zone] = ()
    fields: Sequence[Field] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[FieldKey, tuple[Array, FieldInfo]] = field(default_factory=dict)


def topology(raws: Sequence[RawMesh]) -> tuple[Cells, Faces]:
    """Cells and faces of all regions, one after the other."""
    arrays = _joined(raws)
    faces = Faces(*(torch.from_numpy(_same_ids(x, arrays)) for x in arrays))
    cells, points = sum(r.n_cells for r in raws), sum(r.n_points for r in raws)
    return cells_of_faces(faces, cells, points), faces


def _joined(raws: Sequence[RawMesh]) -> tuple[Array, Array, Array, Array]:
    """Offsets, rings, owners and neighbours."""
    if len(raws) == 1:
        return raws[0].offsets, raws[0].rings, raws[0].owner, raws[0].neighbour
    columns: list[list[Array]] = [[np.zeros(1, np.int64)], [], [], []]
    rings = points = cells = 0
    for raw in raws:
        columns[0].append(raw.offsets[1:].astype(np.int64) + rings)
        columns[1].append(raw.rings.astype(np.int64) + points)
        columns[2].append(raw.owner.astype(np.int64) + cells)
        columns[3].append(np.where(raw.neighbour >= 0, raw.neighbour.astype(np.int64) + cells, -1))
        rings, points, cells = rings + len(raw.rings), points + raw.n_points, cells + raw.n_cells
    small = max(rings, points, cells) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    offsets, points_of, owner, neighbour = (np.concatenate(c).astype(dtype) for c in columns)
    return offsets, points_of, owner, neighbour


def _same_ids(x: Array, all_of: Sequence[Array]) -> Array:
    """In the widest dtype of all, native and whole."""
    return np.ascontiguousarray(x, np.result_type(*all_of))


def assemble(
    parts: Sequence[Part],
    cells: Cells,
    faces: Faces,
    attributes: Mapping[str, Any],
    ledger: Ledger,
) -> Mesh:
    """The mesh of all parts; what became of everything is written down."""
    points = [torch.from_numpy(_native(part.points)) for part in parts]
    data: dict[str, dict[str, Tensor]] = {home: {} for home in _HOMES.values()}
    infos: dict[FieldKey, FieldInfo] = {}
    for home, key in _HOMES.items():
        data[key], more = _fields(parts, home, key, ledger)
        infos |= more
    for part in parts:
        for (home, name), (array, known) in part.more.items():
            data[home][name] = torch.from_numpy(_native(array))
            infos[home, name] = known
    regions, on_patches = _regions(parts, ledger)
    mesh = Mesh(
        points=points[0] if len(points) == 1 else torch.cat(points),
        cells=cells,
        faces=faces,
        point_data=data["point_data"],  # type: ignore[arg-type]
        cell_data=data["cell_data"],  # type: ignore[arg-type]
        face_data=data["face_data"],  # type: ignore[arg-type]
        global_data={},  # type: ignore[arg-type]
        regions=Regions(regions),
        info=MeshInfo(
            length_unit=_IN_SI, fields={**infos, **on_patches}, attributes=dict(attributes)
        ),
    )
    keep_all(mesh, ledger)
    return mesh


# --- fields ---------------------------------------------------------------------------------------


def _native(x: Array) -> Array:
    return np.ascontiguousarray(x, x.dtype.newbyteorder("="))


def _tensor(values: Values) -> Tensor:
    """The values; of a uniform field one row in memory that stands for all."""
    rows = torch.from_numpy(_native(values.rows))
    return rows.expand(values.count, *rows.shape[1:]) if values.uniform else rows


def _fields(
    parts: Sequence[Part], home: str, key: str, ledger: Ledger
) -> tuple[dict[str, Tensor], dict[FieldKey, FieldInfo]]:
    """The fields of one home over all parts."""
    sizes = {"cell": "n_cells", "face": "n_faces", "point": "n_points"}
    counts = [getattr(part.raw, sizes[home]) for part in parts]
    mine = [{f.name: f for f in part.fields if f.home == home} for part in parts]
    infos: dict[FieldKey, FieldInfo] = {}
    if len(parts) == 1:
        out: dict[str, Tensor] = {}
        for name, one in mine[0].items():
            infos[key, name] = one.info
            if home == "face":
                out[name] = torch.from_numpy(_on_faces(one, parts[0].raw, ledger))
            else:
                out[name] = _tensor(one.inner)
        return out, infos
    tables: list[dict[str, Array]] = []
    for part, fields in zip(parts, mine, strict=True):
        table: dict[str, Array] = {}
        for name, one in fields.items():
            known = infos.setdefault((key, name), one.info)
            if known.unit != one.info.unit:
                reason = f"{name!r} is in {one.info.unit} here, in {known.unit} elsewhere"
                name = f"{name} ({part.region or DEFAULT_REGION})"
                infos[key, name] = one.info
                ledger.converted("field", f"{key}/{name}", one.inner.count, reason)
            rows = one.inner.rows
            table[name] = (
                _on_faces(one, part.raw, ledger)
                if home == "face"
                else np.broadcast_to(_native(rows), (one.inner.count, *rows.shape[1:]))
            )
        tables.append(table)
    # What is kept is counted once, with the whole mesh.
    own = Ledger()
    joined = filled(key, tables, counts, own)
    for entry in own.report():
        if entry.outcome == "converted":
            ledger.converted(entry.what, entry.name, entry.count, entry.reason)
    return {name: torch.from_numpy(x) for name, x in joined.items()}, infos


def _on_faces(one: Field, raw: RawMesh, ledger: Ledger) -> Array:
    """A surface field with the values of the patches behind those of the faces between cells."""
    rows = one.inner.rows
    dtype = rows.dtype.newbyteorder("=")
    out = np.full((raw.n_faces, *rows.shape[1:]), np.nan, dtype)
    out[: raw.n_internal] = rows
    known = np.zeros(raw.n_faces, np.bool_)
    known[: raw.n_internal] = True
    for patch in raw.patches:
        values = one.patches.get(patch.name, OnPatch({}, {})).values.get("value")
        if values is None or values.count != len(patch.faces):
            continue
        if values.rows.shape[1:] == rows.shape[1:]:
            out[patch.faces] = values.rows
            known[patch.faces] = True
    lacking = int(np.count_nonzero(~known))
    if lacking:
        reason = "faces whose patch has no value (empty ones have none) are nan"
        ledger.converted("field", f"face_data/{one.name}", lacking, reason)
    return out


# --- regions --------------------------------------------------------------------------------------


def _regions(
    parts: Sequence[Part], ledger: Ledger
) -> tuple[list[Region], dict[FieldKey, FieldInfo]]:
    """Regions of cells where there are several; then patches, zones and sets of each part."""
    named = len(parts) > 1 or parts[0].region is not None
    out: list[Region] = []
    infos: dict[FieldKey, FieldInfo] = {}
    taken: set[tuple[str, str]] = set()
    at = {"cell": 0, "face": 0, "point": 0}
    if named:
        for part in parts:
            name = part.region or DEFAULT_REGION
            ids = torch.arange(part.raw.n_cells, dtype=torch.int32, device="cpu") + at["cell"]
            out.append(Region(name, "cell", ids, kind="region", attributes=part.settings))
            taken.add((name, "cell"))
            at["cell"] += part.raw.n_cells
        at["cell"] = 0
    for part in parts:
        parent = part.region or DEFAULT_REGION if named else None
        made = [*_patches(part, parent, at, ledger), *_zones(part, parent, at)]
        for region, known in made:
            name = region.name
            if (name, region.entity) in taken:
                name = f"{name} ({region.kind})"
                reason = f"another {region.entity} region is called {region.name!r}"
                ledger.converted("region", name, len(region), reason)
            taken.add((name, region.entity))
            out.append(region if name == region.name else region.replace(name=name))
            infos |= {("regions", name, region.entity, k): v for k, v in known.items()}
        for what, count in (
            ("cell", part.raw.n_cells), ("face", part.raw.n_faces), ("point", part.raw.n_points),
        ):  # fmt: skip
            at[what] += count
    return out, infos


def _ids(ids: Array, start: int) -> Tensor:
    small = int(ids.max(initial=0)) + start <= np.iinfo(np.int32).max
    shifted = ids.astype(np.int64) + start if start else ids
    return torch.from_numpy(np.ascontiguousarray(shifted, np.int32 if small else np.int64))


def _called(name: str, parent: str | None) -> str:
    return f"{parent}/{name}" if parent else name


_Made = Iterator[tuple[Region, dict[str, FieldInfo]]]


def _patches(part: Part, parent: str | None, at: Mapping[str, int], ledger: Ledger) -> _Made:
    for number, patch in enumerate(part.raw.patches):
        data: dict[str, Tensor] = {}
        known: dict[str, FieldInfo] = {}
        conditions: dict[str, Any] = {}
        for one in part.fields:
            on = one.patches.get(patch.name)
            if on is None:
                continue
            conditions[one.name] = {**on.settings, **_uniform(on)}
            for key, values in on.values.items():
                on_points = one.home == "point"
                if one.home == "face" or values.count == 0 or (values.uniform and on_points):
                    continue
                name = one.name if key == "value" else f"{one.name}.{key}"
                if on_points or values.count != len(patch.faces):
                    reason = "one a point of the patch, which the field has too"
                    ledger.dropped(
                        "field", f"{patch.name}/{name}", values.count, reason, loss=False
                    )
                    continue
                data[name] = _tensor(values)
                known[name] = one.info if key == "value" else FieldInfo()
        attributes = {**patch.settings, **({"fields": conditions} if conditions else {})}
        yield (
            Region(
                _called(patch.name, parent),
                "face",
                _ids(patch.faces, at["face"]),
                kind=patch.kind,
                data=data or None,
                attributes=attributes,
                source_id=number,
                parent=parent,
            ),
            known,
        )


def _uniform(on: OnPatch) -> dict[str, Any]:
    """The entries that are one value for the whole patch, which are settings too."""
    return {k: v.rows[0].tolist() for k, v in on.values.items() if v.uniform}


def _zones(part: Part, parent: str | None, at: Mapping[str, int]) -> _Made:
    for zone in part.zones:
        flip = None if zone.flip is None else torch.from_numpy(np.ascontiguousarray(zone.flip))
        yield (
            Region(
                _called(zone.name, parent),
                zone.entity,
                _ids(zone.ids, at[zone.entity]),
                flip,
                kind=zone.kind,
                attributes=zone.settings,
                parent=parent,
            ),
            {},
        )
