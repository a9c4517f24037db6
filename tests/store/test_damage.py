"""Damage: an error or the identical mesh, never other numbers."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit import memory
from meshkit.errors import MeshkitError, ReadError, WriteError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from meshkit.store import manifest, sample_writing, shards
from meshkit.store.handle import open_store
from meshkit.store.plain_json import to_bytes
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube, tetrahedron
from tests.store.meshes_for_tests import rich


def two_chunks() -> Mesh:
    """Two chunks an array."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(66_000, 3, generator=generator, dtype=torch.float16).float()
    mesh = make_mesh(points, torch.arange(66_000).reshape(-1, 4))
    return mesh


def files_of(root: Path) -> list[Path]:
    return sorted(p.relative_to(root) for p in root.rglob("*") if p.is_file())


def survives(path: Path, mesh: Mesh) -> str | None:
    """The error's line, or None where the mesh is identical; anything else fails the test."""
    try:
        back = read(path)
    except MeshkitError as why:
        said = str(why)
    else:
        assert differences(mesh, back) == []
        return None
    assert "\n" not in said and str(path) in said
    return said


def flipped(file: Path, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


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


def constant(value: float) -> Mesh:
    """Compressed to the same size whatever the value."""
    mesh = kuhn_cube(2)
    return mesh.with_data(cell={"p": torch.full((mesh.n_cells,), value)})


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


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A manifest that says something else and whose hash holds."""
    file = path / "MANIFEST.json"
    said = json.loads(file.read_bytes())
    del said["blake3"]
    change(said)
    body = to_bytes(said)[:-1]
    file.write_bytes(body + f',\n"blake3":"{manifest.digest(body)}"}}\n'.encode())


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


def retold(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Metadata that say something else, with a manifest that holds."""
    file = path / "zarr.json"
    said = json.loads(file.read_bytes())
    change(said)
    file.write_bytes(to_bytes(said))
    entry = {"size": file.stat().st_size, "blake3": manifest.digest(file.read_bytes())}
    changed(path, lambda said: said["keys"].update({"zarr.json": entry}))


def array(said: dict[str, Any], name: str = "points") -> dict[str, Any]:
    found: dict[str, Any] = said["consolidated_metadata"]["metadata"][name]
    return found


def ours(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = said["attributes"]["meshkit"]
    return found


def resized(shape: list[int], chunk: list[int]) -> Callable[[dict[str, Any]], None]:
    """Points of a shape that the chunk grid agrees with."""

    def change(said: dict[str, Any]) -> None:
        points = array(said)
        shard = [max(1, -(-n // k)) * k for n, k in zip(shape, chunk, strict=True)]
        points["shape"], points["chunk_grid"]["configuration"]["chunk_shape"] = shape, shard
        points["codecs"][0]["configuration"]["chunk_shape"] = chunk

    return change


PICKLE = [{"name": "numcodecs.pickle", "configuration": {}}]


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.pop("attributes"),
        lambda said: said.pop("consolidated_metadata"),
        lambda said: array(said).update(shape=[4]),
        lambda said: array(said).update(shape=[5, 3]),
        lambda said: array(said).update(shape=[-4, 3]),
        lambda said: array(said).update(shape=[1 << 60, 3]),
        lambda said: array(said).update(shape=["4", 3]),
        resized([1 << 62, 0], [65_536, 1]),
        resized([1 << 40, 3], [65_536, 3]),
        lambda said: array(said).update(shape=[4.0, 3]),
        lambda said: array(said).update(data_type="float32"),
        lambda said: array(said).update(data_type="string"),
        lambda said: array(said).update(data_type={"name": "object"}),
        lambda said: array(said).update(codecs=PICKLE),
        lambda said: array(said)["codecs"][0]["configuration"].update(codecs=PICKLE),
        lambda said: array(said)["codecs"][0]["configuration"].update(chunk_shape=[1 << 40, 3]),
        lambda said: array(said)["codecs"][0]["configuration"].update(chunk_shape=[0, 3]),
        lambda said: array(said)["codecs"][0]["configuration"].update(index_location="start"),
        lambda said: array(said).update(attributes={"meshkit": {"dtype": "Tensor"}}),
        lambda said: array(said).update(attributes={"meshkit": {"dtype": "bfloat16"}}),
        lambda said: array(said).update(attributes={"meshkit": {"dtype": "float32"}}),
        lambda said: array(said).update(attributes=[]),
        lambda said: array(said, "cells/offsets").update(data_type="float64"),
        lambda said: ours(said).update(kind="picture"),
        lambda said: ours(said).update(kind="series"),
        lambda said: ours(said).update(times=["a"]),
        lambda said: ours(said).update(meshes=[]),
        lambda said: ours(said).update(meshes=[{"mesh": {}}]),
        lambda said: ours(said)["meshes"][0]["mesh"].update(version=2),
        lambda said: ours(said)["meshes"][0]["mesh"].update(info=3),
        lambda said: ours(said)["parts"].pop(),
        lambda said: ours(said)["parts"][0].update(path=["__class__"]),
        lambda said: ours(said)["parts"][0].update(path=[]),
        lambda said: ours(said)["parts"][0].update(arrays=[]),
        lambda said: ours(said)["parts"][0].update(arrays=["../points"]),
        lambda said: ours(said)["parts"][0].update(arrays=["cells"]),
        lambda said: ours(said)["parts"][0].update(arrays=[["points"]]),
    ],
)
def test_metadata_that_lie(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "it.zarr")
    retold(tmp_path / "it.zarr", change)
    assert survives(tmp_path / "it.zarr", tetrahedron()) is not None


def many(n: int, what: str) -> Callable[[dict[str, Any]], None]:
    """Metadata of a few bytes that would make much work."""

    def change(said: dict[str, Any]) -> None:
        own = ours(said)
        mesh = own["meshes"][0]
        if what == "fields of one array":
            own["parts"] += [
                {"path": ["point_data", f"f{i}"], "arrays": ["points"]} for i in range(n)
            ]
        elif what == "times a field":
            own["parts"] += [own["parts"][-1]] * n
        elif what == "meshes":
            own["meshes"] = [mesh] * n
        elif what == "times a part of a time":
            mesh["parts"] *= n
        else:
            shape = [1 << 62] * n
            array(said)["shape"] = shape
            array(said)["codecs"][0]["configuration"]["chunk_shape"] = shape

    return change


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("fields of one array", "a part or an array stands twice"),
        ("times a field", "a part or an array stands twice"),
        ("meshes", "2000 meshes of one"),
        ("times a part of a time", "a part stands twice"),
        ("axes", "2000 axes"),
    ],
)
def test_metadata_whose_work_would_not_be_linear(what: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "it.zarr"
    if what == "times a part of a time":
        write(MeshSeries([0.0], [tetrahedron()].__getitem__), path)
    else:
        write(tetrahedron(), path)
    retold(path, many(2000, what))
    for door in (read, open_store):
        with pytest.raises(ReadError, match=rf"it\.zarr: .*{problem}"):
            door(path)


def test_metadata_that_no_reader_would_take_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.zarr"
    write(constant(1.0), path)
    monkeypatch.setattr(sample_writing, "TEXT_LIMIT", 100_000)
    large = constant(2.0)
    large = large.replace(info=large.info.replace(attributes={"log": "x" * 100_000}))
    with pytest.raises(WriteError) as caught:
        write(large, path)
    assert re.fullmatch(
        rf"{re.escape(str(path))}: zarr\.json: would have 1\d{{5}} bytes of JSON; expected at most "
        "100000; make attributes and vocabularies smaller, or write several samples",
        str(caught.value),
    )
    assert survives(path, constant(1.0)) is None


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


def bomb(path: Path, n_chunks: int) -> None:
    """Points that are one small chunk of half a gigabyte of zeros, again and again."""
    rows = 1 << 26
    with ThreadPoolExecutor(1) as pool:
        packed = pool.submit(shards.encode, np.zeros(rows)).result()
    data = packed * n_chunks + shards.pack_index([len(packed)] * n_chunks)
    file = path / "points" / "c.0.0"
    file.write_bytes(data)

    def larger(said: dict[str, Any]) -> None:
        points = array(said)
        points["shape"] = points["chunk_grid"]["configuration"]["chunk_shape"] = [
            rows * n_chunks,
            1,
        ]
        points["codecs"][0]["configuration"]["chunk_shape"] = [rows, 1]

    retold(path, larger)
    entry = {"size": len(data), "blake3": manifest.digest(data)}
    entry["crc32c"] = packed[-shards.CHECK :].hex() * n_chunks
    changed(path, lambda said: said["keys"].update({"points/c.0.0": entry}))


def test_a_few_bytes_that_stand_for_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checksums and all hold; what it needs is known before anything is decompressed."""
    path = tmp_path / "it.zarr"
    write(tetrahedron(), path)
    bomb(path, 3)
    assert (path / "points" / "c.0.0").stat().st_size < 1_000_000
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 1000000 kB\n")
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path)
    said = r"it\.zarr: needs 1\.6 GB of memory, and 1\.0 GB are free; read some fields"
    for take in (read, lambda path: open_store(path).points()):
        with pytest.raises(ReadError, match=said):
            take(path)
    assert open_store(path).points(slice(0, 3)).tolist() == [[0.0]] * 3


LIES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 2**70, 1.5, "", "a", "../x", "float64"),
    *([], {}, [1], [[]], {"a": 1}, [0], ["x"]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a JSON document."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def test_metadata_that_lie_at_random(tmp_path: Path) -> None:
    """One of our errors in one line, or an answer, from every door; nothing else."""
    path = tmp_path / "it.zarr"
    write(rich(), path)
    rng = random.Random(0)
    whole = json.loads((path / "zarr.json").read_bytes())
    refused = 0

    def change(said: dict[str, Any]) -> None:
        said.clear()
        said.update(json.loads(json.dumps(whole)))
        *above, last = rng.choice([place for place in places(whole) if place])
        at: Any = said
        for key in above:
            at = at[key]
        if rng.random() < 0.3:
            del at[last]
        else:
            at[last] = rng.choice(LIES)

    def every_part() -> None:
        with open_store(path) as store:
            store.cells(slice(0, 1))
            store.faces()
            for key in store.keys():
                store.field(*key)
            for region in store.regions():
                store.region(*region)

    for _ in range(150):
        retold(path, change)
        for door in (lambda: read(path), every_part):
            try:
                door()
            except MeshkitError as why:
                said = str(why)
                refused += 1
                assert "\n" not in said
    assert refused > 100


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
