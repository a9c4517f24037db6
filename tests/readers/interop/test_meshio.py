"""meshio in memory: order, sets, polyhedra, texts, and back."""

from __future__ import annotations

from typing import Any

import meshio
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.check import check
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.readers.interop.meshio import from_meshio, to_meshio
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, one_of_each, tetrahedron, two_tetrahedra, wedge_column
from tests.random_meshes import PLAIN_DTYPES, random_meshes


def test_blocks_follow_each_other() -> None:
    points = np.zeros((5, 3), np.float32)
    given_ = meshio.Mesh(
        points,
        [("triangle", [[0, 1, 2]]), ("quad", [[0, 1, 2, 3]]), ("triangle", [[1, 2, 3], [2, 3, 4]])],
        point_data={"p": np.arange(5)},
        cell_data={"q": [np.array([1.0]), np.array([2.0]), np.array([3.0, 4.0])]},
        point_sets={"corner": np.array([4, 0])},
        cell_sets={"some": [np.array([0]), np.array([], int), np.array([1])]},
        field_data={"walls": np.array([7, 2])},
    )
    mesh = from_meshio(given_)
    assert mesh.points.dtype == torch.float32
    assert mesh.cells.types.tolist() == [5, 9, 5, 5]
    assert mesh.cells.connectivity.tolist() == [0, 1, 2, 0, 1, 2, 3, 1, 2, 3, 2, 3, 4]
    assert mesh.cell_data["q"].tolist() == [1, 2, 3, 4]
    assert mesh.region("some").ids.tolist() == [0, 3]
    assert mesh.region("corner").ids.tolist() == [4, 0]
    assert mesh.global_data["walls"].tolist() == [7, 2]
    assert mesh.info.report.lossless


def test_runs_of_one_type_are_blocks() -> None:
    mesh = one_of_each()
    made = to_meshio(mesh)
    assert [b.type for b in made.cells] == list(mesh.cells.counts)
    alternating = mesh.select([2, 3, 2 + 2, 5]).select([0, 1, 2, 3])
    assert len(to_meshio(alternating).cells) == 4


def rich() -> Mesh:
    return hanging_polyhedron().replace(
        point_data={"flow": {"p": torch.arange(31.0)}, "ids": torch.arange(31)},
        cell_data={"material": ["steel"] * 4 + ["air"] * 5, "s": torch.rand(9, 3, 3)},
        global_data={"Re": torch.tensor([1e6])},
        regions=[
            Region("left", "point", torch.tensor([0, 3, 6])),
            Region("poly", "cell", torch.tensor([2, 8])),
        ],
        info=MeshInfo(
            length_unit="mm",
            time=0.5,
            fields={("point_data", "flow", "p"): FieldInfo(unit="Pa")},
            attributes={"a": 1},
        ),
    )


def test_everything_that_meshio_holds_comes_back() -> None:
    mesh = rich()
    back = from_meshio(to_meshio(mesh))
    flat = mesh.replace(
        point_data={"flow/p": mesh.point_data["flow", "p"], "ids": mesh.point_data["ids"]},
        info=mesh.info.replace(
            fields={
                ("point_data", "flow/p"): FieldInfo(unit="Pa"),
                ("cell_data", "material"): FieldInfo(vocabulary=("steel", "air")),
            }
        ),
    )
    assert differences(flat, back, id_dtypes=False) == []


@given(
    mesh=random_meshes(
        dtypes=PLAIN_DTYPES,
        types=("vertex", "line", "triangle", "quad", "tetra", "hexahedron", "quadratic_tetra"),
        polyhedra=False,
        faces=False,
        regions=(),
        depth=0,
    )
)
@settings(max_examples=100)
def test_any_plain_mesh_comes_back(mesh: Mesh) -> None:
    back = from_meshio(to_meshio(mesh))
    if mesh.n_cells == 0:  # meshio keeps fields a block, so none without cells
        mesh, back = mesh.replace(cell_data={}), back.replace(cell_data={})
    assert differences(mesh, back, id_dtypes=False) == []


def test_what_meshio_lacks_is_in_its_report() -> None:
    mesh = two_tetrahedra().replace(
        face_data={"phi": torch.zeros(7)},
        regions=[
            Region("wall", "face", torch.tensor([1])),
            Region("zone", "cell", torch.tensor([0]), kind="cellZone", source_id=3),
        ],
    )
    report = from_meshio(to_meshio(mesh)).info.report
    lost = {(e.what, e.name) for e in report.losses}
    assert lost == {
        ("faces", ""),
        ("field", "face_data/phi"),
        ("region", "wall"),
        ("region", "zone: kind"),
        ("region", "zone: source_id"),
    }


def test_wedges_by_the_majority() -> None:
    column = wedge_column(3)
    made = to_meshio(column)
    assert differences(column, from_meshio(made), id_dtypes=False) == []
    made.cells[0].data = made.cells[0].data[:, [0, 2, 1, 3, 5, 4]]
    assert differences(column, from_meshio(made), id_dtypes=False) == []


def test_numbers_that_numpy_lacks_are_converted_and_counted() -> None:
    mesh = tetrahedron().with_data(point={"b": torch.tensor([1, 2, 3, 4], dtype=torch.bfloat16)})
    made = to_meshio(mesh)
    assert made.point_data["b"].dtype == np.float32
    assert any("bfloat16 as float32" in e.reason for e in from_meshio(made).info.report)


def test_high_orders_keep_their_corners_and_say_so() -> None:
    made = meshio.Mesh(np.zeros((10, 3)), [("triangle10", [list(range(10))])])
    mesh = from_meshio(made)
    assert mesh.cells.dense.tolist() == [[0, 1, 2]]
    assert [(e.name, e.count) for e in mesh.info.report.losses] == [
        ("inner points of triangle10", 1)
    ]


def test_groups_of_med_files() -> None:
    made = meshio.Mesh(
        np.zeros((3, 3)),
        [("line", [[0, 1], [1, 2]])],
        point_data={"point_tags": np.array([0, 2, 2])},
        cell_data={"cell_tags": [np.array([-6, -7])]},
    )
    made.point_tags = {2: ["inlet"]}
    made.cell_tags = {-6: ["wall", "all"], -7: ["all"]}
    mesh = from_meshio(made)
    assert mesh.region("inlet").ids.tolist() == [1, 2]
    assert mesh.region("wall").ids.tolist() == [0]
    assert mesh.region("all").ids.tolist() == [0, 1]


def test_sets_that_are_none_are_dropped_and_counted() -> None:
    made = meshio.Mesh(
        np.zeros((3, 3)),
        [("line", [[0, 1]])],
        cell_sets={"odd": [np.array([-4])]},
        point_sets={"mask": np.array([True, False, True])},
    )
    mesh = from_meshio(made)
    assert mesh.region("mask").ids.tolist() == [0, 2]
    assert [(e.what, e.name) for e in mesh.info.report.losses] == [("region", "odd")]


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([("triangle", [[0, 1, 9]])], r"cell 0: point id 9; expected ids from 0 to 2"),
        ([("triangle", [[0, 1, -1]])], r"point id -1"),
        ([("triangle", [[0.0, 1.0, 2.0]])], r"expected ids \[n, k\]"),
    ],
)
def test_refusals_of_cells(cells: list[tuple[str, list[list[float]]]], problem: str) -> None:
    with pytest.raises(MeshError, match=problem):
        from_meshio(meshio.Mesh(np.zeros((3, 3)), cells))


def test_polygons_of_few_points_are_what_their_points_make() -> None:
    made = meshio.Mesh(
        np.eye(3), [("polygon", [[2]]), ("polygon", [[0, 1]]), ("polygon", [[0, 1, 2]])]
    )
    mesh = from_meshio(made)
    assert mesh.cells.types.tolist() == [1, 3, 7]
    assert mesh.cells.connectivity.tolist() == [2, 0, 1, 0, 1, 2]
    assert [(e.what, e.name, e.count, e.reason) for e in mesh.info.report.converted] == [
        ("cells", "vertex", 1, "polygon cells of 1 point"),
        ("cells", "line", 1, "polygon cells of 2 points"),
    ]
    assert mesh.info.report.lossless
    assert [f for f in check(mesh) if f.severity == "error"] == []


def test_polygons_of_few_points_that_are_ours_come_back() -> None:
    cells = Cells(
        torch.tensor([7, 7], dtype=torch.uint8),
        torch.tensor([0, 2, 5]),
        torch.tensor([0, 1, 0, 1, 2]),
    )
    mesh = make_mesh(torch.eye(3), cells)
    assert differences(mesh, from_meshio(to_meshio(mesh)), id_dtypes=False) == []


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (
            ("VTK_LAGRANGE_TRIANGLE", [[0, 1, 2, 3, 4]]),
            "a lagrange_triangle of 5 points in cell 1; expected as many points as a triangle",
        ),
        (
            ("polyhedron", [[[0, 1, 2], [2, 1, 0]]]),
            "a polyhedron of 3 points in cell 1; expected at least 4",
        ),
        (("polyhedron", [[]]), "a polyhedron of 0 points in cell 1; expected at least 4"),
    ],
)
def test_sizes_that_contradict_the_type_are_refused(block: Any, problem: str) -> None:
    given_ = meshio.Mesh(np.zeros((5, 3)), [("triangle", [[0, 1, 2]]), block])
    with pytest.raises(MeshError, match=problem):
        from_meshio(given_)


LACKING = {
    *("empty", "poly_vertex", "poly_line", "triangle_strip", "pentagonal_prism"),
    *("hexagonal_prism", "quadratic_wedge", "quadratic_pyramid", "quadratic_linear_quad"),
    *("quadratic_linear_wedge", "biquadratic_quadratic_hexahedron", "biquadratic_triangle"),
    *("quadratic_polygon", "triquadratic_pyramid", "convex_point_set", "tetra14", "pyramid14"),
}


@pytest.mark.parametrize("number", sorted(CELL_TYPES))
def test_every_type_arrives_or_is_refused_by_name(number: int) -> None:
    row = CELL_TYPES[number]
    if row.name == "polyhedron":
        return  # see `rich`
    k = row.size if row.size is not None else 4
    rng = np.random.default_rng(0)
    mesh = make_mesh(torch.from_numpy(rng.random((30, 3))), [list(range(k))] * 2, types=number)
    if row.name in LACKING or row.name.startswith("bezier"):
        with pytest.raises(MeshError, match=rf"no cells of type '{row.name}'; .*mesh\.select"):
            to_meshio(mesh)
        return
    back = from_meshio(to_meshio(mesh))
    assert back.n_cells == 2 and torch.equal(back.points, mesh.points)
    if row.name not in ("pixel", "voxel"):
        assert back.cells.types.tolist() == [number] * 2


@pytest.mark.parametrize(("name", "other"), [("pixel", "quad"), ("voxel", "hexahedron")])
def test_pixels_and_voxels_are_quads_and_hexahedra(name: str, other: str) -> None:
    """Points of a unit square or cube in the order of a pixel or a voxel: the same measure."""
    d = 2 if name == "pixel" else 3
    corners = [[float(i >> axis & 1) for axis in range(d)] for i in range(1 << d)]
    mesh = make_mesh(corners, [list(range(1 << d))], types=name)
    made = to_meshio(mesh)
    back = from_meshio(made)
    assert back.cells.counts == {other: 1}
    assert cell_measures(back).tolist() == pytest.approx([1.0])
    report = made.info["meshkit"]["info"]["report"]
    assert [e["name"] for e in report if e["outcome"] == "converted"] == [name]


def test_integers_beyond_floats_stay_apart() -> None:
    """2^53 + 1 is no float64: it stays an integer, in a field of its own, and is counted."""
    points = np.zeros((4, 3))
    cells = [("tetra", [[0, 1, 2, 3]]), ("triangle", [[0, 1, 2]])]
    big = 2**53 + 1
    given_ = meshio.Mesh(
        points, cells, cell_data={"c": [np.array([big]), np.array([3.5])], "c (2)": [[1], [2]]}
    )
    mesh = from_meshio(given_)
    assert mesh.cell_data["c"].tolist() == [big, -1]
    assert mesh.cell_data["c (3)"][0].isnan() and float(mesh.cell_data["c (3)"][1]) == 3.5
    assert mesh.cell_data["c (2)"].tolist() == [1, 2]
    named = [(e.name, e.count) for e in mesh.info.report.converted]
    assert named == [("cell_data/c", 1), ("cell_data/c (3)", 1), ("cell_data/c (3)", 2)]


@pytest.mark.parametrize(
    ("a", "b", "kinds"),
    [
        ([2**53], [0.5], ["float64"]),
        (np.array([2**63 + 1], np.uint64), [-1], ["uint64", "int64"]),
        (np.array([2**63], np.uint64), [0], ["float64"]),
        (np.array([5], np.int32), np.array([0.5], np.float32), ["float64"]),
        ([2**63 - 1], [0.5], ["int64", "float64"]),
        ([True], [7], ["int64"]),
        (["text"], [7], ["int32", "int64"]),  # codes of texts, and numbers
    ],
)
def test_promotion_only_where_it_is_exact(a: object, b: object, kinds: list[str]) -> None:
    cells = [("vertex", [[0]]), ("line", [[0, 1]])]
    given_ = meshio.Mesh(np.zeros((2, 3)), cells, cell_data={"c": [np.array(a), np.array(b)]})
    mesh = from_meshio(given_)
    found = [str(x.dtype).removeprefix("torch.") for x in mesh.cell_data.values()]
    assert found == kinds
    assert mesh.info.report.converted
    if kinds == ["float64"] or kinds == ["int64"]:
        assert mesh.cell_data["c"].tolist() == [*np.array(a).tolist(), *np.array(b).tolist()]


def test_points_that_are_no_floats_are_counted() -> None:
    given_ = meshio.Mesh(np.array([[1, 2], [3, 4]]), [("line", [[0, 1]])])
    mesh = from_meshio(given_)
    assert [e.reason for e in mesh.info.report.converted] == ["int64 as float64"]
    given_.points = np.array([[2**53 + 1, 0], [0, 0]])
    mesh = from_meshio(given_)
    assert [e.reason for e in mesh.info.report.converted] == ["int64 as float64, rounded"]


def test_regions_with_data_and_all_else_are_counted() -> None:
    region = Region(
        "r",
        "cell",
        [0],
        kind="wall",
        data={"q": torch.ones(1)},
        attributes={"a": 1},
        source_id=3,
        parent="p",
    )
    report = to_meshio(tetrahedron().replace(regions=[region])).info["meshkit"]["info"]["report"]
    lost = [e["name"] for e in report if e["outcome"] == "dropped"]
    assert lost == [f"r: {part}" for part in ("kind", "data", "attributes", "source_id", "parent")]


def test_what_is_no_mesh() -> None:
    with pytest.raises(MeshError, match=r"from_meshio: expected a meshio\.Mesh, found NoneType"):
        from_meshio(None)
    with pytest.raises(MeshError, match=r"to_meshio: expected a meshkit\.Mesh, found int"):
        to_meshio(3)  # type: ignore[arg-type]
    beyond = tetrahedron().replace(regions=[Region("r", "cell", [7])])
    with pytest.raises(MeshError, match="region 'r': expected cells from 0 to 0, found 7"):
        to_meshio(beyond)


def test_cells_that_meshio_lacks() -> None:
    mesh = make_mesh(torch.zeros(4, 3), [[0, 1, 2, 3]], types="triangle_strip")
    with pytest.raises(MeshError, match="no cells of type 'triangle_strip'"):
        to_meshio(mesh)
