"""From where a mesh is looked at, and how much of the plane before the eye it covers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshkit.pictures.bodies import Body
from meshkit.pictures.box import Box
from meshkit.pictures.options import ISO, camera_of

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """A parallel projection.

    Args:
        axes: float64 [3, 3]; the rows point to the right, up, and toward the eye.
    """

    axes: Reals

    @property
    def toward(self) -> Reals:
        """From what is seen to the eye."""
        toward: Reals = self.axes[2]
        return toward


@dataclass(frozen=True, eq=False)
class Extent:
    """A box along the axes of a view: to the right, up, toward the eye."""

    low: Reals
    high: Reals

    def united(self, other: Extent) -> Extent:
        """The extent of both."""
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def view_of(camera: tuple[float, float] | None, box: Box) -> View:
    """The view from an azimuth and elevation; without one, flat meshes are seen from the front.

    Up is z, or y where the eye looks along z.
    """
    if camera is None:
        camera = {None: ISO, 0: camera_of("+x"), 1: camera_of("-y"), 2: camera_of("+z")}[box.flat]
    azimuth, elevation = map(math.radians, camera)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    level = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
    z = np.array([0.0, 0.0, 1.0])
    toward = math.cos(elevation) * level + math.sin(elevation) * z
    up = math.cos(elevation) * z - math.sin(elevation) * level
    return View(np.stack([right, up, toward]))


def extent_of(view: View, bodies: Iterable[Body]) -> Extent | None:
    """What the bodies cover; None if there is nothing."""
    found: Extent | None = None
    for body in bodies:
        points = np.asarray(body.data.points, np.float64)
        if len(points):
            seen = points @ view.axes.T
            one = Extent(seen.min(0), seen.max(0))
            found = one if found is None else found.united(one)
    return found
