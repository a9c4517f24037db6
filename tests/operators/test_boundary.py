"""The boundary: parents, orientation, fields, regions; and the domain made of its parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from meshkit import operators as ops
from meshkit.cells import Cells, Polyhedra
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.faces import face_table
from meshkit.regions import Region
from tests import meshes
from tests.operators.cells_for_tests import one_cell


def cube(**parts: Any) -> Mesh:
    """Two unit hexahedra along x, with fields and regions."""
    points = [[x, y, z] for z in (0.0, 1) for y in (0.0, 1) for x in (0.0, 1, 2)]
    rows = [[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]]
    mesh = make_mesh(
        points,
        rows,
        types="hexahedron",
        point_data={"T": torch.arange(12.0)},
        cell_data={"p": torch.tensor([10.0, 20.0]), "flow": {"U": torch.ones(2, 3)}},
        info=MeshInfo(
            length_unit="mm",
            fields={("cell_data", "p"): FieldInfo(unit="Pa"), ("point_data", "T"): FieldInfo("K")},
        ),
    )
    return mesh.replace(**parts)


def test_rows_parents_and_data() -> None:
    mesh = cube()
    skin = ops.boundary(mesh)
    assert (skin.dim, skin.n_cells, skin.n_points) == (2, 10, 12)
    assert skin.cells.counts == {"quad": 10}
    assert skin.cell_data["parent_cell"].tolist() == [0] * 5 + [1] * 5
    assert skin.cell_data["local_face"].tolist() == [0, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    assert skin.cell_data["p"].tolist() == [10.0] * 5 + [20.0] * 5
    assert skin.cell_data["flow", "U"].shape == (10, 3)
    parent = skin.point_data["parent_point"]
    assert torch.equal(skin.points, mesh.points[parent])
    assert torch.equal(skin.point_data["T"], mesh.point_data["T"][parent])
    assert skin.info.length_unit == "mm"
    assert skin.info.field("cell_data", "p").unit == "Pa"
    normals = ops.cell_normals(skin)
    out = ops.cell_centroids(skin) - ops.cell_centroids(mesh)[skin.cell_data["parent_cell"]]
    assert ((normals * out).sum(1) > 0).all()


def test_a_boundary_of_a_boundary() -> None:
    skin = ops.boundary(cube())
    assert ops.boundary(skin).n_cells == 0  # it is closed
    square = ops.boundary(meshes.square_quads(2))
    assert square.cells.counts == {"line": 8}
    ends = ops.boundary(make_mesh([[0.0], [1.0], [2.0]], [[0, 1], [1, 2]], types="line"))
    assert ends.cells.counts == {"vertex": 2}
    assert ends.point_data["parent_point"].tolist() == [0, 2]
    open_skin = ops.boundary(skin.select([0, 1, 2]))
    assert open_skin.info.report.dropped[0].name == "cell_data/parent_cell"


def test_types_by_size() -> None:
    counts = ops.boundary(meshes.hanging_polyhedron()).cells.counts
    assert counts == {"polygon": 4, "quad": 21}
    assert ops.boundary(meshes.pyramids()).cells.counts == {"quad": 6}
    assert ops.boundary(meshes.wedge_column()).cells.counts == {"quad": 6, "triangle": 2}


REGIONS = [
    Region("inlet", "side", torch.tensor([[0, 0]]), data={"v": torch.tensor([7.0])}, kind="patch"),
    Region("middle", "side", torch.tensor([[0, 1], [1, 0], [1, 1]])),
    Region("corner", "point", torch.tensor([0, 11], dtype=torch.int32)),
    Region("edge", "edge", torch.tensor([[0, 1], [1, 4]])),
    Region("left", "cell", torch.tensor([0])),
    Region("inside", "side", torch.tensor([[0, 1], [1, 0]])),
]


def test_regions_follow() -> None:
    skin = ops.boundary(cube(regions=REGIONS))
    inlet = skin.region("inlet")
    assert (inlet.entity, inlet.ids.tolist(), inlet.kind) == ("cell", [0], "patch")
    assert inlet.data is not None
    assert inlet.data["v"].tolist() == [7.0]
    assert skin.region("middle").ids.tolist() == [5]  # only (1, 1) is outside
    assert skin.region("corner").ids.tolist() == [0, 11]
    assert skin.region("corner").ids.dtype == torch.int32
    assert skin.region("edge").ids.tolist() == [[0, 1], [1, 4]]
    assert skin.region("left").ids.tolist() == [0, 1, 2, 3, 4]
    assert len(skin.region("inside")) == 0
    away = {e.name: e.count for e in skin.info.report.dropped if e.what == "region"}
    assert away == {"middle": 2, "inside": 2}
    assert skin.info.report.lossless


def test_own_faces_keep_their_order_data_and_regions() -> None:
    mesh = meshes.two_tetrahedra()
    phi = torch.arange(7.0)
    mesh = mesh.replace(
        face_data={"phi": phi},
        regions=[Region("wall", "face", torch.tensor([0, 2, 6]), flip=torch.zeros(3).bool())],
        info=MeshInfo(fields={("face_data", "phi"): FieldInfo(oriented=True)}),
    )
    skin = ops.boundary(mesh)
    assert skin.cell_data["face_data", "phi"].tolist() == [1, 2, 3, 4, 5, 6]
    assert skin.info.field("cell_data", "face_data", "phi").oriented
    assert skin.cell_data["local_face"].tolist() == [0, 1, 2, 2, 1, 0]
    assert skin.region("wall").ids.tolist() == [1, 5]


def with_skin(mesh: Mesh) -> Mesh:
    """Surface cells on some faces, as a finite-element mesh names its boundaries."""
    ids = [*mesh.cells.dense.tolist(), [0, 3, 9, 6], [2, 5, 11], [1, 4, 10, 7]]
    types = ["hexahedron"] * 2 + ["quad", "triangle", "quad"]
    return make_mesh(
        mesh.points,
        ids,
        types=types,
        cell_data={"p": torch.arange(5.0)},
        regions=[
            Region("inlet", "cell", torch.tensor([2])),
            Region("odd", "cell", torch.tensor([3, 4])),
            Region("fluid", "cell", torch.tensor([0, 1])),
            Region("outlet", "side", torch.tensor([[1, 1]]), data={"p": torch.tensor([5.0])}),
        ],
    )


def test_surface_cells_lie_on_faces() -> None:
    mesh = with_skin(cube())
    on = attached_faces(mesh)
    faces = ops.faces(mesh)
    assert on.tolist()[:2] == [-1, -1]
    assert on[3] == -1  # a triangle is no quad
    assert on[4] == 0  # the face between the hexahedra
    assert int(faces.owner[on[2]]) == 0
    skin = ops.boundary(mesh)
    assert skin.region("inlet").ids.tolist() == [0]
    assert skin.region("fluid").ids.tolist() == list(range(10))
    assert len(skin.region("odd")) == 0


def test_domain_has_a_part_for_each_name() -> None:
    whole = ops.domain(with_skin(cube()))
    assert whole.interior.cells.counts == {"hexahedron": 2}
    assert whole.interior.regions.names == ("fluid", "outlet")
    assert list(whole.boundaries) == ["inlet", "odd", "outlet", "rest"]
    assert [m.n_cells for m in whole.boundaries.values()] == [1, 1, 1, 8]
    assert whole.boundaries["odd"].cell_data["parent_cell"].tolist() == [0]
    outlet = whole.boundaries["outlet"]
    assert outlet.cell_data["p"].tolist() == [5.0]  # the region's own value
    assert outlet.cell_data["parent_cell"].tolist() == [1]
    parent = outlet.point_data["parent_point"]
    assert torch.equal(whole.interior.points[parent], outlet.points)
    report = whole.interior.info.report
    assert [(e.what, e.name, e.count) for e in report.losses] == [
        ("cells", "triangle", 1),
        ("region", "odd", 1),
    ]
    assert [(e.name, e.count) for e in report.converted] == [("quad", 2)]


def test_sides_inside_are_parts_seen_from_their_cells() -> None:
    mesh = cube(
        regions=[
            Region("baffle", "side", [[1, 0], [0, 1]], data={"k": torch.tensor([7.0, 8.0])}),
            Region("from right", "side", [[1, 0], [0, 0]]),
        ]
    )
    whole = ops.domain(mesh)
    assert {n: m.n_cells for n, m in whole.boundaries.items()} == {
        "baffle": 2,
        "from right": 2,
        "rest": 9,
    }
    baffle = whole.boundaries["baffle"]
    assert baffle.cell_data["parent_cell"].tolist() == [0, 1]
    assert baffle.cell_data["local_face"].tolist() == [1, 0]
    assert baffle.cell_data["k"].tolist() == [8.0, 7.0]
    assert baffle.cell_data["p"].tolist() == [10.0, 20.0]
    assert ops.cell_normals(baffle).tolist() == [[1, 0, 0], [-1, 0, 0]]
    assert torch.equal(mesh.points[baffle.point_data["parent_point"]], baffle.points)
    assert baffle.region("baffle").ids.tolist() == [1, 0]
    assert whole.boundaries["from right"].cell_data["local_face"].tolist() == [0, 0]
    assert whole.interior.info.report.lossless


def test_own_faces_inside_turn_with_the_side_that_names_them() -> None:
    mesh = meshes.two_tetrahedra()
    table = face_table(mesh)
    local = int(table.sides.local(table.neighbour_side[:1]))
    mesh = mesh.replace(
        face_data={"phi": torch.arange(7.0) + 1, "T": torch.arange(7.0)},
        regions=[
            Region("inside", "side", [[1, local]]),
            Region("zone", "face", [0]),
        ],
        info=MeshInfo(fields={("face_data", "phi"): FieldInfo(oriented=True)}),
    )
    whole = ops.domain(mesh)
    inside, zone = whole.boundaries["inside"], whole.boundaries["zone"]
    assert inside.cell_data["face_data", "phi"].tolist() == [-1]
    assert inside.cell_data["face_data", "T"].tolist() == [0]
    assert zone.cell_data["face_data", "phi"].tolist() == [1]
    assert zone.cell_data["parent_cell"].tolist() == [0]
    torch.testing.assert_close(ops.cell_normals(inside), -ops.cell_normals(zone))
    assert whole.boundaries["rest"].n_cells == 6


def test_own_faces_of_lower_cells_go_or_are_seen_from_the_cell_that_stays() -> None:
    """A triangle and a vertex, to which the edges (0, 1) and (2, 0) are given."""
    mesh = make_mesh(
        [[0.0, 0], [1, 0], [0, 1]],
        torch.tensor([0, 1, 2, 0]),
        offsets=torch.tensor([0, 3, 4]),
        types=torch.tensor([5, 1], dtype=torch.uint8),
        faces=Faces(
            torch.tensor([0, 2, 4, 6]),
            torch.tensor([0, 1, 1, 2, 0, 2]),
            torch.tensor([1, 0, 1]),
            torch.tensor([-1, -1, 0]),
        ),
        face_data={"phi": torch.tensor([1.0, 2, 3])},
        regions=[
            Region("zone", "face", [0, 1, 2], data={"k": torch.tensor([5.0, 6, 7])}),
            Region("first", "face", [0]),
            Region("last", "side", [[0, 2]]),
        ],
        info=MeshInfo(fields={("face_data", "phi"): FieldInfo(oriented=True)}),
    )
    whole = ops.domain(mesh)
    assert {name: part.n_cells for name, part in whole.boundaries.items()} == {"zone": 2, "last": 1}
    zone, last = whole.boundaries["zone"], whole.boundaries["last"]
    assert zone.cell_data["face_data", "phi"].tolist() == [2, -3]
    assert zone.cell_data["k"].tolist() == [6, 7]
    assert zone.cell_data["parent_cell"].tolist() == [0, 0]
    assert last.cell_data["local_face"].tolist() == [2]
    assert last.cell_data["face_data", "phi"].tolist() == [-3]
    assert len(ops.faces(whole.interior)) == 2
    assert [(e.what, e.name, e.count) for e in whole.interior.info.report.losses] == [
        ("faces", "", 1),
        ("region", "zone", 1),
        ("region", "first", 1),
        ("cells", "vertex", 1),
    ]
    assert torch.isnan(ops.edge_angles(mesh)).all()


def test_what_of_a_region_is_on_no_face_is_counted_by_its_name() -> None:
    mesh = with_skin(cube()).replace(
        regions=[
            Region("odd", "cell", [0, 3]),
            Region("edges", "side", [[3, 0], [0, 0]]),
        ]
    )
    whole = ops.domain(mesh)
    assert list(whole.boundaries) == ["edges", "rest"]
    lost = [(e.what, e.name, e.count) for e in whole.interior.info.report.losses]
    assert ("region", "odd", 1) in lost
    assert ("region", "edges", 1) in lost


@pytest.mark.parametrize("operator", [ops.boundary, ops.domain, ops.simplices])
@pytest.mark.parametrize(
    ("entity", "ids", "said"),
    [
        ("side", [[7, 0]], "expected ids from 0 to 1, found 7"),
        ("side", [[-1, 0]], "expected ids from 0 to 1, found -1"),
        ("side", [[0, 0], [1, 9]], "expected faces of cell 1 from 0 to 5, found 9"),
        ("side", [[0, -1]], "expected faces of cell 0 from 0 to 5, found -1"),
        ("cell", [0, 2], "expected ids from 0 to 1, found 2"),
        ("point", [12], "expected ids from 0 to 11, found 12"),
        ("edge", [[0, 12]], "expected ids from 0 to 11, found 12"),
    ],
)
def test_regions_that_name_what_is_not_there(
    operator: Any, entity: Any, ids: list[Any], said: str
) -> None:
    mesh = cube(regions=[Region("wall", entity, ids)])
    with pytest.raises(MeshError, match=f"region 'wall': {said}"):
        operator(mesh)


def test_a_vertex_has_no_sides_to_name() -> None:
    cloud = make_mesh(torch.rand(2, 3), [[0], [1]], types="vertex")
    mesh = cloud.replace(regions=[Region("wall", "side", [[1, 0]])])
    with pytest.raises(MeshError, match="expected no faces of cell 1, which has none, found 0"):
        ops.boundary(mesh)


def test_regions_of_faces_that_are_not_there() -> None:
    mesh = meshes.two_tetrahedra().replace(regions=[Region("wall", "face", [7])])
    with pytest.raises(MeshError, match="region 'wall': expected ids from 0 to 6, found 7"):
        ops.boundary(mesh)


def test_domain_without_names() -> None:
    mesh = meshes.cube_hexes(2).replace(global_data={"time": torch.tensor(1.0)})
    whole = ops.domain(mesh)
    assert list(whole.boundaries) == ["boundary"]
    assert whole.boundaries["boundary"].n_cells == 24
    assert whole.global_data["time"].item() == 1
    assert not ops.domain(meshes.cube_surface(1)).boundaries


def test_domain_regions_of_one_name_are_one_part() -> None:
    regions = [
        Region("wall", "side", torch.tensor([[0, 2]]), data={"h": torch.tensor([3])}),
        Region("wall", "cell", torch.tensor([2])),
    ]
    whole = ops.domain(with_skin(cube()).replace(regions=regions))
    wall = whole.boundaries["wall"]
    assert wall.cell_data["local_face"].tolist() == [0, 2]
    assert wall.cell_data["h"].tolist() == [-1, 3]


def test_a_region_called_rest_is_joined_by_the_rest() -> None:
    mesh = cube(regions=[Region("rest", "side", torch.tensor([[0, 2]]))])
    whole = ops.domain(mesh)
    assert {n: m.n_cells for n, m in whole.boundaries.items()} == {"rest": 10}
    mesh = cube(regions=[Region("boundary", "side", torch.tensor([[0, 2]]))])
    whole = ops.domain(mesh)
    assert {n: m.n_cells for n, m in whole.boundaries.items()} == {"boundary": 1, "rest": 9}


def test_a_domain_moves() -> None:
    whole = ops.domain(cube(regions=REGIONS)).to(dtype=torch.float32)
    assert whole.boundaries["inlet"].points.dtype == torch.float32


@pytest.mark.parametrize("name", ["lagrange_hexahedron", "triquadratic_hexahedron"])
def test_high_order_cells_give_their_corners(name: str) -> None:
    skin = ops.boundary(one_cell(name, torch.rand(27, 3)))
    assert skin.cells.counts == {"quad": 6}
    assert skin.n_points == 8


def test_faces_of_polyhedra_that_fall_are_told_before_sides_of_regions_are_looked_at() -> None:
    solids = Polyhedra(torch.tensor([0, 4, 1, 12]), 3 * torch.arange(13), torch.zeros(36).long())
    types, ids = torch.full((3,), 42, dtype=torch.uint8), torch.zeros(3).long()
    cells = Cells(types, torch.arange(4), ids, solids)
    wall = Region("wall", "side", torch.tensor([[0, 0]]))
    mesh = make_mesh(torch.zeros(1, 3), cells).replace(regions=[wall])
    with pytest.raises(MeshError, match=r"cells.polyhedra.faces: expected to ascend, found 4 and"):
        ops.boundary(mesh)
