"""The handle: what is asked for, and no other byte of the numbers."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

import meshkit as mk
from meshkit.errors import MeshError, ReadError
from meshkit.fields import leaves, take
from meshkit.making import make_mesh
from meshkit.mesh import DATA, Mesh
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.store.contents import Contents
from meshkit.store.files import LocalFiles
from meshkit.store.handle import Store
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube, tetrahedron
from tests.random_meshes import random_meshes
from tests.store.meshes_for_tests import rich


class CountingFiles(LocalFiles):
    """Counts the bytes that are read."""

    count = 0

    def read(self, key: str, size: int, start: int = 0, stop: int | None = None) -> bytes:
        data = super().read(key, size, start, stop)
        self.count += len(data)
        return data


def counting(path: Path) -> tuple[Store, CountingFiles]:
    files = CountingFiles(path)
    store = Store(path, Contents(files))
    files.count = 0
    return store, files


def bytes_of(path: Path, below: str = "") -> int:
    return sum(p.stat().st_size for p in (path / below).rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mesh]:
    """16 chunks an array, ten fields, two regions; nothing that compresses well."""
    n = 16 * 65_536
    generator = torch.Generator().manual_seed(0)
    fields = {f"p{i}": torch.rand(n, generator=generator) for i in range(10)}
    points = torch.rand(n, 3, generator=generator)
    half = torch.randperm(n, generator=generator)[: n // 2].to(torch.int32)
    mesh = make_mesh(points, torch.arange(n, dtype=torch.int32).reshape(-1, 4))
    mesh = mesh.with_data(point=fields).replace(
        regions=[
            Region("few", "point", torch.arange(100, dtype=torch.int32)),
            Region("half", "point", half, data={"q": torch.rand(n // 2, generator=generator)}),
        ]
    )
    path = tmp_path_factory.mktemp("large") / "it.zarr"
    write(mesh, path)
    return path, mesh


def test_one_field_of_ten(large: tuple[Path, Mesh]) -> None:
    path, mesh = large
    store, files = counting(path)
    assert torch.equal(store.field("point_data", "p3"), mesh.point_data["p3"])
    assert files.count <= bytes_of(path) / 8
    assert files.count <= 1.01 * bytes_of(path, "point_data/p3")


def test_a_sixteenth_of_the_rows(large: tuple[Path, Mesh]) -> None:
    path, mesh = large
    store, files = counting(path)
    rows = slice(1000, 1000 + mesh.n_points // 16)  # across a border of chunks
    assert torch.equal(store.field("point_data", "p3", rows=rows), mesh.point_data["p3"][rows])
    assert files.count <= bytes_of(path, "point_data/p3") / 3
    files.count = 0
    assert torch.equal(store.points(rows), mesh.points[rows])
    assert files.count <= bytes_of(path, "points") / 3


def test_one_region(large: tuple[Path, Mesh]) -> None:
    path, mesh = large
    store, files = counting(path)
    assert torch.equal(store.region("few").ids, mesh.region("few").ids)
    assert files.count <= 2000
    store.region("half")
    assert files.count <= 1.02 * bytes_of(path, "regions")


def test_some_cells(large: tuple[Path, Mesh]) -> None:
    path, mesh = large
    store, files = counting(path)
    some = store.cells(slice(70_000, 70_010))
    assert torch.equal(some.connectivity, mesh.cells.connectivity[280_000:280_040])
    assert files.count <= bytes_of(path, "cells") / 3


def test_opening_reads_no_numbers(large: tuple[Path, Mesh]) -> None:
    path, mesh = large
    files = CountingFiles(path)
    store = Store(path, Contents(files))
    assert (store.n_points, store.n_cells) == (mesh.n_points, mesh.n_cells)
    assert store.shape("point_data", "p0") == (mesh.n_points,)
    assert store.dtype("point_data", "p0") == torch.float32
    assert repr(store) == f"Store({path}: 1048576 points, 262144 cells)"
    assert files.count == (path / "zarr.json").stat().st_size


def test_memory_of_a_row_range(large: tuple[Path, Mesh]) -> None:
    """numpy's and Python's own allocations: twice the rows and four decoded chunks."""
    import tracemalloc

    path, _ = large
    with mk.open_store(path) as store:
        store.points(slice(0, 1))
        for n in (100, 65_536, 500_000):
            tracemalloc.start()
            rows = store.points(slice(30_000, 30_000 + n))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= 2 * rows.nbytes + 4 * 65_536 * 12 + 200_000


@given(mesh=random_meshes(), data=st.data())
@settings(max_examples=40)
def test_any_part_is_what_the_mesh_has(
    mesh: Mesh, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "it.zarr"
    write(mesh, path)

    def same(what: str, x: torch.Tensor, y: torch.Tensor) -> None:
        one, other = (make_mesh(torch.zeros(0, 2)).with_data(global_={what: t}) for t in (x, y))
        assert differences(one, other) == []

    def some(n: int) -> slice:
        return slice(data.draw(st.integers(0, n)), data.draw(st.integers(-n, n)))

    with mk.open_store(path) as store:
        assert differences(mesh, store.mesh()) == []
        assert store.info == mesh.info.replace(report=store.info.report)
        keys = [(home, *p) for home in DATA for p, _ in leaves(getattr(mesh, home))]
        assert [key for key in store.keys() if key[0] != "regions"] == keys
        for home in DATA:
            for p, x in leaves(getattr(mesh, home)):
                assert (store.shape(home, *p), store.dtype(home, *p)) == (x.shape, x.dtype)
                same("all", x, store.field(home, *p))
                if home != "global_data":
                    rows = some(len(x))
                    ids = torch.arange(len(x))[rows]
                    same("some", take(x, ids), store.field(home, *p, rows=rows))
        rows = some(mesh.n_points)
        same("points", mesh.points[rows], store.points(rows))
        for region in mesh.regions:
            found_region = store.region(region.name, region.entity)
            kept = mesh.replace(regions=[region])
            assert differences(kept, mesh.replace(regions=[found_region])) == []
            for p, x in leaves(region.data) if region.data is not None else ():
                same("data", x, store.field("regions", region.name, region.entity, *p))
        rows = some(mesh.n_cells)
        cells = store.cells(rows)
        expected = mesh.cells.take(torch.arange(mesh.n_cells)[rows])
        for a, b in zip(cells.sources, expected.sources, strict=True):
            assert a.tolist() == b.tolist()
        faces = store.faces()
        assert (faces is None) == (mesh.faces is None)
        store.verify()


def test_times_of_one_mesh(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.zarr")
    with mk.open_store(tmp_path / "it.zarr") as store:
        assert store.times == ()
        assert store.at(0.1).n_points == 5
        assert store.series().times == (0.1,)
        with pytest.raises(MeshError, match=r"no time 0\.2; there are 0\.1"):
            store.at(0.2)
    write(tetrahedron(), tmp_path / "it.zarr")
    with mk.open_store(tmp_path / "it.zarr") as store:
        assert store.at("last").n_points == 4
        assert store.series().times == (0.0,)
        with pytest.raises(MeshError, match="holds no time"):
            store.at(0.0)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda s: s.field("point_data", "q"), r"no field 'point_data/q'; there are point_data/fl"),
        (lambda s: s.field("regions", "wall", "cell", "T"), "no field 'regions/wall/cell/T'"),
        (lambda s: s.field(), "no field ''"),
        (lambda s: s.field("points"), "no field 'points'"),
        (lambda s: s.field("global_data", "Re", rows=slice(0, 1)), "global data have no rows"),
        (lambda s: s.points(slice(0, 4, 2)), r"expected a run of step 1 within 5 rows"),
        (lambda s: s.points(range(3, 7)), r"expected a run of step 1 within 5 rows"),
        (lambda s: s.points(5), r"rows 5: expected a run of step 1 within 5 rows, as a slice"),
        (lambda s: s.points([0, 1]), r"rows \[0, 1\]: expected a run of step 1"),
        (lambda s: s.cells(slice("a", None)), r"rows slice\('a', None, None\): expected a r"),
        (lambda s: s.region("inlet"), r"no region 'inlet'; there are 'wall' of faces, 'wall' of p"),
        (lambda s: s.region("wall"), "several regions 'wall'"),
    ],
)
def test_what_cannot_be_asked(ask: object, says: str, tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.zarr")
    assert callable(ask)
    with mk.open_store(tmp_path / "it.zarr") as store, pytest.raises(MeshError, match=says):
        ask(store)


def test_it_travels(tmp_path: Path) -> None:
    mesh = rich()
    write(mesh, tmp_path / "it.zarr")
    store = pickle.loads(pickle.dumps(mk.open_store(tmp_path / "it.zarr")))
    assert differences(mesh, store.mesh()) == []


def test_the_opened_sample_stays(tmp_path: Path) -> None:
    """Another sample takes the place: the old one's numbers, or an error."""
    write(kuhn_cube(2), tmp_path / "it.zarr")
    store = mk.open_store(tmp_path / "it.zarr")
    write(kuhn_cube(3), tmp_path / "it.zarr")
    with pytest.raises(ReadError, match="is missing"):
        store.points()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    with mk.open_store(tmp_path / "it.zarr") as store:
        pass
    with pytest.raises(ReadError, match="Bad file descriptor"):
        store.points()


def test_a_damaged_file_that_is_not_read_does_not_matter_until_verified(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.zarr")
    file = tmp_path / "it.zarr" / "point_data" / "flow" / "p" / "c.0"
    data = bytearray(file.read_bytes())
    data[3] ^= 1
    file.write_bytes(data)
    with mk.open_store(tmp_path / "it.zarr") as store:
        assert store.points().shape == (5, 3)
        with pytest.raises(ReadError, match=r"point_data/flow/p/c\.0: chunk 0: its checksum"):
            store.field("point_data", "flow", "p")
        with pytest.raises(ReadError, match=r"point_data/flow/p/c\.0: is damaged: its hash"):
            store.verify()
