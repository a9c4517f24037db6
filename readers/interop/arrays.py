"""What the bridges share: fields as numpy arrays, regions as masks, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.fields import decode_texts, leaves
from meshkit.mesh import Mesh
from meshkit.regions import Entity, Region
from meshkit.report import Ledger

REGION: Final = "region:"
"""What the name of a boolean field begins with that stands for a region."""


def numpy_fields(mesh: Mesh, home: str, ledger: Ledger, *, texts: bool = True) -> dict[str, Any]:
    """The fields of a home as numpy arrays; nested names are joined by "/".

    Codes with a vocabulary become texts; dtypes that numpy lacks become float32 (complex32:
    complex64). All others share memory where they are on the CPU.

    Raises:
        MeshError: two fields would have one name.
    """
    out: dict[str, Any] = {}
    for path, x in leaves(getattr(mesh, home)):
        name = "/".join(path)
        if name in out:
            raise MeshError(f"{home}: two fields would be called {name!r}")
        rows = len(x) if x.ndim else 1
        x = x.detach().cpu().resolve_conj().resolve_neg()
        words = mesh.info.field(home, *path).vocabulary
        if texts and words is not None and not x.is_floating_point():
            decoded = np.array(decode_texts(x.reshape(-1), words), dtype=object)
            out[name] = decoded.astype(str).reshape(tuple(x.shape))
            ledger.converted("field", f"{home}/{name}", rows, "codes as texts")
            continue
        try:
            out[name] = x.numpy()
            ledger.kept("field", f"{home}/{name}", rows)
        except TypeError:
            out[name] = x.to(torch.complex64 if x.is_complex() else torch.float32).numpy()
            reason = f"{x.dtype} as {out[name].dtype}"
            ledger.converted("field", f"{home}/{name}", rows, reason)
    return out


def region_masks(mesh: Mesh, entity: Entity, ledger: Ledger) -> dict[str, Tensor]:
    """A boolean field for each region of this entity ("point" or "cell")."""
    rows = mesh.n_points if entity == "point" else mesh.n_cells
    masks: dict[str, Tensor] = {}
    for region in mesh.regions:
        if region.entity != entity:
            continue
        mask = torch.zeros(rows, dtype=torch.bool, device=region.ids.device)
        mask[region.ids.long()] = True
        masks[REGION + region.name] = mask
        ledger.kept("region", region.name, len(region), f"as the mask {REGION + region.name!r}")
        lose_region_parts(region, ledger, "a mask has a name and ids only")
    return masks


def need_mesh(what: str, mesh: object) -> None:
    """Refuse what is no mesh.

    Raises:
        MeshError: the message names the function and what was found.
    """
    if not isinstance(mesh, Mesh):
        raise MeshError(f"{what}: expected a meshkit.Mesh, found {type(mesh).__name__}")


def lose_region_parts(region: Region, ledger: Ledger, reason: str) -> None:
    """All of a region but its name and ids does not arrive."""
    parts = {
        "flip": region.flip,
        "kind": region.kind,
        "data": region.data,
        "attributes": region.attributes or None,
        "source_id": region.source_id,
        "parent": region.parent,
    }
    for part, value in parts.items():
        if value is not None:
            ledger.dropped("region", f"{region.name}: {part}", 1, reason)


def lose_other_regions(mesh: Mesh, ledger: Ledger, held: tuple[str, ...], reason: str) -> None:
    """Regions of other entities do not arrive."""
    for region in mesh.regions:
        if region.entity not in held:
            ledger.dropped("region", region.name, len(region), f"{reason} of {region.entity}s")


def regions_of_masks(
    fields: Mapping[str, Any], entity: Entity
) -> tuple[dict[str, Any], Iterator[Region]]:
    """The fields that are no masks of regions, and the regions of the others."""

    def is_mask(name: str, value: Any) -> bool:
        flat = getattr(value, "ndim", None) == 1
        return flat and name.startswith(REGION) and value.dtype in (torch.bool, np.dtype(bool))

    masks = {name: x for name, x in fields.items() if is_mask(name, x)}
    rest = {name: x for name, x in fields.items() if name not in masks}
    regions = (
        Region(
            name.removeprefix(REGION),
            entity,
            torch.nonzero(torch.from_numpy(mask) if isinstance(mask, np.ndarray) else mask).squeeze(
                1
            ),
        )
        for name, mask in masks.items()
    )
    return rest, regions
