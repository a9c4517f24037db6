"""How much of a mesh belongs to each point."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.part import top_cells
from meshkit.operators.measure.shares import point_shares
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def dual_measures(mesh: Mesh) -> Tensor:
    """The length, area or volume of the part of the mesh around each point, from the cells of
    dimension `mesh.dim`.

    - lines: half of each segment.
    - triangles: what lies nearest to the corner (the Voronoi part, bounded by the perpendicular
      bisectors). A triangle with an obtuse angle gives half of itself to that corner and a quarter
      to each of the others: at a right angle both rules agree, so the answer is continuous.
    - other surface cells: of the fan from the vertex mean, the two half triangles at each corner.
    - solids: of the tets of the fan, half to each end of the edge they stand on; where a face is
      a triangle a third to each corner. So a tet gives a quarter to each corner: the
      circumcentric parts of tets are negative in ordinary meshes.

    All parts together are the measure of the mesh (that through the corners for high-order cells,
    whose points between corners have 0). Not negative on convex cells. An inverted solid counts
    negative, as in `cell_measures`. For the exact integral of a linear field from its values at
    points take `integration_weights`, which differ on cells that are no simplices.

    Returns:
        [n_points] in the dtype of the points (float16 and bfloat16 are computed in float32), in
        their unit to the power `mesh.dim`; 0 at points of no such cell. Differentiable in the
        points (at a right angle from one side). NaN spoils the points of the cells it is in.

    Raises:
        MeshError: as `cell_measures`.

    Source: Meyer, Desbrun, Schröder and Barr, Discrete differential-geometry operators for
        triangulated 2-manifolds, 2003 (the mixed area of triangles).
    """
    need_point_ids(mesh)
    return point_shares(top_cells(mesh), in_space(mesh.points), "dual").to(mesh.points.dtype)
