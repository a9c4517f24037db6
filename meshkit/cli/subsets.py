"""Parts of a mesh that a user asked for by name: some fields, the cells of some regions.

What goes because of it is in the report, and no loss: it was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from meshkit.errors import MeshError
from meshkit.fields import leaves, nested
from meshkit.mesh import DATA, Mesh
from meshkit.regions import ENTITIES, Region
from meshkit.report import Ledger

if TYPE_CHECKING:
    from torch import Tensor


def only_fields(mesh: Mesh, names: Sequence[str]) -> Mesh:
    """The mesh with these fields of points, cells, faces and the whole; data of regions stay.

    A name is a field's, in any home ("p", "flow/U"), that of a group ("flow"), or one with its
    home ("cell_data/p").

    Raises:
        MeshError: there is no such field; the message lists what there is.
    """
    there = {(home, *path): values for home in DATA for path, values in leaves(getattr(mesh, home))}
    kept: set[tuple[str, ...]] = set()
    for name in names:
        found = {key for key in there if name in _names(key)}
        if not found:
            known = ", ".join("/".join(key) for key in there) or "none"
            raise MeshError(f"no field {name!r}; there are {known}")
        kept |= found
    ledger = Ledger()
    for key, values in there.items():
        if key not in kept:
            count = len(values) if values.ndim and key[0] != "global_data" else 1
            ledger.dropped("field", "/".join(key), count, "not asked for", loss=False)
    parts: dict[str, Any] = {
        home: nested({key[1:]: x for key, x in there.items() if key in kept and key[0] == home})
        for home in DATA
    }
    known_of = {k: v for k, v in mesh.info.fields.items() if k[0] not in DATA or k in kept}
    info = mesh.info.replace(fields=known_of).noting(ledger.report())
    return mesh.replace(**parts, info=info)


def _names(key: tuple[str, ...]) -> set[str]:
    """All that may mean this field: it or a group it is in, with its home and without."""
    return {"/".join(key[first:last]) for first in (0, 1) for last in range(2, len(key) + 1)}


def only_regions(mesh: Mesh, names: Sequence[str]) -> Mesh:
    """The cells of these regions, with all that belongs to them.

    The cells of a cell region are its own, of a side or face region those next to it, of a point
    region those whose points are all in it. A name that several entities share is pinned by one:
    "cell/rotor".

    Raises:
        MeshError: there is no such region, it is one of edges, or no cell is left.
    """
    chosen = torch.zeros(mesh.n_cells, dtype=torch.bool, device=mesh.device)
    for name in names:
        ids = _cells_of(mesh, _region(mesh, name))
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < mesh.n_cells:
            raise MeshError(
                f"region {name!r}: expected cells from 0 to {mesh.n_cells - 1}, "
                f"found {int(ids.min())} to {int(ids.max())}"
            )
        chosen[ids] = True
    kept = int(chosen.sum())
    if not kept:
        raise MeshError(f"no cell lies in {', '.join(map(repr, names))}")
    ledger = Ledger()
    if kept < mesh.n_cells:
        outside = mesh.n_cells - kept
        ledger.dropped("cells", "", outside, "outside the regions asked for", loss=False)
    picked = mesh.select(chosen)
    return picked.replace(info=picked.info.noting(ledger.report()))


def _region(mesh: Mesh, name: str) -> Region:
    entity, _, rest = name.partition("/")
    if name not in mesh.regions and entity in ENTITIES:
        return mesh.region(rest, entity)
    return mesh.region(name)


def _cells_of(mesh: Mesh, region: Region) -> Tensor:
    """int64 ids of the cells that a region means."""
    ids = region.ids.long()
    if region.entity == "cell":
        return ids
    if region.entity == "side":
        return ids[:, 0]
    if region.entity == "face" and mesh.faces is not None:
        beside = torch.cat([mesh.faces.owner[ids], mesh.faces.neighbour[ids]]).long()
        return beside[beside >= 0]
    if region.entity == "point":
        return _cells_within(mesh, ids)
    raise MeshError(
        f"region {region.name!r} of {region.entity}s has no cells; "
        "expected one of cells, sides, faces or points"
    )


def _cells_within(mesh: Mesh, points: Tensor) -> Tensor:
    """The cells whose points are all among these; a cell without points is not."""
    member = torch.zeros(mesh.n_points, dtype=torch.bool, device=mesh.device)
    member[points] = True
    cells = mesh.cells
    outside = torch.cumsum((~member[cells.connectivity.long()]).long(), 0)
    outside = torch.cat([outside.new_zeros(1), outside])[cells.offsets.long()]
    return torch.nonzero((outside[1:] == outside[:-1]) & (cells.sizes > 0)).squeeze(1)
