"""OBJ: what it accepts, objects, groups and materials, and that each refusal names the line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.errors import LossError, ReadError, WriteError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
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


def test_a_seam_keeps_its_corners(tmp_path: Path) -> None:
    """Point 1 has two texture vertices: the table and the corners' ids are kept, and come back."""
    text = (
        f"{TRIANGLE}v 1 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvt 5 5 5\nvn 0 0 1\n"
        "f 1/1/1 2/2/1 3/3/1\nl 1 2\nf 2/4 4/2 3\np 4\n"
    )
    mesh = read(saved(tmp_path, text))
    assert mesh.global_data["obj_vt"].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]]
    assert mesh.global_data["obj_vt_ids"].tolist() == [0, 1, 2, -1, -1, 3, 1, -1, -1]
    assert mesh.global_data["obj_vn_ids"].tolist() == [0, 0, 0, -1, -1, -1, -1, -1, -1]
    assert write(mesh, tmp_path / "again.obj").lossless
    assert differences(mesh, read(tmp_path / "again.obj")) == []


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


def test_ids_that_point_nowhere(tmp_path: Path) -> None:
    good = cube_surface(1)
    for bad, problem in (
        (
            good.replace(points=good.points[:5]),
            r"cells: point id 7; expected ids from 0 to 4",
        ),
        (
            good.replace(regions=[Region("r", "cell", [12])]),
            r"region 'r': cell id 12; expected ids from 0 to 11",
        ),
    ):
        with pytest.raises(WriteError, match=problem):
            write(bad, tmp_path / "it.obj")
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
