"""Regions that an operator can follow: what they name is there."""

from __future__ import annotations

import torch

from meshkit import csr
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids, sides
from meshkit.regions import Region


def need_region_ids(mesh: Mesh) -> None:
    """Refuse regions that name a point, cell, side or face the mesh does not have.

    A side of a cell of lower dimension than the mesh is not looked at: such cells have no faces
    here, and what names one is counted by whoever follows the region.

    Raises:
        MeshError: the message names the region, what it may name and what it names; where a
            region names sides, also as `need_point_ids`.
    """
    for region in mesh.regions:
        if len(region) == 0:
            continue
        _need_range(mesh, region)
        if region.entity == "side":
            need_point_ids(mesh)  # sides are worked out of cells that are whole
            _need_local_faces(mesh, region)


def _need_range(mesh: Mesh, region: Region) -> None:
    top = {
        "point": mesh.n_points,
        "edge": mesh.n_points,
        "face": 0 if mesh.faces is None else len(mesh.faces),
    }.get(region.entity, mesh.n_cells)
    ids = region.ids[:, 0] if region.entity == "side" else region.ids
    low, high = (int(x) for x in torch.aminmax(ids))
    if low < 0 or high >= top:
        raise MeshError(
            f"region {region.name!r}: expected ids from 0 to {top - 1}, "
            f"found {low if low < 0 else high}"
        )


def _need_local_faces(mesh: Mesh, region: Region) -> None:
    cell, local = region.ids.long().unbind(1)
    counts = csr.lengths_of(sides(mesh.cells).of_cell)[cell]
    wrong = (local < 0) | ((local >= counts) & (mesh.cells.dims[cell] == mesh.dim))
    if bool(wrong.any()):
        row = int(torch.nonzero(wrong)[0])
        count = int(counts[row])
        wanted = f"faces of cell {int(cell[row])} from 0 to {count - 1}"
        if count == 0:
            wanted = f"no faces of cell {int(cell[row])}, which has none"
        raise MeshError(f"region {region.name!r}: expected {wanted}, found {int(local[row])}")
