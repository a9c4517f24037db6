"""What MSH has no place for, in a section of our own that other programs pass over.

$Meshkit holds JSON: the info of the mesh, what its regions are beside groups of elements, and the
dtypes and shapes of fields. Gmsh keeps unknown sections and writes them again, so a checksum of the
cells tells whether they are still those that the note is about.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.fields import leaves
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.gmsh.entities import Key
from meshkit.readers.gmsh.grouping import DIMENSION, ENTITY, PHYSICAL
from meshkit.regions import Region
from meshkit.report import Ledger, Report

SECTION: Final = "Meshkit"
_VERSION: Final = 2
_AT_ONCE: Final = 1 << 17
_DTYPE: Final = re.compile(r"u?int\d+|b?float16|float32|float64|float8_\w+|bool")
_HOMES: Final = ("point_data", "cell_data")


@dataclass
class Note:
    """What the section says.

    Args:
        checksum: of the cells.
        points: number of coordinates and dtype of the points.
        info: of the mesh, without report and source.
        regions: of each region written as groups, its groups and whatever else it is.
        made: entities that the writer made up: they are no regions.
        fields: of each field its home, its name in the file, its path, dtype and shape of a row.
        own: fields of tags and entities that the mesh has; the reader adds no others.
    """

    checksum: int
    points: tuple[int, str]
    info: MeshInfo
    regions: list[dict[str, Any]] = field(default_factory=list)
    made: list[Key] = field(default_factory=list)
    fields: list[dict[str, Any]] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """The section, in ASCII; no "$" in it, which would look like an end.

        Raises:
            MeshError: the info holds what JSON cannot say.
        """
        info = self.info.replace(report=Report()).to_json()
        said = {
            "version": _VERSION,
            "checksum": self.checksum,
            "points": list(self.points),
            "info": {k: v for k, v in info.items() if k not in ("report", "source")},
            "regions": self.regions,
            "made": [list(key) for key in self.made],
            "fields": self.fields,
            "own": self.own,
        }
        try:
            text = json.dumps(said, allow_nan=True)
        except (TypeError, ValueError, RecursionError) as why:
            raise MeshError(f"info or a region holds what JSON cannot: {why}") from None
        body = text.replace("$", "\\u0024").encode("ascii")
        return b"$%s\n%s\n$End%s\n" % (SECTION.encode(), body, SECTION.encode())

    @staticmethod
    def from_bytes(text: bytes) -> Note | None:
        """The note that a section is; None where it is none of this version."""
        try:
            said = json.loads(text)
            if said["version"] != _VERSION:
                return None
            info = MeshInfo.from_json({**said["info"], "report": [], "source": None})
            return Note(
                int(said["checksum"]),
                (int(said["points"][0]), str(said["points"][1])),
                info,
                [_region_row(row) for row in said["regions"]],
                [(int(dim), int(tag)) for dim, tag in said["made"]],
                [_field_row(row) for row in said["fields"]],
                [str(name) for name in said["own"]],
            )
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, AttributeError):
            return None
        except MeshError:
            return None


def _field_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a note says of a field, of the types that it should have.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    shape = [int(n) for n in row["shape"]]
    if row["home"] not in _HOMES or min(shape, default=0) < 0 or not row["path"]:
        raise ValueError("no field")
    out = {"home": row["home"], "name": str(row["name"]), "path": [str(x) for x in row["path"]]}
    return {**out, "dtype": str(row["dtype"]), "shape": shape}


def _region_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a note says of a region, of the types that it should have.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    if row["as"] not in (ENTITY, PHYSICAL):
        raise ValueError("no region")
    texts = {key: None if row[key] is None else str(row[key]) for key in ("kind", "parent")}
    return {
        **texts,
        "name": str(row["name"]),
        "as": row["as"],
        "groups": [(int(dim), int(tag)) for dim, tag in row["groups"]],
        "attributes": dict(row["attributes"]),
        "source_id": None if row["source_id"] is None else int(row["source_id"]),
        "flip": bool(row["flip"]),
    }


def checksum_of(cells: Cells) -> int:
    """A sum over the types and the points of all cells."""
    total = zlib.crc32(np.ascontiguousarray(cells.types.cpu().numpy()).data)
    flat = np.ascontiguousarray(cells.connectivity.cpu().numpy())
    for start in range(0, len(flat), _AT_ONCE):
        some = flat[start : start + _AT_ONCE]
        small = some.itemsize == 4 or int(some.max()) <= np.iinfo(np.int32).max
        total = zlib.crc32(some.astype("<i4" if small else "<i8", copy=False).data, total)
    return total


# --- reading --------------------------------------------------------------------------------------


def applied(mesh: Mesh, note: Note, ledger: Ledger) -> Mesh:
    """The mesh that was written, as far as its own fields and regions go.

    Raises:
        MeshError: the note contradicts the mesh.
    """
    point = {k: mesh.point_data[k] for k in note.own if k in mesh.point_data.keys()}
    cell = {k: mesh.cell_data[k] for k in note.own if k in mesh.cell_data.keys()}
    points = mesh.points[:, : note.points[0]].to(_dtype(note.points[1])).contiguous()
    mesh = mesh.replace(
        points=points,
        point_data=point,
        cell_data=cell,
        regions=_regions(mesh.regions, note),
        info=note.info,
    )
    ledger.kept("info", "", 1, "in meshkit's own section")
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region))
    for home in _HOMES:
        for path, x in leaves(getattr(mesh, home)):
            ledger.kept("field", f"{home}/{'/'.join(path)}", len(x))
    return mesh


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None) if _DTYPE.fullmatch(name) else None
    if not isinstance(found, torch.dtype):
        raise MeshError(f"the note of meshkit has the dtype {name!r}")
    return found


def _regions(found: Iterable[Region], note: Note) -> list[Region]:
    """The regions that were written, in their order, then those that are new."""
    left = {(r.kind, *_key(r)) if r.kind in (ENTITY, PHYSICAL) else r.name: r for r in found}
    out: list[Region] = []
    for row in note.regions:
        keys = [(row["as"], dim, tag) for dim, tag in row["groups"]]
        parts = [left.pop(key) for key in keys if key in left]
        none = torch.zeros(0, dtype=torch.int32)
        # Each part ascends, and an element is in one entity only.
        ids = parts[0].ids if len(parts) == 1 else torch.cat([none, *(p.ids for p in parts)])
        ids = ids if len(parts) == 1 else torch.sort(ids).values
        flip = None
        if row["flip"]:
            turned = [p.ids[p.flip] for p in parts if p.flip is not None]
            flip = torch.isin(ids, torch.cat([none, *turned]))
        parts_of = {part: row.get(part) for part in ("kind", "attributes", "source_id", "parent")}
        out.append(Region(row["name"], "cell", ids, flip, **parts_of))
    for dim, tag in note.made:
        left.pop((ENTITY, dim, tag), None)
    names = {(r.name, r.entity) for r in out}
    return out + [r for r in left.values() if (r.name, r.entity) not in names]


def _key(region: Region) -> Key:
    return (int(region.attributes.get(DIMENSION, -1)), int(region.source_id or 0))


def renamed(
    values: Mapping[FieldKey, Any], known: Mapping[FieldKey, FieldInfo], note: Note
) -> tuple[dict[str, dict[Any, Any]], dict[FieldKey, FieldInfo]]:
    """Fields by home and path in their own dtype and shape, and what is known of the others."""
    rows = {(row["home"], row["name"]): row for row in note.fields}
    homes: dict[str, dict[Any, Any]] = {home: {} for home in _HOMES}
    others: dict[FieldKey, FieldInfo] = {}
    for key, x in values.items():
        row = rows.get((key[0], key[1]))
        tensor = torch.from_numpy(np.ascontiguousarray(x))
        if row is None:
            homes[key[0]][key[1]] = tensor
            if key in known:
                others[key] = known[key]
            continue
        shape = (len(x), *row["shape"])
        if math.prod(shape) != tensor.numel():
            raise MeshError(f"the note of meshkit says {shape} of the field {row['name']!r}")
        homes[key[0]][tuple(row["path"])] = _cast(tensor, _dtype(row["dtype"])).reshape(shape)
    return homes, others


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return x.to(dtype)
    # A row that the file lacks has no whole number either.
    return torch.nan_to_num(x, nan=0.0).to(dtype)


def with_paths(
    mesh: Mesh, homes: Mapping[str, Mapping[Any, Tensor]], known: Mapping[FieldKey, FieldInfo]
) -> Mesh:
    """The mesh with more fields, each at its path, in the order of the file."""
    nested: dict[str, dict[str, Any]] = {}
    for home, fields in homes.items():
        nested[home] = dict(getattr(mesh, home).items())
        for path, x in fields.items():
            *above, last = path if isinstance(path, tuple) else (path,)
            at = nested[home]
            for name in above:
                at = at.setdefault(name, {})
                if not isinstance(at, dict):
                    raise MeshError(f"two fields are called {name!r}")
            at[last] = x
    made = mesh.with_data(point=nested["point_data"], cell=nested["cell_data"])
    return made.replace(info=made.info.with_fields(known))


def own_fields(mesh: Mesh, names: Iterable[str]) -> list[str]:
    """Which of some fields a mesh has, in its order."""
    wanted = set(names)
    there = [path[0] for home in _HOMES for path, _ in leaves(getattr(mesh, home))]
    return [name for name in there if name in wanted]


def region_row(region: Region, groups: Iterable[Key], *, entity: bool) -> dict[str, Any]:
    """How a region is told from the groups that it is written as."""
    return {
        "name": region.name,
        "as": ENTITY if entity else PHYSICAL,
        "groups": [list(key) for key in groups],
        "kind": region.kind,
        "attributes": dict(region.attributes),
        "source_id": region.source_id,
        "parent": region.parent,
        "flip": region.flip is not None,
    }
