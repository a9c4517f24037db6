"""VTKHDF: files that others wrote, over time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.info import MeshInfo
from meshkit.operators import cell_measures
from meshkit.readers.reading import read, read_series
from meshkit.readers.vtk import VtkArray
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, kuhn_cube
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
from tests.readers.vtkhdf_saving import (
    numbers,
    poly_of,
    saved_series,
)


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
