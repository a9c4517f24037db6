"""glTF: where the bytes are, accessors of every layout, primitives of every mode."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from tests.readers.gltf_making import FLOAT, TRIANGLE, UBYTE, Made, one, read_one

# --- where the bytes are -------------------------------------------------------------------------


def test_one_triangle_in_every_kind_of_file(tmp_path: Path) -> None:
    made = one(name="part")
    inline = "data:application/octet-stream;base64," + base64.b64encode(made.data).decode()
    (tmp_path / "the buffer.bin").write_bytes(made.data)
    for path in (
        made.glb(tmp_path / "a.glb"),
        made.gltf(tmp_path / "b.gltf", inline),
        made.gltf(tmp_path / "c.gltf", "the%20buffer.bin"),
    ):
        mesh = read(path)
        assert mesh.points.tolist() == TRIANGLE.tolist()
        assert mesh.points.dtype == torch.float32
        assert mesh.cells.dense.tolist() == [[0, 1, 2]]
        assert mesh.regions.names == ("part",)
        assert (mesh.info.length_unit, mesh.info.frame) == ("m", "y up")
        assert mesh.info.attributes["asset"]["generator"] == "by hand"


@pytest.mark.parametrize(
    "uri", ["../it.bin", "/etc/hostname", "a/../../it.bin", "http://x/y.bin", "%2e%2e/it.bin", "\0"]
)
def test_nothing_outside_of_the_folder_is_opened(tmp_path: Path, uri: str) -> None:
    made = one()
    (tmp_path / "it.bin").write_bytes(made.data)
    (tmp_path / "below").mkdir()
    with pytest.raises(ReadError, match=r"buffers\[0\]: its uri .*"):
        read(made.gltf(tmp_path / "below" / "it.gltf", uri))


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    made = one()
    (tmp_path / "it.bin").write_bytes(made.data)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "in.bin").symlink_to(tmp_path / "it.bin")
    with pytest.raises(ReadError, match="leads out of the directory"):
        read(made.gltf(tmp_path / "below" / "it.gltf", "in.bin"))


# --- accessors -----------------------------------------------------------------------------------


def test_elements_that_are_interleaved(tmp_path: Path) -> None:
    made = Made()
    rows = np.zeros(3, [("p", "<f4", 3), ("n", "<f4", 3), ("c", "u1", 4)])
    rows["p"], rows["n"], rows["c"] = TRIANGLE, [0, 0, 1], [255, 0, 51, 255]
    view = made.view(rows.tobytes(), byteStride=28)
    for offset, kind, component, more in (
        (0, "VEC3", FLOAT, {}),
        (12, "VEC3", FLOAT, {}),
        (24, "VEC4", UBYTE, {"normalized": True}),
    ):
        made.json["accessors"].append(
            {
                "bufferView": view,
                "byteOffset": offset,
                "componentType": component,
                "count": 3,
                "type": kind,
            }
            | more
        )
    names = {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2}
    made.node(mesh=made.mesh({"attributes": names}))
    mesh = read_one(tmp_path, made)
    assert mesh.points.tolist() == TRIANGLE.tolist()
    assert mesh.point_data["NORMAL"].tolist() == [[0, 0, 1]] * 3
    torch.testing.assert_close(mesh.point_data["COLOR_0"][0], torch.tensor([1, 0, 0.2, 1]))
    assert mesh.info.field("point_data", "NORMAL").kind == "normals"


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_indices_of_every_width(tmp_path: Path, dtype: str) -> None:
    made = Made()
    ids = made.accessor(np.array([2, 1, 0], dtype))
    made.node(mesh=made.mesh(made.triangle(indices=ids)))
    assert read_one(tmp_path, made).cells.dense.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("dtype", "value", "meant"),
    [("i1", -128, -1), ("i1", 127, 1), ("u1", 255, 1), ("i2", -32768, -1), ("u2", 65535, 1)],
)
def test_normalised_numbers(tmp_path: Path, dtype: str, value: int, meant: float) -> None:
    made = Made()
    primitive = made.triangle()
    column = made.accessor(np.full(3, value, dtype), normalized=True)
    primitive["attributes"] |= {"_X": column, "_RAW": made.accessor(np.full(3, value, dtype))}
    made.node(mesh=made.mesh(primitive))
    mesh = read_one(tmp_path, made)
    assert mesh.point_data["_X"].tolist() == [meant] * 3
    assert mesh.point_data["_X"].dtype == torch.float32
    assert mesh.point_data["_RAW"].tolist() == [value] * 3


@pytest.mark.parametrize("based", [True, False])
def test_sparse_accessors(tmp_path: Path, based: bool) -> None:
    made = Made()
    accessor = {
        "componentType": FLOAT,
        "count": 3,
        "type": "VEC3",
        "sparse": {
            "count": 2,
            "indices": {"bufferView": made.view(b"\1\2"), "componentType": UBYTE},
            "values": {"bufferView": made.view(TRIANGLE[1:].tobytes())},
        },
    }
    if based:
        accessor["bufferView"] = made.view(np.full((3, 3), 7, np.float32).tobytes())
    made.json["accessors"].append(accessor)
    made.node(mesh=made.mesh({"attributes": {"POSITION": 0}}))
    first = [7.0] * 3 if based else [0.0] * 3
    assert read_one(tmp_path, made).points.tolist() == [first, *TRIANGLE[1:].tolist()]


# --- primitives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "cells"),
    [
        (0, [[0], [1], [2], [3], [4], [5]]),
        (1, [[0, 1], [2, 3], [4, 5]]),
        (2, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]),
        (3, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]),
        (4, [[0, 1, 2], [3, 4, 5]]),
        (5, [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]),
        (6, [[1, 2, 0], [2, 3, 0], [3, 4, 0], [4, 5, 0]]),
    ],
)
def test_every_mode(tmp_path: Path, mode: int, cells: list[list[int]]) -> None:
    made = Made()
    points = np.random.default_rng(0).random((6, 3), np.float32)
    primitive = {"attributes": {"POSITION": made.accessor(points)}, "mode": mode}
    made.node(mesh=made.mesh(primitive))
    assert read_one(tmp_path, made).cells.dense.tolist() == cells


def test_an_attribute_that_a_primitive_lacks_is_filled_and_counted(tmp_path: Path) -> None:
    made = Made()
    whole, bare = made.triangle(), made.triangle()
    whole["attributes"] |= {
        "TEXCOORD_0": made.accessor(np.ones((3, 2), np.float32)),
        "_ID": made.accessor(np.array([4, 5, 6], np.uint16)),
    }
    made.node(mesh=made.mesh(whole, bare))
    mesh = read_one(tmp_path, made)
    assert mesh.point_data["TEXCOORD_0"][:3].tolist() == [[1, 1]] * 3
    assert mesh.point_data["TEXCOORD_0"][3:].isnan().all()
    assert mesh.point_data["_ID"].tolist() == [4, 5, 6, 0, 0, 0]
    filled = {e.name: e.count for e in mesh.info.report.converted}
    assert filled == {"point_data/TEXCOORD_0": 3, "point_data/_ID": 3}
