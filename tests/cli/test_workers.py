"""A child that crashes, hangs or fills the memory costs its own task and no other.

The work is functions of the standard library, which a child finds wherever it runs.
"""

import json
import os
import signal
import time
from contextlib import closing
from pathlib import Path

from meshkit.cli import workers
from meshkit.cli.workers import Ending


def endings(
    work: workers.Work, *tasks: object, timeout: float | None = None
) -> list[Ending[object]]:
    found = list(workers.run(work, tasks, jobs=2, timeout=timeout))
    return sorted(found, key=lambda ending: tasks.index(ending.task))


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_until(what: object, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.01)


def test_answers() -> None:
    found = endings(json.loads, '{"a": [1, null]}', '"é"', "3")
    assert [e.answer for e in found] == [{"a": [1, None]}, "é", 3]
    assert all(e.problem is None and e.seconds >= 0 for e in found)


def test_no_task_at_all() -> None:
    assert endings(json.loads) == []


def test_a_crash_costs_one_task() -> None:
    found = endings(signal.raise_signal, signal.SIGSEGV, 0, signal.SIGKILL)
    assert found[0].problem == "its process was killed by SIGSEGV"
    assert found[1].problem is None
    assert found[2].problem == "its process was killed by SIGKILL (out of memory?)"


def test_an_exit_without_an_answer() -> None:
    (found,) = endings(os._exit, 3)
    assert found.problem is not None
    assert "exit code 3" in found.problem


def test_a_full_memory_costs_one_task() -> None:
    found = endings(bytearray, 1 << 60)
    assert found[0].problem == "needs more memory than there is"


def test_a_hang_costs_one_task() -> None:
    found = endings(time.sleep, 0.01, 600, 0.02, timeout=8)
    assert [e.problem for e in found] == [None, "took longer than 8 s", None]
    assert found[1].seconds < 60


def test_a_defect_is_named_and_its_traceback_kept() -> None:
    found = endings(json.loads, "{", "1")
    assert found[0].problem is not None
    assert "JSONDecodeError: Expecting property name" in found[0].problem
    assert "\n" not in found[0].problem
    assert "Traceback" in found[0].log
    assert found[1].answer == 1


def test_what_a_child_prints_is_kept_apart() -> None:
    (found,) = endings(print, "hello")
    assert (found.log, found.answer) == ("hello", None)
    (found,) = endings(os.system, f"seq {workers.LOG_TAIL}; echo end >&2")
    assert found.log.endswith(f"{workers.LOG_TAIL}\nend")
    assert len(found.log) <= workers.LOG_TAIL


def test_at_most_so_many_at_once() -> None:
    started = time.monotonic()
    assert len(list(workers.run(time.sleep, [0.3] * 4, jobs=1))) == 4
    assert time.monotonic() - started >= 1.2


def test_children_are_killed_when_nobody_listens_any_more(tmp_path: Path) -> None:
    # The second notes its process and one that it started.
    note = tmp_path / "pids"
    tasks = ["true", f"echo $PPID $$ > {note}.new; mv {note}.new {note}; sleep 600"]
    with closing(workers.run(os.system, tasks, jobs=2)) as found:
        assert next(found).task == "true"
        wait_until(note.exists)
        pids = [int(text) for text in note.read_text().split()]
        assert not any(map(gone, pids))
    wait_until(lambda: all(map(gone, pids)))


def test_what_a_child_started_ends_with_it() -> None:
    (found,) = endings(os.system, "sleep 600", timeout=3)
    assert found.problem == "took longer than 3 s"
