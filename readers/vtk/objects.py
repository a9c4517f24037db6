"""vtk's data set objects from and to `VtkData`, sharing memory wherever vtk can.

Numbers, points and ids are the same memory on both sides, and each keeps the other alive. Copies
are made of: texts; bits; ids of mixed width or of fixed-size storage; arrays that are not
contiguous; the connectivity of poly data with more than one kind of cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.info import Grid
from meshkit.readers.lattice import lattice_cells, lattice_counts
from meshkit.readers.vtk import VtkArray, VtkData
from meshkit.readers.vtk.arrays import ATTRIBUTE_WIDTHS, ATTRIBUTES
from meshkit.readers.vtk.poly import LISTS, sorted_by_list, types_of_list, unsorted
from meshkit.report import Ledger

Numbers = NDArray[Any]

# vtkDataSetAttributes::AttributeTypes, by number.
_ROLES: Final = tuple(ATTRIBUTES)

# vtkType.h, and vtkDataSetAttributes::HIDDENCELL.
VTK_FLOAT: Final = 10
VTK_DOUBLE: Final = 11
_HIDDEN: Final = 32

_HOMES: Final = ("point_data", "cell_data", "global_data")


# --- from vtk ------------------------------------------------------------------------------------


def from_vtk(dataset: Any, ledger: Ledger) -> VtkData:
    """The data of a vtkUnstructuredGrid, PolyData, ImageData, RectilinearGrid or StructuredGrid.

    Cells of a structured data set are written out (VTK's types and order), hidden ones included;
    points of an image are float64. Arrays that are neither numbers nor texts are dropped and
    counted.

    Raises:
        TypeError: the data set is of another class.
    """
    for name, make in _FROM.items():
        if dataset.IsA(name):
            data = make(dataset)
            break
    else:
        raise TypeError(
            f"expected a data set of {', '.join(_FROM)}, found {dataset.GetClassName()}"
        )
    for home, attributes in zip(
        _HOMES,
        (dataset.GetPointData(), dataset.GetCellData(), dataset.GetFieldData()),
        strict=True,
    ):
        arrays_of(data, home).update(_arrays(attributes, home, ledger))
    _count_changes(dataset, data, ledger)
    return unsorted(data)


def _count_changes(dataset: Any, data: VtkData, ledger: Ledger) -> None:
    """Points that were whole numbers, and hidden cells."""
    points = dataset.GetPoints() if dataset.IsA("vtkPointSet") else None
    if (
        points is not None
        and points.GetDataType() not in (VTK_FLOAT, VTK_DOUBLE)
        and len(data.points)
    ):
        ledger.converted("points", "", len(data.points), "whole numbers as float64")
    count_hidden(data, ledger)


def count_hidden(data: VtkData, ledger: Ledger) -> None:
    """Cells of a lattice that are hidden."""
    marks = data.cell_arrays.get("vtkGhostType")
    if data.grid is not None and marks is not None and not isinstance(marks.values, list):
        hidden = int(((marks.values.astype(np.int64) & _HIDDEN) != 0).sum())
        if hidden:
            reason = "hidden in the source; kept, and marked in vtkGhostType"
            ledger.converted("cells", "hidden", hidden, reason)


def arrays_of(data: VtkData, home: str) -> dict[str, VtkArray]:
    """The arrays of "point_data", "cell_data" or "global_data"."""
    homes = (data.point_arrays, data.cell_arrays, data.field_arrays)
    return homes[_HOMES.index(home)]


def _arrays(attributes: Any, home: str, ledger: Ledger) -> dict[str, VtkArray]:
    found: dict[str, VtkArray] = {}
    is_role = getattr(attributes, "IsArrayAnAttribute", lambda i: -1)
    for i in range(attributes.GetNumberOfArrays()):
        array = attributes.GetAbstractArray(i)
        name = array.GetName() or ""
        values = _values(array)
        if values is None:
            reason = f"a {array.GetClassName()} holds neither numbers nor texts"
            ledger.dropped("field", f"{home}/{name}", array.GetNumberOfTuples(), reason)
            continue
        unique, n = name, 1
        while unique in found:
            n += 1
            unique = f"{name} ({n})"
        if unique != name:
            reason = f"renamed: there is another array {name!r}"
            ledger.converted("field", f"{home}/{unique}", array.GetNumberOfTuples(), reason)
        number = is_role(i)
        role = _ROLES[number] if 0 <= number < len(_ROLES) else None
        found[unique] = VtkArray(values, role, _components(array), _unit(array))
    return found


def _values(array: Any) -> Numbers | list[str] | None:
    if array.IsA("vtkStringArray"):
        get = array.GetValue
        return [_text(get(i)) for i in range(array.GetNumberOfValues())]
    return numbers_of(array) if array.IsA("vtkDataArray") else None


def _text(found: str | bytes) -> str:
    """vtk gives bytes where they are no UTF-8."""
    return found if isinstance(found, str) else found.decode("utf-8", "surrogateescape")


def numbers_of(array: Any) -> Numbers:
    """A vtkDataArray as numpy [n, c], sharing its memory; bits as booleans."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    shape = (array.GetNumberOfTuples(), array.GetNumberOfComponents())
    if array.IsA("vtkBitArray"):
        count = shape[0] * shape[1]
        packed = np.frombuffer(array, np.uint8) if count else np.zeros(0, np.uint8)
        return np.unpackbits(packed, count=count).astype(np.bool_).reshape(shape)
    values = np.asarray(vtk_to_numpy(array))
    # "long long" and "long" are two dtypes of one size; torch takes only one of them.
    plain = np.dtype(values.dtype.str)
    return np.zeros(shape, plain) if 0 in shape else values.view(plain).reshape(shape)


def _components(array: Any) -> tuple[str, ...] | None:
    if not array.HasAComponentName():
        return None
    return tuple(array.GetComponentName(i) or "" for i in range(array.GetNumberOfComponents()))


def _unit(array: Any) -> str | None:
    from vtkmodules.vtkCommonCore import vtkDataArray

    if not array.HasInformation() or not array.IsA("vtkDataArray"):
        return None
    unit = array.GetInformation().Get(vtkDataArray.UNITS_LABEL())
    return None if unit is None else str(unit)


def _points(dataset: Any) -> Numbers:
    points = dataset.GetPoints()
    if points is None or points.GetNumberOfPoints() == 0:
        single = points is not None and points.GetDataType() == VTK_FLOAT
        return np.zeros((0, 3), np.float32 if single else np.float64)
    found = numbers_of(points.GetData())
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def _cell_array(cells: Any) -> tuple[Numbers, Numbers]:
    """Offsets [n + 1] and ids of a vtkCellArray."""
    return (
        numbers_of(cells.GetOffsetsArray()).reshape(-1),
        numbers_of(cells.GetConnectivityArray()).reshape(-1),
    )


def _unstructured(grid: Any) -> VtkData:
    from vtkmodules.vtkCommonCore import vtkVersion

    points = _points(grid)
    n = grid.GetNumberOfCells()
    if n == 0:
        ids = np.zeros(0, np.int64)
        return VtkData(points, ids.astype(np.uint8), np.zeros(1, np.int64), ids)
    offsets, connectivity = _cell_array(grid.GetCells())
    version = (vtkVersion.GetVTKMajorVersion(), vtkVersion.GetVTKMinorVersion())
    types = grid.GetCellTypes() if version >= (9, 6) else grid.GetCellTypesArray()
    types = numbers_of(types).reshape(-1).astype(np.uint8, copy=False)
    return VtkData(points, types, offsets, connectivity, _polyhedra(grid, types))


def _polyhedra(grid: Any, types: Numbers) -> tuple[Numbers, Numbers, Numbers] | None:
    faces, places = grid.GetPolyhedronFaces(), grid.GetPolyhedronFaceLocations()
    if faces is None or places is None or not (types == POLYHEDRON).any():
        return None
    offsets, connectivity = _cell_array(faces)
    starts, rows = _cell_array(places)
    if len(starts) != len(types) + 1:
        return None
    return solids_of(types, starts, rows, offsets, connectivity)


def solids_of(
    types: Numbers, starts: Numbers, rows: Numbers, offsets: Numbers, connectivity: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The faces of the polyhedra, each polyhedron its own, from faces that cells name.

    Args:
        types: of all cells.
        starts: [n_cells + 1], where each cell's faces start in `rows`.
        rows: which faces.
        offsets: [n_faces + 1], where each face's points start in `connectivity`.
        connectivity: point ids.
    """
    solid = types == POLYHEDRON
    counts = np.diff(starts)[solid]
    of_cell = np.concatenate([starts[:1] * 0, np.cumsum(counts, dtype=starts.dtype)])
    if len(rows) != of_cell[-1]:  # faces of cells that are none
        rows = rows[np.repeat(solid, np.diff(starts))]
    if len(rows) == len(offsets) - 1 and (rows == np.arange(len(rows))).all():
        return of_cell, offsets, connectivity
    # Faces in another order, or one face of two cells: each cell gets its own.
    sizes = np.diff(offsets)[rows]
    ends = np.concatenate([offsets[:1] * 0, np.cumsum(sizes, dtype=offsets.dtype)])
    places_of = np.arange(ends[-1]) + np.repeat(offsets[rows] - ends[:-1], sizes)
    return of_cell, ends, connectivity[places_of]


def _poly(poly: Any) -> VtkData:
    lists: dict[str, tuple[Numbers, Numbers]] = {}
    for name in LISTS:
        cells = getattr(poly, f"Get{name}")()
        if cells is not None and cells.GetNumberOfCells():
            lists[name] = _cell_array(cells)
    return lists_joined(_points(poly), lists)


def lists_joined(points: Numbers, lists: dict[str, tuple[Numbers, Numbers]]) -> VtkData:
    """Poly data of its four lists ("Verts", ...), each offsets [n + 1] and ids; some may lack."""
    found = {name: lists[name] for name in LISTS if name in lists}
    types = [
        types_of_list(name, LISTS[name], np.diff(offsets)) for name, (offsets, _) in found.items()
    ]
    ends = [offsets for offsets, _ in found.values()]
    ids = [connectivity for _, connectivity in found.values()]
    if not types:
        none = np.zeros(0, np.int64)
        return VtkData(points, none.astype(np.uint8), np.zeros(1, np.int64), none)
    if len(types) == 1:
        return VtkData(points, types[0], ends[0], ids[0])
    starts = np.concatenate([[0], np.cumsum([len(x) for x in ids])])
    dtype = np.result_type(*ids)
    if starts[-1] > np.iinfo(dtype).max:
        dtype = np.dtype(np.int64)
    moved = [x[1:].astype(dtype) + dtype.type(s) for x, s in zip(ends, starts, strict=False)]
    offsets = np.concatenate([np.zeros(1, dtype), *moved])
    return VtkData(points, np.concatenate(types), offsets, np.concatenate(ids).astype(dtype))


def _image(image: Any) -> VtkData:
    direction = image.GetDirectionMatrix()
    matrix = np.array([[direction.GetElement(i, j) for j in range(3)] for i in range(3)])
    return image_of(image.GetExtent(), image.GetOrigin(), image.GetSpacing(), matrix)


def image_of(
    extent: Sequence[int], origin: Sequence[float], spacing: Sequence[float], matrix: Numbers
) -> VtkData:
    """An image without arrays: the point at index 0 is the origin, `matrix` [3, 3] turns it."""
    dims = tuple(b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True))
    first = np.array(extent[::2])
    steps = [np.arange(first[a], first[a] + d) * spacing[a] for a, d in enumerate(dims)]
    points = _product(steps)
    if not (matrix == np.eye(3)).all():
        points = points @ matrix.T
    points += origin
    corner = tuple(float(x) for x in origin + matrix @ (first * spacing))
    flat = tuple(float(x) for x in matrix.reshape(-1))
    grid = Grid(dims, corner, tuple(map(float, spacing)), flat)
    return _lattice(points, dims, True, grid)


def _rectilinear(grid: Any) -> VtkData:
    axes = [numbers_of(getattr(grid, f"Get{axis}Coordinates")()).reshape(-1) for axis in "XYZ"]
    return rectilinear_of(axes, _dims(grid))


def rectilinear_of(axes: Sequence[Numbers], dims: tuple[int, ...]) -> VtkData:
    """A rectilinear grid without arrays: its coordinates along each of three axes."""
    dtype = np.float32 if all(x.dtype == np.float32 for x in axes) else np.float64
    points = _product([x.astype(dtype, copy=False) for x in axes])
    return _lattice(points, dims, True, Grid(dims))


def _structured(grid: Any) -> VtkData:
    return structured_of(_points(grid), _dims(grid))


def structured_of(points: Numbers, dims: tuple[int, ...]) -> VtkData:
    """A structured grid without arrays: points [n, 3], the first axis fastest."""
    return _lattice(points, dims, False, Grid(dims))


def _dims(dataset: Any) -> tuple[int, ...]:
    """Points an axis."""
    extent = dataset.GetExtent()
    return tuple(b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True))


def _product(axes: Sequence[Numbers]) -> Numbers:
    """Points [n, 3] of a lattice, the first axis fastest."""
    grids = np.meshgrid(*axes, indexing="ij")
    return np.stack([g.ravel(order="F") for g in grids], 1)


def _lattice(points: Numbers, dims: Sequence[int], straight: bool, grid: Grid) -> VtkData:
    if len(points) != lattice_counts(dims)[0]:
        points = points[:0]
        dims = (0, 0, 0)
    types, offsets, connectivity = lattice_cells(dims, straight=straight)
    return VtkData(points, types, offsets, connectivity, grid=grid)


_FROM: Final[dict[str, Callable[[Any], VtkData]]] = {
    "vtkUnstructuredGrid": _unstructured,
    "vtkPolyData": _poly,
    "vtkImageData": _image,
    "vtkRectilinearGrid": _rectilinear,
    "vtkStructuredGrid": _structured,
}


# --- to vtk --------------------------------------------------------------------------------------


def to_unstructured(data: VtkData) -> Any:
    """A vtkUnstructuredGrid of the data; `grid` is not said."""
    from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid

    grid = vtkUnstructuredGrid()
    grid.SetPoints(_vtk_points(data.points))
    types = _vtk_numbers(np.ascontiguousarray(data.types).reshape(-1, 1))
    cells = _vtk_cells(data.offsets, data.connectivity)
    if data.polyhedra is None:
        grid.SetCells(types, cells)
    else:
        of_cell, offsets, connectivity = data.polyhedra
        counts = np.zeros(len(data.types), np.int64)
        counts[data.types == POLYHEDRON] = np.diff(of_cell)
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = _vtk_cells(starts, np.arange(starts[-1]))
        grid.SetPolyhedralCells(types, cells, places, _vtk_cells(offsets, connectivity))
    _set_arrays(grid, data)
    return grid


def to_poly(data: VtkData) -> Any:
    """A vtkPolyData of cells of `POLY_TYPES`.

    Poly data keeps vertices, lines, polygons and strips apart; where that changes the order or
    the types of the cells, field arrays say how to get them back, and `from_vtk` does.
    """
    from vtkmodules.vtkCommonDataModel import vtkPolyData

    data, lists = sorted_by_list(data)
    poly = vtkPolyData()
    poly.SetPoints(_vtk_points(data.points))
    for name, (offsets, connectivity) in lists.items():
        getattr(poly, f"Set{name}")(_vtk_cells(offsets, connectivity))
    _set_arrays(poly, data)
    return poly


def _vtk_points(points: Numbers) -> Any:
    from vtkmodules.vtkCommonCore import vtkPoints

    out = vtkPoints()
    out.SetDataType(VTK_FLOAT if points.dtype == np.float32 else VTK_DOUBLE)
    if len(points):
        out.SetData(_vtk_numbers(points))
    return out


def _vtk_cells(offsets: Numbers, connectivity: Numbers) -> Any:
    """A vtkCellArray; offsets and ids of one width are shared, others become 64 bits."""
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    if offsets.dtype != connectivity.dtype or offsets.dtype not in (np.int32, np.int64):
        offsets, connectivity = offsets.astype(np.int64), connectivity.astype(np.int64)
    cells = vtkCellArray()
    cells.SetData(_vtk_numbers(offsets.reshape(-1, 1)), _vtk_numbers(connectivity.reshape(-1, 1)))
    return cells


def _vtk_numbers(values: Numbers) -> Any:
    """A vtkDataArray over the memory of an array [n, c]."""
    from vtkmodules.util.numpy_support import create_vtk_array, get_vtk_array_type, numpy_to_vtk

    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.size == 0:
        out = create_vtk_array(get_vtk_array_type(values.dtype))
        out.SetNumberOfComponents(max(values.shape[1], 1))
        out.SetNumberOfTuples(len(values) if values.shape[1] else 0)
        return out
    return numpy_to_vtk(np.require(values, requirements=["C", "W"]))


def _set_arrays(dataset: Any, data: VtkData) -> None:
    for home, attributes in zip(
        _HOMES,
        (dataset.GetPointData(), dataset.GetCellData(), dataset.GetFieldData()),
        strict=True,
    ):
        for name, array in arrays_of(data, home).items():
            made = vtk_array(name, array)
            attributes.AddArray(made)
            if home != "global_data" and array.role in _ROLES:
                _declare(attributes, made, _ROLES.index(array.role))


def _declare(attributes: Any, array: Any, role: int) -> None:
    """Say what an array is, unless vtk would refuse it (vectors of two components)."""
    from vtkmodules.vtkCommonDataModel import vtkDataSetAttributes

    if role != vtkDataSetAttributes.PEDIGREEIDS and not array.IsA("vtkDataArray"):
        return
    width = array.GetNumberOfComponents()
    if width in ATTRIBUTE_WIDTHS.get(_ROLES[role], (width,)):
        attributes.SetActiveAttribute(array.GetName(), role)


def vtk_array(name: str, array: VtkArray) -> Any:
    """A vtkAbstractArray of this name; numbers share their memory."""
    from vtkmodules.vtkCommonCore import vtkDataArray, vtkStringArray

    made: Any
    if isinstance(array.values, list):
        made = vtkStringArray()
        made.SetNumberOfValues(len(array.values))
        put: Any = made.SetValue
        for i, text in enumerate(array.values):
            # Bytes, because vtk aborts on lone surrogates (`vtk_names` leaves only some).
            put(i, text.encode("utf-8", "surrogateescape"))
    else:
        made = _vtk_numbers(array.values)
        for i, component in enumerate(array.components or ()):
            made.SetComponentName(i, component)
        if array.unit is not None:
            made.GetInformation().Set(vtkDataArray.UNITS_LABEL(), array.unit)
    made.SetName(name)
    return made
