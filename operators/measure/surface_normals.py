"""Unit normals of surface cells through their corners."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.templates import corners, known_type, need_size, strip_triangles
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import extent, length, matters, over, plain
from meshkit.operators.measure.fan import area_vector
from meshkit.operators.measure.ring_kernel import ring_normals


def surface_normals(mesh: Mesh, points: Tensor, otherwise: float) -> Tensor:
    """[n_cells, 3]: the direction of each surface cell's area vector.

    Args:
        mesh: any; point ids in range.
        points: [n_points, 3].
        otherwise: stands where there is no direction: for cells of other dimensions, and for
            areas that are nothing but rounding.
    """
    parts = []
    for block in mesh.cells.blocks:
        if known_type(block.type, int(block.ids[0])).dim != 2:
            continue
        row = need_size(block)
        size = block.connectivity.shape[1]
        if row.shape == "triangle_strip":
            at = torch.tensor(strip_triangles(size), device=points.device).long().reshape(-1, 3)
            x = points[block.connectivity[:, at].long()]  # [m, triangles, 3, 3]
            vectors = area_vector(x).sum(-2)
            x = x.flatten(1, 2)
        else:
            local = corners(row, size)
            if plain(points):
                whole = local == tuple(range(size))
                table = block.connectivity if whole else block.connectivity[:, list(local)]
                ends = torch.arange(len(table) + 1, device="cpu") * table.shape[1]
                normals = ring_normals(points, ends, table.reshape(-1), otherwise)
                parts.append((block.ids, normals))
                continue
            at = torch.tensor(local, device=points.device).long()
            x = points[block.connectivity[:, at].long()]
            vectors = area_vector(x)
        area = length(vectors)
        scale = extent(x - x.mean(-2, keepdim=True)) if x.shape[-2] else area.detach()
        parts.append((block.ids, over(vectors, area, matters(area, scale, 2), otherwise)))
    return assembled(mesh.n_cells, parts, points.new_zeros(3), otherwise)
