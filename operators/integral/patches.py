"""The patches of a mesh: of its faces, its skin, and what regions name."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.faces import face_table, faces
from meshkit.operators.adjacency.sides import Sides, sides
from meshkit.operators.adjacency.templates import corners, need_size
from meshkit.operators.integral.patch import Patch, joined
from meshkit.operators.integral.patch_kernel import taken_rings
from meshkit.operators.integral.values import distinct_rows
from meshkit.operators.measure.coordinates import in_space, length, over
from meshkit.operators.measure.face_geometry import curve_ends
from meshkit.operators.measure.rings import ring_table, surface_rings
from meshkit.operators.measure.surface_normals import surface_normals
from meshkit.regions import Region


def all_faces(mesh: Mesh) -> Patch:
    """Every face of `faces(mesh)`."""
    return of_faces(mesh, torch.arange(len(faces(mesh)), device=mesh.device), None)


def skin(mesh: Mesh) -> Patch:
    """What a body meets: the boundary of a mesh that fills its space, else its cells themselves."""
    if mesh.dim == mesh.points.shape[1]:
        return of_faces(mesh, faces(mesh).boundary, None)
    if mesh.dim == mesh.points.shape[1] - 1 and mesh.dim > 0:
        return _of_cells(mesh, torch.nonzero(mesh.cells.dims == mesh.dim).squeeze(1), None)
    d = mesh.points.shape[1]
    raise MeshError(
        f"force: expected cells of dimension {d} or {d - 1} in {d}-D, found {mesh.cells!r}, which "
        "has no surface with a normal; mesh it, or give a region of faces, sides or surface cells"
    )


def patch_of(mesh: Mesh, region: Region) -> Patch:
    """What a region of faces, sides or surface cells names, each once.

    Raises:
        MeshError: the region is of other entities, or of sides or cells that have no normal.
    """
    ids = region.ids.long()
    if region.entity == "face":
        return of_faces(mesh, *_once(ids, region.flip))
    if region.entity == "side":
        pairs, flip = _once(ids, region.flip)
        return of_sides(mesh, region, pairs, flip)
    if region.entity == "cell":
        cells, flip = _once(ids, region.flip)
        return _of_cells(mesh, cells, flip, region.name)
    raise MeshError(
        f"region {region.name!r} of {region.entity}s has no normal; "
        "give one of faces, sides or surface cells"
    )


def _once(ids: Tensor, flip: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Ids without repeats; of repeats the flip of the first."""
    unique, first = distinct_rows(ids)
    return unique, flip if flip is None or first is None else flip[first]


def _flip(flip: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros(len(like), dtype=torch.bool, device=like.device) if flip is None else flip


def of_faces(mesh: Mesh, ids: Tensor, flip: Tensor | None) -> Patch:
    """These rows of `faces(mesh)`, in this order.

    Raises:
        MeshError: on surfaces and curves, a given face is no side of its owner.
    """
    table = faces(mesh)
    owner, other = table.owner.long()[ids], table.neighbour.long()[ids]
    if mesh.dim < 3:
        side = face_table(mesh).owner_side[ids]
        if bool((side < 0).any()):
            face = int(ids[torch.nonzero(side < 0)[0]])
            raise MeshError(f"faces: face {face} is no side of its owner")
        return _of_table(mesh, side, owner, other, ids, flip)
    return Patch(*_rings(table, ids), owner, other, ids, _flip(flip, ids))


def _rings(table: Faces | Sides | Cells, rows: Tensor) -> tuple[Tensor, Tensor]:
    """int64: the offsets and points of some rings."""
    if rows.device.type == "cpu":
        return taken_rings(table.offsets, table.connectivity, rows)
    offsets, places = csr.take_rows(table.offsets.long(), rows)
    return offsets, table.connectivity.long()[places]


def of_sides(mesh: Mesh, region: Region, pairs: Tensor, flip: Tensor | None) -> Patch:
    """These (cell, local face) pairs [n, 2], in this order; `region` is what messages name.

    Raises:
        MeshError: a cell of `mesh.dim` has no such side.
    """
    table = face_table(mesh)
    side = table.sides.find(pairs)
    if bool((side < 0).any()):
        first = int(pairs[torch.nonzero(side < 0)[0, 0], 0])
        raise MeshError(
            f"region {region.name!r}: cell {first} has no such side among the cells of "
            f"dimension {mesh.dim}"
        )
    face = table.face_of_side[side]
    cell = pairs[:, 0]
    at = face.clamp(min=0)
    owner, neighbour = table.faces.owner.long()[at], table.faces.neighbour.long()[at]
    beyond = torch.where(cell == owner, neighbour, owner)
    alone = (face < 0) | (neighbour < 0)
    other = torch.where(alone, torch.full_like(beyond, -1), beyond)
    return _of_table(mesh, side, cell, other, face, flip)


def _of_table(
    mesh: Mesh, side: Tensor, cell: Tensor, other: Tensor, face: Tensor, flip: Tensor | None
) -> Patch:
    """Sides by their row in the table of all sides."""
    offsets, rings = _rings(sides(mesh.cells), side)
    across = None
    if mesh.dim == 2:
        across = surface_normals(mesh, in_space(mesh.points).double(), 0.0)[cell]
    elif mesh.dim == 1:
        across = _tangents(mesh, side, cell)
    return Patch(offsets, rings, cell, other, face, _flip(flip, side), across)


def _tangents(mesh: Mesh, side: Tensor, cell: Tensor) -> Tensor:
    """[n, 3]: out of curves, at these ends of theirs."""
    points = in_space(mesh.points).double()
    inward, end = curve_ends(mesh)[cell, sides(mesh.cells).local(side)].unbind(1)
    along = points[end] - points[inward]
    size = length(along)
    return over(along, size, size.detach() != 0, 0.0)


def _of_cells(mesh: Mesh, ids: Tensor, flip: Tensor | None, name: str = "") -> Patch:
    """Cells of one dimension less than the space: surfaces in space, curves in the plane.

    Those on the boundary of cells of a higher dimension are taken as these faces, which look out
    of their owner; others look along their own normal.
    """
    wanted = mesh.points.shape[1] - 1
    if len(ids) and bool((mesh.cells.dims[ids] != wanted).any()):
        bad = int(ids[torch.nonzero(mesh.cells.dims[ids] != wanted)[0]])
        raise MeshError(
            f"region {name!r}: cell {bad} has dimension {int(mesh.cells.dims[bad])} and so no "
            f"normal in {wanted + 1} dimensions; give faces, sides or cells of dimension {wanted}"
        )
    turned = torch.zeros(mesh.n_cells, dtype=torch.bool, device=mesh.device)
    if flip is not None:
        turned[ids] = flip
    if mesh.dim != wanted + 1:
        return _own_rings(mesh, ids, turned)
    table = faces(mesh)
    face = attached_faces(mesh)[ids]
    outer = (face >= 0) & (table.neighbour[face.clamp(min=0)] < 0)
    on_skin = of_faces(mesh, face[outer], turned[ids[outer]])
    rest = _own_rings(mesh, ids[~outer], turned)
    at = attached_faces(mesh)[rest.cell]
    inner = at >= 0
    at = at.clamp(min=0)
    rest = replace(
        rest,
        cell=torch.where(inner, table.owner.long()[at], rest.cell) if len(table) else rest.cell,
        other=torch.where(inner, table.neighbour.long()[at], -1) if len(table) else rest.other,
        face=torch.where(inner, at, -1),
    )
    return joined(on_skin, rest)


def _own_rings(mesh: Mesh, ids: Tensor, turned: Tensor) -> Patch:
    """The cells as they are; a strip as its triangles, a polyline as its segments."""
    if mesh.points.shape[1] == 3 and mesh.dim == 2:
        whole = ring_table(mesh.cells)
        if whole.cell is None:  # every ring is a cell
            none = torch.full_like(ids, -1)
            offsets, points = _rings(mesh.cells, ids)
            return Patch(offsets, points, ids, none, none, turned[ids])
    part = mesh.cells.take(ids)
    rings: list[tuple[Tensor, Tensor]] = [(ids[:0], ids.new_zeros(0, 1))]
    if mesh.points.shape[1] == 3:
        rings += [(r.cell, r.points) for r in surface_rings(part)]
    else:
        for block in part.blocks:
            row = need_size(block)
            line = block.connectivity[:, list(corners(row, block.connectivity.shape[1]))].long()
            ends = torch.stack([line[:, :-1], line[:, 1:]], 2)
            rings.append((block.ids.repeat_interleave(ends.shape[1]), ends.reshape(-1, 2)))
    sizes = torch.cat([torch.full_like(cell, table.shape[1]) for cell, table in rings])
    cell = ids[torch.cat([cell for cell, _ in rings])]
    none = torch.full_like(cell, -1)
    across = None
    if mesh.points.shape[1] == 2:
        across = in_space(mesh.points).double().new_tensor([0.0, 0.0, 1.0]).expand(len(cell), 3)
    flat = torch.cat([table.reshape(-1) for _, table in rings])
    return Patch(csr.offsets_of(sizes), flat, cell, none, none, turned[cell], across)
