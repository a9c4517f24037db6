"""A note put onto the mesh that was read: cells, regions, fields and info as they were written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.fields import leaves
from meshkit.info import FieldInfo, FieldKey
from meshkit.mesh import Mesh
from meshkit.readers.gmsh.entities import Key
from meshkit.readers.gmsh.grouping import DIMENSION, ENTITY, PERIODIC, PHYSICAL
from meshkit.readers.gmsh.note import HOMES, Note
from meshkit.readers.gmsh.packed import dtype_of
from meshkit.regions import Region
from meshkit.report import Ledger

_KNOWN = ("kind", "data", "attributes", "source_id", "parent")


def applied(mesh: Mesh, note: Note, ledger: Ledger) -> Mesh:
    """The mesh that was written, as far as its own fields and regions go.

    Raises:
        MeshError: the note contradicts the mesh.
    """
    point = {k: mesh.point_data[k] for k in note.own if k in mesh.point_data.keys()}
    cell = {k: mesh.cell_data[k] for k in note.own if k in mesh.cell_data.keys()}
    points = mesh.points[:, : note.points[0]].to(dtype_of(note.points[1])).contiguous()
    regions = _regions(mesh.regions, note)
    for region in regions:
        _need_ids(region, mesh)
    mesh = mesh.replace(
        points=points, point_data=point, cell_data=cell, regions=regions, info=note.info
    )
    ledger.kept("info", "", 1, "in meshkit's own section")
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region))
    for home in HOMES:
        for path, x in leaves(getattr(mesh, home)):
            ledger.kept("field", f"{home}/{'/'.join(path)}", len(x))
    return mesh


def cells_of(elements: Cells, note: Note) -> Cells:
    """The cells among all elements of a file.

    Raises:
        MeshError: the note says that there are more.
    """
    n = note.cells
    if not 0 <= n <= len(elements):
        raise MeshError(f"the note of meshkit says {n} cells of {len(elements)} elements")
    if n == len(elements):
        return elements
    offsets = elements.offsets[: n + 1].clone()
    flat = elements.connectivity[: int(offsets[-1])].clone()
    return Cells(elements.types[:n].clone(), offsets, flat)


def _need_ids(region: Region, mesh: Mesh) -> None:
    """Refuse ids of what the mesh does not have."""
    ids = region.ids[:, 0] if region.entity == "side" else region.ids
    top = mesh.n_points if region.entity in ("point", "edge") else mesh.n_cells
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < top:
        what = "points" if region.entity in ("point", "edge") else "cells"
        raise MeshError(f"the note of meshkit: region {region.name!r} names more than {top} {what}")


def _regions(found: Iterable[Region], note: Note) -> list[Region]:
    """The regions that were written, in their order, then those that are new."""
    left = {(r.kind, *_key(r)) if r.kind in (ENTITY, PHYSICAL) else r.name: r for r in found}
    out: list[Region] = []
    for row in note.regions:
        keys = [(row["as"], dim, tag) for dim, tag in row["groups"]]
        parts = [left.pop(key) for key in keys if key in left]
        if row["as"] == PERIODIC:
            left.pop(row["name"], None)
        ids = row["ids"]
        if ids is None:
            none = torch.zeros(0, dtype=torch.int32, device="cpu")
            # Each part ascends, and an element is in one entity only.
            ids = parts[0].ids if len(parts) == 1 else torch.cat([none, *(p.ids for p in parts)])
            ids = ids if len(parts) == 1 else torch.sort(ids).values
        flip = row["flip"]
        if flip is True:
            turned = [p.ids[p.flip] for p in parts if p.flip is not None]
            flip = torch.isin(ids, torch.cat([ids[:0], *turned]))
        known = {part: row[part] for part in _KNOWN}
        out.append(Region(row["name"], row["entity"], ids, flip, **known))
    for dim, tag in note.made:
        left.pop((ENTITY, dim, tag), None)
    names = {(r.name, r.entity) for r in out}
    for region in left.values():
        if region.entity == "cell":
            region = _below(region, note.cells)
        if (region.name, region.entity) not in names:
            out.append(region)
    return out


def _below(region: Region, count: int) -> Region:
    """The part of a region of cells that is among the first so many."""
    there = region.ids < count
    return region.apply(lambda x: x[there], lambda x: x[there])


def _key(region: Region) -> Key:
    return (int(region.attributes.get(DIMENSION, -1)), int(region.source_id or 0))


def renamed(
    values: Mapping[FieldKey, Any], known: Mapping[FieldKey, FieldInfo], note: Note
) -> tuple[dict[str, dict[Any, Any]], dict[FieldKey, FieldInfo]]:
    """Fields by home and path in their own dtype and shape, and what is known of the others."""
    rows = {(row["home"], row["name"]): row for row in note.fields}
    homes: dict[str, dict[Any, Any]] = {home: {} for home in HOMES}
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
        homes[key[0]][tuple(row["path"])] = _cast(tensor.reshape(shape), dtype_of(row["dtype"]))
    return homes, others


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype.is_complex:
        if x.ndim < 2 or x.shape[-1] != 2:
            raise MeshError("the note of meshkit says complex of a field without two components")
        pairs = x.to(dtype.to_real()).reshape(-1, 2).clone(memory_format=torch.contiguous_format)
        return torch.view_as_complex(pairs).reshape(x.shape[:-1])
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
