"""Series: what repeats is stored once, what is absent stays absent, a time is read alone."""

from __future__ import annotations

import gc
import random
import weakref
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

import meshkit as mk
from meshkit.errors import ReadError, WriteError
from meshkit.info import FieldInfo
from meshkit.mesh import Mesh
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from meshkit.store.contents import Contents
from meshkit.store.handle import Store
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube
from tests.random_meshes import random_meshes
from tests.store.damaging import files_of, flipped
from tests.store.test_handle import CountingFiles, bytes_of


def step(i: int, n: int = 2) -> Mesh:
    """A field that varies, one that does not, one at every other time; the topology of n."""
    mesh = kuhn_cube(n)
    fields = {"still": torch.arange(mesh.n_cells), "p": torch.full((mesh.n_cells,), 0.1 * i)}
    if i % 2:
        fields["mean"] = torch.full((mesh.n_cells,), 7.0 * i)
    mesh = mesh.with_data(cell=fields, global_={"Re": torch.tensor(float(i))})
    known = {("cell_data", "p"): FieldInfo(unit="Pa")}
    return mesh.replace(
        info=mesh.info.replace(time=0.5 * i, fields=known),
        regions=[Region("some", "cell", [0, 1], data={"q": torch.tensor([1.0, i])})],
    )


def test_every_time_comes_back(tmp_path: Path) -> None:
    meshes = [step(i) for i in range(5)]
    report = write(MeshSeries.of(meshes), tmp_path / "it.zarr")
    assert report.lossless
    lines = {(e.what, e.name): e for e in report.kept}
    assert lines["times", ""].count == 5
    assert lines["field", "cell_data/mean"].reason == "at 2 of 5 times"
    assert lines["field", "cell_data/p"].reason == ""

    series = read_series(tmp_path / "it.zarr")
    assert series.times == (0.0, 0.5, 1.0, 1.5, 2.0)
    for a, b in zip(meshes, series, strict=True):
        assert differences(a, b) == []
    assert differences(meshes[4], read(tmp_path / "it.zarr")) == []
    assert differences(meshes[0], read(tmp_path / "it.zarr", time="first")) == []
    assert differences(meshes[3], read(tmp_path / "it.zarr", time=1.5)) == []
    assert differences(meshes[1], read(tmp_path / "it.zarr", time=-4)) == []
    with pytest.raises(ReadError, match=r"no time 0\.7; there are 0, 0\.5, 1, 1\.5, 2"):
        read(tmp_path / "it.zarr", time=0.7)
    report = read(tmp_path / "it.zarr", time=1.5).info.report
    assert [e.name for e in report if e.what == "field"] == [
        *("cell_data/still", "cell_data/p", "cell_data/mean", "global_data/Re"),
    ]


def test_the_report_counts_the_most_that_any_time_has(tmp_path: Path) -> None:
    growing = MeshSeries.of([step(0, 1), step(1, 2), step(2, 1)])
    lines = {(e.what, e.name): e.count for e in write(growing, tmp_path / "it.zarr").kept}
    assert lines["points", ""] == 27  # of 8, 27 and 8
    assert lines["cells", "tetra"] == 48  # of 6, 48 and 6
    assert lines["field", "cell_data/p"] == 48


def test_what_does_not_change_is_stored_once_and_is_one_object(tmp_path: Path) -> None:
    write(step(0), tmp_path / "one.zarr")
    write(MeshSeries.of([step(i) for i in range(20)]), tmp_path / "all.zarr")
    for name in ("cells", "points"):
        assert bytes_of(tmp_path / "all.zarr", name) <= 1.5 * bytes_of(tmp_path / "one.zarr", name)
    series = read_series(tmp_path / "all.zarr")
    first, last = series[0], series[19]
    assert last.cells is first.cells
    assert last.points.data_ptr() == first.points.data_ptr()
    assert last.cell_data["still"].data_ptr() == first.cell_data["still"].data_ptr()


def test_one_array_a_field_chunked_by_time(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    write(MeshSeries.of([step(i) for i in range(4)]), tmp_path / "it.zarr")
    group = zarr.open_group(tmp_path / "it.zarr", mode="r")
    p = group["cell_data/p"]
    assert p.shape == (4, 48)
    assert p.chunks == (1, 48)
    assert p[2].tolist() == step(2).cell_data["p"].tolist()
    assert group["cell_data/mean"].shape == (2, 48)
    assert group["cell_data/still"].shape == (1, 48)
    assert group["global_data/Re"][:].tolist() == [0, 1, 2, 3]
    assert group["steps"].shape[0] == 4


def test_topology_that_changes_starts_anew_and_may_come_back(tmp_path: Path) -> None:
    sizes = (1, 1, 2, 2, 1, 3)
    meshes = [step(i, n) for i, n in enumerate(sizes)]
    write(MeshSeries.of(meshes), tmp_path / "it.zarr")
    series = read_series(tmp_path / "it.zarr")
    back = list(series)
    for a, b in zip(meshes, back, strict=True):
        assert differences(a, b) == []
    assert back[1].cells is back[0].cells
    assert back[2].cells is not back[1].cells
    assert back[4].points.data_ptr() == back[0].points.data_ptr()
    segments = sorted(p.name for p in (tmp_path / "it.zarr" / "segments").iterdir() if p.is_dir())
    assert segments == ["1", "2"]


def test_a_field_that_other_times_have_is_reported_missing(tmp_path: Path) -> None:
    name, odd = ("cell_data", "mean"), ("point_data", "a/b")
    meshes = [step(i) for i in range(3)]
    meshes[2] = meshes[2].with_data(point={"a/b": torch.zeros(meshes[2].n_points)})
    write(MeshSeries.of(meshes), tmp_path / "it.zarr")
    series = read_series(tmp_path / "it.zarr")
    for i, lacking in enumerate(([name, odd], [odd], [name])):
        report = series[i].info.report
        assert report is not None and report.lossless
        assert [e.name for e in report.dropped] == ["/".join(path) for path in lacking]
        assert {e.reason for e in report.dropped} == {"absent at this time, other times have it"}
    write(meshes[0], tmp_path / "one.zarr")
    report = read(tmp_path / "one.zarr").info.report
    assert report is not None and report.dropped == ()


def test_points_that_move(tmp_path: Path) -> None:
    meshes = [step(i).replace(points=step(i).points * (1 + i)) for i in range(4)]
    write(MeshSeries.of(meshes), tmp_path / "it.zarr")
    back = list(read_series(tmp_path / "it.zarr"))
    for a, b in zip(meshes, back, strict=True):
        assert differences(a, b) == []
    assert back[3].cells is back[2].cells
    assert not (tmp_path / "it.zarr" / "segments").exists()


def test_bits_decide_what_changed(tmp_path: Path) -> None:
    values = [torch.tensor(bits, dtype=torch.int32).view(torch.float32) for bits in
              ([0, 0x7FC00000], [-(2**31), 0x7FC00000], [0, 0x7FC00001])]  # fmt: skip
    meshes = [
        mk.make_mesh(torch.zeros(2, 3)).with_data(point={"p": x}).replace(
            info=mk.MeshInfo(time=float(i))
        )
        for i, x in enumerate(values)
    ]  # fmt: skip
    write(MeshSeries.of(meshes), tmp_path / "it.zarr")
    for a, b in zip(meshes, read_series(tmp_path / "it.zarr"), strict=True):
        assert differences(a, b) == []


def test_a_solver_that_reuses_its_buffer(tmp_path: Path) -> None:
    """The tensor is the same object at every time; its numbers are not."""
    mesh = kuhn_cube(1).with_data(cell={"p": torch.zeros(6)})

    def load(i: int) -> Mesh:
        mesh.cell_data["p"].fill_(float(i))
        return mesh

    write(MeshSeries([0.0, 1.0, 2.0], load), tmp_path / "it.zarr")
    found = [m.cell_data["p"][0].item() for m in read_series(tmp_path / "it.zarr")]
    assert found == [0.0, 1.0, 2.0]


def test_one_step_is_in_memory_at_a_time(tmp_path: Path) -> None:
    alive: list[int] = []

    kept: list[weakref.ref[Mesh]] = []

    def load(i: int) -> Mesh:
        gc.collect()
        alive.append(sum(ref() is not None for ref in kept))
        mesh = step(i)
        kept.append(weakref.ref(mesh))
        return mesh

    write(MeshSeries([0.0, 1.0, 2.0, 3.0], load), tmp_path / "it.zarr")
    assert max(alive) <= 1


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = torch.Generator().manual_seed(0)
    cube = kuhn_cube(12)
    fields = [
        {name: torch.rand(cube.n_cells, generator=generator) for name in "abcd"} for _ in range(16)
    ]
    meshes = [
        cube.replace(cell_data=data, info=mk.MeshInfo(time=float(i)))
        for i, data in enumerate(fields)
    ]
    path = tmp_path_factory.mktemp("long") / "it.zarr"
    write(MeshSeries.of(meshes), path)
    return path


def test_one_time_of_one_field(long: Path) -> None:
    files = CountingFiles(long)
    store = Store(long, Contents(files))
    assert store.times == tuple(map(float, range(16)))
    files.count = 0
    p = store.at(3.0).field("cell_data", "a", rows=slice(0, 100))
    assert p.shape == (100,)
    assert files.count <= bytes_of(long, "cell_data/a") / 8
    files.count = 0
    store.at("first").mesh()
    assert files.count <= bytes_of(long) / 4


def test_the_series_is_lazy(long: Path) -> None:
    series = mk.open_store(long).series()
    assert len(series) == 16
    file = long / "cell_data" / "a" / "c.0.0"
    flipped(file, 8 * 100)  # in the chunk of the first time
    try:
        with pytest.raises(ReadError, match=r"cell_data/a/c\.0\.0: chunk 0: its checksum"):
            series[0]
        assert series[1].n_cells == 12**3 * 6
    finally:
        flipped(file, 8 * 100)


@given(st.lists(random_meshes(), min_size=1, max_size=4))
@settings(max_examples=25)
def test_any_meshes_may_follow_one_another(
    tmp_path_factory: pytest.TempPathFactory, meshes: list[Mesh]
) -> None:
    timed = [m.replace(info=m.info.replace(time=float(i))) for i, m in enumerate(meshes)]
    path = tmp_path_factory.mktemp("store") / "it.zarr"
    write(MeshSeries.of(timed), path)
    for a, b in zip(timed, read_series(path), strict=True):
        assert differences(a, b) == []
    with mk.open_store(path) as store:
        for i, mesh in enumerate(timed):
            assert differences(mesh, store.at(i).mesh()) == []


def test_damage_to_a_series(tmp_path: Path) -> None:
    meshes = [step(i) for i in range(3)]
    path = tmp_path / "it.zarr"
    write(MeshSeries.of(meshes), path)
    rng = random.Random(0)
    for file in files_of(path):
        for _ in range(2):
            bit = rng.randrange(8 * (path / file).stat().st_size)
            flipped(path / file, bit)
            try:
                back = list(read_series(path))
            except ReadError as why:
                said = str(why)
                back = []
            else:
                said = ""
                assert all(differences(a, b) == [] for a, b in zip(meshes, back, strict=True))
            assert said or (file.name == "zarr.json" and file != Path("zarr.json")), file
            flipped(path / file, bit)


def test_a_series_of_no_times(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"it\.zarr: a series of no times"):
        write(MeshSeries([], lambda i: kuhn_cube(1)), tmp_path / "it.zarr")


def test_a_series_that_fails_half_way(tmp_path: Path) -> None:
    """What the series raises comes through; what was there stays."""
    write(kuhn_cube(1), tmp_path / "it.zarr")

    def load(i: int) -> Mesh:
        if i == 2:
            raise ReadError("other.pvd", "is damaged")
        return step(i)

    with pytest.raises(ReadError, match=r"other\.pvd: is damaged"):
        write(MeshSeries([0.0, 1.0, 2.0], load), tmp_path / "it.zarr")
    assert [p.name for p in tmp_path.iterdir()] == ["it.zarr"]
    assert differences(kuhn_cube(1), read(tmp_path / "it.zarr")) == []


def test_one_mesh_is_a_series_of_one(tmp_path: Path) -> None:
    write(step(3), tmp_path / "it.zarr")
    series = read_series(tmp_path / "it.zarr")
    assert series.times == (1.5,)
    assert differences(step(3), series[0]) == []
