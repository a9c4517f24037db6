"""OBJ: what it accepts, objects, groups, materials and corners, and refusals that name the line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from meshkit.collation import collate
from meshkit.errors import LossError, ReadError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.simplices import simplices
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.readers.by_hand import read_text, written
from tests.readers.mutations import survives

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


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
    mesh = read_text(tmp_path / "it.obj", text)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert mesh.points.dtype == torch.float64
    assert mesh.cells.dense.tolist() == [[0, 1, 2]]
    assert mesh.cells.uniform == 5


def test_lines_of_each_kind_may_alternate(tmp_path: Path) -> None:
    """Points and normals in turn, faces between: negative ids count what stands before."""
    text = "v 0 0 0\nvn 0 0 1\nv 1 0 0\nv 0 1 0\nf -3//-1 -2//-1 -1//-1\nv 1 1 0\nf -3 -1 -2\n"
    mesh = read_text(tmp_path / "it.obj", text)
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [1, 3, 2]]


def test_faces_may_name_later_points(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.obj", f"f 1 2 3\n{TRIANGLE}")
    assert mesh.cells.dense.tolist() == [[0, 1, 2]]


def test_cells_of_every_kind_in_their_order(tmp_path: Path) -> None:
    points = "".join(f"v {i} {i * i} 0\n" for i in range(6))
    text = f"{points}l 1 2\nf 1 2 3 4 5\np 6\nf 1 2 3\np 1 2\nf 1 2 3 4\nl 1 2 3\nf 1 2\n"
    mesh = read_text(tmp_path / "it.obj", text)
    assert mesh.cells.types.tolist() == [3, 7, 1, 5, 2, 9, 4, 3]
    assert mesh.cells.offsets.tolist() == [0, 2, 7, 8, 11, 13, 17, 20, 22]
    assert mesh.cells.connectivity[2:7].tolist() == [0, 1, 2, 3, 4]
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("line", 1)]
    assert sum(e.count for e in mesh.info.report if e.what == "cells") == mesh.n_cells


def test_objects_groups_materials_and_smoothing(tmp_path: Path) -> None:
    faces = "f 1 2 3\n"
    text = (
        f"mtllib a b.mtl\n{TRIANGLE}{faces}o big part\ng left all\nusemtl steel 1\n{faces}"
        f"g right all\ns 3\n{faces}o second\ng\nusemtl brass\ns off\n{faces}"
        f"o big part\n{faces}o none\n"
    )
    mesh = read_text(tmp_path / "it.obj", text)
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
    mesh = read_text(tmp_path / "it.obj", f"{TRIANGLE}o Cube\ng Cube\nusemtl Cube\nf 1 2 3\n")
    assert mesh.regions.names == ("Cube", "Cube (group)", "Cube (material)")
    assert write(mesh, tmp_path / "again.obj").lossless
    assert differences(mesh, read(tmp_path / "again.obj")) == []


def test_colours_and_weights(tmp_path: Path) -> None:
    text = "v 0 0 0 1 0 0.5\nv 1 0 0\nv 0 1 0 2\nf 1 2 3\n"
    mesh = read_text(tmp_path / "it.obj", text)
    assert mesh.point_data["colors"][0].tolist() == [1, 0, 0.5]
    assert mesh.point_data["colors"][1:].isnan().all()
    assert mesh.point_data["w"].tolist() == [1, 1, 2]


def test_one_texture_vertex_and_normal_a_point(tmp_path: Path) -> None:
    text = f"{TRIANGLE}vt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\nvn 0 1 0\nf 1/3/1 2/2/2 3/1/1\n"
    mesh = read_text(tmp_path / "it.obj", text)
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
    mesh = read_text(tmp_path / "it.obj", SEAM)
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
    mesh = read_text(tmp_path / "it.obj", SEAM)
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
    mesh = read_text(tmp_path / "it.obj", text)
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
    wide = read_text(tmp_path / "it.obj", SEAM).with_data(
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
    mesh = read_text(tmp_path / "it.obj", text)
    assert corners_of(mesh, "corner_texture") == [[[0, 0]]]
    assert [(e.name, e.count, e.reason) for e in mesh.info.report.losses] == [
        ("vt", 1, "no corner refers to it"),
        ("vt", 1, "all NaN, which stands for none"),
    ]
    unused = read_text(tmp_path / "it.obj", f"{TRIANGLE}vn 0 0 1\nf 1 2 3\n")
    assert list(unused.cell_data.keys()) == []
    assert [(e.name, e.count) for e in unused.info.report.losses] == [("vn", 1)]


def test_corners_that_would_take_too_much_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = "".join(f" {i % 3 + 1}/{i % 2 + 1}" for i in range(100))
    text = f"{TRIANGLE}vt 0 0\nvt 1 0\nf{ring}\n" + "f 1/1 2/2 3/1\n" * 20
    assert read_text(tmp_path / "it.obj", text).cell_data["corner_texture"].shape == (21, 100, 2)
    monkeypatch.setattr("meshkit.readers.padded_rows._SMALL", 1 << 10)
    mesh = read_text(tmp_path / "it.obj", text)
    assert list(mesh.cell_data.keys()) == []
    (lost,) = mesh.info.report.losses
    assert lost.name == "cell_data/corner_texture" and "over 8 times the memory" in lost.reason


def test_free_form_geometry_is_counted(tmp_path: Path) -> None:
    text = f"{TRIANGLE}f 1 2 3\nvp 0 1\ncstype bezier\ndeg 2\ncurv 0 1 1 2 3\nend\nbevel on\n"
    mesh = read_text(tmp_path / "it.obj", text)
    lost = {e.name: e.count for e in mesh.info.report.losses}
    assert lost == {"vp": 1, "cstype": 1, "deg": 1, "curv": 1, "end": 1, "bevel": 1}


def test_latin_names_and_old_line_ends(tmp_path: Path) -> None:
    text = f"{TRIANGLE}o caf\xe9\nf 1 2 3\n".replace("\n", "\r").encode("latin-1")
    assert read_text(tmp_path / "it.obj", text).regions.names == ("café",)


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
        read(written(tmp_path / "it.obj", text), format="obj")


def test_a_line_of_blanks_does_not_hang(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.obj", TRIANGLE + " " * 3_000_000 + "f 1 2 3\n")
    assert mesh.n_cells == 1


def test_damage(tmp_path: Path) -> None:
    text = (
        f"mtllib a.mtl\n{TRIANGLE}v 1 1 0 1 0 0\nvt 0 0\nvn 0 0 1\no one\ng a b\ns 1\n"
        "f 1/1/1 2/1/1 3/1/1\nusemtl m\nf -1 -2 -3 -4\nl 1 2\np 3\nf 1//1 2 3 \\\n 4\n"
    )
    assert survives(tmp_path / "it.obj", text.encode()) > 20


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
