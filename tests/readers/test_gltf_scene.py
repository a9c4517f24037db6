"""glTF: the scene graph, its names and its materials."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from tests.readers.gltf_making import Made, f32, one, read_one

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
