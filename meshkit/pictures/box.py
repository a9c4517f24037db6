"""The box around a mesh, in which it is drawn.

Everything is moved to the origin and shrunk to a diagonal of 1, so that neither a large offset
nor a small unit costs digits on the way to the screen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """The finite points of a mesh: what is mapped to a box of diagonal 1 around the origin."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def centre(self) -> Reals:
        """float64 [3]."""
        # Halves first: the sum of two huge coordinates could overflow.
        return np.array(self.low) / 2 + np.array(self.high) / 2

    @property
    def diagonal(self) -> float:
        """Its length; 1 for a single point."""
        half = np.array(self.high) / 2 - np.array(self.low) / 2
        longest = float(np.abs(half).max())
        return 2 * longest * float(np.linalg.norm(half / longest)) if longest else 1.0

    @property
    def flat(self) -> int | None:
        """The one axis along which it has no extent; None if there is none, or several."""
        size = [b - a for a, b in zip(self.low, self.high, strict=True)]
        thin = [axis for axis, s in enumerate(size) if s <= 1e-6 * max(size)]
        return thin[0] if len(thin) == 1 else None

    def inside(self, points: Reals) -> Reals:
        """Points [n, 3] as they are drawn."""
        return (points - self.centre) / self.diagonal

    def united(self, other: Box) -> Box:
        """The box of both."""
        return Box(
            tuple(map(min, self.low, other.low)),
            tuple(map(max, self.high, other.high)),
        )


def points_of(mesh: Mesh) -> Reals:
    """float64 [n_points, 3]; missing coordinates are 0."""
    points = mesh.points.detach().cpu().double().numpy()
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def box_of(mesh: Mesh) -> Box:
    """The box of what can be drawn.

    Raises:
        MeshError: there is nothing: no point, or none with finite coordinates.
    """
    points = points_of(mesh)
    drawn = np.isfinite(points).all(1)
    if mesh.n_cells:
        used = np.zeros(len(points), np.bool_)
        need_point_ids(mesh)
        used[mesh.cells.connectivity.cpu().long().numpy()] = True
        drawn &= used
    if not drawn.any():
        raise MeshError(
            "nothing to draw: expected points with finite coordinates, "
            f"found {len(points)} points and {mesh.n_cells} cells"
        )
    some = points[drawn]
    return Box(tuple(map(float, some.min(0))), tuple(map(float, some.max(0))))
