"""Damage: an error or the identical mesh, never other numbers."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.meshes import tetrahedron
from tests.store.damaging import constant, files_of, flipped, survives, two_chunks
from tests.store.meshes_for_tests import rich


@pytest.mark.parametrize("make", [rich, two_chunks], ids=lambda make: make.__name__)
def test_flipped_bits(make: Callable[[], Mesh], tmp_path: Path) -> None:
    """Of every file some, and 200 anywhere; where nothing is read from, nothing may change."""
    mesh, path = make(), tmp_path / "it.zarr"
    write(mesh, path)
    rng = random.Random(0)
    files = files_of(path)
    bits = {file: 8 * (path / file).stat().st_size for file in files}
    places = [(file, rng.randrange(bits[file])) for file in files]
    for _ in range(200):
        (file,) = rng.choices(files, [bits[f] for f in files])
        places.append((file, rng.randrange(bits[file])))
    refused = 0
    for file, bit in places:
        flipped(path / file, bit)
        said = survives(path, mesh)
        refused += said is not None
        # The documents of single nodes are for other programs: here the consolidated ones count.
        if file.name != "zarr.json" or file == Path("zarr.json"):
            assert said is not None, file
        flipped(path / file, bit)
    assert survives(path, mesh) is None
    assert refused >= 100


def test_every_file_removed(tmp_path: Path) -> None:
    mesh, path = rich(), tmp_path / "it.zarr"
    write(mesh, path)
    for file in files_of(path):
        (path / file).rename(tmp_path / "aside")
        with pytest.raises(ReadError, match=r"is missing|is no sample"):
            read(path)
        (tmp_path / "aside").rename(path / file)
    assert survives(path, mesh) is None


def test_a_sample_without_a_manifest_is_none(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.zarr")
    (tmp_path / "it.zarr" / "MANIFEST.json").unlink()
    with pytest.raises(ReadError, match=r"it\.zarr: is no sample: it has no MANIFEST\.json"):
        read(tmp_path / "it.zarr")


def test_truncations(tmp_path: Path) -> None:
    mesh, path = rich(), tmp_path / "it.zarr"
    write(mesh, path)
    rng = random.Random(1)
    for _ in range(40):
        file = path / rng.choice(files_of(path))
        data = file.read_bytes()
        file.write_bytes(data[: rng.randrange(len(data))])
        assert survives(path, mesh) is not None, file
        file.write_bytes(data)
    for file in files_of(path):
        data = (path / file).read_bytes()
        (path / file).write_bytes(data + b"\0")
        assert survives(path, mesh) is not None, file
        (path / file).write_bytes(data)


@pytest.mark.parametrize(
    ("name", "lossless"),
    [("point_data/extra/zarr.json", False), ("points/c.0.1", False), (".DS_Store", True)],
)
def test_unknown_files_are_counted(name: str, lossless: bool, tmp_path: Path) -> None:
    mesh, path = rich(), tmp_path / "it.zarr"
    write(mesh, path)
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_bytes(b"{}")
    back = read(path)
    assert differences(mesh, back) == []
    assert [(e.what, e.name) for e in back.info.report.dropped] == [("file", name)]
    assert back.info.report.lossless is lossless


def test_a_stale_manifest(tmp_path: Path) -> None:
    write(constant(1.2345), tmp_path / "a.zarr")
    write(constant(5.4321), tmp_path / "b.zarr")
    a, b = (tmp_path / name / "MANIFEST.json" for name in ("a.zarr", "b.zarr"))
    assert a.stat().st_size == b.stat().st_size
    shutil.copy(a, b)
    with pytest.raises(ReadError, match=r"cell_data/p/c\.0: chunk 0: is not the one that the man"):
        read(tmp_path / "b.zarr")


def test_a_file_of_another_sample(tmp_path: Path) -> None:
    for name, value in (("a", 1.2345), ("b", 5.4321)):
        write(constant(value), tmp_path / f"{name}.zarr")
    shutil.copy(tmp_path / "a.zarr/cell_data/p/c.0", tmp_path / "b.zarr/cell_data/p/c.0")
    with pytest.raises(ReadError, match="is not the one that the manifest names"):
        read(tmp_path / "b.zarr")


def test_a_directory_of_another_program(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.create_group(tmp_path / "it.zarr")
    with pytest.raises(ReadError, match=r"is no sample.*or another program wrote it"):
        read(tmp_path / "it.zarr")


def test_no_store_at_all(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        read(tmp_path / "it.zarr")
    (tmp_path / "it.zarr").write_bytes(b"nothing of the kind")
    with pytest.raises(ReadError, match=r"is a file; expected a directory of a meshkit store"):
        read(tmp_path / "it.zarr")
    (tmp_path / "it").mkdir()
    with pytest.raises(ReadError, match=r"is a directory; expected a file, a store or a case"):
        read(tmp_path / "it")


@pytest.mark.parametrize("name", ["MANIFEST.json", "zarr.json", "points/c.0.0"])
def test_what_is_no_file(name: str, tmp_path: Path) -> None:
    """Neither waited for nor read without an end."""
    write(tetrahedron(), tmp_path / "it.zarr")
    file = tmp_path / "it.zarr" / name
    file.unlink()
    os.mkfifo(file)
    assert survives(tmp_path / "it.zarr", tetrahedron()) is not None
    file.unlink()
    file.symlink_to("/dev/zero")
    assert survives(tmp_path / "it.zarr", tetrahedron()) is not None
    file.unlink()
    file.mkdir()
    assert survives(tmp_path / "it.zarr", tetrahedron()) is not None


def test_files_may_be_links(tmp_path: Path) -> None:
    """As caches of downloads and of versions lay them out."""
    write(rich(), tmp_path / "it.zarr")
    for i, file in enumerate(files_of(tmp_path / "it.zarr")):
        (tmp_path / "it.zarr" / file).rename(tmp_path / f"blob{i}")
        (tmp_path / "it.zarr" / file).symlink_to(tmp_path / f"blob{i}")
    assert survives(tmp_path / "it.zarr", rich()) is None


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(rich(), tmp_path / "it.zarr")
    for name in ("points", "cells"):
        (tmp_path / "it.zarr" / name / "loop").symlink_to(tmp_path / "it.zarr")
    assert survives(tmp_path / "it.zarr", rich()) is None


def test_content_decides_and_not_the_suffix(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    (tmp_path / "it.zarr").rename(tmp_path / "renamed.vtu")
    assert survives(tmp_path / "renamed.vtu", tetrahedron()) is None
