"""The angles between the cells of a surface, along its edges."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.dihedral_angles import angle_inside
from meshkit.operators.measure.need_surface import need_surface
from meshkit.operators.measure.surface_normals import surface_normals
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def edge_angles(mesh: Mesh) -> Tensor:
    """The angle between the two cells at each edge of a surface, measured below the surface (on
    the side its normals point away from).

    pi where the cells are in one plane, below pi where the surface is convex (a cube with normals
    outward: pi / 2), above pi where it is concave. Cells count as their mean planes.

    Returns:
        [n_faces], a row for each edge of `faces(mesh)`, in radians, in the dtype of the points
        (float16 and bfloat16 are computed in float32). NaN on the boundary, at edges of more than
        two cells, at given edges that are no side of their cells, beside cells without area, and
        where the two cells disagree about which side is up. Differentiable in the points.

    Raises:
        MeshError: the mesh is no surface, or as `face_area_vectors`.
    """
    need_surface("edge_angles", mesh)
    table = face_table(mesh)
    points = in_space(mesh.points)
    normals = surface_normals(mesh, points, float("nan"))
    rings, starts = table.sides.connectivity.long(), table.sides.offsets
    mine, theirs = table.owner_side, table.neighbour_side
    begin = rings[starts[mine.clamp(min=0)]]
    end = rings[starts[mine.clamp(min=0)] + 1]
    other = rings[starts[theirs.clamp(min=0)]]
    owner, neighbour = table.faces.owner.long(), table.faces.neighbour.long()
    angle = angle_inside(
        normals[owner], normals[neighbour.clamp(min=0)], points[end] - points[begin]
    )
    known = (mine >= 0) & (theirs >= 0) & (other == end)
    return torch.where(known, angle, float("nan")).to(mesh.points.dtype)
