"""What people hand over: taken where it is clear, refused in one line where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from meshkit import FieldInfo, Mesh, MeshError, MeshInfo, Region, collate, make_mesh
from tests.meshes import cube_hexes, tetrahedron

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]
TETS = [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    "given",
    [
        np.array(POINTS)[::-1][::-1],
        np.array(POINTS[::-1])[::-1],
        np.array(POINTS, ">f8"),
        np.asfortranarray(POINTS),
        np.broadcast_to(np.array(POINTS), (4, 3)),
        torch.tensor(POINTS, dtype=torch.float64),
        torch.tensor(POINTS, dtype=torch.float64).t().contiguous().t(),
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ],
)
def test_points_in_any_form(given: Any) -> None:
    mesh = make_mesh(given, TETS, point_data={"x": given})
    assert mesh.points.tolist() == POINTS
    assert mesh.point_data["x"].tolist() == POINTS
    assert mesh.points.dtype == torch.float64


def test_masked_floats_are_nan() -> None:
    masked = np.ma.masked_array([1.0, 2, 3, 4], [False, True, False, False])
    mesh = make_mesh(POINTS, TETS, point_data={"p": masked})
    assert mesh.point_data["p"].isnan().tolist() == [False, True, False, False]


def test_texts_may_be_utf8_bytes_or_a_numpy_array() -> None:
    for words in ([b"a", "é".encode(), b"a", b"b"], np.array(["a", "é", "a", "b"])):
        mesh = make_mesh(POINTS, TETS, point_data={"t": words})
        assert mesh.info.field("point_data", "t").vocabulary == ("a", "é", "b")


def test_types_in_any_form() -> None:
    for types in ("tetra", 10, np.int64(10), ["tetra"], [10], np.array(["tetra"]), np.array([10])):
        assert make_mesh(POINTS, TETS, types=types).cells.uniform == 10


@pytest.mark.parametrize(
    "parts",
    [
        {"points": np.zeros((4, 3), np.longdouble)},
        {"points": np.zeros((4, 3), complex)},
        {"points": "abc"},
        {"points": None},
        {"points": torch.zeros(4, 3).to_sparse()},
        {"cells": 3},
        {"cells": [0, 1, 2, 3]},
        {"cells": [[0, 1], 3]},
        {"cells": "ab"},
        {"cells": [[0, 1.5, 2, 3]]},
        {"cells": {"a": 1}},
        {"types": [None]},
        {"types": 10.0},
        {"types": np.array([9.9])},
        {"types": [10.5]},
        {"types": torch.tensor(10)},
        {"types": [[10]]},
        {"types": True},
        {"cells": [0, 1, 2, 3], "types": [10], "offsets": 4},
        {"cells": None, "polyhedra": "abc"},
        {"cells": None, "polyhedra": 3},
        {"cells": None, "polyhedra": [[0, 1, 2]]},
        {"cells": None, "polyhedra": [[[0, 2.9, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]},
        {"cells": None, "polyhedra": [[[2**70, 0, 1]]]},
        {"regions": {"a": [0]}},
        {"regions": "abc"},
        {"regions": Region("a", "cell", [0])},
        {"regions": [3]},
        {"regions": 3},
        {"point_data": [1, 2, 3, 4]},
        {"point_data": {"p": np.ma.masked_array([1, 2, 3, 4], [False, True, False, False])}},
        {"point_data": {"p": torch.zeros(4, 2).to_sparse()}},
        {"point_data": {"p": [b"\xff", b"a", b"b", b"c"]}},
        {"point_data": TensorDict({"p": NonTensorData("x")}, [4]).lock_()},
        {"point_data": {3: torch.zeros(4)}},
        {"faces": [[0, 1, 2]]},
        {"info": {"length_unit": "m"}},
    ],
    ids=repr,
)
def test_refuses(parts: dict[str, Any]) -> None:
    whole: dict[str, Any] = {"points": POINTS, "cells": TETS} | parts
    with pytest.raises(MeshError) as caught:
        make_mesh(whole.pop("points"), whole.pop("cells"), **whole)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Region("a", "cell", None),  # type: ignore[arg-type]
        lambda: Region("a", "cell", ["x"]),
        lambda: Region("a", "cell", [0], data={"name": ["steel"]}),
        lambda: Region("a", "cell", [0], attributes={"f": print}),
        lambda: Region("a", "cell", [0], attributes={3: 1}),  # type: ignore[dict-item]
        lambda: MeshInfo(length_unit=3),  # type: ignore[arg-type]
        lambda: MeshInfo(time="now"),  # type: ignore[arg-type]
        lambda: MeshInfo(attributes={"a": {"b": object()}}),
        lambda: FieldInfo(attributes={"a": {1, 2}}),
        lambda: cube_hexes().select("abc"),  # type: ignore[arg-type]
        lambda: cube_hexes().select(None),  # type: ignore[arg-type]
        lambda: cube_hexes().select(slice(3)),  # type: ignore[arg-type]
        lambda: cube_hexes().with_data(point=[1]),  # type: ignore[arg-type]
        lambda: collate(tetrahedron()),  # type: ignore[arg-type]
        lambda: collate([tetrahedron(), 3]),  # type: ignore[list-item]
        lambda: Mesh.from_tensordict(None),  # type: ignore[arg-type]
    ],
)
def test_refuses_elsewhere(make: Any) -> None:
    with pytest.raises(MeshError) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_attributes_are_as_json_gives_them_back() -> None:
    info = MeshInfo(
        attributes={"axes": ("x", "y"), "rho": np.float64(1.2)}, time=float(np.float32(0.5))
    )
    assert info.attributes == {"axes": ["x", "y"], "rho": 1.2}
    assert type(info.time) is float
    assert MeshInfo.from_json(info.to_json()) == info


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"a": [1, {"b": object()}]}, "['a'][1]['b']: expected what JSON can say, found object"),
        ({"a": {1: 2}}, "['a']: expected names as text, found 1"),
        ({2: 1}, ": expected names as text, found 2"),
    ],
)
def test_what_json_cannot_say_is_named_with_its_place(
    attributes: dict[Any, Any], said: str
) -> None:
    with pytest.raises(MeshError) as caught:
        MeshInfo(attributes=attributes)
    assert str(caught.value) == f"info.attributes{said}"


def test_what_is_replaced_beside_attributes_does_not_copy_them() -> None:
    info = MeshInfo(attributes={"many": list(range(5))})
    for made in (info.replace(time=1.0), info.noting(info.report), info.with_fields({})):
        assert made.attributes is info.attributes
    assert info.replace(attributes={"a": (1,)}).attributes == {"a": [1]}


def test_generators_will_do() -> None:
    assert cube_hexes(2).select(i for i in (0, 1)).n_cells == 2
    assert collate(tetrahedron() for _ in range(2)).n_cells == 2


def test_codes_that_are_none_any_more_lose_their_texts() -> None:
    mesh = make_mesh(POINTS, TETS, cell_data={"mat": ["steel"]})
    key = ("cell_data", "mat")
    assert mesh.with_data(cell={"mat": torch.tensor([7.5])}).info.field(*key).vocabulary is None
    assert mesh.with_data(cell={"mat": torch.tensor([1])}).info.field(*key).vocabulary is None
    kept = mesh.with_data(cell={"mat": torch.tensor([-1])})
    assert kept.info.field(*key).vocabulary == ("steel",)
    again = mesh.with_data(cell={"mat": ["air"]})
    assert again.info.field(*key).vocabulary == ("air",)


def test_attributes_nest_a_hundred_levels_and_no_more() -> None:
    """The same limit wherever it is asked, so that what could be written can be read."""

    def nested(levels: int) -> dict[str, object]:
        return {"a": nested(levels - 1)} if levels else {"a": 1}

    MeshInfo(attributes=nested(99))
    endless: list[object] = []
    endless.append(endless)
    for attributes in (nested(100), nested(500), {"a": endless}):
        with pytest.raises(MeshError, match=r"^info\.attributes: nests more than 100 levels deep$"):
            MeshInfo(attributes=attributes)
