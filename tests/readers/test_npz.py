"""NPZ: everything comes back bit for bit, and damage is named."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit import memory
from meshkit.errors import MeshkitError, ReadError, WriteError
from meshkit.info import Grid, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, tetrahedron
from tests.random_meshes import OTHER_DTYPES, PLAIN_DTYPES, random_meshes, random_values
from tests.readers.mutations import mutations, survives
from tests.store.meshes_for_tests import rich


def test_everything_comes_back(tmp_path: Path) -> None:
    mesh = rich()
    report = write(mesh, tmp_path / "it.npz")
    back = read(tmp_path / "it.npz")
    assert differences(mesh, back) == []
    assert report.lossless
    assert back.info.report.lossless
    assert back.info.source is not None
    assert back.info.source.format == "npz"
    kept = {(e.what, e.name): e.count for e in back.info.report.kept}
    assert kept["points", ""] == 5
    assert kept["cells", "tetra"] == 2
    assert kept["faces", ""] == 7
    assert kept["field", "point_data/flow/p"] == 5


@given(mesh=random_meshes())
@settings(max_examples=200)
def test_any_mesh_comes_back_bit_for_bit(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("npz") / "it.npz"
    assert write(mesh, path).lossless
    assert differences(mesh, read(path)) == []


@pytest.mark.parametrize("dtype", PLAIN_DTYPES + OTHER_DTYPES, ids=str)
def test_every_dtype(dtype: torch.dtype, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    fields = {str(shape): random_values(rng, dtype, (4, *shape)) for shape in [(), (3,), (0,)]}
    mesh = tetrahedron().replace(
        point_data=fields, global_data={"one": random_values(rng, dtype, ())}
    )
    write(mesh, tmp_path / "it.npz")
    assert differences(mesh, read(tmp_path / "it.npz")) == []


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_points_of_any_float(dtype: torch.dtype, tmp_path: Path) -> None:
    mesh = hanging_polyhedron().to(dtype=dtype)
    write(mesh, tmp_path / "it.npz")
    assert differences(mesh, read(tmp_path / "it.npz")) == []


def test_nothing_at_all(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(0, 2))
    write(mesh, tmp_path / "it.npz")
    assert differences(mesh, read(tmp_path / "it.npz")) == []


def test_lone_surrogates_in_names(tmp_path: Path) -> None:
    mesh = tetrahedron().with_data(point={"\udc80%uDC80": torch.zeros(4)})
    write(mesh, tmp_path / "it.npz")
    assert differences(mesh, read(tmp_path / "it.npz")) == []


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    write(rich(), tmp_path / "a.npz")
    write(rich(), tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_numpy_opens_it(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.npz")
    with np.load(tmp_path / "it.npz", allow_pickle=False) as arrays:
        assert arrays["points"].shape == (5, 3)
        assert arrays["point_data/flow/p"].tolist() == [0, 1, 2, 3, 4]
        assert arrays["cells/types"].tolist() == [10, 10]


def test_what_numpy_saves_again_is_read(tmp_path: Path) -> None:
    """Deflated, in column-major order, big-endian: the numbers are the same."""
    write(rich(), tmp_path / "it.npz")
    with np.load(tmp_path / "it.npz") as arrays:
        held = dict(arrays)
    held["points"] = np.asfortranarray(held["points"].astype(">f8"))
    np.savez_compressed(tmp_path / "again.npz", allow_pickle=False, **held)
    assert differences(rich(), read(tmp_path / "again.npz")) == []


def test_what_others_added_is_counted(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.npz")
    with np.load(tmp_path / "it.npz") as arrays:
        np.savez(tmp_path / "more.npz", allow_pickle=False, **arrays, extra=np.zeros(3))
    back = read(tmp_path / "more.npz")
    assert differences(rich(), back) == []
    assert [(e.what, e.name) for e in back.info.report.losses] == [("array", "extra")]


def test_foreign_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "it.npz", x=np.zeros(3))
    with pytest.raises(ReadError, match=r"without 'meshkit\.json'.*expected an \.npz of meshkit"):
        read(tmp_path / "it.npz")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.npz")
    with np.load(tmp_path / "it.npz") as arrays:
        held = dict(arrays)
    held["points"] = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "it.npz", **held)
    with pytest.raises(ReadError, match=r"array 'points'.*expected an array of plain numbers"):
        read(tmp_path / "it.npz")


def test_flipped_bit_names_the_array(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    mesh = tetrahedron().with_data(point={"p": torch.full((4,), 1.2345678)})
    write(mesh, path)
    data = bytearray(path.read_bytes())
    at = data.index(np.full(4, 1.2345678, np.float32).tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReadError, match=r"array 'point_data/p': is damaged: Bad CRC-32"):
        read(path)


def _rewritten(path: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (held | change).items():
            archive.writestr(name, data)


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_header_that_asks_for_a_terabyte(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    write(tetrahedron(), path)
    data = _npy(np.zeros((4, 3)))
    _rewritten(path, {"points.npy": data.replace(b"(4, 3)", b"(99999999999, 3)")[: len(data)]})
    with pytest.raises(ReadError, match=r"array 'points': its header says .*; \d+ are there"):
        read(path)


def test_deflated_bytes_that_stand_for_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.npz"
    write(tetrahedron().with_data(point={"p": torch.zeros(4, 5_000_000)}), path)
    with np.load(path) as arrays:
        np.savez_compressed(path, allow_pickle=False, **arrays)
    assert path.stat().st_size < 1 << 20
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemAvailable: 50000 kB\n")
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path)
    with pytest.raises(
        ReadError, match=r"'point_data/p': needs 0\.1 GB of memory, and 0\.1 GB are"
    ):
        read(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{}", "not what meshkit writes"),
        (b"\xff", "not what meshkit writes"),
        (b"[" * 100_000, "not what meshkit writes"),
        (b'{"format": "meshkit", "version": 9}', "version 9.*update meshkit"),
        (b'{"format": "meshkit", "version": 1, "parts": 3, "arrays": 3}', "not what meshkit"),
        (b'{"format": "meshkit", "version": 1, "parts": 3, "arrays": []}', "not in the list"),
        (
            b'{"format": "meshkit", "version": 1, "parts": 3, "arrays": [["cells", "int32", [1]]]}',
            "not in the list",
        ),
    ],
)
def test_broken_description(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "it.npz"
    write(tetrahedron(), path)
    _rewritten(path, {"meshkit.json.npy": _npy(np.frombuffer(text, np.uint8))})
    with pytest.raises(ReadError, match=problem):
        read(path)


@pytest.mark.parametrize(
    "name", ["cells/offsets", "cells/polyhedra/faces", "point_data/p", "regions/0/ids", "points"]
)
def test_missing_array(tmp_path: Path, name: str) -> None:
    path = tmp_path / "it.npz"
    write(_tampered_with(), path)
    with zipfile.ZipFile(path) as archive:
        held = {n: archive.read(n) for n in archive.namelist() if n != f"{name}.npy"}
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in held.items():
            archive.writestr(member, data)
    with pytest.raises(ReadError, match=f"array '{name}': is missing"):
        read(path)


def _tampered_with() -> Mesh:
    mesh = hanging_polyhedron()
    return mesh.replace(
        point_data={
            "p": torch.arange(float(mesh.n_points)),
            "b": torch.zeros(mesh.n_points).bfloat16(),
        },
        regions=[Region("r", "point", [3, 1, 2])],
    )


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("regions/0/ids", np.array([3, 1]), r"int64 \[2\]; expected int64 \[3\], as it was"),
        ("regions/0/ids", np.array([3, 1, 2], np.int32), r"int32 \[3\]; expected int64 \[3\]"),
        ("point_data/b", np.zeros(17, np.float16), r"float16 \[17\]; expected int16 \[\d+\]"),
        ("cells/polyhedra/faces", np.zeros(1, np.int64), r"int64 \[1\]; expected int\d\d \[2\]"),
        ("point_data/q", np.zeros(3), "is not in the list of arrays"),
        ("cells/degrees", np.zeros((1, 3), np.uint8), "is not in the list of arrays"),
    ],
)
def test_arrays_that_others_changed_or_added(
    tmp_path: Path, name: str, array: np.ndarray, problem: str
) -> None:
    path = tmp_path / "it.npz"
    write(_tampered_with(), path)
    _rewritten(path, {f"{name}.npy": _npy(array)})
    with pytest.raises(ReadError, match=f"array '{name}': {problem}"):
        read(path)


def test_member_twice(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    write(tetrahedron(), path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("points.npy", b"")
    with pytest.raises(ReadError, match="array 'points': stands in the archive twice"):
        read(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated(tmp_path: Path, share: float) -> None:
    path = tmp_path / "it.npz"
    write(rich(), path)
    data = path.read_bytes()
    path.write_bytes(data[: max(4, int(len(data) * share))])
    with pytest.raises(ReadError, match="is no whole zip archive"):
        read(path)


def test_attributes_that_json_cannot_say(tmp_path: Path) -> None:
    mesh = tetrahedron().replace(info=MeshInfo(grid=Grid((np.int64(4),))))  # type: ignore[arg-type]
    with pytest.raises(WriteError, match=r"it\.npz: info or a region holds what JSON cannot"):
        write(mesh, tmp_path / "it.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_report_is_of_the_last_reading(tmp_path: Path) -> None:
    write(rich(), tmp_path / "a.npz")
    again = read(tmp_path / "a.npz")
    assert write(again, tmp_path / "b.npz").dropped == ()
    assert read(tmp_path / "b.npz").info.report == again.info.report


def test_damage(tmp_path: Path) -> None:
    write(rich(), tmp_path / "good.npz")
    data = (tmp_path / "good.npz").read_bytes()
    assert survives(tmp_path / "it.npz", data) > 50


def test_damage_behind_the_checksum(tmp_path: Path) -> None:
    """The description and the headers are mutated, and the checksums are right again."""
    path = tmp_path / "it.npz"
    write(rich(), path)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("meshkit.json.npy")
    said = np.load(io.BytesIO(text)).tobytes()
    refused = []
    for damaged in mutations(said):
        _rewritten(path, {"meshkit.json.npy": _npy(np.frombuffer(damaged, np.uint8))})
        try:
            read(path)
        except MeshkitError as why:
            refused.append(str(why))
    assert len(refused) > 50
    assert all(str(path) in line for line in refused)
