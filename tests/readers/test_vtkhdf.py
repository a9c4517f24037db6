"""VTKHDF: what others wrote, what we write, what VTK sees of it, and what no file may do."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.errors import ReadError, WriteError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import boundary, cell_measures
from meshkit.readers.formats import reader_for
from meshkit.readers.reading import read, read_series
from meshkit.readers.vtk import VtkArray, from_mesh
from meshkit.readers.vtkhdf import heaps
from meshkit.readers.vtkhdf.filters import BadChunk, fletcher32, unpacked
from meshkit.readers.writing import write
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries
from tests.meshes import (
    cube_hexes,
    differences,
    hanging_polyhedron,
    kuhn_cube,
    one_of_each,
    random_meshes,
    tetrahedron,
)
from tests.readers.vtk_saving import column, plain_vtk
from tests.readers.vtk_views import assert_same_as_vtk, seen_by_vtk
from tests.readers.vtkhdf_saving import (
    foreign,
    numbers,
    parts_of,
    poly_of,
    saved,
    saved_series,
)

# --- helpers --------------------------------------------------------------------------------------


def by_vtk(path: Path, step: int | None = None) -> Any:
    """What vtk's own reader makes of a file, at a step."""
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    if step is not None:
        reader.SetStep(step)
    reader.Update()
    return reader.GetOutput()


def image_of(shift: float = 0.0) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkImageData

    image = vtkImageData()
    image.SetExtent(1, 3, 0, 3, 2, 3)
    image.SetOrigin(1, 2, 3)
    image.SetSpacing(0.5, 1, 2)
    image.GetPointData().AddArray(numbers("i", np.arange(24.0) + shift))
    image.GetCellData().AddArray(numbers("v", np.arange(18.0).reshape(6, 3) - shift))
    return image


def changed(path: Path, change: Callable[[Any], None]) -> Path:
    """The file after a change to its group."""
    with h5py.File(path, "r+") as file:
        change(file["VTKHDF"])
    return path


def replaced(name: str, values: Any) -> Callable[[Any], None]:
    def change(group: Any) -> None:
        if name in group:
            del group[name]
        group[name] = values

    return change


def lines(report: Report, what: str) -> list[tuple[str, str, int]]:
    return [(e.outcome, e.name, e.count) for e in report if e.what == what]


# --- files of others ------------------------------------------------------------------------------


def test_the_sample_with_a_polyhedron(samples: Path) -> None:
    mesh = read(samples / "derived" / "hanging_poly.vtkhdf")
    assert (mesh.n_points, mesh.n_cells) == (31, 9)
    assert mesh.cells.counts == {"hexahedron": 8, "polyhedron": 1}
    assert float(cell_measures(mesh).sum()) == pytest.approx(2, abs=1e-12)
    assert boundary(mesh).n_cells == 25
    assert mesh.cell_data["p"].tolist() == [10.0 * i for i in range(9)]
    assert torch.equal(mesh.point_data["x"], mesh.points[:, 0])
    assert ("converted", "polyhedron", 1) in lines(mesh.info.report, "cells")


@pytest.mark.parametrize("compression", [0, 5])
@pytest.mark.parametrize("mesh", [one_of_each(), hanging_polyhedron()], ids=["each", "solid"])
def test_an_unstructured_grid_by_vtk(mesh: Mesh, compression: int, tmp_path: Path) -> None:
    dataset = plain_vtk(
        mesh,
        point={"p": column(*range(mesh.n_points), dtype=np.float32)},
        cell={"v": VtkArray(np.arange(3.0 * mesh.n_cells).reshape(-1, 3), "vectors")},
        field={"s": VtkArray(["a", "", "ä"]), "f": VtkArray(np.arange(6).reshape(2, 3))},
    )
    file = saved(dataset, tmp_path / "a.vtkhdf", CompressionLevel=compression)
    found = read(file)
    seen = seen_by_vtk(dataset)
    assert_same_as_vtk(found, seen)
    assert found.info.field("cell_data", "v").kind == "vectors"
    assert torch.equal(cell_measures(found), cell_measures(mesh))


def test_poly_data_by_vtk(tmp_path: Path) -> None:
    dataset = poly_of([0, 1, 2], [1, 2, 3, 4], [0, 1, 2, 3, 4])
    mesh = read(saved(dataset, tmp_path / "a.vtkhdf"))
    assert_same_as_vtk(mesh, seen_by_vtk(dataset))
    assert mesh.cells.types.tolist() == [1, 1, 4, 5, 9, 7, 6]


def test_an_image_by_vtk(tmp_path: Path) -> None:
    dataset = image_of()
    dataset.SetDirectionMatrix(0, -1, 0, 1, 0, 0, 0, 0, 1)
    mesh = read(saved(dataset, tmp_path / "a.vtkhdf"))
    assert_same_as_vtk(mesh, seen_by_vtk(dataset))
    assert mesh.info.grid is not None
    assert mesh.info.grid.dims == (3, 4, 2)
    assert mesh.info.grid.direction == (0, -1, 0, 1, 0, 0, 0, 0, 1)


def rectilinear_of(stretch: float = 1.0) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    grid = vtkRectilinearGrid()
    grid.SetDimensions(3, 4, 2)
    grid.SetXCoordinates(numbers("x", np.array([0, 1, 3.0]) * stretch))
    grid.SetYCoordinates(numbers("y", np.array([0, 2, 3, 7.0])))
    grid.SetZCoordinates(numbers("z", np.array([1, 2.0])))
    grid.GetPointData().AddArray(numbers("i", np.arange(24.0) * stretch))
    return grid


def structured_of() -> Any:
    from vtkmodules.vtkCommonDataModel import vtkStructuredGrid

    grid = vtkStructuredGrid()
    grid.SetDimensions(3, 4, 2)
    made = rectilinear_of()
    from vtkmodules.vtkCommonCore import vtkPoints

    points = vtkPoints()
    for i in range(24):
        x, y, z = made.GetPoint(i)
        points.InsertNextPoint(x + 0.1 * y, y, z + 0.2 * x)
    grid.SetPoints(points)
    grid.GetCellData().AddArray(numbers("v", np.arange(18.0).reshape(6, 3)))
    return grid


@pytest.mark.parametrize("make", [rectilinear_of, structured_of], ids=["straight", "bent"])
def test_other_lattices_by_vtk(make: Callable[[], Any], tmp_path: Path) -> None:
    mesh = read(saved(make(), tmp_path / "a.vtkhdf"))
    assert_same_as_vtk(mesh, seen_by_vtk(make()))
    assert mesh.info.grid is not None and mesh.info.grid.dims == (3, 4, 2)


def test_a_bent_lattice_over_time_by_hand(tmp_path: Path) -> None:
    """VTK's writer cannot make one; points have an axis for time."""
    points = np.arange(2 * 2 * 3 * 2 * 3.0).reshape(2, 2, 3, 2, 3)  # time, z, y, x, xyz
    with h5py.File(tmp_path / "a.vtkhdf", "w") as file:
        group = file.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Dimensions"] = [2, 7], [2, 3, 2]
        group.attrs["Type"] = np.bytes_("StructuredGrid")
        group["Points"] = points
        group["PointData/p"] = np.arange(36.0).reshape(3, 2, 3, 2)
        group["Steps/Values"] = [0.0, 1.0, 2.0]
        group["Steps/PointOffsets"] = [0, 0, 1]
    series = read_series(tmp_path / "a.vtkhdf")
    for k, slab in enumerate((0, 0, 1)):
        assert torch.equal(series[k].points, torch.from_numpy(points[slab].reshape(-1, 3)))
        assert series[k].point_data["p"].tolist() == [12 * k + i for i in range(12)]
    assert series[0].cells.counts == {"hexahedron": 2}


def test_blocks_are_regions(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkMultiBlockDataSet

    top, inner = vtkMultiBlockDataSet(), vtkMultiBlockDataSet()
    inner.SetBlock(0, plain_vtk(tetrahedron()))
    top.SetBlock(0, poly_of([0, 1, 2]))
    top.SetBlock(1, inner)
    for block, i, name in ((top, 0, "skin"), (top, 1, "body"), (inner, 0, "fluid")):
        block.GetMetaData(i).Set(vtkCompositeDataSet.NAME(), name)
    mesh = read(saved(top, tmp_path / "a.vtkhdf"))
    found = {r.name: (len(r), r.parent) for r in mesh.regions}
    assert found == {"skin": (5, None), "body": (1, None), "fluid": (1, "body")}
    assert mesh.cells.types.tolist() == [1, 1, 4, 5, 6, 10]
    assert float(cell_measures(mesh)[5]) == pytest.approx(1 / 6)


def test_a_collection_with_an_assembly(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonDataModel import (
        vtkCompositeDataSet,
        vtkDataAssembly,
        vtkPartitionedDataSetCollection,
    )

    whole = vtkPartitionedDataSetCollection()
    whole.SetPartition(0, 0, plain_vtk(tetrahedron()))
    whole.SetPartition(1, 0, plain_vtk(cube_hexes(1)))
    whole.SetPartition(1, 1, plain_vtk(cube_hexes(1)))
    for i, name in enumerate("ab"):
        whole.GetMetaData(i).Set(vtkCompositeDataSet.NAME(), name)
    tree = vtkDataAssembly()
    node = tree.AddNode("both")
    tree.AddDataSetIndex(node, 0)
    tree.AddDataSetIndex(node, 1)
    tree.AddDataSetIndex(tree.AddNode("again"), 1)
    whole.SetDataAssembly(tree)
    file = saved(whole, tmp_path / "a.vtkhdf")
    mesh = read(file)
    assert {r.name: r.ids.tolist() for r in mesh.regions if len(r)} == {
        "both": [0, 1, 2],
        "a": [0],
        "b": [1, 2],
    }
    # The second mention of "b" is the same cells: counted, not doubled.
    assert ("dropped", "b", 1) in lines(mesh.info.report, "region")

    def without_assembly(group: Any) -> None:
        del group["Assembly"]

    mesh = read(changed(file, without_assembly))
    assert {r.name: len(r) for r in mesh.regions} == {"a": 1, "b": 2}


def test_a_data_set_of_no_parts(tmp_path: Path) -> None:
    def no_parts(group: Any) -> None:
        for name in ("NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"):
            replaced(name, np.zeros(0, int))(group)
        for name in ("Points", "Types", "Offsets", "Connectivity", "PointData/p", "CellData/v"):
            replaced(name, group[name][:0])(group)

    mesh = read(changed(foreign(tmp_path / "a.vtkhdf"), no_parts))
    assert (mesh.n_points, mesh.n_cells, mesh.points.dtype) == (0, 0, torch.float64)
    assert mesh.cell_data["v"].shape == (0, 3)
    assert mesh.info.report.lossless


@pytest.mark.parametrize("parts", [[1, 0], [0, 0]])
def test_a_time_of_no_parts(parts: list[int], tmp_path: Path) -> None:
    cube = cube_hexes(1)
    meshes = [cube.replace(info=MeshInfo(time=float(k))) for k in range(2)]
    write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    file = changed(tmp_path / "a.vtkhdf", replaced("Steps/NumberOfParts", np.array(parts)))
    assert [m.n_cells for m in read_series(file)] == parts


def test_blocks_that_are_missing(tmp_path: Path) -> None:
    def composite(group: Any) -> None:
        group.attrs["Type"] = np.bytes_("MultiBlockDataSet")

    refused(changed(foreign(tmp_path / "a.vtkhdf"), composite), "/VTKHDF: holds no block; expected")


def test_the_oldest_version_by_hand(tmp_path: Path) -> None:
    def old(group: Any) -> None:
        group["PointData"].attrs["Scalars"] = np.bytes_("p")
        group["CellData/v"].attrs["Attribute"] = "Vectors"
        group["CellData/yes"] = np.array([True, False, True])
        group["PointData/h"] = np.arange(6).astype(np.float16)
        group["PointData/t"] = np.array([b"a", b"bc", b"", b"a", b"a", b"a"])
        group["CellData/m"] = np.zeros((3, 2, 2))
        group["FieldData/note"] = "one text"
        group["FieldData/three"] = np.array(["x", "", "ü"], dtype=object)

    mesh = read(changed(foreign(tmp_path / "a.hdf"), old))
    assert mesh.cells.dense.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert mesh.points[2].tolist() == [2, 4, 8]
    assert mesh.point_data["p"].tolist() == [0, 1, 2, 3, 4, 5]
    assert mesh.cell_data["v"].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert mesh.cell_data["v"].dtype == torch.int16
    assert mesh.cell_data["yes"].tolist() == [True, False, True]
    assert mesh.point_data["h"].dtype == torch.float16
    assert mesh.cell_data["m"].shape == (3, 4)
    assert mesh.info.field("point_data", "p").kind == "scalars"
    assert mesh.info.field("cell_data", "v").kind == "vectors"
    assert mesh.info.field("point_data", "t").vocabulary == ("a", "bc", "")
    assert mesh.info.field("global_data", "note").vocabulary == ("one text",)
    assert mesh.info.field("global_data", "three").vocabulary == ("x", "", "ü")


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"fletcher32": True},
    ],
    ids=["gzip", "all", "checksum"],
)
@pytest.mark.parametrize("libver", [None, "latest"])
def test_packed_chunks(options: dict[str, Any], libver: Any, tmp_path: Path) -> None:
    plain = read(foreign(tmp_path / "a.vtkhdf"))
    packed = read(foreign(tmp_path / "b.vtkhdf", libver=libver, **options))
    assert differences(plain, packed) == []


def test_a_checksum_by_hand() -> None:
    # Words 0x0102 and 0x0304: sums 0x0102, 0x0406 and 0x0102 + 0x0406 = 0x0508.
    assert fletcher32(bytes([1, 2, 3, 4])) == 0x05080406
    assert fletcher32(b"") == 0
    assert fletcher32(b"\xff\xff") == 0xFFFFFFFF
    assert fletcher32(b"\x01") == 0x01000100
    data = np.random.default_rng(0).integers(0, 256, 300_001, np.uint8).tobytes()
    stored = data + fletcher32(data).to_bytes(4, "little")
    assert unpacked(stored, [(3, 0, (), b"")], 0, len(data)) == data
    with pytest.raises(BadChunk, match="checksum is wrong"):
        unpacked(bytes([stored[0] ^ 1]) + stored[1:], [(3, 0, (), b"")], 0, len(data))


def test_a_flipped_bit_under_a_checksum_is_seen(tmp_path: Path) -> None:
    file = foreign(tmp_path / "a.vtkhdf", fletcher32=True)
    data = bytearray(file.read_bytes())
    at = data.index(np.array([2.0, 4.0, 8.0]).tobytes())
    data[at + 7] ^= 1
    file.write_bytes(data)
    with pytest.raises(ReadError, match=r"/VTKHDF/Points: .*checksum is wrong"):
        read(file)


def test_parts_follow_each_other(tmp_path: Path) -> None:
    empty = make_mesh(torch.zeros(0, 3, dtype=torch.float64))
    file = parts_of(
        tmp_path / "a.vtkhdf",
        [tetrahedron(), empty, cube_hexes(1)],
        CellData__c=[[5], [], [6]],
        PointData__p=[[0.0] * 4, [], [1.0] * 8],
    )
    mesh = read(file)
    assert mesh.cells.counts == {"tetra": 1, "hexahedron": 1}
    assert cell_measures(mesh).tolist() == pytest.approx([1 / 6, 1])
    assert mesh.cell_data["c"].tolist() == [5, 6]
    assert mesh.point_data["p"].tolist() == [0] * 4 + [1] * 8


def partitioned(*parts: Any) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkPartitionedDataSet

    whole = vtkPartitionedDataSet()
    for i, part in enumerate(parts):
        whole.SetPartition(i, part)
    return whole


def test_parts_by_vtk(tmp_path: Path) -> None:
    """VTK writes nothing of faces for parts without polyhedra, and cannot read that itself."""
    solid, cube = plain_vtk(hanging_polyhedron()), plain_vtk(cube_hexes(1))
    surface = poly_of([0, 1, 2], [1, 2, 3, 4])
    for parts, measure, n_boundary in (
        ((solid, cube, solid), 5, 25 + 6 + 25),
        ((cube, solid), 3, 6 + 25),
        ((solid, solid, cube), 5, 25 + 25 + 6),
    ):
        mesh = read(saved(partitioned(*parts), tmp_path / "a.vtkhdf", Overwrite=True))
        assert float(cell_measures(mesh).sum()) == pytest.approx(measure, abs=1e-12)
        assert boundary(mesh).n_cells == n_boundary
    mesh = read(saved(partitioned(surface, surface), tmp_path / "b.vtkhdf"))
    assert mesh.cells.types.tolist() == [1, 1, 4, 5, 9, 6] * 2
    assert mesh.cell_data["c"].tolist() == [0, 1, 2, 3, 4, 5] * 2


def test_what_vtk_puts_into_other_files_is_refused(tmp_path: Path) -> None:
    both = partitioned(plain_vtk(cube_hexes(1)), plain_vtk(cube_hexes(1)))
    file = saved(both, tmp_path / "a.vtkhdf", UseExternalPartitions=True)
    refused(file, "has its data in other files; expected all data in this one")


def test_ghosts_of_parts_go(tmp_path: Path) -> None:
    two = cube_hexes(2)
    file = parts_of(
        tmp_path / "a.vtkhdf",
        [two, two],
        CellData__vtkGhostType=[
            np.array([0] * 4 + [1] * 4, "u1"),
            np.array([1] * 4 + [0] * 4, "u1"),
        ],
    )
    mesh = read(file)
    assert mesh.n_cells == 8
    assert float(cell_measures(mesh).sum()) == pytest.approx(1)
    assert "vtkGhostType" not in mesh.cell_data
    assert lines(mesh.info.report, "cells")[:2] == [("dropped", "ghost", 4)] * 2


# --- files of others over time --------------------------------------------------------------------


def test_a_static_mesh_over_time_by_vtk(tmp_path: Path) -> None:
    base = plain_vtk(kuhn_cube(1))

    def make(k: int) -> Any:
        from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid

        grid = vtkUnstructuredGrid()
        grid.CopyStructure(base)
        grid.GetPointData().AddArray(numbers("p", np.arange(8.0) + 10 * k))
        grid.GetCellData().AddArray(numbers("c", np.arange(18).reshape(6, 3) + 100 * k))
        grid.GetFieldData().AddArray(numbers("f", np.arange(1.0 + k) + k))
        return grid

    series = read_series(saved_series(make, [0.0, 0.5, 2.0], tmp_path / "a.vtkhdf"))
    assert series.times == (0.0, 0.5, 2.0)
    meshes = list(series)
    for k, mesh in enumerate(meshes):
        assert mesh.info.time == series.times[k]
        assert mesh.point_data["p"].tolist() == [i + 10 * k for i in range(8)]
        assert mesh.cell_data["c"][:, 0].tolist() == [3 * i + 100 * k for i in range(6)]
        assert mesh.global_data["f"].tolist() == [i + k for i in range(k + 1)] or k == 0
        assert float(cell_measures(mesh).sum()) == pytest.approx(1)
    assert meshes[0].cells is meshes[1].cells is meshes[2].cells
    assert meshes[0].points.data_ptr() == meshes[2].points.data_ptr()
    last = read(tmp_path / "a.vtkhdf")
    assert differences(last, meshes[2]) == []
    assert ("dropped", "others", 2) in lines(last.info.report, "time")
    assert read(tmp_path / "a.vtkhdf", time=0.5).info.time == 0.5
    with pytest.raises(ReadError, match=r"no time 1; there are 0, 0\.5, 2"):
        read(tmp_path / "a.vtkhdf", time=1.0)


KINDS = ["grid", "solid", "poly", "image", "blocks", "rectilinear"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_over_time_by_vtk(kind: str, tmp_path: Path) -> None:
    def grid(k: int) -> Any:
        mesh = kuhn_cube(1 + k)
        arrays = column(*range(mesh.n_cells), dtype=np.float64)
        texts = VtkArray([f"step {k}", *["more"] * k])
        return plain_vtk(mesh, cell={"c": arrays}, field={"s": texts})

    def solid(k: int) -> Any:
        mesh = hanging_polyhedron()
        mesh = mesh.select(list(range(8 - k, 9)))
        return plain_vtk(mesh, cell={"c": column(*range(mesh.n_cells), dtype=np.float64)})

    def poly(k: int) -> Any:
        return poly_of(*[[0, 1, 2], [1, 2, 3, 4], [0, 1, 2, 3, 4]][k:])

    def blocks(k: int) -> Any:
        from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

        both = vtkMultiBlockDataSet()
        both.SetBlock(0, grid(k))
        both.SetBlock(1, poly(k))
        return both

    def rectilinear(k: int) -> Any:
        return rectilinear_of(k + 1.0)

    makers: list[Callable[[int], Any]] = [grid, solid, poly, image_of, blocks, rectilinear]
    make = makers[KINDS.index(kind)]
    series = read_series(saved_series(make, [0.0, 1.0, 3.0], tmp_path / "a.vtkhdf"))
    assert series.times == (0.0, 1.0, 3.0)
    for k in (2, 0, 1):
        mesh = series[k]
        if kind == "blocks":
            sizes = [len(r) for r in mesh.regions]
            assert sizes == [6 * (k + 1) ** 3, 7 - k]
        else:
            assert_same_as_vtk(mesh, seen_by_vtk(make(k)))


def test_polyhedra_that_come_and_go_by_vtk(tmp_path: Path) -> None:
    whole = hanging_polyhedron()
    few, last = whole.select([0, 1]), whole.select([7, 8])
    for i, row in enumerate([(few, whole, last), (whole, few, last), (last, whole, few)]):
        file = tmp_path / f"{i}.vtkhdf"
        saved_series(lambda k, row=row: plain_vtk(row[k]), [0.0, 1.0, 2.0], file)  # type: ignore[misc]
        series = read_series(file)
        for k in (2, 1, 0):
            assert series[k].cells.counts == row[k].cells.counts
            assert torch.equal(cell_measures(series[k]), cell_measures(row[k]))

    def both(k: int) -> Any:
        return partitioned(plain_vtk(whole), plain_vtk([few, last, whole][k]))

    series = read_series(saved_series(both, [0.0, 1.0, 2.0], tmp_path / "parts.vtkhdf"))
    assert [len(m.cells.types) for m in series] == [11, 11, 18]
    for k, volume in enumerate((2 + 0.25, 2 + 1.125, 4)):
        assert float(cell_measures(series[k]).sum()) == pytest.approx(volume, abs=1e-12)


@pytest.mark.parametrize("times", [(0, 1), (1, 2), (1,), (0, 2), ()], ids=str)
@pytest.mark.parametrize("kind", ["grid", "poly", "image"])
def test_an_array_that_vtk_wrote_at_some_times(
    kind: str, times: tuple[int, ...], tmp_path: Path
) -> None:
    """The file does not say at which: it is counted as lost, and never taken for another time's."""

    def make(k: int) -> Any:
        plain = {
            "grid": plain_vtk(kuhn_cube(1 + k)),
            "poly": poly_of([0, 1, 2]),
            "image": image_of(),
        }
        data = plain[kind]
        for attributes, n in (
            (data.GetPointData(), data.GetNumberOfPoints()),
            (data.GetCellData(), data.GetNumberOfCells()),
        ):
            attributes.AddArray(numbers("always", np.arange(float(n)) + k))
            if k in times:
                attributes.AddArray(numbers("q", np.arange(float(n)) + 100 * k))
        return data

    series = read_series(saved_series(make, [0.0, 1.0, 2.0], tmp_path / "a.vtkhdf"))
    for k, mesh in enumerate(series):
        assert mesh.point_data["always"].tolist() == [i + k for i in range(mesh.n_points)]
        assert mesh.cell_data["always"].tolist() == [i + k for i in range(mesh.n_cells)]
        assert "q" not in mesh.point_data.keys() and "q" not in mesh.cell_data.keys()
        lost = [e.name for e in mesh.info.report.losses]
        assert lost == (["point_data/q", "cell_data/q"] if times else [])


def test_times_that_repeat_are_numbered(tmp_path: Path) -> None:
    # VTK's writer keeps times as float32, so that steps of 1e-9 are one.
    file = tmp_path / "a.vtkhdf"
    saved_series(lambda k: plain_vtk(kuhn_cube(1 + k)), [1.0, 1.0 + 1e-9, 2.0], file)
    series = read_series(file)
    assert series.times == (0.0, 1.0, 2.0)
    assert [m.n_cells for m in series] == [6, 48, 162]
    (entry,) = [e for e in series[1].info.report if e.what == "time"]
    assert (entry.outcome, entry.reason) == (
        "converted",
        "times repeat or descend: 1 is called 1",
    )


def test_descending_times_are_put_in_order(tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"
    made = [kuhn_cube(n).replace(info=MeshInfo(time=float(n))) for n in (1, 2)]
    write(MeshSeries.of(made), file)
    changed(file, replaced("Steps/Values", [5.0, 3.0]))
    series = read_series(file)
    assert series.times == (3.0, 5.0)
    assert [m.n_cells for m in series] == [48, 6]


# --- our own files --------------------------------------------------------------------------------


@settings(max_examples=200)
@given(mesh=random_meshes())
def test_anything_comes_back_and_vtk_sees_it(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("vtkhdf") / "a.vtkhdf"
    write(mesh, file)
    assert differences(mesh, read(file)) == []
    assert_vtk_sees(mesh, by_vtk(file))


def assert_vtk_sees(mesh: Mesh, dataset: Any, *, more: bool = False) -> None:
    """vtk's own reader has each point, cell and array of a mesh; `more` allows others beside."""
    seen, data = seen_by_vtk(dataset), from_mesh(mesh, Ledger())
    assert np.array_equal(seen["points"], data.points.astype(float), equal_nan=True)
    assert seen["types"] == data.types.tolist()
    offsets, ids = data.offsets.tolist(), data.connectivity.tolist()
    assert seen["cells"] == [ids[a:b] for a, b in itertools.pairwise(offsets)]
    for home, arrays in (("point_data", data.point_arrays), ("cell_data", data.cell_arrays)):
        found = seen[home]
        assert len(found) == len(arrays) or (more and len(found) > len(arrays))
        for name, array in arrays.items():
            if isinstance(array.values, list) or name not in found:
                continue  # codes, or another name
            values = found[name].reshape(-1)
            if values.dtype == array.values.dtype and len(values) == array.values.size:
                assert values.tobytes() == array.values.tobytes()
            else:
                assert more
    assert len(seen["global_data"]) >= len(data.field_arrays)
    if data.polyhedra is not None:
        faces = dataset.GetPolyhedronFaces().GetNumberOfCells()
        assert faces == len(data.polyhedra[1]) - 1


def test_texts_for_vtk_are_numbers_and_words(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).with_data(
        point={"z": torch.arange(8.0)},
        cell={"b/mat.x": ["steel", "", "ö", "steel", "", "air"], "c": torch.arange(6)},
        global_={"words": ["x", "", "🙂"], "none": torch.zeros(0, 3)},
    )
    write(mesh, tmp_path / "a.vtkhdf")
    assert differences(mesh, read(tmp_path / "a.vtkhdf")) == []
    seen = seen_by_vtk(by_vtk(tmp_path / "a.vtkhdf"))
    assert seen["cell_data"]["b%2Fmat.x"].tolist() == [0, 1, 2, 0, 1, 3]
    assert seen["global_data"]["meshkit_words cell_data b%2Fmat.x"] == ["steel", "", "ö", "air"]
    assert seen["cell_data"]["c"].tolist() == [0, 1, 2, 3, 4, 5]
    assert seen["global_data"]["words"] == ["x", "", "🙂"]


def test_roles_for_vtk(tmp_path: Path) -> None:
    kinds = {"n": "normals", "u": "vectors", "two": "vectors", "v": "vectors", "id": "global_ids"}
    mesh = tetrahedron().replace(
        point_data={
            **{name: torch.ones(4, 3) for name in "nuv"},
            "two": torch.ones(4, 2),
            "id": torch.arange(4),
        },
        info=MeshInfo(fields={("point_data", k): FieldInfo(kind=v) for k, v in kinds.items()}),
    )
    write(mesh, tmp_path / "a.vtkhdf")
    assert differences(mesh, read(tmp_path / "a.vtkhdf")) == []
    data = by_vtk(tmp_path / "a.vtkhdf").GetPointData()
    assert data.GetNumberOfArrays() == 5  # vtk drops the first of two vectors
    assert data.GetNormals().GetName() == "n"
    assert data.GetVectors().GetName() == "u"
    assert data.GetGlobalIds().GetName() == "id"


@settings(max_examples=30)
@given(
    meshes=st.lists(random_meshes(point_dtypes=(torch.float64,)), min_size=2, max_size=4),
    words=st.lists(st.sampled_from(["", "a", "ö"]), max_size=3),
)
def test_any_series_comes_back_and_vtk_sees_it(
    meshes: list[Mesh], words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if words:
        texts = [words[i % len(words)] for i in range(meshes[-1].n_cells)]
        meshes[-1] = meshes[-1].with_data(cell={"mat": texts}, global_={"words": words})
    timed = [m.replace(info=m.info.replace(time=i / 10)) for i, m in enumerate(meshes)]
    file = tmp_path_factory.mktemp("vtkhdf") / "a.vtkhdf"
    write(MeshSeries.of(timed), file)
    series = read_series(file)
    assert series.times == tuple(i / 10 for i in range(len(meshes)))
    for k in reversed(range(len(timed))):
        assert differences(timed[k], series[k]) == []
        assert_vtk_sees(timed[k], by_vtk(file, k), more=True)


@pytest.mark.parametrize("kind", ["static", "moving", "changing"])
def test_vtk_has_each_time_by_its_value(kind: str, tmp_path: Path) -> None:
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    times = [0.1, 0.1 + 1e-12, 1 / 3, 2.5e300]
    meshes = []
    for k, time in enumerate(times):
        cube = kuhn_cube(2)
        mesh = cube.replace(points=cube.points * (k + 1)) if kind == "moving" else cube
        if kind == "changing":
            mesh = [kuhn_cube(1), hanging_polyhedron(), one_of_each(), cube][k]
        n, m = mesh.n_points, mesh.n_cells
        mesh = mesh.with_data(
            point={"T": torch.randn(n, dtype=torch.float64), "a/b [é]": torch.randn(n, 3)},
            cell={"p.x": torch.randn(m), "mat": [f"air {(i + k) % 3}" for i in range(m)]},
            global_={"words": [f"w{k}", "x"], "v": torch.arange(3.0) + k},
        )
        meshes.append(mesh.replace(info=mesh.info.replace(time=time)))
    write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    for mesh, time in zip(meshes, times, strict=True):
        reader = vtkHDFReader()
        reader.SetFileName(str(tmp_path / "a.vtkhdf"))
        reader.UpdateInformation()
        assert reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS()) == tuple(times)
        reader.UpdateTimeStep(time)
        seen = seen_by_vtk(reader.GetOutput())
        assert np.array_equal(seen["points"], mesh.points)
        assert seen["types"] == mesh.cells.types.tolist()
        points, cells, field = seen["point_data"], seen["cell_data"], seen["global_data"]
        assert set(points) == {"T", "a%2Fb [é]"} and set(cells) == {"p.x", "mat"}
        assert np.array_equal(points["T"], mesh.point_data["T"])
        assert np.array_equal(points["a%2Fb [é]"], mesh.point_data["a/b [é]"])
        assert np.array_equal(cells["p.x"], mesh.cell_data["p.x"])
        words = field["meshkit_words cell_data mat"]
        k = times.index(time)
        said = [f"air {(i + k) % 3}" for i in range(mesh.n_cells)]
        assert [words[i] for i in cells["mat"].tolist()] == said
        assert list(field["words"]) == [f"w{k}", "x"]
        assert np.array_equal(np.ravel(field["v"]), mesh.global_data["v"])


def moving(n: int = 5) -> list[Mesh]:
    """A cube whose points, fields and regions differ in what changes over time."""
    cube = kuhn_cube(3)
    return [
        cube.replace(
            points=cube.points * (1 + (k > 2)),
            info=MeshInfo(time=0.25 * k, length_unit="mm"),
        ).with_data(point={"p": torch.full((64,), float(k)), "static": torch.arange(64.0)})
        for k in range(n)
    ]


def test_what_stays_is_written_and_read_once(tmp_path: Path) -> None:
    meshes = moving()
    report = write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    assert ("kept", "", 5) in lines(report, "time")
    assert ("kept", "tetra", 5 * 162) in lines(report, "cells")
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        group = file["VTKHDF"]
        assert group["Connectivity"].shape == (648,)
        assert group["Points"].shape == (2 * 64, 3)
        assert group["PointData/p"].shape == (5 * 64,)
        assert group["PointData/static"].shape == (64,)
        assert group["Steps/PointOffsets"][()].tolist() == [0, 0, 0, 64, 64]
        assert group["Steps/PartOffsets"][()].tolist() == [0] * 5
        assert group["Steps/Values"].dtype == np.float64
    series = read_series(tmp_path / "a.vtkhdf")
    found = list(series)
    assert all(differences(a, b) == [] for a, b in zip(meshes, found, strict=True))
    assert len({id(m.cells) for m in found}) == 1


def test_a_field_that_is_absent_at_times(tmp_path: Path) -> None:
    cube = cube_hexes(1)
    fields = [{"p": torch.ones(8)}, {}, {"p": torch.full((8,), 2.0), "a/b": torch.arange(8)}]
    meshes = [
        cube.replace(point_data=data, info=MeshInfo(time=float(k))) for k, data in enumerate(fields)
    ]
    write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    series = read_series(tmp_path / "a.vtkhdf")
    assert [sorted(m.point_data.keys()) for m in series] == [["p"], [], ["a/b", "p"]]
    absent = [[e.name for e in m.info.report.dropped if e.what == "field"] for m in series]
    assert absent == [["point_data/a/b"], ["point_data/a/b", "point_data/p"], []]
    assert all(m.info.report.lossless for m in series)
    # Other programs find NaN and -1 where there is nothing.
    seen = seen_by_vtk(by_vtk(tmp_path / "a.vtkhdf", 1))["point_data"]
    assert np.isnan(seen["p"]).all()
    assert seen["a%2Fb"].tolist() == [-1] * 8


def test_what_another_program_adds_is_read_too(tmp_path: Path) -> None:
    write(cube_hexes(1).with_data(point={"p": torch.ones(8)}), tmp_path / "a.vtkhdf")
    mesh = read(changed(tmp_path / "a.vtkhdf", replaced("PointData/new", np.arange(8.0))))
    assert list(mesh.point_data.keys()) == ["p", "new"]


def test_what_vtk_writes_anew_comes_back(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).with_data(
        point={"a.b": torch.arange(8.0)}, cell={"mat": ["x", "y", "", "x", "y", "ö"]}
    )
    write(mesh, tmp_path / "a.vtkhdf")
    saved(by_vtk(tmp_path / "a.vtkhdf"), tmp_path / "b.vtkhdf")
    assert differences(mesh, read(tmp_path / "b.vtkhdf")) == []


def test_the_same_mesh_makes_the_same_bytes(tmp_path: Path) -> None:
    for series in (False, True):
        for name in ("a", "b"):
            mesh = MeshSeries.of(moving()) if series else moving()[0]
            write(mesh, tmp_path / f"{name}.vtkhdf")
        assert (tmp_path / "a.vtkhdf").read_bytes() == (tmp_path / "b.vtkhdf").read_bytes()
        with h5py.File(tmp_path / "a.vtkhdf") as file:
            times = [
                h5py.h5o.get_info(file[name].id).mtime for name in ("/", "VTKHDF", "VTKHDF/Points")
            ]
        assert times == [0, 0, 0]


def test_series_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"
    with pytest.raises(WriteError, match="a series of no times; expected one at least"):
        write(MeshSeries([], [].__getitem__), file)
    meshes = moving(2)
    meshes[1] = meshes[1].to(dtype=torch.float32)
    with pytest.raises(WriteError, match="the points change from float64 to float32; expected one"):
        write(MeshSeries.of(meshes), file)
    assert list(tmp_path.iterdir()) == []


# --- what is refused ------------------------------------------------------------------------------


def refused(path: Path, match: str) -> None:
    with pytest.raises(ReadError, match=match) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_content_decides(tmp_path: Path) -> None:
    file = foreign(tmp_path / "a.vtkhdf")
    for name in ("a.h5", "a.cgns", "a.vtu", "a"):
        (tmp_path / name).write_bytes(file.read_bytes())
        assert reader_for(tmp_path / name).name == "vtkhdf"
    with h5py.File(tmp_path / "b.med", "w") as other:
        other["ENS_MAA/x"] = np.arange(3)
    assert reader_for(tmp_path / "b.med").name == "meshio"
    (tmp_path / "b.vtkhdf").write_bytes((tmp_path / "b.med").read_bytes())
    refused(tmp_path / "b.vtkhdf", "is HDF5 without a group 'VTKHDF'")
    (tmp_path / "c.vtkhdf").write_bytes(b"x" * 2000)
    refused(tmp_path / "c.vtkhdf", "has no HDF5 signature")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replaced("Points", np.zeros((5, 3))), "/VTKHDF/Points: holds 5 rows; expected 6"),
        (replaced("Points", np.zeros((6, 2))), r"/VTKHDF/Points: holds float64 \[6, 2\]"),
        (replaced("Types", np.zeros(2, "u1")), "/VTKHDF/Types: holds 2 rows"),
        (replaced("Types", np.full(3, 300)), "/VTKHDF/Types: says 300 to 300; expected cell types"),
        (replaced("Types", np.full(3, 42, "u1")), "0 polyhedra have faces; expected 3"),
        (replaced("Types", np.full(3, 12, "u1")), "cell 0: a hexahedron of 4 points; expected 8"),
        (replaced("Offsets", np.array([0, 4, 8, 13])), "offsets do not span"),
        (replaced("Offsets", np.array([0, 9, 8, 12])), "offsets descend at 1"),
        (replaced("Offsets", np.array([0, 4, 8])), "/VTKHDF/Offsets: holds 3 rows"),
        (replaced("Offsets", np.zeros(4)), "/VTKHDF/Offsets: holds float64"),
        (replaced("Connectivity", np.full(12, 6)), "point id 6; expected ids from 0 to 5"),
        (replaced("Connectivity", np.full(12, -1)), "point id -1"),
        (replaced("Connectivity", np.full(12, 2**40)), "point id 1099511627776"),
        (replaced("Connectivity", np.full(12, 2**64 - 1, "u8")), "/VTKHDF/Connectivity: says 1844"),
        (replaced("NumberOfCells", [-3]), "/VTKHDF/NumberOfCells: says -3"),
        (replaced("NumberOfPoints", [2**59]), "/VTKHDF/Points: holds 6 rows"),
        (replaced("NumberOfPoints", ["x"]), "/VTKHDF/NumberOfPoints: holds"),
        (replaced("PointData/p", np.zeros(7)), "/VTKHDF/PointData/p: holds 7 rows; expected 6"),
        (replaced("CellData", np.zeros(3)), "/VTKHDF/CellData: is no group"),
        (lambda g: g.pop("Offsets"), "/VTKHDF/Offsets: is missing"),
        (lambda g: g.attrs.pop("Type"), "holds a data set of type 'None'"),
        (lambda g: g.attrs.pop("Version"), "attribute 'Version' is missing; expected 2 numbers"),
        (lambda g: g.attrs.modify("Version", [3, 0]), "is of version 3; expected version 1 to 2"),
        (
            lambda g: g.attrs.modify("Type", np.bytes_("HyperTreeGrid")),
            "holds a data set of type 'HyperTreeGrid'; expected one of UnstructuredGrid, PolyData",
        ),
        (lambda g: g.create_group("Steps"), "/VTKHDF/Steps/Values: is missing"),
        (
            lambda g: g.attrs.update(Type=np.bytes_("StructuredGrid"), Dimensions=[3, 2, 2]),
            r"/VTKHDF/Points: holds float64 \[6, 3\]; expected points \[2, 2, 3, 3\]",
        ),
        (
            lambda g: g.attrs.update(Type=np.bytes_("RectilinearGrid"), Dimensions=[3, 2, 1]),
            "/VTKHDF/XCoordinates: is missing",
        ),
        (
            lambda g: g.attrs.update(Type=np.bytes_("RectilinearGrid"), Dimensions=[3, -2, 1]),
            "/VTKHDF: Dimensions are 3 -2 1",
        ),
        (replaced("meshkit", 1), None),
        (replaced("FieldData/meshkit_vtkhdf", np.frombuffer(b"{]", "u1")), "own table is damaged"),
    ],
)
def test_contradictions(change: Callable[[Any], None], said: str | None, tmp_path: Path) -> None:
    file = changed(foreign(tmp_path / "a.vtkhdf"), change)
    if said is None:
        assert read(file).n_cells == 3
    else:
        refused(file, said)


def test_times_that_contradict_the_data(tmp_path: Path) -> None:
    file, whole = tmp_path / "a.vtkhdf", tmp_path / "whole.vtkhdf"
    write(MeshSeries.of(moving(3)), whole)
    for change, said in (
        (lambda g: g["Steps"].attrs.modify("NSteps", 4), "declares 4 times; expected 1 to 3"),
        (replaced("Steps/NSteps", 1), None),
        (replaced("Steps/Values", np.zeros((3, 2))), "Steps/Values: holds float64"),
        (replaced("Steps/PartOffsets", [0, 0, 1]), "time 2 has parts 1 to 1; expected at most 1"),
        (replaced("Steps/NumberOfParts", [1, 1, 2]), "time 2 has parts 0 to 1; expected at most 1"),
        (replaced("Steps/PointOffsets", [0, 0, 64]), "Points: holds 64 rows; expected 64 from"),
        (replaced("Steps/PointOffsets", [0, 0, -1]), r"PointOffsets: says \[-1\] for time 2"),
        (replaced("Steps/PointDataOffsets/p", [0, 64, 192]), "PointData/p: holds 192 rows"),
        (replaced("Steps/PointOffsets", [0, 0]), "PointOffsets: holds 2 rows"),
    ):
        file.write_bytes(whole.read_bytes())
        changed(file, change)
        if said is None:
            assert read(file).info.time == 0.5
        else:
            refused(file, said)


def test_nothing_leaves_the_file(tmp_path: Path) -> None:
    other = foreign(tmp_path / "other.vtkhdf")
    (tmp_path / "raw").write_bytes(np.zeros((6, 3)).tobytes())

    def external(group: Any) -> None:
        del group["Points"]
        group["Points"] = h5py.ExternalLink(str(other), "/VTKHDF/Points")

    def virtual(group: Any) -> None:
        del group["Points"]
        layout = h5py.VirtualLayout((6, 3), "f8")
        layout[:] = h5py.VirtualSource(str(other), "VTKHDF/Points", (6, 3))
        group.create_virtual_dataset("Points", layout)

    def raw(group: Any) -> None:
        del group["Points"]
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_external(str(tmp_path / "raw").encode(), 0, 144)
        space = h5py.h5s.create_simple((6, 3))
        h5py.h5d.create(group.id, b"Points", h5py.h5t.NATIVE_DOUBLE, space, plan)

    def soft(group: Any) -> None:
        group.move("Points", "P")
        group["Points"] = h5py.SoftLink("/VTKHDF/P")

    for i, (change, said) in enumerate(
        [
            (external, "/VTKHDF/Points: is a link to another file; expected all data in this one"),
            (virtual, "/VTKHDF/Points: has its data in other files"),
            (raw, "/VTKHDF/Points: has its data in other files"),
            (soft, "/VTKHDF/Points: is a symbolic link; expected these only below Assembly"),
        ]
    ):
        refused(changed(foreign(tmp_path / f"{i}.vtkhdf"), change), said)


def test_blocks_that_lead_astray(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

    top = vtkMultiBlockDataSet()
    top.SetBlock(0, plain_vtk(tetrahedron()))
    whole = saved(top, tmp_path / "whole.vtkhdf")
    file = tmp_path / "a.vtkhdf"

    def circle(group: Any) -> None:
        group["Assembly/again"] = group["Assembly"]

    def elsewhere(group: Any) -> None:
        group["Assembly/x"] = h5py.SoftLink("/VTKHDF/../etc")

    def itself(group: Any) -> None:
        group["Assembly/x"] = h5py.SoftLink("/VTKHDF/Assembly/x")

    def nested(group: Any) -> None:
        group["Block_1"].attrs["Type"] = np.bytes_("MultiBlockDataSet")

    for change, said in (
        (circle, "is nested too deeply; expected 20 levels at most"),
        (elsewhere, "/VTKHDF/Assembly/x: points to '/VTKHDF/../etc'; expected a block below"),
        (itself, "/VTKHDF/Assembly/x: points to"),
        (nested, "/VTKHDF/Block_1: holds a data set of type 'MultiBlockDataSet'"),
    ):
        file.write_bytes(whole.read_bytes())
        refused(changed(file, change), said)


def test_sizes_that_the_file_does_not_hold(tmp_path: Path) -> None:
    def unwritten(shape: tuple[int, ...], chunks: tuple[int, ...] | None) -> Any:
        def change(group: Any) -> None:
            del group["Points"], group["NumberOfPoints"]
            group["NumberOfPoints"] = [shape[0]]
            group.create_dataset("Points", shape, "f8", chunks=chunks)

        return change

    def bomb(group: Any) -> None:
        del group["Points"], group["NumberOfPoints"], group["PointData"]
        group["NumberOfPoints"] = [2**21]
        more = {"compression": "gzip", "compression_opts": 9, "chunks": (2**21, 3)}
        group.create_dataset("Points", data=np.zeros((2**21, 3)), **more)

    def hollow(group: Any) -> None:
        del group["Points"], group["NumberOfPoints"]
        group["NumberOfPoints"] = [2**21]
        group["padding"] = np.zeros(20_000)
        more = {"compression": "gzip", "chunks": (2**21, 3)}
        points = group.create_dataset("Points", (2**21, 3), "f8", **more)
        points.id.write_direct_chunk((0, 0), b"12345678")

    def odd(group: Any) -> None:
        del group["Connectivity"]
        group.create_dataset("Connectivity", data=np.arange(12), scaleoffset=0, chunks=(4,))

    def lattice(group: Any) -> None:
        group.attrs["Type"] = np.bytes_("ImageData")
        group.attrs["WholeExtent"] = [0, 2**20, 0, 2**20, 0, 2**20]
        for name in ("Origin", "Spacing"):
            group.attrs[name] = np.ones(3)

    for i, (change, said) in enumerate(
        [
            (unwritten((10**12, 3), (1000, 3)), "/VTKHDF/Points: declares 24000000000000 bytes"),
            (unwritten((10**12, 3), None), "/VTKHDF/Points: declares 24000000000000 bytes"),
            (unwritten((6, 3), (2, 3)), "/VTKHDF/Points: .*never written"),
            (unwritten((6, 3), None), "/VTKHDF/Points: .*never written"),
            (hollow, r"/VTKHDF/Points: .*its chunk at \(0, 0\) cannot hold 50331648 bytes"),
            (odd, "/VTKHDF/Connectivity: .*packed by scaleoffset; only gzip"),
            (lattice, "/VTKHDF: declares 1152924803144876033 points and no array of them"),
        ]
    ):
        refused(changed(foreign(tmp_path / f"{i}.vtkhdf"), change), said)
    # What deflate can really do is read: 48 MiB of zeros are 48 KiB.
    assert read(changed(foreign(tmp_path / "b.vtkhdf"), bomb)).n_points == 2**21


def test_texts_that_share_one_long_one(tmp_path: Path) -> None:
    """10 000 texts of 1 MB that are one and the same text in the file."""
    file = tmp_path / "a.vtkhdf"

    def long(group: Any) -> None:
        texts = np.array(["y" * 10**6] + ["x"] * 9999, dtype=object)
        group.create_dataset("FieldData/t", data=texts, dtype=h5py.string_dtype())

    changed(foreign(file), long)
    with h5py.File(file) as opened:
        start = opened["VTKHDF/FieldData/t"].id.get_offset()
    data = bytearray(file.read_bytes())
    data[start : start + 160_000] = data[start : start + 16] * 10_000
    file.write_bytes(data)
    refused(file, "/VTKHDF/FieldData/t: .*its texts are longer than the file")


@pytest.mark.parametrize("where", ["dataset", "attribute"])
def test_a_heap_that_libhdf5_would_walk_for_ever(where: str, tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"

    def texts(group: Any) -> None:
        if where == "dataset":
            group["FieldData/t"] = np.array(["two"], dtype=object)
        else:
            group.attrs["Type"] = "UnstructuredGrid"

    assert read(changed(foreign(file), texts)).n_cells == 3
    data = bytearray(file.read_bytes())
    word = b"two" if where == "dataset" else b"UnstructuredGrid"
    heap = data.index(b"GCOL")
    free = data.index(word, heap) + -(-len(word) // 8) * 8  # number 0, and how much is free
    assert data[free : free + 2] == b"\0\0" and data[free + 8 : free + 16] != bytes(8)
    data[free + 8 : free + 16] = bytes(8)
    file.write_bytes(data)
    refused(file, "0 free bytes at byte")


def test_heaps_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attributes are texts; each look goes through the whole file."""

    def looks(n: int) -> int:
        def texts(group: Any) -> None:
            for i in range(n):
                array = group.create_dataset(f"PointData/f{i}", data=np.zeros(len(group["Points"])))
                array.attrs["Attribute"] = "None"

        looked.clear()
        mesh = read(changed(foreign(tmp_path / f"{n}.vtkhdf"), texts))
        assert f"f{n - 1}" in mesh.point_data.keys()
        return len(looked)

    looked: list[int] = []
    walk = heaps._objects

    def counted(data: Any, at: int) -> dict[int, tuple[int, int]]:
        looked.append(at)
        return walk(data, at)

    monkeypatch.setattr(heaps, "_objects", counted)
    assert looks(9) == looks(1) > 0


def test_faces_that_are_named_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"
    write(hanging_polyhedron(), file)
    many = 200_000

    def change(group: Any) -> None:
        replaced("PolyhedronToFaces", np.zeros(many, np.int64))(group)
        replaced("NumberOfPolyhedronToFaceIds", [many])(group)
        replaced("PolyhedronOffsets", np.array([0] * 9 + [many]))(group)

    refused(changed(file, change), "PolyhedronToFaces: names faces again and again")


def test_a_truncated_file(tmp_path: Path) -> None:
    content = foreign(tmp_path / "whole.vtkhdf").read_bytes()
    file = tmp_path / "a.vtkhdf"
    for cut in range(100, len(content), len(content) // 20):
        file.write_bytes(content[:cut])
        refused(file, "HDF5 cannot read it|signature|is missing|without a group")


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    """In a process of its own, because libhdf5 could take this one with it."""
    mesh = one_of_each().with_data(
        point={"p": torch.arange(33.0)}, cell={"mat": list("aabbccdd")}, global_={"s": ["x", "yz"]}
    )
    write(mesh, tmp_path / "ours.vtkhdf")
    timed = [mesh.replace(info=MeshInfo(time=t)) for t in (0.0, 1.0)]
    write(MeshSeries.of(timed), tmp_path / "times.vtkhdf")
    saved(plain_vtk(hanging_polyhedron()), tmp_path / "vtk.vtkhdf")
    foreign(tmp_path / "packed.vtkhdf", compression="gzip", shuffle=True, fletcher32=True)
    program = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.readers.mutations import survives
        folder = Path({str(tmp_path)!r})
        for name in ("ours", "times", "vtk", "packed"):
            n = survives(folder / "a.vtkhdf", (folder / f"{{name}}.vtkhdf").read_bytes(), 50, 1)
            print(name, n)
            assert n > 10
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lossless_report(tmp_path: Path) -> None:
    assert write(hanging_polyhedron(), tmp_path / "a.vtkhdf").lossless
