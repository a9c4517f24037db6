"""Cases: how they are named, times, regions, settings, and what is not read."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit import MeshSeries, ReadError, check, operators as ops, read, read_series, write
from meshkit.cli import main
from tests.mesh_differences import differences
from tests.meshes import cube_hexes
from tests.readers.openfoam.case_writer import (
    FoamField,
    FoamMesh,
    Style,
    dictionary,
    foam_of,
    header,
    save,
    write_case,
    write_mesh,
)
from tests.readers.openfoam.example_mesh import example, fields

MESH = example()


def small(shift: float = 0.0, n: int = 2) -> FoamMesh:
    made = foam_of(cube_hexes(n))
    return replace(made, points=made.points + np.array([shift, 0, 0]))


def scalar(name: str, n: int, start: float = 0.0) -> FoamField:
    inner = start + np.arange(n) / 7
    return FoamField(name, "volScalarField", "[0 0 0 1 0 0 0]", inner)


def test_every_way_to_name_a_case(tmp_path: Path) -> None:
    folder = write_case(tmp_path / "case", MESH, {"0": fields(MESH, 1)}, Style())
    mesh = read(folder)
    assert mesh.info.source is not None and mesh.info.source.format == "openfoam"
    for name in ("case.foam", "any.OpenFOAM"):
        (folder / name).touch()
        assert differences(mesh, read(folder / name)) == []
    bare = read(folder / "constant" / "polyMesh")
    assert bare.info.time is None and not list(bare.cell_data.keys())
    assert torch.equal(bare.points, mesh.points) and bare.regions.names == mesh.regions.names
    assert len(read_series(folder / "constant" / "polyMesh")) == 1
    assert mesh.info.length_unit == "m" and mesh.info.time == 0


def test_a_case_without_times(tmp_path: Path) -> None:
    mesh = read(write_case(tmp_path, MESH, {}, Style(packed=True)))
    assert mesh.info.time is None and mesh.n_cells == 95


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: None, "is a directory; expected a file, a store or a case"),
        (lambda f: (f / "constant").mkdir(), "holds no mesh of OpenFOAM"),
        (lambda f: (f / "constant/polyMesh").mkdir(parents=True), "points: is missing"),
        (lambda f: (f / "processor0").mkdir(), "holds no mesh of OpenFOAM"),
    ],
)
def test_directories_that_are_no_case(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    make(tmp_path)
    with pytest.raises(ReadError, match=message):
        read(tmp_path)


def test_times_are_directories_named_like_numbers(tmp_path: Path) -> None:
    folder = write_case(tmp_path, small(), {t: [scalar("T", 8)] for t in ("0", "1e-3", "10", "2")},
                        Style())  # fmt: skip
    for name in ("0.orig", "postProcessing", "1a", "3"):
        (folder / name).mkdir()
    (folder / "4").touch()
    shutil.copytree(folder / "2", folder / "2.0")
    assert read_series(folder).times == (0, 0.001, 2, 3, 10)
    assert read(folder, time=2.0).info.time == 2 and read(folder, time=1).info.time == 0.001
    assert read(folder).info.time == 10
    assert not list(read(folder, time=3.0).cell_data.keys())


def test_a_mesh_that_changes(tmp_path: Path) -> None:
    folder = write_case(tmp_path, small(), {"0": [scalar("T", 8)]}, Style())
    finer = small(n=3)
    write_mesh(folder / "1" / "polyMesh", finer, Style(binary=True))
    for time in ("1", "2"):
        data = header(Style(), "volScalarField", "T") + (
            b"dimensions [];\ninternalField uniform " + time.encode() + b";\n"
        )
        save(folder / time / "T", data, Style())
    series = read_series(folder)
    first, second, third = series
    assert [m.n_cells for m in (first, second, third)] == [8, 27, 27]
    assert second.cells is third.cells and first.cells is not second.cells
    assert third.cell_data["T"].tolist() == [2.0] * 27
    assert [float(ops.cell_measures(m).sum()) for m in series] == pytest.approx([1, 1, 1])
    assert series[0].n_cells == 8  # and back again


def test_several_regions_are_one_mesh(tmp_path: Path) -> None:
    fluid, solid = small(), small(1.0)
    write_case(tmp_path, fluid, {"0": [scalar("T", 8), scalar("p", 8)]}, Style(), region="fluid")
    write_case(
        tmp_path, solid, {"0": [scalar("T", 8, 100)]}, Style(binary=True, packed=True),
        region="solid",
    )  # fmt: skip
    dictionary(tmp_path / "constant" / "solid" / "thermophysicalProperties", "rho 7800;")
    dictionary(tmp_path / "constant" / "regionProperties", "regions (fluid (fluid) solid (solid));")
    mesh = read(tmp_path)
    assert (mesh.n_cells, mesh.n_points) == (16, 54)
    assert mesh.region("fluid", "cell").ids.tolist() == list(range(8))
    assert mesh.region("solid", "cell").ids.tolist() == list(range(8, 16))
    assert mesh.region("solid", "cell").attributes["rho"] == 7800
    wall = mesh.region("solid/walls")
    assert (wall.parent, wall.kind, len(wall)) == ("solid", "wall", 24)
    assert mesh.faces is not None and bool((mesh.faces.owner[wall.ids.long()] >= 8).all())
    assert mesh.cell_data["T"][8:].tolist() == (100 + np.arange(8) / 7).tolist()
    assert bool(mesh.cell_data["p"][8:].isnan().all())
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("cell_data/p", 8)]
    assert float(ops.cell_measures(mesh).sum()) == pytest.approx(2)
    assert mesh.info.attributes["regionProperties"]["regions"][0] == "fluid"
    codes = {f.code for f in check(mesh)}
    assert codes == {"duplicate_point", "field_nan"}  # where the two meshes touch


def test_one_named_region_and_one_without(tmp_path: Path) -> None:
    write_case(tmp_path, small(), {}, Style())
    write_case(tmp_path, small(3.0), {}, Style(), region="air")
    mesh = read(tmp_path)
    assert mesh.regions.names == ("region0", "air", "region0/walls", "air/walls")
    assert check(mesh) == []


def test_settings_are_attributes(tmp_path: Path) -> None:
    folder = write_case(tmp_path, small(), {"0": []}, Style())
    dictionary(
        folder / "constant" / "transportProperties",
        "transportModel Newtonian;\nnu nu [0 2 -1 0 0 0 0] 1.5e-05;\nrho [1 -3 0 0 0 0 0] 1.2;",
    )
    dictionary(folder / "constant" / "turbulenceProperties",
               "simulationType RAS;\nRAS { RASModel kOmegaSST; turbulence on; }")  # fmt: skip
    dictionary(folder / "constant" / "g", "dimensions [0 1 -2 0 0 0 0];\nvalue (0 0 -9.81);",
               "uniformDimensionedVectorField")  # fmt: skip
    found = read(folder).info.attributes
    assert found["nu"] == 1.5e-05 and found["rho"] == 1.2
    assert found["transportProperties"]["nu"] == {"value": 1.5e-05, "unit": "m^2/s"}
    assert found["simulationType"] == "RAS" and found["RASModel"] == "kOmegaSST"
    assert found["g"] == {"dimensions": "m/s^2", "value": [0, 0, -9.81]}
    assert found["application"] == "pimpleFoam" and found["deltaT"] == 0.5


def test_what_is_not_read_is_counted(tmp_path: Path) -> None:
    folder = write_case(tmp_path, small(), {"0": [scalar("T", 8)]}, Style())
    zero = folder / "0"
    for name, class_name in (
        ("h", "areaScalarField"), ("state", "dictionary"), ("T.orig", "volScalarField"),
    ):  # fmt: skip
        dictionary(zero / name, "a 1;", class_name)
    (zero / "notes.txt").write_text("hello\n")
    dictionary(zero / "lagrangian" / "sprayCloud" / "positions", "0()", "Cloud<basicParticle>")
    dictionary(zero / "lagrangian" / "sprayCloud" / "d", "0()", "scalarField")
    dictionary(zero / "uniform" / "functionObjects" / "state", "a 1;")
    dictionary(zero / "uniform" / "time", "index 3; deltaT 0.1;")
    dictionary(zero / "other" / "x", "a 1;")
    dictionary(folder / "postProcessing" / "forces" / "0" / "force.dat", "0")
    mesh = read(folder)
    dropped = {(e.what, e.name): (e.count, e.loss) for e in mesh.info.report.dropped}
    assert dropped == {
        ("file", "0/h"): (1, True),
        ("file", "0/state"): (1, False),
        ("file", "0/T.orig"): (1, False),
        ("file", "0/notes.txt"): (1, False),
        ("cloud", "sprayCloud"): (2, True),
        ("file", "0/uniform/functionObjects"): (1, False),
        ("directory", "0/other"): (1, True),
        ("directory", "postProcessing"): (1, False),
    }
    assert mesh.info.attributes["time"] == {"index": 3, "deltaT": 0.1}


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("points", lambda t: t[: len(t) // 2], r"line \d+: is cut: 27 vectors"),
        ("points", lambda t: t.replace("27\n(", "2700000\n(", 1), "is cut: 2700000 vectors need"),
        ("points", lambda t: t.replace("27\n(", "26\n(", 1), "a list of 26 vectors has 27"),
        ("faces", lambda t: t.replace("4(", "5(", 1), "does not have as many points as it says"),
        ("faces", lambda t: t.replace("36\n(", "35\n(", 1), "a list of 35 faces has 36"),
        ("faces", lambda t: t.replace("4(0 ", "4(99 ", 1).replace("4(4 ", "4(99 ", 1),
         "a face names point 99; expected ids from 0 to 26"),
        ("owner", lambda t: t.replace("\n0\n", "\n8\n", 1), "cell 8 is named, of 8 cells"),
        ("owner", lambda t: t.replace("\n0\n", "\n-1\n", 1), "the owner of face 0 is -1"),
        ("owner", lambda t: t.replace("36\n(\n0\n", "35\n(\n", 1), "has 35 owners of 36 faces"),
        ("neighbour", lambda t: t.replace("\n1\n", "\n0\n", 1), "cell 0 as owner and as neighbour"),
        ("neighbour", lambda t: t.replace("\n1\n", "\n-7\n", 1), "the neighbour of face 0 is -7"),
        ("boundary", lambda t: t.replace("nFaces 24", "nFaces 25"), "has faces 12 to 36"),
        ("boundary", lambda t: t.replace("startFace 12", "startFace x"), "has startFace None"),
        ("boundary", lambda t: t.replace("1\n(", "2\n(", 1), "a list of 2 has 1 entries"),
        ("boundary", lambda t: t.replace("    walls", "    walls {", 1), "expected"),
        ("faces", lambda t: t.replace("version     2.0", "version 3.0"), "FoamFile is of version"),
        ("faces", lambda t: t.replace("ascii", "octal"), "format is 'octal'"),
        ("faces", lambda t: t.replace("label=32", "label=48"), "arch says label=48"),
    ],
)  # fmt: skip
def test_damaged_meshes_say_where(tmp_path: Path, file: str, change: object, message: str) -> None:
    folder = write_case(tmp_path, small(), {}, Style())
    path = folder / "constant" / "polyMesh" / file
    assert callable(change)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    with pytest.raises(ReadError, match=message) as caught:
        read(folder)
    assert str(path.parent) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["points", "faces", "owner", "neighbour", "boundary"])
def test_missing_files_are_named(tmp_path: Path, file: str) -> None:
    folder = write_case(tmp_path, small(), {}, Style())
    path = folder / "constant" / "polyMesh" / file
    path.unlink()
    with pytest.raises(ReadError, match=re.escape(f"{path}: is missing")):
        read(folder)


def test_gzip_that_is_cut_wrong_or_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_case(tmp_path, small(), {}, Style(packed=True))
    path = folder / "constant" / "polyMesh" / "points.gz"
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    with pytest.raises(ReadError, match=r"points\.gz: is cut"):
        read(folder)
    path.write_bytes(data[:40] + b"xxxx" + data[44:])
    with pytest.raises(ReadError, match=r"points.gz"):
        read(folder)
    monkeypatch.setattr("meshkit.readers.openfoam.files._UNPACKED", 1 << 16)
    head = header(Style(binary=True), "vectorField", "points")
    bomb = head + b"1000000\n(" + bytes(24_000_000) + b")"
    path.write_bytes(gzip.compress(bomb))
    with pytest.raises(ReadError, match=r"is cut|unpacks to more than 200 times its size"):
        read(folder)


def test_the_command_line_knows_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_case(tmp_path / "runs" / "a", MESH, {"0": fields(MESH, 1)}, Style())
    (folder / "a.foam").touch()
    assert main(["info", "--json", str(folder)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == "openfoam" and facts["cells"] == 95
    assert main(["convert", "-q", str(folder / "a.foam"), str(tmp_path / "one.zarr")]) == 0
    assert differences(read(folder), read(tmp_path / "one.zarr")) == []
    assert main(["convert", "-q", str(folder), str(tmp_path / "two.zarr")]) == 0
    assert differences(read(folder), read(tmp_path / "two.zarr")) == []
    # A search takes the directory as one case.
    assert main(["convert", "--json", str(tmp_path / "runs"), str(tmp_path / "out") + "/"]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [Path(c["output"]).name for c in cases] == ["a.zarr"]


def test_series_go_into_a_store(tmp_path: Path) -> None:
    moved = example(1.0)
    times = {"0": fields(MESH, 1), "1": fields(MESH, 2)}
    folder = write_case(tmp_path / "case", MESH, times, Style(), moved={"1": moved.points})
    series = read_series(folder)
    write(series, tmp_path / "it.zarr")
    back = read_series(tmp_path / "it.zarr")
    assert isinstance(back, MeshSeries) and back.times == series.times
    for a, b in zip(series, back, strict=True):
        assert differences(a, b) == []
