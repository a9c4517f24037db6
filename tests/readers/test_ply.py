"""PLY: files by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.collation import collate
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.readers.by_hand import read_text
from tests.readers.ply_files import HEAD, SQUARE, packed


def test_square_by_hand(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.ply", SQUARE)
    assert mesh.points.dtype == torch.float32
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.cells.connectivity.dtype == torch.int32
    assert [str(e) for e in mesh.info.report] == [
        "kept      points (4)",
        "kept      cells triangle (2)",
    ]


def test_strips_of_too_few_vertices_are_what_their_vertices_make(tmp_path: Path) -> None:
    mesh = read_text(
        tmp_path / "it.ply",
        b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        b"property float z\nelement tristrips 2\nproperty list int int vertex_indices\n"
        b"end_header\n0 0 0\n1 0 0\n0 1 0\n8 0 1 2 -1 0 -1 1 2\n0\n",
    )
    assert mesh.cells.types.tolist() == [6, 1, 3]
    assert mesh.cells.sizes.tolist() == [3, 1, 2]
    said = [(e.name, e.count) for e in mesh.info.report.converted]
    assert ("strip", 2) in said
    assert [(e.name, e.count) for e in mesh.info.report.dropped] == [("strip", 1)]


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_liberty_in_binary(tmp_path: Path, order: str) -> None:
    mesh = read_text(tmp_path / "it.ply", packed(order))
    assert mesh.points.dtype == torch.float64
    assert mesh.points[3].tolist() == [0.75, 1.5, -3]
    assert mesh.cells.types.tolist() == [3, 3, 5, 7, 9, 0, 6, 6]
    assert mesh.cells.sizes.tolist() == [2, 2, 3, 5, 4, 0, 4, 3]
    assert mesh.cells.connectivity.tolist() == [
        *(0, 1, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 3, 2)
    ]
    assert mesh.point_data["normals"].tolist() == [[0, 0, 1]] * 5
    assert mesh.info.field("point_data", "normals").kind == "normals"
    assert mesh.point_data["colors"].dtype == torch.uint8
    assert mesh.point_data["colors"][4].tolist() == [4, 2, 255]
    assert mesh.point_data["texture"][2].tolist() == [0.25, 2]
    assert sorted(mesh.point_data.keys()) == [
        *("colors", "normals", "texture", "weights", "weights_length")
    ]
    length = mesh.cell_data["length"].tolist()
    assert length[:6] == [0.5, 1.5, 0, -1, -2, -3]
    assert np.isnan(length[6:]).all()
    assert mesh.cell_data["flags"].tolist() == [0, 0, 0, 1, 2, 3, 0, 0]
    assert mesh.cell_data["texcoord"][3, :2].tolist() == [1, 1.125]
    assert mesh.point_data["weights"].tolist() == [
        *([-1, -1, -1, -1], [0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1], [0, 1, 2, 3])
    ]
    assert mesh.point_data["weights"].dtype == torch.int16
    assert mesh.point_data["weights_length"].tolist() == [0, 1, 2, 3, 4]
    assert mesh.global_data["camera", "focus"].tolist() == [35]
    assert mesh.global_data["camera", "pair"].tolist() == [[7, 8]]
    assert mesh.info.attributes["comments"] == ["by hand", "obj_info num_cols 3"]
    assert mesh.info.report.lossless
    filled = {e.name: e.count for e in mesh.info.report.converted if "without this" in e.reason}
    assert filled == {"cell_data/length": 2, "cell_data/flags": 4, "cell_data/texcoord": 4}


RAGGED = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
property list uchar double l
element face 2
property list uchar int vertex_indices
property list uchar uchar tags
end_header
0 0 0 1 5
1 0 0 2 6 7
0 1 0 0
1 1 0 3 8 9 nan
3 0 1 2 0
3 1 3 2 2 4 5
"""


def test_lists_of_different_lengths_stay_with_their_rows(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.ply", RAGGED)
    assert list(mesh.global_data.keys()) == []
    nan = float("nan")
    filled = torch.tensor([[5, nan, nan], [6, 7, nan], [nan, nan, nan], [8, 9, nan]]).double()
    assert torch.equal(mesh.point_data["l"].nan_to_num(-7), filled.nan_to_num(-7))
    assert mesh.point_data["l_length"].tolist() == [1, 2, 0, 3]
    assert mesh.cell_data["tags"].tolist() == [[0, 0], [4, 5]]
    assert mesh.cell_data["tags_length"].tolist() == [0, 2]
    counted = [(e.name, e.count) for e in mesh.info.report.converted]
    assert counted == [("point_data/l", 4), ("cell_data/tags", 2)]
    second = mesh.select([1])
    assert second.point_data["l_length"].tolist() == [2, 0, 3]
    assert second.cell_data["tags"].tolist() == [[4, 5]]
    both = collate([second, mesh]).replace(global_data={})
    assert both.point_data["l_length"].tolist() == [2, 0, 3, 1, 2, 0, 3]
    assert write(both, tmp_path / "both.ply").lossless
    assert differences(both, read(tmp_path / "both.ply")) == []


def test_the_lengths_of_lists_take_a_free_name(tmp_path: Path) -> None:
    text = RAGGED.replace("property list uchar uchar tags", "property list uchar uchar a")
    text = text.replace("vertex_indices\n", "vertex_indices\nproperty int a_length\n")
    text = text.replace("2 0\n", "2 77 0\n").replace("2 2 4 5", "2 78 2 4 5")
    mesh = read_text(tmp_path / "it.ply", text)
    assert mesh.cell_data["a_length"].tolist() == [77, 78]
    assert mesh.cell_data["a_length_"].tolist() == [0, 2]


def test_lists_that_would_take_too_much_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join("0 0 0 0\n" for _ in range(99)) + "0 0 0 9 " + "1 " * 9 + "\n"
    head = RAGGED[: RAGGED.index("element face")].replace("vertex 4", "vertex 100")
    text = f"{head}end_header\n{rows}"
    assert read_text(tmp_path / "it.ply", text).point_data["l"].shape == (100, 9)
    monkeypatch.setattr("meshkit.readers.padded_rows._SMALL", 1 << 10)
    mesh = read_text(tmp_path / "it.ply", text)
    assert list(mesh.point_data.keys()) == []
    (lost,) = mesh.info.report.losses
    assert lost.name == "point_data/l" and "over 8 times their memory" in lost.reason


def test_lists_of_no_rows(tmp_path: Path) -> None:
    head = RAGGED[: RAGGED.index("end_header")].replace("face 2", "face 0")
    rows = "0 0 0 0\n" * 4
    mesh = read_text(tmp_path / "it.ply", f"{head}end_header\n{rows}")
    assert mesh.point_data["l"].shape == (4, 0)
    assert mesh.cell_data["tags"].shape == (0, 0)


def test_comments_are_counted_and_those_of_other_programs_kept(tmp_path: Path) -> None:
    text = SQUARE.replace("format", "comment by hand\nobj_info n 3\nformat")
    mesh = read_text(tmp_path / "it.ply", text)
    kept = [(e.name, e.count) for e in mesh.info.report.kept if e.what == "info"]
    assert kept == [("attributes/comments", 2)]
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []
    data = (tmp_path / "it.ply").read_bytes()
    more = data.replace(b"element vertex", b"comment later\ncomment by hand\nelement vertex")
    back = read_text(tmp_path / "it.ply", more)
    said = ["by hand", "obj_info n 3", "later", "by hand"]
    assert back.info.attributes["comments"] == said
    kept = [(e.name, e.count) for e in back.info.report.kept if e.what == "info"]
    assert kept == [("attributes/comments", 4)]


def test_mixed_faces_in_ascii(tmp_path: Path) -> None:
    text = SQUARE.replace("face 2", "face 3\nproperty int c").replace(
        "3 0 1 2\n3 0 2 3\n", "7 4 0 1 2 3\n8 3 0 1 2\n\n-9 3 0\n2 3"
    )
    mesh = read_text(tmp_path / "it.ply", text)
    assert mesh.cells.types.tolist() == [9, 5, 5]
    assert mesh.cells.connectivity.tolist() == [0, 1, 2, 3, 0, 1, 2, 0, 2, 3]
    assert mesh.cell_data["c"].tolist() == [7, 8, -9]


def test_old_mac_line_ends(tmp_path: Path) -> None:
    assert read_text(tmp_path / "it.ply", SQUARE.replace("\n", "\r")).n_cells == 2


def test_points_alone_and_in_fewer_dimensions(tmp_path: Path) -> None:
    text = HEAD + "element vertex 2\nproperty int x\nproperty uchar y\nend_header\n1 2 -3 4"
    mesh = read_text(tmp_path / "it.ply", text)
    assert (mesh.n_cells, mesh.points.dtype) == (0, torch.float64)
    assert mesh.points.tolist() == [[1, 2], [-3, 4]]


def test_velocities_are_no_texture(tmp_path: Path) -> None:
    names = "".join(f"property float {name}\n" for name in ("x", "y", "z", "u", "v", "w"))
    mesh = read_text(
        tmp_path / "it.ply", HEAD + f"element vertex 1\n{names}end_header\n1 2 3 4 5 6"
    )
    assert sorted(mesh.point_data.keys()) == ["u", "v", "w"]
    names = names.replace("property float w\n", "")
    mesh = read_text(tmp_path / "it.ply", HEAD + f"element vertex 1\n{names}end_header\n1 2 3 4 5")
    assert mesh.point_data["texture"].tolist() == [[4, 5]]
    assert mesh.info.field("point_data", "texture").kind == "tcoords"


def test_what_follows_the_last_element_is_counted(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.ply", SQUARE.replace("face 2", "face 1"))
    assert [(e.what, e.count) for e in mesh.info.report.losses] == [("numbers", 4)]
