"""What starting costs: the parts that a command does not need are not loaded for it.

These are the only tests that measure time. They count CPU seconds of a child process, not
seconds on the clock, and take the least of several runs: other work can only add to it. On a busy
machine it adds to every run, so that they go on until the least is little enough, or for long.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEAST_RUNS, MOST_RUNS = 3, 12
SLACK = 0.4  # CPU seconds


def loaded_by(*arguments: str, expected: int = 0) -> set[str]:
    """The modules that `python ARGUMENTS` imports, processes that it starts included."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == expected, done.stderr
    rows = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {row.rpartition("|")[2].strip() for row in rows}


def cpu_seconds(*arguments: str) -> float:
    """User and system time of `python ARGUMENTS`, start and end of the interpreter included."""
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # The bytecode that the first run leaves is what the next ones start from.
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import meshkit", {"torch", "tensordict", "numpy", "vtk", "vtkmodules", "pydantic"}),
        ("import meshkit; meshkit.Mesh", {"vtk", "vtkmodules", "pyvista", "meshio", "trimesh"}),
        ("import meshkit.data_contracts", {"torch", "tensordict", "numpy", "vtk", "vtkmodules"}),
    ],
)
def test_import_loads_only_what_it_needs(statement: str, unwanted: set[str]) -> None:
    assert not loaded_by("-c", statement) & unwanted


def test_help_loads_no_numerics() -> None:
    loaded = loaded_by("-m", "meshkit", "--help")
    assert not loaded & {"torch", "tensordict", "numpy", "vtk", "vtkmodules", "numba", "pint"}


HEAVY = {"torch", "tensordict", "vtkmodules", "numba", "scipy", "pint", "h5py"}
OUTPUT = {"convert": ("out.zarr",), "view": ("-o", "out.png"), "info": ()}


@pytest.mark.parametrize("command", OUTPUT)
@pytest.mark.parametrize("name", ["gone.vtu", "empty.stl", "words.odd"])
def test_what_nothing_reads_is_refused_without_numerics(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.stl").touch()
    Path("words.odd").write_text("nothing that a solver writes")
    assert not loaded_by("-m", "meshkit", command, name, *OUTPUT[command], expected=1) & HEAVY


def test_commands_load_the_formats_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    convert = ("-m", "meshkit", "convert", "a.off", "out.npz")
    loaded = loaded_by(*convert)
    assert {"torch", "meshkit.readers.off", "meshkit.readers.npz"} <= loaded
    assert not loaded & {"vtkmodules", "h5py", "numba", "pint", "meshkit.readers.vtkhdf.reading"}
    # Done and unchanged: nothing is read.
    assert not loaded_by(*convert) & HEAVY


def test_mesh_costs_little_more_than_torch() -> None:
    torch = mesh = float("inf")
    # By turns, so that a change in the machine's speed meets both.
    for run in range(MOST_RUNS):
        torch = min(torch, cpu_seconds("-c", "import torch, tensordict"))
        mesh = min(mesh, cpu_seconds("-c", "import meshkit; meshkit.Mesh"))
        if run + 1 >= LEAST_RUNS and mesh <= torch + SLACK:
            break
    assert mesh <= torch + SLACK


def test_help_costs_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    least = float("inf")
    for _ in range(MOST_RUNS):
        least = min(least, cpu_seconds("-m", "meshkit", "--help"))
        if least <= SLACK:
            break
    assert least <= SLACK
