"""What integrals take: values somewhere, and a region."""

from __future__ import annotations

from typing import Final, Literal

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.operators.values import need_choice, need_tensor
from meshkit.regions import Region, Regions

On = Literal["points", "cells", "faces"]
_ON: Final = ("points", "cells", "faces")


def n_rows(mesh: Mesh, on: On) -> int:
    """How many points, cells or faces there are.

    Raises:
        MeshError: `on` is none of these.
    """
    need_choice("on: expected", on, _ON)
    if on == "points":
        return mesh.n_points
    return mesh.n_cells if on == "cells" else len(faces(mesh))


def need_values(what: str, mesh: Mesh, values: Tensor, on: On, last: int | None = None) -> None:
    """Refuse values that do not have a row for each point, cell or face.

    Args:
        what: what the message calls them.
        mesh, values, on: as the caller got them.
        last: how long the last axis has to be.

    Raises:
        MeshError: rows, the last axis or the device do not fit.
    """
    n = n_rows(mesh, on)
    need_tensor(what, values, mesh.device)
    rows = values.ndim >= 1 and len(values) == n
    if not rows or (last is not None and (values.ndim < 2 or values.shape[-1] != last)):
        shape = f"[{n}, ...]" if last is None else f"[{n}, ..., {last}]"
        raise MeshError(f"{what} on {on}: expected {shape}, found {brief(values)}")


def found_region(mesh: Mesh, region: str | Region) -> Region:
    """The region of the mesh with this name, or the one given, if what it names is there.

    Raises:
        MeshError: there is no such region, or it names what is not there.
    """
    out = mesh.region(region) if isinstance(region, str) else region
    if not isinstance(out, Region):
        raise MeshError(f"region: expected a name or a Region, found {type(region).__name__}")
    if out.ids.device != mesh.device:
        raise MeshError(f"region {out.name!r}: on {out.ids.device}, the mesh on {mesh.device}")
    need_region_ids(mesh.replace(regions=Regions([out])))
    return out


def distinct(ids: Tensor) -> Tensor:
    """int64: the ids of a region, each once, ascending; pairs [n, 2] by row."""
    unique: Tensor = torch.unique(ids.long(), dim=0)
    return unique
