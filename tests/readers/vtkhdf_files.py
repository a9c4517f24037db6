"""VTKHDF files for tests: changed, and seen by VTK's own reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.report import Report
from tests.meshes import kuhn_cube
from tests.readers.vtkhdf_saving import numbers


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


def rectilinear_of(stretch: float = 1.0) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    grid = vtkRectilinearGrid()
    grid.SetDimensions(3, 4, 2)
    grid.SetXCoordinates(numbers("x", np.array([0, 1, 3.0]) * stretch))
    grid.SetYCoordinates(numbers("y", np.array([0, 2, 3, 7.0])))
    grid.SetZCoordinates(numbers("z", np.array([1, 2.0])))
    grid.GetPointData().AddArray(numbers("i", np.arange(24.0) * stretch))
    return grid


def partitioned(*parts: Any) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkPartitionedDataSet

    whole = vtkPartitionedDataSet()
    for i, part in enumerate(parts):
        whole.SetPartition(i, part)
    return whole


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
