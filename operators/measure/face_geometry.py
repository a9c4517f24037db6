"""Area vectors and centroids of faces."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import FaceTable, face_table, need_face_ids
from meshkit.operators.adjacency.sides import top_blocks
from meshkit.operators.adjacency.templates import edge_template
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import cross, in_space, length, over, plain
from meshkit.operators.measure.fan import area_and_moment, area_vector
from meshkit.operators.measure.ring_kernel import ring_geometry
from meshkit.operators.measure.surface_normals import surface_normals
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def face_area_vectors(mesh: Mesh) -> Tensor:
    """The area vector of each face of `faces(mesh)`: from owner to neighbour, on the boundary
    outward.

    On solids it is the sum of the area vectors of the fan of triangles from the face's vertex
    mean (the fan's centre does not change it), so the faces of a cell close to rounding, also
    warped ones. On surfaces it is the edge times the unit normal of its owner: as long as the
    edge on a flat cell, in the owner's plane, and out of it; on a flat mesh the edges of a cell
    close too (across a fold, owner and neighbour lie in different planes). On curves it is the
    unit tangent, out of the owner. High-order cells: through their corners.

    The unit is that of the points to the power `mesh.dim - 1`. Where the owner of an edge has no
    area, or a line no length, it is zero.

    Returns:
        [n_faces, d] in the dtype of the points (float16 and bfloat16 are computed in float32).
        Differentiable in the points; where something has no size the derivative is zero.

    Raises:
        MeshError: as `faces`; on surfaces and curves also where a given face is no side of its
            owner, which alone says what is outward.
    """
    return _narrow(mesh, _vectors(mesh, in_space(mesh.points)))


@of_mesh
def face_centroids(mesh: Mesh) -> Tensor:
    """The centroid of each face of `faces(mesh)`: of the triangles of its fan, weighted by their
    area along the face's area vector.

    Exact for plane faces of any outline; a face without area has its vertex mean. Edges have
    their midpoint, end points are themselves. High-order cells: through their corners.

    Returns:
        [n_faces, d] in the dtype and unit of the points (float16 and bfloat16 are computed in
        float32). Differentiable in the points.

    Raises:
        MeshError: as `faces`.
    """
    return _narrow(mesh, _centroids(mesh, in_space(mesh.points)))


def face_vectors_and_centroids(mesh: Mesh) -> tuple[Tensor, Tensor]:
    """`face_area_vectors` and `face_centroids`, in one pass over the faces where that is possible.

    Raises:
        MeshError: as `face_area_vectors`.
    """
    points = in_space(mesh.points)
    if mesh.dim == 3 and plain(points):
        found = _found_faces(mesh)
        rings = ring_geometry(points, found.offsets, found.connectivity, "vectors", "centroids")
        vectors, centroids = rings["vectors"], rings["centroids"]
    else:
        vectors, centroids = _vectors(mesh, points), _centroids(mesh, points)
    return _narrow(mesh, vectors), _narrow(mesh, centroids)


def _narrow(mesh: Mesh, found: Tensor) -> Tensor:
    """[n, d] of [n, 3], in the dtype of the points."""
    return found[:, : mesh.points.shape[1]].to(mesh.points.dtype)


def _vectors(mesh: Mesh, points: Tensor) -> Tensor:
    if mesh.dim == 3:
        found = _found_faces(mesh)
        if plain(points):
            return ring_geometry(points, found.offsets, found.connectivity, "vectors")["vectors"]
        return _of_rings(found, points, area_vector)
    table = face_table(mesh)
    need_owner_sides(table)
    return _out_of_sides(mesh, points, table.owner_side)


def _centroids(mesh: Mesh, points: Tensor) -> Tensor:
    found = _found_faces(mesh)
    if plain(points):
        return ring_geometry(points, found.offsets, found.connectivity, "centroids")["centroids"]

    def centre(ring: Tensor) -> Tensor:
        middle = ring.mean(-2)
        return middle if mesh.dim < 3 else middle + area_and_moment(ring)[1]

    return _of_rings(found, points, centre)


def _found_faces(mesh: Mesh) -> Faces:
    """The faces, their ids checked."""
    if mesh.faces is None:
        return face_table(mesh).faces
    need_face_ids(mesh.faces, mesh.n_cells, mesh.n_points)
    return mesh.faces


def _of_rings(found: Faces, points: Tensor, measure: Callable[[Tensor], Tensor]) -> Tensor:
    """[n_faces, 3]: a measure of each face's ring, by rings of one size at a time."""
    parts = [
        (rows, measure(points[ring.long()]))
        for rows, ring in tables(found.offsets, found.connectivity)
    ]
    return assembled(len(found), parts, points.new_zeros(3))


def area_vectors_of_sides(mesh: Mesh, side: Tensor) -> Tensor:
    """[m, d]: on surfaces and curves, as `face_area_vectors`, but out of the cell of each side.

    Args:
        mesh: of dimension 1 or 2.
        side: int64 [m], sides of cells as `face_table` numbers them.
    """
    vectors = _out_of_sides(mesh, in_space(mesh.points), side)
    return vectors[:, : mesh.points.shape[1]].to(mesh.points.dtype)


def need_owner_sides(table: FaceTable) -> None:
    """Refuse given faces that are no sides of their owners.

    Raises:
        MeshError: the message names the first.
    """
    side = table.owner_side
    if bool((side < 0).any()):
        face = int(torch.nonzero(side < 0)[0])
        raise MeshError(
            f"faces: face {face} is no side of its owner, cell {int(table.faces.owner[face])}"
        )


def _out_of_sides(mesh: Mesh, points: Tensor, side: Tensor) -> Tensor:
    """[m, 3]: out of the cell of each side, in its plane or along its line."""
    table = face_table(mesh).sides
    cell = table.cell[side]
    if mesh.dim == 2:
        begin, ring = table.offsets[side], table.connectivity.long()
        edge = points[ring[begin + 1]] - points[ring[begin]]
        return cross(edge, surface_normals(mesh, points, 0.0)[cell])
    if mesh.dim == 1:
        inward, end = curve_ends(mesh)[cell, table.local(side)].unbind(1)
        along = points[end] - points[inward]
        size = length(along)
        return over(along, size, size.detach() != 0, 0.0)
    return points.new_zeros(0, 3)


def curve_ends(mesh: Mesh) -> Tensor:
    """int64 [n_cells, 2, 2]: for both ends of a curve the corner before it, and the end."""
    out = torch.zeros(mesh.n_cells, 2, 2, dtype=torch.int64, device=mesh.device)
    for block in top_blocks(mesh.cells):
        edges = edge_template(block.type, block.connectivity.shape[1])
        if edges:
            at = torch.tensor([edges[0][::-1], edges[-1]], device=mesh.device)
            out[block.ids] = block.connectivity[:, at].long()
    return out
