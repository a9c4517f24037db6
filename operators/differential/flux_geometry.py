"""What the fluxes through the faces of each cell need: faces as they are seen from each cell."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.neighbours import Adjacency, cell_faces
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.differential.samples import in_double
from meshkit.operators.kernels import Array, array, kernel, over_rows, unset
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.face_geometry import (
    area_vectors_of_sides,
    face_vectors_and_centroids,
)
from meshkit.operators.measure.fan import triangles


@dataclass(frozen=True, eq=False)
class FluxGeometry:
    """The faces of each cell, float64.

    On solids both sides of a face have opposite area vectors; on surfaces each cell has the edge's
    length times its own co-normal, which differ across a fold.
    """

    owner: Tensor  # int64 [n_faces]
    neighbour: Tensor  # int64 [n_faces], -1 on the boundary
    of_cell: Adjacency  # the faces of each cell
    from_owner: Tensor  # [n_faces, d]: out of the owner
    from_neighbour: Tensor | None  # [n_faces, d]: out of the neighbour; None: minus that
    centroids: Tensor  # [n_faces, d]
    warp: (
        Tensor | None
    )  # [n_faces, d, d]: the sum over the fan of area vector x (middle - centroid)

    @property
    def compiled(self) -> bool:
        """Whether compiled loops may follow: on the CPU, where no derivative is asked for."""
        return self.centroids.device.type == "cpu" and not self.centroids.requires_grad


def flux_geometry(mesh: Mesh) -> FluxGeometry:
    """The faces of each cell of dimension mesh.dim.

    Raises:
        MeshError: as `face_area_vectors`.
    """
    mesh = in_double(mesh)
    table = face_table(mesh)
    owner, neighbour = table.faces.owner.long(), table.faces.neighbour.long()
    vectors, centroids = face_vectors_and_centroids(mesh)
    back = None
    if mesh.dim < 3:
        inner = torch.nonzero(neighbour >= 0).squeeze(1)
        back = torch.zeros_like(vectors)
        back = back.index_copy(0, inner, area_vectors_of_sides(mesh, table.neighbour_side[inner]))
    return FluxGeometry(
        owner, neighbour, cell_faces(mesh), vectors, back, centroids, _warp(mesh, centroids)
    )


def _warp(mesh: Mesh, centroids: Tensor) -> Tensor | None:
    """What is left of a warped face when its fan's middles are taken to its centroid: zero on
    plane faces, and so None where all faces are triangles or edges.
    """
    found = face_table(mesh).faces
    points = in_space(mesh.points)
    if mesh.dim < 3:
        return None
    if points.device.type == "cpu" and not points.requires_grad:
        return _warp_compiled(found, points, centroids)
    parts = []
    for rows, ring in tables(found.offsets, found.connectivity):
        if ring.shape[1] > 3:
            x = points[ring.long()]
            middle = x.mean(1, keepdim=True)
            spokes = x - middle
            thirds = (spokes + torch.roll(spokes, -1, 1)) / 3
            away = thirds + (middle - centroids[rows][:, None])
            parts.append((rows, torch.einsum("mka,mkb->mab", triangles(spokes), away)))
    if not parts:
        return None
    return assembled(len(found), parts, points.new_zeros(3, 3))


def _warp_compiled(faces: Faces, points: Tensor, centroids: Tensor) -> Tensor | None:
    if not len(faces) or int(csr.lengths_of(faces.offsets).max()) < 4:
        return None
    out = unset(9 * len(faces), torch.float64).reshape(-1, 3, 3)
    rings = array(faces.offsets), array(faces.connectivity)
    over_rows(_warps, len(faces), array(points), *rings, array(centroids), out.numpy())
    return out


@kernel
def _warps(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    rings: Array,
    centroids: Array,
    out: Array,
) -> None:
    """The same, face by face; from the first corner of each, for digits far from the origin."""
    for f in range(lo, hi):
        ring = rings[offsets[f] : offsets[f + 1]]
        n = len(ring)
        warp = out[f]
        warp[:] = 0.0
        if n < 4:
            continue
        px, py, pz = points[ring[0], 0], points[ring[0], 1], points[ring[0], 2]
        mx = my = mz = 0.0
        for k in range(1, n):
            mx += points[ring[k], 0] - px
            my += points[ring[k], 1] - py
            mz += points[ring[k], 2] - pz
        mx, my, mz = mx / n, my / n, mz / n
        cx, cy, cz = px - centroids[f, 0] + mx, py - centroids[f, 1] + my, pz - centroids[f, 2] + mz
        last = ring[n - 1]
        ax, ay, az = points[last, 0] - px - mx, points[last, 1] - py - my, points[last, 2] - pz - mz
        for k in range(n):
            p = ring[k]
            bx, by, bz = points[p, 0] - px - mx, points[p, 1] - py - my, points[p, 2] - pz - mz
            x, y, z = (ay * bz - az * by) / 2, (az * bx - ax * bz) / 2, (ax * by - ay * bx) / 2
            u, v, w = (ax + bx) / 3 + cx, (ay + by) / 3 + cy, (az + bz) / 3 + cz
            warp[0, 0] += x * u
            warp[0, 1] += x * v
            warp[0, 2] += x * w
            warp[1, 0] += y * u
            warp[1, 1] += y * v
            warp[1, 2] += y * w
            warp[2, 0] += z * u
            warp[2, 1] += z * v
            warp[2, 2] += z * w
            ax, ay, az = bx, by, bz
