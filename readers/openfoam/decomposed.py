"""A decomposed case as the whole one: cells, faces, points, patches and fields as before.

Source: OpenFOAM's reconstructPar; what decomposePar does to faces between processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.openfoam.addressing import Addressing, need_whole
from meshkit.readers.openfoam.fields import Field, OnPatch
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.lists import Array, Values
from meshkit.readers.openfoam.poly_mesh import Patch, RawMesh
from meshkit.readers.openfoam.zones import Zone
from meshkit.report import Ledger

_BETWEEN: Final = ("processor", "processorCyclic")
_CYCLIC: Final = "processorCyclic"


def merged_mesh(
    meshes: Sequence[RawMesh], at: Sequence[Addressing], folders: Sequence[Folder]
) -> RawMesh:
    """The whole mesh of which the processors have parts.

    A face comes from the processor on which it looks as in the whole mesh; the processor on its
    other side says its neighbour.

    Raises:
        ReadError: the addressing leaves gaps, or contradicts the meshes.
    """
    n_cells = need_whole("cell", [a.cells for a in at], folders, once=True)
    n_points = need_whole("point", [a.points for a in at], folders, once=False)
    zero = next((i for i, a in enumerate(at) if (a.faces == 0).any()), None)
    if zero is not None:
        raise ReadError(
            folders[zero].path, f"{folders[zero].label}: faceProcAddressing holds 0",
            expected="face ids + 1, with a sign",
        )  # fmt: skip
    n_faces = need_whole("face", [a.face_ids for a in at], folders, once=False)
    sizes, owner, neighbour = (np.full(n_faces, -1, np.int64) for _ in range(3))
    for mesh, part in zip(meshes, at, strict=True):
        ids, turned = part.face_ids, part.turned
        own = part.cells[mesh.owner]
        other = np.where(mesh.neighbour >= 0, part.cells[mesh.neighbour], -1)
        sizes[ids] = np.diff(mesh.offsets)
        cyclic = np.zeros(mesh.n_faces, np.bool_)
        for patch in mesh.patches:
            cyclic[patch.faces] = patch.kind == _CYCLIC
        # A face of a cyclic patch has one cell, whichever way it looks.
        away = turned & ~cyclic
        owner[ids[~away]] = own[~away]
        _put(neighbour, ids, np.where(away, own, other))
        _put(owner, ids, np.where(away, other, -1))
    for mesh, part, folder in zip(meshes, at, folders, strict=True):
        differ = np.flatnonzero(sizes[part.face_ids] != np.diff(mesh.offsets))
        if len(differ):
            raise ReadError(
                folder.path, f"{folder.label}: face {differ[0]} has other points elsewhere",
                expected="the same face on both processors",
            )  # fmt: skip
    lonely = np.flatnonzero(owner < 0)
    if len(lonely):
        raise ReadError(
            folders[0].path.parent, f"face {lonely[0]} looks the other way on every processor",
            expected="one on which it looks as in the whole case",
        )  # fmt: skip
    outside = np.flatnonzero(neighbour < 0)
    n_internal = int(outside[0]) if len(outside) else n_faces
    if (neighbour[n_internal:] >= 0).any():
        raise ReadError(
            folders[0].path.parent, f"face {n_internal} is on the boundary, a later one is not",
            expected="faces between two cells first",
        )  # fmt: skip
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rings = np.empty(int(offsets[-1]), np.int64)
    for straight in (False, True):  # the side on which a face looks right has the last word
        for mesh, part in zip(meshes, at, strict=True):
            _put_rings(rings, offsets, mesh, part, straight)
    small = max(len(rings), n_points, n_cells) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    patches = _merged_patches(meshes, at, dtype)
    return RawMesh(
        offsets.astype(dtype),
        rings.astype(dtype),
        owner.astype(dtype),
        neighbour.astype(dtype),
        n_internal,
        n_cells,
        n_points,
        patches,
    )


def _put(out: Array, ids: Array, values: Array) -> None:
    """Those of the values that are known."""
    known = values >= 0
    out[ids[known]] = values[known]


def _put_rings(
    rings: Array, offsets: Array, mesh: RawMesh, part: Addressing, straight: bool
) -> None:
    """The rings of those of a processor's faces that look as in the whole mesh, or of the others.

    One that is turned round keeps its first point, as OpenFOAM turns faces.
    """
    size = np.diff(mesh.offsets).astype(np.int64)
    row = np.repeat(np.arange(mesh.n_faces), size)
    place = np.arange(len(row)) - mesh.offsets[:-1].astype(np.int64)[row]
    chosen = part.turned[row] != straight
    row, place = row[chosen], place[chosen]
    if not straight:
        place = np.where(place > 0, size[row] - place, 0)
    rings[offsets[:-1][part.face_ids][row] + place] = part.points[mesh.rings[chosen]]


def _merged_patches(
    meshes: Sequence[RawMesh], at: Sequence[Addressing], dtype: Any
) -> tuple[Patch, ...]:
    """The patches of the whole mesh in their order, each with all its faces."""
    named: dict[int, Patch] = {}
    faces: dict[str, list[Array]] = {}
    for mesh, part in zip(meshes, at, strict=True):
        for patch, number in zip(mesh.patches, part.patches.tolist(), strict=True):
            name = patch.name
            if patch.kind == _CYCLIC:
                name = str(patch.settings.get("referPatch", ""))
            elif number < 0 or patch.kind in _BETWEEN:
                continue
            else:
                named.setdefault(number, patch)
            faces.setdefault(name, []).append(part.face_ids[patch.faces])
    out = []
    for number in sorted(named):
        patch = named[number]
        ids = np.sort(np.concatenate(faces.get(patch.name, [np.zeros(0, dtype)])))
        out.append(Patch(patch.name, ids.astype(dtype), patch.settings))
    return tuple(out)


def merged_points(points: Sequence[Array], at: Sequence[Addressing], count: int) -> Array:
    """The points of the whole mesh."""
    out = np.empty((count, 3), points[0].dtype)
    for mine, part in zip(points, at, strict=True):
        out[part.points] = mine
    return out


def merged_zones(zones: Sequence[Sequence[Zone]], at: Sequence[Addressing]) -> tuple[Zone, ...]:
    """Zones and sets of the whole mesh, their ids ascending."""
    found: dict[tuple[str, str, str], list[tuple[Zone, Addressing]]] = {}
    for mine, part in zip(zones, at, strict=True):
        for zone in mine:
            found.setdefault((zone.name, zone.entity, zone.kind), []).append((zone, part))
    out = []
    for parts in found.values():
        first = parts[0][0]
        numbers = [_of_whole(zone, part) for zone, part in parts]
        ids, order = np.unique(np.concatenate([n for n, _ in numbers]), return_index=True)
        flip = None
        if first.flip is not None:
            flip = np.concatenate([f for _, f in numbers if f is not None])[order]
        out.append(Zone(first.name, first.entity, ids, first.kind, flip, first.settings))
    return tuple(out)


def _of_whole(zone: Zone, part: Addressing) -> tuple[Array, Array | None]:
    """Ids and flips in the numbering of the whole mesh."""
    if zone.entity == "face":
        flip = None if zone.flip is None else zone.flip ^ part.turned[zone.ids]
        return part.face_ids[zone.ids], flip
    return (part.cells if zone.entity == "cell" else part.points)[zone.ids], None


# --- fields ---------------------------------------------------------------------------------------


def merged_field(
    fields: Sequence[Field],
    meshes: Sequence[RawMesh],
    at: Sequence[Addressing],
    whole: RawMesh,
    ledger: Ledger,
) -> Field:
    """A field of the whole mesh; fluxes through faces that were turned round change sign."""
    first = fields[0]
    counts = {"cell": whole.n_cells, "face": whole.n_internal, "point": whole.n_points}
    inner = _merged_inner(fields, meshes, at, whole, counts[first.home])
    patches = {
        patch.name: _merged_patch(patch, fields, meshes, at, ledger)
        for patch in whole.patches
        if any(patch.name in field.patches for field in fields)
    }
    return Field(first.name, first.home, first.kind, first.info, inner, patches)


def _merged_inner(
    fields: Sequence[Field],
    meshes: Sequence[RawMesh],
    at: Sequence[Addressing],
    whole: RawMesh,
    count: int,
) -> Values:
    first = fields[0]
    if first.home != "face":
        same = _same([f.inner for f in fields if f.inner.count])
        if same is not None:
            return Values(first.kind, same, count, uniform=True)
    shape = (count, *first.inner.rows.shape[1:])
    out = np.full(shape, np.nan, np.result_type(*(f.inner.rows.dtype for f in fields)))
    for field, mesh, part in zip(fields, meshes, at, strict=True):
        if first.home == "cell":
            out[part.cells] = field.inner.rows
        elif first.home == "point":
            out[part.points] = field.inner.rows
        else:
            _put_fluxes(out, field, mesh, part)
    uniform = first.home == "face" and count and all(f.inner.uniform for f in fields)
    if uniform and (out == out[:1]).all():
        return Values(first.kind, out[:1].copy(), count, uniform=True)
    return Values(first.kind, out, count)


def _put_fluxes(out: Array, field: Field, mesh: RawMesh, part: Addressing) -> None:
    """The values of a processor's inner faces, and of those it shares with another one."""
    rows = [(np.arange(mesh.n_internal), field.inner)]
    for patch in mesh.patches:
        known = field.patches.get(patch.name)
        if patch.kind == "processor" and known is not None and "value" in known.values:
            rows.append((patch.faces, known.values["value"]))
    for faces, values in rows:
        ids, turned = part.face_ids[faces], part.turned[faces]
        if len(ids) and int(ids.max()) >= len(out):
            continue  # a patch between processors of which the other side is not
        mine = np.broadcast_to(values.rows, (len(faces), *out.shape[1:]))
        if field.info.oriented:
            sign = np.where(turned, -1, 1).astype(out.dtype)
            mine = mine * sign.reshape(-1, *[1] * (out.ndim - 1))
        # The side on which a face looks as in the whole mesh has the last word.
        fresh = ~turned | np.isnan(out[ids]).all(tuple(range(1, out.ndim)))
        out[ids[fresh]] = mine[fresh]


def _same(values: Sequence[Values]) -> Array | None:
    """The one row that all values are, where each part says so."""
    if not values or not all(v.uniform for v in values):
        return None
    first = values[0].rows
    same = all(np.array_equal(v.rows, first, equal_nan=True) for v in values)
    return first if same else None


def _merged_patch(
    patch: Patch,
    fields: Sequence[Field],
    meshes: Sequence[RawMesh],
    at: Sequence[Addressing],
    ledger: Ledger,
) -> OnPatch:
    """What a field says of a patch: by the processors that have faces of it."""
    parts: list[tuple[OnPatch, Array]] = []
    empty: OnPatch | None = None
    for field, mesh, part in zip(fields, meshes, at, strict=True):
        known = field.patches.get(patch.name)
        mine = next((p for p in mesh.patches if p.name == patch.name), None)
        if known is None or mine is None:
            continue
        if len(mine.faces):
            parts.append((known, part.face_ids[mine.faces]))
        empty = empty or known
        if field.home == "face":
            parts += _cyclic(patch, field, mesh, part)
    if not parts:
        return empty or OnPatch({}, {})
    settings = parts[0][0].settings
    values: dict[str, Values] = {}
    for key in dict.fromkeys(k for known, _ in parts for k in known.values):
        rows = [(known.values[key], ids) for known, ids in parts if key in known.values]
        lacking = len(patch.faces) - sum(len(ids) for _, ids in rows)
        if lacking:
            name = f"regions/{patch.name}/{fields[0].name}.{key}"
            ledger.converted("field", name, lacking, "processors without it are filled with nan")
        values[key] = _joined(patch, rows, whole=not lacking)
    return OnPatch(settings, values)


def _cyclic(
    patch: Patch, field: Field, mesh: RawMesh, part: Addressing
) -> list[tuple[OnPatch, Array]]:
    """The faces of a cyclic patch that decomposing took out of it."""
    out = []
    for other in mesh.patches:
        if other.kind == _CYCLIC and other.settings.get("referPatch") == patch.name:
            known = field.patches.get(other.name)
            if known is not None and len(other.faces):
                out.append((known, part.face_ids[other.faces]))
    return out


def _joined(patch: Patch, rows: Sequence[tuple[Values, Array]], *, whole: bool) -> Values:
    first = rows[0][0]
    same = _same([v for v, _ in rows]) if whole else None
    if same is not None:
        return Values(first.kind, same, len(patch.faces), uniform=True)
    dtype = np.result_type(*(v.rows.dtype for v, _ in rows))
    out = np.full((len(patch.faces), *first.rows.shape[1:]), np.nan, dtype)
    for values, ids in rows:
        out[np.searchsorted(patch.faces, ids)] = values.rows
    return Values(first.kind, out, len(patch.faces))
