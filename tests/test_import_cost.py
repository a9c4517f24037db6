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


def loaded_by(*arguments: str) -> set[str]:
    """The modules that `python ARGUMENTS` imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
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
