"""The faces of a mesh, each with the cells on its two sides."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import Sides, need_ascending, need_point_ids, sides
from meshkit.operators.adjacency.vertex_sets import (
    first_of_each,
    last_of_each,
    vertex_set_ids,
)


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
    return mesh.faces if mesh.faces is not None else face_table(mesh).faces


@dataclass(frozen=True, eq=False)
class FaceTable:
    """Faces, and which sides of which cells they are."""

    faces: Faces
    sides: Sides
    owner_side: Tensor  # int64 [n_faces]: -1 where a given face is no side of its owner
    neighbour_side: Tensor  # int64 [n_faces]: -1 on the boundary, or as above
    face_of_side: Tensor  # int64 [n_sides]: -1 where the given faces lack it
    crowd: Tensor  # int64 [c]: the sides that more than two cells share, ascending
    crowd_set: Tensor  # int64 [c]: which of them are the same

    @property
    def nonmanifold(self) -> Tensor:
        """int64: the faces that more than two cells share, ascending."""
        found = self.face_of_side[self.crowd]
        return torch.sort(found[found >= 0]).values


def face_table(mesh: Mesh) -> FaceTable:
    """The faces with the sides they are: the given ones where there are, else computed.

    Raises:
        MeshError: as `faces`; or a given face names a point or cell that is not there.
    """
    need_point_ids(mesh)
    computed = mesh.cells.memo("face_table", lambda: _matched(mesh.cells))
    own = mesh.faces
    if own is None:
        return computed
    return own.memo("face_table", mesh.cells.sources, lambda: _linked(own, computed, mesh.n_points))


def need_dim_points(dim: int) -> int:
    """How many distinct points a side needs to be one: a triangle's, a line's, a point."""
    return max(dim, 1)


def _matched(cells: Cells) -> FaceTable:
    """Sides with the same points, paired."""
    table = sides(cells)
    n = len(table)
    ids, count = vertex_set_ids(table.offsets, table.connectivity, least=need_dim_points(cells.dim))
    alone = torch.full((n,), -1, dtype=torch.int64, device=ids.device)
    partner = alone.clone()
    known = ids[ids >= 0]
    members = torch.bincount(known, minlength=count)
    first, last = first_of_each(ids, count), last_of_each(ids, count)
    pairs = torch.nonzero(members == 2).squeeze(1)
    a, b = first[pairs], last[pairs]
    apart = table.cell[a] != table.cell[b]
    a, b = a[apart], b[apart]
    partner[a], partner[b] = b, a
    crowd = (
        torch.nonzero((ids >= 0) & (members[ids.clamp(min=0)] > 2)).squeeze(1) if count else a[:0]
    )
    inner = torch.nonzero(partner > torch.arange(n, device=ids.device)).squeeze(1)
    outer = torch.nonzero(partner < 0).squeeze(1)
    owner_side = torch.cat([inner, outer])
    neighbour_side = partner[owner_side]
    face_of_side = torch.empty_like(alone)
    face = torch.arange(len(owner_side), device=ids.device)
    face_of_side[owner_side] = face
    face_of_side[neighbour_side[: len(inner)]] = face[: len(inner)]
    offsets, places = csr.take_rows(table.offsets, owner_side)
    owner = table.cell[owner_side]
    neighbour = torch.where(neighbour_side < 0, -1, table.cell[neighbour_side])
    dtype = cells.connectivity.dtype
    small = max(len(places), len(cells)) <= torch.iinfo(dtype).max
    wanted = dtype if small else torch.int64
    made = Faces(
        offsets.to(wanted), table.connectivity[places], owner.to(wanted), neighbour.to(wanted)
    )
    return FaceTable(made, table, owner_side, neighbour_side, face_of_side, crowd, ids[crowd])


def _linked(own: Faces, computed: FaceTable, n_points: int) -> FaceTable:
    """Given faces, with the side of each cell that has the same points."""
    table = computed.sides
    n_cells = len(table.of_cell) - 1
    need_face_ids(own, n_cells, n_points)
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
    return FaceTable(
        own,
        table,
        owner_side,
        neighbour_side,
        face_of_side,
        computed.crowd,
        computed.crowd_set,
    )


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
