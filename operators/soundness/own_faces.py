"""Faces that a mesh brings along and that do not fit its cells."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit import csr
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import FaceTable, face_table
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.inheritance import looked_up, numbering
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import dot, in_space
from meshkit.operators.measure.fan import area_vector
from meshkit.operators.soundness.finding import Finding, found, places


def of_own_faces(mesh: Mesh, part: Mesh, ids: Tensor) -> Iterator[Finding]:
    """Given faces out of range, not of their cells, missing, or looking the wrong way.

    Args:
        mesh: the mesh, with faces.
        part: its usable cells alone.
        ids: which cells of the mesh these are.
    """
    own = mesh.faces
    if own is None:
        return
    n_cells, n_points = mesh.n_cells, mesh.n_points
    bad = (own.connectivity < 0) | (own.connectivity >= n_points)
    wrong_points = torch.zeros(len(own), dtype=torch.bool, device=mesh.device)
    wrong_points[csr.row_of_each(own.offsets)[bad]] = True
    what = f"point ids outside 0 to {n_points - 1}"
    yield from found("id_out_of_range", "error", what, places(wrong_points), "faces")
    owner, neighbour = own.owner.long(), own.neighbour.long()
    outside = (owner < 0) | (owner >= n_cells) | (neighbour < -1) | (neighbour >= n_cells)
    what = "an owner or neighbour that is no cell"
    yield from found("faces_out_of_range", "error", what, places(outside), "faces")
    # What is left is looked at beside the usable cells, numbered as they are.
    new = numbering(ids, n_cells)
    here, there = looked_up(new, owner), looked_up(new, neighbour)
    rows = places(~(wrong_points | outside) & (here >= 0) & ((neighbour < 0) | (there >= 0)))
    offsets, at = csr.take_rows(own.offsets, rows)
    some = Faces(offsets, own.connectivity[at], here[rows], there[rows])
    table = face_table(part.replace(faces=some))
    strange = (table.owner_side < 0) | ((some.neighbour >= 0) & (table.neighbour_side < 0))
    strange |= some.owner == some.neighbour
    what = "no side of their owner or neighbour"
    yield from found("faces_not_of_cell", "error", what, rows[places(strange)], "faces")
    missing = torch.unique(table.sides.cell[places(table.face_of_side < 0)])
    what = "a side that no face covers"
    yield from found("faces_missing", "error", what, ids[missing])
    if part.dim == 3:
        what = "look into their owner"
        wrong = rows[places(_inward(part, some, table))]
        yield from found("faces_orientation", "error", what, wrong, "faces")


def _inward(part: Mesh, own: Faces, table: FaceTable) -> Tensor:
    """bool [n]: faces whose area vector is against that of the side they are."""
    points = in_space(part.points)

    def vectors(offsets: Tensor, rings: Tensor) -> Tensor:
        parts = [(r, area_vector(points[ring.long()])) for r, ring in tables(offsets, rings)]
        return assembled(len(offsets) - 1, parts, points.new_zeros(3))

    known = places(table.owner_side >= 0)
    offsets, at = csr.take_rows(table.sides.offsets, table.owner_side[known])
    out = vectors(offsets, table.sides.connectivity[at])
    against = torch.zeros(len(own), dtype=torch.bool, device=points.device)
    against[known] = dot(vectors(own.offsets, own.connectivity)[known], out) < 0
    return against
