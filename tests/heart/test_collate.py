"""Several meshes as one, and the parts found again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given

from meshkit import FieldInfo, Mesh, MeshError, MeshInfo, Region, collate
from meshkit.fields import empty_groups
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, tetrahedron, two_tetrahedra
from tests.random_meshes import random_meshes


def test_by_hand() -> None:
    one = tetrahedron().with_data(point={"u": torch.arange(4.0)}, global_={"Re": torch.tensor(1.0)})
    one = one.replace(regions=[Region("tip", "point", [3]), Region("side", "side", [[0, 2]])])
    two = two_tetrahedra().replace(faces=None)
    two = two.with_data(point={"u": torch.arange(5.0)}, global_={"Re": torch.tensor(2.0)})
    two = two.replace(regions=[Region("tip", "point", [0, 4])])
    both = collate([one, two])
    assert both.cells.dense.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [4, 6, 5, 8]]
    assert both.global_data["point_offsets"].tolist() == [0, 4, 9]
    assert both.global_data["cell_offsets"].tolist() == [0, 1, 3]
    assert both.global_data["Re"].tolist() == [1, 2]
    assert both.region("tip").ids.tolist() == [3, 4, 8]
    assert both.region("side").ids.tolist() == [[0, 2]]


def test_faces_and_polyhedra_follow() -> None:
    both = collate([two_tetrahedra(), two_tetrahedra()])
    assert both.faces is not None
    assert both.faces.owner.tolist()[7:] == [2, 2, 2, 2, 3, 3, 3]
    assert both.faces.neighbour.tolist()[7:] == [3, -1, -1, -1, -1, -1, -1]
    assert both.faces.offsets.tolist()[-1] == 42
    solids = collate([hanging_polyhedron(), hanging_polyhedron()])
    assert solids.cells.polyhedra is not None and len(solids.cells.polyhedra) == 2
    part = solids.select(torch.arange(9, 18)).replace(global_data={})
    assert differences(part, hanging_polyhedron().select(torch.arange(9))) == []


def test_texts_are_coded_over_the_union() -> None:
    one = tetrahedron().with_data(cell={"m": ["steel"]})
    two = tetrahedron().with_data(cell={"m": ["air"]})
    both = collate([one, two])
    words = both.info.field("cell_data", "m").vocabulary
    assert words is not None
    assert [words[c] for c in both.cell_data["m"].tolist()] == ["steel", "air"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"info": MeshInfo(length_unit="mm")}, "mesh 1: length unit mm, the first has None"),
        (
            {"points": torch.zeros(4, 2, dtype=torch.float64)},
            "mesh 1: points in 2, the first has 3",
        ),
        ({"points": torch.zeros(4, 3)}, "points of torch.float32"),
        ({"point_data": {"v": torch.zeros(4)}}, "'u' is not in both"),
        ({"point_data": {"u": torch.zeros(4, 2)}}, r"point_data 'u' is torch.float32 \[4, 2\]"),
        (
            {"info": MeshInfo(fields={("point_data", "u"): FieldInfo(unit="m/s")})},
            "point_data 'u' means .*m/s",
        ),
    ],
)
def test_refuses(change: dict[str, Any], message: str) -> None:
    one = tetrahedron().with_data(point={"u": torch.zeros(4)})
    with pytest.raises(MeshError, match=message):
        collate([one, one.replace(**change)])


def test_texts_and_numbers_are_not_mixed() -> None:
    words = tetrahedron().with_data(cell={"m": ["steel"]})
    numbers = tetrahedron().with_data(cell={"m": torch.tensor([0], dtype=torch.int32)})
    with pytest.raises(MeshError, match=r"cell_data 'm' means .*vocabulary=None"):
        collate([words, numbers])


def test_texts_in_regions_are_coded_over_the_union() -> None:
    def mesh(word: str) -> Mesh:
        key = ("regions", "a", "cell", "name")
        codes = {"name": torch.tensor([0])}
        info = MeshInfo(fields={key: FieldInfo(vocabulary=(word,))})
        return tetrahedron().replace(info=info, regions=[Region("a", "cell", [0], data=codes)])

    both = collate([mesh("steel"), mesh("air")])
    data = both.region("a").data
    assert data is not None and data["name"].tolist() == [0, 1]
    assert both.info.field("regions", "a", "cell", "name").vocabulary == ("steel", "air")


def test_what_meshes_differ_in_is_counted() -> None:
    def mesh(time: float, kind: str) -> Mesh:
        info = MeshInfo(time=time, attributes={"case": kind})
        return tetrahedron().replace(info=info, regions=[Region("a", "cell", [0], kind=kind)])

    both = collate([mesh(0, "wall"), mesh(1, "inlet")])
    assert both.info.time is None and both.region("a").kind is None
    said = [(e.what, e.name) for e in both.info.report.losses]
    assert said == [("info", "time"), ("info", "attributes"), ("region", "a: kind")]
    same = collate([mesh(0, "wall"), mesh(0, "wall")])
    assert same.info.time == 0 and same.region("a").kind == "wall" and same.info.report.lossless


def test_groups_that_hold_nothing_stay() -> None:
    u = torch.arange(4.0)

    def mesh(**more: Any) -> Mesh:
        region = Region("tip", "point", [3], data={"g": {}, "T": u[:1]})
        bare = Region("bare", "point", [0], data={})
        return tetrahedron().replace(
            point_data={"a": {}, "u": u, "flow": {"x": {}, "p": u}, **more},
            cell_data={"c": {"": {}}},
            global_data={"d": {}},
            regions=[region, bare],
        )

    both = collate([mesh(), mesh(more={"e": {}})])
    assert [*both.point_data.keys()] == ["a", "u", "flow", "more"]
    assert empty_groups(both.point_data) == [
        *((("a",), 0), (("flow", "x"), 1)),
        (("more", "e"), 2),
    ]
    assert both.point_data["flow", "p"].tolist() == [*u.tolist(), *u.tolist()]
    assert empty_groups(both.cell_data) == [(("c", ""), 0)]
    assert empty_groups(both.global_data) == [(("d",), 0)]
    tip, bare = both.region("tip").data, both.region("bare").data
    assert tip is not None and [*tip.keys()] == ["g", "T"] and tip["T"].tolist() == [0, 0]
    assert bare is not None and len(bare.keys()) == 0
    with pytest.raises(MeshError, match="'tip': its fields are not in every mesh"):
        collate([mesh(), mesh().replace(regions=[Region("tip", "point", [3])])])


def test_refuses_nothing_and_twice() -> None:
    with pytest.raises(MeshError, match="at least one"):
        collate([])
    with pytest.raises(MeshError, match="collated already"):
        collate([collate([tetrahedron()])])


@given(random_meshes(empty=False))
def test_the_second_half_is_the_mesh_again(mesh: Mesh) -> None:
    both = collate([mesh, mesh])
    n = mesh.n_cells
    half = both.select(torch.arange(n, 2 * n)).replace(global_data=mesh.global_data)
    alone = mesh.select(torch.arange(n))
    keep = ("cell", "edge", "side", "face")
    names = [(r.name, r.entity) for r in mesh.regions if r.entity in keep]
    for part in (half, alone):
        assert names == [(r.name, r.entity) for r in part.regions if r.entity in keep]
    blank = MeshInfo()
    assert (
        differences(half.replace(regions=(), info=blank), alone.replace(regions=(), info=blank))
        == []
    )
