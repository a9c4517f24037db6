"""Points that are no places, stand twice, or are used by nothing."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from meshkit.fields import as_bits, finite
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.vertex_sets import lexicographic, starts_of_runs
from meshkit.operators.soundness.finding import Finding, found, places


def of_coordinates(mesh: Mesh) -> Iterator[Finding]:
    """NaN and infinite coordinates."""
    points = mesh.points.detach()
    if bool(finite(points).all()):
        return
    wide = points.float() if points.dtype.itemsize < 4 else points
    nan, inf = torch.isnan(wide).any(1), torch.isinf(wide).any(1)
    yield from found("point_nan", "error", "NaN coordinates", places(nan), "points")
    yield from found("point_inf", "error", "infinite coordinates", places(inf), "points")


def of_points(mesh: Mesh) -> Iterator[Finding]:
    """NaN, infinite and repeated coordinates."""
    yield from of_coordinates(mesh)
    points = mesh.points.detach()
    there = places(finite(points).all(1))
    bits = list(as_bits(points.contiguous())[there].long().unbind(1))
    order = lexicographic(bits)
    again = torch.sort(there[order[~starts_of_runs(bits, order)]]).values
    what = "coordinates of an earlier point"
    yield from found("duplicate_point", "warning", what, again, "points")


def of_unused_points(mesh: Mesh) -> Iterator[Finding]:
    """Points of no cell and no face, in a mesh that has cells."""
    if mesh.n_cells == 0:
        return
    used = torch.zeros(mesh.n_points, dtype=torch.bool, device=mesh.device)
    lists = [mesh.cells.connectivity]
    if mesh.cells.polyhedra is not None:
        lists.append(mesh.cells.polyhedra.connectivity)
    if mesh.faces is not None:
        lists.append(mesh.faces.connectivity)
    for ids in lists:
        there = ids[(ids >= 0) & (ids < mesh.n_points)]
        used[there.long()] = True
    yield from found("unused_point", "info", "no cell uses them", places(~used), "points")
