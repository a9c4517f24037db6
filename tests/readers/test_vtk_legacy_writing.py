"""Legacy VTK: what we write comes back, and vtk sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.meshes import tetrahedron, two_tetrahedra
from tests.random_meshes import random_meshes
from tests.readers.vtk_legacy_files import rich
from tests.readers.vtk_views import legacy_reader, seen_by_vtk


@given(mesh=random_meshes())
@settings(max_examples=60)
def test_any_mesh_comes_back_bit_for_bit(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("vtk") / "it.vtk"
    assert write(mesh, path).lossless
    assert differences(mesh, read(path)) == []


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
