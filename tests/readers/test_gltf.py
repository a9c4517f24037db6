"""glTF: the scene graph, accessors of every layout, and that each refusal names the part."""

from __future__ import annotations

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from tests.readers.mutations import survives

FLOAT, BYTE, UBYTE, SHORT, USHORT, UINT = 5126, 5120, 5121, 5122, 5123, 5125
TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
COMPONENTS = {"f4": FLOAT, "i1": BYTE, "u1": UBYTE, "i2": SHORT, "u2": USHORT, "u4": UINT}


def f32(values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def u8(values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.uint8)


def u16(values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.uint16)


class Made:
    """A glTF in the making: arrays in, JSON and one buffer out."""

    def __init__(self) -> None:
        self.data = b""
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "by hand"},
            **{k: [] for k in ("accessors", "bufferViews", "meshes", "nodes")},
        }

    def view(self, data: bytes, **more: Any) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        self.json["bufferViews"].append(view | more)
        self.data += data
        return len(self.json["bufferViews"]) - 1

    def accessor(self, array: Any, **more: Any) -> int:
        array = np.atleast_1d(array)
        width = 1 if array.ndim == 1 else array.shape[1]
        self.json["accessors"].append(
            {
                "bufferView": self.view(array.tobytes()),
                "componentType": COMPONENTS[array.dtype.str[1:]],
                "count": len(array),
                "type": TYPES[width],
            }
            | more
        )
        return len(self.json["accessors"]) - 1

    def mesh(self, *primitives: dict[str, Any]) -> int:
        self.json["meshes"].append({"primitives": list(primitives)})
        return len(self.json["meshes"]) - 1

    def triangle(self, **more: Any) -> dict[str, Any]:
        return {"attributes": {"POSITION": self.accessor(TRIANGLE)}} | more

    def node(self, **node: Any) -> int:
        self.json["nodes"].append(node)
        return len(self.json["nodes"]) - 1

    def glb(self, path: Path) -> Path:
        whole = self.json | {"buffers": [{"byteLength": len(self.data)}]}
        text = json.dumps(whole).encode()
        text += b" " * (-len(text) % 4)
        data = self.data + b"\0" * (-len(self.data) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(data), 0x004E4942) + data
        path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
        return path

    def gltf(self, path: Path, uri: str) -> Path:
        buffer = {"byteLength": len(self.data), "uri": uri}
        path.write_text(json.dumps(self.json | {"buffers": [buffer]}))
        return path


def one(**node: Any) -> Made:
    made = Made()
    made.node(mesh=made.mesh(made.triangle()), **node)
    return made


def read_one(tmp_path: Path, made: Made) -> Mesh:
    return read(made.glb(tmp_path / "it.glb"))


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


# --- the scene -----------------------------------------------------------------------------------


def test_transforms_go_down_the_scene(tmp_path: Path) -> None:
    """By hand: scaled by 2, turned a quarter about z, moved by (0, 0, 5), then by (1, 0, 0)."""
    made = Made()
    mesh = made.mesh(made.triangle())
    s = math.sqrt(0.5)
    child = made.node(
        mesh=mesh, scale=[2, 2, 2], rotation=[0, 0, s, s], translation=[0, 0, 5], name="child"
    )
    # the matrix stands by columns
    made.node(children=[child], matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1], name="top")
    found = read_one(tmp_path, made)
    want = torch.tensor([[1.0, 0, 5], [1, 2, 5], [-1, 0, 5]], dtype=torch.float64)
    torch.testing.assert_close(found.points, want)
    assert [(r.name, r.parent, len(r)) for r in found.regions] == [
        ("top", None, 1),
        ("child", "top", 1),
    ]


def test_a_group_of_nodes_is_all_below_it(tmp_path: Path) -> None:
    made = Made()
    mesh, empty = made.mesh(made.triangle()), made.mesh()
    left, none = made.node(mesh=mesh, name="left"), made.node(mesh=empty, name="none")
    right = made.node(mesh=mesh, name="right", children=[made.node(mesh=mesh, name="tip")])
    group = made.node(children=[left, none, right], name="group", extras={"k": 1})
    lone = made.node(mesh=mesh, name="lone")
    made.json |= {"scenes": [{"nodes": [lone, group, made.node(name="camera")]}]}
    found = read_one(tmp_path, made)
    assert [(r.name, r.parent, r.ids.tolist()) for r in found.regions] == [
        ("lone", None, [0]),
        ("group", None, [1, 2, 3]),
        ("left", "group", [1]),
        ("none", "group", []),
        ("right", "group", [2]),
        ("tip", "right", [3]),
    ]
    assert found.region("group").attributes == {"extras": {"k": 1}}


def test_names_of_meshes_and_of_the_scene_are_kept(tmp_path: Path) -> None:
    made = Made()
    shared = made.mesh(made.triangle())
    made.json["meshes"][shared] |= {"name": "bolt", "extras": {"iso": 4014}}
    made.json["asset"] |= {"minVersion": "2.0", "extras": {"by": "x"}}
    made.node(mesh=shared, name="a")
    made.node(mesh=shared, name="b", extras={"k": 1})
    made.json["scenes"] = [{"nodes": [0, 1], "name": "assembly", "extras": [1]}]
    mesh = read_one(tmp_path, made)
    bolt = {"name": "bolt", "extras": {"iso": 4014}}
    assert mesh.region("a").attributes == {"mesh": bolt}
    assert mesh.region("b").attributes == {"extras": {"k": 1}, "mesh": bolt}
    assert mesh.info.attributes["scene"] == {"name": "assembly", "extras": [1]}
    assert mesh.info.attributes["asset"] == made.json["asset"]
    assert mesh.info.report.lossless


def test_extras_nested_too_deep(tmp_path: Path) -> None:
    text = json.dumps(one(extras="here").json | {"buffers": [{"byteLength": 36}]})
    nested = text.replace('"here"', '{"k":' * 700 + "1" + "}" * 700)
    nested = nested.replace('"byteLength": 36}]', '"byteLength": 36, "uri": "it.bin"}]')
    (tmp_path / "it.bin").write_bytes(bytes(36))
    (tmp_path / "it.gltf").write_text(nested)
    with pytest.raises(ReadError, match=r"it\.gltf: .*region 'node 0': .*nests more than 100"):
        read(tmp_path / "it.gltf")


def test_meshes_and_materials_that_nothing_uses_are_counted(tmp_path: Path) -> None:
    made = Made()
    made.node(mesh=made.mesh(made.triangle()))
    made.mesh(made.triangle())
    made.json["materials"] = [{"name": "spare"}]
    losses = read_one(tmp_path, made).info.report.losses
    assert [(e.what, e.count) for e in losses] == [("meshes", 1), ("materials", 1)]


def test_normals_turn_by_the_inverse_transpose(tmp_path: Path) -> None:
    """A plane x + y = 1 stretched along x by 2: its normal becomes (1, 2, 0) / sqrt 5."""
    made = Made()
    primitive = made.triangle()
    normal = np.tile(f32([math.sqrt(0.5), math.sqrt(0.5), 0]), (3, 1))
    primitive["attributes"]["NORMAL"] = made.accessor(normal)
    made.node(mesh=made.mesh(primitive), scale=[2, 1, 1])
    mesh = read_one(tmp_path, made)
    want = torch.tensor([1, 2, 0]) / math.sqrt(5)
    torch.testing.assert_close(mesh.point_data["NORMAL"][0], want.float())


def test_a_mirrored_node_keeps_its_outside_out(tmp_path: Path) -> None:
    made = Made()
    primitive = made.triangle()
    primitive["attributes"]["NORMAL"] = made.accessor(f32([[0, 0, 1]] * 3))
    made.node(mesh=made.mesh(primitive), scale=[1, 1, -1])
    mesh = read_one(tmp_path, made)
    corners = mesh.points[mesh.cells.dense[0].long()]
    by_corners = torch.linalg.cross(corners[1] - corners[0], corners[2] - corners[0])
    assert by_corners.tolist() == [0, 0, -1]
    assert mesh.point_data["NORMAL"][0].tolist() == [0, 0, -1]


def test_instances_are_copies_with_names_of_their_own(tmp_path: Path) -> None:
    made = Made()
    mesh = made.mesh(made.triangle())
    for x in (0, 3, 6):
        made.node(mesh=mesh, translation=[x, 0, 0], name="bolt")
    made.node(mesh=mesh)
    found = read_one(tmp_path, made)
    assert (found.n_points, found.n_cells) == (12, 4)
    assert found.regions.names == ("bolt", "bolt (2)", "bolt (3)", "node 3")
    assert [r.ids.tolist() for r in found.regions] == [[0], [1], [2], [3]]
    assert found.points[3:6, 0].tolist() == [3, 4, 3]


def test_materials_are_regions(tmp_path: Path) -> None:
    made = Made()
    made.json["materials"] = [{"name": "part", "doubleSided": True}, {}]
    pieces = [made.triangle(material=0), made.triangle(material=1), made.triangle()]
    made.node(mesh=made.mesh(*pieces), name="part")
    found = read_one(tmp_path, made)
    assert [(r.name, r.kind, r.ids.tolist()) for r in found.regions] == [
        ("part", "node", [0, 1, 2]),
        ("part (material)", "material", [0]),
        ("material 1", "material", [1]),
    ]
    assert found.region("part (material)").attributes["doubleSided"] is True


def test_only_the_default_scene_is_read_and_the_rest_counted(tmp_path: Path) -> None:
    made = Made()
    mesh = made.mesh(made.triangle())
    for name in ("a", "b"):
        made.node(mesh=mesh, name=name)
    made.json |= {"scenes": [{"nodes": [0]}, {"nodes": [1]}], "scene": 1, "animations": [{}]}
    found = read_one(tmp_path, made)
    assert found.regions.names == ("b",)
    assert {(e.what, e.count) for e in found.info.report.losses} == {
        ("nodes", 1),
        ("animations", 1),
    }


# --- refusals ------------------------------------------------------------------------------------


def change(made: Made, path: str, value: Any) -> Made:
    at: Any = made.json
    *above, last = [int(k) if k.isdigit() else k for k in path.split("/")]
    for key in above:
        at = at[key]
    at[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("accessors/0/count", 4, r"accessors\[0\]: 4 elements of 12 bytes.* at most 36 bytes"),
        ("accessors/0/count", 1 << 50, r"accessors\[0\]: "),
        ("accessors/0/count", -1, r"accessors\[0\]: count is -1"),
        ("accessors/0/count", 3.5, r"accessors\[0\]: count is 3\.5"),
        ("accessors/0/componentType", 5124, r"componentType 5124"),
        ("accessors/0/type", "VEC9", r"type 'VEC9'"),
        ("accessors/0/type", "VEC2", r"POSITION of 2 columns"),
        ("accessors/0/bufferView", 9, r"accessors\[0\]: bufferViews index 9; expected one of 1"),
        ("accessors/0/byteOffset", 4, r"accessors\[0\]: 3 elements"),
        ("bufferViews/0/byteLength", 99, r"bufferViews\[0\]: bytes 0 to 99"),
        ("bufferViews/0/byteOffset", 1 << 60, r"byteOffset is"),
        ("bufferViews/0/buffer", 1, r"buffers index 1"),
        ("bufferViews/0/byteStride", 4, r"byteStride 4; expected at least 12"),
        ("nodes/0/mesh", 7, r"nodes\[0\]: meshes index 7; expected one of 1 meshes"),
        ("nodes/0/mesh", True, r"meshes index True"),
        ("nodes/0/children", [0], r"nodes\[0\]: is below itself; expected a tree"),
        ("nodes/0/scale", [1, 2], r"scale is \[1, 2\]; expected 3 numbers"),
        ("nodes/0/matrix", ["x"] * 16, r"matrix is"),
        ("nodes/0/rotation", [0, 0, 0, 0], r"rotation is zero"),
        ("meshes/0/primitives/0/indices", 0, r"indices are no unsigned scalars"),
        ("meshes/0/primitives/0/mode", 7, r"mode 7; expected 0 to 6"),
        ("meshes/0/primitives", {}, r"meshes\[0\]: has no list of primitives"),
        ("meshes", 3, r"meshes: is int; expected a list"),
        ("asset", {"version": "1.0"}, r"asset version '1\.0'; expected a glTF of version 2"),
        ("asset", None, r"asset version None"),
        (
            "extensionsRequired",
            ["KHR_draco_mesh_compression"],
            r"its geometry is compressed with Draco",
        ),
        ("extensionsRequired", ["EXT_meshopt_compression"], r"compressed with meshopt"),
        ("extensionsRequired", ["X_unknown"], r"needs X_unknown; expected glTF 2\.0 itself"),
    ],
)
def test_a_refusal_names_the_part(tmp_path: Path, path: str, value: Any, problem: str) -> None:
    made = one(children=[])
    made.mesh()
    made.json["meshes"].pop()
    with pytest.raises(ReadError, match=problem):
        read_one(tmp_path, change(made, path, value))


def test_an_index_out_of_range(tmp_path: Path) -> None:
    made = Made()
    made.node(mesh=made.mesh(made.triangle(indices=made.accessor(u8([0, 1, 3])))))
    with pytest.raises(ReadError, match=r"meshes\[0\]\.primitives\[0\]: index 3; expected below 3"):
        read_one(tmp_path, made)


@pytest.mark.parametrize(
    ("at", "new", "problem"),
    [
        (4, struct.pack("<I", 1), "GLB version 1"),
        (8, struct.pack("<I", 9999), "its header says 9999 bytes"),
        (12, struct.pack("<I", 1 << 31), "a chunk of 2147483648 bytes"),
        (16, b"BLOB", "its first chunk is not JSON"),
        (20, b"}", "its JSON cannot be read"),
    ],
)
def test_a_broken_glb(tmp_path: Path, at: int, new: bytes, problem: str) -> None:
    path = one().glb(tmp_path / "it.glb")
    data = bytearray(path.read_bytes())
    data[at : at + len(new)] = new
    path.write_bytes(data)
    with pytest.raises(ReadError, match=problem):
        read(path)


def test_damage(tmp_path: Path) -> None:
    made = Made()
    made.json["materials"] = [{"name": "m"}]
    primitive = made.triangle(material=0, indices=made.accessor(u16([0, 1, 2])))
    primitive["attributes"]["NORMAL"] = made.accessor(f32([[0, 0, 1]] * 3))
    child = made.node(mesh=made.mesh(primitive), scale=[1, 2, 3], name="c")
    made.node(children=[child], rotation=[0, 0, 0, 1])
    assert survives(tmp_path / "it.glb", made.glb(tmp_path / "good.glb").read_bytes()) > 50
    inline = "data:;base64," + base64.b64encode(made.data).decode()
    text = made.gltf(tmp_path / "good.gltf", inline).read_bytes()
    assert survives(tmp_path / "it.gltf", text, 200) > 100


# --- real files ----------------------------------------------------------------------------------


def test_nested(samples: Path) -> None:
    mesh = read(samples / "gltf" / "nested.glb")
    assert (mesh.n_points, mesh.n_cells) == (72, 36)
    assert list(mesh.point_data.keys()) == ["NORMAL", "TEXCOORD_0"]
    corners = mesh.points[mesh.cells.dense.long()]
    vectors = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    assert float(vectors.norm(dim=1).sum()) == pytest.approx(8.6772, abs=5e-5)
    # each corner's normal is the face's own: they are boxes
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    normals = mesh.point_data["NORMAL"][mesh.cells.dense.long()].double()
    torch.testing.assert_close(normals, unit[:, None].expand_as(normals), rtol=0, atol=1e-6)
    assert [(r.name, r.parent) for r in mesh.regions if r.kind == "node"] == [
        ("block01", None),
        ("block02", "block01"),
        ("block03", "block02"),
    ]
