"""Cells of the next lower dimension, and the faces they lie on."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import FaceTable, face_table
from meshkit.operators.adjacency.pairing import need_dim_points
from meshkit.operators.adjacency.templates import corners, need_size
from meshkit.operators.adjacency.vertex_sets import first_of_each, vertex_set_ids

_MANY = ("poly_line", "poly_vertex", "triangle_strip")
"""Shapes that are several lines, points or triangles in one cell and so lie on no single face."""


def attached_faces(mesh: Mesh) -> Tensor:
    """For each cell the face whose corners are its corners, in any order.

    Surface cells lie on faces of solids, curves on edges of surface cells, vertices on ends of
    curves. Strips and polylines lie on no single face.

    Returns:
        int64 [n_cells]: a row of `faces(mesh)`, the first where several have these corners; -1
        for cells of other dimensions and where there is no such face.

    Raises:
        MeshError: as `faces`.
    """
    table = face_table(mesh)
    return _attached(mesh.cells, table)


def _attached(cells: Cells, table: FaceTable) -> Tensor:
    out = torch.full((len(cells),), -1, dtype=torch.int64, device=cells.types.device)
    ids, offsets, rings = corner_rings(cells, cells.dim - 1)
    faces = table.faces
    if len(ids) == 0 or len(faces) == 0:
        return out
    n = len(faces)
    ends = torch.cat([faces.offsets.long(), offsets[1:] + int(faces.offsets[-1])])
    flat = torch.cat([faces.connectivity.long(), rings.long()])
    found, count = vertex_set_ids(ends, flat, least=need_dim_points(cells.dim))
    first = first_of_each(found[:n], count)
    mine = found[n:]
    face = first[mine.clamp(min=0)] if count else mine
    out[ids] = torch.where((mine >= 0) & (face < n), face, -1)
    return out


def corner_rings(cells: Cells, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """The cells of one dimension that are one ring, line or point: ids, and their corners.

    Returns:
        ids int64 [m], ascending; offsets int64 [m + 1] and connectivity of the corners.
    """
    device = cells.types.device
    parts: list[tuple[Tensor, Tensor]] = []
    for block in cells.blocks:
        row = CELL_TYPES.get(block.type)
        if row is None or row.dim != dim or row.shape in _MANY:
            continue
        need_size(block)
        at = torch.tensor(corners(row, block.connectivity.shape[1]), device=device).long()
        parts.append((block.ids, block.connectivity[:, at]))
    if not parts:
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return none, none.new_zeros(1), cells.connectivity[:0]
    ids = torch.cat([i for i, _ in parts])
    sizes = torch.cat([torch.full_like(i, table.shape[1]) for i, table in parts])
    flat = torch.cat([table.reshape(-1) for _, table in parts])
    order = torch.argsort(ids)
    offsets, places = csr.take_rows(csr.offsets_of(sizes), order)
    return ids[order], offsets, flat[places]
