"""Some cells of a mesh, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells, brief
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import mapped, negated, take, taken
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

GONE = -1


def select(mesh: Mesh, cells: Tensor | Sequence[int]) -> Mesh:
    """See `Mesh.select`."""
    ids = _wanted(cells, mesh)
    kept_cells = mesh.cells.take(ids)
    new_cell = _numbering(ids, mesh.n_cells)
    points = _used_points(kept_cells, mesh.n_points)
    new_point = _numbering(points, mesh.n_points)
    ledger = Ledger()
    faces, face_ids, flipped = None, None, None
    if mesh.faces is not None and kept_cells.dim < mesh.dim:
        reason = f"no cell of dimension {mesh.dim} was selected"
        ledger.dropped("faces", "", len(mesh.faces), reason)
    elif mesh.faces is not None:
        faces, face_ids, flipped = _faces(mesh.faces, new_cell, new_point)
    regions = [
        picked
        for r in mesh.regions
        if (picked := _region(r, mesh.info, ledger, new_cell, new_point, face_ids, flipped, mesh))
    ]
    gone = {("regions", r.name, r.entity) for r in mesh.regions} - {
        ("regions", r.name, r.entity) for r in regions
    }
    without = None if face_ids is None else face_ids
    fields = {
        key: known
        for key, known in mesh.info.fields.items()
        if key[:3] not in gone and not (without is None and key[0] == "face_data")
    }
    same = mesh.info.grid is not None and len(ids) == mesh.n_cells
    unmoved = same and bool((ids == torch.arange(len(ids), device=ids.device)).all())
    info = mesh.info.replace(fields=fields, grid=mesh.info.grid if unmoved else None)
    empty = mapped(mesh.face_data.empty(), 0, lambda _, x: x)
    return Mesh(
        points=mesh.points[points],
        cells=kept_cells.renumbered(new_point),
        faces=faces,
        point_data=taken(mesh.point_data, points),
        cell_data=taken(mesh.cell_data, ids),
        face_data=empty
        if face_ids is None or flipped is None
        else _oriented(mesh.face_data, face_ids, flipped, mesh.info, ("face_data",)),
        global_data=mesh.global_data,
        regions=Regions(regions),
        info=info.noting(ledger.report()),
    )


def _wanted(cells: Tensor | Sequence[int], mesh: Mesh) -> Tensor:
    """Unique cell ids int64 from a mask or ids."""
    given = cells if isinstance(cells, Tensor) else torch.as_tensor(cells, device=mesh.device)
    if given.numel() == 0 and given.dtype != torch.bool:
        return torch.zeros(0, dtype=torch.int64, device=mesh.device)
    if given.ndim != 1 or given.is_floating_point() or given.is_complex():
        raise MeshError(f"select: expected a mask or ids [n], found {brief(given)}")
    n = mesh.n_cells
    if given.dtype == torch.bool:
        if len(given) != n:
            raise MeshError(f"select: expected a mask of {n} cells, found {len(given)}")
        return torch.nonzero(given).squeeze(1)
    ids = given.long()
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= n:
        raise MeshError(f"select: expected ids from 0 to {n - 1}, found {low if low < 0 else high}")
    if int(torch.bincount(ids, minlength=n).max()) > 1:
        raise MeshError("select: expected unique ids, found some twice")
    return ids


def _numbering(kept: Tensor, n: int) -> Tensor:
    """int64 [n]: the new id of each old one, `GONE` where it goes."""
    new = torch.full((n,), GONE, dtype=torch.int64, device=kept.device)
    new[kept] = torch.arange(len(kept), device=kept.device)
    return new


def _used_points(cells: Cells, n: int) -> Tensor:
    low, high = cells.id_range
    if low < 0 or high >= n:
        raise MeshError(f"cells: expected point ids from 0 to {n - 1}, found {low} to {high}")
    used = torch.zeros(n, dtype=torch.bool, device=cells.types.device)
    used[cells.connectivity.long()] = True
    if cells.polyhedra is not None:
        used[cells.polyhedra.connectivity.long()] = True
    return torch.nonzero(used).squeeze(1)


def _faces(faces: Faces, new_cell: Tensor, new_point: Tensor) -> tuple[Faces, Tensor, Tensor]:
    """The faces of the cells that stay, which they were, and which were turned round."""
    owner = new_cell[faces.owner.long()]
    beyond = faces.neighbour.long()
    neighbour = torch.where(beyond < 0, GONE, new_cell[beyond.clamp(min=0)])
    ids = torch.nonzero((owner >= 0) | (neighbour >= 0)).squeeze(1)
    owner, neighbour = owner[ids], neighbour[ids]
    flipped = owner < 0
    owner, neighbour = torch.where(flipped, neighbour, owner), torch.where(flipped, GONE, neighbour)
    offsets, places = csr.take_rows(faces.offsets, ids)
    ring = faces.connectivity[places]
    kept = Faces(
        offsets,
        new_point[ring.long()].to(ring.dtype),
        owner.to(faces.owner.dtype),
        neighbour.to(faces.neighbour.dtype),
    )
    return kept.flipped(flipped), ids, flipped


def _oriented(
    fields: TensorDictBase,
    rows: Tensor,
    flipped: Tensor,
    info: MeshInfo,
    home: tuple[str, ...],
) -> TensorDictBase:
    """Rows of fields; those of oriented ones negate where the face was turned round."""

    def change(path: tuple[str, ...], x: Tensor) -> Tensor:
        picked = take(x, rows)
        return negated(picked, flipped) if info.field(*home, *path).oriented else picked

    return mapped(fields, len(rows), change)


def _region(
    region: Region,
    info: MeshInfo,
    ledger: Ledger,
    new_cell: Tensor,
    new_point: Tensor,
    face_ids: Tensor | None,
    flipped: Tensor | None,
    mesh: Mesh,
) -> Region | None:
    """What is left of a region, renumbered; None where its kind of entity has gone."""
    ids = region.ids.long()
    turned = None
    if region.entity == "point":
        new = new_point[ids]
        stays = new >= 0
    elif region.entity == "cell":
        new = new_cell[ids]
        stays = new >= 0
    elif region.entity == "side":
        new = torch.stack([new_cell[ids[:, 0]], ids[:, 1]], 1)
        stays = new[:, 0] >= 0
    elif region.entity == "edge":
        new = new_point[ids]
        stays = (new >= 0).all(1)
    else:
        if face_ids is None or flipped is None or mesh.faces is None:
            reason = "the faces it names have gone"
            ledger.dropped("region", region.name, len(region), reason)
            return None
        new = _numbering(face_ids, len(mesh.faces))[ids]
        stays = new >= 0
        turned = flipped[new[stays]]
    rows = torch.nonzero(stays).squeeze(1)
    flip = None if region.flip is None else region.flip[rows]
    data = region.data
    if turned is None:
        data = None if data is None else taken(data, rows)
    else:
        flip = None if flip is None else flip ^ turned
        home = ("regions", region.name, region.entity)
        data = None if data is None else _oriented(data, rows, turned, info, home)
    return region.replace(ids=new[rows].to(region.ids.dtype), flip=flip, data=data)
