"""Work in a Python process of its own: its CPU seconds and its peak memory.

Run as a script it takes statements as JSON, runs them in turn and prints a line of JSON for each.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

RUNS = 5


@dataclass(frozen=True)
class Cost:
    """Medians: CPU and wall seconds of the work, and by how many bytes memory grew at most."""

    cpu: float
    wall: float
    peak: float


def apart(works: Mapping[str, tuple[str, str]], runs: int = RUNS) -> dict[str, Cost | None]:
    """What each of some works costs, in fresh processes, one after the other in turn.

    Args:
        works: by name, statements that prepare it and the statement that is measured.
        runs: how many rounds.

    Returns:
        None for what cannot be done here (the library is not installed, or fails).
    """
    found = several({name: Work(before, (work,)) for name, (before, work) in works.items()}, runs)
    return {name: costs[1] for name, costs in found.items()}


@dataclass(frozen=True)
class Work:
    """Statements that prepare, statements that are measured after them, and what runs them."""

    before: str
    works: Sequence[str]
    python: str = sys.executable


def several(works: Mapping[str, Work], runs: int = RUNS) -> dict[str, list[Cost | None]]:
    """As `apart`, with several works in each process: the cost of what prepares, then of each."""
    found: dict[str, list[list[dict[str, float] | None]]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            done = subprocess.run(
                [work.python, __file__],
                input=json.dumps([work.before, *work.works]),
                capture_output=True,
                text=True,
                check=False,
            )
            lines = [x for x in done.stdout.splitlines() if x.startswith('{"cost"')]
            costs = [json.loads(line)["cost"] for line in lines]
            # What fails ends the process, and nothing after it has a cost.
            found[name].append(costs + [None] * (1 + len(work.works) - len(costs)))
    return {
        name: [
            _median([cost for cost in costs if cost is not None])
            for costs in zip(*rounds, strict=True)
        ]
        for name, rounds in found.items()
    }


def lines_of(
    work: str, size: str, costs: Mapping[str, Cost | None], columns: Callable[[Cost], Sequence[str]]
) -> list[str]:
    """Markdown: a line for each library; at its end CPU and memory as a multiple of meshkit's.

    Args:
        work: what was done.
        size: two columns, the bytes of the file and the floor.
        costs: by library.
        columns: what to say of a cost.
    """
    ours, lines = costs.get("meshkit"), []
    for library, cost in costs.items():
        if cost is None:
            lines.append(f"| {work} | | | {library} | fails or is not installed | | | |")
            continue
        ratio = f"{cost.cpu / ours.cpu:.2f}, {cost.peak / ours.peak:.2f}" if ours else ""
        lines.append(f"| {work} | {size} | {library} | {' | '.join(columns(cost))} | {ratio} |")
    return lines


def _median(costs: Sequence[Mapping[str, float]]) -> Cost | None:
    if not costs:
        return None
    return Cost(
        *(statistics.median(cost[key] for cost in costs) for key in ("cpu", "wall", "peak"))
    )


def _memory(key: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def peak(work: Callable[[], object]) -> int:
    """By how many bytes the memory of this process grows at most while it works, its answer
    included; what it keeps for later calls is there already when it has run before."""
    resident = _afresh()
    found = work()
    grown = _memory("VmHWM:") - resident
    del found
    return grown


def _afresh() -> int:
    """The bytes in use, after what is spare was let go; the greatest is told from here on."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was let go is no one's spare memory
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark of memory starts anew
    return _memory("VmRSS:")


def _measured(statements: str, names: dict[str, object]) -> dict[str, float]:
    resident = _afresh()
    wall, cpu = time.perf_counter(), time.process_time()
    exec(statements, names)
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return cost | {"peak": _memory("VmHWM:") - resident}


def _main() -> None:
    names: dict[str, object] = {}
    for statements in json.load(sys.stdin):
        sys.stdout.write("\n" + json.dumps({"cost": _measured(statements, names)}) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main()
