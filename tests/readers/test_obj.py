"""OBJ: what it accepts, objects, groups and materials, and that each refusal names the line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.cells import Cells
from meshkit.collation import collate
from meshkit.errors import LossError, ReadError, WriteError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.boundary import boundary
from meshkit.operators.simplices import simplices
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.meshes import (
    cube_surface,
    differences,
    one_of_each,
    random_meshes,
    shaken,
    square_quads,
    tetrahedron,
)
from tests.readers.mutations import survives

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


def saved(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "it.obj"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "face",
    [
        *("f 1 2 3", "f -3 -2 -1", "f 1/1 2/2 3/3", "f 1//1 2//1 3//1", "f 1/1/1 2/2/1 3/3/1"),
        *("f 1/-3/-1 2/-2/-1 3/-1/-1", "f  1\t2   3  ", "f 1 2 3 # note", "f 1 \\\n 2 3"),
        *("f 1 \\\r\n2\\\r\n 3\r", "  f 1 2 3", "\tf\t1\t2\t3", "f 1/ 2/ 3/", "f 1/1/ 2/2/ 3/3/"),
    ],
)
def test_the_same_triangle_however_written(tmp_path: Path, face: str) -> None:
    text = f"# a note\n{TRIANGLE}vt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\n\n{face}\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert mesh.points.dtype == torch.float64
    assert mesh.cells.dense.tolist() == [[0, 1, 2]]
    assert mesh.cells.uniform == 5


def test_lines_of_each_kind_may_alternate(tmp_path: Path) -> None:
    """Points and normals in turn, faces between: negative ids count what stands before."""
    text = "v 0 0 0\nvn 0 0 1\nv 1 0 0\nv 0 1 0\nf -3//-1 -2//-1 -1//-1\nv 1 1 0\nf -3 -1 -2\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [1, 3, 2]]


def test_faces_may_name_later_points(tmp_path: Path) -> None:
    assert read(
        saved(
            tmp_path,
            f"f 1 2 3\n{TRIANGLE}",
        )
    ).cells.dense.tolist() == [[0, 1, 2]]


def test_cells_of_every_kind_in_their_order(tmp_path: Path) -> None:
    points = "".join(f"v {i} {i * i} 0\n" for i in range(6))
    text = f"{points}l 1 2\nf 1 2 3 4 5\np 6\nf 1 2 3\np 1 2\nf 1 2 3 4\nl 1 2 3\nf 1 2\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.cells.types.tolist() == [3, 7, 1, 5, 2, 9, 4, 3]
    assert mesh.cells.offsets.tolist() == [0, 2, 7, 8, 11, 13, 17, 20, 22]
    assert mesh.cells.connectivity[2:7].tolist() == [0, 1, 2, 3, 4]
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("line", 1)]


def test_objects_groups_materials_and_smoothing(tmp_path: Path) -> None:
    faces = "f 1 2 3\n"
    text = (
        f"mtllib a b.mtl\n{TRIANGLE}{faces}o big part\ng left all\nusemtl steel 1\n{faces}"
        f"g right all\ns 3\n{faces}o second\ng\nusemtl brass\ns off\n{faces}"
        f"o big part\n{faces}o none\n"
    )
    mesh = read(saved(tmp_path, text))
    found = [(r.name, r.kind, r.ids.tolist()) for r in mesh.regions]
    assert found == [
        ("big part", "object", [1, 2, 4]),
        ("second", "object", [3]),
        ("none", "object", []),
        ("left", "group", [1]),
        ("all", "group", [1, 2]),
        ("right", "group", [2]),
        ("steel 1", "material", [1, 2]),
        ("brass", "material", [3, 4]),
    ]
    assert {r.ids.dtype for r in mesh.regions} == {torch.int32} == {mesh.cells.connectivity.dtype}
    assert mesh.cell_data["smoothing_group"].tolist() == [0, 0, 3, 0, 0]
    assert mesh.info.attributes == {"mtllib": ["a b.mtl"]}


def test_one_name_for_two_kinds(tmp_path: Path) -> None:
    mesh = read(saved(tmp_path, f"{TRIANGLE}o Cube\ng Cube\nusemtl Cube\nf 1 2 3\n"))
    assert mesh.regions.names == ("Cube", "Cube (group)", "Cube (material)")
    assert write(mesh, tmp_path / "again.obj").lossless
    assert differences(mesh, read(tmp_path / "again.obj")) == []


def test_colours_and_weights(tmp_path: Path) -> None:
    text = "v 0 0 0 1 0 0.5\nv 1 0 0\nv 0 1 0 2\nf 1 2 3\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.point_data["colors"][0].tolist() == [1, 0, 0.5]
    assert mesh.point_data["colors"][1:].isnan().all()
    assert mesh.point_data["w"].tolist() == [1, 1, 2]


def test_one_texture_vertex_and_normal_a_point(tmp_path: Path) -> None:
    text = f"{TRIANGLE}vt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\nvn 0 1 0\nf 1/3/1 2/2/2 3/1/1\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.point_data["texture"].tolist() == [[0, 1], [1, 0], [0, 0]]
    assert mesh.point_data["normals"].tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1]]


SEAM = (
    f"{TRIANGLE}v 1 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvt 5 5 5\nvn 0 0 1\n"
    "f 1/1/1 2/2/1 3/3/1\nl 1 2\nf 2/4 4/2 3\np 4\n"
)


def corners_of(mesh: Mesh, name: str) -> list[list[list[float]]]:
    """The values at the corners of each cell, those that are none left out."""
    return [
        [corner.tolist() for corner in row if not bool(corner.isnan().all())]
        for row in mesh.cell_data[name]
    ]


def test_a_seam_keeps_its_corners(tmp_path: Path) -> None:
    """Point 1 has two texture vertices: each corner's values are kept, and come back."""
    mesh = read(saved(tmp_path, SEAM))
    assert mesh.cell_data["corner_texture"].shape == (4, 3, 3)
    assert corners_of(mesh, "corner_texture") == [
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [],
        [[5, 5, 5], [1, 0, 0]],
        [],
    ]
    assert mesh.cell_data["corner_texture"][2, 2].isnan().all()
    assert corners_of(mesh, "corner_normals") == [[[0, 0, 1]] * 3, [], [], []]
    assert write(mesh, tmp_path / "again.obj").lossless
    assert differences(mesh, read(tmp_path / "again.obj")) == []


def test_corners_stay_with_their_cells(tmp_path: Path) -> None:
    """Through selecting, joining and writing, each corner has the values that it had."""
    mesh = read(saved(tmp_path, SEAM))
    given_ = corners_of(mesh, "corner_texture")
    for ids in ([2, 0], [3, 2], [2], [1, 2, 3, 0]):
        chosen = mesh.select(ids)
        write(chosen, tmp_path / "some.obj", allow_loss=True)
        for made in (chosen, read(tmp_path / "some.obj")):
            assert corners_of(made, "corner_texture") == [given_[i] for i in ids]
    both = collate([mesh.select([2, 0]), mesh])
    both = both.replace(global_data={})
    assert write(both, tmp_path / "both.obj").lossless
    back = read(tmp_path / "both.obj")
    assert corners_of(back, "corner_texture") == [given_[2], given_[0], *given_]
    assert corners_of(back, "corner_normals")[1:3] == [[[0, 0, 1]] * 3] * 2


def test_corners_of_other_cells_are_not_written(tmp_path: Path) -> None:
    """The triangles of a quad inherit the quad's corners: four of them, and no triangle's."""
    text = f"{TRIANGLE}v 1 1 0\nvt 0 0\nvt 1 0\nf 1/1 2/2 4/1 3/1\nf 1/2 2/2 4/2\n"
    mesh = read(saved(tmp_path, text))
    assert mesh.cell_data["corner_texture"].shape == (2, 4, 2)
    split = simplices(mesh)
    with pytest.raises(LossError, match=r"corner_texture.*beyond the corners of 4 cells"):
        write(split, tmp_path / "split.obj")
    write(split, tmp_path / "split.obj", allow_loss=True)
    assert "vt" not in (tmp_path / "split.obj").read_text()
    of_vertices = make_mesh(
        [[0, 0, 0.0]], [[0]], types="vertex", cell_data={"corner_texture": torch.ones(1, 1, 2)}
    )
    with pytest.raises(LossError, match="beyond the corners of 1 cells"):
        write(of_vertices, tmp_path / "split.obj")


def test_what_reading_makes_of_corners_is_counted(tmp_path: Path) -> None:
    one_each = make_mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0.0]],
        [[0, 1, 2]],
        cell_data={"corner_texture": torch.arange(6.0).double().reshape(1, 3, 2)},
    )
    report = write(one_each, tmp_path / "it.obj", allow_loss=True)
    assert "one a point, read as point_data/texture" in str(report)
    assert read(tmp_path / "it.obj").point_data["texture"].tolist() == [[0, 1], [2, 3], [4, 5]]
    wide = read(saved(tmp_path, SEAM)).with_data(
        cell={
            "corner_normals": torch.nn.functional.pad(
                read(tmp_path / "it.obj").cell_data["corner_normals"], (0, 0, 0, 2), value=math.nan
            )
        }
    )
    assert "5 corners a cell, read as 3" in str(write(wide, tmp_path / "wide.obj"))
    none = wide.with_data(cell={"corner_normals": torch.full((4, 3, 3), math.nan)})
    report = write(none, tmp_path / "none.obj")
    assert [e.loss for e in report.dropped if e.name == "cell_data/corner_normals"] == [False]
    assert "vn" not in (tmp_path / "none.obj").read_text()


def test_texture_vertices_of_no_corner_are_counted(tmp_path: Path) -> None:
    text = f"{TRIANGLE}vt 0 0\nvt 1 0\nvt nan nan\nf 1/1 2/3 3\n"
    mesh = read(saved(tmp_path, text))
    assert corners_of(mesh, "corner_texture") == [[[0, 0]]]
    assert [(e.name, e.count, e.reason) for e in mesh.info.report.losses] == [
        ("vt", 1, "no corner refers to it"),
        ("vt", 1, "all NaN, which stands for none"),
    ]
    unused = read(saved(tmp_path, f"{TRIANGLE}vn 0 0 1\nf 1 2 3\n"))
    assert list(unused.cell_data.keys()) == []
    assert [(e.name, e.count) for e in unused.info.report.losses] == [("vn", 1)]


def test_corners_that_would_take_too_much_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = "".join(f" {i % 3 + 1}/{i % 2 + 1}" for i in range(100))
    text = f"{TRIANGLE}vt 0 0\nvt 1 0\nf{ring}\n" + "f 1/1 2/2 3/1\n" * 20
    assert read(saved(tmp_path, text)).cell_data["corner_texture"].shape == (21, 100, 2)
    monkeypatch.setattr("meshkit.readers.padded_rows._SMALL", 1 << 10)
    mesh = read(saved(tmp_path, text))
    assert list(mesh.cell_data.keys()) == []
    (lost,) = mesh.info.report.losses
    assert lost.name == "cell_data/corner_texture" and "over 8 times the memory" in lost.reason


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


def test_free_form_geometry_is_counted(tmp_path: Path) -> None:
    text = f"{TRIANGLE}f 1 2 3\nvp 0 1\ncstype bezier\ndeg 2\ncurv 0 1 1 2 3\nend\nbevel on\n"
    mesh = read(saved(tmp_path, text))
    lost = {e.name: e.count for e in mesh.info.report.losses}
    assert lost == {"vp": 1, "cstype": 1, "deg": 1, "curv": 1, "end": 1, "bevel": 1}


def test_latin_names_and_old_line_ends(tmp_path: Path) -> None:
    text = f"{TRIANGLE}o caf\xe9\nf 1 2 3\n".replace("\n", "\r").encode("latin-1")
    assert read(saved(tmp_path, text)).regions.names == ("café",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("v 0 0 x\n", r"line 1: found 'x'; expected 3 to 7 numbers after 'v'"),
        ("v 0 0\n", r"line 1: 2 numbers; expected 3 to 7"),
        ("v 0 0 0 1 1\n", r"line 1: 5 numbers; expected x y z, "),
        ("\nv 0 0 0\n\nf 1 1 2\n", r"line 4: point id 2; expected 1 to 1, or as far back"),
        (f"{TRIANGLE}f 1 2 0\n", r"line 4: point id 0; expected 1 to 3"),
        (f"{TRIANGLE}f 1 2 -4\n", r"line 4: point id -4; expected 1 to 3"),
        (f"{TRIANGLE}f 1 2 \\\n 3\nf 1 2 9\n", r"line 6: point id 9"),
        (f"{TRIANGLE}f 1/1 2 3\n", r"line 4: texture id 1; expected 1 to 0"),
        (f"{TRIANGLE}f 1//7 2 3\n", r"line 4: normal id 7; expected 1 to 0"),
        (f"{TRIANGLE}f 1 2 3.0\n", r"line 4: found '3\.0'; expected ids of points after 'f'"),
        (f"{TRIANGLE}f 1 2 /3\n", r"line 4: found '/3'"),
        (f"{TRIANGLE}f 1/1/1/1 2 3\n", r"line 4: found '1/1/1/1'"),
        (f"{TRIANGLE}f\n", r"line 4: 0 ids; expected at least 1"),
        (f"{TRIANGLE}l 1\n", r"line 4: 1 ids; expected at least 2"),
        (f"{TRIANGLE}f 1 2 99999999999999999999\n", r"line 4: "),
        ("vn 0 1\n", r"line 1: 2 numbers; expected 3 numbers after 'vn'"),
        (f"{TRIANGLE}hello world\n", r"line 4: found 'hello'; expected a statement of OBJ"),
        (f"{TRIANGLE}s x\n", r"line 4: found 'x'; expected a number or 'off'"),
        (" \n\n", r"holds nothing but blanks"),
    ],
)
def test_a_refusal_names_the_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem):
        read(saved(tmp_path, text), format="obj")


def test_a_line_of_blanks_does_not_hang(tmp_path: Path) -> None:
    mesh = read(saved(tmp_path, TRIANGLE + " " * 3_000_000 + "f 1 2 3\n"))
    assert mesh.n_cells == 1


def test_damage(tmp_path: Path) -> None:
    text = (
        f"mtllib a.mtl\n{TRIANGLE}v 1 1 0 1 0 0\nvt 0 0\nvn 0 0 1\no one\ng a b\ns 1\n"
        "f 1/1/1 2/1/1 3/1/1\nusemtl m\nf -1 -2 -3 -4\nl 1 2\np 3\nf 1//1 2 3 \\\n 4\n"
    )
    assert survives(tmp_path / "it.obj", text.encode()) > 20


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


# --- real files ----------------------------------------------------------------------------------


def test_two_objects(samples: Path, tmp_path: Path) -> None:
    mesh = read(samples / "obj" / "two_objects.obj")
    assert (mesh.n_points, mesh.n_cells) == (12, 16)
    assert [(r.name, len(r), r.kind) for r in mesh.regions] == [
        ("cube", 12, "object"),
        ("tetra", 4, "object"),
    ]
    corners = mesh.points[mesh.cells.dense.long()]
    sides = corners[:, 1:] - corners[:, :1]
    area = torch.linalg.cross(sides[:, 0], sides[:, 1]).norm(dim=1).sum() / 2
    assert float(area) == pytest.approx(8.36603, abs=5e-6)
    assert write(mesh, tmp_path / "it.obj").lossless
    assert differences(mesh, read(tmp_path / "it.obj")) == []
