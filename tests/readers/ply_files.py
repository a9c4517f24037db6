"""PLY files for tests: by hand, in ascii and binary, and a mesh of all that PLY can hold."""

from __future__ import annotations

import struct

import torch

from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh

HEAD = "ply\nformat ascii 1.0\n"
VERTEX = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
FACE = "element face 2\nproperty list uchar int vertex_indices\n"
SQUARE = HEAD + VERTEX + FACE + "end_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


def packed(order: str) -> bytes:
    """A body of each element and type, row by row with struct: faces of 3, 5, 4, 0 vertices."""
    name = {"<": "little", ">": "big"}[order]
    head = (
        f"ply\r\nformat binary_{name}_endian 1.0\r\ncomment by hand\r\nobj_info num_cols 3\r\n"
        "element edge 2\r\nproperty ushort vertex1\r\nproperty uint vertex2\r\n"
        "property float length\r\n"
        "element vertex 5\r\nproperty double x\r\nproperty float y\r\nproperty short z\r\n"
        "property float nx\r\nproperty float ny\r\nproperty float nz\r\n"
        "property uchar red\r\nproperty uchar green\r\nproperty uchar blue\r\n"
        "property float s\r\nproperty float t\r\nproperty list char short weights\r\n"
        "element face 4\r\nproperty uchar flags\r\nproperty list ushort uint vertex_index\r\n"
        "property list uchar float texcoord\r\nproperty float length\r\n"
        "element camera 1\r\nproperty float focus\r\nproperty list int int pair\r\n"
        "element tristrips 1\r\nproperty list int int vertex_indices\r\n"
        "element void 1000000000\r\n"
        "end_header\r\n"
    )
    rows = [struct.pack(order + "HIf", i, i + 1, 0.5 + i) for i in range(2)]
    for i in range(5):
        rows.append(struct.pack(order + "dfh", i / 4, 1.5, -i))
        rows.append(struct.pack(order + "fff3Bff", 0, 0, 1, i, 2, 255, 0.25, i))
        rows.append(struct.pack(order + "b" + "h" * i, i, *range(i)))
    for k, ids in enumerate([(0, 1, 2), (0, 1, 2, 3, 4), (3, 2, 1, 0), ()]):
        rows.append(struct.pack(order + "BH" + "I" * len(ids), k, len(ids), *ids))
        rows.append(struct.pack(order + "B6ff", 6, *[k + j / 8 for j in range(6)], -k))
    rows.append(struct.pack(order + "fi2i", 35.0, 2, 7, 8))
    rows.append(struct.pack(order + "i8i", 8, 0, 1, 2, 3, -1, 4, 3, 2))
    return head.encode() + b"".join(rows)


def rich(seed: int = 0) -> Mesh:
    """All cells PLY can hold, in a mixed order, and all fields it can hold."""
    rng = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=rng)

    return make_mesh(
        noise(8, 3).double(),
        [[0, 1], [0, 1, 2, 3], [1, 2, 3], [4, 5, 6, 7], [0, 1, 2], [0, 1, 2, 3, 4], [3, 4, 5, 6]],
        types=["line", "quad", "triangle", "pixel", "polygon", "polygon", "triangle_strip"],
        point_data={
            "normals": noise(8, 3),
            "colors": (noise(8, 4) * 255).to(torch.uint8),
            "texture": noise(8, 2),
            "a b": torch.arange(8),
            "a_b": (torch.arange(8) + 2**31).to(torch.uint64),
            "x": noise(8).half(),
            "flow": {"U/x": noise(8, 3, 2).double(), "": noise(8).bfloat16()},
            "nothing": torch.zeros(8, 0),
        },
        cell_data={
            "colors": torch.zeros(7, 3, dtype=torch.uint8),
            "good": torch.tensor([True, False] * 3 + [True]),
            "name": ["é", "two words", "é", "", "x", "y", "z"],
        },
        info=MeshInfo(
            length_unit="mm",
            time=0.5,
            frame="body",
            fields={("point_data", "flow", "U/x"): FieldInfo("m/s", components=("a", "b"))},
            grid=Grid((8, 1, 1)),
            attributes={"comments": ["one", "obj_info two", "meshkit {three}"], "x": {"y": [1]}},
        ),
    )
