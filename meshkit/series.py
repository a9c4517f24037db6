"""Meshes over time, read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from weakref import ref

import torch

from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.mesh import Mesh


class MeshSeries:
    """A mesh at each of some times; `series[i]` reads one.

    While the topology does not change, the meshes share one `Cells` object, so what operators
    work out of it is worked out once. A field may be absent at some times.

    Args:
        times: ascending.
        load: gives the mesh of step i; called whenever step i is asked for.

    Raises:
        MeshError: times do not ascend.
    """

    def __init__(self, times: Sequence[float], load: Callable[[int], Mesh]) -> None:
        self.times: tuple[float, ...] = tuple(float(t) for t in times)
        if any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise MeshError("series: expected times to ascend")
        self._load = load
        self._topology: ref[Cells] | None = None

    @classmethod
    def of(cls, meshes: Sequence[Mesh]) -> MeshSeries:
        """A series of meshes at hand, each with its `info.time`."""
        times = [m.info.time for m in meshes]
        if any(t is None for t in times):
            raise MeshError("series: expected every mesh to have info.time")
        return cls([t for t in times if t is not None], list(meshes).__getitem__)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Mesh]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Mesh:
        if not -len(self) <= i < len(self):
            raise IndexError(f"step {i} of a series of {len(self)}")
        i %= len(self)
        mesh = self._load(i)
        mesh = mesh.replace(info=mesh.info.replace(time=self.times[i]))
        last = self._topology() if self._topology is not None else None
        if last is not None and last is not mesh.cells and _equal(last, mesh.cells):
            mesh = mesh.replace(cells=last)
        self._topology = ref(mesh.cells)
        return mesh

    def at(self, time: float | str | int) -> Mesh:
        """The mesh at "first", "last", a step (int) or a time (float, to 1e-9 of the span).

        Raises:
            MeshError: there is no such time; the times are named.
        """
        return self[step_of(self.times, time)]

    def __repr__(self) -> str:
        span = f", {self.times[0]:g} to {self.times[-1]:g}" if self.times else ""
        return f"MeshSeries({len(self)} times{span})"


def step_of(times: Sequence[float], time: float | str | int) -> int:
    """Which step is meant by "first", "last", an index or a time.

    >>> step_of([0.0, 0.5, 1.0], "last"), step_of([0.0, 0.5], 0.5), step_of([0.0, 0.5], -1)
    (2, 1, 1)
    """
    n = len(times)
    listed = ", ".join(f"{t:g}" for t in times[:8]) + (", ..." if n > 8 else "")
    if n == 0:
        raise MeshError("no times at all")
    if isinstance(time, str):
        if time not in ("first", "last"):
            raise MeshError(f"time: expected 'first', 'last', an index or a time, found {time!r}")
        return 0 if time == "first" else n - 1
    if isinstance(time, int):
        if not -n <= time < n:
            there = "is one time" if n == 1 else f"are {n} times"
            raise MeshError(f"no step {time}; there {there}: {listed}")
        return time % n
    near = min(range(n), key=lambda i: abs(times[i] - time))
    if abs(times[near] - time) > 1e-9 * max(abs(times[-1] - times[0]), abs(time)):
        raise MeshError(f"no time {time:g}; there are {listed}")
    return near


def _equal(a: Cells, b: Cells) -> bool:
    mine, theirs = a.sources, b.sources
    return len(mine) == len(theirs) and all(
        x.dtype == y.dtype and x.device == y.device and torch.equal(x, y)
        for x, y in zip(mine, theirs, strict=True)
    )
