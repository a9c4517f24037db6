"""VTKHDF: files that others wrote, of one time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import boundary, cell_measures
from meshkit.readers.reading import read, read_series
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtkhdf.filters import BadChunk, fletcher32, unpacked
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, one_of_each, tetrahedron
from tests.readers.by_hand import refused
from tests.readers.vtk_saving import column, plain_vtk
from tests.readers.vtk_views import assert_same_as_vtk, seen_by_vtk
from tests.readers.vtkhdf_files import (
    changed,
    image_of,
    lines,
    partitioned,
    rectilinear_of,
    replaced,
)
from tests.readers.vtkhdf_saving import foreign, numbers, parts_of, poly_of, saved


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
