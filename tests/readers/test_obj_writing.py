"""OBJ: what we write comes back, is counted, or is listed as lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.cells import Cells
from meshkit.errors import LossError, WriteError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.boundary import boundary
from meshkit.operators.simplices import simplices
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import cube_surface, one_of_each, shaken, square_quads, tetrahedron
from tests.random_meshes import random_meshes

# --- what reading changes is counted -------------------------------------------------------------


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([("a", "group", [1, 0])], ["its cells in the order of the file, each once"]),
        ([("a", "group", [0, 0])], ["its cells in the order of the file, each once"]),
        ([("a", "group", [0, 1]), ("b", "group", [1])], []),
        ([("b", "group", [1]), ("a", "group", [0])], ["their order: objects, groups, materials"]),
        (
            [("m", "material", [0, 1, 2, 3]), ("o", "object", [0, 1, 2, 3])],
            ["their order: objects, groups"],
        ),
    ],
)
def test_the_order_of_regions_and_their_cells_is_counted(
    tmp_path: Path, regions: list[tuple[str, str, list[int]]], expected: list[str]
) -> None:
    made = [Region(name, "cell", torch.tensor(ids), kind=kind) for name, kind, ids in regions]
    mesh = square_quads(2, 3).replace(regions=made)
    report = write(mesh, tmp_path / "it.obj")
    reasons = [e.reason for e in report.converted if e.what.startswith("region")]
    assert len(reasons) == len(expected)
    assert all(a.startswith(b) for a, b in zip(reasons, expected, strict=True))
    back = read(tmp_path / "it.obj")
    same = [(r.name, r.ids.tolist()) for r in mesh.regions] == [
        (r.name, r.ids.tolist()) for r in back.regions
    ]
    assert same == (not expected)


def test_names_that_reading_changes_are_counted(tmp_path: Path) -> None:
    """Two regions that the file would call the same are not merged."""
    regions = [
        Region("a", "cell", [0], kind="group"),
        Region("b", "cell", [1], kind="group", attributes={"name": "a"}),
        Region("c", "cell", [2], kind="group", attributes={"name": "d"}),
    ]
    mesh = square_quads(2, 3).replace(regions=regions)
    report = write(mesh, tmp_path / "it.obj", allow_loss=True)
    assert [(e.name, e.reason) for e in report.losses] == [
        ("b", "another region is the group 'a' already")
    ]
    assert "read as 'd'" in str(report)
    assert read(tmp_path / "it.obj").regions.names == ("a", "d")


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        ("pixel", r"operators\.simplices\(mesh\) makes triangles and lines of them"),
        ("triangle_strip", r"operators\.simplices\(mesh\) makes triangles and lines of them"),
        ("tetra", r"operators\.boundary\(mesh\) makes polygons of solids"),
    ],
)
def test_the_hint_makes_cells_that_obj_has(tmp_path: Path, cell: str, hint: str) -> None:
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]
    mesh = make_mesh(corners, [[0, 1, 2, 3]], types=[cell])
    with pytest.raises(LossError, match=hint):
        write(mesh, tmp_path / "it.obj")
    made = boundary(mesh) if cell == "tetra" else simplices(mesh)
    write(made, tmp_path / "it.obj", allow_loss=True)
    assert read(tmp_path / "it.obj").n_cells == made.n_cells


# --- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [shaken(cube_surface(3)), square_quads(3, 3)], ids=str)
def test_surfaces_come_back(mesh: Mesh, tmp_path: Path) -> None:
    assert write(mesh, tmp_path / "it.obj").lossless
    assert differences(mesh, read(tmp_path / "it.obj"), id_dtypes=False) == []


def test_regions_and_fields_come_back(tmp_path: Path) -> None:
    mesh = shaken(cube_surface(2))
    mesh = mesh.replace(
        point_data={
            "colors": torch.rand(26, 3, dtype=torch.float64),
            "texture": torch.rand(26, 2, dtype=torch.float64),
            "normals": torch.rand(26, 3, dtype=torch.float64),
        },
        cell_data={"smoothing_group": torch.arange(48, dtype=torch.int32) // 5},
        regions=[
            Region("first half", "cell", torch.arange(10, 20), kind="object"),
            Region("rest #2", "cell", torch.arange(20, 48), kind="object"),
            Region("no cells", "cell", [], kind="object"),
            Region("odd", "cell", torch.arange(1, 48, 2), kind="group"),
            Region("third", "cell", torch.arange(0, 48, 3), kind="group"),
            Region("acier é", "cell", torch.arange(48), kind="material"),
        ],
        info=MeshInfo(attributes={"mtllib": ["x.mtl", "y z.mtl"]}),
    )
    assert write(mesh, tmp_path / "it.obj").lossless
    back = read(tmp_path / "it.obj")
    by_name = [
        mesh.replace(regions=sorted(m.regions, key=lambda r: r.name), info=mesh.info)
        for m in (mesh, back)
    ]
    assert differences(*by_name, id_dtypes=False) == []
    assert differences(mesh.replace(regions=()), back.replace(regions=()), id_dtypes=False) == []


@given(
    mesh=random_meshes(
        dims=(3,),
        point_dtypes=(torch.float64,),
        types=("vertex", "line", "triangle", "quad"),
        polyhedra=False,
        faces=False,
        regions=(),
    )
)
@settings(max_examples=60)
def test_any_mesh_comes_back_but_for_its_fields(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("obj") / "it.obj"
    mesh = mesh.replace(
        point_data={},
        cell_data={},
        global_data={},
        info=MeshInfo(),
        # any NaN is written as nan
        points=torch.where(mesh.points.isnan(), torch.nan, mesh.points),
    )
    assert write(mesh, path).lossless
    assert differences(mesh, read(path, format="obj"), id_dtypes=False) == []


@given(members=st.lists(st.integers(0, 7), min_size=12, max_size=12))
@settings(max_examples=60)
def test_overlapping_groups_come_back(
    members: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each cell is in any of three groups, by the bits of a number."""
    path = tmp_path_factory.mktemp("obj") / "it.obj"
    regions = [
        Region(f"g{bit}", "cell", [i for i, m in enumerate(members) if m >> bit & 1], kind="group")
        for bit in range(3)
    ]
    mesh = cube_surface(1).replace(regions=regions)
    assert write(mesh, path).lossless
    back = read(path)
    for region in regions:
        assert back.region(region.name).ids.tolist() == region.ids.tolist()


def test_what_obj_lacks_is_listed_and_nothing_written(tmp_path: Path) -> None:
    mesh = one_of_each().replace(
        point_data={"p": torch.zeros(33)},
        regions=[
            Region("a b", "cell", torch.tensor([1]), kind="group"),
            Region("x", "cell", torch.tensor([2]), kind="object"),
            Region("y", "cell", torch.tensor([2]), kind="object"),
            Region("corner", "point", torch.tensor([0])),
            Region("zone", "cell", torch.tensor([3]), kind="cellZone", source_id=4),
        ],
        info=MeshInfo(length_unit="m", time=1.0),
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.obj")
    lost = {(e.what, e.name) for e in caught.value.report.losses}
    assert lost == {
        *(("cells", name) for name in ("tetra", "hexahedron", "wedge", "pyramid")),
        ("field", "point_data/p"),
        *(("region", name) for name in ("a b", "x", "y", "corner")),
        *(("region", name) for name in ("zone: kind", "zone: source_id")),
        ("info", "length_unit"),
        ("info", "time"),
    }
    assert list(tmp_path.iterdir()) == []
    write(mesh, tmp_path / "it.obj", allow_loss=True)
    assert read(tmp_path / "it.obj").cells.types.tolist() == [1, 3, 5, 9]


def test_polygons_of_three_and_four_are_counted(tmp_path: Path) -> None:
    mesh = make_mesh(
        torch.rand(5, 3).double(), [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]], types=[7, 7, 7]
    )
    report = write(mesh, tmp_path / "it.obj")
    assert [(e.name, e.count) for e in report.converted] == [("polygon", 1), ("polygon", 1)]
    assert read(tmp_path / "it.obj").cells.types.tolist() == [5, 9, 7]


def test_solids_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LossError, match=r"operators\.boundary"):
        write(tetrahedron(), tmp_path / "it.obj")


def test_trimesh_sees_the_same(tmp_path: Path) -> None:
    import trimesh

    mesh = shaken(cube_surface(4)).replace(
        regions=[
            Region("a", "cell", torch.arange(100), kind="object"),
            Region("b", "cell", torch.arange(100, 192), kind="object"),
        ]
    )
    write(mesh, tmp_path / "it.obj")
    other = trimesh.load_mesh(tmp_path / "it.obj")
    assert len(other.faces) == 192
    assert other.volume == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl"])
def test_ids_that_point_nowhere(tmp_path: Path, suffix: str) -> None:
    good = cube_surface(1)
    for bad, problem in (
        (
            good.replace(points=good.points[:5]),
            r"cell 0: expected point ids from 0 to 4, found 6",
        ),
        (
            good.replace(regions=[Region("r", "cell", [12])]),
            r"region 'r': expected cells from 0 to 11, found 12 in row 0",
        ),
    ):
        with pytest.raises(WriteError, match=problem):
            write(bad, tmp_path / f"it.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl"])
def test_unsound_cells_are_refused(tmp_path: Path, suffix: str) -> None:
    """Offsets that descend, and a quad of three points, which would be read as a triangle."""
    good = cube_surface(1)
    types = torch.tensor([9, 7, 7], dtype=torch.uint8)
    for cells, problem in (
        (Cells(types, torch.tensor([0, 4, 2, 6]), torch.arange(6)), "offsets"),
        (Cells(types, torch.tensor([0, 3, 6, 6]), torch.arange(6)), "a quad has 4 points, found 3"),
    ):
        bad = make_mesh(good.points, good.cells).replace(cells=cells)
        with pytest.raises(WriteError, match=problem):
            write(bad, tmp_path / f"it.{suffix}", allow_loss=True)
    assert list(tmp_path.iterdir()) == []
