"""`meshkit convert` of files that hold times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit.cli import main
from meshkit.info import MeshInfo
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_surface

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def flow(here: Path) -> Path:
    """Three times of a surface."""
    cube = cube_surface(1)
    meshes = [
        cube.with_data(point={"p": torch.full((8,), float(k)), "q": torch.ones(8)}).replace(
            info=MeshInfo(time=k / 3)
        )
        for k in range(3)
    ]
    write(MeshSeries.of(meshes), here / "flow.pvd")
    return here / "flow.pvd"


def answer(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["convert", "--json", *arguments]) == 0
    (row,) = json.loads(capsys.readouterr().out)["cases"]
    found: dict[str, Any] = row
    return found


def test_all_times_there_and_back(flow: Path, capsys: Capture) -> None:
    row = answer(capsys, "flow.pvd", "a.zarr")
    assert (row["times"], row["time"]) == (3, 2 / 3)
    read_lines = [line for line in row["report"] if line["step"] == "read"]
    assert [line["count"] for line in read_lines if line["what"] == "points"] == [24]
    answer(capsys, "a.zarr", "b.vtkhdf", "--time", "all")
    answer(capsys, "b.vtkhdf", "c.pvd")
    series = read_series("c.pvd")
    assert series.times == read_series(flow).times == (0, 1 / 3, 2 / 3)
    for mesh, found in zip(read_series(flow), series, strict=True):
        assert differences(mesh, found) == []


def test_one_time(flow: Path, capsys: Capture) -> None:
    row = answer(capsys, "flow.pvd", "a.zarr", "--time", "1")
    assert "times" not in row and row["time"] == 1 / 3
    assert len(read_series("a.zarr")) == 1
    # What holds one time gets the last, and the report says so.
    row = answer(capsys, "flow.pvd", "a.vtu")
    assert read("a.vtu").info.time == row["time"] == 2 / 3
    assert [e["count"] for e in row["report"] if (e["what"], e["name"]) == ("time", "others")] == [
        2
    ]
    assert main(["convert", "flow.pvd", "b.vtu", "--time", "all"]) == 1
    said = "meshkit: flow.pvd: holds 3 times, and vtu holds one; choose one with --time"
    assert capsys.readouterr().err.startswith(said)
    assert main(["convert", "a.vtu", "b.vtu", "--time", "all"]) == 0


def test_each_time_is_changed(flow: Path, capsys: Capture) -> None:
    row = answer(capsys, "flow.pvd", "a.zarr", "--field", "p", "--length-unit", "mm")
    assert row["fields"] == ["point_data/p"]
    series = read_series("a.zarr")
    assert [list(m.point_data.keys()) for m in series] == [["p"]] * 3
    assert [m.info.length_unit for m in series] == ["mm"] * 3
    assert series[0].cells is series[1].cells


def test_a_missing_file_stops_it_all(flow: Path, capsys: Capture) -> None:
    file = flow.parent / "flow" / "flow_0001.vtu"
    text = file.read_bytes()
    file.unlink()
    assert main(["convert", "flow.pvd", "a.zarr"]) == 1
    assert "flow_0001.vtu" in capsys.readouterr().err
    assert not Path("a.zarr").exists()
    file.write_bytes(text)
    assert main(["convert", "flow.pvd", "a.zarr"]) == 0
