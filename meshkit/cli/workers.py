"""One child process a task, so that a crash, a hang or a full memory costs one task.

The children are forked from a server that has imported torch once (`meshkit.cli.preload`) and what
else they are going to need, so one costs milliseconds. A child ends with its parent, however that
ends.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from meshkit.errors import MeshkitError
from meshkit.words import one_line

Task = TypeVar("Task")
Work = Callable[[Any], Any]

LOG_TAIL: Final = 4000
"""How many of the last bytes that a child printed are kept."""

_PATIENCE: Final = 5.0
"""Seconds that a killed child is waited for."""


_LONG: Final = 3600.0
"""Seconds that are waited for at a time."""


@dataclass(frozen=True, slots=True)
class Ending(Generic[Task]):
    """How a task ended: with an answer, or with a problem in one line."""

    task: Task
    seconds: float
    answer: Any = None
    problem: str | None = None
    log: str = ""  # the last of what the child printed


def start_server(modules: Sequence[str] = ()) -> None:
    """Start the server that children are forked from; it imports while the caller goes on.

    Where one runs already it is left as it is, and children import what it lacks.

    Args:
        modules: what it imports beside `meshkit.cli.preload`; one that is missing is left to
            those who need it.
    """
    multiprocessing.set_forkserver_preload(["meshkit.cli.preload", *modules])
    if threading.current_thread() is not threading.main_thread():
        forkserver.ensure_running()
        return
    # It ignores Ctrl-C, but not before it has imported; what is ignored is inherited.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def run(
    work: Work,
    tasks: Iterable[Task],
    *,
    jobs: int,
    timeout: float | None = None,
    modules: Sequence[str] = (),
) -> Generator[Ending[Task], None, None]:
    """Each task's ending, as they come; at most `jobs` at a time.

    Args:
        work: a function of a module; gets the task, returns what JSON can say. A MeshkitError it
            raises is the problem of that task. Anything else it raises is a defect: the problem
            then says so, and the traceback is in the log.
        tasks: what can be pickled.
        jobs: how many children may run at once.
        timeout: seconds a child may take; None or infinity for no limit.
        modules: what the children are going to need.

    Children that still run when the iterator is closed are killed.
    """
    start_server(modules)
    waiting = deque(tasks)
    running: list[_Child[Task]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Child(work, waiting.popleft(), timeout))
            _listen(running)
            for child in running[:]:
                ending = child.ending()
                if ending is not None:
                    running.remove(child)
                    yield ending
    finally:
        for child in running:
            child.kill()


def _listen(running: list[_Child[Task]]) -> None:
    """Wait until a child says something or the first has run out of time."""
    deadlines = [c.deadline for c in running if c.deadline is not None]
    patience = None
    if deadlines:  # the system takes no more than some weeks; whoever calls asks again
        patience = min(max(0.0, min(deadlines) - time.monotonic()), _LONG)
    by_pipe = {pipe: child for child in running for pipe in child.pipes}
    for pipe in wait(list(by_pipe), patience):
        if isinstance(pipe, Connection):
            by_pipe[pipe].hear(pipe)


class _Child(Generic[Task]):
    """A process at work on one task, with a pipe for its answer and one for what it prints."""

    def __init__(self, work: Work, task: Task, timeout: float | None) -> None:
        self.task = task
        self._timeout = timeout
        self._answers, answers = multiprocessing.Pipe(duplex=False)
        self._prints, prints = multiprocessing.Pipe(duplex=False)
        self.pipes = [self._answers, self._prints]
        self._log = b""
        self._said: dict[str, Any] | None = None
        context = multiprocessing.get_context("forkserver")
        self._process = context.Process(target=_serve, args=(work, task, answers, prints))
        try:
            self._process.start()
        except (OSError, EOFError) as why:  # the server could not fork, or died of it
            self._said = {"problem": f"no process could be started for it: {why}"}
        # Only now: the server may have had to import first.
        self._started = time.monotonic()
        self.deadline = None if timeout is None else self._started + timeout
        # Only the child's copies stay open, so that the pipes end when it does.
        answers.close()
        prints.close()

    def hear(self, pipe: Connection) -> None:
        """Take what is in a pipe; forget the pipe at its end."""
        try:
            if pipe is self._answers:
                self._said = json.loads(pipe.recv_bytes())
            elif printed := os.read(pipe.fileno(), 1 << 16):
                self._log = (self._log + printed)[-LOG_TAIL:]
                return
        except (EOFError, OSError):  # it died, perhaps in the middle of a word
            pass
        self.pipes.remove(pipe)

    def ending(self) -> Ending[Task] | None:
        """How it ended; None while it runs."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        answered = self._said is not None or self._answers not in self.pipes
        if not answered and not late:
            return None
        seconds = time.monotonic() - self._started
        if self._said is not None:
            # The work is done: nothing that happens at its exit matters.
            self.kill()
            return Ending(self.task, seconds, log=self._text(), **self._said)
        if not answered:
            self.kill()
            problem = f"took longer than {self._timeout:g} s"
            return Ending(self.task, seconds, problem=problem, log=self._text())
        self._process.join()
        code = self._process.exitcode
        log = self._text()
        self._process.close()
        return Ending(self.task, seconds, problem=_cause(code, log), log=log)

    def kill(self) -> None:
        """End it now; what waits for a dead disk ends later, and nobody waits for it."""
        if self._process.pid is not None:
            with suppress(ProcessLookupError):  # its group; too early, and it has none yet
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join(_PATIENCE)
            if self._process.exitcode is not None:
                self._process.close()

    def _text(self) -> str:
        """The last that it printed; it has gone."""
        while self._prints in self.pipes and self._prints.poll(0):
            self.hear(self._prints)
        self._answers.close()
        self._prints.close()
        return self._log.decode(errors="replace").strip()


def _cause(code: int | None, log: str) -> str:
    """Why a child died without an answer, in one line."""
    last = one_line(log.rpartition("\n")[2])
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"its process was killed by {name}{hint}" + (f": {last}" if last else "")
    return f"its process ended with exit code {code}, a defect of meshkit: {last or 'no message'}"


def _serve(work: Work, task: Any, answers: Connection, prints: Connection) -> None:
    """What a child does."""
    os.setpgid(0, 0)  # with all that it starts; Ctrl-C goes to the parent alone
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with_parent()
    _die_first_when_memory_is_full()
    for stream in (1, 2):  # also what C libraries print
        os.dup2(prints.fileno(), stream)
    prints.close()
    try:
        said = {"answer": work(task)}
    except MeshkitError as why:
        said = {"problem": str(why)}
    except MemoryError:
        said = {"problem": "needs more memory than there is"}
    for text in (sys.stdout, sys.stderr):
        text.flush()
    answers.send_bytes(json.dumps(said).encode())


def _end_with_parent() -> None:
    """Ask the kernel to end this group of processes when the parent's end of the pipe closes.

    A thread that waits for that would not run while a C library computes or hangs; SIGIO, whose
    default is to terminate, comes at once.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    pipe = int(parent.sentinel)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if wait([pipe], 0):  # it died before we asked
        os.killpg(0, signal.SIGKILL)


def _die_first_when_memory_is_full() -> None:
    """Let the kernel prefer this process to its parent, the server and the rest of the machine."""
    with suppress(OSError):  # no such file in some containers
        Path("/proc/self/oom_score_adj").write_text("900")
