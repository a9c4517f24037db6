"""ParaView's file series: JSON that names a file for each time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit.cli.parts import parts_of
from meshkit.errors import ReadError
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from tests.meshes import cube_hexes, kuhn_cube, tetrahedron
from tests.readers.mutations import survives


def index(path: Path, **times: float) -> Path:
    rows = [{"name": name.replace("__", "."), "time": time} for name, time in times.items()]
    path.write_text(json.dumps({"file-series-version": "1.0", "files": rows}))
    return path


def test_times_of_any_format(tmp_path: Path) -> None:
    """What foamToVTK writes, out of order."""
    cube = cube_hexes(2)
    write(cube.with_data(cell={"p": torch.zeros(8), "q": torch.ones(8)}), tmp_path / "b.vtm")
    write(cube.with_data(cell={"p": torch.full((8,), 2.0)}), tmp_path / "a.vtm")
    file = index(tmp_path / "flow.vtm.series", a__vtm=0.1 + 0.2, b__vtm=0)
    series = read_series(file)
    assert series.times == (0.0, 0.1 + 0.2)
    first, last = series[0], series[1]
    assert first.cells is last.cells
    assert first.cell_data["p"].tolist() == [0] * 8 and last.cell_data["p"].tolist() == [2] * 8
    assert list(last.cell_data.keys()) == ["p"]
    # The blocks are looked into for what they declare.
    assert [e.name for e in last.info.report.dropped if e.what == "field"] == ["cell_data/q"]
    assert read(file).info.time == 0.1 + 0.2
    assert read(file, time=0.1 + 0.2).info.time == read(file, time=1).info.time
    assert {p.name for p in parts_of(file)} >= {"a.vtm", "b.vtm", "a_0.vtu"}
    (tmp_path / "no suffix").write_bytes(file.read_bytes())
    assert len(read_series(tmp_path / "no suffix")) == 2


def test_a_file_that_has_gone_spoils_its_own_time_only(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "a.vtu")
    write(kuhn_cube(1), tmp_path / "b.vtu")
    file = index(tmp_path / "a.vtu.series", a__vtu=0, b__vtu=1)
    (tmp_path / "a.vtu").unlink()
    assert read(file).n_cells == 6
    with pytest.raises(ReadError, match=r"files\[0\]: a file is missing: 'a\.vtu'"):
        read(file, time=0)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ({"files": []}, "lists no files"),
        ([1], "lists no files"),
        ({"files": [3]}, r"files\[0\]: names no file"),
        ({"files": [{"name": "a.vtu"}]}, r"files\[0\]: time is None; expected a finite number"),
        ({"files": [{"name": "a.vtu", "time": True}]}, "time is True"),
        ({"files": [{"name": "a.vtu", "time": "0"}]}, "time is '0'"),
        ('{"files": [{"name": "a.vtu", "time": NaN}]}', "time is nan"),
        ({"files": [{"name": "a.vtu", "time": 10**400}]}, "time is 1000"),
        ({"files": [{"name": "../a.vtu", "time": 0}]}, r"leads out of the directory: '\.\./a"),
        ({"files": [{"name": "/etc/hostname", "time": 0}]}, "leads out of the directory"),
        ({"files": [{"name": "link.vtu", "time": 0}]}, "leads out of the directory"),
        ({"files": [{"name": "http://x/a.vtu", "time": 0}]}, "a file is missing: 'http://x/"),
        ({"files": [{"name": "a.series", "time": 0}]}, "refers to another collection"),
    ],
)
def test_refusals(said: Any, message: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    write(tetrahedron(), tmp_path / "a.vtu")
    os.symlink(tmp_path / "a.vtu", home / "link.vtu")
    file = home / "a.series"
    file.write_text(said if isinstance(said, str) else json.dumps(said))
    with pytest.raises(ReadError, match=message) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}: ") and "\n" not in str(caught.value)


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "a.vtu")
    file = index(tmp_path / "a.vtu.series", a__vtu=0.5)
    assert survives(file, file.read_bytes(), 100) > 20
