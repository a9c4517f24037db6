"""The mesh holds what it was given, refuses what cannot be, and never casts an id."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch

from meshkit import (
    Cells,
    DomainMesh,
    FieldInfo,
    Mesh,
    MeshError,
    MeshInfo,
    MeshSeries,
    Region,
    make_mesh,
    operators as ops,
)
from meshkit.celltypes import cell_type
from tests.mesh_differences import differences
from tests.meshes import one_of_each, square_triangles, tetrahedron, two_tetrahedra


def test_to_casts_points_and_fields_but_no_id() -> None:
    mesh = make_mesh(
        torch.zeros(3, 2, dtype=torch.float64),
        torch.tensor([[0, 1, 2]], dtype=torch.int32),
        point_data={"u": torch.zeros(3), "tag": torch.ones(3, dtype=torch.int32)},
        cell_data={"flow": {"p": torch.zeros(1, 2, dtype=torch.float16)}},
        regions=[Region("r", "point", torch.tensor([1]), data={"w": torch.ones(1)})],
    ).to(dtype=torch.float64)
    assert mesh.points.dtype == mesh.point_data["u"].dtype == torch.float64
    assert mesh.cell_data["flow", "p"].dtype == torch.float64
    assert mesh.cells.connectivity.dtype == torch.int32
    assert mesh.point_data["tag"].dtype == torch.int32
    region = mesh.region("r")
    assert region.ids.dtype == torch.int64
    assert region.data is not None and region.data["w"].dtype == torch.float64


def test_to_another_device_takes_everything() -> None:
    mesh = two_tetrahedra().replace(regions=[Region("r", "face", torch.tensor([0]))]).to("meta")
    assert mesh.faces is not None
    held = (mesh.points, *mesh.cells.sources, *mesh.faces.sources, mesh.region("r").ids)
    assert {x.device.type for x in held} == {"meta"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"points": torch.zeros(3, dtype=torch.float32)}, "points: expected float [n, d]"),
        ({"points": torch.zeros(3, 4)}, "found float32 [3, 4]"),
        ({"points": torch.zeros(3, 2, dtype=torch.complex64)}, "found complex64 [3, 2]"),
        ({"point_data": {"u": torch.zeros(4)}}, "point_data 'u': expected 3 rows, found [4]"),
        ({"cell_data": {"a": {"b": torch.zeros(2)}}}, "cell_data 'a/b': expected 1 rows"),
        ({"point_data": {"u": object()}}, "point_data 'u': expected a tensor, found object"),
        ({"point_data": {"u": [[1], [2, 3]]}}, "expected rows of one length, found 1 in row 0"),
        ({"points": [[0, 0, 0], [1, 0]]}, "points: expected rows of one length, found 3 in row 0"),
        ({"points": [[0, 0], 1, [0, 1]]}, "expected rows of one length, found 1 beside [0, 0]"),
        ({"points": [[0, None]]}, "points: expected numbers, found NoneType"),
        ({"points": [[2**80, 0]]}, "points: expected numbers, found some of more than 64 bits"),
        ({"points": "here"}, "points: expected a tensor, found text"),
        ({"cells": [[[0, 1], [2]]]}, "cells: expected rows of one length, found 2 and 1"),
        ({"cells": torch.zeros(1, 3, device="meta").long()}, "cells: on meta, points on cpu; "),
        ({"types": torch.zeros(1, device="meta").long()}, "types: on meta, points on cpu; "),
        ({"types": [torch.zeros((), device="meta")]}, "types: expected integers, found tensor("),
        ({"point_data": {"u": torch.zeros(3, device="meta")}}, "there it has no values; make it"),
        ({"regions": [Region("a", "face", [0])]}, "region 'a' of faces: expected a mesh with f"),
        ({"face_data": {"phi": torch.zeros(0)}}, "expected a mesh with faces"),
        ({"cells": torch.zeros(1, 3)}, "cells: expected integer ids, found float32 [1, 3]"),
        ({"cells": [[0, 1, 2, 0]]}, "cells of 4 points in 2-D could be several; name the type"),
        ({"types": "quad"}, "a quad has 4 points, found rows of 3"),
        ({"types": "tetrahedron"}, "cell type 'tetrahedron' is unknown; did you mean tetra?"),
        ({"types": [5, 5]}, "types: expected 1, one a cell, found [2]"),
        ({"types": "polyhedron"}, "expected faces of 1 type-42 cells, found 0"),
        ({"cells": None, "types": "quad"}, "expected connectivity beside types"),
        ({"cells": [0, 1, 2], "offsets": [0, 3]}, "types: expected one a cell beside offsets"),
        (
            {"cells": [0, 1, 2], "offsets": [0, 2], "types": ["line"]},
            "cells.offsets: expected to run from 0 to 3, found 0 to 2",
        ),
        ({"cells": [[0, 1], [0, 1, 2]]}, "types: expected one a cell for rows of different"),
        ({"regions": [Region("f", "face", torch.tensor([0]))]}, "a mesh with faces, found none"),
        (
            {"regions": [Region("a", "cell", [0]), Region("a", "cell", [0])]},
            "region 'a' of cells is given twice",
        ),
    ],
)
def test_refuses(parts: dict[str, Any], message: str) -> None:
    whole: dict[str, Any] = {"points": torch.zeros(3, 2), "cells": torch.tensor([[0, 1, 2]])}
    whole |= parts
    with pytest.raises(MeshError, match=re.escape(message)):
        make_mesh(whole.pop("points"), whole.pop("cells"), **whole)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_points_of_integers_become_float64(dtype: torch.dtype) -> None:
    whole = torch.tensor([[0, 0], [3, 0], [0, 4]], dtype=dtype)
    for points in (whole, whole.numpy(), whole.tolist()):
        mesh = make_mesh(points, [[0, 1, 2]])
        assert mesh.points.dtype == torch.float64
        assert mesh.points.tolist() == whole.tolist()
    assert make_mesh(whole.half()).points.dtype == torch.float16


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("tetrahedron", "tetra?"),
        ("Tet10", "quadratic_tetra?"),
        ("tetra10", "quadratic_tetra?"),
        ("hex", "hexahedron?"),
        ("hex8", "hexahedron?"),
        ("hexahedron20", "quadratic_hexahedron?"),
        ("quadrilateral", "quad?"),
        ("quad4", "quad?"),
        ("prism", "wedge?"),
        ("prism6", "wedge?"),
        ("triangular prism", "wedge?"),
        ("triangles", "triangle or"),
        ("polygons", "polygon or"),
        ("polyhedral", "polyhedron"),
        ("quadratic-tetra", "quadratic_tetra?"),
        ("hexaedron", "hexahedron"),
    ],
)
def test_other_names_of_cell_types_are_known(given: str, meant: str) -> None:
    with pytest.raises(MeshError) as caught:
        cell_type(given)
    assert str(caught.value).startswith(f"cell type {given!r} is unknown; did you mean {meant}")


def test_a_name_like_no_type_is_given_no_advice() -> None:
    for given in ("", "x", "spaceship", "__"):
        with pytest.raises(MeshError) as caught:
            cell_type(given)
        assert str(caught.value) == f"cell type {given!r} is unknown"


def test_a_mesh_is_frozen_and_its_fields_are_locked() -> None:
    mesh = tetrahedron()
    with pytest.raises(AttributeError):
        mesh.points = mesh.points  # type: ignore[misc]
    with pytest.raises(RuntimeError, match="lock"):
        mesh.point_data["u"] = torch.zeros(4)


def test_given_fields_are_copied_shallowly() -> None:
    values = torch.arange(4.0)
    given: dict[str, Any] = {"u": values}
    mesh = tetrahedron().with_data(point=given)
    given["v"] = values
    assert list(mesh.point_data.keys()) == ["u"]
    assert mesh.point_data["u"].data_ptr() == values.data_ptr()


def test_with_data_adds_and_exchanges_and_keeps_what_is_known() -> None:
    info = MeshInfo(fields={("point_data", "u"): FieldInfo(unit="m/s")})
    mesh = tetrahedron().replace(info=info).with_data(point={"u": torch.zeros(4)})
    more = mesh.with_data(point={"v": torch.ones(4)}, cell={"p": [1.0]}, global_={"Re": 100.0})
    assert set(more.point_data.keys()) == {"u", "v"}
    assert more.cell_data["p"].dtype == torch.float64 and more.global_data["Re"].ndim == 0
    assert more.info.field("point_data", "u").unit == "m/s"
    assert not list(mesh.cell_data.keys())


def test_texts_become_codes_with_a_vocabulary() -> None:
    mesh = square_triangles().with_data(cell={"material": ["steel", "air"]})
    assert mesh.cell_data["material"].tolist() == [0, 1]
    assert mesh.cell_data["material"].dtype == torch.int32
    assert mesh.info.field("cell_data", "material").vocabulary == ("steel", "air")


def test_gradients_flow_through_a_mesh() -> None:
    points = torch.rand(4, 3, requires_grad=True)
    mesh = tetrahedron().replace(points=points).select([0]).to(dtype=torch.float64)
    torch.autograd.backward(mesh.points.square().sum())
    torch.testing.assert_close(points.grad, 2 * points)


def test_pickled_and_copied_it_is_the_same() -> None:
    mesh = two_tetrahedra().with_data(cell={"p": torch.arange(2.0)}, face={"phi": torch.ones(7)})
    mesh = mesh.replace(regions=[Region("in", "side", torch.tensor([[0, 1]]))])
    assert mesh.cells.dim == 3  # fills the memo, which must not travel
    assert differences(pickle.loads(pickle.dumps(mesh)), mesh) == []


def test_a_cloud_has_no_cells() -> None:
    cloud = make_mesh(torch.rand(5, 3))
    assert (cloud.n_points, cloud.n_cells, cloud.dim) == (5, 0, 0)


def test_dim_is_the_highest() -> None:
    assert one_of_each().dim == 3
    assert make_mesh([[0.0], [1.0]], [[0, 1]]).dim == 1


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ids_keep_their_dtype(dtype: torch.dtype) -> None:
    mesh = make_mesh(torch.zeros(3, 2), torch.tensor([[0, 1, 2]], dtype=dtype))
    assert mesh.cells.connectivity.dtype == mesh.cells.offsets.dtype == dtype
    assert mesh.select([0]).cells.connectivity.dtype == dtype


def test_polyhedra_alone_list_points_in_order_of_first_appearance() -> None:
    tet = [[3, 1, 2], [0, 1, 3], [0, 2, 1], [0, 3, 2]]
    mesh = make_mesh(torch.rand(4, 3), polyhedra=[tet])
    assert mesh.cells.connectivity.tolist() == [3, 1, 2, 0]
    assert mesh.cells.uniform == 42


def test_repr_says_what_is_there() -> None:
    mesh = one_of_each().with_data(point={"T": torch.zeros(one_of_each().n_points)})
    text = repr(mesh)
    assert "1 hexahedron" in text and "point_data: T" in text
    assert isinstance(mesh, Mesh) and "Cells(1 line" in repr(
        Cells.of("line", torch.tensor([[0, 1]]))
    )


@pytest.mark.parametrize("part", ["kind", "parent", "source_id", "flip"])
def test_parts_of_a_region_are_what_they_should_be(part: str) -> None:
    for wrong in (object(), b"wall", 1.5, ["a"]):
        said = "region 'a': flip: expected|" if part == "flip" else ""
        with pytest.raises(MeshError, match=f"{said}region 'a': expected {part} .*found"):
            Region("a", "cell", [0], **{part: wrong})  # type: ignore[arg-type]
    held = Region("a", "cell", [0], source_id=np.int32(7))  # type: ignore[arg-type]
    assert type(held.source_id) is int


def test_flips_are_given_as_ids_are() -> None:
    for flip in ([True, False], np.array([True, False]), torch.tensor([True, False])):
        held = Region("a", "side", [[0, 3], [0, 1]], flip=flip).flip  # type: ignore[arg-type]
        assert held is not None and held.dtype == torch.bool and held.tolist() == [True, False]
    empty = Region("a", "side", [], flip=[]).flip
    assert empty is not None and empty.dtype == torch.bool and len(empty) == 0
    for wrong, found in (
        ([1, 0], r"int64 \[2\]"),
        ([True], r"bool \[1\]"),
        (True, r"bool \[\]"),
        ([[True, False]], r"bool \[1, 2\]"),
    ):
        with pytest.raises(MeshError, match=rf"expected flip bool \[2\], found {found}"):
            Region("a", "side", [[0, 3], [0, 1]], flip=wrong)  # type: ignore[arg-type]
    for odd, said in (
        ("yes", "expected a tensor, found text"),
        ([[True], []], "expected rows of one length, found 1 in row 0 and 0 in row 1"),
        (torch.ones(2, dtype=torch.bool, device="meta"), "on meta, its ids on cpu; there it has"),
    ):
        with pytest.raises(MeshError, match=f"region 'a': flip: {said}"):
            Region("a", "side", [[0, 3], [0, 1]], flip=odd)  # type: ignore[arg-type]


def test_what_a_mesh_without_faces_cannot_have_says_where_to_get_some() -> None:
    for parts in (
        {"regions": [Region("wall", "face", [0])]},
        {"face_data": {"phi": torch.zeros(4)}},
    ):
        said = r"faces, found none; give it some first, mesh.replace\(faces=operators.faces"
        with pytest.raises(MeshError, match=said):
            tetrahedron().replace(**parts)
        faced = tetrahedron().replace(faces=ops.faces(tetrahedron()))
        assert faced.replace(**parts).faces is faced.faces


def test_numbers_without_values_are_refused() -> None:
    nothing = torch.zeros(2, device="meta")
    for call in (
        lambda: MeshInfo(time=nothing[0]),  # type: ignore[arg-type]
        lambda: MeshSeries(nothing, lambda i: tetrahedron()),  # type: ignore[arg-type]
        lambda: tetrahedron().select(cells=nothing.long()),
        lambda: tetrahedron().select(cells=nothing[:1].bool()),
    ):
        with pytest.raises(MeshError, match=r"^(info.time|series|select): .*meta"):
            call()


def test_unknown_region_names_those_there_are() -> None:
    mesh = tetrahedron().replace(
        regions=[Region("wall", "point", [0]), Region("wall", "cell", [0])]
    )
    with pytest.raises(MeshError, match="no region 'inlet'; the mesh has 'wall'"):
        mesh.region("inlet")
    with pytest.raises(MeshError, match="exists for point, cell; name the entity"):
        mesh.region("wall")
    assert mesh.region("wall", "cell").entity == "cell"


def test_devices_and_dtypes_are_given_as_to_tensors() -> None:
    mesh = tetrahedron()
    for moved in (
        mesh.to(torch.float32),
        mesh.to("cpu", torch.float32),
        mesh.to(torch.device("cpu"), torch.float32),
        mesh.to(dtype=torch.float32),
    ):
        assert moved.points.dtype == torch.float32
        assert moved.cells.connectivity.dtype == mesh.cells.connectivity.dtype
    assert mesh.to("meta").points.dtype == torch.float64
    parts = DomainMesh(mesh, {"skin": mesh}, mesh.global_data).to(torch.float32)
    assert parts.interior.points.dtype == parts.boundaries["skin"].points.dtype == torch.float32
    with pytest.raises(MeshError, match="expected one dtype, found"):
        mesh.to(torch.float32, torch.float64)
