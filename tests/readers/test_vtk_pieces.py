"""PVTU and PVTP: pieces in files of their own, ghosts, seams, and what a piece lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.objects import to_poly, to_unstructured
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.meshes import cube_hexes, hanging_polyhedron
from tests.readers.mutations import survives
from tests.readers.vtk_saving import column, plain, saved


def index(path: Path, *sources: str, kind: str = "PUnstructuredGrid", more: str = "") -> Path:
    pieces = "".join(f'<Piece Source="{source}"/>' for source in sources)
    path.write_text(
        f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="0.1" byte_order="LittleEndian">\n'
        f'<{kind} GhostLevel="1">{more}{pieces}</{kind}>\n</VTKFile>\n'
    )
    return path


def shifted(mesh: Mesh, x: float) -> Mesh:
    return mesh.replace(points=mesh.points + torch.tensor([x, 0, 0], dtype=torch.float64))


def two_cubes(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> Path:
    """Two unit cubes beside each other, each a piece with its arrays, and the file of both."""
    for i, arrays in enumerate((first, second)):
        data = plain(shifted(cube_hexes(), float(i)), **arrays)
        saved(to_unstructured(data), tmp_path / f"a_{i}.vtu")
    return index(tmp_path / "a.pvtu", "a_0.vtu", "a_1.vtu")


def test_sample_with_ghosts(samples: Path) -> None:
    mesh = read(samples / "derived/ghost.pvtu")
    assert (mesh.n_points, mesh.cells.counts) == (36, {"hexahedron": 8})
    assert float(cell_measures(mesh).sum()) == pytest.approx(8.0, abs=1e-12)
    assert list(mesh.cell_data.keys()) == ["v"]
    gone = [(e.what, e.name, e.count, e.loss) for e in mesh.info.report.dropped]
    assert gone == [
        ("cells", "ghost", 4, False),
        ("points", "ghost", 9, False),
        ("field", "cell_data/vtkGhostType", 8, False),
    ]


def test_ghosts_go_and_other_marks_stay(tmp_path: Path) -> None:
    mesh = cube_hexes(2)
    marks = column(0, 1, 0, 0, 32, 0, 1, 0, dtype="u1")
    arrays = {"cell": {"vtkGhostType": marks, "n": column(*range(8))}}
    saved(to_unstructured(plain(mesh, **arrays)), tmp_path / "a_0.vtu")
    found = read(index(tmp_path / "a.pvtu", "a_0.vtu"))
    assert found.cell_data["n"].tolist() == [0, 2, 3, 4, 5, 7]
    assert found.cell_data["vtkGhostType"].tolist() == [0, 0, 0, 32, 0, 0]


def test_points_that_no_cell_uses_are_no_ghosts(tmp_path: Path) -> None:
    mesh = make_mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5], [1, 1, 0]], [[0, 1, 2], [1, 4, 2]]
    )
    arrays = {"cell": {"vtkGhostType": column(0, 1, dtype="u1")}}
    saved(to_unstructured(plain(mesh, **arrays)), tmp_path / "a_0.vtu")
    found = read(index(tmp_path / "a.pvtu", "a_0.vtu"))
    assert found.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]]


def test_seams_stay_without_global_ids(tmp_path: Path) -> None:
    mesh = read(two_cubes(tmp_path, {}, {}))
    assert (mesh.n_points, mesh.n_cells) == (16, 2)
    assert mesh.info.report.lossless


IDS = (np.arange(8), np.array([1, 8, 3, 9, 5, 10, 7, 11]))  # the face x = 1 is shared


def with_ids(i: int, **more: VtkArray) -> dict[str, Any]:
    return {"point": {"id": VtkArray(IDS[i].reshape(-1, 1), "global_ids"), **more}}


def test_global_ids_merge_seams(tmp_path: Path) -> None:
    mesh = read(two_cubes(tmp_path, with_ids(0), with_ids(1)))
    assert mesh.n_points == 12
    assert mesh.point_data["id"].tolist() == list(range(12))
    assert float(cell_measures(mesh).sum()) == pytest.approx(2.0, abs=1e-14)
    assert len(set(mesh.cells.connectivity.tolist())) == 12
    merged = [e for e in mesh.info.report.converted if e.what == "points"]
    assert [(e.count, e.reason) for e in merged] == [(4, "merged: one global id, one place")]


def test_points_of_one_id_that_lie_apart_stay_two(tmp_path: Path) -> None:
    file = two_cubes(tmp_path, with_ids(0), with_ids(1))
    data = plain(shifted(cube_hexes(), 1.5), **with_ids(1))
    saved(to_unstructured(data), tmp_path / "a_1.vtu")
    mesh = read(file)
    assert mesh.n_points == 16
    apart = [e for e in mesh.info.report.converted if e.what == "points"]
    assert [(e.count, e.reason) for e in apart] == [
        (4, "not merged: points of one global id lie apart")
    ]


def test_values_that_differ_at_merged_points_are_a_loss(tmp_path: Path) -> None:
    values = [column(*range(8), dtype="f8"), column(1, 0, 3, 0, 5, 0, 99, 0, dtype="f8")]
    file = two_cubes(tmp_path, with_ids(0, p=values[0]), with_ids(1, p=values[1]))
    mesh = read(file)
    assert mesh.point_data["p"][7] == 7
    assert [(e.name, e.count) for e in mesh.info.report.losses] == [("point_data/p", 1)]


def test_what_a_piece_lacks_is_filled(tmp_path: Path) -> None:
    first = {
        "cell": {"f": column(1.5), "i": column(3, dtype="i2"), "s": VtkArray(["wall"])},
        "field": {"t": column(1.0), "u": column(2.0)},
    }
    second = {"cell": {"g": column(4, dtype="u4")}, "field": {"t": column(1.0), "u": column(3.0)}}
    mesh = read(two_cubes(tmp_path, first, second))
    assert mesh.cell_data["f"][0] == 1.5
    assert mesh.cell_data["f"][1].isnan()
    assert mesh.cell_data["i"].tolist() == [3, -1]
    assert mesh.cell_data["i"].dtype == torch.int16
    assert mesh.cell_data["g"].tolist() == [0, 4]
    words = mesh.info.field("cell_data", "s").vocabulary
    assert words is not None
    assert [words[i] for i in mesh.cell_data["s"].tolist()] == ["wall", ""]
    assert mesh.global_data["t"].tolist() == [1]
    assert mesh.global_data["u (a_0.vtu)"].tolist() == [2]
    assert mesh.global_data["u (a_1.vtu)"].tolist() == [3]
    filled = {e.name: e.reason for e in mesh.info.report.converted if e.reason.startswith("filled")}
    assert filled["cell_data/f"] == "filled with nan where it is absent: a_1.vtu"
    assert set(filled) == {"cell_data/f", "cell_data/i", "cell_data/g", "cell_data/s"}


def test_arrays_of_one_name_and_two_units_stay_apart(tmp_path: Path) -> None:
    pressures = [column(1.0), column(2.0)]
    pressures[0].unit, pressures[1].unit = "Pa", "bar"
    mesh = read(two_cubes(tmp_path, *({"cell": {"p": p}} for p in pressures)))
    assert [mesh.info.field("cell_data", name).unit for name in ("p", "p (2)")] == ["Pa", "bar"]
    assert mesh.cell_data["p"][0] == 1
    assert mesh.cell_data["p (2)"][1] == 2


def test_polyhedra_in_pieces(tmp_path: Path) -> None:
    for i in range(2):
        data = plain(shifted(hanging_polyhedron(), 2.0 * i))
        saved(to_unstructured(data), tmp_path / f"a_{i}.vtu", "raw")
    mesh = read(index(tmp_path / "a.pvtu", "a_0.vtu", "a_1.vtu"))
    assert mesh.cells.counts == {"hexahedron": 16, "polyhedron": 2}
    assert float(cell_measures(mesh).sum()) == pytest.approx(4.0, abs=1e-12)


def test_surfaces_in_pieces(tmp_path: Path) -> None:
    for i in range(2):
        mesh = make_mesh([[i, 0, 0], [i + 1, 0, 0], [i, 1, 0]], [[0, 1, 2]])
        saved(to_poly(plain(mesh, cell={"n": column(i)})), tmp_path / f"a_{i}.vtp")
    found = read(index(tmp_path / "a.pvtp", "a_0.vtp", "a_1.vtp", kind="PPolyData"))
    assert found.cells.dense.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found.cell_data["n"].tolist() == [0, 1]


def test_what_only_the_index_declares_is_counted(tmp_path: Path) -> None:
    two_cubes(tmp_path, {}, {})
    more = '<PCellData><PDataArray type="Float64" Name="gone"/></PCellData>'
    mesh = read(index(tmp_path / "b.pvtu", "a_0.vtu", more=more))
    assert [(e.name, e.reason) for e in mesh.info.report.losses] == [
        ("cell_data/gone", "declared, but in no piece")
    ]


def test_regions_of_our_own_pieces_are_counted_as_lost(tmp_path: Path) -> None:
    mesh = cube_hexes().replace(regions=[Region("solid", "cell", torch.tensor([0]))])
    write(mesh, tmp_path / "a_0.vtu")
    write(shifted(mesh, 1.0), tmp_path / "a_1.vtu")
    found = read(index(tmp_path / "a.pvtu", "a_0.vtu", "a_1.vtu"))
    assert found.n_cells == 2
    assert [e.what for e in found.info.report.losses] == ["info", "info"]


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (["a_0.vtu", "a_9.vtu"], r"line 3: piece 1 is missing: 'a_9\.vtu'; expected a file beside"),
        ([], r"<PUnstructuredGrid> names no <Piece>"),
        (["a_0.vtu", ""], r"piece 1 names no file"),
        (["."], r"piece 0 is missing: '\.'"),
        (
            ["/nowhere/a.vtu"],
            r"line 3: piece 0 leads out of the directory: '/nowhere/a",
        ),
        (["a.pvtu"], r"is of type 'PUnstructuredGrid'; expected 'UnstructuredGrid'"),
        (["bad.vtu"], r"bad\.vtu: .*is no well-formed XML"),
        (["a_0.vtu"] * 101, r"line 3: piece 100 is named again and again: 'a_0\.vtu'"),
    ],
)
def test_refusals(tmp_path: Path, sources: list[str], says: str) -> None:
    two_cubes(tmp_path, {}, {})
    (tmp_path / "bad.vtu").write_text("<VTKFile")
    with pytest.raises(ReadError, match=says) as caught:
        read(index(tmp_path / "a.pvtu", *sources))
    assert "\n" not in str(caught.value)


def test_an_id_beyond_its_own_piece_is_no_point_of_the_next(tmp_path: Path) -> None:
    file = two_cubes(tmp_path, {}, {})
    data = plain(cube_hexes())
    data.connectivity = data.connectivity + 1
    saved(to_unstructured(data), tmp_path / "a_0.vtu")
    with pytest.raises(
        ReadError, match=r"a_0\.vtu: .*point id 8 in cell \d; expected ids from 0 to 7"
    ):
        read(file)


def test_names_with_backslashes_and_folders(tmp_path: Path) -> None:
    two_cubes(tmp_path, {}, {})
    (tmp_path / "parts").mkdir()
    (tmp_path / "a_0.vtu").rename(tmp_path / "parts" / "a_0.vtu")
    assert read(index(tmp_path / "b.pvtu", "parts\\a_0.vtu")).n_cells == 1
    below = index(tmp_path / "parts" / "c.pvtu", "../a_1.vtu")
    with pytest.raises(ReadError, match=r"piece 0 leads out of the directory: '\.\./a_1\.vtu'"):
        read(below)
    (tmp_path / "parts" / "link.vtu").symlink_to(tmp_path / "a_1.vtu")
    with pytest.raises(ReadError, match=r"piece 0 leads out of the directory: 'link\.vtu'"):
        read(index(tmp_path / "parts" / "c.pvtu", "link.vtu"))
    assert read(index(tmp_path / "d.pvtu", "parts/link.vtu")).n_cells == 1  # not out


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    file = two_cubes(tmp_path, with_ids(0), with_ids(1))
    assert survives(file, file.read_bytes(), 100) > 20
