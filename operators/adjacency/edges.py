"""The edges of a mesh."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import POLYHEDRON
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import row_kernels as compiled
from meshkit.operators.adjacency.pairing import kernels_pay, one_shape
from meshkit.operators.adjacency.sides import need_point_ids, need_polyhedra, top_blocks
from meshkit.operators.adjacency.templates import edge_template
from meshkit.operators.kernels import array, over_rows, unset
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def edges(mesh: Mesh) -> Tensor:
    """The edges of the cells of dimension `mesh.dim`, each once.

    High-order cells have the edges between their corners, polyhedra those of their faces, strips
    those along their outline (as in VTK; the ones inside come with `simplices`), polylines their
    segments. An edge from a point to itself (in a collapsed cell) is none. Points between the
    corners of high-order cells stand on no edge (in `point_points` their rows are empty).

    Returns:
        int [n_edges, 2] in the dtype of the cells' ids: the lower point id first, rows ascending.
        Worked out once while the cells stay unchanged.

    Raises:
        MeshError: as `faces`.
    """
    need_point_ids(mesh)
    cells = mesh.cells

    def make() -> Tensor:
        return edges_by_kernels(cells) if kernels_pay(cells) else edges_by_sorting(cells)

    return cells.memo("edges", make)


def edges_by_sorting(cells: Cells) -> Tensor:
    """The edges through sorted keys, in torch alone: on any device."""
    low, high = torch.sort(_all_edges(cells), 1).values.long().unbind(1)
    bound = cells.id_range[1] + 1
    key = torch.unique((low * bound + high)[low != high])
    pairs = torch.stack([key // max(bound, 1), key % max(bound, 1)], 1)
    return pairs.to(cells.connectivity.dtype)


def edges_by_kernels(cells: Cells) -> Tensor:
    """The edges through buckets of their lower points, in compiled code: on the CPU."""
    need_polyhedra(cells)
    shape = one_shape(cells)
    if shape is not None:
        table = shape[0]
        template = edge_template(int(cells.types[0]), table.shape[1])
    else:
        table, template = _all_edges(cells), ((0, 1),)
    flat, k = array(table).reshape(-1), table.shape[1]
    counts = np.zeros(cells.id_range[1] + 2, np.uint32)
    compiled.count_edges(template)(flat, k, counts)
    starts = np.cumsum(counts, dtype=np.uint32)
    ends, upper = starts[:-1].copy(), np.empty(int(starts[-1]), np.uint32)
    compiled.put_edges(template)(flat, k, ends, upper)
    over_rows(compiled.unique_rows, len(ends), starts, ends, upper)
    n = int((ends - starts[:-1]).sum())
    out = unset(2 * n, cells.connectivity.dtype).view(n, 2)
    compiled.pairs_of_rows(starts, ends, upper, array(out).reshape(-1))
    return out


def _all_edges(cells: Cells) -> Tensor:
    """int [.., 2]: the edges of each cell, in either direction and as often as they occur."""
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
    return torch.cat(pairs)


def following(offsets: Tensor) -> Tensor:
    """int64 [..]: for each value of each row, where the next one of the ring stands.

    >>> following(torch.tensor([0, 3, 5])).tolist()
    [1, 2, 0, 4, 3]
    """
    place = torch.arange(int(offsets[-1]), device=offsets.device) + 1
    some = offsets[1:] > offsets[:-1]
    place[offsets[1:][some].long() - 1] = offsets[:-1][some].long()
    return place
