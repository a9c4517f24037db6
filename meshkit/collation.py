"""Several meshes as one, as a training batch wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Path, cat, entries, leaves, nested
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.mesh import DATA, Mesh
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

OFFSETS = ("point_offsets", "cell_offsets")

Words = dict[FieldKey, tuple[str, ...]]
"""The texts that codes stand for, by field."""


def collate(meshes: Iterable[Mesh]) -> Mesh:
    """One mesh of several, side by side; nothing is merged or welded.

    Points, cells, faces and their fields follow each other; `global_data` gets int64
    `point_offsets` and `cell_offsets` [n + 1], and every other global value is stacked [n, ...].
    Regions join by name and entity, numbered anew. Texts that differ in vocabulary are coded
    anew over the union. Groups that hold no field stay, whichever mesh has them. Grid, source and
    report are each mesh's own and are left out. Time, attributes and what regions are stay where
    all agree; where not, the report counts them.

    Raises:
        MeshError: there are no meshes, or they differ in dimension, dtype, device, length unit,
            frame, fields, units of fields, or in having faces.
    """
    if isinstance(meshes, Mesh) or not isinstance(meshes, Iterable):
        raise MeshError(f"collate: expected several meshes, found {type(meshes).__name__}")
    meshes = list(meshes)
    for i, mesh in enumerate(meshes):
        if not isinstance(mesh, Mesh):
            raise MeshError(f"collate: mesh {i}: expected a Mesh, found {type(mesh).__name__}")
    if not meshes:
        raise MeshError("collate: expected at least one mesh, found none")
    first = meshes[0]
    for i, mesh in enumerate(meshes[1:], 1):
        _same(f"mesh {i}", first, mesh)
    ledger = Ledger()
    point_shift = _starts([m.n_points for m in meshes])
    cell_shift = _starts([m.n_cells for m in meshes])
    face_shift = _starts([0 if m.faces is None else len(m.faces) for m in meshes])
    words = _vocabularies(meshes)
    of = {h: [_recoded(m, (h,), getattr(m, h), words) for m in meshes] for h in DATA}
    fields: dict[str, Any] = {home: _joined(of[home]) for home in DATA[:3]}
    globals_ = _stacked(of["global_data"])
    for name, starts in zip(OFFSETS, (point_shift, cell_shift), strict=True):
        if name in globals_:
            raise MeshError(
                f"collate: global_data {name!r} exists; the meshes are collated already"
            )
        globals_[name] = torch.tensor(starts, device=first.device)
    shifts = {"point": point_shift, "edge": point_shift, "cell": cell_shift, "face": face_shift}
    info = MeshInfo(
        length_unit=first.info.length_unit,
        frame=first.info.frame,
        time=_agreed("info", "time", [m.info.time for m in meshes], None, ledger),
        fields=_field_infos(meshes, words),
        attributes=_agreed("info", "attributes", [m.info.attributes for m in meshes], {}, ledger),
    )
    regions = _regions(meshes, shifts, cell_shift, words, ledger)
    return Mesh(
        points=torch.cat([m.points for m in meshes]),
        cells=_cells([m.cells for m in meshes], point_shift),
        faces=_faces([m.faces for m in meshes if m.faces is not None], point_shift, cell_shift),
        **fields,
        global_data=globals_,  # type: ignore[arg-type]
        regions=regions,
        info=info.noting(ledger.report()),
    )


def _agreed(what: str, name: str, said: Sequence[Any], none: Any, ledger: Ledger) -> Any:
    """What all say, or `none`, counted, where they differ."""
    if all(one == said[0] for one in said):
        return said[0]
    ledger.dropped(what, name, len(said), "the meshes differ in it")
    return none


def _starts(counts: Sequence[int]) -> list[int]:
    starts = [0]
    for n in counts:
        starts.append(starts[-1] + n)
    return starts


def _same(what: str, a: Mesh, b: Mesh) -> None:
    """Refuse meshes that do not belong together."""
    traits = {
        "points in": (a.points.shape[1], b.points.shape[1]),
        "points of": (a.points.dtype, b.points.dtype),
        "on": (a.device, b.device),
        "length unit": (a.info.length_unit, b.info.length_unit),
        "frame": (a.info.frame, b.info.frame),
        "own faces": (a.faces is not None, b.faces is not None),
    }
    for trait, (x, y) in traits.items():
        if x != y:
            raise MeshError(f"collate: {what}: {trait} {y}, the first has {x}")
    for home in DATA:
        of = [dict(leaves(getattr(m, home))) for m in (a, b)]
        missing = sorted(set(of[0]) ^ set(of[1]))
        if missing:
            name = "/".join(missing[0])
            raise MeshError(f"collate: {what}: {home} {name!r} is not in both it and the first")
        for path, x in of[0].items():
            y = of[1][path]
            name = "/".join(path)
            rows = 0 if home == "global_data" else 1
            if x.dtype != y.dtype or x.shape[rows:] != y.shape[rows:]:
                raise MeshError(
                    f"collate: {what}: {home} {name!r} is {y.dtype} {list(y.shape)}, "
                    f"in the first {x.dtype} {list(x.shape)}"
                )
            full = [m.info.field(home, *path) for m in (a, b)]
            known = [replace(f, vocabulary=None) for f in full]
            texts = [f.vocabulary is not None for f in full]
            if known[0] != known[1] or texts[0] != texts[1]:
                known = [f if has else k for f, k, has in zip(full, known, texts, strict=True)]
                raise MeshError(
                    f"collate: {what}: {home} {name!r} means {known[1]}, in the first {known[0]}"
                )


def _shifted(parts: Sequence[Tensor], starts: Sequence[int]) -> Tensor:
    """Ids one after the other, each part moved on; -1 stays; int64 where int32 is too small."""
    top = starts[-1]
    wide = torch.int32 if all(p.dtype == torch.int32 for p in parts) else torch.int64
    dtype = torch.int64 if top > torch.iinfo(wide).max else wide
    moved = [
        torch.where(p < 0, p, p + start).to(dtype) if start else p.to(dtype)
        for p, start in zip((p.to(dtype) for p in parts), starts, strict=False)
    ]
    return torch.cat(moved)


def _ends(parts: Sequence[Tensor]) -> Tensor:
    """Offsets of rows one after the other."""
    starts = _starts([int(p[-1]) for p in parts])
    return _shifted([parts[0][:1], *(p[1:] for p in parts)], [0, *starts])


def _cells(parts: Sequence[Cells], point_shift: Sequence[int]) -> Cells:
    solids = [c.polyhedra for c in parts]
    polyhedra = None
    held = [(p, s) for p, s in zip(solids, point_shift, strict=False) if p is not None]
    if held:
        ids = _shifted([p.connectivity for p, _ in held], [*(s for _, s in held), point_shift[-1]])
        polyhedra = Polyhedra(
            _ends([p.faces for p, _ in held]), _ends([p.offsets for p, _ in held]), ids
        )
    degrees = None
    if any(c.degrees is not None for c in parts):
        blank = [c.types.new_zeros(len(c), 3) if c.degrees is None else c.degrees for c in parts]
        degrees = torch.cat(blank)
    return Cells(
        torch.cat([c.types for c in parts]),
        _ends([c.offsets for c in parts]),
        _shifted([c.connectivity for c in parts], point_shift),
        polyhedra,
        degrees,
    )


def _faces(
    parts: Sequence[Faces], point_shift: Sequence[int], cell_shift: Sequence[int]
) -> Faces | None:
    if not parts:
        return None
    return Faces(
        _ends([f.offsets for f in parts]),
        _shifted([f.connectivity for f in parts], point_shift),
        _shifted([f.owner for f in parts], cell_shift),
        _shifted([f.neighbour for f in parts], cell_shift),
    )


def _vocabularies(meshes: Sequence[Mesh]) -> Words:
    """The union of the texts of each coded field, where the meshes differ."""
    keys = {k for m in meshes for k, f in m.info.fields.items() if f.vocabulary is not None}
    out = {}
    for key in keys:
        each = [m.info.field(*key).vocabulary or () for m in meshes]
        if any(words != each[0] for words in each):
            out[key] = tuple(dict.fromkeys(word for words in each for word in words))
    return out


def _recode(x: Tensor, old: Sequence[str], new: Sequence[str]) -> Tensor:
    place = {word: i for i, word in enumerate(new)}
    table = torch.tensor([place[w] for w in old] or [0], dtype=x.dtype, device=x.device)
    return torch.where(x < 0, x, table[x.clamp(min=0).long()])


Table = dict[Path, Tensor | None]
"""Fields by their paths; None for a group that holds nothing."""


def _recoded(mesh: Mesh, home: FieldKey, fields: TensorDictBase | None, words: Words) -> Table:
    """Fields with their texts coded over those of all meshes."""
    return {
        path: None if x is None else _over_union(x, mesh, (*home, *path), words)
        for path, x in (() if fields is None else entries(fields))
    }


def _over_union(x: Tensor, mesh: Mesh, key: FieldKey, words: Words) -> Tensor:
    """A field with its texts coded over those of all meshes."""
    new = words.get(key)
    return x if new is None else _recode(x, mesh.info.field(*key).vocabulary or (), new)


def _joined(parts: Sequence[Table]) -> dict[str, Any]:
    """The fields, one after the other, and the empty groups of any; all have the same fields."""
    out: Table = {path: None for part in parts for path in part}
    for path, first in parts[0].items():
        if first is not None:
            out[path] = cat([x for part in parts if (x := part[path]) is not None])
    return nested(out)


def _stacked(parts: Sequence[Table]) -> dict[str, Any]:
    return _joined([{k: None if x is None else x[None] for k, x in p.items()} for p in parts])


def _regions(
    meshes: Sequence[Mesh],
    shifts: dict[str, list[int]],
    cell_shift: Sequence[int],
    words: Words,
    ledger: Ledger,
) -> Regions:
    keys = dict.fromkeys((r.name, r.entity) for m in meshes for r in m.regions)
    out = []
    for key in keys:
        found = [
            (i, r) for i, m in enumerate(meshes) for r in m.regions if (r.name, r.entity) == key
        ]
        tables = [_recoded(meshes[i], ("regions", *key), r.data, words) for i, r in found]
        out.append(_region(found, tables, shifts, cell_shift, ledger))
    return Regions(out)


def _region(
    found: Sequence[tuple[int, Region]],
    tables: Sequence[Table],
    shifts: dict[str, list[int]],
    cell_shift: Sequence[int],
    ledger: Ledger,
) -> Region:
    first = found[0][1]
    if first.entity == "side":
        cells = [r.ids[:, 0] for _, r in found]
        places = torch.cat([r.ids[:, 1] for _, r in found])
        starts = [cell_shift[i] for i, _ in found]
        moved = _shifted(cells, [*starts, cell_shift[-1]])
        ids = torch.stack([moved, places.to(moved.dtype)], 1)
    else:
        shift = shifts[first.entity]
        ids = _shifted([r.ids for _, r in found], [*(shift[i] for i, _ in found), shift[-1]])
    flip = None
    if any(r.flip is not None for _, r in found):
        none = [torch.zeros(len(r), dtype=torch.bool, device=r.ids.device) for _, r in found]
        flip = torch.cat(
            [n if r.flip is None else r.flip for n, (_, r) in zip(none, found, strict=True)]
        )
    data: Any = None
    if any(r.data is not None for _, r in found):
        named = [{path for path, x in table.items() if x is not None} for table in tables]
        if any(names != named[0] for names in named):
            raise MeshError(f"collate: region {first.name!r}: its fields are not in every mesh")
        data = _joined(tables)
    traits: dict[str, Any] = {
        trait: _agreed(
            "region", f"{first.name}: {trait}", [getattr(r, trait) for _, r in found], none, ledger
        )
        for trait, none in (
            ("kind", None),
            ("attributes", {}),
            ("source_id", None),
            ("parent", None),
        )
    }
    return first.replace(ids=ids, flip=flip, data=data, **traits)


def _field_infos(meshes: Sequence[Mesh], words: Words) -> dict[FieldKey, FieldInfo]:
    known: dict[FieldKey, FieldInfo] = {}
    for mesh in meshes:
        for key, info in mesh.info.fields.items():
            known.setdefault(key, info)
    for key, vocabulary in words.items():
        known[key] = replace(known[key], vocabulary=vocabulary)
    return known
