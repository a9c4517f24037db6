"""A mesh and its named boundary parts, each a mesh of its own."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from meshkit.celltypes import CELL_TYPES
from meshkit.fields import take
from meshkit.mesh import DomainMesh, Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.boundary import Rows, boundary_with, views_named
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.operators.inheritance import numbering
from meshkit.operators.of_mesh import of_mesh
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

WHOLE: Final = "boundary"
REST: Final = "rest"


@of_mesh
def domain(mesh: Mesh) -> DomainMesh:
    """The cells of dimension `mesh.dim`, and the faces that regions name as meshes of their own.

    Each region of sides, of faces, or of cells of dimension `mesh.dim - 1` that lie on faces (by
    their corners) gives one part of its name; regions of one name and different entities give one
    part together. Faces inside count too (a baffle, an interface): seen from the cell whose side
    the region names, else from their owner; a region that names both sides of a face has both.
    What of the boundary no region names becomes the part "rest", or "boundary" where no region
    names anything; there is none when nothing is left. Should a region have that name too, its
    part and the rest are one.

    A part is the answer of `boundary` for these faces, those of the boundary in its order and
    then those inside by face: its `parent_cell`, `local_face` and `parent_point` lead into
    `interior`. The data of a region become cell data of its part, in place of a parent's field of
    the same name; NaN, -1, 0 or False stand on faces that another region of the same name gave.

    `interior` has no cells of lower dimension. Those that lie on faces and that a region names
    live on as its part, the others are counted as lost in the report; regions of cells that named
    only them are gone. So are given faces of such cells alone (counted; a face between such a
    cell and one that stays is on the boundary). The report counts what of a region is on no face,
    by the region's name. `global_data` is passed on.

    Args:
        mesh: its regions of sides, of faces and of cells on faces name the parts.

    Returns:
        DomainMesh: `interior` and `boundaries` by name. Differentiable in points and fields.

    Raises:
        MeshError: as `faces`; or a region names what is not there.
    """
    need_region_ids(mesh)
    ledger = Ledger()
    top = mesh.cells.dims == mesh.dim
    inner, named = mesh, views_named(mesh)
    if not bool(top.all()):
        inner = mesh.select(top)
        inner = inner.replace(regions=_still_meant(mesh, inner, top))
        named = _of_interior(mesh, top, named, ledger)
        _count_lower(mesh, top, named, ledger)
    _count_on_no_face(mesh, top, named, ledger)
    n_faces = len(faces(inner))
    outer = faces(inner).boundary
    inside = torch.ones(2 * n_faces, dtype=torch.bool, device=mesh.device)
    inside[2 * outer] = False
    more = torch.unique(torch.cat([outer[:0], *(views for views, _ in named.values())]))
    more = more[inside[more]]
    skin = boundary_with(inner, more)
    place = numbering(torch.cat([2 * outer, more]), 2 * n_faces)
    parts: dict[str, list[tuple[Region, Tensor, Tensor]]] = {}
    for region in mesh.regions:
        views, of_region = named.get((region.name, region.entity), (None, None))
        if views is not None and of_region is not None and len(views):
            parts.setdefault(region.name, []).append((region, place[views], of_region))
    left = torch.arange(skin.n_cells, device=mesh.device) < len(outer)
    for pieces in parts.values():
        for _, rows, _ in pieces:
            left[rows] = False
    boundaries = {}
    rest_name = REST if parts else WHOLE
    for name, pieces in parts.items():
        some = torch.zeros_like(left)
        for _, rows, _ in pieces:
            some[rows] = True
        if name == rest_name:
            some, left = some | left, torch.zeros_like(left)
        boundaries[name] = _part(skin, some, pieces)
    if bool(left.any()):
        boundaries[rest_name] = skin.select(left)
    inner = inner.replace(info=inner.info.noting(ledger.report()))
    return DomainMesh(inner, boundaries, mesh.global_data)


def _part(skin: Mesh, some: Tensor, pieces: list[tuple[Region, Tensor, Tensor]]) -> Mesh:
    """These faces of the skin, with what the regions know of them."""
    part = skin.select(some)
    place = torch.cumsum(some, 0) - 1
    fields: dict[str, Any] = {}
    for region, rows, of_region in pieces:
        if region.data is None:
            continue
        at = torch.full((part.n_cells,), -1, dtype=torch.int64, device=rows.device)
        at[place[rows.flip(0)]] = of_region.flip(0)  # the first of a face named twice
        for name, values in region.data.items():
            if name not in fields:
                fields[name] = _spread(values, at)
    return part.with_data(cell=fields) if fields else part


def _spread(values: Any, at: Tensor) -> Any:
    """Rows of fields, filled where `at` is -1."""
    if not isinstance(values, Tensor):
        return {name: _spread(v, at) for name, v in values.items()}
    found = take(values, at.clamp(min=0))
    missing = at < 0
    if bool(missing.any()):
        floats = values.is_floating_point() or values.is_complex()
        fill = float("nan") if floats else -1 if values.dtype.is_signed else 0
        found = found.clone()
        found[missing] = fill
    return found


def _still_meant(mesh: Mesh, inner: Mesh, top: Tensor) -> Regions:
    """The regions of the interior, without those that named cells of lower dimension only."""

    def stays(region: Region) -> bool:
        if region.entity != "cell":
            return True
        ids = mesh.region(region.name, "cell").ids.long()
        ids = ids[(ids >= 0) & (ids < mesh.n_cells)]
        return len(ids) == 0 or bool(top[ids].any())

    return Regions(r for r in inner.regions if stays(r))


def _of_interior(
    mesh: Mesh, top: Tensor, named: dict[tuple[str, str], Rows], ledger: Ledger
) -> dict[tuple[str, str], Rows]:
    """The same views of faces, numbered as in the interior, where given faces may be fewer.

    A face between cells of which one stays is seen from that one: it is the owner there.
    """
    if mesh.faces is None:
        return named
    beyond = mesh.faces.neighbour.long()
    of_owner = top[mesh.faces.owner.long()]
    of_neighbour = (beyond >= 0) & top[beyond.clamp(min=0)]
    stays = of_owner | of_neighbour
    lost = int((~stays).sum())
    if lost:
        ledger.dropped("faces", "", lost, "of cells of lower dimension than the mesh alone")
    row = numbering(torch.nonzero(stays).squeeze(1), len(stays))
    turned = (of_owner & of_neighbour).long()
    out = {}
    for key, (views, rows) in named.items():
        face = views // 2
        here = stays[face]
        moved = 2 * row[face] + (views % 2) * turned[face]
        out[key] = (moved[here], rows[here])
        gone = len(views) - int(here.sum())
        if gone and key[1] == "face":
            reason = "faces of cells of lower dimension alone"
            ledger.dropped("region", key[0], gone, reason)
    return out


def _count_lower(
    mesh: Mesh, top: Tensor, named: dict[tuple[str, str], Rows], ledger: Ledger
) -> None:
    """Say which cells of lower dimension live on as parts, and which are lost."""
    lives = torch.zeros_like(top)
    for region in mesh.regions:
        if region.entity == "cell":
            rows = named[region.name, region.entity][1]
            lives[region.ids.long()[rows]] = True
    attached = attached_faces(mesh) >= 0
    for number in mesh.cells.present:
        mine = (mesh.cells.types == number) & ~top
        name = CELL_TYPES[number].name if number in CELL_TYPES else str(number)
        kept, lost = int((mine & lives).sum()), int((mine & ~lives).sum())
        if kept:
            reason = "lie on faces and became parts of the boundary"
            ledger.converted("cells", name, kept, reason)
        if lost:
            on = int((mine & ~lives & attached).sum())
            reason = f"of lower dimension than the mesh; {on} of them lie on faces"
            ledger.dropped("cells", name, lost, reason)


def _count_on_no_face(
    mesh: Mesh, top: Tensor, named: dict[tuple[str, str], Rows], ledger: Ledger
) -> None:
    """Say what of each region gives no face although it should."""
    for region in mesh.regions:
        if region.entity == "cell":
            wanted = int((~top[region.ids.long()]).sum())
            reason = "cells of lower dimension that lie on no face"
        elif region.entity == "side":
            wanted, reason = len(region), "sides of cells that have no faces here"
        else:
            continue
        away = wanted - len(named[region.name, region.entity][1])
        if away:
            ledger.dropped("region", region.name, away, reason)
