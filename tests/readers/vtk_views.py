"""What vtk itself sees in a file or a data set, as plain arrays, to hold our readers against."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meshkit.mesh import Mesh


def legacy_reader(path: Path) -> Any:
    """vtk's reader of a legacy file of any kind, told to read every array; updated."""
    from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader

    reader = vtkGenericDataObjectReader()
    reader.SetFileName(str(path))
    for what in ("Scalars", "Vectors", "Normals", "Tensors", "ColorScalars", "TCoords", "Fields"):
        getattr(reader, f"ReadAll{what}On")()
    reader.Update()
    return reader


def seen_by_vtk(data: Any) -> dict[str, Any]:
    """Points, cells and arrays of a vtkDataSet, cell by cell through its own interface."""
    points = np.array([data.GetPoint(i) for i in range(data.GetNumberOfPoints())]).reshape(-1, 3)
    cells = []
    for i in range(data.GetNumberOfCells()):
        ids = data.GetCell(i).GetPointIds()
        cells.append([ids.GetId(j) for j in range(ids.GetNumberOfIds())])
    return {
        "points": points,
        "types": [data.GetCellType(i) for i in range(data.GetNumberOfCells())],
        "cells": cells,
        "point_data": _arrays(data.GetPointData()),
        "cell_data": _arrays(data.GetCellData()),
        "global_data": _arrays(data.GetFieldData()),
    }


def _arrays(data: Any) -> dict[str, Any]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    found = {}
    for i in range(data.GetNumberOfArrays()):
        array = data.GetAbstractArray(i)
        n = array.GetNumberOfValues()
        if array.IsA("vtkStringArray"):
            values: Any = [array.GetValue(j) for j in range(n)]
        elif array.IsA("vtkVariantArray"):
            values = [array.GetValue(j).ToString() for j in range(n)]
        elif array.IsA("vtkBitArray"):
            values = np.array([array.GetValue(j) for j in range(n)])
        else:
            values = vtk_to_numpy(array)
        found[array.GetName()] = values
    return found


def assert_same_as_vtk(mesh: Mesh, seen: dict[str, Any]) -> None:
    """Every point, cell and value of a mesh is what vtk sees; wedges stand reversed or not."""
    assert np.array_equal(mesh.points.double().numpy(), seen["points"], equal_nan=True)
    assert mesh.cells.types.tolist() == seen["types"]
    offsets, ids = mesh.cells.offsets.tolist(), mesh.cells.connectivity.tolist()
    cells = [ids[a:b] for a, b in pairwise(offsets)]
    assert cells == seen["cells"]
    for home in ("point_data", "cell_data", "global_data"):
        mine = dict(getattr(mesh, home).items())
        assert sorted(mine) == sorted(seen[home])
        for name, wanted in seen[home].items():
            words = mesh.info.field(home, name).vocabulary
            if words is not None:
                assert [words[c] for c in mine[name].tolist()] == wanted, name
            else:
                found = mine[name].numpy()
                assert found.shape == wanted.reshape(found.shape).shape, name
                assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"), name
                assert mine[name].dtype == torch.bool or found.dtype == wanted.dtype, name
