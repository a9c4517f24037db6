"""glTF: what is refused, and that each refusal names the part."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import pytest

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from tests.readers.gltf_making import Made, f32, one, read_one, u8, u16
from tests.readers.mutations import survives


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
