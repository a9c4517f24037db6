"""Parts of faces that something passes through: their rings, normals and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.integral.patch_kernel import taken_rings
from meshkit.operators.integral.values import distinct_rows
from meshkit.operators.measure.coordinates import (
    cross,
    dot,
    extent,
    in_space,
    length,
    matters,
    over,
    plain,
)
from meshkit.operators.measure.face_geometry import curve_ends
from meshkit.operators.measure.fan import area_vector, triangles
from meshkit.operators.measure.rings import AT_ONCE, ring_table, surface_rings
from meshkit.operators.measure.surface_normals import surface_normals
from meshkit.regions import Region


@dataclass(frozen=True, eq=False)
class Patch:
    """Faces, sides or surface cells, each a ring that looks along its normal.

    The normal points out of `cell` (into `other`, where there is one); where `flip` holds it is
    turned round.
    """

    offsets: Tensor  # int64 [n + 1]
    connectivity: Tensor  # int64 [..]
    cell: Tensor  # int64 [n]: whose values stand for it
    other: Tensor  # int64 [n]: the cell on the other side; -1 where there is none
    face: Tensor  # int64 [n]: the row of faces(mesh); -1 where it is none
    flip: Tensor  # bool [n]
    across: Tensor | None = None  # [n, 3]: of edges the normal of their plane, of ends the tangent

    def __len__(self) -> int:
        return len(self.cell)

    def compiled(self, *followed: Tensor) -> bool:
        """Whether kernels may work on it: rings on the CPU, and nobody follows points or values."""
        real = not any(x.is_complex() for x in followed)
        return self.across is None and real and all(map(plain, followed))

    @property
    def signs(self) -> Tensor:
        """float64 [n]: -1 where the normal is turned round."""
        return torch.where(self.flip, -1.0, 1.0).double()


@dataclass(frozen=True, eq=False)
class Pieces:
    """Some rows of a patch, taken apart into simplices: triangles of the fans, edges, or ends."""

    rows: Tensor  # int64 [m]: of the patch
    points: Tensor  # int64 [m, k]
    at: Tensor  # [m, p, c, 3]: the corners of the pieces
    vectors: Tensor  # [m, p, 3]: area vectors, along the normals of the patch
    sizes: Tensor  # [m, p]: areas or lengths; of fans, negative where a triangle faces back


def spread(values: Tensor) -> Tensor:
    """[m, p, c, ...]: what stands at the k corners of a ring, at the corners of its pieces."""
    k = values.shape[1]
    if k <= 3:
        return values[:, None]
    mean = values.mean(1, keepdim=True).expand_as(values)
    return torch.stack([values, torch.roll(values, -1, 1), mean], 2)


def pieces(patch: Patch, points: Tensor) -> Iterator[Pieces]:
    """The patch taken apart, some rows at a time; every sum over it is one over these.

    Args:
        patch: any.
        points: float64 [n_points, 3].
    """
    sign = patch.signs.to(points.dtype)
    for rows, ring in tables(patch.offsets, patch.connectivity):
        for some, ids in zip(torch.split(rows, AT_ONCE), torch.split(ring, AT_ONCE), strict=True):
            x = points[ids]
            turn = None if patch.across is None else patch.across[some]
            vectors, sizes = _vectors(x, turn)
            yield Pieces(some, ids, spread(x), vectors * sign[some][:, None, None], sizes)


def _vectors(x: Tensor, across: Tensor | None) -> tuple[Tensor, Tensor]:
    """Area vectors [m, p, 3] and sizes [m, p] of the pieces of rings [m, k, 3]."""
    k = x.shape[1]
    if k < 3 and across is None:  # a polygon without an area
        return torch.zeros_like(x[:, :1]), torch.zeros_like(x[:, :1, 0])
    if k == 1 and across is not None:
        return across[:, None], torch.ones_like(x[..., 0])
    if k == 2 and across is not None:
        edge = x[:, 1] - x[:, 0]
        return cross(edge, across)[:, None], length(edge)[:, None]
    if k == 3:
        vector = area_vector(x)[:, None]
        return vector, length(vector)
    parts = triangles(x - x.mean(1, keepdim=True))
    whole = area_vector(x.detach())
    facing = torch.where(dot(parts.detach(), whole[:, None]) < 0, -1.0, 1.0).to(x.dtype)
    spokes = x.detach() - x.detach()[:, :1]
    usable = matters(length(whole), extent(spokes), 2)
    return parts, torch.where(usable[:, None], length(parts) * facing, 0.0)


def all_faces(mesh: Mesh) -> Patch:
    """Every face of `faces(mesh)`."""
    return of_faces(mesh, torch.arange(len(faces(mesh)), device=mesh.device), None)


def skin(mesh: Mesh) -> Patch:
    """What a body meets: the boundary of a mesh that fills its space, else its cells themselves."""
    if mesh.dim == mesh.points.shape[1]:
        return of_faces(mesh, faces(mesh).boundary, None)
    if mesh.dim == mesh.points.shape[1] - 1 and mesh.dim > 0:
        return _of_cells(mesh, torch.nonzero(mesh.cells.dims == mesh.dim).squeeze(1), None)
    raise MeshError(
        f"no surface with a normal: cells of dimension {mesh.dim} in "
        f"{mesh.points.shape[1]} dimensions"
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


def need_faces(patch: Patch) -> None:
    """Refuse a patch with parts that are no faces, where values on faces are asked for.

    Raises:
        MeshError: the message names the first such cell.
    """
    if bool((patch.face < 0).any()):
        cell = int(patch.cell[torch.nonzero(patch.face < 0)[0]])
        raise MeshError(
            f"cell {cell} lies on no face of the mesh, so none of the values on faces is its own; "
            "give values on points or cells"
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
    return _joined(on_skin, rest)


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


def _joined(a: Patch, b: Patch) -> Patch:
    """Both, the second after the first."""
    if len(b) == 0:
        return a
    if len(a) == 0:
        return b
    across = None
    if a.across is not None and b.across is not None:
        across = torch.cat([a.across, b.across])
    return Patch(
        offsets=torch.cat([a.offsets, b.offsets[1:] + a.offsets[-1]]),
        connectivity=torch.cat([a.connectivity, b.connectivity]),
        cell=torch.cat([a.cell, b.cell]),
        other=torch.cat([a.other, b.other]),
        face=torch.cat([a.face, b.face]),
        flip=torch.cat([a.flip, b.flip]),
        across=across,
    )
