"""PVD: files of several times and parts, read when asked for, and nothing from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.errors import ReadError, WriteError
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.report import Report
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, kuhn_cube, tetrahedron
from tests.random_meshes import random_meshes
from tests.readers.mutations import survives
from tests.readers.vtk_saving import column, plain_vtk, saved


def index(path: Path, *rows: str) -> Path:
    """A collection of these rows, each the attributes of a <DataSet>."""
    path.write_text(
        '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
        + "".join(f"<DataSet {row}/>\n" for row in rows)
        + "</Collection>\n</VTKFile>\n"
    )
    return path


def plain_file(path: Path, mesh: Mesh, **fields: float) -> Path:
    """A .vtu by vtk's writer, without anything of meshkit's; each field is of one value."""
    values = {name: column(*[x] * mesh.n_points, dtype="f8") for name, x in fields.items()}
    path.parent.mkdir(exist_ok=True)
    return saved(plain_vtk(mesh, point=values), path)


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    """Three times out of order; "q" is there only at the last, "p" not in the middle."""
    plain_file(tmp_path / "data" / "a.vtu", kuhn_cube(1), p=0.0)
    plain_file(tmp_path / "data" / "b.vtu", kuhn_cube(1))
    plain_file(tmp_path / "data" / "c.vtu", kuhn_cube(2), p=2.0, q=1.0)
    return index(
        tmp_path / "flow.pvd",
        'timestep="2.5" group="" part="0" file="data/c.vtu"',
        'timestep="0" group="" part="0" file="data/a.vtu"',
        'timestep="1e-1" part="0" file="data\\b.vtu"',
    )


def entries(report: Report, what: str) -> list[tuple[str, str, int]]:
    return [(e.outcome, e.name, e.count) for e in report if e.what == what]


def test_times_and_fields(flow: Path) -> None:
    series = read_series(flow)
    assert series.times == (0.0, 0.1, 2.5)
    assert [m.n_cells for m in series] == [6, 6, 48]
    assert [m.info.time for m in series] == [0.0, 0.1, 2.5]
    assert [sorted(m.point_data.keys()) for m in series] == [["p"], [], ["p", "q"]]
    assert series[0].cells is series[1].cells
    source = series[1].info.source
    assert source is not None and (source.format, source.file) == ("pvd", str(flow))


@pytest.mark.parametrize("step", [0, 1, 2])
def test_what_is_missing_at_a_time_is_reported(flow: Path, step: int) -> None:
    missing = [["point_data/q"], ["point_data/p", "point_data/q"], []][step]
    report = read_series(flow)[step].info.report
    found = [(e.name, e.loss) for e in report.dropped if e.what == "field"]
    assert found == [(name, False) for name in missing]


def test_one_time_is_chosen(flow: Path) -> None:
    assert read(flow).info.time == 2.5
    assert read(flow, time="first").point_data["p"].tolist() == [0.0] * 8
    assert read(flow, time=1).info.time == 0.1
    assert read(flow, time=0.1).info.time == 0.1
    assert entries(read(flow).info.report, "time") == [("dropped", "others", 2)]
    with pytest.raises(ReadError, match=r"no time 7; there are 0, 0\.1, 2\.5"):
        read(flow, time=7.0)
    with pytest.raises(ReadError, match="no step 3"):
        read(flow, time=3)


def test_only_the_files_of_the_time_are_read(flow: Path) -> None:
    (flow.parent / "data" / "a.vtu").write_bytes(b"no longer a mesh")
    series = read_series(flow)
    assert series[2].n_cells == 48
    with pytest.raises(ReadError, match=r"a\.vtu"):
        series[0]


def test_a_file_that_has_gone_spoils_its_own_time_only(flow: Path) -> None:
    (flow.parent / "data" / "b.vtu").unlink()
    series = read_series(flow)
    assert series.times == (0.0, 0.1, 2.5)
    assert series[0].n_cells == 6 and series[2].n_cells == 48
    assert read(flow).info.time == 2.5
    with pytest.raises(ReadError, match=r"a <DataSet> is missing: 'data\\\\b\.vtu'"):
        series[1]
    missing = [e.name for e in series[0].info.report.dropped if e.what == "field"]
    assert missing == ["point_data/q"]


def test_nothing_is_opened_before_a_time_is_asked_for(
    flow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = Path.open

    def seen(self: Path, *args: Any, **more: Any) -> Any:
        asked.append(self.name)
        return real(self, *args, **more)

    monkeypatch.setattr(Path, "open", seen)
    series = read_series(flow)
    assert set(asked) == {"flow.pvd"}
    series[1]
    assert "b.vtu" in asked


def test_without_times_it_is_one_mesh(tmp_path: Path) -> None:
    mesh = tetrahedron().with_data(point={"p": torch.arange(4.0)})
    write(mesh, tmp_path / "a.vtu")
    file = index(tmp_path / "a.pvd", 'file="a.vtu"')
    assert differences(mesh, read(file)) == []
    assert read_series(file).times == (0.0,)
    with pytest.raises(ReadError, match="holds no time"):
        read(file, time=0.0)


def test_parts_of_one_time_are_regions(tmp_path: Path) -> None:
    plain_file(tmp_path / "s0.vtu", cube_hexes(1), p=1.0)
    plain_file(tmp_path / "s1.vtu", tetrahedron(), p=2.0, q=3.0)
    plain_file(tmp_path / "s2.vtu", tetrahedron())
    file = index(
        tmp_path / "a.pvd",
        'timestep="0" group="fluid" part="0" file="s0.vtu"',
        'timestep="0" group="fluid" part="1" file="s1.vtu"',
        'timestep="0" group="solid" part="0" file="s2.vtu"',
        'timestep="0" part="0" file="s2.vtu"',
        'timestep="0" part="0" file="s1.vtu"',
        'timestep="0" name="named" part="0" file="s0.vtu"',
        'timestep="0" name="named" part="0" file="s0.vtu"',  # said twice
        'timestep="1" part="0" file="s0.vtu"',
    )
    mesh = read(file, time=0)
    assert {r.name: (r.ids.tolist(), r.parent) for r in mesh.regions} == {
        "fluid": ([0, 1], None),
        "part 0": ([0], "fluid"),
        "part 1": ([1], "fluid"),
        "solid": ([2], None),
        "s2": ([3], None),
        "s1": ([4], None),
        "named": ([5], None),
    }
    assert cell_measures(mesh).tolist() == pytest.approx([1, *[1 / 6] * 4, 1])
    assert mesh.point_data["p"].isnan().sum() == 8
    assert ("converted", "point_data/q", 24) in entries(mesh.info.report, "field")
    assert [r.name for r in read(file, time=1).regions] == ["part 0"]


def test_files_of_other_kinds(tmp_path: Path) -> None:
    mesh = cube_hexes(1)
    names = ("a.vtu", "b.vtm", "c.npz", "d.vtkhdf", "e.vtk")
    for name in names:
        write(mesh, tmp_path / name)
    pvtu = (
        '<VTKFile type="PUnstructuredGrid" version="1.0"><PUnstructuredGrid GhostLevel="0">'
        '<Piece Source="f_0.vtu"/></PUnstructuredGrid></VTKFile>'
    )
    plain_file(tmp_path / "f_0.vtu", mesh)
    (tmp_path / "f.pvtu").write_text(pvtu)
    rows = [f'timestep="{i}" file="{name}"' for i, name in enumerate((*names, "f.pvtu"))]
    series = read_series(index(tmp_path / "a.pvd", *rows))
    assert len(series) == 6
    for found in series:
        assert torch.equal(found.cells.connectivity.long(), mesh.cells.connectivity)
    # Of several parts, blocks and pieces are parts too.
    both = [f'timestep="0" part="{i}" file="{n}"' for i, n in enumerate(("f.pvtu", "b.vtm"))]
    found = read(index(tmp_path / "b.pvd", *both))
    assert found.n_cells == 2
    assert [r.name for r in found.regions][:2] == ["part 0", "part 1"]


def test_a_time_that_the_file_says_otherwise(tmp_path: Path) -> None:
    write(tetrahedron().replace(info=MeshInfo(time=0.5)), tmp_path / "a.vtu")
    mesh = read(index(tmp_path / "a.pvd", 'timestep="50" file="a.vtu"'))
    assert mesh.info.time == 50
    (entry,) = [e for e in mesh.info.report if e.what == "time"]
    assert entry.reason == "the file says 0.5, the collection 50"


# --- written --------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    meshes=st.lists(random_meshes(), min_size=1, max_size=4),
    times=st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4, unique=True),
)
def test_any_series_comes_back(
    meshes: list[Mesh], times: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    ascending = sorted(times)
    timed = [
        m.replace(info=m.info.replace(time=t)) for m, t in zip(meshes, ascending, strict=False)
    ]
    file = tmp_path_factory.mktemp("pvd") / "a.pvd"
    write(MeshSeries.of(timed), file)
    series = read_series(file)
    assert series.times == tuple(ascending[: len(meshes)])
    for k, mesh in enumerate(timed):
        assert differences(mesh, series[k]) == []


@given(mesh=random_meshes())
@settings(max_examples=25)
def test_one_mesh_comes_back(mesh: Mesh, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("pvd") / "a.pvd"
    write(mesh, file)
    assert differences(mesh, read(file)) == []


def steps(n: int) -> list[Mesh]:
    return [
        kuhn_cube(1)
        .replace(info=MeshInfo(time=k / 4))
        .with_data(point={"p": torch.full((8,), float(k))})
        for k in range(n)
    ]


def test_the_files_that_are_written(tmp_path: Path) -> None:
    report = write(MeshSeries.of(steps(3)), tmp_path / "a b.pvd")
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == [
        *("a b", "a b.pvd", "a b/a b_0000.vtu", "a b/a b_0001.vtu", "a b/a b_0002.vtu"),
    ]
    assert (
        '<DataSet timestep="0.25" group="" part="0" file="a b/a b_0001.vtu"/>'
        in (tmp_path / "a b.pvd").read_text()
    )
    assert report.lossless
    assert ("kept", "", 24) in entries(report, "points")
    assert entries(report, "time") == [("kept", "", 3)]
    # What VTK sees of a step.
    assert saved_points(tmp_path / "a b" / "a b_0002.vtu") == [2.0] * 8


def saved_points(path: Path) -> list[float]:
    from tests.readers.vtk_saving import by_vtk
    from tests.readers.vtk_views import seen_by_vtk

    found: list[float] = seen_by_vtk(by_vtk(path))["point_data"]["p"].tolist()
    return found


def test_an_existing_collection_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.pvd"
    write(MeshSeries.of(steps(3)), file)
    write(MeshSeries.of(steps(2)), file)
    parts = [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))]
    assert parts == ["a.pvd", "a_2", "a_2/a_2_0000.vtu", "a_2/a_2_0001.vtu"]
    write(read_series(file), file)  # from where it goes
    assert [m.point_data["p"][0].item() for m in read_series(file)] == [0, 1]
    (tmp_path / "a" / "notes.txt").write_text("mine")
    write(MeshSeries.of(steps(1)), file)
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["notes.txt"]
    assert len(read_series(file)) == 1
    with pytest.raises(WriteError, match="a series of no times"):
        write(MeshSeries([], [].__getitem__), tmp_path / "b.pvd")


def test_parts_of_another_file_are_not_replaced(tmp_path: Path) -> None:
    """Blocks and times of one name go into folders of their own."""
    for first, second in (("a.pvd", "a.vtm"), ("b.vtm", "b.pvd")):
        write(steps(2)[1], tmp_path / first)
        for _ in range(2):
            write(steps(1)[0], tmp_path / second)
            assert read(tmp_path / first).point_data["p"].unique().tolist() == [1.0]
            assert read(tmp_path / second).point_data["p"].unique().tolist() == [0.0]


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_that_is_no_moment(time: float, tmp_path: Path) -> None:
    mesh = steps(1)[0]
    mesh = mesh.replace(info=mesh.info.replace(time=time))
    write(mesh, tmp_path / "a.pvd")
    assert repr(read(tmp_path / "a.pvd").info.time) == repr(time)


def test_a_series_that_breaks_leaves_what_was_there(tmp_path: Path) -> None:
    write(MeshSeries.of(steps(2)), tmp_path / "a.pvd")

    def broken(i: int) -> Mesh:
        if i == 1:
            raise ReadError("elsewhere", "is gone")
        return steps(2)[i]

    with pytest.raises(ReadError, match="elsewhere: is gone"):
        write(MeshSeries([0.0, 1.0], broken), tmp_path / "a.pvd")
    assert len(read_series(tmp_path / "a.pvd")) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.pvd"]


# --- refused --------------------------------------------------------------------------------------


def refused(path: Path, match: str) -> None:
    for door in (read, lambda path: list(read_series(path))):
        with pytest.raises(ReadError, match=match) as caught:
            door(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            'timestep="0" file="../a.vtu"',
            r"line 4: a <DataSet> leads out of .*: '\.\./a\.vtu'",
        ),
        (
            'timestep="0" file="in/../../a.vtu"',
            "the directory: .*; expected a file beside this one or",
        ),
        ('timestep="0" file="..\\a.vtu"', "out of the directory"),
        ('timestep="0" file="/etc/hostname"', "out of the directory"),
        ('timestep="0" file="link.vtu"', "out of the directory"),
        ('timestep="0" file="in/link/a.vtu"', "out of the directory"),
        ('timestep="0" file="http://x/y.vtu"', "a <DataSet> is missing: 'http://x/y.vtu'"),
        ('timestep="0" file="b.vtu"', r"a <DataSet> is missing: 'b\.vtu'; expected a file beside"),
        ('timestep="0" file="in"', "a <DataSet> is missing: 'in'"),
        ('timestep="0" file=""', "a <DataSet> names no file"),
        ('timestep="0"', "a <DataSet> names no file"),
        ('timestep="soon" file="a.vtu"', "timestep is 'soon'; expected a finite number"),
        ('timestep="nan" file="a.vtu"', "timestep is 'nan'"),
        ('timestep="1e999" file="a.vtu"', "timestep is '1e999'"),
        ('timestep="0" file="a.pvd"', "refers to another collection"),
    ],
)
def test_rows_that_cannot_be(row: str, said: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "in").mkdir(parents=True)
    for folder in (tmp_path, home):
        write(tetrahedron(), folder / "a.vtu")
    os.symlink(tmp_path / "a.vtu", home / "link.vtu")
    os.symlink(tmp_path, home / "in" / "link")
    file = index(home / "a.pvd", row)
    if "another" in said:
        with pytest.raises(ReadError, match=said):
            read(file)
    else:
        refused(file, said)


def test_a_reference_within_is_fine_however_it_is_said(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "a.vtu")
    (tmp_path / "in").mkdir()
    for name in ("./a.vtu", "in/../a.vtu", str(tmp_path / "a.vtu")):
        assert read(index(tmp_path / "a.pvd", f'timestep="0" file="{name}"')).n_cells == 1
    os.symlink(tmp_path, tmp_path.parent / f"{tmp_path.name} link")
    assert read(tmp_path.parent / f"{tmp_path.name} link" / "a.pvd").n_cells == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("<Collection>", "<Other>").replace("/C", "/O"), "."),
        (lambda text: text.replace('file="data', 'file="gone'), "a <DataSet> is missing: 'gone/"),
        (lambda text: text.replace("</Collection>", "</Collection><Collection/>"), "holds 2 <Coll"),
        (lambda text: text[:150], "."),
        (lambda text: text[: text.index("<DataSet")] + "</Collection></VTKFile>", "names no <Data"),
    ],
)
def test_broken_collections(flow: Path, change: Callable[[str], str], said: str) -> None:
    flow.write_text(change(flow.read_text()))
    refused(flow, said)


def test_damage_is_refused_or_harmless(flow: Path) -> None:
    assert survives(flow, flow.read_bytes(), 100) > 20
