"""What the fluxes through the faces of each cell need: faces as they are seen from each cell."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from meshkit import csr
from meshkit.faces import Faces
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.neighbours import Adjacency, cell_faces
from meshkit.operators.adjacency.vertex_sets import tables
from meshkit.operators.differential.samples import in_double
from meshkit.operators.kernels import Array, array, over_rows, unaliased, unset
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import plain
from meshkit.operators.measure.face_geometry import (
    area_vectors_of_sides,
    face_vectors_and_centroids,
)
from meshkit.operators.measure.fan import triangles
from meshkit.operators.measure.ring_parts import mean_from_first


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
    # The sum over the fan of area vector x (middle - centroid), and its trace. None: zero, or not
    # worked out.
    warp: Tensor | None  # [n_faces, d, d]
    bulge: Tensor | None = None  # [n_faces]

    @property
    def compiled(self) -> bool:
        """Whether compiled loops may follow: on the CPU, where no derivative is asked for."""
        return plain(self.centroids)


def flux_geometry(mesh: Mesh, *, bulge_alone: bool = False) -> FluxGeometry:
    """The faces of each cell of dimension mesh.dim.

    Args:
        mesh: of dimension 1 to 3.
        bulge_alone: compiled loops need no more of the warp than its trace, for volumes.

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
    rest = owner, neighbour, cell_faces(mesh), vectors, back, centroids
    made = FluxGeometry(*rest, None)
    if mesh.dim < 3:
        return made
    if not made.compiled:
        return replace(made, warp=_warp(table.faces, mesh.points, centroids))
    found = _bend(table.faces, mesh.points, centroids, 1 if bulge_alone else 9)
    if found is None or bulge_alone:
        return replace(made, bulge=None if found is None else found[:, 0])
    return replace(made, warp=found.reshape(-1, 3, 3))


def _warp(found: Faces, points: Tensor, centroids: Tensor) -> Tensor | None:
    """What is left of a warped face when its fan's middles are taken to its centroid: zero on
    plane faces, and so None where all faces are triangles.
    """
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


def _bend(faces: Faces, points: Tensor, centroids: Tensor, width: int) -> Tensor | None:
    """The same as rows of 9, or its trace as rows of 1, by compiled loops."""
    if not len(faces) or int(csr.lengths_of(faces.offsets).max()) < 4:
        return None
    out = unset(width * len(faces), torch.float64).reshape(-1, width)
    rings = array(faces.offsets), array(faces.connectivity)
    over_rows(_bends, len(faces), array(points), *rings, array(centroids), out.numpy())
    return out


@unaliased
def _bends(
    lo: int,
    hi: int,
    points: Array,
    offsets: Array,
    rings: Array,
    centroids: Array,
    out: Array,
) -> None:
    """Face by face; from the first corner of each, for digits far from the origin."""
    for f in range(lo, hi):
        begin, end = offsets[f], offsets[f + 1]
        xx = xy = xz = yx = yy = yz = zx = zy = zz = 0.0
        if end - begin > 3:
            p, q = rings[begin], rings[end - 1]
            px, py, pz = points[p, 0], points[p, 1], points[p, 2]
            mx, my, mz = mean_from_first(points, rings, begin, end)
            cx, cy, cz = (
                px - centroids[f, 0] + mx,
                py - centroids[f, 1] + my,
                pz - centroids[f, 2] + mz,
            )
            ax, ay, az = points[q, 0] - px - mx, points[q, 1] - py - my, points[q, 2] - pz - mz
            for k in range(begin, end):
                q = rings[k]
                bx, by, bz = points[q, 0] - px - mx, points[q, 1] - py - my, points[q, 2] - pz - mz
                x, y, z = (ay * bz - az * by) / 2, (az * bx - ax * bz) / 2, (ax * by - ay * bx) / 2
                u, v, w = (ax + bx) / 3 + cx, (ay + by) / 3 + cy, (az + bz) / 3 + cz
                xx, xy, xz = xx + x * u, xy + x * v, xz + x * w
                yx, yy, yz = yx + y * u, yy + y * v, yz + y * w
                zx, zy, zz = zx + z * u, zy + z * v, zz + z * w
                ax, ay, az = bx, by, bz
        if out.shape[1] == 1:
            out[f, 0] = xx + yy + zz
        else:
            out[f, 0], out[f, 1], out[f, 2] = xx, xy, xz
            out[f, 3], out[f, 4], out[f, 5] = yx, yy, yz
            out[f, 6], out[f, 7], out[f, 8] = zx, zy, zz
