"""The mesh of a VTK data set that meshkit did not write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import POLYHEDRON, cell_type
from meshkit.fields import encode_texts
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.repair.polyhedra import oriented_polyhedra
from meshkit.operators.repair.wedges import wedges_upright
from meshkit.readers.vtk.arrays import VtkArray, VtkData, tensor_of
from meshkit.readers.vtk.cell_sizes import degrees_of, sized
from meshkit.report import Ledger


def mesh_of_others(data: VtkData, kinds: list[tuple[int, int]], path: Path, ledger: Ledger) -> Mesh:
    """A data set of someone else's.

    Args:
        data: arrays that `refuse_unsound` found to make cells.
        kinds: each (type, number of points) that it found.
        path: how errors name the file.
        ledger: takes what becomes of everything.

    Raises:
        ReadError: a cell has a number of points that its type, or its degrees, cannot have.
    """
    data = sized(data, kinds, path, ledger)
    points = tensor_of(data.points)
    ledger.kept("points", "", len(points))
    homes = {
        "point_data": data.point_arrays,
        "cell_data": {k: v for k, v in data.cell_arrays.items() if v.role != "degrees"},
        "global_data": data.field_arrays,
    }
    known: dict[tuple[str, ...], FieldInfo] = {}
    fields: dict[str, dict[str, Tensor]] = {}
    for home, arrays in homes.items():
        fields[home] = {}
        for name, array in arrays.items():
            fields[home][name], info = field_of(array)
            if info != FieldInfo():
                known[home, name] = info
            count = len(array.values)
            if isinstance(array.values, list):
                reason = "texts as codes with a vocabulary"
                ledger.converted("field", f"{home}/{name}", count, reason)
            elif array.changed:
                ledger.converted("field", f"{home}/{name}", count, array.changed)
            else:
                ledger.kept("field", f"{home}/{name}", count)
    cells = _cells(data, points, path, ledger)
    return make_mesh(
        points,
        cells,
        point_data=fields["point_data"],
        cell_data=fields["cell_data"],
        global_data=fields["global_data"],
        info=MeshInfo(time=_time(data), fields=known, grid=data.grid),
    )


def _time(data: VtkData) -> float | None:
    array = data.field_arrays.get("TimeValue")
    if array is None or isinstance(array.values, list) or array.values.size != 1:
        return None
    return float(array.values.reshape(-1)[0])


def field_of(array: VtkArray) -> tuple[Tensor, FieldInfo]:
    """A field [n] or [n, c] and what its array says of it; texts become codes."""
    info = FieldInfo(unit=array.unit, kind=array.role, components=array.components)
    if isinstance(array.values, list):
        codes, vocabulary = encode_texts(array.values)
        return codes, replace(info, vocabulary=vocabulary)
    values = array.values
    return tensor_of(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values), info


def _cells(data: VtkData, points: Tensor, path: Path, ledger: Ledger) -> Cells:
    """The cells, wedges and polyhedra put right, counted by type."""
    polyhedra = None
    if data.polyhedra is not None:
        polyhedra = Polyhedra(*(tensor_of(x) for x in data.polyhedra))
    said = degrees_of(data, path)
    degrees = None if said is None else tensor_of(said)
    types, ids = tensor_of(data.types), tensor_of(data.connectivity)
    cells = Cells(types, tensor_of(data.offsets), ids, polyhedra, degrees)
    cells, turned = wedges_upright(cells, points)
    turned_types = {cell_type(number).name: n for number, n in turned.items()}
    if polyhedra is not None:
        polyhedra, oriented = oriented_polyhedra(points, polyhedra)
        if oriented:
            turned_types[cell_type(POLYHEDRON).name] = oriented
            cells = replace(cells, polyhedra=polyhedra)
    for name, count in cells.counts.items():
        ledger.kept("cells", name, count)
        if name in turned_types:
            reason = (
                "faces turned to be consistent and to point out of the cell"
                if name == "polyhedron"
                else "points reordered: most were inside out, as VTK 9.6 and before wrote them"
            )
            ledger.converted("cells", name, turned_types[name], reason)
    return cells
