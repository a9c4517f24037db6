"""How high the first cells above a wall are."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from meshkit import csr
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.integral.patch import Patch
from meshkit.operators.integral.patches import of_faces, of_sides
from meshkit.operators.integral.pieces import pieces
from meshkit.operators.integral.values import found_region
from meshkit.operators.measure.cell_centroids import cell_centroids
from meshkit.operators.measure.coordinates import dot, in_space, length, over
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import need_choice
from meshkit.regions import Region

To = Literal["top", "centroid"]


@of_mesh
def first_cell_heights(mesh: Mesh, region: str | Region, *, to: To = "top") -> Tensor:
    """The height of the cell above each face of a region, along the normal of the face.

    To the top it is the distance between the plane of the face and the farthest point of the
    cell: the thickness of the first layer of wedges and hexahedra, the height of a tet. To the
    centroid it is the distance of the cell's centroid, which y+ is worked out from in
    cell-centred codes.

    Args:
        mesh: any whose cells have the faces of the region.
        region: a name in `mesh.regions`, or a Region, of faces, sides, or cells that lie on
            faces. The cell is the owner, or that of the side.
        to: "top" or "centroid".

    Returns:
        [n], a row for each of the region's ids in their order, in the dtype and unit of the
        points (worked out in float64). NaN where a face has no area. Differentiable in the
        points.

    Raises:
        MeshError: the region is unknown, of points or edges, or a cell of it lies on no face.

    A face that is warped counts as its mean plane through the mean of its fan.
    """
    need_choice("first_cell_heights: expected to", to, ("top", "centroid"))
    need_point_ids(mesh)
    patch = _patch(mesh, found_region(mesh, region))
    points = in_space(mesh.points).double()
    normal, middle = points.new_zeros(len(patch), 3), points.new_zeros(len(patch), 3)
    for part in pieces(patch, points):
        normal = normal.index_copy(0, part.rows, part.vectors.sum(1))
        middle = middle.index_copy(0, part.rows, part.at.mean((1, 2)))
    size = length(normal)
    inward = over(-normal, size, size.detach() != 0, float("nan"))
    if to == "centroid":
        wide = mesh.replace(points=points[:, : mesh.points.shape[1]])
        return dot(in_space(cell_centroids(wide))[patch.cell] - middle, inward).to(
            mesh.points.dtype
        )
    cells = mesh.cells
    ends, places = csr.take_rows(cells.offsets.long(), patch.cell)
    row = csr.row_of_each(ends)
    reach = dot(points[cells.connectivity.long()[places]] - middle[row], inward[row])
    out = points.new_full((len(patch),), float("nan"))
    out = out.scatter_reduce(0, row, reach, "amax", include_self=False)
    return out.to(mesh.points.dtype)


def _patch(mesh: Mesh, region: Region) -> Patch:
    ids = region.ids.long()
    if region.entity == "side":
        return of_sides(mesh, region, ids, None)
    if region.entity == "face":
        return of_faces(mesh, ids, None)
    if region.entity == "cell":
        face = attached_faces(mesh)[ids]
        if bool((face < 0).any()):
            cell = int(ids[torch.nonzero(face < 0)[0]])
            raise MeshError(f"region {region.name!r}: cell {cell} lies on no face of the mesh")
        return of_faces(mesh, face, None)
    raise MeshError(
        f"region {region.name!r} of {region.entity}s has no cell above it; give one of faces, "
        "sides or cells that lie on faces"
    )
