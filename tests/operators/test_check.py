"""check: each fault by its code, nothing on sound meshes, and no exception on any bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from meshkit import operators as ops
from meshkit.cells import Cells, Polyhedra
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.check import Finding
from meshkit.operators.soundness.arrays import of_arrays
from meshkit.regions import Region
from tests import meshes
from tests.operators.cells_for_tests import HIGH_ORDER, linear_cells, nodes_of, one_cell
from tests.random_meshes import random_meshes

TET = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def found(mesh: Mesh) -> dict[str, Finding]:
    findings = ops.check(mesh)
    assert all("\n" not in f.message and f.message for f in findings)
    return {f.code: f for f in findings}


@pytest.mark.parametrize(
    "make",
    [
        *(meshes.tetrahedron, meshes.two_tetrahedra, meshes.square_quads, meshes.cube_surface),
        *(meshes.kuhn_cube, meshes.wedge_column, meshes.pyramids, meshes.l_prism_polyhedron),
        *(meshes.split_cube_polyhedron, meshes.hanging_polyhedron, meshes.one_of_each),
        lambda: make_mesh(torch.rand(5, 3)),
        lambda: meshes.stretched(meshes.kuhn_cube(2), 1000, 1, 1),
        lambda: meshes.cube_hexes(2).to(dtype=torch.float32),
    ],
)
def test_sound_meshes_have_no_findings(make: Callable[[], Mesh]) -> None:
    assert ops.check(make()) == []


def test_sound_cells_have_no_findings() -> None:
    for mesh in linear_cells().values():
        assert ops.check(mesh) == []
    for name in HIGH_ORDER:
        size = nodes_of(name, {"tetra14": 14}.get(name, _size(name)))
        assert ops.check(one_cell(name, size)) == []


def _size(name: str) -> int:
    from meshkit.celltypes import cell_type

    return cell_type(name).size or 0


def test_inverted_duplicate_degenerate_tets() -> None:
    points = torch.tensor([*TET, [1, 1, 0], [0, 0, 1], [5, 5, 5], [0, 0, -1.0], [0, 0, 0]])
    points[7] = torch.nan
    points[8, 0] = torch.inf
    rows = [
        *([0, 1, 2, 3], [0, 2, 1, 3], [3, 2, 1, 0]),  # sound, inverted, the same again
        *([0, 1, 2, 4], [0, 1, 1, 3], [0, 1, 2, 7]),  # flat, repeated, NaN
        [0, 1, 2, 99],
    ]
    got = found(make_mesh(points, rows))
    expected = {
        "point_nan": (1, (7,)),
        "point_inf": (1, (8,)),
        "duplicate_point": (1, (5,)),
        "id_out_of_range": (1, (6,)),
        "unused_point": (3, (5, 6, 8)),
        "repeated_point": (1, (4,)),
        "duplicate_cell": (2, (1, 2)),
        "zero_cell": (2, (3, 4)),
        "inverted_cell": (1, (1,)),
    }
    assert {c: (f.count, f.ids) for c, f in got.items() if c != "nonmanifold"} == expected
    assert got["nonmanifold"].count >= 1
    assert got["inverted_cell"].severity == "error"


def test_nonmanifold_surface() -> None:
    points = torch.rand(5, 3)
    got = found(make_mesh(points, [[0, 1, 2], [0, 1, 3], [0, 1, 4]]))
    assert (got["nonmanifold"].count, got["nonmanifold"].ids) == (1, (0, 1, 2))


def with_cells(types: list[int], offsets: list[int], ids: list[int], **more: Any) -> Mesh:
    cells = Cells(
        torch.tensor(types, dtype=torch.uint8), torch.tensor(offsets), torch.tensor(ids), **more
    )
    return make_mesh(torch.rand(6, 3), cells) if not more else _unpaired(cells)


def _unpaired(cells: Cells) -> Mesh:
    return make_mesh(torch.rand(6, 3)).replace(cells=cells)


def test_types_sizes_and_offsets() -> None:
    got = found(with_cells([99, 10, 41], [0, 4, 7, 11], [0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3]))
    assert got["unknown_type"].ids == (0,)
    assert got["wrong_size"].ids == (1,)
    assert got["no_faces"].ids == (2,)
    got = found(with_cells([5, 5], [0, 4, 3], [0, 1, 2]))
    assert list(got) == ["offsets_not_ascending"]
    assert found(with_cells([72], [0, 9], [0] * 9))["wrong_size"].count == 1
    lagrange = Cells(
        torch.tensor([70], dtype=torch.uint8),
        torch.tensor([0, 6]),
        torch.arange(6),
        degrees=torch.tensor([[2, 2, 0]], dtype=torch.uint8),
    )
    assert "wrong_size" in found(_unpaired(lagrange))


def prism(change: Callable[[list[list[int]]], list[list[int]]]) -> Mesh:
    mesh = meshes.l_prism_polyhedron()
    solids = mesh.cells.polyhedra
    assert solids is not None
    ends = solids.offsets.tolist()
    faces = [solids.connectivity[a:b].tolist() for a, b in pairwise(ends)]
    return make_mesh(mesh.points, polyhedra=[change(faces)])


def test_polyhedra() -> None:
    assert list(found(prism(lambda faces: faces))) == []
    assert "open_polyhedron" in found(prism(lambda faces: faces[1:]))
    turned = found(prism(lambda faces: [faces[0][::-1], *faces[1:]]))
    assert "polyhedron_orientation" in turned
    inside_out = found(prism(lambda faces: [f[::-1] for f in faces]))
    assert list(inside_out) == ["inverted_cell"]
    mesh = meshes.l_prism_polyhedron()
    solids = mesh.cells.polyhedra
    assert solids is not None
    fewer = Cells(
        mesh.cells.types, mesh.cells.offsets * 11 // 12, mesh.cells.connectivity[1:], solids
    )
    assert "polyhedron_points" in found(mesh.replace(cells=fewer))
    none = Cells(mesh.cells.types, mesh.cells.offsets, mesh.cells.connectivity)
    assert list(found(mesh.replace(cells=none))) == ["polyhedra_count"]


def test_own_faces() -> None:
    mesh = meshes.two_tetrahedra()
    faces = mesh.faces
    assert faces is not None

    def changed(**parts: Tensor) -> dict[str, Finding]:
        held = {"offsets": faces.offsets, "connectivity": faces.connectivity}
        held |= {"owner": faces.owner, "neighbour": faces.neighbour}
        return found(mesh.replace(faces=Faces(**(held | parts))))

    assert changed() == {}
    owner = faces.owner.clone()
    owner[1] = 5
    assert changed(owner=owner)["faces_out_of_range"].ids == (1,)
    owner[1] = 1
    got = changed(owner=owner)
    assert got["faces_not_of_cell"].ids == (1,)
    assert got["faces_missing"].ids == (0,)
    ring = faces.connectivity.clone()
    ring[:3] = ring[:3].flip(0)
    assert changed(connectivity=ring)["faces_orientation"].ids == (0,)
    ring[0] = 50
    assert changed(connectivity=ring)["id_out_of_range"].ids == (0,)
    one = Faces(*(x[: 4 if i == 0 else 9 if i == 1 else 3] for i, x in enumerate(faces.sources)))
    assert found(mesh.replace(faces=one))["faces_missing"].ids == (0, 1)


def test_fields_and_regions() -> None:
    mesh = meshes.cube_hexes(1).replace(
        point_data={"a/b": torch.full((8, 3), torch.nan), "n": {"x": torch.arange(8.0) / 0.0}},
        cell_data={"kind": torch.tensor([3])},
        global_data={"t": torch.tensor(torch.nan)},
        info=MeshInfo(fields={("cell_data", "kind"): FieldInfo(vocabulary=("a", "b"))}),
        regions=[
            Region("ok", "side", torch.tensor([[0, 5]])),
            Region("out", "side", torch.tensor([[0, 6], [1, 0]])),
            Region("far", "point", torch.tensor([0, 8, -1])),
            Region("twice", "cell", torch.tensor([0, 0])),
            Region("edges", "edge", torch.tensor([[0, 1], [1, 0]])),
        ],
    )
    findings = ops.check(mesh)
    listed = [(f.code, f.severity, f.count) for f in findings]
    assert listed == [
        ("field_nan", "info", 24),
        ("field_nan", "info", 1),
        ("field_inf", "info", 7),
        ("code_out_of_range", "error", 1),
        ("field_nan", "info", 1),
        ("region_out_of_range", "error", 2),
        ("region_out_of_range", "error", 2),
        ("region_repeated", "warning", 1),
        ("region_repeated", "warning", 1),
    ]


@pytest.mark.parametrize("mesh", [meshes.cube_hexes(2), meshes.kuhn_cube(2)], ids=["hex", "tet"])
def test_cells_of_one_type_need_no_list_of_sides(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(cells: Cells) -> None:
        raise AssertionError("the sides of all cells were worked out")

    # The package's attribute of this name is the function.
    monkeypatch.setattr(sys.modules["meshkit.operators.check"], "sides", never)
    assert ops.check(mesh) == []


@st.composite
def broken(draw: st.DrawFn) -> Mesh:
    """A random mesh some of whose integers are replaced by others."""
    mesh = draw(random_meshes())
    g = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def spoil(x: Tensor, low: int, high: int) -> Tensor:
        if len(x) == 0 or draw(st.integers(0, 2)):
            return x
        out = x.clone()
        where = torch.randint(len(x), (1,), generator=g)
        out[where] = torch.randint(low, high, (1,), generator=g).to(x.dtype)
        return out

    cells = mesh.cells
    solids = cells.polyhedra
    if solids is not None:
        inner = spoil(solids.faces[1:-1], -2, 9)
        ends = spoil(solids.offsets[1:-1], -2, 40)
        solids = Polyhedra(
            torch.cat([solids.faces[:1], inner, solids.faces[-1:]]),
            torch.cat([solids.offsets[:1], ends, solids.offsets[-1:]])
            if len(solids.offsets) > 1
            else solids.offsets,
            spoil(solids.connectivity, -3, 40),
        )
    ends = cells.offsets
    if len(ends) > 2:
        ends = torch.cat([ends[:1], spoil(ends[1:-1], -2, 40), ends[-1:]])
    cells = Cells(
        spoil(cells.types, 0, 256), ends, spoil(cells.connectivity, -3, 40), solids, cells.degrees
    )
    regions = [
        r.replace(ids=spoil(r.ids.reshape(-1), -3, 40).reshape(r.ids.shape)) for r in mesh.regions
    ]
    return mesh.replace(cells=cells, regions=regions)


@given(broken())
def test_nothing_is_raised(mesh: Mesh) -> None:
    for finding in ops.check(mesh):
        assert finding.count >= 1
        assert str(finding)


@given(broken())
def test_operators_answer_or_refuse_in_one_line(mesh: Mesh) -> None:
    operators: tuple[Callable[[Mesh], object], ...] = (
        *(ops.faces, ops.edges, ops.boundary, ops.domain, ops.simplices),
        *(ops.cell_measures, ops.cell_centroids, ops.cell_normals),
        *(ops.face_area_vectors, ops.face_centroids),
        *(ops.point_points, ops.point_cells, ops.cell_cells, ops.cell_faces),
    )
    refusals = []
    for operator in operators:
        try:
            operator(mesh)
        except MeshError as why:
            refusals.append(str(why))
    assert all(text and "\n" not in text for text in refusals)


CHEAP = {
    *("point_nan", "point_inf", "offsets_not_ascending", "unknown_type", "wrong_size", "no_faces"),
    *("polyhedra_count", "id_out_of_range", "open_polyhedron", "polyhedron_orientation"),
    *("polyhedron_points", "code_out_of_range", "region_out_of_range"),
}


@settings(max_examples=60, deadline=None)
@given(random_meshes())
def test_what_comes_cheaply_is_what_check_says(mesh: Mesh) -> None:
    """Of sides alone less is known: how many a cell has takes its faces."""
    mesh = mesh.replace(regions=[r for r in mesh.regions if r.entity != "side"])
    assert of_arrays(mesh) == [f for f in ops.check(mesh) if f.code in CHEAP]
