"""Simplices: the same measures, conforming, oriented, with data and regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given

from meshkit import operators as ops
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.operators.cells_for_tests import linear_cells, linear_twin, nodes_of, one_cell
from tests.random_meshes import random_meshes

# The vertex mean of the L lies on its inner corner: two of its six triangles are nothing.
LINEAR = linear_cells()
SOUND = [name for name in LINEAR if name != "polygon"]


def by_parent(mesh: Mesh, parts: Mesh) -> torch.Tensor:
    measures = ops.cell_measures(parts)
    out = measures.new_zeros(mesh.n_cells)
    return out.index_add(0, parts.cell_data["parent_cell"], measures)


@pytest.mark.parametrize("name", LINEAR)
def test_parts_add_up_and_are_oriented(name: str) -> None:
    mesh = LINEAR[name]
    parts = ops.simplices(mesh)
    assert set(parts.cells.counts) <= {"line", "triangle", "tetra"}
    torch.testing.assert_close(by_parent(mesh, parts), ops.cell_measures(mesh))
    assert (ops.cell_measures(parts) > 0).all()
    assert ops.check(parts) == [] or name not in SOUND


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (meshes.l_prism_polyhedron, 24),
        (meshes.split_cube_polyhedron, 40),
        (meshes.hanging_polyhedron, 232),
        (lambda: meshes.shaken(meshes.cube_hexes(3)), 27 * 24),
        (meshes.pyramids, 48),
    ],
)
def test_solids_conform(make: Callable[[], Mesh], parts: int) -> None:
    mesh = make()
    split = ops.simplices(mesh)
    assert split.n_cells == parts
    torch.testing.assert_close(by_parent(mesh, split), ops.cell_measures(mesh))
    if split.info.report.dropped:
        return  # parts of no size have left a slit of no size
    faces, old = ops.faces(split), ops.faces(mesh)
    sizes = old.offsets.diff()
    # Tets meet across each old face, so that only the old boundary is left.
    assert len(faces.boundary) == int(torch.where(sizes > 3, sizes, 1)[old.boundary].sum())


def test_zero_parts_are_dropped_and_counted() -> None:
    parts = ops.simplices(meshes.l_prism_polyhedron())
    assert parts.n_cells == 24
    (dropped,) = parts.info.report.dropped
    assert (dropped.count, dropped.loss) == (12, False)
    assert ops.cell_measures(parts).sum().item() == pytest.approx(3, rel=1e-14)
    small = meshes.l_prism_polyhedron().to(dtype=torch.float32)
    assert ops.simplices(small).n_cells == 24


def test_cells_that_are_not_star_shaped_keep_negative_parts() -> None:
    ring = [(0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)]
    points = [[float(x), float(y), float(z)] for z in (0, 1) for x, y in ring]
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    mesh = make_mesh(points, polyhedra=[[[5, 4, 3, 2, 1, 0], [6, 7, 8, 9, 10, 11], *sides]])
    parts = ops.simplices(mesh)
    assert (ops.cell_measures(parts) < 0).any()
    assert ops.cell_measures(parts).sum().item() == pytest.approx(7, rel=1e-14)
    assert ops.cell_measures(mesh).item() == pytest.approx(7, rel=1e-14)
    assert [f.code for f in ops.check(mesh)] == ["not_star_shaped"]


def test_surface_cells_on_solids_share_the_added_point() -> None:
    cube = meshes.cube_hexes(1)
    rows = [cube.cells.dense[0].tolist(), [0, 1, 3, 2]]  # lattice ids: a face as a ring
    mesh = make_mesh(cube.points, rows, types=["hexahedron", "quad"])
    parts = ops.simplices(mesh)
    assert parts.cells.counts == {"triangle": 4, "tetra": 24}
    assert parts.n_points == 8 + 6 + 1


def test_fields() -> None:
    mesh = meshes.cube_hexes(1).replace(
        point_data={
            "x": meshes.cube_hexes(1).points,
            "z": torch.arange(8).to(torch.complex64),
            "half": torch.arange(8).half(),
            "id": torch.arange(8),
            "byte": torch.arange(8, dtype=torch.uint8),
            "mask": torch.ones(8, dtype=torch.bool),
        },
        cell_data={"rho": torch.tensor([2.0]), "parent_cell": torch.tensor([7])},
    )
    parts = ops.simplices(mesh)
    data = parts.point_data
    torch.testing.assert_close(data["x"], parts.points)
    assert data["half"][-1] == 3.5
    assert data["z"][-1] == 3.5
    assert data["id"][8:].tolist() == [-1] * 7
    assert data["byte"][8:].tolist() == [0] * 7
    assert not data["mask"][8:].any()
    assert parts.cell_data["rho"].tolist() == [2.0] * 24
    assert parts.cell_data["parent_cell"].tolist() == [0] * 24
    filled = {e.name: e.count for e in parts.info.report.converted if e.what == "field"}
    assert filled == {f"point_data/{n}": 7 for n in ("id", "byte", "mask")}
    assert [e.name for e in parts.info.report.losses] == ["cell_data/parent_cell"]


def test_complex_halves_are_averaged_without_a_warning() -> None:
    halves = torch.view_as_complex(torch.arange(16.0).reshape(8, 2).half())
    torch.set_warn_always(True)  # torch warns of the first complex32 it makes, and then no more
    try:
        parts = ops.simplices(meshes.cube_hexes(1).replace(point_data={"z": halves}))
    finally:
        torch.set_warn_always(False)
    z = torch.view_as_real(parts.point_data["z"])
    assert z.dtype == torch.float16
    assert z[-1].tolist() == [7, 8]


def test_regions() -> None:
    mesh = meshes.hanging_polyhedron().replace(
        regions=[
            Region("coarse", "cell", torch.tensor([8]), data={"E": torch.tensor([3.0])}),
            Region("end", "side", torch.tensor([[8, 4]]), flip=torch.tensor([True])),
            Region("low", "side", torch.tensor([[0, 0], [2, 0]])),
            Region("node", "point", torch.tensor([3])),
        ]
    )
    parts = ops.simplices(mesh)
    coarse = parts.region("coarse")
    assert len(coarse) == 40
    assert (parts.cell_data["parent_cell"][coarse.ids] == 8).all()
    assert coarse.data is not None
    assert coarse.data["E"].tolist() == [3.0] * 40
    end = parts.region("end")
    assert len(end) == 4
    assert end.flip is not None
    assert end.flip.all()
    assert parts.region("node").ids.tolist() == [3]
    skin = ops.boundary(parts)
    centres = ops.cell_centroids(skin)
    assert (centres[skin.region("end").ids][:, 0] == 2).all()
    assert (centres[skin.region("low").ids][:, 0] == 0).all()
    assert len(skin.region("low")) == 8
    assert parts.info.report.lossless


@pytest.mark.parametrize("name", SOUND)
def test_every_side_is_covered_by_parts(name: str) -> None:
    mesh = LINEAR[name]
    sides = ops.faces(mesh)
    n = len(sides)
    region = Region("all", "side", torch.stack([torch.zeros(n).long(), torch.arange(n)], 1))
    parts = ops.simplices(mesh.replace(regions=[region]))
    on = parts.region("all").ids
    skin = ops.boundary(parts)
    assert len(torch.unique(on, dim=0)) == len(on) == skin.n_cells
    assert len(skin.region("all")) == skin.n_cells


def test_own_faces_go_and_their_regions_become_sides() -> None:
    mesh = meshes.two_tetrahedra().replace(
        face_data={"phi": torch.arange(7.0)},
        regions=[Region("between", "face", torch.tensor([0]))],
    )
    parts = ops.simplices(mesh)
    assert parts.faces is None
    assert parts.region("between").entity == "side"
    assert parts.region("between").ids.tolist() == [[0, 3]]
    assert [(e.what, e.count) for e in parts.info.report.losses] == [("field", 7)]


def test_high_order_cells_go_through_their_corners() -> None:
    mesh = one_cell("quadratic_tetra", nodes_of("quadratic_tetra", 10))
    parts = ops.simplices(mesh)
    assert parts.cells.dense.tolist() == [[0, 1, 2, 3]]
    assert parts.info.report.converted[0].reason.startswith("through their corners")
    hexa = one_cell("triquadratic_hexahedron", torch.rand(27, 3).double())
    total = ops.cell_measures(ops.simplices(hexa)).sum()
    torch.testing.assert_close(total, ops.cell_measures(linear_twin(hexa))[0])


def test_points_and_cells_without_size() -> None:
    cloud = make_mesh(torch.rand(3, 3), [[0, 1, 2]], types="poly_vertex")
    assert ops.simplices(cloud).cells.counts == {"vertex": 3}
    flat = make_mesh(torch.zeros(8, 3), [list(range(8))], types="hexahedron")
    parts = ops.simplices(flat)
    assert parts.n_cells == 0
    assert [(e.name, e.count) for e in parts.info.report.losses] == [("hexahedron", 1)]
    assert ops.simplices(make_mesh(torch.rand(2, 2))).n_cells == 0


@given(random_meshes())
def test_anything_is_taken_apart(mesh: Mesh) -> None:
    parts = ops.simplices(mesh)
    assert {CELL_TYPES[t].name for t in parts.cells.present} <= {
        "vertex",
        "line",
        "triangle",
        "tetra",
    }
    assert torch.equal(parts.points[: mesh.n_points].nan_to_num(), mesh.points.nan_to_num())
    low, high = parts.cells.id_range
    assert low >= 0
    assert high < parts.n_points
    parent = parts.cell_data["parent_cell"]
    assert (parent.diff() >= 0).all()
    for region in parts.regions:
        if region.entity == "cell":
            assert len(region.ids) == 0 or int(region.ids.max()) < parts.n_cells


def test_int32_ids_stay_int32() -> None:
    mesh = meshes.cube_hexes(2)
    cells: Cells = mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.int())
    parts = ops.simplices(mesh.replace(cells=cells))
    assert parts.cells.connectivity.dtype == parts.cells.offsets.dtype == torch.int32


@pytest.mark.parametrize(
    ("rows", "types", "message"),
    [
        ([[0, 1, 2, 9]], "tetra", "cell 0: expected point ids"),
        ([[0, 1, 2, 3]], "convex_point_set", "give it as a polyhedron"),
    ],
)
def test_refusals(rows: Any, types: str, message: str) -> None:
    with pytest.raises(MeshError, match=message):
        ops.simplices(make_mesh(torch.rand(4, 3), rows, types=types))
