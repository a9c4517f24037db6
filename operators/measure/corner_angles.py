"""The angles at the corners of surface cells."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.adjacency.templates import corners, known_type
from meshkit.operators.measure import surface_kernel as compiled
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, over, plain
from meshkit.operators.measure.fan import area_vector
from meshkit.operators.measure.need_surface import need_surface_cells
from meshkit.operators.measure.rings import ring_table, surface_rings
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def corner_angles(mesh: Mesh) -> Tensor:
    """The angle inside each surface cell at each of its corners, in radians from 0 to 2 pi.

    It is the angle between the two edges that meet there; above pi where the corner points into
    the cell. The angles of a plane cell of n corners add up to (n - 2) pi, those of a warped one
    to less. A strip has, at each point, what its triangles have there together. Where a cell
    lists a point twice in a row, the first of the two has the angle and the other 0.

    High-order cells: between the straight edges of their corners. Cells of other dimensions (of
    solids see `dihedral_angles`), points between corners, and corners at an edge without length
    have NaN.

    Returns:
        [len(cells.connectivity)], a row for each point of each cell, in the dtype of the points
        (float16 and bfloat16 are computed in float32). Accurate to a few eps at any angle.
        Differentiable in the points except at angles of 0 and pi, where the derivative is zero.

    Raises:
        MeshError: a point id is out of range, a type unknown, or a size wrong; or of all cells of
            the mesh not one is of a surface.
    """
    need_point_ids(mesh)
    need_surface_cells("corner_angles", mesh)
    points = in_space(mesh.points)
    cells = mesh.cells
    out = torch.where(_is_corner(cells), 0.0, float("nan")).to(points.dtype)
    if plain(points):
        compiled.ring_angles(points, ring_table(cells), out)
        return out.to(mesh.points.dtype)
    for rings in surface_rings(cells):
        angles = ring_angles(points[rings.points])
        out = out.index_add(0, rings.places.reshape(-1), angles.reshape(-1))
    return out.to(mesh.points.dtype)


def _is_corner(cells: Cells) -> Tensor:
    """bool [len(connectivity)]: of a surface cell, and no point between corners of high order."""

    def found() -> Tensor:
        out = (cells.dims == 2).repeat_interleave(cells.sizes.long())
        for block in cells.blocks:
            row = known_type(block.type, int(block.ids[0]))
            size = block.connectivity.shape[1]
            local = sorted(corners(row, size))
            between = [i for i in range(size) if i not in local]
            if row.dim == 2 and between:
                at = torch.tensor(between, device=out.device)
                out[cells.offsets[block.ids].long()[:, None] + at] = False
        return out

    return cells.memo("surface_corners", found)


def ring_angles(x: Tensor) -> Tensor:
    """[m, k]: the angles at the corners of rings [m, k, 3]; NaN at an edge without length."""
    forth, back = torch.roll(x, -1, 1) - x, torch.roll(x, 1, 1) - x
    angle = angle_between(forth, back)
    if x.shape[1] == 3:
        return angle
    turn = cross(forth.detach(), back.detach())
    inward = dot(turn, area_vector(x.detach())[:, None]) < 0
    return torch.where(inward, 2 * math.pi - angle, angle)


def angle_between(a: Tensor, b: Tensor) -> Tensor:
    """[...]: the angle between vectors [..., 3], from 0 to pi; NaN where one has no length.

    By the lengths of cross and scalar product of the directions: accurate to a few eps also near
    0 and pi, where an arc cosine loses half the digits.
    """
    sizes = length(a), length(b)
    known = (sizes[0].detach() != 0) & (sizes[1].detach() != 0)
    u, v = (over(x, size, known, 0.0) for x, size in zip((a, b), sizes, strict=True))
    straight = torch.where(known, dot(u, v), 1.0)
    angle = torch.atan2(length(cross(u, v)), straight)
    return torch.where(known, angle, float("nan"))
