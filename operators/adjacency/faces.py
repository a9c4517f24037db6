"""The faces of a mesh, each with the cells on its two sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import face_kernels as compiled, side_kernels as any_compiled
from meshkit.operators.adjacency.pairing import Pairing, kernels_pay, one_shape, pairing
from meshkit.operators.adjacency.sides import Sides, need_ascending, need_point_ids, sides
from meshkit.operators.adjacency.vertex_sets import vertex_set_ids
from meshkit.operators.kernels import array, unset
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def faces(mesh: Mesh) -> Faces:
    """The faces of the cells of dimension `mesh.dim`: of solids faces, of surfaces edges, of
    curves end points.

    `mesh.faces` as it is where the mesh has one. Otherwise: first the interior faces by (owner,
    local face), then the boundary by (owner, local face). The owner is the cell of the lower id,
    and the face is its local face: its ring, seen from outside, so that the area vector points
    from owner to neighbour. Local faces are numbered as VTK 9.7 does, a polyhedron's as in
    `cells.polyhedra`, a strip's edges as vtkTriangleStrip does.

    Two cells share a face when it has the same corners in both: the same set of points, in any
    order; high-order cells meet others through their corners. A quad with a repeated point so
    meets a triangle. What matches no other cell is boundary, among it a face with fewer distinct
    points than `mesh.dim` (it has no area) and two faces of one cell with the same points. A face
    of more than two cells has one row per cell, each with neighbour -1.

    Returns:
        Faces, ids in the dtype of the cells' (int64 where int32 is too small). Worked out once
        while the cells stay unchanged. Exact and deterministic; runs where the mesh lies.

    Raises:
        MeshError: a point id is out of range, a cell's type is unknown or its size wrong, or a
            convex point set does not say what its faces are; the message names the cell.
    """
    if mesh.faces is not None:
        return mesh.faces
    need_point_ids(mesh)
    return computed_faces(mesh.cells)


class FaceTable:
    """Faces, and which sides of which cells they are; each part is worked out when it is asked for.

    A view of one mesh, to be used and dropped: what it tells is kept by the mesh's cells and faces.
    """

    def __init__(self, mesh: Mesh) -> None:
        need_point_ids(mesh)
        self._mesh, self._cells = mesh, mesh.cells
        self._pairing = pairing(mesh.cells)
        own = mesh.faces
        if own is not None:
            n, m = mesh.n_cells, mesh.n_points
            own.memo(("ids", n, m), (), lambda: need_face_ids(own, n, m))

    @property
    def faces(self) -> Faces:
        """The given faces where there are, else the computed ones."""
        return computed_faces(self._cells) if self._mesh.faces is None else self._mesh.faces

    @property
    def sides(self) -> Sides:
        """All sides of the cells."""
        return sides(self._cells)

    @property
    def owner_side(self) -> Tensor:
        """int64 [n_faces]: -1 where a given face is no side of its owner."""
        return self._links.owner_side

    @property
    def neighbour_side(self) -> Tensor:
        """int64 [n_faces]: -1 on the boundary, or where a given face is no side of it."""
        return self._links.neighbour_side

    @property
    def face_of_side(self) -> Tensor:
        """int64 [n_sides]: -1 where the given faces lack it."""
        return self._links.face_of_side

    @property
    def crowd(self) -> Tensor:
        """int64 [c]: the sides that more than two cells share, ascending."""
        return self._pairing.crowd

    @property
    def crowd_set(self) -> Tensor:
        """int64 [c]: which of the crowd are the same."""
        return self._pairing.crowd_set

    @property
    def nonmanifold(self) -> Tensor:
        """int64: the faces that more than two cells share, ascending."""
        found = self.face_of_side[self.crowd]
        return torch.sort(found[found >= 0]).values

    @property
    def _links(self) -> _Links:
        own = self._mesh.faces
        if own is None:
            return self._cells.memo("face_links", lambda: _computed_links(self._pairing.partner))
        return own.memo("face_links", self._cells.sources, lambda: _links(own, self.sides))


@dataclass(frozen=True, eq=False)
class _Links:
    owner_side: Tensor
    neighbour_side: Tensor
    face_of_side: Tensor


def face_table(mesh: Mesh) -> FaceTable:
    """The faces with the sides they are: the given ones where there are, else computed.

    Raises:
        MeshError: as `faces`; or a given face names a point or cell that is not there.
    """
    return FaceTable(mesh)


def computed_faces(cells: Cells) -> Faces:
    """The faces of cells whose ids were checked, in the order of `faces`, worked out once."""

    def make() -> Faces:
        pairs = pairing(cells)
        return _by_kernels(cells, pairs) if kernels_pay(cells) else _by_indexing(cells, pairs)

    return cells.memo("faces", make)


def ids_dtype(cells: Cells, n_ring_points: int) -> torch.dtype:
    """The dtype of the cells' ids, int64 where it is too small for the faces."""
    dtype = cells.connectivity.dtype
    small = max(n_ring_points, len(cells)) <= torch.iinfo(dtype).max
    return dtype if small else torch.int64


def _by_indexing(cells: Cells, pairs: Pairing) -> Faces:
    """In torch alone: on any device."""
    table = sides(cells)
    links = _computed_links(pairs.partner)
    offsets, places = csr.take_rows(table.offsets, links.owner_side)
    owner = table.cell[links.owner_side]
    beyond = links.neighbour_side
    neighbour = torch.where(beyond < 0, -1, table.cell[beyond.clamp(min=0)])
    wanted = ids_dtype(cells, len(places))
    return Faces(
        offsets.to(wanted), table.connectivity[places], owner.to(wanted), neighbour.to(wanted)
    )


def _by_kernels(cells: Cells, pairs: Pairing) -> Faces:
    """In compiled code: on the CPU."""
    partner, n_inner = array(pairs.partner), pairs.n_pairs
    n, shape = len(partner) - n_inner, one_shape(cells)
    if shape is None:
        table = sides(cells)
        offsets, cell, points = (array(x) for x in (table.offsets, table.cell, table.connectivity))
        n_inside, n_outside = any_compiled.points_of_faces(offsets, partner)
        wanted = ids_dtype(cells, n_inside + n_outside)
        ends, owner, neighbour = (unset(m, wanted) for m in (n + 1, n, n))
        rings = unset(n_inside + n_outside, table.connectivity.dtype)
        any_compiled.faces_of_sides(
            *(offsets, cell, points, partner, n_inner, n_inside),
            *(array(ends), array(rings), array(owner), array(neighbour)),
        )
        return Faces(ends, rings, owner, neighbour)
    ids, template = shape
    size = len(template[0])
    wanted = ids_dtype(cells, n * size)
    ids = ids.to(wanted)
    rings, owner, neighbour = (unset(m, wanted) for m in (n * size, n, n))
    compiled.faces_of_table(template)(
        array(ids).reshape(-1),
        ids.shape[1],
        partner,
        n_inner,
        array(rings),
        array(owner),
        array(neighbour),
    )
    return Faces(evenly(n, size, wanted), rings, owner, neighbour)


def evenly(n: int, size: int, dtype: torch.dtype) -> Tensor:
    """The offsets of n rows of one size."""
    ends = unset(n + 1, dtype).fill_(size)
    ends[0] = 0
    np.cumsum(array(ends), out=array(ends))  # torch's arange takes several times as long
    return ends


def _computed_links(partner: Tensor) -> _Links:
    """Of faces in our own order: first the sides with a partner further on, then those without."""
    n, partner = len(partner), partner.long()
    inner = torch.nonzero(partner > torch.arange(n, device=partner.device)).squeeze(1)
    outer = torch.nonzero(partner < 0).squeeze(1)
    owner_side = torch.cat([inner, outer])
    neighbour_side = partner[owner_side]
    face_of_side = torch.empty_like(partner)
    face = torch.arange(len(owner_side), device=partner.device)
    face_of_side[owner_side] = face
    face_of_side[neighbour_side[: len(inner)]] = face[: len(inner)]
    return _Links(owner_side, neighbour_side, face_of_side)


def _links(own: Faces, table: Sides) -> _Links:
    """Of given faces: the side of each cell that has the same points."""
    n = len(own)
    offsets = torch.cat([table.offsets, own.offsets[1:].long() + table.offsets[-1]])
    rings = torch.cat([table.connectivity, own.connectivity.to(table.connectivity.dtype)])
    ids, count = vertex_set_ids(offsets, rings)
    of_side, of_face = ids[: len(table)], ids[len(table) :]
    owner, neighbour = own.owner.long(), own.neighbour.long()
    # Sets and cells are numbered densely, so that their product stays far below 2^63.
    key = torch.where(of_side < 0, -1, table.cell * count + of_side)
    keys, order = torch.sort(key, stable=True)

    def side_of(cell: Tensor) -> Tensor:
        wanted = cell * count + of_face
        at = torch.searchsorted(keys, wanted).clamp(max=max(len(keys) - 1, 0))
        if len(keys) == 0:
            return torch.full_like(cell, -1)
        there = (cell >= 0) & (of_face >= 0) & (keys[at] == wanted)
        return torch.where(there, order[at], -1)

    owner_side, neighbour_side = side_of(owner), side_of(neighbour)
    face_of_side = torch.full((len(table),), -1, dtype=torch.int64, device=ids.device)
    face = torch.arange(n, device=ids.device)
    for found in (neighbour_side, owner_side):
        here = found >= 0
        face_of_side[found[here]] = face[here]
    return _Links(owner_side, neighbour_side, face_of_side)


def need_face_ids(own: Faces, n_cells: int, n_points: int) -> None:
    """Refuse given faces that name a point or cell that is not there, or whose offsets fall.

    Raises:
        MeshError: the message names the first such face.
    """
    need_ascending("faces.offsets", own.offsets)
    for what, ids, low, high in (
        ("point ids", own.connectivity, 0, n_points),
        ("an owner", own.owner, 0, n_cells),
        ("a neighbour", own.neighbour, -1, n_cells),
    ):
        if len(ids) == 0:
            continue
        wrong = (ids < low) | (ids >= high)
        if bool(wrong.any()):
            at = int(torch.nonzero(wrong)[0])
            found = int(ids[at])
            face = at
            if what == "point ids":
                face = int(torch.searchsorted(own.offsets, at, right=True)) - 1
            raise MeshError(
                f"faces: face {face}: expected {what} from {low} to {high - 1}, found {found}"
            )
