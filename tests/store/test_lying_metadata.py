"""Metadata that lie under a manifest that holds: refused, in linear work and little memory."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meshkit import memory
from meshkit.errors import MeshkitError, ReadError, WriteError
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from meshkit.store import manifest, sample_writing, shards
from meshkit.store.handle import open_store
from tests.meshes import tetrahedron
from tests.store.damaging import array, changed, constant, ours, places, retold, survives
from tests.store.meshes_for_tests import rich


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
