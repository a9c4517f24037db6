"""What differs between two meshes, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.fields import empty_groups, leaves
from meshkit.mesh import DATA, Mesh


def differences(a: Mesh, b: Mesh, *, id_dtypes: bool = True) -> list[str]:
    """What differs between two meshes, bit for bit; [] when nothing does.

    Everything counts: dtypes, shapes and bytes of points, cells, faces, fields, regions, and
    their order; info without its source and report.

    Args:
        a: what it should be.
        b: what it is.
        id_dtypes: whether int32 and int64 ids of equal value differ.
    """
    found: list[str] = []

    def bits(what: str, x: Tensor | None, y: Tensor | None) -> None:
        if x is None or y is None:
            if (x is None) != (y is None):
                found.append(f"{what}: {_brief(x)} became {_brief(y)}")
        elif x.dtype != y.dtype or x.shape != y.shape:
            found.append(f"{what}: {_brief(x)} became {_brief(y)}")
        elif not torch.equal(_bytes(x), _bytes(y)):
            changed = int((_bytes(x) != _bytes(y)).sum())
            found.append(f"{what}: {changed} bytes of {_bytes(x).numel()} differ")

    def ids(what: str, x: Tensor | None, y: Tensor | None) -> None:
        if not id_dtypes and x is not None and y is not None:
            x, y = x.long(), y.long()
        bits(what, x, y)

    def fields(what: str, x: TensorDictBase | None, y: TensorDictBase | None) -> None:
        mine = {} if x is None else dict(leaves(x))
        theirs = {} if y is None else dict(leaves(y))
        if (x is None) != (y is None):
            found.append(f"{what}: {'none' if x is None else 'some'} became the other")
        if list(mine) != list(theirs):
            found.append(f"{what}: names {list(mine)} became {list(theirs)}")
        empty = [[] if part is None else empty_groups(part) for part in (x, y)]
        if empty[0] != empty[1]:
            found.append(f"{what}: empty groups {empty[0]} became {empty[1]}")
        for path in mine.keys() & theirs.keys():
            bits(f"{what} {path}", mine[path], theirs[path])

    def each(what: str, names: Sequence[str], x: Any, y: Any, how: Callable[..., None]) -> None:
        if x is None or y is None:
            if (x is None) != (y is None):
                found.append(f"{what}: {'none' if x is None else 'some'} became the other")
            return
        for name in names:
            how(f"{what}.{name}", getattr(x, name), getattr(y, name))

    bits("points", a.points, b.points)
    bits("cells.types", a.cells.types, b.cells.types)
    each("cells", ("offsets", "connectivity"), a.cells, b.cells, ids)
    bits("cells.degrees", a.cells.degrees, b.cells.degrees)
    parts = ("faces", "offsets", "connectivity")
    each("cells.polyhedra", parts, a.cells.polyhedra, b.cells.polyhedra, ids)
    each("faces", ("offsets", "connectivity", "owner", "neighbour"), a.faces, b.faces, ids)
    for home in DATA:
        fields(home, getattr(a, home), getattr(b, home))
    keys = [[(r.name, r.entity) for r in m.regions] for m in (a, b)]
    if keys[0] != keys[1]:
        found.append(f"regions: {keys[0]} became {keys[1]}")
    for name, entity in keys[0]:
        if (name, entity) not in keys[1]:
            continue
        mine, theirs = a.region(name, entity), b.region(name, entity)
        what = f"region {name!r} of {entity}s"
        ids(f"{what} ids", mine.ids, theirs.ids)
        bits(f"{what} flip", mine.flip, theirs.flip)
        fields(f"{what} data", mine.data, theirs.data)
        for trait in ("kind", "attributes", "source_id", "parent"):
            x, y = getattr(mine, trait), getattr(theirs, trait)
            if x != y:
                found.append(f"{what} {trait}: {x!r} became {y!r}")
    for trait in ("length_unit", "frame", "time", "fields", "grid", "attributes"):
        x, y = getattr(a.info, trait), getattr(b.info, trait)
        if x != y:
            found.append(f"info.{trait}: {x!r} became {y!r}")
    return found


def _bytes(x: Tensor) -> Tensor:
    flat = x.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8) if len(flat) else torch.empty(0, dtype=torch.uint8)


def _brief(x: Tensor | None) -> str:
    return "none" if x is None else f"{x.dtype} {list(x.shape)}"
