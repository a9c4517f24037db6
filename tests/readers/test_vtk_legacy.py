"""Legacy VTK: what vtk 9.7 writes, and old files by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.info import Grid
from meshkit.readers.reading import read
from meshkit.readers.vtk_legacy.words import encoded
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.readers.by_hand import read_text
from tests.readers.vtk_legacy_files import HEADER, SQUARE, everything, filled
from tests.readers.vtk_views import assert_same_as_vtk, legacy_reader, seen_by_vtk

# --- against vtk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [42, 51])
@pytest.mark.parametrize("ascii", [True, False], ids=["ascii", "binary"])
def test_every_type_and_role_as_vtk_writes_it(tmp_path: Path, version: int, ascii: bool) -> None:
    from vtkmodules.vtkCommonCore import vtkDoubleArray
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter

    path = tmp_path / "it.vtk"
    grid = everything()
    if not ascii:  # vtk's own reader crashes on an empty array in an ascii file
        grid.GetFieldData().AddArray(filled(vtkDoubleArray, "none", []))
    writer = vtkUnstructuredGridWriter()
    writer.SetInputData(grid)
    writer.SetFileVersion(version)
    (writer.SetFileTypeToASCII if ascii else writer.SetFileTypeToBinary)()
    writer.SetFileName(str(path))
    writer.Write()
    mesh = read(path)
    assert_same_as_vtk(mesh, seen_by_vtk(legacy_reader(path).GetOutput()))
    assert b"VECTORS " + encoded('v%41 "ü') + b" float" in path.read_bytes()
    kinds = {name: mesh.info.field("point_data", name).kind for name in mesh.point_data.keys()}
    assert {k: v for k, v in kinds.items() if v} == {
        "colour": "scalars",
        'v%41 "ü': "vectors",
        "nine": "tensors",
        "uv": "tcoords",
        "normals": "normals",
        "gid": "global_ids",
    }
    assert mesh.info.field("cell_data", "six").kind == "tensors"
    assert mesh.info.field("cell_data", "who").kind == "pedigree_ids"
    velocity = mesh.info.field("point_data", 'v%41 "ü')
    assert velocity.unit == "m/s per"
    assert velocity.components == ("X velo", "Y", "Z")
    assert mesh.cells.polyhedra is not None
    assert mesh.cells.polyhedra.connectivity.tolist()[:8] == [0, 3, 2, 1, 4, 5, 6, 7]
    assert mesh.info.report.lossless
    assert mesh.info.attributes == {}  # the usual title says nothing


DIMS = [(3, 4, 5), (3, 4, 1), (3, 1, 4), (1, 3, 4), (4, 1, 1), (1, 4, 1), (1, 1, 4), (1, 1, 1)]


@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("kind", ["points", "grid", "rectilinear"])
def test_structured(tmp_path: Path, kind: str, dims: tuple[int, int, int]) -> None:
    import vtk

    path = tmp_path / "it.vtk"
    axes = [np.linspace(0, 1, n) ** 2 for n in dims]
    if kind == "points":
        data: Any = vtk.vtkStructuredPoints()
        data.SetOrigin(1, 2, 3)
        data.SetSpacing(0.5, 0.25, 2)
        writer: Any = vtk.vtkStructuredPointsWriter()
    elif kind == "grid":
        data = vtk.vtkStructuredGrid()
        points = vtk.vtkPoints()
        for z in axes[2]:
            for y in axes[1]:
                for x in axes[0]:
                    points.InsertNextPoint(x + 0.1 * y, y, z - x * y)
        data.SetPoints(points)
        writer = vtk.vtkStructuredGridWriter()
    else:
        data = vtk.vtkRectilinearGrid()
        for name, axis in zip("XYZ", axes, strict=True):
            array = filled(vtk.vtkDoubleArray, name, axis.tolist())
            getattr(data, f"Set{name}Coordinates")(array)
        writer = vtk.vtkRectilinearGridWriter()
    data.SetDimensions(*dims)
    n, m = data.GetNumberOfPoints(), data.GetNumberOfCells()
    data.GetPointData().SetScalars(filled(vtk.vtkFloatArray, "p", [i / 2 for i in range(n)]))
    data.GetCellData().AddArray(filled(vtk.vtkIntArray, "c", list(range(m))))
    writer.SetInputData(data)
    writer.SetFileTypeToBinary()
    writer.SetFileName(str(path))
    writer.Write()
    mesh = read(path)
    assert_same_as_vtk(mesh, seen_by_vtk(legacy_reader(path).GetOutput()))
    assert mesh.info.grid is not None
    assert mesh.info.grid.dims == dims
    if kind == "points":
        assert mesh.info.grid.origin == (1, 2, 3)
        assert mesh.info.grid.spacing == (0.5, 0.25, 2)


@pytest.mark.parametrize("version", [42, 51])
@pytest.mark.parametrize("ascii", [True, False], ids=["ascii", "binary"])
def test_poly_data(tmp_path: Path, version: int, ascii: bool) -> None:
    import vtk

    data = vtk.vtkPolyData()
    points = vtk.vtkPoints()
    points.SetDataTypeToDouble()
    rng = np.random.default_rng(0)
    for row in rng.random((12, 3)):
        points.InsertNextPoint(*row)
    data.SetPoints(points)
    rows = {
        "Verts": [[0], [1, 2]],
        "Lines": [[0, 1], [2, 3, 4]],
        "Polys": [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10, 11], [0, 2, 4]],
        "Strips": [[0, 1, 2, 3, 4]],
    }
    for name, cells in rows.items():
        array = vtk.vtkCellArray()
        for cell in cells:
            array.InsertNextCell(len(cell), cell)
        getattr(data, f"Set{name}")(array)
    data.GetCellData().SetScalars(filled(vtk.vtkFloatArray, "c", [float(i) for i in range(9)]))
    path = tmp_path / "it.vtk"
    writer = vtk.vtkPolyDataWriter()
    writer.SetInputData(data)
    writer.SetFileVersion(version)
    (writer.SetFileTypeToASCII if ascii else writer.SetFileTypeToBinary)()
    writer.SetFileName(str(path))
    writer.Write()
    mesh = read(path)
    assert_same_as_vtk(mesh, seen_by_vtk(legacy_reader(path).GetOutput()))
    assert mesh.cells.types.tolist() == [1, 2, 3, 4, 5, 9, 7, 5, 6]


@pytest.mark.parametrize(
    "name", ["VTKCellTypes.vtk", "office.binary.vtk", "fichera-mixed-p2.vtk", "wedge_w961.vtk"]
)
def test_samples(samples: Path, tmp_path: Path, name: str) -> None:
    path = next(samples.rglob(name))
    mesh = read(path)
    seen = seen_by_vtk(legacy_reader(path).GetOutput())
    # VTK 9.7 has reversed the wedge; a file of wedges from before is put right as it is read.
    upright = {13: [0, 2, 1, 3, 5, 4], 32: [0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9]}
    upright[32] += [12, 14, 13, 17, 16, 15]
    if name in ("fichera-mixed-p2.vtk", "wedge_w961.vtk"):
        for i, number in enumerate(seen["types"]):
            if number in upright:
                seen["cells"][i] = [seen["cells"][i][j] for j in upright[number]]
        (turned,) = (e for e in mesh.info.report.converted if e.what == "cells")
        assert turned.count == sum(number in upright for number in seen["types"])
    assert_same_as_vtk(mesh, seen)
    write(mesh, tmp_path / "again.vtk")
    assert differences(mesh, read(tmp_path / "again.vtk")) == []


# --- by hand -------------------------------------------------------------------------------------


def test_old_file_with_every_liberty(tmp_path: Path) -> None:
    """Version 1.0, DOS line ends, keywords in any case, comments, values on odd lines."""
    text = (
        "# vtk DataFile Version 1.0\nBracket, 1996\nascii\n\n# made by hand\n"
        "dataset polydata\n\nPoints 4 INT\n0 0 0 1 0 0\n1 1\n0 0 1 0\n"
        "POLYGONS 1 5\n4 0 1\n2 3\nVertices 1 2 1 3\n"
        "point_data 4\nscalars p float\nLookup_Table mine\n1 2.5\n-nan INF\n"
        "lookup_table mine 1\n1 0 .5 1\n"
        "CELL_DATA 2\nFIELD f 1\nNULL_ARRAY\nNormals n double 0 0 1 1 0 0\n"
        "POINT_DATA 4\nVECTORS 100% float 1 2 3 4 5 6 7 8 9 10 11 12\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text.replace("\n", "\r\n"))
    assert mesh.points.dtype == torch.float64
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.cells.types.tolist() == [1, 9]  # vertices before polygons
    assert mesh.cells.connectivity.tolist() == [3, 0, 1, 2, 3]
    p = mesh.point_data["p"]
    assert p[:2].tolist() == [1.0, 2.5]
    assert torch.isnan(p[2])
    assert p[3] == float("inf")
    assert mesh.point_data["100%"][3].tolist() == [10, 11, 12]
    assert mesh.cell_data["n"].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert mesh.info.attributes["title"] == "Bracket, 1996"
    assert mesh.info.attributes["lookup_tables"] == {"mine": [[1, 0, 0.5, 1]]}
    assert mesh.info.field("point_data", "p").attributes == {"lookup_table": "mine"}
    assert mesh.info.report.lossless
    (points,) = (e for e in mesh.info.report.converted if e.what == "points")
    assert points.reason == "int32 as float64"


def test_colours_in_ascii_become_bytes_and_are_counted(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.vtk", SQUARE + "POINT_DATA 4\nCOLOR_SCALARS c 1\n0.5 1 0 2.5\n")
    assert mesh.point_data["c"].tolist() == [128, 255, 0, 255]
    (entry,) = (e for e in mesh.info.report if e.what == "field")
    assert (entry.outcome, entry.name, entry.count) == ("converted", "point_data/c", 4)
    assert entry.reason == (
        "colours from 0 to 1 as bytes from 0 to 255, rounded; 1 were outside and became 0 or 255"
    )
    (title,) = (e for e in mesh.info.report if e.what == "info")
    assert (title.outcome, title.name) == ("kept", "attributes/title")


def test_metadata_by_hand(tmp_path: Path) -> None:
    text = SQUARE + (
        "POINT_DATA 4\nVECTORS v float\n" + "1 2 3 " * 4 + "\n\nMETADATA\nCOMPONENT_NAMES\n"
        "a%20b\n\nc\nINFORMATION 4\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 3 4\n\n"
        "NAME UNITS_LABEL LOCATION vtkDataArray\nDATA m%2Fs\n"
        "NAME NOTES LOCATION my\nDATA 2\nfirst%20one\nsecond\n"
        "NAME N LOCATION my\nDATA 7\n\nSCALARS s int\nLOOKUP_TABLE default\n1 2 3 4\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text)
    info = mesh.info.field("point_data", "v")
    assert info.components == ("a b", "", "c")
    assert info.unit == "m/s"
    assert mesh.point_data["s"].tolist() == [1, 2, 3, 4]
    assert mesh.info.attributes["vtk_information"] == {
        "point_data/v": {"my::NOTES": ["first one", "second"], "my::N": ["7"]}
    }
    (dropped,) = mesh.info.report.dropped
    assert dropped.name == "point_data/v vtkDataArray::L2_NORM_RANGE"
    assert not dropped.loss


def test_polyhedra_between_other_cells(tmp_path: Path) -> None:
    """A tet as a polyhedron, version 4: its row holds the face stream."""
    stream = "17 4 3 0 2 1 3 0 1 3 3 1 2 3 3 2 0 3"
    text = HEADER + (
        "DATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n0 0 0 1 0 0 0 1 0 0 0 1 2 2 2\n"
        f"CELLS 3 22\n1 4\n{stream}\n1 0\nCELL_TYPES 3\n1 42 1\nCELL_DATA 3\nFIELD f 1\n"
        "c 1 3 int 7 8 9\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text)
    assert mesh.cells.offsets.tolist() == [0, 1, 5, 6]
    assert mesh.cells.connectivity.tolist() == [4, 0, 1, 2, 3, 0]
    assert mesh.cells.polyhedra is not None
    assert mesh.cells.polyhedra.faces.tolist() == [0, 4]
    assert mesh.cells.polyhedra.offsets.tolist() == [0, 3, 6, 9, 12]
    assert mesh.cells.polyhedra.connectivity.tolist() == [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]
    assert mesh.cell_data["c"].tolist() == [7, 8, 9]


def test_blanking_and_ghost_levels(tmp_path: Path) -> None:
    text = (
        "# vtk DataFile Version 2.0\n\nASCII\nDATASET STRUCTURED_GRID\nDIMENSIONS 2 2 1\n"
        "BLANKING 4 int 1 1 0 1\nPOINTS 4 float 0 0 0 1 0 0 0 1 0 1 1 0\n"
        "CELL_DATA 1\nFIELD f 1 vtkGhostLevels 1 1 unsigned_char 2\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text)
    assert mesh.point_data["vtkGhostType"].tolist() == [0, 0, 2, 0]
    assert mesh.cell_data["vtkGhostType"].tolist() == [1]
    assert mesh.cells.connectivity.tolist() == [0, 1, 3, 2]


def test_extent_that_does_not_begin_at_zero(tmp_path: Path) -> None:
    text = HEADER + (
        "DATASET STRUCTURED_POINTS\nEXTENT 2 3 0 1 5 5\nSPACING 1 2 3\nORIGIN 10 0 0\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text)
    assert mesh.points.tolist() == [[12, 0, 15], [13, 0, 15], [12, 2, 15], [13, 2, 15]]
    assert mesh.info.grid == Grid((2, 2, 1), (12, 0, 15), (1, 2, 3), (1, 0, 0, 0, 1, 0, 0, 0, 1))


def test_texts_of_two_components_and_same_names(tmp_path: Path) -> None:
    text = SQUARE + (
        "CELL_DATA 2\nFIELD f 3\nw 2 2 string\na\nb\nc\nd\nx 1 2 int 1 2\nx 1 2 int 3 4\n"
    )
    mesh = read_text(tmp_path / "it.vtk", text)
    assert mesh.info.field("cell_data", "w_1").vocabulary == ("b", "d")
    assert mesh.cell_data["x"].tolist() == [3, 4]
    (lost,) = mesh.info.report.losses
    assert (lost.name, lost.count) == ("cell_data/x", 2)


def test_points_alone_and_nothing_at_all(tmp_path: Path) -> None:
    start = HEADER + "DATASET UNSTRUCTURED_GRID\n"
    assert read_text(tmp_path / "it.vtk", start + "POINTS 1 float 1 2 3").n_points == 1
    empty = read_text(tmp_path / "it.vtk", start + "POINTS 0 float\nCELLS 0 0\nCELL_TYPES 0\n")
    assert (empty.n_points, empty.n_cells) == (0, 0)
    assert read_text(tmp_path / "it.vtk", start + "POINTS 0 float\nCELLS 1 0\nOFFSETS int 0\n"
                     "CONNECTIVITY int\nCELL_TYPES 0\n").n_cells == 0  # fmt: skip
