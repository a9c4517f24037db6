"""How long, large or voluminous each cell is."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.measure.cell_moments import cell_moments
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def cell_measures(mesh: Mesh) -> Tensor:
    """The length, area or volume of each cell, by its own dimension.

    - vertices: 0.
    - lines: length, polylines the sum of their segments.
    - surfaces: area of the fan of triangles from the vertex mean, not negative; triangles of the
      fan that face against the cell's area vector count negative, so plane polygons are right
      where they are not convex. Strips: the sum of their triangles.
    - solids: volume of the tets between the fans of the faces and the cell's vertex mean,
      negative where a cell is inside out. For hexahedra and wedges that is the volume of the
      (tri)linear element.
    - high-order cells (quadratic, cubic, Lagrange of degrees up to 12, TET14): the curved element
      itself. Volumes by Gauss rules that are exact for it; lengths and areas by 2 p + 2 points
      an axis at degree p, exact where the cell is straight or plane (not folded) and converging
      fast where it is curved. High-order pyramids, Bezier cells and quadratic polygons: through
      their corners.

    The unit is that of the points to the power of the cell's dimension. The result does not
    depend on where the origin is, beyond the rounding of the points themselves. NaN coordinates
    spoil the cells that use them and no others.

    Returns:
        [n_cells] in the dtype of the points (float16 and bfloat16 are computed in float32).
        Differentiable in the points; where a line or a triangle of a fan has no size, its
        derivative is taken as zero.

    Raises:
        MeshError: a point id is out of range, a type unknown, a size wrong (for a Lagrange cell:
            not that of its degrees), or a convex point set does not say what its faces are; the
            message names the cell.
    """
    return cell_moments(mesh, centroids=False)[0].to(mesh.points.dtype)
