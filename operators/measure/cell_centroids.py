"""Where the middle of each cell is."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.measure.cell_moments import cell_moments
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def cell_centroids(mesh: Mesh) -> Tensor:
    """The centroid of each cell: the mean position over its length, area or volume.

    Weighted by the same parts as `cell_measures`: exact for any polyhedron with plane faces and
    any plane polygon, convex or not. Areas are projected on the cell's mean plane. High-order
    cells are integrated over the curved element, as `cell_measures` says.

    A cell whose measure is zero (at most eps times its extent to the power of its dimension) has
    its vertex mean, and so has a vertex or poly-vertex; a cell without points has NaN.

    Returns:
        [n_cells, d] in the dtype and unit of the points (float16 and bfloat16 are computed in
        float32). Differentiable in the points.

    Raises:
        MeshError: as `cell_measures`.
    """
    return cell_moments(mesh)[1][:, : mesh.points.shape[1]].to(mesh.points.dtype)
