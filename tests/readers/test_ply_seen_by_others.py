"""PLY: others see what we write, and we what they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.making import make_mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.meshes import cube_surface, square_quads


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
