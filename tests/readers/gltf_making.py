"""glTF files for tests, in the making."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from meshkit.mesh import Mesh
from meshkit.readers.reading import read

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
