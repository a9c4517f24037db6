"""One piece of work in a Python process of its own: its CPU seconds and its peak memory.

Run as a script it does the work and prints JSON; `apart` starts it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
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
    found: dict[str, list[dict[str, float]]] = {name: [] for name in works}
    for _ in range(runs):
        for name, (before, work) in works.items():
            done = subprocess.run(
                [sys.executable, __file__, before, work],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        name: Cost(
            *(statistics.median(row[key] for row in rows) for key in ("cpu", "wall", "peak"))
        )
        if rows
        else None
        for name, rows in found.items()
    }


def _memory(key: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def _main() -> None:
    before, work = sys.argv[1:]
    names: dict[str, object] = {}
    exec(before, names)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark of memory starts anew
    resident = _memory("VmRSS:")
    wall, cpu = time.perf_counter(), time.process_time()
    exec(work, names)
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    print(json.dumps(cost | {"peak": _memory("VmHWM:") - resident}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main()
