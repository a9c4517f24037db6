"""What MSH has no place for, in a section of our own that other programs pass over.

$Meshkit holds JSON: the info of the mesh, what its regions are beside groups of elements, with
their data, data of the whole, and the dtypes and shapes of fields. Gmsh keeps unknown sections and
writes them again, so a checksum of the cells tells whether they are still those that the note is
about.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.fields import leaves
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.gmsh.entities import Key
from meshkit.readers.gmsh.grouping import ENTITY, PERIODIC, PHYSICAL
from meshkit.readers.gmsh.packed import (
    packed,
    packed_fields,
    unpacked,
    unpacked_fields,
)
from meshkit.regions import Region
from meshkit.report import Report

SECTION: Final = "Meshkit"
_VERSION: Final = 2
_AT_ONCE: Final = 1 << 17
_ENTITIES: Final = ("cell", "point", "edge", "side")
HOMES: Final = ("point_data", "cell_data")


@dataclass
class Note:
    """What the section says.

    Args:
        checksum: of all elements of the file.
        cells: how many of them are cells; the others stand for regions of points, edges and sides.
        points: number of coordinates and dtype of the points.
        info: of the mesh, without report and source.
        regions: of each region written as groups, its groups and whatever else it is.
        made: entities that the writer made up: they are no regions.
        fields: of each field its home, its name in the file, its path, dtype and shape of a row.
        own: fields of tags and entities that the mesh has; the reader adds no others.
        whole: the global data of each time.
    """

    checksum: int
    cells: int
    points: tuple[int, str]
    info: MeshInfo
    regions: list[dict[str, Any]] = field(default_factory=list)
    made: list[Key] = field(default_factory=list)
    fields: list[dict[str, Any]] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    whole: list[dict[str, Any]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """The section, in ASCII; no "$" in it, which would look like an end.

        Raises:
            MeshError: the info holds what JSON cannot say.
        """
        info = self.info.replace(report=Report()).to_json()
        said = {
            "version": _VERSION,
            "checksum": self.checksum,
            "cells": self.cells,
            "points": list(self.points),
            "info": {k: v for k, v in info.items() if k not in ("report", "source")},
            "regions": self.regions,
            "made": [list(key) for key in self.made],
            "fields": self.fields,
            "own": self.own,
            "whole": self.whole,
        }
        try:
            text = json.dumps(said, allow_nan=True)
        except (TypeError, ValueError, RecursionError) as why:
            raise MeshError(f"info or a region holds what JSON cannot: {why}") from None
        body = text.replace("$", "\\u0024").encode("ascii")
        return b"$%s\n%s\n$End%s\n" % (SECTION.encode(), body, SECTION.encode())

    def at(self, time: float | None) -> dict[str, Any]:
        """The global data of a time."""
        if len(self.whole) == 1:
            found: dict[str, Any] = self.whole[0]["fields"]
            return found
        return next((row["fields"] for row in self.whole if row["time"] == time), {})

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
                int(said["cells"]),
                (int(said["points"][0]), str(said["points"][1])),
                info,
                [_region_row(row) for row in said["regions"]],
                [(int(dim), int(tag)) for dim, tag in said["made"]],
                [_field_row(row) for row in said["fields"]],
                [str(name) for name in said["own"]],
                [_whole_row(row) for row in said["whole"]],
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
    if row["home"] not in HOMES or min(shape, default=0) < 0 or not row["path"]:
        raise ValueError("no field")
    out = {"home": row["home"], "name": str(row["name"]), "path": [str(x) for x in row["path"]]}
    return {**out, "dtype": str(row["dtype"]), "shape": shape}


def _region_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a note says of a region, of the types that it should have.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    if row["as"] not in (ENTITY, PHYSICAL, PERIODIC) or row["entity"] not in _ENTITIES:
        raise ValueError("no region")
    texts = {key: None if row[key] is None else str(row[key]) for key in ("kind", "parent")}
    return {
        **texts,
        "name": str(row["name"]),
        "as": row["as"],
        "groups": [(int(dim), int(tag)) for dim, tag in row["groups"]],
        "attributes": dict(row["attributes"]),
        "source_id": None if row["source_id"] is None else int(row["source_id"]),
        "flip": unpacked(row["flip"]) if isinstance(row["flip"], dict) else row["flip"] or None,
        "entity": row["entity"],
        "ids": None if row["ids"] is None else unpacked(row["ids"]),
        "data": None if row["data"] is None else unpacked_fields(row["data"]),
    }


def _whole_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The global data of a time.

    Raises:
        MeshError, ValueError, KeyError, TypeError: it is something else.
    """
    time = None if row["time"] is None else float(row["time"])
    return {"time": time, "fields": unpacked_fields(row["fields"])}


def whole_row(mesh: Mesh, time: float | None) -> dict[str, Any]:
    """The global data of a mesh at a time, as a note says it."""
    return {"time": time, "fields": packed_fields(mesh.global_data)}


def checksum_of(cells: Cells) -> int:
    """A sum over the types and the points of all cells."""
    total = zlib.crc32(np.ascontiguousarray(cells.types.cpu().numpy()).data)
    flat = np.ascontiguousarray(cells.connectivity.cpu().numpy())
    for start in range(0, len(flat), _AT_ONCE):
        some = flat[start : start + _AT_ONCE]
        small = some.itemsize == 4 or int(some.max()) <= np.iinfo(np.int32).max
        total = zlib.crc32(some.astype("<i4" if small else "<i8", copy=False).data, total)
    return total


def own_fields(mesh: Mesh, names: Iterable[str]) -> list[str]:
    """Which of some fields a mesh has, in its order."""
    wanted = set(names)
    there = [path[0] for home in HOMES for path, _ in leaves(getattr(mesh, home))]
    return [name for name in there if name in wanted]


def region_row(region: Region, groups: Iterable[Key], kind: str) -> dict[str, Any]:
    """How a region is told from the groups that it is written as.

    Args:
        kind: what it is written as: `ENTITY`, `PHYSICAL` or `PERIODIC`.
    """
    ids = region.ids
    told = region.entity == "cell" and bool((ids[1:] > ids[:-1]).all())
    return {
        "name": region.name,
        "entity": region.entity,
        "as": kind,
        "groups": [list(key) for key in groups],
        "kind": region.kind,
        "attributes": dict(region.attributes),
        "source_id": region.source_id,
        "parent": region.parent,
        "flip": region.flip if region.flip is None else told or packed(region.flip),
        "ids": None if told else packed(ids),
        "data": None if region.data is None else packed_fields(region.data),
    }
