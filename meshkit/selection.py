"""Some cells of a mesh, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells, brief
from meshkit.devices import need_known
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Path, mapped, negated, take, taken, tensor_of
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

GONE = -1


def select(mesh: Mesh, cells: Tensor | Iterable[int]) -> Mesh:
    """See `Mesh.select`."""
    ids = _wanted(cells, mesh)
    ledger = Ledger()
    kept_cells = mesh.cells.take(ids)
    new_cell = _numbering(ids, mesh.n_cells)
    faces = None
    if mesh.faces is not None and kept_cells.dim < mesh.dim:
        reason = f"no cell of dimension {mesh.dim} was selected"
        ledger.dropped("faces", "", len(mesh.faces), reason)
    elif mesh.faces is not None:
        faces = _KeptFaces.of(mesh.faces, new_cell)
        if gone := len(mesh.faces) - len(faces.ids):
            ledger.dropped("faces", "", gone, "of cells that were not selected", loss=False)
    points = _used_points(kept_cells, faces, mesh.n_points)
    new_point = _numbering(points, mesh.n_points)
    regions = []
    for region in mesh.regions:
        left = _region(region, mesh.info, new_cell, new_point, faces)
        if left is None:
            ledger.dropped("region", region.name, len(region), "the faces it names have gone")
        else:
            regions.append(left)
    if faces is None:
        face_data = mapped(mesh.face_data.empty(), 0, lambda _, x: x)
    else:
        face_data = faces.rows_of(mesh.face_data, mesh.info, ("face_data",))
    info = _info(mesh, ids, with_faces=faces is not None)
    return Mesh(
        points=mesh.points[points],
        cells=kept_cells.renumbered(new_point),
        faces=None if faces is None else faces.renumbered(new_point),
        point_data=taken(mesh.point_data, points),
        cell_data=taken(mesh.cell_data, ids),
        face_data=face_data,
        global_data=mesh.global_data,
        regions=Regions(regions),
        info=info.noting(ledger.report()),
    )


def _wanted(cells: Tensor | Iterable[int], mesh: Mesh) -> Tensor:
    """Unique cell ids int64 from a mask or ids."""
    if isinstance(cells, str | bytes | Mapping) or not isinstance(cells, Iterable):
        raise MeshError(f"select: expected a mask or ids [n], found {cells!r}")
    listed = cells if isinstance(cells, Tensor | np.ndarray) else list(cells)
    if mesh.device.type != "meta":
        need_known("select", listed)
    given = tensor_of("select", listed).to(mesh.device)
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


def _used_points(cells: Cells, faces: _KeptFaces | None, n: int) -> Tensor:
    low, high = cells.id_range
    if low < 0 or high >= n:
        raise MeshError(f"cells: expected point ids from 0 to {n - 1}, found {low} to {high}")
    used = torch.zeros(n, dtype=torch.bool, device=cells.types.device)
    used[cells.connectivity.long()] = True
    if cells.polyhedra is not None:
        used[cells.polyhedra.connectivity.long()] = True
    if faces is not None:
        used[faces.faces.connectivity.long()] = True
    return torch.nonzero(used).squeeze(1)


@dataclass(frozen=True)
class _KeptFaces:
    """The faces of the cells that stay, with the points' old ids."""

    faces: Faces
    new: Tensor  # int64 [old n_faces]: the new id of each old one, GONE where it goes
    ids: Tensor  # int64 [n_faces]: which they were
    flipped: Tensor  # bool [n_faces]: which were turned round

    @classmethod
    def of(cls, faces: Faces, new_cell: Tensor) -> _KeptFaces:
        owner = new_cell[faces.owner.long()]
        beyond = faces.neighbour.long()
        neighbour = torch.where(beyond < 0, GONE, new_cell[beyond.clamp(min=0)])
        ids = torch.nonzero((owner >= 0) | (neighbour >= 0)).squeeze(1)
        owner, neighbour = owner[ids], neighbour[ids]
        flipped = owner < 0
        owner, neighbour = (
            torch.where(flipped, neighbour, owner),
            torch.where(flipped, GONE, neighbour),
        )
        offsets, places = csr.take_rows(faces.offsets, ids)
        kept = Faces(
            offsets,
            faces.connectivity[places],
            owner.to(faces.owner.dtype),
            neighbour.to(faces.neighbour.dtype),
        )
        return cls(kept.flipped(flipped), _numbering(ids, len(faces)), ids, flipped)

    def renumbered(self, new_point: Tensor) -> Faces:
        """The faces with the points' new ids."""
        ring = self.faces.connectivity
        return replace(self.faces, connectivity=new_point[ring.long()].to(ring.dtype))

    def rows_of(self, fields: TensorDictBase, info: MeshInfo, home: Path) -> TensorDictBase:
        """Rows of face fields; oriented ones negate where the face was turned round."""
        return _oriented(fields, self.ids, self.flipped, info, home)


def _oriented(
    fields: TensorDictBase, rows: Tensor, flipped: Tensor, info: MeshInfo, home: Path
) -> TensorDictBase:
    def change(path: Path, x: Tensor) -> Tensor:
        picked = take(x, rows)
        return negated(picked, flipped) if info.field(*home, *path).oriented else picked

    return mapped(fields, len(rows), change)


def _region(
    region: Region,
    info: MeshInfo,
    new_cell: Tensor,
    new_point: Tensor,
    faces: _KeptFaces | None,
) -> Region | None:
    """What is left of a region, renumbered; None where its kind of entity has gone."""
    ids = region.ids.long()
    if region.entity in ("point", "edge"):
        new = _looked_up(new_point, ids, region)
    elif region.entity == "cell":
        new = _looked_up(new_cell, ids, region)
    elif region.entity == "side":
        new = torch.stack([_looked_up(new_cell, ids[:, 0], region), ids[:, 1]], 1)
    elif faces is not None:
        new = _looked_up(faces.new, ids, region)
    else:
        return None
    stays = new >= 0 if new.ndim == 1 else (new >= 0).all(1)
    rows = torch.nonzero(stays).squeeze(1)
    new = new[rows]
    flip = None if region.flip is None else region.flip[rows]
    data = region.data
    if region.entity == "face" and faces is not None:
        turned = faces.flipped[new]
        flip = None if flip is None else flip ^ turned
        home = ("regions", region.name, region.entity)
        data = None if data is None else _oriented(data, rows, turned, info, home)
    else:
        data = None if data is None else taken(data, rows)
    return region.replace(ids=new.to(region.ids.dtype), flip=flip, data=data)


def _looked_up(new: Tensor, ids: Tensor, region: Region) -> Tensor:
    if ids.numel():
        low, high = (int(x) for x in torch.aminmax(ids))
        if low < 0 or high >= len(new):
            raise MeshError(
                f"region {region.name!r}: expected ids from 0 to {len(new) - 1}, "
                f"found {low if low < 0 else high}"
            )
    return new[ids]


def _info(mesh: Mesh, ids: Tensor, *, with_faces: bool) -> MeshInfo:
    """What is still true of the selected cells."""

    def stays(key: tuple[str, ...]) -> bool:
        of_faces = key[0] == "face_data" or (key[0] == "regions" and key[2] == "face")
        return with_faces or not of_faces

    fields = {key: known for key, known in mesh.info.fields.items() if stays(key)}
    grid = mesh.info.grid
    if grid is not None and (
        len(ids) < mesh.n_cells or bool((ids != torch.arange(len(ids), device=ids.device)).any())
    ):
        grid = None
    return mesh.info.replace(fields=fields, grid=grid)
