"""Legacy VTK: what vtk 9.7 writes and reads, old files by hand, and what is refused."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.errors import MeshkitError, ReadError
from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.vtk_legacy.words import encoded
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.meshes import (
    differences,
    hanging_polyhedron,
    random_meshes,
    tetrahedron,
    two_tetrahedra,
)
from tests.readers.mutations import survives
from tests.readers.vtk_views import assert_same_as_vtk, legacy_reader, seen_by_vtk

HEADER = "# vtk DataFile Version 3.0\na title\nASCII\n"
SQUARE = (
    HEADER + "DATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 1 1 0 0 1 0\n"
    "CELLS 2 8\n3 0 1 2\n3 0 2 3\nCELL_TYPES 2\n5 5\n"
)


def written(tmp_path: Path, text: str | bytes, name: str = "it.vtk") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read_text(tmp_path: Path, text: str | bytes) -> Mesh:
    return read(written(tmp_path, text))


# --- against vtk ---------------------------------------------------------------------------------


def _filled(cls: Any, name: str, values: list[Any], c: int = 1) -> Any:
    array = cls()
    array.SetName(name)
    array.SetNumberOfComponents(c)
    array.SetNumberOfTuples(len(values) // c)
    for i, value in enumerate(values):
        array.SetValue(i, value)
    return array


def _everything() -> Any:
    """A vtkUnstructuredGrid with a polyhedron and an array of each type and role."""
    import vtk

    points = vtk.vtkPoints()
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    for x, y, z in [*corners, *((x, y, 1) for x, y, _ in corners), (2, 2, 2)]:
        points.InsertNextPoint(x, y, z)
    grid = vtk.vtkUnstructuredGrid()
    grid.SetPoints(points)
    grid.InsertNextCell(vtk.VTK_TETRA, 4, [0, 1, 3, 4])
    rings = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
    stream = vtk.vtkIdList()
    for i in [len(rings), *(i for ring in rings for i in (len(ring), *ring))]:
        stream.InsertNextId(i)
    grid.InsertNextCell(vtk.VTK_POLYHEDRON, stream)
    grid.InsertNextCell(vtk.VTK_VERTEX, 1, [8])
    at_points, at_cells, at_all = grid.GetPointData(), grid.GetCellData(), grid.GetFieldData()
    whole = list(range(9))
    for name, cls, values in (
        ("ids", vtk.vtkIdTypeArray, [2**31 - 1, -1, *range(7)]),
        ("long", vtk.vtkLongArray, [2**53 + 1, -(2**63), *range(7)]),
        ("long long", vtk.vtkLongLongArray, [2**63 - 1, *range(8)]),
        ("u long", vtk.vtkUnsignedLongArray, [2**64 - 1, *range(8)]),
        ("u long long", vtk.vtkUnsignedLongLongArray, [2**64 - 1, *range(8)]),
        ("int", vtk.vtkIntArray, [-(2**31), *range(8)]),
        ("u int", vtk.vtkUnsignedIntArray, [2**32 - 1, *range(8)]),
        ("short", vtk.vtkShortArray, [-(2**15), *range(8)]),
        ("u short", vtk.vtkUnsignedShortArray, [2**16 - 1, *range(8)]),
        ("signed", vtk.vtkSignedCharArray, list(range(-9, 0))),
        ("u char", vtk.vtkUnsignedCharArray, list(range(247, 256))),
        ("bits", vtk.vtkBitArray, [0, 1, 1, 0, 1, 0, 1, 1, 1]),
        ("texts", vtk.vtkStringArray, ["a", "b c", "ü%", "", "x" * 70, "two\nlines", *"qqq"]),
        ("nan", vtk.vtkDoubleArray, [float("nan"), float("-inf"), 0.1, *whole[:6]]),
    ):
        at_points.AddArray(_filled(cls, name, values))
    at_points.SetScalars(_filled(vtk.vtkUnsignedCharArray, "colour", list(range(27)), 3))
    velocity = _filled(vtk.vtkFloatArray, 'v%41 "ü', [i / 4 for i in range(27)], 3)
    for i, name in enumerate(("X velo", "Y", "Z")):
        velocity.SetComponentName(i, name)
    velocity.GetInformation().Set(vtk.vtkDataArray.UNITS_LABEL(), "m/s per")
    velocity.GetRange(-1)
    at_points.SetVectors(velocity)
    at_points.SetTensors(_filled(vtk.vtkDoubleArray, "nine", [float(i) for i in range(81)], 9))
    at_points.SetTCoords(_filled(vtk.vtkFloatArray, "uv", [float(i) for i in range(18)], 2))
    at_points.SetNormals(_filled(vtk.vtkFloatArray, "normals", [1.0] * 27, 3))
    at_points.SetGlobalIds(_filled(vtk.vtkIdTypeArray, "gid", whole))
    at_cells.SetTensors(_filled(vtk.vtkDoubleArray, "six", [float(i) for i in range(18)], 6))
    at_cells.SetPedigreeIds(_filled(vtk.vtkStringArray, "who", ["a", "bb", "ccc"]))
    variants = vtk.vtkVariantArray()
    variants.SetName("variants")
    for value in (1, "s t", 1.5):
        variants.InsertNextValue(vtk.vtkVariant(value))
    at_all.AddArray(variants)
    at_all.AddArray(_filled(vtk.vtkStringArray, "words", ["a", "b"]))
    return grid


@pytest.mark.parametrize("version", [42, 51])
@pytest.mark.parametrize("ascii", [True, False], ids=["ascii", "binary"])
def test_every_type_and_role_as_vtk_writes_it(tmp_path: Path, version: int, ascii: bool) -> None:
    from vtkmodules.vtkCommonCore import vtkDoubleArray
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter

    path = tmp_path / "it.vtk"
    grid = _everything()
    if not ascii:  # vtk's own reader crashes on an empty array in an ascii file
        grid.GetFieldData().AddArray(_filled(vtkDoubleArray, "none", []))
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
            array = _filled(vtk.vtkDoubleArray, name, axis.tolist())
            getattr(data, f"Set{name}Coordinates")(array)
        writer = vtk.vtkRectilinearGridWriter()
    data.SetDimensions(*dims)
    n, m = data.GetNumberOfPoints(), data.GetNumberOfCells()
    data.GetPointData().SetScalars(_filled(vtk.vtkFloatArray, "p", [i / 2 for i in range(n)]))
    data.GetCellData().AddArray(_filled(vtk.vtkIntArray, "c", list(range(m))))
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
    data.GetCellData().SetScalars(_filled(vtk.vtkFloatArray, "c", [float(i) for i in range(9)]))
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
    mesh = read_text(tmp_path, text.replace("\n", "\r\n"))
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
    mesh = read_text(tmp_path, SQUARE + "POINT_DATA 4\nCOLOR_SCALARS c 1\n0.5 1 0 2.5\n")
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
    mesh = read_text(tmp_path, text)
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
    mesh = read_text(tmp_path, text)
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
    mesh = read_text(tmp_path, text)
    assert mesh.point_data["vtkGhostType"].tolist() == [0, 0, 2, 0]
    assert mesh.cell_data["vtkGhostType"].tolist() == [1]
    assert mesh.cells.connectivity.tolist() == [0, 1, 3, 2]


def test_extent_that_does_not_begin_at_zero(tmp_path: Path) -> None:
    text = HEADER + (
        "DATASET STRUCTURED_POINTS\nEXTENT 2 3 0 1 5 5\nSPACING 1 2 3\nORIGIN 10 0 0\n"
    )
    mesh = read_text(tmp_path, text)
    assert mesh.points.tolist() == [[12, 0, 15], [13, 0, 15], [12, 2, 15], [13, 2, 15]]
    assert mesh.info.grid == Grid((2, 2, 1), (12, 0, 15), (1, 2, 3), (1, 0, 0, 0, 1, 0, 0, 0, 1))


def test_texts_of_two_components_and_same_names(tmp_path: Path) -> None:
    text = SQUARE + (
        "CELL_DATA 2\nFIELD f 3\nw 2 2 string\na\nb\nc\nd\nx 1 2 int 1 2\nx 1 2 int 3 4\n"
    )
    mesh = read_text(tmp_path, text)
    assert mesh.info.field("cell_data", "w_1").vocabulary == ("b", "d")
    assert mesh.cell_data["x"].tolist() == [3, 4]
    (lost,) = mesh.info.report.losses
    assert (lost.name, lost.count) == ("cell_data/x", 2)


def test_points_alone_and_nothing_at_all(tmp_path: Path) -> None:
    start = HEADER + "DATASET UNSTRUCTURED_GRID\n"
    assert read_text(tmp_path, start + "POINTS 1 float 1 2 3").n_points == 1
    empty = read_text(tmp_path, start + "POINTS 0 float\nCELLS 0 0\nCELL_TYPES 0\n")
    assert (empty.n_points, empty.n_cells) == (0, 0)
    assert read_text(tmp_path, start + "POINTS 0 float\nCELLS 1 0\nOFFSETS int 0\n"
                     "CONNECTIVITY int\nCELL_TYPES 0\n").n_cells == 0  # fmt: skip


# --- written -------------------------------------------------------------------------------------


@given(mesh=random_meshes())
@settings(max_examples=60)
def test_any_mesh_comes_back_bit_for_bit(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("vtk") / "it.vtk"
    assert write(mesh, path).lossless
    assert differences(mesh, read(path)) == []


def rich() -> Mesh:
    """Something of everything, named to annoy."""
    mesh = hanging_polyhedron()
    n, m = mesh.n_points, mesh.n_cells
    names = ["", "a b%20\t", "NULL_ARRAY", "metadata", "ü" * 100, "nul\0nul", "\udc80"]
    return mesh.replace(
        point_data={
            **{name: torch.arange(n) + i for i, name in enumerate(names)},
            "v": torch.rand(n, 3),
            "w": torch.rand(n, 3),
            "stress": torch.rand(n, 3, 3, dtype=torch.float64),
        },
        cell_data={
            "p": torch.rand(m),
            "material": ["steel", "", "é\n"] * 3,
            "gid": torch.arange(m),
        },
        global_data={"": ["x" * 70, "y" * 20000], "big": torch.tensor([2**53 + 1])},
        regions=[Region("inlet", "side", [[0, 1], [2, 3]]), Region("é", "point", [1])],
        info=MeshInfo(
            length_unit="mm",
            time=0.25,
            fields={
                ("point_data", "v"): FieldInfo("m/s", "vectors", components=("u x", "v", "w")),
                ("point_data", "w"): FieldInfo("", "vectors"),
                ("point_data", "stress"): FieldInfo(kind="tensors"),
                ("cell_data", "p"): FieldInfo("Pa", "scalars"),
                ("cell_data", "gid"): FieldInfo(kind="global_ids"),
            },
        ),
    )


def test_vtk_sees_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "it.vtk"
    mesh = rich()
    assert write(mesh, path).lossless
    assert differences(mesh, read(path)) == []
    reader = legacy_reader(path)
    assert reader.GetErrorCode() == 0
    data = reader.GetOutput()
    assert (data.GetNumberOfPoints(), data.GetNumberOfCells()) == (31, 9)
    seen = seen_by_vtk(data)
    assert np.array_equal(seen["points"], mesh.points.numpy())
    assert seen["types"] == [12] * 8 + [42]
    ids = mesh.cells.connectivity.tolist()
    for i, cell in enumerate(seen["cells"]):
        a, b = mesh.cells.offsets[i : i + 2].tolist()
        assert sorted(cell) == sorted(ids[a:b])
    data.GetCell(8)
    assert data.GetCell(8).GetNumberOfFaces() == 9
    arrays = seen["point_data"]
    assert np.array_equal(arrays["v"], mesh.point_data["v"].numpy())
    assert np.array_equal(arrays["w"], mesh.point_data["w"].numpy())
    assert np.array_equal(arrays["stress"], mesh.point_data["stress"].reshape(-1, 9).numpy())
    assert np.array_equal(arrays["a b%20\t"], mesh.point_data["a b%20\t"].numpy())
    assert len(arrays) == len(list(mesh.point_data.keys()))
    assert seen["cell_data"]["material"] == ["steel", "", "é\n"] * 3
    assert seen["global_data"]["big"] == [2**53 + 1]
    assert data.GetPointData().GetVectors().GetName() == "v"
    assert data.GetPointData().GetTensors().GetName() == "stress"
    assert data.GetCellData().GetScalars().GetName() == "p"
    assert data.GetCellData().GetGlobalIds().GetName() == "gid"
    velocity = data.GetPointData().GetVectors()
    assert velocity.GetComponentName(0) == "u x"
    assert velocity.GetInformation().Get(velocity.UNITS_LABEL()) == "m/s"
    assert seen["global_data"]["TimeValue"] == [0.25]


def test_what_vtk_made_of_our_file_is_read(tmp_path: Path) -> None:
    """vtk reads our file, changes the cells and writes it: our notes no longer hold."""
    import vtk

    write(rich(), tmp_path / "ours.vtk")
    data = legacy_reader(tmp_path / "ours.vtk").GetOutput()
    shrink = vtk.vtkExtractCells()
    shrink.SetInputData(data)
    ids = vtk.vtkIdList()
    for i in (3, 8):
        ids.InsertNextId(i)
    shrink.SetCellList(ids)
    shrink.Update()
    writer = vtk.vtkUnstructuredGridWriter()
    writer.SetInputData(shrink.GetOutput())
    writer.SetFileName(str(tmp_path / "theirs.vtk"))
    writer.Write()
    mesh = read(tmp_path / "theirs.vtk")
    assert mesh.cells.types.tolist() == [12, 42]
    assert len(mesh.regions) == 0
    assert any(e.what == "regions" for e in mesh.info.report.losses)


def test_texts_of_every_length_prefix(tmp_path: Path) -> None:
    """A length takes one, two or four bytes: at the ends of each."""
    texts = ["x" * n for n in (0, 1, 32, 63, 64, 8192, 16383, 16384, 70000)]
    mesh = tetrahedron().replace(global_data={"t": texts})
    write(mesh, tmp_path / "it.vtk")
    assert differences(mesh, read(tmp_path / "it.vtk")) == []
    seen = seen_by_vtk(legacy_reader(tmp_path / "it.vtk").GetOutput())
    assert seen["global_data"]["t"] == texts


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_id_dtypes(tmp_path: Path, dtype: torch.dtype) -> None:
    mesh = two_tetrahedra().replace(faces=None)
    cells = mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.to(dtype))
    write(mesh.replace(cells=cells), tmp_path / "it.vtk")
    assert read(tmp_path / "it.vtk").cells.connectivity.dtype == dtype
    word = b"OFFSETS int\n" if dtype == torch.int32 else b"OFFSETS vtktypeint64\n"
    assert word in (tmp_path / "it.vtk").read_bytes()


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "a.vtk")
    write(two_tetrahedra(), tmp_path / "b.vtk")
    assert (tmp_path / "a.vtk").read_bytes() == (tmp_path / "b.vtk").read_bytes()


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# vtk DataFile Version 9.0\n\nASCII\n", "line 1: version 9; expected at most"),
        ("# vtk DataFile Version 3.0\n\nTEXT\n", "line 3: found 'TEXT'; expected ASCII or BINARY"),
        ("# vtk DataFile Version 3.0\n", "line 2: ends too early; expected ASCII or BINARY"),
        (HEADER, "holds no DATASET; expected a mesh"),
        (HEADER + "FIELD f 1\na 1 1 int 3\n", "holds a FIELD and no DATASET; expected a mesh"),
        (HEADER + "DATASET TABLE\n", "line 4: a DATASET of kind 'TABLE' is no mesh"),
        (HEADER + "POINT_DATA 3\n", "line 4: 'POINT_DATA' before any DATASET"),
        (SQUARE.replace("CELLS", "KELLS"), "line 7: unknown keyword 'KELLS' in UNSTRUCTURED_GRID"),
        (SQUARE.replace("1 1 0 0", "1 one 0 0"), "line 6: 'one' among the numbers of POINTS"),
        (SQUARE.replace("1 1 0 0", "1 1-2 0 0"), "line 6: '1-2' among the numbers of POINTS"),
        (SQUARE.replace("POINTS 4", "POINTS x"), "line 5: found 'x'; expected the count of POINTS"),
        (SQUARE.replace("POINTS 4", "POINTS -4"), "line 5: found '-4'; expected the count"),
        (SQUARE.replace("float", "half"), "line 5: POINTS has the unknown type 'half'"),
        (SQUARE.replace("3 0 2 3", "4 0 2 3"), "line 7: CELLS: the counts of the rows do not add"),
        (SQUARE.replace("3 0 2 3", "3 0 2 9"), "cell 1: point id 9; expected ids from 0 to 3"),
        (SQUARE.replace("3 0 2 3", "3 0 2 -1"), "cell 1: point id -1; expected ids from 0 to 3"),
        (SQUARE.replace("5 5", "5 9"), "cell 1: a quad of 3 points; expected 4"),
        (SQUARE.replace("5 5", "5 500"), "cell type 500; expected numbers from 0 to 255"),
        (SQUARE.replace("5 5", "5 99"), "unknown cell type 99"),
        (SQUARE.replace("TYPES 2\n5 5", "TYPES 1\n5"), "CELL_TYPES of 1 cells; expected 2"),
        (SQUARE[:-3], "ends too early; expected 2 numbers of CELL_TYPES"),
        (SQUARE + "POINT_DATA 5\n", "POINT_DATA 5; expected 4, as in the DATASET"),
        (SQUARE + "POINT_DATA 4\nSCALARS p float\n1 2 3 4", "line 14: found '2' after SCALARS 'p'"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 3 int 1 2 3", "line 14: array 'x' has 3 rows"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 0 4 int", "line 14: found '0'; expected the comp"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 4 char 1 2 3 300", "'300' among the numbers"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 4 int 1 2 3 4.5", "'4.5' among the numbers"),
        (SQUARE + "POINT_DATA 4\nSCALES p float\n", "line 13: unknown keyword 'SCALES' in POINT_D"),
        (SQUARE + "POINTS 1 float 1 2 3\n", "line 12: POINTS a second time"),
        (
            HEADER + "DATASET STRUCTURED_POINTS\nDIMENSIONS 9999 9999 9999\n",
            "DIMENSIONS say 999700029999 points and no array has that many",
        ),
        (
            HEADER + "DATASET STRUCTURED_GRID\nDIMENSIONS 2 2 1\nPOINTS 3 float " + "0 " * 9,
            "POINTS 3; expected 4, as DIMENSIONS 2 x 2 x 1 say",
        ),
        (
            HEADER + "DATASET RECTILINEAR_GRID\nDIMENSIONS 2 2 1\nX_COORDINATES 2 float 0 1\n",
            "no Y_COORDINATES; expected 2",
        ),
        (
            HEADER + "DATASET POLYDATA\nPOINTS 1 float 0 0 0\nPOLYGONS 3 2\nOFFSETS int 0 2 1\n"
            "CONNECTIVITY int 0 0\n",
            "OFFSETS of POLYGONS run from 0 to 1; expected 0 to 2",
        ),
        (
            HEADER + "DATASET POLYDATA\nPOINTS 1 float 0 0 0\nPOLYGONS 4 2\nOFFSETS int 0 2 1 2\n"
            "CONNECTIVITY int 0 0\n",
            "OFFSETS of POLYGONS descend after row 1; expected ascending",
        ),
        (
            HEADER + "DATASET UNSTRUCTURED_GRID\nPOINTS 1 float 0 0 0\nCELLS 1 4\n3 2 1 0\n"
            "CELL_TYPES 1\n42\n",
            "CELLS: the faces of a polyhedron do not add up",
        ),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_text(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "it.vtk"))


def test_binary_that_ends_early_names_the_byte(tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "it.vtk")
    data = (tmp_path / "it.vtk").read_bytes()
    at = data.index(b"POINTS")
    path = written(tmp_path, data[: at + 40])
    with pytest.raises(ReadError, match=rf"byte {at + 9}: 120 bytes for 15 numbers of POINTS, but"):
        read(path)


@pytest.mark.parametrize("count", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("binary", [False, True], ids=["ascii", "binary"])
@pytest.mark.parametrize(
    "lie",
    [
        "POINTS {} float\n",
        "CELLS {} {}\n",
        "CELLS 1 {}\n",
        "CELL_TYPES {}\n",
        "CELLS {} 1\nOFFSETS vtktypeint64\n",
        "FIELD f 1\na 1 {} string\n",
        "FIELD f 1\na {} 1 bit\n",
        "FIELD f 1\na 1 {} variant\n",
        "FIELD f {}\n",
    ],
)
def test_headers_that_lie_allocate_nothing(
    tmp_path: Path, lie: str, binary: bool, count: int
) -> None:
    header = HEADER.replace("ASCII", "BINARY") if binary else HEADER
    text = header + "DATASET UNSTRUCTURED_GRID\n" + lie.replace("{}", str(count)) + "1 2 3\n"
    path = written(tmp_path, text)
    tracemalloc.start()
    try:
        with pytest.raises(MeshkitError):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def _damaged_sources(tmp_path: Path) -> dict[str, bytes]:
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter

    found = {}
    for version in (42, 51):
        for ascii in (True, False):
            writer = vtkUnstructuredGridWriter()
            writer.SetInputData(_everything())
            writer.SetFileVersion(version)
            (writer.SetFileTypeToASCII if ascii else writer.SetFileTypeToBinary)()
            path = tmp_path / f"{version}{ascii}"
            writer.SetFileName(str(path))
            writer.Write()
            found[f"{version}-{'ascii' if ascii else 'binary'}"] = path.read_bytes()
    write(rich(), tmp_path / "ours.vtk")
    found["ours"] = (tmp_path / "ours.vtk").read_bytes()
    found["square"] = SQUARE.encode()
    return found


@pytest.mark.parametrize(
    "which", ["42-ascii", "42-binary", "51-ascii", "51-binary", "ours", "square"]
)
def test_damage(tmp_path: Path, which: str) -> None:
    data = _damaged_sources(tmp_path)[which]
    tracemalloc.start()
    try:
        assert survives(tmp_path / "it.vtk", data, n=150, seed=1) > 30
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_numbers_of_the_header_changed(tmp_path: Path) -> None:
    """Each number of an ascii file in turn becomes another; nothing but our errors comes of it."""
    rng = random.Random(0)
    words = (SQUARE + "POINT_DATA 4\nSCALARS p float 1\nLOOKUP_TABLE default\n1 2 3 4\n").split(" ")
    said = []
    for i in range(len(words)):
        value = rng.choice(["0", "-1", "7", "1e9", "4294967296", "99999999999999999999"])
        try:
            read_text(tmp_path, " ".join([*words[:i], value, *words[i + 1 :]]))
        except MeshkitError as why:
            said.append(str(why))
    assert len(said) > len(words) // 3
    assert not any("\n" in line for line in said)
