"""Which data of a file belong to which time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from meshkit.readers.gmsh.views import View


@dataclass(frozen=True)
class Times:
    """Which data belong to which time.

    `said` holds the times of the file where steps stand in their place.
    """

    times: tuple[float, ...]
    views: tuple[View, ...]
    said: tuple[float, ...] | None = None

    @staticmethod
    def of(found: Sequence[View]) -> Times:
        """The distinct times of some data, ascending."""
        timed = [view for view in found if view.time is not None]
        once = Counter((v.kind, v.name, v.partition, v.time, v.step) for v in timed)
        of_time = Counter((kind, name, part, time) for kind, name, part, time, _ in once)
        if all(n == 1 for n in of_time.values()):
            times = sorted({view.time for view in timed if view.time is not None})
            return Times(tuple(times), tuple(found))
        steps = sorted({view.step for view in timed})
        said = {view.step: view.time or 0.0 for view in timed}
        return Times(tuple(map(float, steps)), tuple(found), tuple(said[step] for step in steps))

    def at(self, i: int) -> list[View]:
        """The data of one time, and those without."""
        if not self.times:
            return list(self.views)
        when = self.times[i]
        return [
            view
            for view in self.views
            if view.time is None or (view.time if self.said is None else view.step) == when
        ]
