"""Small VTKHDF files for tests: by vtk's own writer, and by h5py as other programs write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from meshkit.mesh import Mesh


def saved(dataset: Any, path: Path, **settings: Any) -> Path:
    """What vtk's own writer makes of a data set."""
    from vtkmodules.vtkIOHDF import vtkHDFWriter

    writer = vtkHDFWriter()
    writer.SetInputData(dataset)
    writer.SetFileName(str(path))
    writer.SetChunkSize(4)
    for name, value in settings.items():
        getattr(writer, f"Set{name}")(value)
    assert writer.Write() == 1
    return path


def saved_series(make: Callable[[int], Any], times: Sequence[float], path: Path) -> Path:
    """What vtk's own writer makes of a source with times; `make` gives the data of a step."""
    from vtkmodules.util.vtkAlgorithm import VTKPythonAlgorithmBase
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
    from vtkmodules.vtkIOHDF import vtkHDFWriter

    first = make(0)

    class Source(VTKPythonAlgorithmBase):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(nInputPorts=0, nOutputPorts=1, outputType=first.GetClassName())

        def RequestInformation(self, request: Any, into: Any, out: Any) -> int:
            info = out.GetInformationObject(0)
            info.Set(Pipeline.TIME_STEPS(), list(times), len(times))
            info.Set(Pipeline.TIME_RANGE(), [times[0], times[-1]], 2)
            if hasattr(first, "GetExtent"):
                info.Set(Pipeline.WHOLE_EXTENT(), first.GetExtent(), 6)
            return 1

        def RequestData(self, request: Any, into: Any, out: Any) -> int:
            info = out.GetInformationObject(0)
            time = (
                info.Get(Pipeline.UPDATE_TIME_STEP())
                if info.Has(Pipeline.UPDATE_TIME_STEP())
                else times[0]
            )
            from vtkmodules.vtkCommonDataModel import vtkDataObject

            data = info.Get(vtkDataObject.DATA_OBJECT())
            data.ShallowCopy(make(list(times).index(time)))
            data.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), time)
            return 1

    source, writer = Source(), vtkHDFWriter()
    writer.SetInputConnection(source.GetOutputPort())
    writer.SetFileName(str(path))
    writer.SetWriteAllTimeSteps(True)
    writer.SetChunkSize(4)
    assert writer.Write() == 1
    return path


def numbers(name: str, values: Any) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk

    array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
    array.SetName(name)
    return array


def cells(*rows: Sequence[int]) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    made = vtkCellArray()
    for row in rows:
        made.InsertNextCell(len(row), list(row))
    return made


def poly_of(*polygons: Sequence[int]) -> Any:
    """Vertices, a line, polygons and a strip over six points, with arrays."""
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkPolyData

    points = vtkPoints()
    for i in range(6):
        points.InsertNextPoint(i, i * i % 3, i % 2)
    poly = vtkPolyData()
    poly.SetPoints(points)
    poly.SetVerts(cells([0], [1]))
    poly.SetLines(cells([0, 1, 2]))
    poly.SetPolys(cells(*polygons))
    poly.SetStrips(cells([2, 3, 4, 5]))
    poly.GetCellData().AddArray(numbers("c", np.arange(4.0 + len(polygons))))
    return poly


def foreign(path: Path, n: int = 3, libver: Any = None, **options: Any) -> Path:
    """n tets over n + 3 points as another program would write them with h5py."""
    ids = np.arange(n)[:, None] + np.arange(4)
    points = np.arange(n + 3.0)[:, None] ** np.arange(1, 4)
    with h5py.File(path, "w", libver=libver) as file:
        group = file.create_group("VTKHDF")
        group.attrs["Version"] = np.array([1, 0])
        group.attrs["Type"] = np.bytes_("UnstructuredGrid")
        for name, values in {
            "NumberOfPoints": np.array([n + 3]),
            "NumberOfCells": np.array([n]),
            "NumberOfConnectivityIds": np.array([4 * n]),
            "Points": points,
            "Types": np.full(n, 10, np.uint8),
            "Offsets": np.arange(0, 4 * n + 1, 4),
            "Connectivity": ids.reshape(-1),
            "PointData/p": np.arange(n + 3.0),
            "CellData/v": np.arange(3 * n, dtype=">i2").reshape(n, 3),
        }.items():
            chunks = {"chunks": (min(2, len(values)), *values.shape[1:])} if options else {}
            group.create_dataset(name, data=values, **chunks, **options)
    return path


def parts_of(path: Path, meshes: Sequence[Mesh], **arrays: Sequence[Any]) -> Path:
    """Meshes as the parts of one file, as several processes write it."""
    with h5py.File(path, "w") as file:
        group = file.create_group("VTKHDF")
        group.attrs["Version"] = np.array([2, 0])
        group.attrs["Type"] = np.bytes_("UnstructuredGrid")
        group["NumberOfPoints"] = [m.n_points for m in meshes]
        group["NumberOfCells"] = [m.n_cells for m in meshes]
        group["NumberOfConnectivityIds"] = [len(m.cells.connectivity) for m in meshes]
        group["Points"] = np.concatenate([m.points.numpy() for m in meshes])
        group["Types"] = np.concatenate([m.cells.types.numpy() for m in meshes])
        group["Offsets"] = np.concatenate([m.cells.offsets.numpy() for m in meshes])
        group["Connectivity"] = np.concatenate([m.cells.connectivity.numpy() for m in meshes])
        for name, values in arrays.items():
            group[name.replace("__", "/")] = np.concatenate([np.asarray(v) for v in values])
    return path
