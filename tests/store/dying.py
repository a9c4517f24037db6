"""Writers that die, fail or race, in processes forked from one that has imported everything.

`python -m tests.store.dying WHAT FOLDER [NUMBER]` prints one JSON object: what came of it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from meshkit.errors import MeshkitError, ReadError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences

torch.set_num_threads(1)


def sample(seed: int) -> Mesh:
    """Two meshes of different sizes and numbers; a few hundred kilobytes."""
    generator = torch.Generator().manual_seed(seed)
    n = 12_000 + 4 * seed
    points = torch.rand(n, 3, generator=generator)
    ids = torch.arange(n // 4)
    halves = [Region("a", "cell", ids[::2]), Region("b", "cell", ids[1::2])]
    mesh = make_mesh(points, torch.arange(n).reshape(-1, 4), regions=halves)
    return mesh.with_data(point={f"p{i}": torch.rand(n, generator=generator) for i in range(4)})


SAMPLES = {"old": sample(0), "new": sample(1)}


def state(path: Path) -> str:
    """Which of the samples lies there: "old", "new", "none", or what is wrong."""
    try:
        mesh = read(path)
    except ReadError as why:
        no_sample = "is no sample" in str(why) or "No such file" in str(why)
        return "none" if no_sample else f"error: {why}"
    except MeshkitError as why:
        return f"error: {why}"
    for name, held in SAMPLES.items():
        if differences(held, mesh) == []:
            return name
    return "other numbers"


def forked(work: Callable[[], None]) -> int:
    """A child that does this and ends; its process id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as why:
            print(repr(why), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


def seconds_to_write(path: Path) -> float:
    started = time.perf_counter()
    os.waitpid(forked(lambda: _write("new", path)), 0)
    return time.perf_counter() - started


def _write(name: str, path: Path) -> None:
    write(SAMPLES[name], path)


def killed_at_random(folder: Path, n: int, suffix: str = ".zarr") -> dict[str, Any]:
    """Writers killed at n moments, over an old sample and over nothing."""
    write(SAMPLES["old"], folder / f"first{suffix}")  # what it imports need not be imported again
    usual = sorted(seconds_to_write(folder / f"{i}{suffix}") for i in range(3))[1]
    rng = random.Random(n)
    found: Counter[str] = Counter()
    for i in range(n):
        path = folder / f"it{i}{suffix}"
        if i % 3:
            write(SAMPLES["old"], path)
        child = forked(lambda path=path: _write("new", path))  # type: ignore[misc]
        time.sleep(usual * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found[f"{'over old' if i % 3 else 'over none'}: {state(path)}"] += 1
    return dict(found)


def blocks_killed_at_random(folder: Path, n: int) -> dict[str, Any]:
    """The same of a .vtm and its blocks."""
    return killed_at_random(folder, n, ".vtm")


def blocks_killed_at_each_step(folder: Path, stride: int) -> dict[str, Any]:
    """The same as `killed_at_each_step` of a .vtm and its blocks."""
    return killed_at_each_step(folder, stride, ".vtm")


def killed_at_each_step(folder: Path, stride: int, suffix: str = ".zarr") -> dict[str, Any]:
    """Writers killed just before a thing they do to the file system, until one gets through.

    The first at the first of these things, the next `stride` further on, and so forth.
    """
    found: Counter[str] = Counter()
    path = folder / f"it{suffix}"
    for fatal in range(0, 10_000, stride):
        write(SAMPLES["old"], path)  # also removes what the last one left

        def work(fatal: int = fatal) -> None:
            done = 0

            def hook(event: str, arguments: tuple[Any, ...]) -> None:
                nonlocal done
                if event in ("open", "os.mkdir", "os.rename"):
                    done += str(folder) in str(arguments[0])
                elif event in (
                    "ctypes.dlsym",
                    "os.remove",
                    "os.rmdir",
                ):  # the exchange, the old one
                    done += 1
                else:
                    return
                if done > fatal:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            _write("new", path)

        _, status = os.waitpid(forked(work), 0)
        found[state(path)] += 1
        if not os.WIFSIGNALED(status):
            break
    write(SAMPLES["new"], path)
    return {**found, "left": sorted(os.listdir(folder))}


def two_at_once(folder: Path, n: int) -> dict[str, Any]:
    """Two writers at a time, over nothing the first time."""
    found: Counter[str] = Counter()
    path = folder / "it.zarr"
    for _ in range(n):
        children = [forked(lambda name=name: _write(name, path)) for name in SAMPLES]  # type: ignore[misc]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        found[state(path) if codes == [0, 0] else f"exit codes {codes}"] += 1
    return {**found, "left": sorted(os.listdir(folder))}


def read_meanwhile(folder: Path, n: int) -> dict[str, Any]:
    """A reader while a writer replaces the sample n times."""
    path = folder / "it.zarr"
    write(SAMPLES["old"], path)

    def work() -> None:
        for i in range(n):
            _write("new" if i % 2 == 0 else "old", path)

    child = forked(work)
    found: Counter[str] = Counter()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        found[state(path)] += 1
    return dict(found)


def disk_full(folder: Path, *limits: int) -> dict[str, Any]:
    """Writers whose files may have so many bytes each."""
    return {str(limit): _disk_full(folder, limit) for limit in limits}


def _disk_full(folder: Path, limit: int) -> dict[str, Any]:
    path = folder / "it.zarr"
    write(SAMPLES["old"], path)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            _write("new", path)
            said = "written"
        except MeshkitError as why:
            said = f"{type(why).__name__}: {why}"
        os.write(to, said.encode())

    from_, to = os.pipe()
    os.waitpid(forked(work), 0)
    os.close(to)
    with os.fdopen(from_) as pipe:
        said = pipe.read()
    return {"said": said, "state": state(path), "left": sorted(os.listdir(folder))}


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    answer = globals()[what](Path(where), *map(int, numbers))
    print(json.dumps(answer))
