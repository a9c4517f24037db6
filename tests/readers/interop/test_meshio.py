"""meshio in memory: order, sets, polyhedra, texts, and back."""

from __future__ import annotations

import meshio
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.errors import MeshError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.interop.meshio import from_meshio, to_meshio
from meshkit.regions import Region
from tests.meshes import (
    PLAIN_DTYPES,
    differences,
    hanging_polyhedron,
    one_of_each,
    random_meshes,
    tetrahedron,
    two_tetrahedra,
    wedge_column,
)


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
        ([("triangle", [[0, 1, 9]])], r"point id 9; expected ids from 0 to 2"),
        ([("triangle", [[0, 1, -1]])], r"point id -1"),
        ([("triangle", [[0.0, 1.0, 2.0]])], r"expected ids \[n, k\]"),
    ],
)
def test_refusals_of_cells(cells: list[tuple[str, list[list[float]]]], problem: str) -> None:
    with pytest.raises(MeshError, match=problem):
        from_meshio(meshio.Mesh(np.zeros((3, 3)), cells))


def test_cells_that_meshio_lacks() -> None:
    mesh = make_mesh(torch.zeros(4, 3), [[0, 1, 2, 3]], types="triangle_strip")
    with pytest.raises(MeshError, match="meshio has no cells of type 'triangle_strip'"):
        to_meshio(mesh)
