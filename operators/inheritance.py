"""What a mesh made from another takes over: fields, what is known of them, and regions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from meshkit.fields import taken
from meshkit.info import FieldInfo, FieldKey
from meshkit.regions import Entity, Region

GONE = -1


def numbering(kept: Tensor, n: int) -> Tensor:
    """int64 [n]: the new id of each old one, `GONE` where it is not kept."""
    new = torch.full((n,), GONE, dtype=torch.int64, device=kept.device)
    new[kept] = torch.arange(len(kept), device=kept.device)
    return new


def looked_up(new: Tensor, ids: Tensor) -> Tensor:
    """new[ids], `GONE` where an id is out of range."""
    ids = ids.long()
    known = (ids >= 0) & (ids < len(new))
    if len(new) == 0:
        return torch.full_like(ids, GONE)
    return torch.where(known, new[ids.clamp(0, len(new) - 1)], GONE)


def region_rows(region: Region, rows: Tensor, ids: Tensor, entity: Entity) -> Region:
    """The region with these of its rows, now standing for `ids` of an entity."""
    dtype = region.ids.dtype
    fits = ids.numel() == 0 or int(ids.max()) <= torch.iinfo(dtype).max
    return region.replace(
        entity=entity,
        ids=ids.to(dtype) if fits else ids,
        flip=None if region.flip is None else region.flip[rows],
        data=None if region.data is None else taken(region.data, rows),
    )


def moved(
    known: Mapping[FieldKey, FieldInfo], moves: Iterable[tuple[FieldKey, FieldKey | None]]
) -> dict[FieldKey, FieldInfo]:
    """What is known of fields, where keys that start with one of `moves` start with its other.

    None drops them; the first move that fits is taken.

    >>> moved({("face_data", "phi"): FieldInfo()}, [(("face_data",), ("cell_data", "face"))])
    {('cell_data', 'face', 'phi'): FieldInfo(unit=None, ...)}
    """
    steps = list(moves)
    out = {}
    for key, info in known.items():
        for old, new in steps:
            if key[: len(old)] == old:
                if new is not None:
                    out[*new, *key[len(old) :]] = info
                break
        else:
            out[key] = info
    return out
