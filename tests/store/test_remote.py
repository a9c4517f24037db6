"""Stores on object stores, against fsspec's memory: putting the manifest is the commit."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshkit as mk
from meshkit.errors import MissingPackage, ReadError, UnknownFormat, WriteError
from meshkit.mesh import Mesh
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube, tetrahedron
from tests.store.meshes_for_tests import rich
from tests.store.test_series import step

pytest.importorskip("fsspec")
URL = "memory://bucket/deep/case.zarr"


@pytest.fixture
def memory() -> Iterator[Any]:
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield MemoryFileSystem()
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def prefixes(memory: Any) -> set[str]:
    return {key.split("/")[4] for key in memory.store if "/data-" in key}


def test_everything_comes_back(memory: Any) -> None:
    report = write(rich(), URL)
    back = read(URL)
    assert differences(rich(), back) == []
    assert report.lossless and back.info.report.lossless
    with mk.open_store(URL) as store:
        store.verify()
        assert store.field("point_data", "flow", "p", rows=slice(1, 3)).tolist() == [1.0, 2.0]
        again = pickle.loads(pickle.dumps(store))
        assert again.region("wall", "face").ids.tolist() == [1, 2]


def test_series(memory: Any) -> None:
    meshes = [step(i) for i in range(3)]
    write(MeshSeries.of(meshes), URL)
    for a, b in zip(meshes, read_series(URL), strict=True):
        assert differences(a, b) == []
    assert differences(meshes[1], read(URL, time=0.5)) == []


def test_the_old_files_go_after_the_commit(memory: Any) -> None:
    write(tetrahedron(), URL)
    (before,) = prefixes(memory)
    write(rich(), URL)
    (after,) = prefixes(memory)
    assert before != after
    assert differences(rich(), read(URL)) == []


def test_a_writer_that_dies_before_the_commit(memory: Any, monkeypatch: Any) -> None:
    write(tetrahedron(), URL)

    def pipe_file(path: str, value: bytes, **_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "pipe_file", staticmethod(pipe_file))
        with pytest.raises(KeyboardInterrupt):
            write(rich(), URL)
    assert len(prefixes(memory)) == 2
    assert differences(tetrahedron(), read(URL)) == []
    write(rich(), URL)
    assert len(prefixes(memory)) == 2  # of today: its writer may still live
    tomorrow = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    write(rich(), URL)
    assert len(prefixes(memory)) == 1
    assert differences(rich(), read(URL)) == []


@pytest.mark.parametrize("arrives", [True, False])
def test_a_commit_whose_answer_is_lost(arrives: bool, memory: Any, monkeypatch: Any) -> None:
    """An error only where the new sample is not in its place."""
    write(tetrahedron(), URL)
    really = type(memory).pipe_file

    class OfTheLibrary(RuntimeError):
        pass

    def pipe_file(self: Any, path: str, value: bytes, **more: Any) -> None:
        if arrives:
            really(self, path, value, **more)
        raise OfTheLibrary("504 Gateway Timeout")

    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "pipe_file", pipe_file)
        if arrives:
            write(rich(), URL)
        else:
            with pytest.raises(WriteError, match=f"{URL}: cannot be written: 504 Gateway Timeout"):
                write(rich(), URL)
    assert differences(rich() if arrives else tetrahedron(), read(URL)) == []


@pytest.mark.parametrize("after", [0, 1, 10])
def test_a_place_that_refuses(after: int, memory: Any, monkeypatch: Any) -> None:
    write(tetrahedron(), URL)
    really = type(memory).put_file
    left = after

    def put_file(self: Any, *arguments: Any, **more: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise PermissionError("Access Denied")
        really(self, *arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "put_file", put_file)
        with pytest.raises(WriteError, match=f"{URL}: cannot be written: Access Denied"):
            write(rich(), URL)
    assert len(prefixes(memory)) == 1
    assert differences(tetrahedron(), read(URL)) == []


def test_a_sample_replaced_while_it_is_read(memory: Any, monkeypatch: Any) -> None:
    write(tetrahedron(), URL)
    really = type(memory).cat_file
    done = False

    def cat_file(self: Any, path: str, **more: Any) -> bytes:
        nonlocal done
        if path.endswith("zarr.json") and not done:
            done = True
            write(rich(), URL)
        found: bytes = really(self, path, **more)
        return found

    monkeypatch.setattr(type(memory), "cat_file", cat_file)
    assert differences(rich(), read(URL)) == []


def test_an_opened_store_that_is_replaced(memory: Any) -> None:
    write(tetrahedron(), URL)
    store = mk.open_store(URL)
    write(kuhn_cube(2), URL)
    with pytest.raises(ReadError, match=r"points/c\.0\.0: is missing"):
        store.points()


def survives(mesh: Mesh) -> str | None:
    try:
        back = read(URL)
    except ReadError as why:
        return str(why)
    assert differences(mesh, back) == []
    return None


def test_damage(memory: Any) -> None:
    """Files cut, longer, flipped or gone: an error where it is read, else the identical mesh."""
    write(rich(), URL)
    assert survives(rich()) is None
    for key in list(memory.store):
        data = memory.cat_file(key)
        unread = key.endswith("/zarr.json") and key.count("/") > 5
        middle = len(data) // 2
        flipped = bytes([*data[:middle], data[middle] ^ 8, *data[middle + 1 :]])
        for damaged in (data[:-1], data + b"x", b"", flipped):
            memory.pipe_file(key, damaged)
            assert (survives(rich()) is None) == unread, key
        memory.rm_file(key)
        assert (survives(rich()) is None) == unread, key
        memory.pipe_file(key, data)
    assert survives(rich()) is None


def test_no_sample(memory: Any) -> None:
    with pytest.raises(ReadError, match=f"{URL}: is no sample"):
        read(URL)


def test_what_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="Protocol not known: nowhere"):
        read("nowhere://x.zarr")
    with pytest.raises(WriteError, match="Protocol not known: nowhere"):
        write(tetrahedron(), "nowhere://x.zarr")
    with pytest.raises(UnknownFormat, match=r"only a store is read and written remotely; ex.*zarr"):
        read("memory://x.vtu")
    with pytest.raises(UnknownFormat, match="only a store is read and written remotely"):
        write(tetrahedron(), "memory://x.vtu")
    with pytest.raises(UnknownFormat, match="only a store"):
        write(tetrahedron(), "memory://x.zarr", format="vtu")


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackage, match=r"pip install 'meshkit\[remote\]'"):
        read("s3://bucket/x.zarr")


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    write(rich(), f"file://{tmp_path}/a%20b.zarr")
    assert differences(rich(), read(tmp_path / "a b.zarr")) == []
