"""Regions of points, edges and sides as elements of gmsh: vertices, lines and faces of cells.

Gmsh knows groups of elements only. So each point, edge or side that a region names becomes an
element of its own after the cells, once for all regions, and each region a group of them. They are
there for other programs; reading takes what our own section says and leaves these elements out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import cell_type
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.sides import sides
from meshkit.readers.gmsh.grouping import DIMENSION
from meshkit.regions import Region
from meshkit.report import Ledger

_RINGS: Final = ("", "vertex", "line", "triangle", "quad")
"""The linear cell of a side, by the number of its corners."""
_DIMS: Final = {"point": 0, "edge": 1}


@dataclass(frozen=True)
class Carried:
    """The cells of a mesh, then the elements that stand for other regions.

    `groups` has for each region of the mesh, in order, a region of such cells.
    """

    cells: Cells
    groups: list[Region]


def carried(mesh: Mesh, others: Sequence[str], ledger: Ledger) -> Carried:
    """The elements and groups that regions of a mesh become.

    Args:
        others: names of regions of edges that are written in another way; their groups are empty.
    """
    cells, groups = [_plain(mesh.cells)], {r.name: r for r in mesh.regions if r.entity == "cell"}
    count = mesh.n_cells
    made: dict[tuple[str, str], Region] = {("cell", name): r for name, r in groups.items()}
    for entity in ("point", "edge", "side"):
        some = [r for r in mesh.regions if r.entity == entity]
        rows = [
            torch.full((len(r),), -1, device="cpu")
            if entity == "edge" and r.name in others
            else row
            for r, row in zip(some, _rows(mesh, entity, some, ledger), strict=True)
        ]
        used = torch.unique(torch.cat([*rows, torch.zeros(0, dtype=torch.int64, device="cpu")]))
        used = used[used >= 0]
        cells.append(_elements(mesh, entity, used))
        dim = _DIMS.get(entity, max(mesh.dim - 1, 0))
        for region, row in zip(some, rows, strict=True):
            there = row >= 0
            ids = count + torch.searchsorted(used, row[there])
            flip = None if region.flip is None else region.flip.cpu()[there]
            attributes = {**region.attributes, DIMENSION: dim}
            made[entity, region.name] = region.replace(
                entity="cell", ids=ids, flip=flip, data=None, attributes=attributes
            )
        count += len(used)
    return Carried(_joined(cells), [made[r.entity, r.name] for r in mesh.regions])


def _rows(mesh: Mesh, entity: str, regions: Sequence[Region], ledger: Ledger) -> Iterator[Tensor]:
    """One number for each id of some regions, the same for the same thing; -1 where it is none."""
    n = max(mesh.n_points, 1)
    for region in regions:
        ids = region.ids.long().cpu()
        if entity == "point":
            row = torch.where((ids >= 0) & (ids < n), ids, -1)
        elif entity == "edge":
            row = torch.where(((ids >= 0) & (ids < n)).all(1), ids[:, 0] * n + ids[:, 1], -1)
        else:
            row = _sides_of(mesh, ids)
        gone = int((row < 0).sum())
        if gone:
            reason = f"{entity}s that no element stands for: in meshkit's own section only"
            ledger.converted("region", region.name, gone, reason)
        yield row


def _sides_of(mesh: Mesh, ids: Tensor) -> Tensor:
    """The number of each side (cell, local face); -1 for what is none, or has too many corners."""
    try:
        table = sides(mesh.cells)
    except MeshError:  # cells that are unsound have no sides
        return torch.full((len(ids),), -1, device="cpu")
    found = table.find(ids.to(mesh.device)).cpu()
    sizes = csr.lengths_of(table.offsets).cpu()
    if not len(sizes):
        return found
    return torch.where(sizes[found.clamp(min=0)] < len(_RINGS), found, -1)


def _elements(mesh: Mesh, entity: str, used: Tensor) -> Cells:
    """The elements that things of one kind are, in the order of their numbers."""
    dtype = mesh.cells.connectivity.dtype
    if entity == "point" or not len(used):
        return Cells.of("vertex", used.reshape(-1, 1).to(dtype))
    if entity == "edge":
        n = max(mesh.n_points, 1)
        return Cells.of("line", torch.stack([used // n, used % n], 1).to(dtype))
    table = sides(mesh.cells)
    offsets, places = csr.take_rows(table.offsets.cpu(), used)
    types = torch.tensor(
        [0, *(cell_type(name).number for name in _RINGS[1:])], dtype=torch.uint8, device="cpu"
    )
    flat = table.connectivity.cpu()[places]
    return Cells(types[csr.lengths_of(offsets).long()], offsets.to(dtype), flat.to(dtype))


def _plain(cells: Cells) -> Cells:
    """Cells without what only says of which degree they are: their sizes tell that to gmsh."""
    return Cells(cells.types.cpu(), cells.offsets.cpu(), cells.connectivity.cpu())


def _joined(parts: Sequence[Cells]) -> Cells:
    """Cells one after the other."""
    parts = [*parts[:1], *(part for part in parts[1:] if len(part))]
    if len(parts) == 1:
        return parts[0]
    offsets, end = [parts[0].offsets[:1]], 0
    for part in parts:
        offsets.append(part.offsets[1:].long() + end)
        end += int(part.offsets[-1])
    dtype = parts[0].offsets.dtype
    return Cells(
        torch.cat([part.types for part in parts]),
        torch.cat(offsets).to(dtype if end <= torch.iinfo(dtype).max else torch.int64),
        torch.cat([part.connectivity for part in parts]),
    )


def faces_as_sides(mesh: Mesh, ledger: Ledger) -> Mesh:
    """Regions of the mesh's own faces as regions of the sides that these are of their owners."""
    some = [r for r in mesh.regions if r.entity == "face"]
    if not some:
        return mesh
    names = {r.name for r in mesh.regions if r.entity == "side"}
    out, known = [], dict(mesh.info.fields)
    for region in mesh.regions:
        if region.entity != "face":
            out.append(region)
            continue
        made = None if region.name in names else _as_sides(mesh, region)
        if made is None:
            reason = "its faces are no sides of their owners, or a region of sides has its name"
            ledger.dropped("region", region.name, len(region), reason)
            continue
        ledger.converted("region", region.name, len(made), "as sides of the owners of its faces")
        if len(made) < len(region):
            gone = len(region) - len(made)
            ledger.dropped("region", region.name, gone, "faces that are no sides of their owners")
        out.append(made)
        for key in [k for k in known if k[:3] == ("regions", region.name, "face")]:
            known["regions", region.name, "side", *key[3:]] = known.pop(key)
    return mesh.replace(regions=out, info=mesh.info.replace(fields=known))


def _as_sides(mesh: Mesh, region: Region) -> Region | None:
    """None where none of its faces is a side."""
    try:
        table = face_table(mesh)
        side = table.owner_side[region.ids.long()]
    except (MeshError, IndexError):  # unsound cells or faces
        return None
    there = side >= 0
    if len(side) and not bool(there.any()):
        return None
    pairs = torch.stack([table.sides.cell[side], table.sides.local(side)], 1)[there]
    part = region.apply(lambda x: x[there], lambda x: x[there])
    return part.replace(entity="side", ids=pairs.to(region.ids.dtype))
