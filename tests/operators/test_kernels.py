"""Compiled kernels survive what training does to them, and find a place to be kept."""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from meshkit.operators import compiler, kernels
from meshkit.operators.kernels import Array, Kernel, array, kernel, over_rows, unaliased

ROOT = Path(__file__).parents[2]
N = 200_000
NOBODY = 65534


def doubled(lo: int, hi: int, x: Array, out: Array) -> None:
    for i in range(lo, hi):
        out[i] = twice(x[i])


@kernel
def twice(x: int) -> int:
    return 2 * x


@pytest.fixture
def fresh() -> Kernel[[int, int, Array, Array], None]:
    """A kernel that no one has called."""
    return kernel(doubled)


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with two CPUs, and with torch's own number of threads afterwards."""
    before = torch.get_num_threads()
    monkeypatch.setattr(kernels, "_cpus", lambda: 2)
    yield
    torch.set_num_threads(before)


def test_an_array_shares_the_memory_of_its_tensor() -> None:
    x = torch.zeros(4, requires_grad=True)
    array(x)[1] = 3
    assert x.tolist() == [0, 3, 0, 0]
    assert array(torch.arange(6).reshape(2, 3)[:, 1]).tolist() == [1, 4]
    with pytest.raises(ValueError, match="lies on meta"):
        array(torch.zeros(1, device="meta"))


def test_the_compiler_learns_that_arrays_are_unaliased() -> None:
    said = []
    for made in (kernel(doubled), unaliased(doubled)):
        compiled = made._jit()
        out = np.zeros(3, np.int64)
        compiled(0, 3, np.arange(3), out)
        assert out.tolist() == [0, 2, 4]
        said.append(compiled.inspect_llvm(compiled.signatures[0]).count(" noalias "))
    assert said[0] < said[1]


@pytest.mark.usefixtures("two_cpus")
def test_rows_are_written_once_by_any_number_of_threads() -> None:
    seen: list[tuple[int, int, str]] = []

    def note(lo: int, hi: int) -> None:
        seen.append((lo, hi, threading.current_thread().name))

    for number, parts in ((1, 1), (2, 8)):
        torch.set_num_threads(number)
        seen.clear()
        over_rows(as_written(note), N)
        spans = sorted(seen)
        assert len(spans) == parts
        assert [lo for lo, _, _ in spans] == [0, *(hi for _, hi, _ in spans[:-1])]
        assert spans[-1][1] == N
    seen.clear()
    over_rows(as_written(note), kernels.ROWS_PER_THREAD)
    assert seen == [(0, kernels.ROWS_PER_THREAD, threading.current_thread().name)]


def as_written(function: Callable[[int, int], None]) -> Kernel[[int, int], None]:
    """A kernel that is run as Python, so that it can tell what it was called with."""
    made = kernel(function)
    made._compiled = function
    return made


@pytest.mark.usefixtures("two_cpus")
def test_a_failing_range_is_raised_after_all_have_ended() -> None:
    torch.set_num_threads(2)
    ended: list[int] = []

    def fail(lo: int, hi: int) -> None:
        if lo == 0:
            raise ZeroDivisionError("the first range")
        ended.append(hi)

    with pytest.raises(ZeroDivisionError, match="the first range"):
        over_rows(as_written(fail), N)
    assert max(ended) == N


@pytest.mark.usefixtures("two_cpus")
def test_four_threads_may_call_a_kernel_at_once(
    fresh: Kernel[[int, int, Array, Array], None],
) -> None:
    torch.set_num_threads(2)
    together = threading.Barrier(4)

    def call(start: int) -> bool:
        x, out = np.arange(start, start + N), np.zeros(N, dtype=np.int64)
        together.wait()
        over_rows(fresh, N, x, out)  # the first four calls all find it uncompiled
        return np.array_equal(out, 2 * x)

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(call, range(8)))


def run(script: Path, *arguments: str, **more: object) -> str:
    """What a script prints, in a process of its own."""
    done = subprocess.run(  # type: ignore[call-overload]
        [sys.executable, str(script), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        **more,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stderr
    return str(done.stdout)


KERNEL = """
import os
import threading

import numpy as np
from torch.utils.data import DataLoader, Dataset

from meshkit.operators import compiler, kernels
from meshkit.operators.kernels import kernel, over_rows

# Also in workers, where torch has one thread, and where its own do not survive the fork.
kernels.threads = lambda: 2


@kernel
def doubled(lo, hi, x, out):
    for i in range(lo, hi):
        out[i] = 2 * x[i]


def right(n=200_000, dtype="int64"):
    x = np.arange(n, dtype=dtype)
    out = np.zeros_like(x)
    over_rows(doubled, n, x, out)
    return bool(np.array_equal(out, 2 * x))

"""

TRAINING = (
    KERNEL
    + """
class Samples(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return right()


if __name__ == "__main__":
    print(right())
    for way in ("fork", "forkserver", "spawn"):
        loader = DataLoader(Samples(), num_workers=2 if way == "fork" else 1,
                            multiprocessing_context=way, timeout=60)
        print(way, [bool(ok) for batch in loader for ok in batch], right())
    # A fork while another thread compiles; the child compiles, too.
    compiling = threading.Thread(target=right, args=(200_000, 'float32'))
    from numba.core.compiler_lock import global_compiler_lock as lock
    compiling.start()
    while compiling.is_alive() and not lock.is_locked():
        pass
    child = os.fork()
    if not child:
        os._exit(0 if right(dtype='float64') else 1)
    print("fork while compiling", os.waitpid(child, 0)[1])
    compiling.join()
"""
)


def test_kernels_run_in_the_workers_of_a_data_loader(tmp_path: Path) -> None:
    script = tmp_path / "training.py"
    script.write_text(TRAINING)
    assert run(script, cwd=tmp_path).splitlines() == [
        "True",
        *(f"{way} [True, True, True, True] True" for way in ("fork", "forkserver", "spawn")),
        "fork while compiling 0",
    ]


def test_small_ids_are_for_kernels_once_they_are_loaded_or_were_often_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most, cpu = kernels.WORTH_COMPILING, torch.device("cpu")
    config = SimpleNamespace(DISABLE_JIT=0)
    monkeypatch.setattr(compiler, "numba", cache(lambda: SimpleNamespace(config=config)))
    monkeypatch.setattr(kernels, "_ASKED", itertools.count())
    monkeypatch.setattr(kernels, "PATIENCE", 3)
    asked = [kernels.worth_compiling(n, cpu) for n in (0, most, most - 1, 0)]
    assert asked == [False, True, False, True]
    compiler.numba()
    monkeypatch.setattr(kernels, "PATIENCE", most)
    assert kernels.worth_compiling(0, cpu)
    assert not kernels.worth_compiling(most, torch.device("meta"))
    config.DISABLE_JIT = 1
    assert [kernels.worth_compiling(n, cpu) for n in (most - 1, most)] == [False, True]


SMALL = """
import multiprocessing
import os
import sys

import torch

from meshkit import make_mesh, operators as ops
from meshkit.operators.adjacency import pairing


def faces(mesh):
    ways = []
    for way in ("kernels", "sorting"):
        def noted(cells, way=way, work=getattr(pairing, "paired_by_" + way)):
            ways.append(way)
            return work(cells)
        setattr(pairing, "paired_by_" + way, noted)
    cells = mesh.cells.apply(lambda x: x)
    found = ops.faces(mesh.replace(cells=cells))
    return [ways[0], "numba" in sys.modules, [x.tolist() for x in found.sources]]


if __name__ == "__main__":
    points = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1.0]])
    mesh = make_mesh(points, [[0, 1, 2, 3], [0, 2, 1, 4]])
    way, imported, wanted = faces(mesh)
    print(way, imported)
    print(round(ops.cell_measures(mesh).sum().item() * 3, 5))
    for start in ("here", "fork", "spawn"):
        if start == "here":
            way, imported, found = faces(mesh)
        else:
            # As a data loader does: threads of torch do not survive a fork.
            alone = torch.set_num_threads, (1,)
            with multiprocessing.get_context(start).Pool(1, *alone) as pool:
                way, imported, found = pool.apply(faces, (mesh,))
        print(start, way, imported, found == wanted)
"""


def test_small_meshes_do_not_load_numba_and_use_it_where_it_is(tmp_path: Path) -> None:
    script = tmp_path / "small.py"
    script.write_text(SMALL)
    assert run(script, cwd=tmp_path).splitlines() == [
        "sorting False",
        "1.0",
        "here kernels True True",
        "fork kernels True True",
        "spawn sorting False True",
    ]


KEEPING = (
    KERNEL
    + """
import resource
import sys
import tempfile
from pathlib import Path

import numba


def kept(folder, **more):
    tempfile.tempdir = folder
    doubled._compiled = None
    print(right(**more), sorted({f.suffix for f in Path(folder).rglob("*.nb*")}))

user, warm, own, foreign = sys.argv[1:]
if os.getuid() != int(user):
    # All that is imported late is imported now: Python itself may lie in a folder of root's.
    numba.config.CACHE_DIR = warm
    kept(warm, dtype='int32')
    kept(warm, dtype='int32')
    numba.config.CACHE_DIR = ""
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    print("another user")
kept(own)
kept(own)
kept(foreign)
# A full disk: files of no bytes can be made, and nothing written.
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
kept(own, dtype='int32')
"""
)


def test_without_a_home_and_beside_read_only_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest's own temporary folders are closed to other users.
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        site, warm, own, foreign = (folder / name for name in ("site", "warm", "own", "foreign"))
        for each in (site, warm, own, foreign):
            each.mkdir()
        for room in ("meshkit", "operators"):
            shutil.copytree(ROOT / room, site / room, ignore=shutil.ignore_patterns("__pycache__"))
        script = site / "keeping.py"
        script.write_text(KEEPING)
        subprocess.run(["chmod", "-R", "a+rX,a-w", site], check=True)
        user = NOBODY if os.getuid() == 0 else os.getuid()
        shared = foreign / f"meshkit-kernels-{user}"
        shared.mkdir()
        shared.chmod(0o777)  # anyone could leave code here
        folder.chmod(0o755)
        own.chmod(0o1777)
        variables = {
            "HOME": "/nonexistent",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(site),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        said = run(script, str(user), str(warm), str(own), str(foreign), env=variables, cwd=site)
        subprocess.run(["chmod", "-R", "u+w", site], check=True)
        said = said.rpartition("another user\n")[2]
        kept = "True ['.nbc', '.nbi']"
        assert said.splitlines() == [kept, kept, "True []", kept]


FIRST_CALL = (
    KERNEL
    + """
import gc
import sys

from meshkit.operators import compiler


@kernel
def smallest(x):
    found = np.exp(np.log(x[np.argsort(x)])) * np.ones(len(x))
    return found[0] if hash("a" if x[0] > 1 else "b") != 0 else 0.0


def compiling():
    return "numba.cpython.printimpl" in sys.modules


def imported():
    return "scipy.linalg" in sys.modules


print(right(), smallest(np.array([2.0, 1.0])), compiling(), gc.isenabled(), imported())


@kernel
def product(a, b):
    return np.dot(a, b)


print(product(np.arange(3.0), np.ones(3)), compiling(), gc.isenabled(), imported())
gc.disable()
for again in (compiler.numba, compiler.ready):
    again.cache_clear()
    again()
print(gc.isenabled())
"""
)


def test_kept_code_is_loaded_without_what_compiling_needs(tmp_path: Path) -> None:
    script = tmp_path / "first.py"
    script.write_text(FIRST_CALL)
    for compiling in (True, False):
        assert run(script, cwd=tmp_path).splitlines() == [
            f"True 1.0 {compiling} True False",  # no linear algebra yet
            f"3.0 {compiling} True True",
            "False",
        ]
