"""Stores read from a web server and from an object store, both started by the test."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

import meshkit as mk
from meshkit.errors import ReadError, WriteError
from meshkit.making import make_mesh
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from meshkit.store import remote
from tests.mesh_differences import differences
from tests.meshes import tetrahedron
from tests.store.meshes_for_tests import rich
from tests.store.test_series import step

pytest.importorskip("fsspec")


class Server(ThreadingHTTPServer):
    """Files of a folder; with ranges if it is told to, and the bytes of numbers that it sent."""

    daemon_threads = True
    ranges = True
    status = 0
    sent = 0


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.server.status:
            self.send_error(self.server.status)
            return
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        data, asked = (
            file.read_bytes(),
            re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or ""),
        )
        if asked and self.server.ranges:
            first, last = map(int, asked.groups())
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        if not file.name.endswith(".json"):
            self.server.sent += len(data)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[Server, str]]:
    pytest.importorskip("aiohttp")
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_meshes_and_series_over_the_web(web: tuple[Server, str], tmp_path: Path) -> None:
    """Also fields whose names an address would spell differently."""
    _, url = web
    mesh = rich().with_data(point={"a b?#&=+é%2F%": torch.arange(5.0), "..": torch.ones(5)})
    write(mesh, tmp_path / "it.zarr")
    for name in ("it.zarr", "it.zarr/"):
        assert differences(mesh, read(f"{url}/{name}")) == []
    with mk.open_store(f"{url}/it.zarr") as store:
        store.verify()
    meshes = [step(i) for i in range(3)]
    write(MeshSeries.of(meshes), tmp_path / "series.zarr")
    for a, b in zip(meshes, read_series(f"{url}/series.zarr"), strict=True):
        assert differences(a, b) == []


@pytest.mark.parametrize("ranges", [True, False])
def test_some_rows_over_the_web(ranges: bool, web: tuple[Server, str], tmp_path: Path) -> None:
    """Python's own server, for one, sends the whole file whatever it is asked for."""
    server, url = web
    server.ranges = ranges
    values = torch.rand(200_000, generator=torch.Generator().manual_seed(0))
    write(make_mesh(torch.zeros(200_000, 1)).with_data(point={"p": values}), tmp_path / "it.zarr")
    with mk.open_store(f"{url}/it.zarr") as store:
        rows = slice(70_000, 70_010)
        assert torch.equal(store.field("point_data", "p", rows=rows), values[rows])
    whole = (tmp_path / "it.zarr" / "point_data" / "p" / "c.0").stat().st_size
    assert (server.sent < whole / 2) is ranges


def test_damage_over_the_web(web: tuple[Server, str], tmp_path: Path) -> None:
    _, url = web
    write(rich(), tmp_path / "it.zarr")
    file = tmp_path / "it.zarr" / "points" / "c.0.0"
    data = file.read_bytes()
    damaged = (data[:-1], data + b"x", b"", data[:20] + bytes([data[20] ^ 1]) + data[21:])
    for some in damaged:
        file.write_bytes(some)
        with pytest.raises(ReadError, match=r"points/c\.0\.0: (gave|chunk 0)"):
            read(f"{url}/it.zarr")
    file.unlink()
    with pytest.raises(ReadError, match=r"points/c\.0\.0: is missing"):
        read(f"{url}/it.zarr")


def test_servers_that_refuse(web: tuple[Server, str], tmp_path: Path) -> None:
    server, url = web
    with pytest.raises(ReadError, match=r"/it\.zarr: is no sample"):
        read(f"{url}/it.zarr")
    write(tetrahedron(), tmp_path / "it.zarr")
    for server.status in (403, 500, 503):
        with pytest.raises(ReadError, match=rf"MANIFEST\.json: cannot be read: {server.status}"):
            read(f"{url}/it.zarr")
    with pytest.raises(WriteError, match=r"new\.zarr: cannot be written: "):
        write(tetrahedron(), f"{url}/new.zarr")
    server.server_close()
    with pytest.raises(ReadError, match=r"MANIFEST\.json: cannot be read: "):
        read(f"{url}/it.zarr")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 emulator; in an environment that has one."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    import s3fs

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_ACCESS_KEY_ID", "none")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "none")
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patched.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("bucket")
        yield "s3://bucket"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_an_object_store(bucket: str, monkeypatch: Any) -> None:
    """Written, read in parts, replaced, and not replaced by a writer that dies."""
    import s3fs

    url = f"{bucket}/deep/it.zarr"
    with pytest.raises(ReadError, match="is no sample"):
        read(url)
    mesh = rich().with_data(point={"a b?#&=+é%2F%": torch.arange(5.0)})
    write(mesh, url)
    assert differences(mesh, read(url)) == []
    with mk.open_store(url) as store:
        assert store.field("point_data", "flow", "p", rows=slice(1, 3)).tolist() == [1.0, 2.0]
        write(tetrahedron(), url)
        with pytest.raises(ReadError, match="is missing"):
            store.points()
    assert differences(tetrahedron(), read(url)) == []
    assert len([p for p in s3fs.S3FileSystem().ls(f"{bucket}/deep/it.zarr") if "data-" in p]) == 1

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(remote, "_commit", dies)
        with pytest.raises(KeyboardInterrupt):
            write(rich(), url)
    assert differences(tetrahedron(), read(url)) == []
    with pytest.raises(WriteError, match="cannot be written"):
        write(rich(), "s3://no-such-bucket/it.zarr")
    with pytest.raises(ReadError, match=r"no sample|cannot be read"):
        read("s3://no-such-bucket/it.zarr")
