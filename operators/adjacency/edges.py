"""The edges of a mesh."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import POLYHEDRON
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids, need_polyhedra, top_blocks
from meshkit.operators.adjacency.templates import edge_template


def edges(mesh: Mesh) -> Tensor:
    """The edges of the cells of dimension `mesh.dim`, each once.

    High-order cells have the edges between their corners, polyhedra those of their faces, strips
    those along their outline (as in VTK; the ones inside come with `simplices`), polylines their
    segments. An edge from a point to itself (in a collapsed cell) is none.

    Returns:
        int [n_edges, 2] in the dtype of the cells' ids: the lower point id first, rows ascending.
        Worked out once while the cells stay unchanged.

    Raises:
        MeshError: as `faces`.
    """
    need_point_ids(mesh)
    return mesh.cells.memo("edges", lambda: _edges(mesh.cells))


def _edges(cells: Cells) -> Tensor:
    ids = cells.connectivity
    need_polyhedra(cells)
    pairs = [ids.new_zeros(0, 2)]
    for block in top_blocks(cells):
        template = edge_template(block.type, block.connectivity.shape[1])
        if template:
            at = torch.tensor(template, device=ids.device)
            pairs.append(block.connectivity[:, at].reshape(-1, 2))
        elif block.type == POLYHEDRON and cells.polyhedra is not None:
            rings = cells.polyhedra
            ends = rings.connectivity[following(rings.offsets)]
            pairs.append(torch.stack([rings.connectivity, ends], 1).to(ids.dtype))
    low, high = torch.sort(torch.cat(pairs), 1).values.long().unbind(1)
    bound = cells.id_range[1] + 1
    key = torch.unique((low * bound + high)[low != high])
    return torch.stack([key // max(bound, 1), key % max(bound, 1)], 1).to(ids.dtype)


def following(offsets: Tensor) -> Tensor:
    """int64 [..]: for each value of each row, where the next one of the ring stands.

    >>> following(torch.tensor([0, 3, 5])).tolist()
    [1, 2, 0, 4, 3]
    """
    place = torch.arange(int(offsets[-1]), device=offsets.device) + 1
    some = offsets[1:] > offsets[:-1]
    place[offsets[1:][some].long() - 1] = offsets[:-1][some].long()
    return place
