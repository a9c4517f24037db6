"""Times of callables, taken in turn, and what the machine can do at best."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.apart import Cost, Elsewhere

RUNS = 5

SLOW = 1.0
"""Seconds: what takes longer runs `FEWER` times."""

FEWER = 3


@dataclass(frozen=True)
class Comparison:
    """One operation: the least bytes it must move, and who does it, ours first.

    The clock is that on the wall, or `time.process_time` for CPU seconds of all threads; `beside`
    is another that is read in the same runs. With `again`, each runs once untimed right before it
    is timed, as in a loop over many fields or meshes: else each would pay for what the others left
    in the caches, and for memory that a virtual machine has given back while they ran. Of
    contenders with processes of their own the peak memory is known as well.
    """

    name: str
    bytes: int
    contenders: Mapping[str, Callable[[], object] | Elsewhere]
    clock: Callable[[], float] = time.perf_counter
    beside: Callable[[], float] | None = None
    again: bool = False


@dataclass(frozen=True)
class Timed:
    """Median, least and greatest seconds of each contender; by the clock beside, the medians.

    And by how many bytes those in processes of their own grew, the medians.
    """

    comparison: Comparison
    seconds: Mapping[str, tuple[float, float, float]]
    beside: Mapping[str, float]
    peaks: Mapping[str, float]


def timed(comparison: Comparison) -> Timed:
    """Each contender runs untimed first, then in five rounds of all of them; slow ones in three."""
    clocks = comparison.clock, comparison.beside or comparison.clock
    times: dict[str, list[tuple[float, float, float]]] = {
        name: [] for name in comparison.contenders
    }
    if not comparison.again:
        for work in comparison.contenders.values():
            _costs(work, *clocks)
    for turn in range(RUNS):
        for name, work in comparison.contenders.items():
            if turn >= FEWER and times[name][0][0] > SLOW:
                continue
            if comparison.again:
                _costs(work, *clocks)
            times[name].append(_costs(work, *clocks))
    spread, medians, peaks = {}, {}, {}
    for name, found in times.items():
        first, second, grown = zip(*found, strict=True)
        spread[name] = statistics.median(first), min(first), max(first)
        medians[name] = statistics.median(second)
        if isinstance(comparison.contenders[name], Elsewhere):
            peaks[name] = statistics.median(grown)
    return Timed(comparison, spread, medians, peaks)


def _costs(
    work: Callable[[], object] | Elsewhere,
    clock: Callable[[], float],
    beside: Callable[[], float],
) -> tuple[float, float, float]:
    """By both clocks, and the peak memory of what is done elsewhere."""
    if isinstance(work, Elsewhere):
        cost = work.cost()
        return _by(clock, cost), _by(beside, cost), cost.peak
    start, other = clock(), beside()
    work()
    return clock() - start, beside() - other, 0


def _by(clock: Callable[[], float], cost: Cost) -> float:
    return cost.cpu if clock is time.process_time else cost.wall


def copy_bandwidth() -> float:
    """Bytes a second that one thread reads and writes in a CPU second of copying 256 MiB."""
    source = np.ones(1 << 25)
    target = np.empty_like(source)
    np.copyto(target, source)
    best = []
    for _ in range(RUNS):
        start = time.process_time()
        np.copyto(target, source)
        best.append(time.process_time() - start)
    return 2 * source.nbytes / statistics.median(best)


def machine() -> str:
    """What a figure depends on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(x.split(":")[1].strip() for x in file if x.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, Python {platform.python_version()}, {platform.system()}"
