"""A plane among the points as they are drawn, and what is left of surfaces and lines behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

# A plane often goes exactly through a layer of faces. So far (of the diagonal) it is moved into
# the half that stays, and the cells behind those faces are the ones that it cuts.
_NUDGE = 1e-6


@dataclass(frozen=True, eq=False)
class Cut:
    """A plane among the points as they are drawn; what lies where the normal points is gone."""

    normal: Reals  # [3], of length 1
    origin: Reals  # [3]

    def heights(self, points: Reals) -> Reals:
        """float64 [n]: how far points are on the side that is gone."""
        return (points - self._moved()) @ self.normal

    def plane(self) -> Any:
        """A vtkPlane of it."""
        from vtkmodules.vtkCommonDataModel import vtkPlane

        made = vtkPlane()
        made.SetNormal(*self.normal)
        made.SetOrigin(*self._moved())
        return made

    def _moved(self) -> Reals:
        return self.origin - _NUDGE * self.normal


def clipped(data: Any, cut: Cut) -> Any:
    """What of a `pyvista.PolyData` stays."""
    import pyvista
    from vtkmodules.vtkFiltersCore import vtkClipPolyData

    if data.n_cells == 0:
        return data
    clip = vtkClipPolyData()
    clip.SetInputData(data)
    clip.SetClipFunction(cut.plane())
    clip.InsideOutOn()
    clip.Update()
    return pyvista.wrap(clip.GetOutput())
