"""Manifests: as documented, of other versions, lying, and JSON that programs read differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.store import manifest
from meshkit.store.handle import open_store
from tests.meshes import tetrahedron
from tests.store.damaging import changed, files_of, survives, two_chunks
from tests.store.meshes_for_tests import rich


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    changed(tmp_path / "it.zarr", lambda said: said.update(version="2.0"))
    with pytest.raises(
        ReadError,
        match=r"MANIFEST\.json: version 2\.0 of the store's format; expected version 1; a",
    ):
        read(tmp_path / "it.zarr")


def test_a_newer_minor_version_is_read(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    changed(tmp_path / "it.zarr", lambda said: said.update(version="1.7", more={"a": 1}))
    assert survives(tmp_path / "it.zarr", tetrahedron()) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(format="another"),
        lambda said: said.pop("version"),
        lambda said: said.update(version=1),
        lambda said: said.update(version=1.0),
        lambda said: said.update(version="\u0661.0"),
        lambda said: said.update(version="01.0"),
        lambda said: said.update(keys=[]),
        lambda said: said.update(keys={}),
        lambda said: said.update(root="../"),
        lambda said: said.update(root=3),
        lambda said: said["keys"].update({"../up": {"size": 0, "blake3": "0" * 64}}),
        lambda said: said["keys"].update({"/etc": {"size": 0, "blake3": "0" * 64}}),
        lambda said: said["keys"]["points/c.0.0"].update(size=-1),
        lambda said: said["keys"]["points/c.0.0"].update(blake3="z"),
        lambda said: said["keys"]["points/c.0.0"].update(crc32c="00"),
        lambda said: said["keys"]["points/c.0.0"].pop("crc32c"),
        lambda said: said["keys"].pop("points/c.0.0"),
        lambda said: said["keys"].pop("zarr.json"),
    ],
)
def test_a_manifest_that_lies(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    changed(tmp_path / "it.zarr", change)
    assert survives(tmp_path / "it.zarr", tetrahedron()) is not None


def text_of(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Metadata of another text, with a manifest that holds."""
    file = path / "zarr.json"
    before = file.read_bytes()
    file.write_bytes(change(before))
    assert file.read_bytes() != before
    entry = {"size": file.stat().st_size, "blake3": manifest.digest(file.read_bytes())}
    changed(path, lambda said: said["keys"].update({"zarr.json": entry}))


def in_attributes(text: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(b'"attributes":{"solver"', b'"attributes":' + text, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_attributes(b'{"a":1,"a":2,"solver"'), "has a key twice"),
        (in_attributes(b'{"a":NaN,"solver"'), "holds NaN"),
        (in_attributes(b'{"a":-Infinity,"solver"'), "holds -Infinity"),
        (in_attributes(b'{"a":"\xc3\xa9","solver"'), "ascii"),
        (in_attributes(b'{"a":' + b"9" * 5000 + b',"solver"'), "Exceeds the limit"),
        (in_attributes(b'{"a":' + b"[" * 9000 + b"]" * 9000 + b',"solver"'), "nested too deeply"),
        (in_attributes(b'{"a":' + b"[" * 700 + b"]" * 700 + b',"solver"'), "Recursion|100 levels"),
        (in_attributes(b'{"a":' + b"[" * 101 + b"]" * 101 + b',"solver"'), "more than 100 levels"),
        (lambda data: b"\xef\xbb\xbf" + data, "ascii"),
        (lambda data: data.decode().encode("utf-16"), "ascii"),
    ],
)
@pytest.mark.parametrize("door", [read, open_store], ids=lambda door: door.__name__)
def test_json_that_programs_may_take_differently(
    door: Callable[[Path], object], change: Callable[[bytes], bytes], said: str, tmp_path: Path
) -> None:
    write(rich(), tmp_path / "it.zarr")
    text_of(tmp_path / "it.zarr", change)
    with pytest.raises(ReadError, match=rf"it\.zarr: .*({said})"):
        door(tmp_path / "it.zarr")


def test_a_manifest_that_names_a_file_twice(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    file = tmp_path / "it.zarr" / "MANIFEST.json"
    body = file.read_bytes()[:-79].replace(b'"keys":{', b'"keys":{"zarr.json":{},')
    file.write_bytes(body + f',\n"blake3":"{manifest.digest(body)}"}}\n'.encode())
    with pytest.raises(ReadError, match=r"MANIFEST\.json: is no manifest of a meshkit store"):
        read(tmp_path / "it.zarr")


@pytest.mark.parametrize("name", ["MANIFEST.json", "zarr.json"])
def test_texts_of_fifty_gigabytes(name: str, tmp_path: Path) -> None:
    """Sparse ones, which cost nothing to send."""
    write(tetrahedron(), tmp_path / "it.zarr")
    if name == "zarr.json":
        changed(tmp_path / "it.zarr", lambda said: said["keys"][name].update(size=50 << 30))
    with (tmp_path / "it.zarr" / name).open("r+b") as file:
        file.truncate(50 << 30)
    with pytest.raises(
        ReadError, match=rf"{name}: has 53687091200 bytes; expected at most 268435456"
    ):
        read(tmp_path / "it.zarr")


def test_the_manifest_is_as_documented(tmp_path: Path) -> None:
    """Read by nothing of ours: every file is listed with its size, hash and chunks' checksums."""
    from blake3 import blake3

    path = tmp_path / "it.zarr"
    write(two_chunks(), path)
    data = (path / "MANIFEST.json").read_bytes()
    assert data[-79:-67] == b',\n"blake3":"'
    assert blake3(data[:-79]).hexdigest() == data[-67:-3].decode()
    said = json.loads(data)
    assert (said["format"], said["version"], said["root"]) == ("meshkit-store", "1.0", "")
    assert set(said["keys"]) == {str(p) for p in files_of(path)} - {"MANIFEST.json"}
    for key, row in said["keys"].items():
        content = (path / key).read_bytes()
        assert (row["size"], row["blake3"]) == (len(content), blake3(content).hexdigest())
    row = said["keys"]["points/c.0.0"]
    content = (path / "points/c.0.0").read_bytes()
    index = np.frombuffer(content[-36:-4], "<u8").reshape(2, 2)
    checks = [content[start + length - 4 : start + length].hex() for start, length in index]
    assert row["crc32c"] == "".join(checks)
    assert index[0].tolist()[0] == 0 and index[0].sum() == index[1][0]
    assert index[1].sum() == len(content) - 36
