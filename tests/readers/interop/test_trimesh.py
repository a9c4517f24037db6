"""trimesh: surfaces, clouds and scenes, with attributes, units and transforms, and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh

from meshkit.errors import MeshError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.readers.interop.trimesh import from_trimesh, to_trimesh
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import cube_surface, one_of_each, square_quads, tetrahedron


def test_a_box() -> None:
    box = trimesh.creation.box()
    box.units = "mm"
    mesh = from_trimesh(box)
    assert (mesh.n_points, mesh.n_cells) == (8, 12)
    assert mesh.points.tolist() == box.vertices.tolist()
    assert mesh.cells.dense.tolist() == box.faces.tolist()
    assert mesh.info.length_unit == "mm"
    assert mesh.info.report.lossless


def test_attributes_and_colours() -> None:
    given = trimesh.Trimesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[0, 1, 2]],
        process=False,
        vertex_attributes={"p": np.array([1.0, 2, 3], np.float32)},
        face_attributes={"id": np.array([7])},
        vertex_colors=[[255, 0, 0, 255]] * 3,
        metadata={"note": "n", "odd": object()},
    )
    mesh = from_trimesh(given)
    assert mesh.point_data["p"].tolist() == [1, 2, 3]
    assert mesh.point_data["p"].dtype == torch.float32
    assert mesh.cell_data["id"].tolist() == [7]
    assert mesh.point_data["colors"][0].tolist() == [255, 0, 0, 255]
    assert mesh.info.attributes == {"note": "n"}
    assert [e.name for e in mesh.info.report.losses] == ["metadata/odd"]


def test_a_cloud() -> None:
    cloud = trimesh.PointCloud([[0, 0, 0], [1, 1, 1]], colors=[[1, 2, 3, 4], [5, 6, 7, 8]])
    mesh = from_trimesh(cloud)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert mesh.n_cells == 0
    assert mesh.point_data["colors"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_a_scene_is_placed_and_its_nodes_are_regions() -> None:
    """By hand: a triangle moved by x + 5, the same mirrored in z, a cloud; one has a field."""
    bare = trimesh.Trimesh([[0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2]], process=False)
    rich = bare.copy()
    rich.vertex_attributes["p"] = np.array([1.0, 2, 3])
    scene = trimesh.Scene()
    move = trimesh.transformations.translation_matrix([5, 0, 0])
    scene.add_geometry(rich, node_name="moved", transform=move)
    mirror = np.diag([1.0, 1, -1, 1])
    scene.add_geometry(bare, node_name="mirrored", transform=mirror, parent_node_name="moved")
    scene.add_geometry(trimesh.PointCloud([[9, 9, 9]]), node_name="dust")
    mesh = from_trimesh(scene)
    assert mesh.points.tolist() == [
        *([5, 0, 1], [6, 0, 1], [5, 1, 1]),
        *([5, 0, -1], [6, 0, -1], [5, 1, -1]),
        [9, 9, 9],
    ]
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [3, 5, 4]]
    assert [(r.name, r.entity, r.ids.tolist(), r.parent) for r in mesh.regions] == [
        ("moved", "cell", [0], None),
        ("mirrored", "cell", [1], "moved"),
        ("dust", "point", [6], None),
    ]
    assert mesh.point_data["p"][:3].tolist() == [1, 2, 3]
    assert mesh.point_data["p"][3:].isnan().all()
    filled = [(e.name, e.count) for e in mesh.info.report.converted if e.what == "field"]
    assert filled == [("point_data/p", 4)]


def test_a_path_in_a_scene_is_counted() -> None:
    scene = trimesh.Scene([trimesh.load_path([[0, 0, 0], [1, 0, 0]]), trimesh.creation.box()])
    mesh = from_trimesh(scene)
    assert mesh.n_cells == 12
    assert [e.what for e in mesh.info.report.losses] == ["geometry"]


def test_there_and_back() -> None:
    mesh = cube_surface(2).replace(
        point_data={"a/b": torch.rand(26, 3), "n": torch.arange(26)},
        cell_data={"flow": {"p": torch.rand(48)}, "part": ["x"] * 20 + ["y"] * 28},
        global_data={"Re": torch.tensor([3.0])},
        regions=[
            Region("rim", "point", torch.tensor([0, 5])),
            Region("lid", "cell", torch.tensor([1, 2, 40])),
        ],
        info=MeshInfo(length_unit="mm", frame="body", time=0.25, attributes={"k": [1, 2]}),
    )
    surface = to_trimesh(mesh)
    assert isinstance(surface, trimesh.Trimesh)
    assert surface.is_watertight
    assert surface.volume == pytest.approx(1.0, abs=1e-14)
    assert surface.units == "mm"
    back = from_trimesh(surface)
    flat = mesh.replace(
        cell_data={"flow/p": mesh.cell_data["flow", "p"], "part": mesh.cell_data["part"]},
        info=mesh.info.replace(fields={("cell_data", "part"): FieldInfo(vocabulary=("x", "y"))}),
    )
    assert differences(flat, back) == []


def test_regions_live_through_an_edit() -> None:
    """trimesh takes faces away; the region is what is left of it."""
    mesh = cube_surface(1).replace(regions=[Region("lid", "cell", torch.tensor([1, 2, 11]))])
    surface = to_trimesh(mesh)
    keep = np.ones(12, bool)
    keep[[0, 2]] = False
    surface.update_faces(keep)
    assert from_trimesh(surface).region("lid").ids.tolist() == [0, 9]


def test_order_and_equal_points_stay() -> None:
    points = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [9, 9, 9]])
    mesh = make_mesh(points, torch.tensor([[3, 1, 2], [0, 1, 1]]))
    back = from_trimesh(to_trimesh(mesh))
    assert back.points.tolist() == points.tolist()
    assert back.cells.dense.tolist() == [[3, 1, 2], [0, 1, 1]]


def test_a_mesh_in_the_plane_and_one_without_cells() -> None:
    flat = make_mesh(torch.tensor([[0.0, 0], [1, 0], [0, 1]]), torch.tensor([[0, 1, 2]]))
    assert to_trimesh(flat).vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    cloud = make_mesh(torch.rand(3, 3), point_data={"p": torch.arange(3.0)})
    made = to_trimesh(cloud)
    assert isinstance(made, trimesh.PointCloud)
    assert from_trimesh(made).point_data["p"].tolist() == [0, 1, 2]


def test_lines_beside_triangles_are_counted() -> None:
    mesh = one_of_each().select([0, 1, 2])
    report = from_trimesh(to_trimesh(mesh)).info.report
    assert {(e.what, e.name) for e in report.losses} == {("cells", "vertex"), ("cells", "line")}


@pytest.mark.parametrize(
    ("mesh", "hint"),
    [
        (tetrahedron(), r"expected a surface.*take operators\.boundary\(mesh\) first"),
        (square_quads(), r"expected triangles.*take operators\.simplices\(mesh\) first"),
    ],
)
def test_other_cells_say_what_to_do(mesh: object, hint: str) -> None:
    with pytest.raises(MeshError, match=hint):
        to_trimesh(mesh)  # type: ignore[arg-type]


def test_other_things_are_refused() -> None:
    with pytest.raises(MeshError, match="expected a Trimesh, PointCloud or Scene, found ndarray"):
        from_trimesh(np.zeros(3))


def test_regions_with_data_are_masks_and_the_data_counted() -> None:
    region = Region("r", "cell", [0], data={"q": torch.ones(1)})
    made = to_trimesh(cube_surface(1).replace(regions=[region]))
    assert from_trimesh(made).region("r").ids.tolist() == [0]
    report = made.metadata["meshkit"]["info"]["report"]
    assert [e["name"] for e in report if e["outcome"] == "dropped"] == ["r: data"]


def test_what_is_no_mesh_and_ids_that_name_nothing() -> None:
    with pytest.raises(MeshError, match="from_trimesh: expected a Trimesh, PointCloud or Scene"):
        from_trimesh(3)
    with pytest.raises(MeshError, match=r"to_trimesh: expected a meshkit\.Mesh, found NoneType"):
        to_trimesh(None)  # type: ignore[arg-type]
    cube = cube_surface(1)
    with pytest.raises(MeshError, match="cell 0: expected point ids from 0 to 4"):
        to_trimesh(cube.replace(points=cube.points[:5]))


@pytest.mark.parametrize("wrong", [3, -1])
def test_ids_that_name_no_vertex_are_refused(wrong: int) -> None:
    made = trimesh.Trimesh(np.eye(3), [[0, 1, 2], [0, 1, wrong]], process=False)
    with pytest.raises(MeshError, match=rf"^face 1: vertex {wrong}; expected 0 to 2$"):
        from_trimesh(made)
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.Trimesh(np.eye(3), [[0, 1, 2]], process=False))
    scene.add_geometry(made, node_name="second")
    with pytest.raises(MeshError, match=rf"^node 'second': face 1: vertex {wrong}; expected 0 to"):
        from_trimesh(scene)


def test_integers_and_floats_of_two_geometries_stay_exact() -> None:
    def with_ids(ids: np.ndarray) -> trimesh.Trimesh:
        corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
        return trimesh.Trimesh(corners, [[0, 1, 2]], process=False, face_attributes={"id": ids})

    scene = trimesh.Scene()
    for ids in (np.array([2**53 + 1]), np.array([0.5])):
        scene.add_geometry(with_ids(ids))
    mesh = from_trimesh(scene)
    assert mesh.cell_data["id"].tolist() == [2**53 + 1, -1]
    assert float(mesh.cell_data["id (2)"][1]) == 0.5
