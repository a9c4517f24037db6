"""pyvista: the same memory on both sides, and the same mesh back."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
from hypothesis import given

from meshkit.cells import Cells
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.interop.pyvista import from_pyvista, to_pyvista
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, one_of_each, tetrahedron
from tests.random_meshes import random_meshes

pv = pytest.importorskip("pyvista")


def address(x: object) -> int:
    return int(np.asarray(x).__array_interface__["data"][0])


@given(mesh=random_meshes())
def test_any_mesh_comes_back_bit_for_bit(mesh: Mesh) -> None:
    assert differences(mesh, from_pyvista(to_pyvista(mesh))) == []


def test_from_pyvista_shares_memory() -> None:
    grid = to_pyvista(cube_hexes(2))
    grid = grid.copy()  # pyvista's own memory
    grid.clear_field_data()
    grid.point_data["p"] = np.arange(27.0)
    grid.cell_data["v"] = np.arange(24.0).reshape(8, 3)
    mesh = from_pyvista(grid)
    assert mesh.points.data_ptr() == address(grid.points)
    assert mesh.point_data["p"].data_ptr() == address(grid.point_data["p"])
    assert mesh.cell_data["v"].data_ptr() == address(grid.cell_data["v"])
    assert mesh.cells.connectivity.data_ptr() == address(grid.cell_connectivity)
    del grid
    gc.collect()
    assert mesh.point_data["p"].tolist() == list(range(27))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_to_pyvista_shares_memory(dtype: torch.dtype) -> None:
    mesh = cube_hexes(2).replace(
        point_data={"p": torch.arange(27.0)}, cell_data={"v": torch.rand(8, 3)}
    )
    mesh = mesh.replace(
        cells=mesh.cells.apply(lambda x: x.to(dtype) if x.dtype != torch.uint8 else x)
    )
    grid = to_pyvista(mesh)
    assert address(grid.points) == mesh.points.data_ptr()
    assert address(grid.point_data["p"]) == mesh.point_data["p"].data_ptr()
    assert address(grid.cell_data["v"]) == mesh.cell_data["v"].data_ptr()
    ids = grid.GetCells().GetConnectivityArray()
    assert address(ids) == mesh.cells.connectivity.data_ptr()
    wanted = mesh.points.clone()
    del mesh
    gc.collect()
    assert np.array_equal(grid.points, wanted.numpy())


def test_pyvista_sees_the_same_shapes() -> None:
    grid = to_pyvista(hanging_polyhedron())
    assert isinstance(grid, pv.UnstructuredGrid)
    assert grid.volume == pytest.approx(2.0, abs=1e-12)
    assert grid.celltypes.tolist() == [12] * 8 + [42]
    texts = to_pyvista(one_of_each().replace(cell_data={"m": list("abcdefgh")}))
    assert texts.cell_data["m"].tolist() == list("abcdefgh")


@pytest.mark.parametrize(
    ("dataset", "cells", "measure"),
    [
        (pv.Plane(i_resolution=2, j_resolution=3), {"quad": 6}, 1.0),
        (pv.ImageData(dimensions=(3, 3, 3)), {"voxel": 8}, 8.0),
        (pv.RectilinearGrid([0.0, 1, 3], [0.0, 1], [0.0, 2]), {"voxel": 2}, 6.0),
        (pv.ImageData(dimensions=(2, 3, 2)).cast_to_structured_grid(), {"hexahedron": 2}, 2.0),
        (pv.MultipleLines([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]]), {"poly_line": 1}, 2.0),
        (pv.ImageData(dimensions=(2, 2, 2)).cast_to_unstructured_grid(), {"voxel": 1}, 1.0),
    ],
    ids=lambda x: type(x).__name__,
)
def test_every_kind_of_data_set(dataset: object, cells: dict[str, int], measure: float) -> None:
    mesh = from_pyvista(dataset)
    assert mesh.cells.counts == cells
    assert float(cell_measures(mesh).sum()) == pytest.approx(measure)
    assert mesh.info.report.kept
    assert mesh.info.report.lossless


def test_blocks_are_regions() -> None:
    inner = pv.MultiBlock({"leaf": pv.Cube()})
    blocks = pv.MultiBlock({"a": pv.ImageData(dimensions=(2, 2, 2)), "none": None, "in": inner})
    mesh = from_pyvista(blocks)
    assert [(r.name, len(r), r.parent) for r in mesh.regions] == [
        ("a", 1, None),
        ("none", 0, None),
        ("in", 6, None),
        ("leaf", 6, "in"),
    ]
    assert mesh.cells.counts == {"quad": 6, "voxel": 1}


def test_empty_blocks_are_regions_of_no_cell() -> None:
    empty = {"none": None, "grid": pv.UnstructuredGrid(), "blocks": pv.MultiBlock()}
    mesh = from_pyvista(pv.MultiBlock({"a": pv.Cube(), **empty}))
    found = [(r.name, r.entity, len(r)) for r in mesh.regions]
    assert found == [("a", "cell", 6), *((name, "cell", 0) for name in empty)]


def test_an_unsound_mesh_is_refused_before_vtk_sees_it() -> None:
    mesh = tetrahedron()
    wrong = mesh.replace(cells=mesh.cells.renumbered(torch.tensor([0, 1, 2, 9])))
    with pytest.raises(MeshError, match="to_pyvista: cell 0: expected point ids from 0 to 3, fo"):
        to_pyvista(wrong)
    ids = torch.tensor([*range(13), 77])  # a cell of our own type, which VTK gets by its corners
    curved = make_mesh(torch.zeros(14, 3), Cells.of(200, ids[None]))
    with pytest.raises(MeshError, match="cell 0: expected point ids from 0 to 13, found 77"):
        to_pyvista(curved)


def test_refusals() -> None:
    with pytest.raises(MeshError, match="expected a data set of pyvista or vtk, found dict"):
        from_pyvista({})
    with pytest.raises(MeshError, match=r"expected a data set of .*, found vtkTable"):
        from_pyvista(pv.Table(np.zeros((2, 2))))
    grid = to_pyvista(cube_hexes())
    grid.clear_field_data()
    ids = np.asarray(grid.GetCells().GetConnectivityArray())
    ids[0] = 99
    with pytest.raises(MeshError, match="point id 99; expected ids from 0 to 7"):
        from_pyvista(grid)
