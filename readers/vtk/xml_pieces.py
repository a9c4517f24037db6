"""The pieces of VTK's unstructured grids and poly data in XML: points, cells and arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.vtk import VtkData
from meshkit.readers.vtk.markup import Element
from meshkit.readers.vtk.objects import lists_joined
from meshkit.readers.vtk.poly import LISTS
from meshkit.readers.vtk.xml_arrays import Sections
from meshkit.readers.vtk.xml_polyhedra import NEW, OLD, solids

Numbers = NDArray[Any]

UNSTRUCTURED: Final = "UnstructuredGrid"
POLY: Final = "PolyData"
SECTIONS: Final = {UNSTRUCTURED: {"Points", "Cells"}, POLY: {"Points", *LISTS}}
"""What a piece of each kind holds besides the arrays of its points and cells."""

_CELLS: Final = frozenset({"connectivity", "offsets", "types", *OLD, *NEW})


def piece_of(file: Sections, kind: str, element: Element, number: int) -> VtkData:
    """What a <Piece> holds, without the field arrays of the whole.

    Args:
        file: what is read.
        kind: UNSTRUCTURED or POLY.
        element: the piece.
        number: which piece it is.

    Raises:
        ReadError: something is missing, contradicts itself, or is not where the file says.
    """
    where = f"piece {number}"
    expect_sections(file, element, SECTIONS[kind])
    file.n_points = file.markup.whole(element, "NumberOfPoints")
    points = points_of(file, element, file.n_points, where)
    data = (_cells if kind == UNSTRUCTURED else _lists)(file, element, points, where)
    for tag, into, rows in (
        ("PointData", data.point_arrays, len(data.points)),
        ("CellData", data.cell_arrays, len(data.types)),
    ):
        into.update(file.arrays(file.only(element, tag), rows, f" in {where}"))
    return data


def is_empty(file: Sections, kind: str, element: Element) -> bool:
    """Whether a piece declares no point and no cell."""
    names = ["NumberOfCells"] if kind == UNSTRUCTURED else [f"NumberOf{name}" for name in LISTS]
    counts = [file.markup.whole(element, name, 0) for name in ("NumberOfPoints", *names)]
    return not any(counts)


def expect_sections(file: Sections, piece: Element, known: set[str]) -> None:
    """Count the arrays in sections of a piece that are of no use, and refuse a second one.

    Raises:
        ReadError: there are two of one tag.
    """
    for child in piece.children:
        if child.tag not in {"PointData", "CellData", *known}:
            file.drop(child, f"<{child.tag[:60]}> is no part of a piece")
        file.only(piece, child.tag)


def points_of(file: Sections, piece: Element, n: int, where: str) -> Numbers:
    """The points [n, 3] of a piece, float32 or float64.

    Raises:
        ReadError: they are missing, or no numbers.
    """
    arrays = file.children(file.only(piece, "Points"))
    if n == 0 and not arrays:
        return np.zeros((0, 3))
    if len(arrays) != 1:
        raise file.fail(f"Points hold {len(arrays)} arrays", where, "one")
    place = f"Points in {where}"
    width = file.components(arrays[0], place)
    if width != 3:
        raise file.fail(f"have {width} components", place, "3")
    dtype = file.payload.dtype(arrays[0], place)
    if dtype is None or dtype == np.bool_:
        raise file.fail(f"are of type {arrays[0].attributes['type']}", place, "numbers")
    values = file.payload.numbers(arrays[0], place, 3 * n).reshape(-1, 3)
    if dtype.kind != "f":
        if n:
            file.ledger.converted("points", "", n, "whole numbers as float64")
        values = values.astype(np.float64)
    return values


def _rows(
    file: Sections, arrays: dict[str, Element], n: int, where: str
) -> tuple[Numbers, Numbers]:
    """Offsets [n + 1] and ids of n cells."""
    offsets, ids = arrays.get("offsets"), arrays.get("connectivity")
    if offsets is None or ids is None:
        if n or offsets is not ids:
            missing = "offsets" if offsets is None else "connectivity"
            raise file.fail(f"{n} cells without {missing}", where, f"an array {missing!r}")
        return np.zeros(1, np.int64), np.zeros(0, np.int64)
    place, of = (f"array {name!r} of {where}" for name in ("offsets", "connectivity"))
    starts = file.starts(offsets, ids, n, place, of)
    return starts, file.point_ids(ids, starts, of, "cell")


def _cells(file: Sections, piece: Element, points: Numbers, where: str) -> VtkData:
    n = file.markup.whole(piece, "NumberOfCells")
    where = f"Cells in {where}"
    arrays = file.named(file.only(piece, "Cells"), where)
    for name, element in arrays.items():
        if name not in _CELLS:
            file.drop(element, "an array of Cells that no reader knows")
    offsets, connectivity = _rows(file, arrays, n, where)
    types = np.zeros(0, np.uint8)
    if "types" in arrays:
        types = _types(file, arrays["types"], n, f"array 'types' of {where}")
    elif n:
        raise file.fail(f"{n} cells without types", where, "an array 'types'")
    polyhedra = solids(file, arrays, types, where)
    return VtkData(points, types, offsets, connectivity, polyhedra, checked=True)


def _types(file: Sections, element: Element, n: int, place: str) -> Numbers:
    if file.payload.dtype(element, place) == np.uint8:
        return file.payload.numbers(element, place, n)
    wide = np.empty(n, np.int64)
    low, high = file.payload.whole_numbers(element, place, wide)
    if low < 0 or high > 255:
        raise file.fail(f"type {low if low < 0 else high}", place, "0 to 255")
    return wide.astype(np.uint8)


def _lists(file: Sections, piece: Element, points: Numbers, where: str) -> VtkData:
    lists = {}
    for name in LISTS:
        n = file.markup.whole(piece, f"NumberOf{name}", 0)
        inside = f"{name} in {where}"
        rows = _rows(file, file.named(file.only(piece, name), inside), n, inside)
        if n:
            lists[name] = rows
    return lists_joined(points, lists)
