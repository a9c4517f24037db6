"""What integrals take: values somewhere, and a region."""

from __future__ import annotations

from typing import Final, Literal

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.operators.values import need_choice, need_tensor
from meshkit.regions import Region, Regions

On = Literal["points", "cells", "faces"]
_ON: Final = ("points", "cells", "faces")

_SPARSE: Final = 64
"""How many times more numbers than ids there may be for a mark at each to be worth it."""


def n_rows(what: str, mesh: Mesh, on: On) -> int:
    """How many points, cells or faces there are; `what` is the operator's name.

    Raises:
        MeshError: `on` is none of these.
    """
    need_choice(f"{what}: expected on", on, _ON)
    if on == "points":
        return mesh.n_points
    return mesh.n_cells if on == "cells" else len(faces(mesh))


def need_values(
    operator: str, what: str, mesh: Mesh, values: Tensor, on: On, last: int | None = None
) -> None:
    """Refuse values that do not have a row for each point, cell or face.

    Args:
        operator, what: what the message calls it and them.
        mesh, values, on: as the caller got them.
        last: how long the last axis has to be.

    Raises:
        MeshError: rows, the last axis or the device do not fit.
    """
    n = n_rows(operator, mesh, on)
    need_tensor(f"{operator}: {what}", values, mesh.device)
    rows = values.ndim >= 1 and len(values) == n
    if not rows or (last is not None and (values.ndim < 2 or values.shape[-1] != last)):
        shape = f"[{n}, ...]" if last is None else f"[{n}, ..., {last}]"
        raise MeshError(f"{operator}: {what} on {on}: expected {shape}, found {brief(values)}")


def found_region(mesh: Mesh, region: str | Region) -> Region:
    """The region of the mesh with this name, or the one given, if what it names is there.

    Raises:
        MeshError: there is no such region, or it names what is not there.
    """
    out = mesh.region(region) if isinstance(region, str) else region
    if not isinstance(out, Region):
        raise MeshError(f"region: expected a name or a Region, found {type(region).__name__}")
    need_device(f"region {out.name!r}", out.ids.device, mesh.device, "the mesh")
    need_region_ids(mesh.replace(regions=Regions([out])))
    return out


def distinct(ids: Tensor) -> Tensor:
    """int64: the ids of a region, or pairs [n, 2], each once."""
    return distinct_rows(ids)[0]


def distinct_rows(ids: Tensor) -> tuple[Tensor, Tensor | None]:
    """As `distinct`, and where each came first, int64; None where nothing came twice.

    In their own order where nothing came twice, else ascending.
    """
    ids = ids.long()
    keys = ids if ids.ndim == 1 else _keys(*ids.unbind(1))
    if no_repeats(keys):
        return ids, None
    order = torch.argsort(keys, stable=True)
    new = torch.ones_like(order, dtype=torch.bool)
    new[1:] = keys[order].diff() > 0
    first = order[new]
    return ids[first], first


def _keys(a: Tensor, b: Tensor) -> Tensor:
    """int64 [n]: one number for each pair of ids that are not negative."""
    if len(b) and int(b.max()) >= 1 << 31:  # no id of a mesh, and the product could overflow
        b = torch.unique(b, return_inverse=True)[1]
    return a * (b.max() + 1) + b if len(b) else a


def no_repeats(keys: Tensor) -> bool:
    """Whether all of these are different, int64 [n] and not negative; told without sorting where
    they are few or ascend.
    """
    if bool((keys.diff() > 0).all()):
        return True
    high = int(keys.max())
    if high > _SPARSE * len(keys):
        return bool((torch.sort(keys).values.diff() > 0).all())
    seen = torch.zeros(high + 1, dtype=torch.bool, device=keys.device)
    seen[keys] = True
    return int(seen.sum()) == len(keys)
