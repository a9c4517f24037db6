"""Normals at the points of a surface."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.measure import surface_kernel as compiled
from meshkit.operators.measure.coordinates import in_space, length, matters, over, plain
from meshkit.operators.measure.corner_angles import ring_angles
from meshkit.operators.measure.fan import area_vector
from meshkit.operators.measure.need_surface import need_surface_cells
from meshkit.operators.measure.rings import ring_table, surface_rings
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def point_normals(mesh: Mesh) -> Tensor:
    """The unit normal at each point: the mean of the normals of the surface cells around it, each
    weighted by its angle there.

    It does not depend on how the surface is cut into cells. Corners of cells without area have no
    say. High-order cells: through their corners.

    Returns:
        [n_points, 3] in the dtype of the points (float16 and bfloat16 are computed in float32).
        NaN at points of no surface cell and where the normals cancel. Second order on smooth
        surfaces of regular triangles, else first. Differentiable in the points where not NaN.

    Raises:
        MeshError: a point id is out of range, a type unknown, or a size wrong; or of all cells of
            the mesh not one is of a surface.

    Source: Thürmer and Wüthrich, Computing vertex normals from polygonal facets, JGT 3(1) 1998.
    """
    need_point_ids(mesh)
    need_surface_cells("point_normals", mesh)
    return unit_normals(mesh, in_space(mesh.points)).to(mesh.points.dtype)


def unit_normals(mesh: Mesh, points: Tensor) -> Tensor:
    """[n_points, 3]: as `point_normals`, of points [n_points, 3]."""
    if plain(points):
        return compiled.unit_normals(points, ring_table(mesh.cells)).to(points.dtype)
    normals = _weighted(mesh, points)
    size = length(normals)
    return over(normals, size, matters(size, size.new_tensor(compiled.ROUNDING), 1), float("nan"))


def _weighted(mesh: Mesh, points: Tensor) -> Tensor:
    """[n_points, 3]: the sum of angle times unit normal over the surface cells around."""
    out = points.new_zeros(mesh.n_points, 3)
    for rings in surface_rings(mesh.cells):
        x = points[rings.points]
        vector = area_vector(x)
        size = length(vector)
        apart = (x - x[:, :1]).detach().abs().amax((1, 2))
        usable = matters(size, apart, 2)
        normal = over(vector, size, usable, 0.0)
        angle = torch.nan_to_num(ring_angles(x), nan=0.0)  # at an edge without length
        share = angle.unsqueeze(-1) * normal[:, None]
        out = out.index_add(0, rings.points.reshape(-1), share.reshape(-1, 3))
    return out
