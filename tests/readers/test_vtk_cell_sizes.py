"""Cells of too few points in VTK's files: of others turned and counted, of ours as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit import Cells, Mesh, ReadError, check, make_mesh
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.objects import to_poly, to_unstructured
from meshkit.readers.writing import write
from tests.mesh_differences import differences
from tests.readers import vtkhdf_saving
from tests.readers.vtk_saving import column, plain, saved

POINTS = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=torch.float64)


def short() -> Mesh:
    """Polylines of one point and of three, polygons of 0, 1, 2 and 3, a strip of 2 and of 3."""
    types = torch.tensor([4, 4, 7, 7, 7, 7, 6, 6], dtype=torch.uint8)
    sizes = torch.tensor([0, 1, 3, 0, 1, 2, 3, 2, 3])
    ids = torch.tensor([3, 0, 1, 2, 3, 2, 1, 0, 1, 3, 0, 1, 0, 1, 2])
    cells = Cells(types, torch.cumsum(sizes, 0), ids)
    return make_mesh(POINTS, cells, cell_data={"n": torch.arange(8)})


def as_legacy(dataset: Any, path: Path) -> Path:
    from vtkmodules.vtkIOLegacy import vtkDataSetWriter

    writer = vtkDataSetWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(dataset)
    assert writer.Write() == 1
    return path


def surface() -> Any:
    """What another program may write as poly data."""
    dataset = to_poly(plain(short(), cell={"n": column(*range(8))}))
    for name in ("meshkit_order", "meshkit_types"):
        dataset.GetFieldData().RemoveArray(name)
    return dataset


def grid() -> Any:
    return to_unstructured(plain(short(), cell={"n": column(*range(8))}))


SAVE: dict[str, Callable[[Any, Path], Path]] = {
    "vtk": as_legacy,
    "vtkhdf": vtkhdf_saving.saved,
    "vtu": saved,
    "vtp": saved,
}


@pytest.mark.parametrize(
    ("make", "suffix"),
    [
        *((surface, suffix) for suffix in ("vtp", "vtk", "vtkhdf")),
        *((grid, suffix) for suffix in ("vtu", "vtk", "vtkhdf")),
    ],
)
def test_of_others_they_become_what_their_points_make(
    tmp_path: Path, make: Callable[[], Any], suffix: str
) -> None:
    mesh = read(SAVE[suffix](make(), tmp_path / f"a.{suffix}"))
    triangle = 5 if make is surface else 7
    by_number = dict(zip(mesh.cell_data["n"].tolist(), mesh.cells.types.tolist(), strict=True))
    assert by_number == {0: 1, 1: 4, 2: 0, 3: 1, 4: 3, 5: triangle, 6: 3, 7: 6}
    assert mesh.cells.connectivity.tolist() == short().cells.connectivity.tolist()
    assert [f for f in check(mesh) if f.severity == "error"] == []


def test_they_are_counted(tmp_path: Path) -> None:
    mesh = read(saved(grid(), tmp_path / "a.vtu"))
    said = [(e.name, e.count, e.reason) for e in mesh.info.report.converted]
    assert said == [
        ("vertex", 1, "poly_line cells of 1 point"),
        ("line", 1, "triangle_strip cells of 2 points"),
        ("empty", 1, "polygon cells of 0 points"),
        ("vertex", 1, "polygon cells of 1 point"),
        ("line", 1, "polygon cells of 2 points"),
    ]


@pytest.mark.parametrize("suffix", ["vtp", "vtu", "vtk", "vtkhdf", "vtm"])
def test_ours_come_back_as_they_were(tmp_path: Path, suffix: str) -> None:
    write(short(), file := tmp_path / f"a.{suffix}")
    assert differences(short(), read(file)) == []


def test_ours_with_damaged_cells_are_of_others(tmp_path: Path) -> None:
    """The note's checksum says that polygons of two points are not as they were written."""
    mesh = make_mesh(POINTS, [[0, 1, 2, 3], [0, 1, 2]], types=["polygon", "polygon"])
    write(mesh, file := tmp_path / "a.vtk")
    text = file.read_bytes()
    ends = np.array([0, 4, 7], ">i8").tobytes()
    assert text.count(ends) == 1
    file.write_bytes(text.replace(ends, np.array([0, 5, 7], ">i8").tobytes()))
    again = read(file)
    assert again.cells.counts == {"line": 1, "polygon": 1}
    assert [f for f in check(again) if f.code == "wrong_size"] == []


def degrees(*of_cell: float, kind: str = "f8") -> VtkArray:
    return VtkArray(np.array([of_cell], kind), "degrees")


@pytest.mark.parametrize(
    ("number", "size", "arrays", "says"),
    [
        (36, 5, {}, r"cell 0: a quadratic_polygon of 5 points; expected at least 6, an even"),
        (36, 4, {}, r"a quadratic_polygon of 4 points"),
        (41, 0, {}, r"a convex_point_set of 0 points; expected at least 1"),
        (69, 5, {}, r"a lagrange_triangle of 5 points; expected as many points as a triangle"),
        (75, 1, {}, r"a bezier_curve of 1 points"),
        (70, 6, {"d": degrees(1, 1, 1)}, r"quadrilateral of 6 points and degrees 1, 1, 1; exp"),
        (70, 4, {"d": degrees(1, 1.5, 1)}, r"degrees 'd': a degree 1.5; expected 0 to 255"),
        (70, 4, {"d": degrees(1, -1, 1)}, r"degrees 'd': a degree -1.0; expected 0 to 255"),
        (70, 4, {"d": degrees(1, 1)}, r"degrees 'd': 2 a cell; expected 3 numbers a cell"),
        (70, 4, {"d": VtkArray(["a"], "degrees")}, r"degrees 'd': texts; expected 3"),
    ],
)
def test_a_contradiction_is_refused(
    number: int, size: int, arrays: dict[str, VtkArray], says: str
) -> None:
    from meshkit.readers.vtk import to_mesh
    from meshkit.report import Ledger

    cells = Cells(
        torch.tensor([number], dtype=torch.uint8), torch.tensor([0, size]), torch.arange(size) % 4
    )
    data = plain(make_mesh(POINTS, cells))
    data.cell_arrays = arrays
    with pytest.raises(ReadError, match=r"a\.vtu: .*" + says):
        to_mesh(data, Path("a.vtu"), Ledger())


def test_a_polyhedron_of_three_points_is_refused(tmp_path: Path) -> None:
    mesh = make_mesh(POINTS, polyhedra=[[[0, 1, 2], [2, 1, 0]]])
    file = saved(to_unstructured(plain(mesh)), tmp_path / "a.vtu")
    with pytest.raises(ReadError, match=r"cell 0: a polyhedron of 3 points; expected at least 4"):
        read(file)


def test_a_lagrange_cell_of_its_degrees_is_read() -> None:
    from meshkit.readers.vtk import to_mesh
    from meshkit.report import Ledger

    cells = Cells(torch.tensor([70], dtype=torch.uint8), torch.tensor([0, 6]), torch.arange(6) % 4)
    data = plain(make_mesh(POINTS, cells))
    data.cell_arrays = {"d": degrees(2, 1, 1)}
    mesh = to_mesh(data, Path("a.vtu"), Ledger())
    assert mesh.cells.degrees is not None and mesh.cells.degrees.tolist() == [[2, 1, 1]]
