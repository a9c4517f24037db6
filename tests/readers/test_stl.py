"""STL: binary and text, solids as regions, normals and attributes, and each refusal's line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.errors import LossError, ReadError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.boundary import boundary
from meshkit.operators.simplices import simplices
from meshkit.readers.reading import read
from meshkit.readers.stl.soup import right_hand
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import cube_surface, one_of_each, shaken, square_quads, tetrahedron
from tests.readers.by_hand import read_text
from tests.readers.mutations import survives

FACET = """  facet normal 0 0 1
    outer loop
      vertex 0 0 0
      vertex 1 0 0
      vertex 0 1 0
    endloop
  endfacet
"""


def binary(corners: np.ndarray, normals: np.ndarray | None = None, header: bytes = b"") -> bytes:
    table = np.zeros(len(corners), [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    table["v"] = corners
    table["n"] = 0 if normals is None else normals
    return header.ljust(80, b"\0") + len(table).to_bytes(4, "little") + table.tobytes()


ONE = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])


def area(mesh: Mesh) -> float:
    corners = mesh.points.double()[mesh.cells.dense.long()]
    sides = corners[:, 1:] - corners[:, :1]
    return float(torch.linalg.cross(sides[:, 0], sides[:, 1]).norm(dim=1).sum() / 2)


# --- reading -------------------------------------------------------------------------------------


def test_corners_that_are_equal_to_the_bit_are_one_point(tmp_path: Path) -> None:
    two = np.array([*ONE, [[1.0, 0, 0], [1, 1, 0], [0, 1, 0]]])
    mesh = read_text(tmp_path / "it.stl", binary(two))
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert mesh.points.dtype == torch.float32
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [1, 3, 2]]
    assert mesh.cells.connectivity.dtype == torch.int32
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("corners", 2)]


def test_minus_zero_is_zero_and_a_last_bit_is_not(tmp_path: Path) -> None:
    nearly = np.float32(np.nextafter(np.float32(1), np.float32(2)))
    mesh = read_text(
        tmp_path / "it.stl", binary(np.array([*ONE, [[-0.0, 0, -0.0], [nearly, 0, 0], [0, 1, 0]]]))
    )
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [0, 3, 2]]
    assert not torch.signbit(mesh.points).any()


def test_many_equal_corners_merge_as_by_brute_force(tmp_path: Path) -> None:
    corners = np.random.default_rng(0).integers(0, 6, (500, 3, 3)).astype(np.float32)
    mesh = read_text(tmp_path / "it.stl", binary(corners))
    known: dict[tuple[float, ...], int] = {}
    ids = [known.setdefault(tuple(p), len(known)) for p in corners.reshape(-1, 3).tolist()]
    assert mesh.cells.connectivity.tolist() == ids
    assert mesh.points.tolist() == [list(p) for p in known]


def test_text_keeps_all_digits(tmp_path: Path) -> None:
    mesh = read_text(
        tmp_path / "it.stl", f"solid\n{FACET.replace('1 0 0', '0.1 1e-300 -.5E+2')}endsolid\n"
    )
    assert mesh.points[1].tolist() == [0.1, 1e-300, -50.0]
    assert len(mesh.regions) == 0


@pytest.mark.parametrize(
    "text",
    [
        f"solid a\n{FACET}endsolid a\n",
        f"\ufeffsolid a\n{FACET}endsolid a\n",
        f"SOLID a\n{FACET.upper()}ENDSOLID a",
        f"solid a {' '.join(FACET.split())} endsolid a",
        f"solid a\r\n{FACET.replace(chr(10), chr(13) + chr(10))}endsolid a\r\n\r\n",
        f"  solid\ta \n{FACET.replace(' ', chr(9))}endsolid\n\n",
        f"solid a\n{FACET}endsolid another name\n\0\n",
    ],
)
def test_the_same_triangle_however_written(tmp_path: Path, text: str) -> None:
    mesh = read_text(tmp_path / "it.stl", text)
    assert mesh.points.tolist() == ONE[0].tolist()
    assert mesh.regions.names == ("a",)
    assert mesh.region("a").kind == "solid"


def test_solids_are_regions_whatever_their_names(tmp_path: Path) -> None:
    names = ["part b", "", "part b", "ünï", "", "part b (2)"]
    text = "".join(f"solid {n}\n{FACET}endsolid {n}\n" for n in names)
    mesh = read_text(tmp_path / "it.stl", text)
    want = ("part b", "solid 2", "part b (3)", "ünï", "solid 5", "part b (2)")
    assert mesh.regions.names == want
    assert [r.ids.tolist() for r in mesh.regions] == [[i] for i in range(6)]
    renamed = [e.name for e in mesh.info.report.converted if e.what == "region"]
    assert renamed == ["solid 2", "part b (3)", "solid 5"]


def test_a_solid_without_facets(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.stl", "solid Empty\nendsolid Empty")
    assert (mesh.n_points, mesh.n_cells) == (0, 0)
    assert mesh.region("Empty").ids.tolist() == []
    assert read_text(tmp_path / "it.stl", binary(np.zeros((0, 3, 3)))).n_points == 0


def test_a_binary_file_may_begin_with_solid(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.stl", binary(ONE, header=b"solid facet endsolid"))
    assert mesh.n_cells == 1
    assert mesh.info.attributes["header"] == "solid facet endsolid"


def test_normals_that_follow_from_the_corners_go(tmp_path: Path) -> None:
    for normal in ([0, 0, 1], [0, 0, 0], [0, 0, 0.9995]):
        mesh = read_text(tmp_path / "it.stl", binary(ONE, np.array([normal])))
        assert "normals" not in mesh.cell_data
        gone = [(e.name, e.loss) for e in mesh.info.report.dropped]
        assert gone == [("normals", False)]


def test_normals_that_say_more_stay(tmp_path: Path) -> None:
    two = np.concatenate([ONE, ONE])
    mesh = read_text(tmp_path / "it.stl", binary(two, np.array([[0, 0, 1], [0, 0, -1]])))
    assert mesh.cell_data["normals"].tolist() == [[0, 0, 1], [0, 0, -1]]
    kept = next(e for e in mesh.info.report.kept if e.name == "cell_data/normals")
    assert kept.reason == "1 of 2 facet normals are not what the corners say; all are kept"


def test_degenerate_facets_stay(tmp_path: Path) -> None:
    flat = np.array([[[0.0, 0, 0], [0, 0, 0], [1, 0, 0]]])
    mesh = read_text(tmp_path / "it.stl", binary(flat))
    assert mesh.cells.dense.tolist() == [[0, 0, 1]]


def test_nan_and_infinity_are_read(tmp_path: Path) -> None:
    mesh = read_text(
        tmp_path / "it.stl", f"solid\n{FACET.replace('1 0 0', 'nan -inf 0')}endsolid\n"
    )
    assert math.isnan(mesh.points[1, 0]) and mesh.points[1, 1] == -math.inf


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("vertex 1 0 0", "vertex 1 0 x", r"line 5: found 'x'; expected a number"),
        ("vertex 1 0 0", "vertex 1 1_0 0", r"line 5: found '1_0'; expected a number"),
        ("vertex 1 0 0", "vertex 1 0", r"line 6: found 'vertex'; expected a number"),
        ("endloop", "vertex 1 1 0\n endloop", r"line 7: found 'vertex'; expected 'endloop'"),
        ("outer loop", "outer lop", r"line 3: found 'lop'; expected 'loop'"),
        (
            "facet normal",
            "facets normal",
            r"line 2: found 'facets'; expected 'facet' or 'endsolid'",
        ),
        ("endsolid a", "", r"the file ends within solid 'a'; expected 'facet' or 'endsolid'"),
        ("endsolid a", "endsolid a\nfoo", r"line 10: found 'foo'; expected 'solid', or the end"),
    ],
)
def test_a_broken_text_names_the_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = f"solid a\n{FACET}endsolid a\n".replace(old, new, 1)
    with pytest.raises(ReadError, match=problem):
        read_text(tmp_path / "it.stl", text)


def test_a_binary_file_of_another_size(tmp_path: Path) -> None:
    data = binary(np.concatenate([ONE] * 3))
    for wrong in (data[:-1], data + bytes(85)):
        with pytest.raises(ReadError, match=r"header counts 3 facets.*expected 84 \+ 50 x"):
            read_text(tmp_path / "it.stl", wrong)


@pytest.mark.parametrize("padding", [1, 2, 50, 84])
def test_padding_after_the_last_triangle_is_counted(tmp_path: Path, padding: int) -> None:
    data = binary(np.concatenate([ONE] * 3)) + b"\x20" * padding
    mesh = read_text(tmp_path / "it.stl", data)
    assert mesh.n_cells == 3
    (entry,) = [e for e in mesh.info.report.dropped if e.what == "bytes"]
    assert (entry.count, entry.loss) == (padding, False)
    assert entry.reason == "padding after the last triangle"


def test_a_header_that_counts_no_triangles_pads_nothing(tmp_path: Path) -> None:
    assert read_text(tmp_path / "it.stl", bytes(84)).n_cells == 0
    with pytest.raises(ReadError):
        read_text(tmp_path / "it.stl", bytes(100))


def test_damage(tmp_path: Path) -> None:
    text = f"solid a b\n{FACET * 3}endsolid a b\nsolid\n{FACET}endsolid"
    assert survives(tmp_path / "it.stl", text.encode()) > 30
    assert survives(tmp_path / "it.stl", binary(np.concatenate([ONE] * 4)), seed=1) > 30


# --- writing -------------------------------------------------------------------------------------


def again(mesh: Mesh, tmp_path: Path) -> Mesh:
    """A mesh as STL gives it: points in order of appearance, in the file's dtypes."""
    write(mesh, tmp_path / "first.stl", allow_loss=True)
    return read(tmp_path / "first.stl")


def test_float32_is_binary_and_comes_back(tmp_path: Path) -> None:
    mesh = again(cube_surface(3).to(dtype=torch.float32), tmp_path)
    report = write(mesh, tmp_path / "it.stl")
    assert report.lossless and not report.converted
    assert (tmp_path / "it.stl").stat().st_size == 84 + 50 * mesh.n_cells
    assert differences(mesh, read(tmp_path / "it.stl")) == []


def test_float64_that_float32_lacks_is_text_and_comes_back(tmp_path: Path) -> None:
    mesh = again(shaken(cube_surface(3)), tmp_path)
    assert mesh.points.dtype == torch.float64
    assert write(mesh, tmp_path / "it.stl").lossless
    assert differences(mesh, read(tmp_path / "it.stl")) == []
    assert torch.equal(mesh.points.sort(0).values, shaken(cube_surface(3)).points.sort(0).values)


def test_solids_come_back(tmp_path: Path) -> None:
    mesh = again(cube_surface(3), tmp_path).replace(
        regions=[
            Region("lower half", "cell", torch.arange(20), kind="solid"),
            Region("oberes Drittel ä", "cell", torch.arange(20, 108), kind="solid"),
        ]
    )
    assert write(mesh, tmp_path / "it.stl").lossless
    assert differences(mesh, read(tmp_path / "it.stl"), id_dtypes=False) == []


def test_a_region_of_no_kind_comes_back_as_a_solid_and_is_counted(tmp_path: Path) -> None:
    mesh = again(cube_surface(1), tmp_path)
    mesh = mesh.replace(regions=[Region("all", "cell", torch.arange(12))])
    (line,) = (e for e in write(mesh, tmp_path / "it.stl") if e.what == "region")
    assert str(line) == "converted region all (12): of no kind, read as kind 'solid'"
    assert read(tmp_path / "it.stl").region("all").kind == "solid"


def test_attribute_header_and_normals_come_back(tmp_path: Path) -> None:
    mesh = again(cube_surface(1).to(dtype=torch.float32), tmp_path)
    mesh = mesh.with_data(
        cell={
            "attribute": torch.arange(12).to(torch.uint16),
            "normals": torch.tensor([[1.0, 0, 0]]).repeat(12, 1),
        }
    ).replace(info=MeshInfo(attributes={"header": "made by hand"}))
    assert write(mesh, tmp_path / "it.stl").lossless
    back = read(tmp_path / "it.stl")
    assert sorted(differences(mesh, back)) == [
        "cell_data: names [('attribute',), ('normals',)] became [('normals',), ('attribute',)]"
    ]


def test_numbers_beyond_float32_are_text(tmp_path: Path) -> None:
    mesh = make_mesh([[0.0, 0, 0], [1e300, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    write(mesh, tmp_path / "it.stl")
    assert read(tmp_path / "it.stl").points[1, 0] == 1e300


def test_attribute_of_zeros_is_as_none(tmp_path: Path) -> None:
    mesh = again(cube_surface(1).to(dtype=torch.float32), tmp_path)
    report = write(
        mesh.with_data(cell={"attribute": torch.zeros(12).to(torch.uint16)}), tmp_path / "it.stl"
    )
    assert report.lossless
    assert [e.name for e in report.converted] == ["cell_data/attribute"]
    assert differences(mesh, read(tmp_path / "it.stl")) == []


def test_unused_points_and_order_are_counted(tmp_path: Path) -> None:
    mesh = make_mesh(
        torch.tensor([[0.0, 1, 0], [9, 9, 9], [1, 0, 0], [0, 0, 0]]), torch.tensor([[3, 2, 0]])
    )
    with pytest.raises(LossError, match=r"points 'unused' \(no triangle uses them\)"):
        write(mesh, tmp_path / "it.stl")
    assert list(tmp_path.iterdir()) == []
    report = write(mesh, tmp_path / "it.stl", allow_loss=True)
    assert "numbered by first appearance" in [e.reason for e in report.converted]
    assert read(tmp_path / "it.stl").points.tolist() == ONE[0].tolist()


def test_everything_stl_lacks_is_listed(tmp_path: Path) -> None:
    mesh = cube_surface(1).replace(
        point_data={"p": torch.zeros(8)},
        cell_data={"q": torch.zeros(12)},
        regions=[
            Region("some", "cell", torch.arange(3)),
            Region("corner", "point", torch.tensor([0])),
        ],
        info=MeshInfo(length_unit="mm"),
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.stl")
    lost = {(e.what, e.name) for e in caught.value.report.losses}
    assert lost == {
        ("field", "point_data/p"),
        ("field", "cell_data/q"),
        ("region", "some"),
        ("region", "corner"),
        ("info", "length_unit"),
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mesh", "hint"),
    [(tetrahedron(), "operators.boundary"), (square_quads(), "operators.simplices")],
)
def test_other_cells_are_refused_with_what_to_do(mesh: Mesh, hint: str, tmp_path: Path) -> None:
    with pytest.raises(LossError, match=hint):
        write(mesh, tmp_path / "it.stl")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_trimesh_sees_the_same(dtype: torch.dtype, tmp_path: Path) -> None:
    import trimesh

    mesh = shaken(cube_surface(4)).to(dtype=dtype)
    write(mesh, tmp_path / "it.stl")
    other = trimesh.load_mesh(tmp_path / "it.stl")
    assert len(other.faces) == mesh.n_cells
    assert other.area == pytest.approx(area(mesh), rel=1e-6)
    assert other.is_watertight


@pytest.mark.parametrize("size", [1e300, 1e154, 1e-160, 1e-300])
def test_normals_of_huge_and_tiny_facets_follow_from_the_corners(
    tmp_path: Path, size: float
) -> None:
    points = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=torch.float64) * size
    mesh = make_mesh(points, [[0, 1, 2]])
    write(mesh, tmp_path / "it.stl")
    assert "facet normal 0.0 0.0 1.0" in (tmp_path / "it.stl").read_text()
    back = read(tmp_path / "it.stl")
    assert torch.equal(back.points, points)
    assert list(back.cell_data.keys()) == []


def test_a_sliver_has_its_normal() -> None:
    corners = np.array([[[0, 0, 0], [1, 0, 0], [1, 1e-200, 0]]])
    assert right_hand(corners).tolist() == [[0, 0, 1]]
    assert right_hand(np.where(corners == 1, np.inf, corners)).tolist() == [[0, 0, 0]]


def test_corners_that_are_nowhere_stay_apart(tmp_path: Path) -> None:
    """NaN is equal to nothing: not to another corner's NaN, and not to itself used twice."""
    nan = float("nan")
    points = torch.tensor([[0, 0, 0], [1, 0, 0], [nan, 0, 0], [nan, 0, 0]])
    mesh = make_mesh(points, [[0, 1, 2], [0, 1, 3]])
    report = write(mesh, tmp_path / "it.stl")
    assert not [e for e in report.converted if "NaN" in e.reason]
    assert read(tmp_path / "it.stl").cells.connectivity.tolist() == [0, 1, 2, 0, 1, 3]
    twice = make_mesh(points, [[0, 1, 2], [1, 0, 2]]).select([0, 1])
    report = write(twice, tmp_path / "it.stl")
    assert [e.count for e in report.converted if "NaN" in e.reason] == [1]
    assert read(tmp_path / "it.stl").n_points == 4


def test_a_solid_has_a_name_only(tmp_path: Path) -> None:
    """The data of a region is dropped and counted, not compared with anything."""
    solid = Region("s", "cell", [0], kind="solid", data={"q": torch.ones(1)})
    mesh = make_mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]], [[0, 1, 2]], regions=[solid])
    report = write(mesh, tmp_path / "it.stl", allow_loss=True)
    assert [e.name for e in report.losses] == ["s: data"]


def test_the_hint_makes_triangles(tmp_path: Path) -> None:
    solid = one_of_each().select([5])
    with pytest.raises(LossError, match=r"simplices\(operators\.boundary\(mesh\)\)"):
        write(solid, tmp_path / "it.stl")
    write(simplices(boundary(solid)), tmp_path / "it.stl", allow_loss=True)
    assert read(tmp_path / "it.stl").n_cells == 24
    with pytest.raises(LossError, match=r"operators\.simplices\(mesh\) makes triangles of them"):
        write(one_of_each().select([3]), tmp_path / "it.stl")
    with pytest.raises(LossError, match="no operator makes triangles of them"):
        write(one_of_each().select([1]), tmp_path / "it.stl")


# --- real files ----------------------------------------------------------------------------------


def test_multibody(samples: Path) -> None:
    mesh = read(samples / "stl" / "multibody.stl")
    assert (mesh.n_points, mesh.n_cells) == (20, 32)
    assert [(r.name, len(r)) for r in mesh.regions] == [("bodyB", 12), ("bodyA", 20)]
    assert area(mesh) == pytest.approx(0.367239, abs=5e-7)


def test_20mm_cube(samples: Path) -> None:
    mesh = read(samples / "stl" / "20mm-xyz-cube.stl")
    assert (mesh.n_points, mesh.n_cells) == (132, 260)
    assert area(mesh) == pytest.approx(2499.02, abs=5e-3)


def test_empty(samples: Path) -> None:
    mesh = read(samples / "stl" / "empty.stl")
    assert (mesh.n_points, mesh.n_cells) == (0, 0)


@pytest.mark.parametrize("name", ["multibody", "20mm-xyz-cube", "empty"])
def test_real_files_come_back(samples: Path, tmp_path: Path, name: str) -> None:
    mesh = read(samples / "stl" / f"{name}.stl")
    assert write(mesh, tmp_path / "it.stl").lossless
    assert differences(mesh, read(tmp_path / "it.stl")) == []
