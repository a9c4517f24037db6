"""What a vector field carries through surfaces."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces, need_face_ids
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.integral.flux_kernel import flux_of_cells, flux_of_rings
from meshkit.operators.integral.patch import Patch, need_faces
from meshkit.operators.integral.patches import all_faces, patch_of
from meshkit.operators.integral.pieces import pieces, spread
from meshkit.operators.integral.summation import narrow_dtype, total, wide
from meshkit.operators.integral.values import On, found_region, need_values
from meshkit.operators.integral.weights import cell_share
from meshkit.operators.measure.coordinates import dot, in_space, plain
from meshkit.operators.measure.ring_kernel import ring_geometry
from meshkit.operators.of_mesh import of_mesh
from meshkit.regions import Region


@of_mesh
def flux(mesh: Mesh, vectors: Tensor, *, on: On, region: str | Region | None = None) -> Tensor:
    """The flux of a vector field through a region, or out of each cell.

    Without a region, on a surface, it is the flux in the plane through each cell's edges; for the
    flux through a surface mesh give a region of all its cells (`force` integrates through the
    surface).

    The integral of vector times unit normal. Normals point out of the owner of a face (so on the
    boundary out of the mesh), out of the cell of a side, and along the normal of a surface cell
    (by its ring; a surface cell on the boundary of solids: out of the mesh); curves in the plane
    have theirs to the right of their direction. A region that says `flip` turns them round.

    On points the field is linear in the fan of each face, so the flux of a linear field is exact
    on any face, warped or not, and its flux out of a cell is its divergence times the volume to
    round-off; high-order cells go through their corners, here and in that volume. On faces a
    vector stands for its whole face: exact for constant fields, and for linear ones given at the
    centroids of plane faces. On cells the boundary has the vector of its owner, a face between two
    cells both, interpolated along the normal: exact for constant fields, and for linear ones where
    the line between the centroids meets that of the face.

    Args:
        mesh: any; without a region one of dimension 1 to 3: vertices have no faces and get 0, and
            points without cells an empty answer.
        vectors: [n, ..., d], a row for each point, cell or face; all components but the last
            axis are carried along (of a stress the rows are carried).
        on: "points", "cells" or "faces".
        region: a name in `mesh.regions`, or a Region, of faces, sides or surface cells; None for
            the flux out of each cell of dimension `mesh.dim`.

    Returns:
        [...] for a region, else [n_cells, ...] (0 for cells of lower dimension; one flux a face,
        so that fluxes of neighbours cancel; on bent surfaces each edge counts in the plane of its
        owner). In the wider dtype of vectors and points, worked out in float64. Differentiable in
        vectors and points.

    Raises:
        MeshError: vectors do not fit, the region is unknown, names what is not there, or has no
            normal.
    """
    need_values("flux", "vectors", mesh, vectors, on, mesh.points.shape[1])
    need_point_ids(mesh)
    dtype = narrow_dtype(vectors, mesh.points)
    if region is not None:
        patch = patch_of(mesh, found_region(mesh, region))
        return total(through(mesh, vectors, on, patch)).to(dtype)
    table = faces(mesh)
    points = in_space(mesh.points)
    one = on == "points" and vectors.ndim == 2 and not vectors.is_complex()
    if one and mesh.dim == 3 and plain(points) and plain(vectors):
        if mesh.faces is not None:
            need_face_ids(mesh.faces, mesh.n_cells, mesh.n_points)
        return flux_of_cells(points, vectors, table, mesh.n_cells).to(dtype)
    each = through(mesh, vectors, on, all_faces(mesh))
    inner = table.neighbour >= 0
    out = each.new_zeros(mesh.n_cells, *each.shape[1:])
    out = out.index_add(0, table.owner.long(), each)
    return out.index_add(0, table.neighbour[inner].long(), -each[inner]).to(dtype)


def through(mesh: Mesh, vectors: Tensor, on: On, patch: Patch) -> Tensor:
    """float64 [n, ...]: the flux of vectors [.., ..., d] through each row of a patch."""
    points = in_space(mesh.points).double()
    d = mesh.points.shape[1]
    shape = (len(patch), *vectors.shape[1:-1])
    out = wide(vectors[:0]).new_zeros(shape)
    if on == "faces":
        need_faces(patch)
    share = cell_share(mesh, points, patch) if on == "cells" else None
    if d == 3 and patch.compiled(points, vectors):
        return _compiled(points, vectors, on, patch, share)
    for part in pieces(patch, points):
        normal = part.vectors[..., :d]
        if on == "points":
            at = spread(wide(vectors[part.points])).mean(2)  # [m, p, ..., d]
            found = (at * _beside(normal, at)).sum(-1).sum(1)
        else:
            at = on_patch(vectors, on, patch, share, part.rows)
            found = (at * _beside(normal.sum(1), at)).sum(-1)
        out = out.index_copy(0, part.rows, found)
    return out


def _compiled(
    points: Tensor, vectors: Tensor, on: On, patch: Patch, share: Tensor | None
) -> Tensor:
    rings = patch.offsets, patch.connectivity
    if on == "points":
        at = wide(vectors).reshape(len(vectors), math.prod(vectors.shape[1:-1]), 3)
        out = flux_of_rings(points, at, *rings) * patch.signs[:, None]
        return out.reshape(len(patch), *vectors.shape[1:-1])
    normal = ring_geometry(points, *rings, "vectors")["vectors"] * patch.signs[:, None]
    at = on_patch(vectors, on, patch, share, None)
    return dot(at, _beside(normal, at))


def on_patch(
    values: Tensor, on: On, patch: Patch, share: Tensor | None, rows: Tensor | None
) -> Tensor:
    """float64 [m, ...]: values on cells or faces, at some rows of a patch (None: all)."""
    at = slice(None) if rows is None else rows
    if on == "faces":
        return wide(values[patch.face[at]])
    own = wide(values[patch.cell[at]])
    other = patch.other[at]
    if share is None or not bool((other >= 0).any()):
        return own
    part = share[at].reshape(-1, *([1] * (own.ndim - 1)))
    across = wide(values[other.clamp(min=0)])
    both = part * own + (1 - part) * across
    return torch.where((other >= 0).reshape(part.shape), both, own)


def _beside(normal: Tensor, at: Tensor) -> Tensor:
    """Normals [m, .., d] with axes put in before the last, as many as the values have."""
    while normal.ndim < at.ndim:
        normal = normal.unsqueeze(-2)
    return normal
