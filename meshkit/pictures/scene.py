"""One scene of one or several meshes: the same colours, the same view, the same scale for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.pictures.bodies import Body, bodies, left_out, need_sound
from meshkit.pictures.box import Box, box_of
from meshkit.pictures.colouring import ByField, ByRegion, Colouring, Plain
from meshkit.pictures.cut import Cut
from meshkit.pictures.options import Options
from meshkit.pictures.scale_marks import written
from meshkit.pictures.shades import chosen_key
from meshkit.pictures.view_point import Extent, View, extent_of, view_of

_KEPT: Final = 12
"""Of so many meshes what is drawn is kept; more are loaded a second time."""


class Scene:
    """What some meshes look like, found out by looking at each of them once.

    Args:
        load: gives mesh i.
        n: how many there are, at least one.
        options: what is to be shown.

    Raises:
        MeshError: there is nothing to draw, no such field, or a mesh is not sound.
        PictureError: a field has no such component.
    """

    colouring: Colouring
    view: View
    extent: Extent
    box: Box
    """Of all meshes."""
    times: list[float | None]

    def __init__(self, load: Callable[[int], Mesh], n: int, options: Options) -> None:
        self._load, self._options = load, options
        first = self._mesh(0)
        self.box = self._place = box_of(first)
        self.view = view_of(options.camera, self.box)
        self._cut = _cut_of(options, self.box, self.view)
        self._axes = "xyz"[: first.points.shape[1]]
        self.colouring = self._wish(first, n)
        self.times = []
        self._bodies: list[list[Body]] = []
        self._units: set[str | None] = set()
        self._counts: list[tuple[int, int, int]] = []
        extent = None
        for i in range(n):
            covered = self._survey(first if i == 0 else self._mesh(i), keep=n <= _KEPT)
            if covered is not None:
                extent = covered if extent is None else extent.united(covered)
        if extent is None:
            raise MeshError("nothing to draw: the clip leaves nothing of the mesh")
        self.extent = extent

    def bodies(self, i: int) -> list[Body]:
        """What is drawn of mesh i."""
        return self._bodies[i] if self._bodies else self._drawn(self._mesh(i))

    @property
    def left_out(self) -> int:
        """How many cells have no finite position."""
        return max(lost for *_, lost in self._counts)

    def caption(self) -> list[str]:
        """Bounds with their unit; below, sizes and the time of a single mesh."""
        unit = next(iter(self._units)) if len(self._units) == 1 else None
        size = self.box.diagonal
        bounds = ", ".join(
            f"{axis} {written(low, among=size)} to {written(high, among=size)}"
            for axis, low, high in zip(self._axes, self.box.low, self.box.high, strict=False)
        )
        said = []
        kinds = (("point", ""), ("cell", ""), ("cell", " without a finite position"))
        for (what, more), counts in zip(kinds, zip(*self._counts, strict=True), strict=True):
            least, most = min(counts), max(counts)
            number = f"{most}" if least == most else f"{least} to {most}"
            if most or what == "point":
                said.append(f"{number} {what}{'' if most == 1 else 's'}{more}")
        if len(self.times) == 1 and self.times[0] is not None:
            said.append(f"time {written(self.times[0], 6)}")
        return [f"{bounds} {unit or '(unit unknown)'}", ", ".join(said)]

    def _mesh(self, i: int) -> Mesh:
        mesh = self._load(i).to("cpu")
        need_sound(mesh)
        return mesh

    def _drawn(self, mesh: Mesh) -> list[Body]:
        shades = self.colouring.shades(mesh)
        return bodies(mesh, shades, self._place, cut=self._cut, edges=self._options.edges)

    def _survey(self, mesh: Mesh, *, keep: bool) -> Extent | None:
        """Take in one mesh; the answer is what it covers."""
        drawn = self._drawn(mesh)
        if keep:
            self._bodies.append(drawn)
        self.colouring.see(drawn)
        self.box = self.box.united(box_of(mesh))
        self.times.append(mesh.info.time)
        self._units.add(mesh.info.length_unit)
        self._counts.append((mesh.n_points, mesh.n_cells, left_out(mesh)))
        return extent_of(self.view, drawn)

    def _wish(self, first: Mesh, n: int) -> Colouring:
        """What is to be coloured."""
        options = self._options
        if options.regions:
            if not len(first.regions):
                raise MeshError("no regions to show: the mesh has none")
            return ByRegion(options)
        for i in range(1, n):  # the field may be absent at first
            try:
                return self._wish_of(first)
            except MeshError:
                first = self._mesh(i)
        return self._wish_of(first)

    def _wish_of(self, mesh: Mesh) -> Colouring:
        key = chosen_key(mesh, self._options.field)
        if key is not None:
            return ByField(key, self._options)
        return ByRegion(self._options) if len(mesh.regions) else Plain()


def _cut_of(options: Options, box: Box, view: View) -> Cut | None:
    if options.plane is None:
        return None
    normal = np.array(options.plane.normal)
    if options.plane.nearer and normal @ view.toward < 0:
        normal = -normal
    at = options.plane.at
    origin = box.centre if at is None else np.array(at)
    return Cut(normal, box.inside(origin[None])[0])
