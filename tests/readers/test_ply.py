"""PLY: what others see in our files, files by hand, and what is refused."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.collation import collate
from meshkit.errors import LossError, MeshkitError, ReadError, WriteError
from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.meshes import (
    cube_surface,
    differences,
    random_meshes,
    square_quads,
    tetrahedron,
    two_tetrahedra,
)
from tests.readers.mutations import survives

HEAD = "ply\nformat ascii 1.0\n"
VERTEX = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
FACE = "element face 2\nproperty list uchar int vertex_indices\n"
SQUARE = HEAD + VERTEX + FACE + "end_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


def read_text(tmp_path: Path, text: str | bytes) -> Mesh:
    path = tmp_path / "it.ply"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path)


# --- by hand -------------------------------------------------------------------------------------


def test_square_by_hand(tmp_path: Path) -> None:
    mesh = read_text(tmp_path, SQUARE)
    assert mesh.points.dtype == torch.float32
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.cells.connectivity.dtype == torch.int32
    assert [str(e) for e in mesh.info.report] == [
        "kept      points (4)",
        "kept      cells triangle (2)",
    ]


def _packed(order: str) -> bytes:
    """A body of each element and type, row by row with struct: faces of 3, 5, 4, 0 vertices."""
    name = {"<": "little", ">": "big"}[order]
    head = (
        f"ply\r\nformat binary_{name}_endian 1.0\r\ncomment by hand\r\nobj_info num_cols 3\r\n"
        "element edge 2\r\nproperty ushort vertex1\r\nproperty uint vertex2\r\n"
        "property float length\r\n"
        "element vertex 5\r\nproperty double x\r\nproperty float y\r\nproperty short z\r\n"
        "property float nx\r\nproperty float ny\r\nproperty float nz\r\n"
        "property uchar red\r\nproperty uchar green\r\nproperty uchar blue\r\n"
        "property float s\r\nproperty float t\r\nproperty list char short weights\r\n"
        "element face 4\r\nproperty uchar flags\r\nproperty list ushort uint vertex_index\r\n"
        "property list uchar float texcoord\r\nproperty float length\r\n"
        "element camera 1\r\nproperty float focus\r\nproperty list int int pair\r\n"
        "element tristrips 1\r\nproperty list int int vertex_indices\r\n"
        "element void 1000000000\r\n"
        "end_header\r\n"
    )
    rows = [struct.pack(order + "HIf", i, i + 1, 0.5 + i) for i in range(2)]
    for i in range(5):
        rows.append(struct.pack(order + "dfh", i / 4, 1.5, -i))
        rows.append(struct.pack(order + "fff3Bff", 0, 0, 1, i, 2, 255, 0.25, i))
        rows.append(struct.pack(order + "b" + "h" * i, i, *range(i)))
    for k, ids in enumerate([(0, 1, 2), (0, 1, 2, 3, 4), (3, 2, 1, 0), ()]):
        rows.append(struct.pack(order + "BH" + "I" * len(ids), k, len(ids), *ids))
        rows.append(struct.pack(order + "B6ff", 6, *[k + j / 8 for j in range(6)], -k))
    rows.append(struct.pack(order + "fi2i", 35.0, 2, 7, 8))
    rows.append(struct.pack(order + "i8i", 8, 0, 1, 2, 3, -1, 4, 3, 2))
    return head.encode() + b"".join(rows)


def test_strips_of_too_few_vertices_are_what_their_vertices_make(tmp_path: Path) -> None:
    mesh = read_text(
        tmp_path,
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
    mesh = read_text(tmp_path, _packed(order))
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
    mesh = read_text(tmp_path, RAGGED)
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
    mesh = read_text(tmp_path, text)
    assert mesh.cell_data["a_length"].tolist() == [77, 78]
    assert mesh.cell_data["a_length_"].tolist() == [0, 2]


def test_lists_that_would_take_too_much_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join("0 0 0 0\n" for _ in range(99)) + "0 0 0 9 " + "1 " * 9 + "\n"
    head = RAGGED[: RAGGED.index("element face")].replace("vertex 4", "vertex 100")
    text = f"{head}end_header\n{rows}"
    assert read_text(tmp_path, text).point_data["l"].shape == (100, 9)
    monkeypatch.setattr("meshkit.readers.padded_rows._SMALL", 1 << 10)
    mesh = read_text(tmp_path, text)
    assert list(mesh.point_data.keys()) == []
    (lost,) = mesh.info.report.losses
    assert lost.name == "point_data/l" and "over 8 times their memory" in lost.reason


def test_lists_of_no_rows(tmp_path: Path) -> None:
    head = RAGGED[: RAGGED.index("end_header")].replace("face 2", "face 0")
    rows = "0 0 0 0\n" * 4
    mesh = read_text(tmp_path, f"{head}end_header\n{rows}")
    assert mesh.point_data["l"].shape == (4, 0)
    assert mesh.cell_data["tags"].shape == (0, 0)


def test_comments_are_counted_and_those_of_other_programs_kept(tmp_path: Path) -> None:
    text = SQUARE.replace("format", "comment by hand\nobj_info n 3\nformat")
    mesh = read_text(tmp_path, text)
    kept = [(e.name, e.count) for e in mesh.info.report.kept if e.what == "info"]
    assert kept == [("attributes/comments", 2)]
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []
    data = (tmp_path / "it.ply").read_bytes()
    more = data.replace(b"element vertex", b"comment later\ncomment by hand\nelement vertex")
    back = read_text(tmp_path, more)
    said = ["by hand", "obj_info n 3", "later", "by hand"]
    assert back.info.attributes["comments"] == said
    kept = [(e.name, e.count) for e in back.info.report.kept if e.what == "info"]
    assert kept == [("attributes/comments", 4)]


def test_mixed_faces_in_ascii(tmp_path: Path) -> None:
    text = SQUARE.replace("face 2", "face 3\nproperty int c").replace(
        "3 0 1 2\n3 0 2 3\n", "7 4 0 1 2 3\n8 3 0 1 2\n\n-9 3 0\n2 3"
    )
    mesh = read_text(tmp_path, text)
    assert mesh.cells.types.tolist() == [9, 5, 5]
    assert mesh.cells.connectivity.tolist() == [0, 1, 2, 3, 0, 1, 2, 0, 2, 3]
    assert mesh.cell_data["c"].tolist() == [7, 8, -9]


def test_old_mac_line_ends(tmp_path: Path) -> None:
    assert read_text(tmp_path, SQUARE.replace("\n", "\r")).n_cells == 2


def test_points_alone_and_in_fewer_dimensions(tmp_path: Path) -> None:
    text = HEAD + "element vertex 2\nproperty int x\nproperty uchar y\nend_header\n1 2 -3 4"
    mesh = read_text(tmp_path, text)
    assert (mesh.n_cells, mesh.points.dtype) == (0, torch.float64)
    assert mesh.points.tolist() == [[1, 2], [-3, 4]]


def test_velocities_are_no_texture(tmp_path: Path) -> None:
    names = "".join(f"property float {name}\n" for name in ("x", "y", "z", "u", "v", "w"))
    mesh = read_text(tmp_path, HEAD + f"element vertex 1\n{names}end_header\n1 2 3 4 5 6")
    assert sorted(mesh.point_data.keys()) == ["u", "v", "w"]
    names = names.replace("property float w\n", "")
    mesh = read_text(tmp_path, HEAD + f"element vertex 1\n{names}end_header\n1 2 3 4 5")
    assert mesh.point_data["texture"].tolist() == [[4, 5]]
    assert mesh.info.field("point_data", "texture").kind == "tcoords"


def test_what_follows_the_last_element_is_counted(tmp_path: Path) -> None:
    mesh = read_text(tmp_path, SQUARE.replace("face 2", "face 1"))
    assert [(e.what, e.count) for e in mesh.info.report.losses] == [("numbers", 4)]


# --- written -------------------------------------------------------------------------------------


def rich(seed: int = 0) -> Mesh:
    """All cells PLY can hold, in a mixed order, and all fields it can hold."""
    rng = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=rng)

    return make_mesh(
        noise(8, 3).double(),
        [[0, 1], [0, 1, 2, 3], [1, 2, 3], [4, 5, 6, 7], [0, 1, 2], [0, 1, 2, 3, 4], [3, 4, 5, 6]],
        types=["line", "quad", "triangle", "pixel", "polygon", "polygon", "triangle_strip"],
        point_data={
            "normals": noise(8, 3),
            "colors": (noise(8, 4) * 255).to(torch.uint8),
            "texture": noise(8, 2),
            "a b": torch.arange(8),
            "a_b": (torch.arange(8) + 2**31).to(torch.uint64),
            "x": noise(8).half(),
            "flow": {"U/x": noise(8, 3, 2).double(), "": noise(8).bfloat16()},
            "nothing": torch.zeros(8, 0),
        },
        cell_data={
            "colors": torch.zeros(7, 3, dtype=torch.uint8),
            "good": torch.tensor([True, False] * 3 + [True]),
            "name": ["é", "two words", "é", "", "x", "y", "z"],
        },
        info=MeshInfo(
            length_unit="mm",
            time=0.5,
            frame="body",
            fields={("point_data", "flow", "U/x"): FieldInfo("m/s", components=("a", "b"))},
            grid=Grid((8, 1, 1)),
            attributes={"comments": ["one", "obj_info two", "meshkit {three}"], "x": {"y": [1]}},
        ),
    )


def test_everything_comes_back(tmp_path: Path) -> None:
    assert write(rich(), tmp_path / "it.ply").lossless
    back = read(tmp_path / "it.ply")
    assert differences(rich(), back) == []
    assert back.info.report.lossless
    text = (tmp_path / "it.ply").read_bytes().partition(b"end_header")[0].decode()
    assert "property float nx\n" in text
    assert "property uchar alpha\n" in text
    assert "comment one\nobj_info two\ncomment meshkit {" in text
    assert max(map(len, text.split("\n"))) < 500


@given(mesh=random_meshes(empty=False))
@settings(max_examples=60)
def test_any_mesh_comes_back_or_is_listed(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is no loss comes back bit for bit; a loss is refused, and allowed it is the only one."""
    path = tmp_path_factory.mktemp("ply") / "it.ply"
    report = write(mesh, path, allow_loss=True)
    back = read(path)
    if report.lossless:
        assert differences(mesh, back) == []
        return
    path.unlink()
    with pytest.raises(LossError) as caught:
        write(mesh, path)
    assert not path.exists()
    assert report.losses == caught.value.report.losses
    assert back.n_points == mesh.n_points
    cells = sum(e.count for e in report.losses if e.what == "cells" and e.name != "degrees")
    assert back.n_cells == mesh.n_cells - cells
    fields = [e for e in report.losses if e.what == "field" and e.name.startswith("point_data")]
    assert _leaves(back) == _leaves(mesh) - len(fields)
    changed = [change for change in differences(mesh, back) if change.startswith("point_data (")]
    assert changed == []


def _leaves(mesh: Mesh) -> int:
    return len(list(mesh.point_data.keys(include_nested=True, leaves_only=True)))


def test_losses_are_listed(tmp_path: Path) -> None:
    mesh = two_tetrahedra().replace(
        point_data={"big": torch.tensor([2**40] * 5), "c": torch.zeros(5, dtype=torch.complex64)},
        face_data={"phi": torch.zeros(7)},
        global_data={"Re": torch.tensor(1.0)},
        regions=[Region("wall", "point", [0])],
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.ply")
    assert [(e.what, e.name, e.count) for e in caught.value.report.losses] == [
        ("cells", "tetra", 2),
        ("field", "point_data/big", 5),
        ("field", "point_data/c", 5),
        ("region", "wall", 1),
        ("faces", "", 7),
        ("field", "face_data/phi", 7),
        ("field", "global_data/Re", 1),
    ]
    assert list(tmp_path.iterdir()) == []
    write(mesh, tmp_path / "it.ply", allow_loss=True)
    assert differences(make_mesh(mesh.points), read(tmp_path / "it.ply"), id_dtypes=False) == []


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_points_of_any_float_and_dimension(tmp_path: Path, d: int, dtype: torch.dtype) -> None:
    mesh = make_mesh(torch.arange(4 * d).reshape(4, d).to(dtype), [[0, 1], [2, 3]], types="line")
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_nothing_at_all(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(0, 2), cell_data={"p": torch.zeros(0, 3)})
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_polygons_of_more_than_255_vertices(tmp_path: Path) -> None:
    mesh = make_mesh(torch.rand(300, 3), [list(range(300)), [0, 1, 2]], types=["polygon"] * 2)
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    write(rich(), tmp_path / "a.ply")
    write(rich(), tmp_path / "b.ply")
    assert (tmp_path / "a.ply").read_bytes() == (tmp_path / "b.ply").read_bytes()


def test_another_program_has_changed_the_properties(tmp_path: Path) -> None:
    mesh = cube_surface().with_data(point={"p": torch.arange(8.0)})
    write(mesh, tmp_path / "it.ply")
    data = (tmp_path / "it.ply").read_bytes().replace(b"float p\n", b"float q\n")
    back = read_text(tmp_path, data)
    assert back.point_data["q"].tolist() == list(range(8))
    assert [(e.what, e.name) for e in back.info.report.losses] == [("info", "comment meshkit")]
    assert back.info.attributes["comments"] == ["written by meshkit"]
    plain = read_text(tmp_path, SQUARE.replace("format", "comment meshkit is a tool\nformat"))
    assert plain.info.attributes["comments"] == ["meshkit is a tool"]


def test_attributes_that_json_cannot_say(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(1, 3), info=MeshInfo(grid=Grid((np.int64(1),))))  # type: ignore[arg-type]
    with pytest.raises(WriteError, match=r"it\.ply: info holds what JSON cannot"):
        write(mesh, tmp_path / "it.ply")
    assert list(tmp_path.iterdir()) == []


# --- seen by others ------------------------------------------------------------------------------


def _seen_by_vtk(path: Path) -> tuple[np.ndarray[Any, Any], list[list[int]], dict[str, Any]]:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOPLY import vtkPLYReader

    reader = vtkPLYReader()
    reader.SetFileName(str(path))
    reader.Update()
    data = reader.GetOutput()
    cells = []
    for i in range(data.GetNumberOfCells()):
        ids = data.GetCell(i).GetPointIds()
        cells.append([ids.GetId(j) for j in range(ids.GetNumberOfIds())])
    at_points = data.GetPointData()
    arrays = {
        at_points.GetArrayName(i): vtk_to_numpy(at_points.GetArray(i))
        for i in range(at_points.GetNumberOfArrays())
    }
    points = np.array([data.GetPoint(i) for i in range(data.GetNumberOfPoints())])
    return points, cells, arrays


def test_trimesh_and_vtk_see_the_same(tmp_path: Path) -> None:
    import trimesh

    path = tmp_path / "it.ply"
    cube = cube_surface(3)
    colours = torch.arange(cube.n_points * 3).reshape(-1, 3).to(torch.uint8)
    normals = torch.nn.functional.normalize(cube.points - 0.5, dim=1).float()
    mesh = cube.with_data(point={"colors": colours, "normals": normals})
    write(mesh, path)
    seen = trimesh.load(path, process=False)
    assert np.array_equal(seen.vertices, mesh.points.numpy())
    assert np.array_equal(seen.faces, mesh.cells.dense.numpy())
    assert seen.area == pytest.approx(6, rel=1e-12)
    assert seen.volume == pytest.approx(1, rel=1e-12)
    assert np.array_equal(seen.visual.vertex_colors[:, :3], colours.numpy())
    points, cells, arrays = _seen_by_vtk(path)
    assert np.array_equal(points, mesh.points.float().numpy())  # vtk reads float32
    assert cells == mesh.cells.dense.tolist()
    assert np.array_equal(arrays["RGB"], colours.numpy())
    assert np.array_equal(arrays["Normals"], normals.numpy())


def test_vtk_sees_mixed_faces(tmp_path: Path) -> None:
    path = tmp_path / "it.ply"
    mesh = make_mesh(
        square_quads(2, 3).points,
        [[0, 1, 4, 3], [1, 2, 4], [2, 5, 4], [3, 4, 5, 8, 6]],
        types=["quad", "triangle", "triangle", "polygon"],
    )
    write(mesh, path)
    assert differences(mesh, read(path)) == []
    _, cells, _ = _seen_by_vtk(path)
    assert cells == [[0, 1, 4, 3], [1, 2, 4], [2, 5, 4], [3, 4, 5, 8, 6]]


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_big_endian"])
def test_what_others_write_is_read(tmp_path: Path, encoding: str) -> None:
    from vtkmodules.vtkFiltersSources import vtkSphereSource
    from vtkmodules.vtkIOPLY import vtkPLYWriter

    sphere = vtkSphereSource()
    sphere.Update()
    writer = vtkPLYWriter()
    writer.SetInputData(sphere.GetOutput())
    writer.SetFileName(str(tmp_path / "it.ply"))
    if encoding == "ascii":
        writer.SetFileTypeToASCII()
    elif encoding == "binary_big_endian":
        writer.SetDataByteOrderToBigEndian()
    writer.Write()
    mesh = read(tmp_path / "it.ply")
    points, cells, _ = _seen_by_vtk(tmp_path / "it.ply")
    assert np.array_equal(mesh.points.numpy(), points.astype(np.float32))
    assert mesh.cells.dense.tolist() == cells


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + VERTEX, "the header does not end; expected end_header"),
        (SQUARE.replace("ascii", "utf8"), "line 2: found 'format utf8 1.0'; expected format, "),
        (SQUARE.replace("format ascii 1.0\n", ""), "the header names no format"),
        (SQUARE.replace("face 2", "face two"), "line 7: found 'element face two'"),
        (SQUARE.replace("face 2", "vertex 2"), "line 7: element 'vertex' a second time"),
        (SQUARE.replace("float y", "float x"), "line 5: property 'x' of 'vertex' twice"),
        (SQUARE.replace("float y", "half y"), "line 5: found 'property half y'; expected a type"),
        (SQUARE.replace("uchar int", "float int"), "line 8: found 'property list float int"),
        (SQUARE.replace("vertex 4", "points 4"), "holds no element 'vertex'; expected a mesh"),
        (SQUARE.replace("float x", "float a"), "vertex has y, z; expected x, y and z"),
        (SQUARE.replace("1 1 0", "1 one 0"), "line 12: found 'one'; expected numbers"),
        (SQUARE.replace("3 0 2 3", "3 0 2 4"), "element 'face': vertex 4 in row 1; expected vert"),
        (SQUARE.replace("3 0 2 3", "3 0 2 -1"), "element 'face': vertex -1 in row 1"),
        (SQUARE.replace("3 0 2 3", "3 0 2 .5"), "line 15: 0.5 for 'vertex_indices' of row 1 of"),
        (SQUARE.replace("3 0 2 3", "-3 0 2 3"), "line 15: -3 for 'vertex_indices' of row 1 of"),
        (
            SQUARE.replace("3 0 2 3", "9 0 2 3"),
            "line 14: 8 numbers are left for element 'face', fewer",
        ),
        (SQUARE.replace("face 2", "face 3"), "left for element 'face', fewer than it needs"),
        (SQUARE.replace("vertex 4", "vertex 9"), "20 numbers are left for element 'vertex', "),
        (SQUARE.replace("list uchar int", "list uchar float"), "vertices are no integers"),
    ],
)
def test_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_text(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "it.ply"))


def test_binary_that_ends_early_names_the_byte(tmp_path: Path) -> None:
    write(cube_surface(), tmp_path / "it.ply")
    data = (tmp_path / "it.ply").read_bytes()
    start = data.index(b"end_header\n") + 11
    said = rf"byte {start}: 100 bytes are left for element 'vertex', fewer .* expected 8 rows"
    with pytest.raises(ReadError, match=said):
        read_text(tmp_path, data[: start + 100])


@pytest.mark.parametrize("count", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("lie", ["vertex 4", "face 2"])
def test_headers_that_lie_allocate_nothing(
    tmp_path: Path, lie: str, order: str, count: int
) -> None:
    text = SQUARE.replace("ascii", order).replace(lie, f"{lie.split()[0]} {count}")
    tracemalloc.start()
    try:
        with pytest.raises(MeshkitError):
            read_text(tmp_path, text)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("which", ["ascii", "little", "big", "ours", "triangles"])
def test_damage(tmp_path: Path, which: str) -> None:
    write(rich(), tmp_path / "ours.ply")
    write(cube_surface(), tmp_path / "triangles.ply")
    data = {
        "ascii": SQUARE.encode(),
        "little": _packed("<"),
        "big": _packed(">"),
        "ours": (tmp_path / "ours.ply").read_bytes(),
        "triangles": (tmp_path / "triangles.ply").read_bytes(),
    }[which]
    tracemalloc.start()
    try:
        assert survives(tmp_path / "it.ply", data, n=150, seed=2) > 20
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_volumes_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LossError, match="ply cannot hold cells 'tetra'"):
        write(tetrahedron(), tmp_path / "it.ply")


def test_a_header_of_very_many_properties(tmp_path: Path) -> None:
    """Each is looked up, not searched for among all: that took minutes."""
    names = ["x", "y", "z", *(f"p{i}" for i in range(40_000))]
    header = "".join(f"property uchar {name}\n" for name in names)
    text = f"ply\nformat ascii 1.0\nelement vertex 1\n{header}end_header\n1 2 3\n"
    (tmp_path / "a.ply").write_text(text)
    with pytest.raises(ReadError, match="fewer than it needs"):
        read(tmp_path / "a.ply")


def test_codes_that_mean_nothing_come_back_and_are_counted(tmp_path: Path) -> None:
    """A PLY has no checksum: a damaged code is a code, and the report says that it has no text."""
    key: tuple[str, ...] = ("cell_data", "material")
    known = {key: FieldInfo(vocabulary=("steel", "air"))}
    mesh = square_quads(2).with_data(cell={"material": torch.tensor([1, 7, 1, 0])})
    mesh = mesh.replace(info=MeshInfo(fields=known))
    write(mesh, tmp_path / "it.ply")
    back = read(tmp_path / "it.ply")
    assert differences(mesh, back) == []
    (line,) = (e for e in back.info.report if e.what == "codes")
    said = "cell_data/material: codes beyond its 2 texts (1 rows: 1)"
    assert (line.outcome, line.name, line.count, line.reason) == ("kept", "out of range", 1, said)
    whole = mesh.with_data(cell={"material": torch.tensor([1, -1, 1, 0])})
    write(whole, tmp_path / "it.ply")
    assert "codes" not in {e.what for e in read(tmp_path / "it.ply").info.report}
