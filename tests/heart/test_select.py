"""Selection renumbers and carries everything, signs included."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st

from meshkit import Faces, FieldInfo, Grid, Mesh, MeshError, MeshInfo, Region, make_mesh
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, one_of_each, two_tetrahedra
from tests.random_meshes import random_meshes


def test_a_face_whose_owner_stays_outside_turns_round() -> None:
    info = MeshInfo(fields={("face_data", "phi"): FieldInfo(oriented=True)})
    mesh = two_tetrahedra().replace(info=info)
    phi = torch.arange(1.0, 8)
    mesh = mesh.with_data(face={"phi": phi, "area": phi})
    mesh = mesh.replace(
        regions=[Region("zone", "face", torch.tensor([0, 4]), flip=torch.tensor([False, True]))]
    )
    upper, lower = mesh.select([0]), mesh.select([1])
    assert upper.faces is not None and lower.faces is not None
    assert upper.face_data["phi"].tolist() == [1, 2, 3, 4]
    assert lower.face_data["phi"].tolist() == [-1, 5, 6, 7]
    assert lower.face_data["area"].tolist() == [1, 5, 6, 7]
    # face 0 was (0, 2, 1), its normal from cell 0 down to cell 1; cell 1 sees it from below
    assert lower.faces.connectivity[:3].tolist() == [0, 1, 2]
    assert (lower.faces.owner == 0).all() and (lower.faces.neighbour == -1).all()
    flip = lower.region("zone").flip
    assert flip is not None and flip.tolist() == [True, True]
    for part, gone in ((upper, 3), (lower, 3)):
        (line,) = part.info.report
        assert (line.outcome, line.what, line.count, line.loss) == ("dropped", "faces", gone, False)
        assert line.reason == "of cells that were not selected"
    both = mesh.select([1, 0])
    assert both.faces is not None and not both.info.report.entries
    assert both.faces.owner.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert both.faces.neighbour.tolist() == [0, -1, -1, -1, -1, -1, -1]
    assert both.face_data["phi"].tolist() == phi.tolist()


def test_faces_go_when_the_dimension_falls_and_are_counted() -> None:
    points = torch.rand(5, 3)
    mixed = make_mesh(points, [[0, 1, 2, 3], [1, 2, 4]], types=["tetra", "triangle"])
    rings = torch.tensor([[0, 1, 3], [1, 2, 3], [2, 0, 3], [0, 2, 1]])
    faces = Faces(
        torch.arange(0, 13, 3), rings.reshape(-1), torch.zeros(4).long(), torch.full((4,), -1)
    )
    mixed = mixed.replace(faces=faces, regions=[Region("wall", "face", torch.tensor([0]))])
    flat = mixed.select([1])
    assert flat.faces is None and not len(flat.regions)
    assert [(e.what, e.count) for e in flat.info.report.losses] == [("faces", 4), ("region", 1)]


def test_regions_of_every_entity_follow() -> None:
    mesh = cube_hexes(2)
    mesh = mesh.replace(
        regions=[
            Region("p", "point", torch.tensor([0, 26]), data={"w": torch.tensor([1.0, 2])}),
            Region("c", "cell", torch.tensor([7, 1], dtype=torch.int32)),
            Region("s", "side", torch.tensor([[0, 4], [7, 5]])),
            Region("e", "edge", torch.tensor([[0, 1], [25, 26]])),
            Region("gone", "cell", torch.tensor([0])),
        ]
    )
    part = mesh.select([7])
    assert part.region("p").ids.tolist() == [7]
    data = part.region("p").data
    assert data is not None and data["w"].tolist() == [2]
    assert part.region("c").ids.tolist() == [0] and part.region("c").ids.dtype == torch.int32
    assert part.region("s").ids.tolist() == [[0, 5]]
    assert part.region("e").ids.tolist() == [[6, 7]]
    assert len(part.region("gone")) == 0


def test_a_mask_and_ids_agree_and_order_is_kept() -> None:
    mesh = one_of_each().with_data(cell={"id": torch.arange(8)})
    mask = torch.tensor([False, True, False, True, False, False, True, False])
    assert differences(mesh.select(mask), mesh.select([1, 3, 6])) == []
    assert mesh.select([6, 1]).cell_data["id"].tolist() == [6, 1]
    assert mesh.select([]).n_points == 0


def test_polyhedra_are_renumbered() -> None:
    mesh = hanging_polyhedron()
    solid = mesh.select([8])
    assert solid.cells.polyhedra is not None
    used = torch.unique(solid.cells.polyhedra.connectivity)
    assert used.tolist() == list(range(solid.n_points)) and solid.n_points == 13


def test_a_lattice_stays_one_only_whole() -> None:
    mesh = cube_hexes(2).replace(info=MeshInfo(grid=Grid((3, 3, 3))))
    assert mesh.select(range(8)).info.grid is not None
    assert mesh.select([0, 1]).info.grid is None


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([0, 0], "unique ids"),
        ([8], "ids from 0 to 7, found 8"),
        ([-1], "ids from 0 to 7, found -1"),
        (torch.zeros(3, dtype=torch.bool), "a mask of 8 cells, found 3"),
        (torch.zeros(8), "a mask or ids"),
    ],
)
def test_refuses(cells: list[int] | torch.Tensor, message: str) -> None:
    with pytest.raises(MeshError, match=message):
        cube_hexes(2).select(cells)


def test_refuses_regions_that_name_what_is_not_there() -> None:
    mesh = cube_hexes(2).replace(regions=[Region("wall", "side", [[8, 0]])])
    with pytest.raises(MeshError, match="region 'wall': expected ids from 0 to 7, found 8"):
        mesh.select([0])


@given(random_meshes(), st.integers(0, 2**31))
def test_all_cells_there_and_back_are_the_same_cells(mesh: Mesh, seed: int) -> None:
    order = torch.randperm(mesh.n_cells, generator=torch.Generator().manual_seed(seed))
    once = mesh.select(torch.arange(mesh.n_cells))
    again = once.select(order).select(torch.argsort(order))
    # Points are numbered by their first ids, so the second selection changes nothing.
    assert differences(again, once) == []
