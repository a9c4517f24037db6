"""Polyhedra whose source listed their faces in any direction."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Polyhedra


def oriented_polyhedra(points: Tensor, polyhedra: Polyhedra) -> tuple[Polyhedra, int]:
    """The polyhedra with every face seen as a ring from outside, and how many were changed.

    Within a cell, faces that share an edge must run along it in opposite directions; the signed
    volume then tells out from in. A cell whose faces cannot agree (an edge of more than two
    faces) is turned as far as they can, a cell of zero or NaN volume is made consistent only.
    The first point of a face stays its first.

    Args:
        points: float [n_points, 3].
        polyhedra: any; ids in range.
    """
    ids = polyhedra.connectivity.long()
    n_faces = len(polyhedra.offsets) - 1
    if n_faces == 0:
        return polyhedra, 0
    cell_of_face = csr.row_of_each(polyhedra.faces)
    face = csr.row_of_each(polyhedra.offsets)
    following = _next_in_ring(polyhedra.offsets)
    a, b = ids, ids[following]
    flip = _consistent(a, b, face, cell_of_face, n_faces)
    outward = _volumes(points, a, b, face, cell_of_face, len(polyhedra), flip) < 0
    flip = flip ^ outward[cell_of_face]
    changed = torch.zeros(len(polyhedra), dtype=torch.bool, device=ids.device)
    changed[cell_of_face[flip]] = True
    if not bool(flip.any()):
        return polyhedra, 0
    place = csr.place_of_each(polyhedra.offsets)
    size = csr.lengths_of(polyhedra.offsets).long()[face]
    back = torch.where(place > 0, size - place, place)
    start = polyhedra.offsets[:-1].long()[face]
    ring = polyhedra.connectivity[start + torch.where(flip[face], back, place)]
    return Polyhedra(polyhedra.faces, polyhedra.offsets, ring), int(changed.sum())


def _next_in_ring(offsets: Tensor) -> Tensor:
    """For each value of each row, where the next one of the ring stands."""
    at = torch.arange(int(offsets[-1]), device=offsets.device) + 1
    row = csr.row_of_each(offsets)
    ends = offsets[1:].long()[row]
    return torch.where(at == ends, offsets[:-1].long()[row], at)


def _consistent(a: Tensor, b: Tensor, face: Tensor, cell_of_face: Tensor, n_faces: int) -> Tensor:
    """bool [n_faces]: which faces to turn so that neighbours within a cell agree.

    Neighbours are faces of a cell that follow each other in the sort by edge; from the first
    face of each cell the agreement spreads over all cells at once, one layer a round.
    """
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    cell = cell_of_face[face]
    order = torch.argsort(high, stable=True)
    order = order[torch.argsort(low[order], stable=True)]
    order = order[torch.argsort(cell[order], stable=True)]
    one, two = order[:-1], order[1:]
    same = (cell[one] == cell[two]) & (low[one] == low[two]) & (high[one] == high[two])
    same &= face[one] != face[two]
    one, two = one[same], two[same]
    f, g = face[one], face[two]
    disagree = (a[one] < b[one]) == (a[two] < b[two])
    flip = torch.zeros(n_faces, dtype=torch.bool, device=a.device)
    if not bool(disagree.any()):
        return flip
    f, g, disagree = torch.cat([f, g]), torch.cat([g, f]), torch.cat([disagree, disagree])
    known = torch.zeros_like(flip)
    first = torch.ones_like(cell_of_face, dtype=torch.bool)
    first[1:] = cell_of_face[1:] != cell_of_face[:-1]
    known[first] = True
    while not bool(known.all()):
        reached = known[f] & ~known[g]
        if bool(reached.any()):
            flip[g[reached]] = flip[f[reached]] ^ disagree[reached]
            known[g[reached]] = True
            continue
        # Faces that share no edge with the rest of their cell start over from their first.
        left = torch.nonzero(~known).squeeze(1)
        of = cell_of_face[left]
        begins = torch.ones_like(of, dtype=torch.bool)
        begins[1:] = of[1:] != of[:-1]
        known[left[begins]] = True
    return flip


def _volumes(
    points: Tensor,
    a: Tensor,
    b: Tensor,
    face: Tensor,
    cell_of_face: Tensor,
    n_cells: int,
    flip: Tensor,
) -> Tensor:
    """Six times the signed volume of each cell with the faces turned so; a sign is wanted."""
    at = points.to(torch.float64)
    cell = cell_of_face[face]

    def mean(of: Tensor, n: int) -> Tensor:
        total = at.new_zeros(n, 3).index_add(0, of, at[a])
        return total / torch.bincount(of, minlength=n).clamp(min=1)[:, None]

    apex = mean(cell, n_cells)[cell]
    middle = mean(face, len(flip))[face] - apex
    p, q = at[a] - apex, at[b] - apex
    part = (middle * torch.linalg.cross(p, q)).sum(1)
    part = torch.where(flip[face], -part, part)
    return part.new_zeros(n_cells).index_add(0, cell, part)
