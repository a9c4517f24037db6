"""What of a mesh is drawn: its skin, cut open where asked, its curves and dots, with shades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.adjacency.templates import need_size
from meshkit.operators.measure.elements import element
from meshkit.pictures.box import Box, points_of
from meshkit.pictures.cut import Cut, clipped
from meshkit.pictures.facets import (
    Facets,
    edges_of,
    extremes,
    facets_of_cells,
    facets_of_faces,
)
from meshkit.pictures.section import section, section_lines

Reals = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SHARP = 40.0
"""Degrees from which on an edge of a surface is drawn as one."""

Kind = Literal["surface", "section", "edge", "curve", "dot", "mark"]


@dataclass(frozen=True, eq=False)
class Body:
    """Something to draw: a `pyvista.PolyData`, with the array "shade" where it is coloured."""

    kind: Kind
    data: Any


@dataclass(frozen=True, eq=False)
class Shades:
    """The numbers that are coloured; NaN has no colour.

    Args:
        point: float64 [n_points].
        cell: float64 [n_cells].
        skin: float64, a number for each boundary row of `faces`, before `cell`.
        marks: cells of lower dimension that are drawn although they lie on others.
        extra: curves and small dots over the points of the mesh, each row with its shade.
    """

    point: Reals | None = None
    cell: Reals | None = None
    skin: Reals | None = None
    marks: Mask | None = None
    extra: tuple[tuple[Literal["curve", "mark"], Facets, Reals], ...] = ()


def need_sound(mesh: Mesh) -> None:
    """Refuse cells that vtk could not draw safely.

    Raises:
        MeshError: a point id is out of range, or a cell's type or size is wrong.
    """
    need_point_ids(mesh)
    for block in mesh.cells.blocks:
        row = need_size(block)
        if row.order == 0 and row.dim:
            degrees = mesh.cells.degrees
            told = [None] if degrees is None else torch.unique(degrees[block.ids], dim=0).tolist()
            for degree in told:
                given = None if degree is None or not degree[0] else (*map(int, degree),)
                element(row.name, row.shape, block.connectivity.shape[1], given)


def bodies(mesh: Mesh, shades: Shades, box: Box, *, cut: Cut | None, edges: bool) -> list[Body]:
    """All that is drawn of a sound mesh on the CPU.

    Of solids the skin; of surfaces, curves and points they themselves, but for those that only
    repeat the corners of cells of the highest dimension (unless `shades.marks` names them). A
    mesh without cells shows its points. Cells without a finite position are left out.

    Args:
        cut: what lies on its far side goes; solids show what is inside.
        edges: the edges of surface cells and faces too, as bodies of their own.
    """
    drawer = _Drawer(mesh, shades, box, cut, edges)
    found = [*drawer.solids(), *drawer.others(), *drawer.extras()]
    return [body for body in found if body.data.n_cells]


class _Drawer:
    """Turns the parts of one mesh into bodies."""

    def __init__(self, mesh: Mesh, shades: Shades, box: Box, cut: Cut | None, edges: bool) -> None:
        self.mesh, self.shades, self.cut, self.edges = mesh, shades, cut, edges
        self.points = box.inside(points_of(mesh))

    def solids(self) -> Iterator[Body]:
        """The skin of the solids, and what a cut shows of their inside."""
        if self.mesh.dim != 3:
            return
        faces = face_table(self.mesh).faces
        rows = faces.boundary.numpy()
        facets = self._finite(facets_of_faces(self.mesh, rows))
        yield from self._surfaces(facets, self._on_skin(facets, rows))
        if self.cut is None:
            return
        heights = self.cut.heights(self.points)
        solid = self.mesh.cells.dims.numpy() == 3
        crossed = solid & _crossed(
            self.mesh.cells.offsets.long().numpy(),
            self.mesh.cells.connectivity.long().numpy(),
            heights,
        )
        ids = np.flatnonzero(crossed)
        cell, point = self.shades.cell, self.shades.point
        for polygons in section(self.mesh, ids, self.points, self.cut, cell, point):
            yield Body("section", polygons)
        if self.edges:
            here = _crossed(
                faces.offsets.long().numpy(), faces.connectivity.long().numpy(), heights
            )
            through = facets_of_faces(self.mesh, np.flatnonzero(here))
            yield Body("edge", section_lines(through.dataset(self.points), self.cut))

    def _on_skin(self, facets: Facets, rows: NDArray[np.int64]) -> Reals | None:
        if self.shades.skin is not None:
            place = np.zeros(int(rows.max(initial=-1)) + 1, np.int64)
            place[rows] = np.arange(len(rows))
            on_faces: Reals = self.shades.skin[place[facets.row]]
            return on_faces
        if self.shades.cell is None:
            return None
        owner = face_table(self.mesh).faces.owner.long().numpy()
        behind: Reals = self.shades.cell[owner[facets.row]]
        return behind

    def others(self) -> Iterator[Body]:
        """Surfaces, curves and points that are no part of something larger."""
        mesh = self.mesh
        if mesh.n_cells == 0:
            yield self._dots(_points_as_cells(np.arange(mesh.n_points)), None)
            return
        dims = mesh.cells.dims.numpy()
        shown = ~_repeating(mesh)
        if self.shades.marks is not None:
            shown |= self.shades.marks
        for dim in (2, 1, 0):
            ids = np.flatnonzero(shown & (dims == dim))
            facets = self._finite(facets_of_cells(mesh, ids))
            if len(facets) == 0:
                continue
            shade = None if self.shades.cell is None else self.shades.cell[facets.row]
            if dim == 2:
                yield from self._surfaces(facets, shade)
            elif dim == 1:
                yield self._body("curve", facets, shade)
            else:
                yield self._dots(facets, shade)

    def extras(self) -> Iterator[Body]:
        """Curves and dots that the shades bring along."""
        for kind, facets, shade in self.shades.extra:
            facets = Facets(
                facets.types, facets.offsets, facets.connectivity, np.arange(len(facets))
            )
            kept = self._finite(facets)
            yield self._body(kind, kept, shade[kept.row], points=False)

    def _surfaces(self, facets: Facets, shade: Reals | None) -> Iterator[Body]:
        yield self._body("surface", facets, shade)
        if self.edges:
            yield self._body("edge", edges_of(facets), None, points=False)

    def _dots(self, facets: Facets, shade: Reals | None) -> Body:
        return self._body("dot", self._finite(facets), shade)

    def _body(
        self, kind: Kind, facets: Facets, shade: Reals | None, *, points: bool = True
    ) -> Body:
        at_points = self.shades.point if points else None
        data = facets.dataset(self.points, cell=shade, point=at_points)
        if self.cut is not None:
            data = clipped(data, self.cut)
        return Body(kind, _smoothed(data) if kind == "surface" else data)

    def _finite(self, facets: Facets) -> Facets:
        low, _ = facets.lows_and_highs(self.points.sum(1))
        return facets.where(np.isfinite(low))


def left_out(mesh: Mesh) -> int:
    """How many cells have a point whose coordinates are not finite, and so no place."""
    bad = ~np.isfinite(points_of(mesh)).all(1)
    if not bad.any():
        return 0
    _, high = extremes(
        mesh.cells.offsets.long().numpy(),
        mesh.cells.connectivity.long().numpy(),
        np.asarray(bad, np.float64),
    )
    return int((high > 0).sum())


def _repeating(mesh: Mesh) -> Mask:
    """Cells below the highest dimension all of whose points are points of cells of it."""
    dims = mesh.cells.dims.numpy()
    offsets = mesh.cells.offsets.long().numpy()
    connectivity = mesh.cells.connectivity.long().numpy()
    highest = np.repeat(dims == mesh.dim, np.diff(offsets))
    within = np.zeros(mesh.n_points, np.float64)
    within[connectivity[highest]] = 1
    low, _ = extremes(offsets, connectivity, within)
    repeating: Mask = (dims < mesh.dim) & (low == 1)
    return repeating


def _crossed(offsets: NDArray[np.int64], ids: NDArray[np.int64], heights: Reals) -> Mask:
    """Which rows have points on both sides; not those without a finite position."""
    low, high = extremes(offsets, ids, heights)
    return np.isfinite(low) & (low < 0) & (high >= 0)


def _points_as_cells(ids: NDArray[np.int64]) -> Facets:
    n = len(ids)
    vertex = np.full(n, 1, np.uint8)
    return Facets(vertex, np.arange(n + 1, dtype=np.int64), ids.astype(np.int64), ids)


def _smoothed(data: Any) -> Any:
    """With normals at the points, so that light runs smoothly over all but sharp edges."""
    if data.n_cells == 0 or data.n_strips:
        return data
    return data.compute_normals(
        cell_normals=False,
        point_normals=True,
        split_vertices=True,
        feature_angle=_SHARP,
        consistent_normals=True,
        auto_orient_normals=False,
        non_manifold_traversal=False,
    )
