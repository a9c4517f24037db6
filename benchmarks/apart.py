"""Work in Python processes of their own: its CPU and wall seconds and its peak memory.

A process of its own keeps a contender from working in memory that another has just let go, or from
paying for it. Before each measured run what is spare in the process is given back, so that every
contender pays for all the memory that it touches, whatever ran before.

Run as a script it takes statements and expressions as lines of JSON and answers each with a line.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = 5


@dataclass(frozen=True)
class Cost:
    """CPU and wall seconds of some work, and by how many bytes memory grew at most."""

    cpu: float
    wall: float
    peak: float


class Worker:
    """A Python process with one thread that keeps what statements before have made.

    It finds the packages of this repository, and ends with the process that made it.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [python, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            text=True,
        )

    def run(self, statements: str) -> Cost:
        """What statements cost.

        Raises:
            RuntimeError: they fail; the message says how.
        """
        return Cost(**self._asked("run", statements))

    def told(self, expression: str) -> Any:
        """The value of an expression, as far as JSON can say it.

        Raises:
            RuntimeError: it fails; the message says how.
        """
        return self._asked("tell", expression)

    def _asked(self, verb: str, code: str) -> Any:
        ours, theirs = self._process.stdin, self._process.stdout
        if ours is None or theirs is None:
            raise RuntimeError("the worker has no pipes")
        with suppress(BrokenPipeError):
            ours.write(json.dumps([verb, code]) + "\n")
            ours.flush()
        for line in theirs:
            if line.startswith(_ANSWER):
                return json.loads(line.removeprefix(_ANSWER))
        self._complaints.seek(0)
        said = self._complaints.read().strip().rpartition("\n")[2]
        raise RuntimeError(f"a worker ended at: {code}: {said}")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass(frozen=True)
class Elsewhere:
    """A contender that a worker runs; what takes milliseconds is measured many times in a row."""

    worker: Worker
    statements: str
    times: int = 1

    def cost(self) -> Cost:
        """What it costs once, in the mean of so many times one right after the other."""
        if self.times == 1:
            return self.worker.run(self.statements)
        all = self.worker.run(f"for _ in range({self.times}): {self.statements}")
        return Cost(all.cpu / self.times, all.wall / self.times, all.peak)


def peer_python() -> str | None:
    """The Python of peers that need one of their own, where MESHKIT_PEER_PYTHON names it."""
    return os.environ.get("MESHKIT_PEER_PYTHON")


def python_of(contender: str) -> str:
    """The Python that runs a contender: physicsnemo may need one of its own."""
    return ("physicsnemo" in contender and peer_python()) or sys.executable


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
    found: dict[str, list[list[Cost | None]]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            found[name].append(_in_turn(work.python, (work.before, *work.works)))
    return {
        name: [
            median([cost for cost in costs if cost is not None])
            for costs in zip(*rounds, strict=True)
        ]
        for name, rounds in found.items()
    }


def _in_turn(python: str, works: Sequence[str]) -> list[Cost | None]:
    """What works cost in a fresh process; after one that fails nothing has a cost."""
    costs: list[Cost | None] = []
    with Worker(python) as worker:
        try:
            for statements in works:
                costs.append(worker.run(statements))
        except RuntimeError:
            costs += [None] * (len(works) - len(costs))
    return costs


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


def median(costs: Sequence[Cost]) -> Cost | None:
    """The medians of each; None of none."""
    if not costs:
        return None
    return Cost(
        *(
            statistics.median(getattr(cost, key) for cost in costs)
            for key in ("cpu", "wall", "peak")
        )
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
    gc.freeze()  # the next collection need not go through all that was imported
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


_ANSWER = "answer: "


def _serve() -> None:
    sys.path[0] = str(Path(__file__).parents[1])  # the folder of this file has a gmsh.py, too
    names: dict[str, object] = {}
    for line in sys.stdin:
        verb, code = json.loads(line)
        found = _measured(code, names) if verb == "run" else eval(code, names)
        sys.stdout.write("\n" + _ANSWER + json.dumps(found) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _serve()
