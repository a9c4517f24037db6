"""Legacy VTK files for tests: by hand, as vtk writes them, and a mesh of everything."""

from __future__ import annotations

from typing import Any

import torch

from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests.meshes import hanging_polyhedron

HEADER = "# vtk DataFile Version 3.0\na title\nASCII\n"
SQUARE = (
    HEADER + "DATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 1 1 0 0 1 0\n"
    "CELLS 2 8\n3 0 1 2\n3 0 2 3\nCELL_TYPES 2\n5 5\n"
)


def filled(cls: Any, name: str, values: list[Any], c: int = 1) -> Any:
    array = cls()
    array.SetName(name)
    array.SetNumberOfComponents(c)
    array.SetNumberOfTuples(len(values) // c)
    for i, value in enumerate(values):
        array.SetValue(i, value)
    return array


def everything() -> Any:
    """A vtkUnstructuredGrid with a polyhedron and an array of each type and role."""
    import vtk

    points = vtk.vtkPoints()
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    for x, y, z in [*corners, *((x, y, 1) for x, y, _ in corners), (2, 2, 2)]:
        points.InsertNextPoint(x, y, z)
    grid = vtk.vtkUnstructuredGrid()
    grid.SetPoints(points)
    grid.InsertNextCell(vtk.VTK_TETRA, 4, [0, 1, 3, 4])
    rings = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
    stream = vtk.vtkIdList()
    for i in [len(rings), *(i for ring in rings for i in (len(ring), *ring))]:
        stream.InsertNextId(i)
    grid.InsertNextCell(vtk.VTK_POLYHEDRON, stream)
    grid.InsertNextCell(vtk.VTK_VERTEX, 1, [8])
    at_points, at_cells, at_all = grid.GetPointData(), grid.GetCellData(), grid.GetFieldData()
    whole = list(range(9))
    for name, cls, values in (
        ("ids", vtk.vtkIdTypeArray, [2**31 - 1, -1, *range(7)]),
        ("long", vtk.vtkLongArray, [2**53 + 1, -(2**63), *range(7)]),
        ("long long", vtk.vtkLongLongArray, [2**63 - 1, *range(8)]),
        ("u long", vtk.vtkUnsignedLongArray, [2**64 - 1, *range(8)]),
        ("u long long", vtk.vtkUnsignedLongLongArray, [2**64 - 1, *range(8)]),
        ("int", vtk.vtkIntArray, [-(2**31), *range(8)]),
        ("u int", vtk.vtkUnsignedIntArray, [2**32 - 1, *range(8)]),
        ("short", vtk.vtkShortArray, [-(2**15), *range(8)]),
        ("u short", vtk.vtkUnsignedShortArray, [2**16 - 1, *range(8)]),
        ("signed", vtk.vtkSignedCharArray, list(range(-9, 0))),
        ("u char", vtk.vtkUnsignedCharArray, list(range(247, 256))),
        ("bits", vtk.vtkBitArray, [0, 1, 1, 0, 1, 0, 1, 1, 1]),
        ("texts", vtk.vtkStringArray, ["a", "b c", "ü%", "", "x" * 70, "two\nlines", *"qqq"]),
        ("nan", vtk.vtkDoubleArray, [float("nan"), float("-inf"), 0.1, *whole[:6]]),
    ):
        at_points.AddArray(filled(cls, name, values))
    at_points.SetScalars(filled(vtk.vtkUnsignedCharArray, "colour", list(range(27)), 3))
    velocity = filled(vtk.vtkFloatArray, 'v%41 "ü', [i / 4 for i in range(27)], 3)
    for i, name in enumerate(("X velo", "Y", "Z")):
        velocity.SetComponentName(i, name)
    velocity.GetInformation().Set(vtk.vtkDataArray.UNITS_LABEL(), "m/s per")
    velocity.GetRange(-1)
    at_points.SetVectors(velocity)
    at_points.SetTensors(filled(vtk.vtkDoubleArray, "nine", [float(i) for i in range(81)], 9))
    at_points.SetTCoords(filled(vtk.vtkFloatArray, "uv", [float(i) for i in range(18)], 2))
    at_points.SetNormals(filled(vtk.vtkFloatArray, "normals", [1.0] * 27, 3))
    at_points.SetGlobalIds(filled(vtk.vtkIdTypeArray, "gid", whole))
    at_cells.SetTensors(filled(vtk.vtkDoubleArray, "six", [float(i) for i in range(18)], 6))
    at_cells.SetPedigreeIds(filled(vtk.vtkStringArray, "who", ["a", "bb", "ccc"]))
    variants = vtk.vtkVariantArray()
    variants.SetName("variants")
    for value in (1, "s t", 1.5):
        variants.InsertNextValue(vtk.vtkVariant(value))
    at_all.AddArray(variants)
    at_all.AddArray(filled(vtk.vtkStringArray, "words", ["a", "b"]))
    return grid


def rich() -> Mesh:
    """Something of everything, named to annoy."""
    mesh = hanging_polyhedron()
    n, m = mesh.n_points, mesh.n_cells
    names = ["", "a b%20\t", "NULL_ARRAY", "metadata", "ü" * 100, "nul\0nul", "\udc80"]
    return mesh.replace(
        point_data={
            **{name: torch.arange(n) + i for i, name in enumerate(names)},
            "v": torch.rand(n, 3),
            "w": torch.rand(n, 3),
            "stress": torch.rand(n, 3, 3, dtype=torch.float64),
        },
        cell_data={
            "p": torch.rand(m),
            "material": ["steel", "", "é\n"] * 3,
            "gid": torch.arange(m),
        },
        global_data={"": ["x" * 70, "y" * 20000], "big": torch.tensor([2**53 + 1])},
        regions=[Region("inlet", "side", [[0, 1], [2, 3]]), Region("é", "point", [1])],
        info=MeshInfo(
            length_unit="mm",
            time=0.25,
            fields={
                ("point_data", "v"): FieldInfo("m/s", "vectors", components=("u x", "v", "w")),
                ("point_data", "w"): FieldInfo("", "vectors"),
                ("point_data", "stress"): FieldInfo(kind="tensors"),
                ("cell_data", "p"): FieldInfo("Pa", "scalars"),
                ("cell_data", "gid"): FieldInfo(kind="global_ids"),
            },
        ),
    )
