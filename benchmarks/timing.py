"""Times of callables, taken in turn, and what the machine can do at best."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.elsewhere import Elsewhere

RUNS = 5


@dataclass(frozen=True)
class Comparison:
    """One operation: the least bytes it must move, and who does it, ours first.

    The clock is that on the wall, or `time.process_time` for CPU seconds of all threads.
    """

    name: str
    bytes: int
    contenders: Mapping[str, Callable[[], object] | Elsewhere]
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Timed:
    """Median, least and greatest seconds of each contender."""

    comparison: Comparison
    seconds: Mapping[str, tuple[float, float, float]]


def timed(comparison: Comparison) -> Timed:
    """Each contender once to warm up, then five rounds of all of them."""
    times: dict[str, list[float]] = {name: [] for name in comparison.contenders}
    for work in comparison.contenders.values():
        _seconds(work, comparison.clock)
    for _ in range(RUNS):
        for name, work in comparison.contenders.items():
            times[name].append(_seconds(work, comparison.clock))
    spread = {n: (statistics.median(t), min(t), max(t)) for n, t in times.items()}
    return Timed(comparison, spread)


def _seconds(work: Callable[[], object] | Elsewhere, clock: Callable[[], float]) -> float:
    if isinstance(work, Elsewhere):
        return work.seconds()
    start = clock()
    work()
    return clock() - start


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
