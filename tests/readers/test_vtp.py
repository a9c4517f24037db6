"""VTP: vertices, lines, polygons, strips; their order and types come back from our own files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given

from meshkit.cells import Cells
from meshkit.celltypes import cell_type
from meshkit.errors import LossError
from meshkit.faces import Faces
from meshkit.info import Grid
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read
from meshkit.readers.vtk.objects import to_poly
from meshkit.readers.vtk.poly import POLY_TYPES
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import one_of_each, two_tetrahedra
from tests.random_meshes import random_meshes
from tests.readers.mutations import survives
from tests.readers.vtk_saving import ENCODINGS, by_vtk, column, plain, saved
from tests.readers.vtk_views import assert_same_as_vtk, seen_by_vtk


def mixed() -> Mesh:
    """Kinds in no order: quad, line, strip, vertex, triangle, pixel, polygon of 3, line of 3."""
    points = [[float(i % 4), float(i // 4), 0.0] for i in range(12)]
    rows = [[0, 1, 5, 4], [0, 1], [0, 4, 1, 5], [7], [1, 2, 6], [1, 2, 5, 6], [2, 3, 7], [8, 9, 10]]
    kinds = (
        "quad",
        "line",
        "triangle_strip",
        "vertex",
        "triangle",
        "pixel",
        "polygon",
        "poly_line",
    )
    return make_mesh(points, rows, types=kinds, cell_data={"n": torch.arange(8)})


def test_samples(samples: Path) -> None:
    mesh = read(samples / "vtp/disk_out_ref_surface.vtp")
    assert (mesh.n_points, mesh.cells.counts) == (1990, {"quad": 1988})
    assert float(cell_measures(mesh).sum()) == pytest.approx(1173.19, abs=5e-3)
    assert set(mesh.global_data.keys()) == {"ElementBlockIds", "Info_Records", "QA_Records"}
    assert mesh.info.field("point_data", "GlobalNodeId").kind == "global_ids"
    mesh = read(samples / "derived/nonmanifold_mixed_ngon.vtp")
    assert mesh.cells.counts == {"triangle": 6, "quad": 2}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_vtk_gives_what_vtk_sees(tmp_path: Path, encoding: str) -> None:
    arrays = {"cell": {"n": column(*range(8))}, "point": {"p": column(*range(12), dtype="f4")}}
    data = plain(mixed(), **arrays)
    dataset = to_poly(data)
    for name in ("meshkit_order", "meshkit_types"):
        dataset.GetFieldData().RemoveArray(name)
    file = saved(dataset, tmp_path / "a.vtp", encoding)
    mesh = read(file)
    assert_same_as_vtk(mesh, seen_by_vtk(by_vtk(file)))
    # Sorted by kind, as poly data is.
    assert mesh.cell_data["n"].tolist() == [3, 1, 7, 0, 4, 5, 6, 2]


def test_order_and_types_come_back(tmp_path: Path) -> None:
    mesh = mixed()
    report = write(mesh, file := tmp_path / "a.vtp")
    assert report.lossless
    assert differences(mesh, read(file)) == []
    seen = seen_by_vtk(by_vtk(file))  # sorted, with a pixel as a quad: the same shapes
    assert seen["types"] == [1, 3, 4, 9, 5, 9, 5, 6]
    assert seen["cells"][5] == [1, 2, 6, 5]
    assert seen["cell_data"]["n"].tolist() == [3, 1, 7, 0, 4, 5, 6, 2]


def test_several_pieces_keep_polygons_and_strips_apart(tmp_path: Path) -> None:
    # vtk's own reader exchanges the data of polygons and strips here.
    dataset = to_poly(plain(mixed(), cell={"n": column(*range(8))}))
    for name in ("meshkit_order", "meshkit_types"):
        dataset.GetFieldData().RemoveArray(name)
    file = saved(dataset, tmp_path / "a.vtp")
    text = file.read_text()
    start, stop = text.index("<Piece"), text.index("</PolyData>")
    file.write_text(text[:stop] + text[start:stop] + text[stop:])
    mesh = read(file)
    assert mesh.n_points == 24
    assert mesh.cell_data["n"].tolist() == [3, 1, 7, 0, 4, 5, 6, 2] * 2
    assert mesh.cells.types.tolist() == [1, 3, 4, 9, 5, 9, 5, 6] * 2


@given(mesh=random_meshes(types=[cell_type(t).name for t in sorted(POLY_TYPES)], polyhedra=False))
def test_any_surface_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, mesh: Mesh
) -> None:
    file = tmp_path_factory.mktemp("vtp") / "a.vtp"
    write(mesh, file)
    assert differences(mesh, read(file)) == []


def test_solids_are_a_loss(tmp_path: Path) -> None:
    mesh = one_of_each().replace(regions=[Region("all", "cell", torch.arange(8))])
    file = tmp_path / "a.vtp"
    with pytest.raises(LossError, match=r"vtp cannot hold cells 'tetra' \(poly data has no cells"):
        write(mesh, file)
    assert not file.exists()
    report = write(mesh, file, allow_loss=True)
    lost = [(e.what, e.name, e.count) for e in report.losses]
    assert lost == [
        ("cells", "tetra", 1),
        ("cells", "hexahedron", 1),
        ("cells", "wedge", 1),
        ("cells", "pyramid", 1),
        ("points", "", 4 + 8 + 6 + 5),
        ("region", "all", 4),
    ]
    found = read(file)
    assert found.cells.counts == {"vertex": 1, "line": 1, "triangle": 1, "quad": 1}
    assert found.region("all").ids.tolist() == [0, 1, 2, 3]
    assert by_vtk(file).GetNumberOfCells() == 4


def test_all_that_goes_with_the_solids_is_a_loss(tmp_path: Path) -> None:
    regions = [
        Region("walls", "face", [1, 2, 5]),
        Region("inlet", "side", [[0, 1]]),
        Region("seam", "edge", [[0, 1], [1, 2]]),
        Region("tip", "point", [3]),
        Region("nothing", "cell", []),
    ]
    mesh = two_tetrahedra().with_data(face={"flux": {"phi": torch.arange(7.0)}})
    grid = Grid((2, 1, 1))
    mesh = mesh.replace(regions=regions, info=mesh.info.replace(grid=grid))
    lost = [
        ("cells", "tetra", 2),
        ("points", "", 5),
        ("faces", "", 7),
        ("field", "face_data/flux/phi", 7),
        ("region", "walls", 3),
        ("region", "inlet", 1),
        ("region", "seam", 2),
        ("region", "tip", 1),
        ("info", "grid", 1),
    ]
    with pytest.raises(LossError) as refused:
        write(mesh, tmp_path / "a.vtp")
    assert [(e.what, e.name, e.count) for e in refused.value.report.losses] == lost
    report = write(mesh, tmp_path / "a.vtp", allow_loss=True)
    assert [(e.what, e.name, e.count) for e in report.losses] == lost


def test_faces_of_the_cells_that_stay_stay(tmp_path: Path) -> None:
    mesh = make_mesh(
        [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0], [1.5, 0, 0]],
        Cells(
            torch.tensor([5, 22], dtype=torch.uint8),
            torch.tensor([0, 3, 9]),
            torch.tensor([0, 1, 2, 1, 4, 3, 6, 5, 2]),
        ),
    )
    faces = Faces(
        torch.tensor([0, 2, 4]),
        torch.tensor([0, 1, 1, 4]),
        torch.tensor([0, 1]),
        torch.tensor([-1, -1]),
    )
    mesh = mesh.replace(faces=faces, regions=[Region("rim", "face", [0, 1])])
    mesh = mesh.with_data(face={"phi": torch.tensor([1.0, 2.0])})
    report = write(mesh, tmp_path / "a.vtp", allow_loss=True)
    assert [(e.what, e.name, e.count) for e in report.losses] == [
        ("cells", "quadratic_triangle", 1),
        ("points", "", 4),
        ("faces", "", 1),
        ("field", "face_data/phi", 1),
        ("region", "rim", 1),
    ]
    assert read(tmp_path / "a.vtp").face_data["phi"].tolist() == [1.0]


@pytest.mark.parametrize("encoding", ["ascii", "inline zlib", "raw", "base64 lz4 64 big"])
def test_damage_is_refused_or_harmless(tmp_path: Path, encoding: str) -> None:
    dataset = to_poly(plain(mixed(), cell={"n": column(*range(8))}))
    file = saved(dataset, tmp_path / "a.vtp", encoding)
    assert survives(file, file.read_bytes(), 100) > 50
