"""Which points, cells and faces meet, as compressed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import listed_kernels as turning, row_kernels as compiled
from meshkit.operators.adjacency.edges import edges
from meshkit.operators.adjacency.faces import FaceTable, face_table, faces
from meshkit.operators.adjacency.pairing import Pairing, kernels_pay, lists_pay, one_shape, pairing
from meshkit.operators.adjacency.sides import need_point_ids, need_rows, sides
from meshkit.operators.kernels import Array, array, over_rows
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import need_choice

Through = Literal["faces", "points"]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """What meets what: row i is indices[offsets[i]:offsets[i + 1]], ascending, without repeats.

    Args:
        offsets: int64 [n + 1], ascending from 0: where each of the n rows begins, and the end.
        indices: int64 [m]: the entries of all rows, one row after the other.
    """

    offsets: Tensor
    indices: Tensor

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Adjacency({len(self)} rows, {len(self.indices)} entries)"

    def to_edge_index(self) -> Tensor:
        """int64 [2, m]: every (row, index) as a column, row by row, as graph libraries want them.

        `point_points` and `cell_cells` hold each link in both directions, so that messages that
        run along either direction are the same.

        >>> Adjacency(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2])).to_edge_index().tolist()
        [[0, 1, 1], [1, 0, 2]]
        """
        return torch.stack([csr.row_of_each(self.offsets), self.indices])


@of_mesh
def point_points(mesh: Mesh) -> Adjacency:
    """For each point those at the other end of an edge of `edges(mesh)`.

    Points between the corners of high-order cells stand on no edge: their rows are empty, and in
    `to_edge_index()` they are isolated.

    Returns:
        n_points rows of point ids. Worked out once while the cells stay unchanged. Exact; runs
        where the mesh lies.

    Raises:
        MeshError: as `faces`.
    """
    pairs, n, cells = edges(mesh), mesh.n_points, mesh.cells

    def make() -> Adjacency:
        if kernels_pay(cells):
            return points_by_kernels(pairs, n)
        a, b = pairs.long().unbind(1)
        return by_sorting(torch.cat([a, b]), torch.cat([b, a]), n, n)

    return cells.memo(("point_points", n), make)


@of_mesh
def point_cells(mesh: Mesh) -> Adjacency:
    """For each point the cells of dimension `mesh.dim` that list it, as a corner or in between.

    Returns:
        n_points rows of cell ids. Worked out once while the cells stay unchanged. Exact; runs
        where the mesh lies.

    Raises:
        MeshError: a point id is out of range.
    """
    cells, n = mesh.cells, mesh.n_points

    def make() -> Adjacency:
        if lists_pay(cells):
            return listed_by_kernels(mesh)
        need_point_ids(mesh)
        cell = csr.row_of_each(cells.offsets)
        top = cells.dims[cell] == cells.dim
        return by_sorting(cells.connectivity.long()[top], cell[top], n, len(cells))

    return cells.memo(("point_cells", n), make)


@of_mesh
def cell_cells(mesh: Mesh, *, through: Through = "faces") -> Adjacency:
    """For each cell those that share a face of `faces(mesh)` with it, or any point.

    Args:
        through: "faces": cells on both sides of a face, and all cells of a face that more than
            two share. "points": cells of dimension `mesh.dim` that list a point in common (about
            70 for a tet, and they are not kept).

    Returns:
        Rows of cells of lower dimension are empty; no cell is its own neighbour. Worked out once
        while cells and faces stay unchanged. Exact; runs where the mesh lies.

    Raises:
        MeshError: as `faces`, or `through` is neither.
    """
    need_choice("cell_cells: expected through", through, ("faces", "points"))
    if through == "points":
        return _through_points(mesh)
    table, cells = face_table(mesh), mesh.cells

    def make() -> Adjacency:
        plain = mesh.faces is None and len(table.crowd) == 0
        if plain and kernels_pay(cells):
            return cells_by_kernels(cells, pairing(cells))
        first, second = face_links(table)
        return by_sorting(
            torch.cat([first, second]), torch.cat([second, first]), len(cells), len(cells)
        )

    if mesh.faces is None:
        return cells.memo("cell_cells", make)
    return mesh.faces.memo("cell_cells", cells.sources, make)


@of_mesh
def cell_faces(mesh: Mesh) -> Adjacency:
    """For each cell the rows of `faces(mesh)` of which it is owner or neighbour.

    Returns:
        n_cells rows of face ids, those of cells of lower dimension empty. Worked out once while
        cells and faces stay unchanged. Exact; runs where the mesh lies.

    Raises:
        MeshError: as `faces`.
    """
    table, n = faces(mesh), mesh.n_cells

    def make() -> Adjacency:
        if kernels_pay(mesh.cells):
            return faces_by_kernels(table, n)
        face = torch.arange(len(table), device=mesh.device)
        inner = table.neighbour >= 0
        cell = torch.cat([table.owner.long(), table.neighbour[inner].long()])
        return by_sorting(cell, torch.cat([face, face[inner]]), n, len(table))

    return table.memo(("cell_faces", n), (), make)


def face_links(table: FaceTable) -> tuple[Tensor, Tensor]:
    """int64 [m] each: two cells that share a face, those of crowded faces each with each once."""
    owner, neighbour = table.faces.owner, table.faces.neighbour
    inner = (neighbour >= 0) & (neighbour != owner)
    a, b = owner[inner].long(), neighbour[inner].long()
    if len(table.crowd) == 0:
        return a, b
    c, d = _all_pairs(table.crowd_set, table.sides.cell[table.crowd])
    apart = c < d
    return torch.cat([a, c[apart]]), torch.cat([b, d[apart]])


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


def _through_points(mesh: Mesh) -> Adjacency:
    around, cells = point_cells(mesh), mesh.cells
    if kernels_pay(cells):
        return cells_around_by_kernels(cells, around)
    cell = csr.row_of_each(cells.offsets)
    top = cells.dims[cell] == cells.dim
    cell, point = cell[top], cells.connectivity[top]
    offsets, places = csr.take_rows(around.offsets, point)
    first, second = cell[csr.row_of_each(offsets)], around.indices[places]
    apart = first != second
    return by_sorting(first[apart], second[apart], len(cells), len(cells))


# --- in torch alone, on any device ---------------------------------------------------------------


def by_sorting(row: Tensor, value: Tensor, n: int, bound: int) -> Adjacency:
    """Pairs (row, value) as compressed rows, each pair once."""
    key = torch.unique(row * bound + value)
    row, value = key // max(bound, 1), key % max(bound, 1)
    return Adjacency(csr.offsets_of(torch.bincount(row, minlength=n)), value)


# --- in compiled code, on the CPU ----------------------------------------------------------------


def _adjacency(counts: Array, indices: Array) -> Adjacency:
    return Adjacency(torch.from_numpy(counts), torch.from_numpy(indices))


def _filled(out: Array, used: int) -> Array:
    """What is used of it; where much is free (cells that hardly touch), that is given back."""
    return out[:used] if used > 0.75 * len(out) else out[:used].copy()


def points_by_kernels(pairs: Tensor, n: int) -> Adjacency:
    """Both ends of ascending edges as rows."""
    flat, counts = array(pairs).reshape(-1), np.zeros(n + 1, np.int64)
    compiled.count_both_ends(flat, counts)
    offsets = np.cumsum(counts)
    out = np.empty(len(flat), np.int64)
    compiled.put_both_ends(flat, offsets[:-1].copy(), out)
    return _adjacency(offsets, out)


def listed_by_kernels(mesh: Mesh) -> Adjacency:
    """The cells that list each point.

    Raises:
        MeshError: as `need_point_ids`.
    """
    cells = mesh.cells
    need_rows(cells)
    offsets, points = array(cells.offsets), array(cells.connectivity)
    top = np.zeros(0, np.bool_) if cells.uniform is not None else array(cells.dims == cells.dim)
    ends = np.zeros(mesh.n_points + 1, np.uint32)
    if not turning.count_listed(offsets, points, top, ends) or cells.polyhedra is not None:
        need_point_ids(mesh)  # says which one is wrong, and looks at the faces of polyhedra
    out = np.empty(int(ends[-1]), np.int64)
    rows = out.view(np.uint32)[len(out) :]  # half the memory to jump about in
    turning.put_listed(offsets, points, top, ends, rows)
    twice, starts = turning.widen_listed(ends, rows, out), ends.astype(np.int64)
    if twice:
        turning.drop_repeats(starts, out)
    return _adjacency(starts, _filled(out, int(starts[-1])))


def faces_by_kernels(table: Faces, n: int) -> Adjacency:
    """The faces of each cell."""
    owner, neighbour, counts = array(table.owner), array(table.neighbour), np.zeros(n + 1, np.int64)
    compiled.count_faces(owner, neighbour, counts)
    offsets = np.cumsum(counts)
    out = np.empty(int(offsets[-1]), np.int64)
    compiled.put_faces(owner, neighbour, offsets[:-1].copy(), out)
    return _adjacency(offsets, out)


def cells_by_kernels(cells: Cells, pairs: Pairing) -> Adjacency:
    """The cells beyond the sides of each, where no face is crowded."""
    partner, n = array(pairs.partner), len(cells)
    offsets, out = np.zeros(n + 1, np.int64), np.empty(len(partner), np.int64)
    shape = one_shape(cells)
    if shape is not None:
        used = compiled.cells_by_sides(len(shape[1]))(partner, offsets, out)
    else:
        table = sides(cells)
        used = compiled.cells_by_any_sides(
            array(table.of_cell), array(table.cell), partner, offsets, out
        )
    return _adjacency(offsets, _filled(out, used))


def cells_around_by_kernels(cells: Cells, around: Adjacency) -> Adjacency:
    """The other cells around the points of each."""
    n = len(cells)
    given = (
        array(cells.offsets),
        array(cells.connectivity),
        array(cells.dims == cells.dim),
        array(around.offsets),
        array(around.indices),
    )
    sizes, none = np.zeros(n, np.int64), np.zeros(0, np.int64)
    over_rows(compiled.cells_by_points, n, *given, sizes, none, none)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.int64)
    over_rows(compiled.cells_by_points, n, *given, sizes, offsets, out)
    return _adjacency(offsets, out)
