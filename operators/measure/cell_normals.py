"""Normals of surface cells."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.need_surface import need_surface_cells
from meshkit.operators.measure.surface_normals import surface_normals
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def cell_normals(mesh: Mesh) -> Tensor:
    """The unit normal of each surface cell: the direction of its area vector, right-handed about
    its ring.

    On points in the plane it is (0, 0, 1) or (0, 0, -1). A warped cell has the normal of its mean
    plane, a strip that of its triangles together, a high-order cell that through its corners.

    Returns:
        [n_cells, 3] in the dtype of the points (float16 and bfloat16 are computed in float32).
        NaN for cells that are no surfaces and for those without area (|area vector| at most
        eps times the square of the cell's extent). Differentiable in the points where it is not
        NaN.

    Raises:
        MeshError: a point id is out of range, a type unknown, or a size wrong; or of all cells of
            the mesh not one is of a surface.
    """
    need_point_ids(mesh)
    need_surface_cells("cell_normals", mesh)
    normals = surface_normals(mesh, in_space(mesh.points), float("nan"))
    return normals.to(mesh.points.dtype)
