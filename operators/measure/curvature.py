"""Gauss and mean curvature at the points of a surface."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.celltypes import cell_type
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.edges import edges
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.measure import surface_kernel as compiled
from meshkit.operators.measure.bend_kernel import mean_bends
from meshkit.operators.measure.coordinates import cross, dot, in_space, length, matters, over, plain
from meshkit.operators.measure.corner_angles import ring_angles
from meshkit.operators.measure.fan import area_vector, triangles
from meshkit.operators.measure.need_surface import need_surface
from meshkit.operators.measure.part import top_cells
from meshkit.operators.measure.point_normals import unit_normals
from meshkit.operators.measure.rings import ring_table, surface_rings
from meshkit.operators.measure.shares import point_shares
from meshkit.operators.of_mesh import of_mesh

_STRIP: Final = cell_type("triangle_strip").number


@of_mesh
def angle_defects(mesh: Mesh) -> Tensor:
    """How far the angles around each point of a surface differ from flat, in radians.

    Inside a surface 2 pi less the sum of the corner angles: the integral of the Gauss curvature
    over the surroundings of the point. On the boundary pi less that sum: the turning of the
    boundary curve, the integral of its geodesic curvature. In general 2 pi (1 - edges / 2 +
    cells / 2) less the sum, with the edges and cells at the point; so that all defects together
    are 2 pi times the Euler characteristic of any surface, with boundary or without, branched or
    not (Gauss and Bonnet). What the angles of a warped cell lack of (n - 2) pi is curvature
    inside the cell and is shared among its corners.

    Returns:
        [n_points] in the dtype of the points (float16 and bfloat16 are computed in float32); 0
        at points of no surface cell. Of closed triangle surfaces, the sum differs from 2 pi chi
        by no more than eps pi a triangle. Differentiable in the points. NaN at the corners of
        cells with an edge without length.

    Raises:
        MeshError: the mesh is no surface, or as `faces`.
    """
    need_surface("angle_defects", mesh)
    need_point_ids(mesh)
    return _defects(mesh, in_space(mesh.points)).to(mesh.points.dtype)


@of_mesh
def gauss_curvature(mesh: Mesh) -> Tensor:
    """The Gauss curvature at each point of a surface: `angle_defects` over `dual_measures`.

    At boundary points the defect is the turning of the boundary, so that there the quotient says
    how the boundary curve bends within the surface (per dual area) and not how the surface does.
    Multiplied by `dual_measures` and summed up it is 2 pi times the Euler characteristic.

    Returns:
        [n_points] in the dtype of the points (float16 and bfloat16 are computed in float32), in
        their unit to the power -2; 0 on flat meshes, 1 / R^2 on spheres, negative on saddles.
        Second order where triangles around a point are regular; on general triangles it is right
        on average and not at each point. NaN where a point has no dual area. Differentiable in
        the points.

    Raises:
        MeshError: the mesh is no surface, or as `faces`.

    Source: Meyer, Desbrun, Schröder and Barr, Discrete differential-geometry operators for
        triangulated 2-manifolds, 2003.
    """
    need_surface("gauss_curvature", mesh)
    need_point_ids(mesh)
    points = in_space(mesh.points)
    area = point_shares(top_cells(mesh), points, "dual")
    found = over(_defects(mesh, points), area, area.detach() != 0, float("nan"))
    return found.to(mesh.points.dtype)


@of_mesh
def mean_curvature(mesh: Mesh) -> Tensor:
    """The mean of the two principal curvatures at each point of a surface.

    Positive where the surface bends away from its normal: 1 / R on a sphere whose normals point
    outward. It is half the derivative of the area when the point moves along the normal of
    `point_normals`, over its dual area; on triangles that is the cotangent formula. Other cells:
    through their fans.

    Returns:
        [n_points] in the dtype of the points (float16 and bfloat16 are computed in float32), in
        one over their unit. NaN at points on the boundary, where the area has a derivative in the
        surface as well, at points of faces that more than two cells share, and where there is no
        dual area or normal. Second order where triangles around a point are regular.
        Differentiable in the points.

    Raises:
        MeshError: the mesh is no surface, or as `faces`.

    Source: Pinkall and Polthier, Computing discrete minimal surfaces and their conjugates, 1993;
        Meyer, Desbrun, Schröder and Barr, 2003.
    """
    need_surface("mean_curvature", mesh)
    need_point_ids(mesh)
    points = in_space(mesh.points)
    known = ~_on_boundary(mesh)
    area = point_shares(top_cells(mesh), points, "dual")
    if plain(points):
        found = mean_bends(points, ring_table(mesh.cells), area, known)
        return found.to(mesh.points.dtype)
    growth = points.new_zeros(mesh.n_points, 3)
    for rings in surface_rings(mesh.cells):
        some = _area_gradient(points[rings.points])
        growth = growth.index_add(0, rings.points.reshape(-1), some.reshape(-1, 3))
    along = dot(growth, unit_normals(mesh, points)) / 2
    bend = over(along, area, area.detach() != 0, float("nan"))
    return torch.where(known, bend, float("nan")).to(mesh.points.dtype)


def _defects(mesh: Mesh, points: Tensor) -> Tensor:
    flat = mesh.cells.memo(("flat angles", mesh.n_points), lambda: _flat_angles(mesh))
    if plain(points):
        return (flat - compiled.angle_sums(points, ring_table(mesh.cells))).to(points.dtype)
    out = points.new_zeros(mesh.n_points)
    for rings in surface_rings(mesh.cells):
        k = rings.points.shape[1]
        angles = ring_angles(points[rings.points])
        if k > 3:
            # Warped cells: what is missing belongs to their corners.
            missing = (k - 2) * math.pi - angles.sum(1, keepdim=True)
            angles = angles + missing / k
        out = out.index_add(0, rings.points.reshape(-1), angles.reshape(-1))
    return flat.to(points.dtype) - out


def _flat_angles(mesh: Mesh) -> Tensor:
    """float64 [n_points]: pi (2 - edges + cells), what the angles at each point of a cell add up
    to where the surface is flat. A strip counts as one cell: its inner edges are none of `edges`.
    """
    ends = torch.bincount(edges(mesh).long().reshape(-1), minlength=mesh.n_points)
    table = ring_table(mesh.cells)
    cells = torch.bincount(table.points.long(), minlength=mesh.n_points)
    strips = torch.nonzero(mesh.cells.types == _STRIP).squeeze(1)
    if len(strips) and table.cell is not None:
        which = table.cell.repeat_interleave(csr.lengths_of(table.offsets).long())
        inside = table.points[(mesh.cells.types == _STRIP)[which]]
        whole = mesh.cells.take(strips).connectivity.long()
        cells = cells - torch.bincount(inside, minlength=mesh.n_points)
        cells = cells + torch.bincount(whole, minlength=mesh.n_points)
    return math.pi * (2 - ends + cells).double() * (cells > 0)


def _area_gradient(x: Tensor) -> Tensor:
    """[m, k, 3]: the derivative of the area of each ring's fan in its corners."""
    if x.shape[1] == 3:
        across = torch.roll(x, 1, 1) - torch.roll(x, -1, 1)  # of corner i, from i + 1 to i + 2
        return cross(_direction(area_vector(x), x)[:, None].expand_as(x), across) / 2
    spokes = x - x.mean(1, keepdim=True)
    parts = triangles(spokes)
    whole = area_vector(x)
    facing = torch.where(dot(parts.detach(), whole.detach()[:, None]) < 0, -1.0, 1.0).to(x.dtype)
    normal = _direction(parts, x) * facing.unsqueeze(-1)
    after = torch.roll(spokes, -1, 1)
    # Of the triangle (corner i, corner i + 1, mean): edges across from each of them.
    first = cross(normal, -after) / 2
    second = cross(normal, spokes) / 2
    mean = cross(normal, after - spokes) / 2
    return first + torch.roll(second, 1, 1) + mean.mean(1, keepdim=True)


def _direction(vector: Tensor, x: Tensor) -> Tensor:
    """Unit vectors [m, ..., 3]; zero where the vector is rounding beside the ring x [m, k, 3]."""
    size = length(vector)
    scale = (x - x[:, :1]).detach().abs().amax((1, 2))
    while scale.ndim < size.ndim:
        scale = scale.unsqueeze(-1)
    return over(vector, size, matters(size, scale, 2), 0.0)


def _on_boundary(mesh: Mesh) -> Tensor:
    """bool [n_points]: at the end of an edge of one cell, or of more than two."""
    table = face_table(mesh).faces

    def found() -> Tensor:
        _, places = csr.take_rows(table.offsets, table.boundary)  # given edges may be anything
        out = torch.zeros(mesh.n_points, dtype=torch.bool, device=mesh.device)
        out[table.connectivity[places].long()] = True
        return out

    return table.memo(("boundary points", mesh.n_points), (), found)
