"""Which points, cells and faces meet, as compressed rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.edges import edges
from meshkit.operators.adjacency.faces import face_table, faces
from meshkit.operators.adjacency.sides import need_point_ids


@dataclass(frozen=True, eq=False)
class Adjacency:
    """What meets what: row i is indices[offsets[i]:offsets[i + 1]], ascending, without repeats."""

    offsets: Tensor  # int64 [n + 1]
    indices: Tensor  # int64 [..]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def point_points(mesh: Mesh) -> Adjacency:
    """For each point those at the other end of an edge of `edges(mesh)`.

    Raises:
        MeshError: as `faces`.
    """
    a, b = edges(mesh).long().unbind(1)
    return _rows(torch.cat([a, b]), torch.cat([b, a]), mesh.n_points, mesh.n_points)


def point_cells(mesh: Mesh) -> Adjacency:
    """For each point the cells of dimension `mesh.dim` that list it, as a corner or in between.

    Raises:
        MeshError: a point id is out of range.
    """
    need_point_ids(mesh)
    cells = mesh.cells
    cell = csr.row_of_each(cells.offsets)
    top = cells.dims[cell] == mesh.dim
    return _rows(cells.connectivity.long()[top], cell[top], mesh.n_points, mesh.n_cells)


def cell_cells(mesh: Mesh) -> Adjacency:
    """For each cell those that share a face of `faces(mesh)` with it.

    All cells of a face that more than two share are linked with each other. Rows of cells of
    lower dimension are empty.

    Raises:
        MeshError: as `faces`.
    """
    table = face_table(mesh)
    inner = table.faces.neighbour >= 0
    a, b = table.faces.owner[inner].long(), table.faces.neighbour[inner].long()
    c, d = _all_pairs(table.crowd_set, table.sides.cell[table.crowd])
    apart = c != d
    first = torch.cat([a, b, c[apart]])
    second = torch.cat([b, a, d[apart]])
    return _rows(first, second, mesh.n_cells, mesh.n_cells)


def cell_faces(mesh: Mesh) -> Adjacency:
    """For each cell the rows of `faces(mesh)` of which it is owner or neighbour.

    Raises:
        MeshError: as `faces`.
    """
    table = faces(mesh)
    face = torch.arange(len(table), device=mesh.device)
    inner = table.neighbour >= 0
    cell = torch.cat([table.owner.long(), table.neighbour[inner].long()])
    return _rows(cell, torch.cat([face, face[inner]]), mesh.n_cells, len(table))


def _all_pairs(group: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
    """Every ordered pair of members of one group."""
    order = torch.argsort(group, stable=True)
    member = member[order]
    _, counts = torch.unique_consecutive(group[order], return_counts=True)
    each = torch.repeat_interleave(counts, counts)  # for each member, how many the group has
    begin = torch.repeat_interleave(csr.offsets_of(counts)[:-1], counts)
    offsets = csr.offsets_of(each)
    other = torch.repeat_interleave(begin, each) + csr.place_of_each(offsets)
    return torch.repeat_interleave(member, each), member[other]


def _rows(row: Tensor, value: Tensor, n: int, bound: int) -> Adjacency:
    """Pairs (row, value) as compressed rows, each pair once."""
    key = torch.unique(row * bound + value)
    row, value = key // max(bound, 1), key % max(bound, 1)
    return Adjacency(csr.offsets_of(torch.bincount(row, minlength=n)), value)
