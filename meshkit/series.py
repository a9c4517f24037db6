"""Meshes over time, read when asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from weakref import ref

import torch

from meshkit.cells import Cells
from meshkit.devices import need_known
from meshkit.errors import MeshError
from meshkit.mesh import Mesh


class MeshSeries:
    """A mesh at each of some times; `series[i]` reads one.

    While the topology does not change, the meshes share one `Cells` object, so what operators
    work out of it is worked out once. A field may be absent at some times.

    Args:
        times: finite, ascending.
        load: gives the mesh of step i; called whenever step i is asked for.

    Raises:
        MeshError: times do not ascend, or are not finite.
    """

    def __init__(self, times: Sequence[float], load: Callable[[int], Mesh]) -> None:
        need_known("series: times", times)
        self.times: tuple[float, ...] = tuple(float(t) for t in times)
        if not all(math.isfinite(t) for t in self.times):
            raise MeshError("series: expected finite times")
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
        """The mesh at "first", "last", a step (int) or a time (float).

        A time is met to a millionth of the gap to the next one.

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
    listed = ", ".join(map(_told, times[:8])) + (", ..." if n > 8 else "")
    if n == 0:
        raise MeshError("no times at all")
    time = moment_of(time)
    if isinstance(time, str):
        return 0 if time == "first" else n - 1
    if isinstance(time, int):
        if not -n <= time < n:
            there = "is one time" if n == 1 else f"are {n} times"
            raise MeshError(f"no step {time}; there {there}: {listed}")
        return time % n
    near = min(range(n), key=lambda i: abs(times[i] - time))
    if not math.isfinite(time) or _half(times[near], time) > _tolerance(times, near):
        raise MeshError(f"no time {_told(time)}; there are {listed}")
    return near


def _tolerance(times: Sequence[float], near: int) -> float:
    """Half of how far from a time another may be and still mean it."""
    if len(times) == 1:
        return 1e-9 * abs(times[0] / 2)
    around = range(max(near, 1), min(near + 2, len(times)))
    return 1e-6 * min(_half(times[i], times[i - 1]) for i in around)


def _half(a: float, b: float) -> float:
    """Half of a distance, which is finite for all finite numbers."""
    return abs(a / 2 - b / 2)


def moment_of(time: object) -> float | int | str:
    """What is meant by a time that a caller gives: "first", "last", a step or a time.

    >>> moment_of("last"), moment_of(3), moment_of(0.5)
    ('last', 3, 0.5)

    Raises:
        MeshError: it is none of these.
    """
    if isinstance(time, str) and time in ("first", "last"):
        return time
    if isinstance(time, Integral) and not isinstance(time, bool):
        return int(time)
    if isinstance(time, Real) and not isinstance(time, bool):
        return float(time)
    said = f"{time!r:.60}"
    raise MeshError(f"time: expected 'first', 'last', a step (int) or a time (float), found {said}")


def _told(time: float) -> str:
    """A time as short as it can be said; nearly equal ones are told apart."""
    return f"{time:g}" if float(f"{time:g}") == time else repr(float(time))


def _equal(a: Cells, b: Cells) -> bool:
    mine, theirs = a.sources, b.sources
    return len(mine) == len(theirs) and all(
        x.dtype == y.dtype and x.device == y.device and torch.equal(x, y)
        for x, y in zip(mine, theirs, strict=True)
    )
