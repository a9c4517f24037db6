"""Cells with another number of points than their kind has, in the files of others.

Programs that clip, clean and trace leave polygons of two points and lines of one. As in OBJ, OFF
and PLY these are the vertices and lines that their points make. Where a number of points
contradicts the type, nobody can tell what was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import CELL_TYPES, CellType, cell_type
from meshkit.errors import ReadError
from meshkit.readers.vtk.arrays import VtkData
from meshkit.report import Ledger

Types = NDArray[np.uint8]

OF_POINTS: Final = tuple(cell_type(name).number for name in ("empty", "vertex", "line"))
"""The type of what no, one and two points make."""

_ROWS: Final = frozenset(
    cell_type(name).number for name in ("poly_vertex", "poly_line", "triangle_strip", "polygon")
)
"""Cells that are nothing but a row of points."""


Wrong = Callable[[str, int, str], Exception]
"""The error of what was found in a cell, and of what was expected."""


def sized(data: VtkData, kinds: list[tuple[int, int]], path: Path, ledger: Ledger) -> VtkData:
    """The data with polygons, strips and polylines of too few points as vertices and lines.

    Args:
        data: arrays that are sound but for this.
        kinds: each (type, number of points) that occurs.
        path: how errors name the file.
        ledger: takes how many cells became another.

    Raises:
        ReadError: any other cell has not as many points as its type, or its degrees, ask for.
    """

    def wrong(what: str, cell: int, expected: str) -> ReadError:
        return ReadError(path, what, place=f"cell {cell}", expected=expected)

    degrees = degrees_of(data, path)
    types = types_that_fit(data.types, np.diff(data.offsets), kinds, degrees, wrong, ledger)
    return data if types is data.types else replace(data, types=types)


def types_that_fit(
    types: Types,
    sizes: NDArray[Any],
    kinds: Iterable[tuple[int, int]],
    degrees: Types | None,
    wrong: Wrong,
    ledger: Ledger,
) -> Types:
    """The types [n], where rows of too few points are what their points make; counted.

    Args:
        types, sizes: of each cell its type and its number of points.
        kinds: each (type, number of points) that occurs.
        degrees: [n, 3], of Lagrange and Bezier cells, where they are known.
        wrong: makes the error of a cell whose number of points contradicts its type.
        ledger: takes how many cells became another.
    """
    from meshkit.operators.soundness.topology import fits

    def cells_of(number: int, size: int) -> NDArray[np.intp]:
        return np.flatnonzero((types == number) & (sizes == size))

    out = types
    for number, size in kinds:
        row = CELL_TYPES[number]
        if degrees is not None and row.order == 0:
            _refuse_degrees(row, size, cells_of(number, size), degrees, wrong)
        elif fits(row, size):
            continue
        elif number in _ROWS and size < len(OF_POINTS):
            which, made = cells_of(number, size), CELL_TYPES[OF_POINTS[size]]
            out = types.copy() if out is types else out
            out[which] = made.number
            reason = f"{row.name} cells of {size} {'point' if size == 1 else 'points'}"
            ledger.converted("cells", made.name, len(which), reason)
        else:
            first = int(cells_of(number, size)[0])
            raise wrong(f"a {row.name} of {size} points", first, _wanted(row))
    return out


def degrees_of(data: VtkData, path: Path) -> NDArray[np.uint8] | None:
    """The degrees [n_cells, 3] of Lagrange and Bezier cells, where an array says them.

    Raises:
        ReadError: they are no whole numbers from 0 to 255, or not three a cell.
    """
    for name, array in data.cell_arrays.items():
        if array.role != "degrees":
            continue
        found = array.values
        if isinstance(found, list) or found.shape[1:] != (3,):
            what = "texts" if isinstance(found, list) else f"{found.shape[1]} a cell"
            raise ReadError(path, what, place=f"degrees {name!r}", expected="3 numbers a cell")
        with np.errstate(invalid="ignore"):
            whole = found.astype(np.uint8)
        if not (whole == found).all():
            bad = found[whole != found][0]
            raise ReadError(path, f"a degree {bad}", place=f"degrees {name!r}", expected="0 to 255")
        return whole
    return None


def _refuse_degrees(
    row: CellType, size: int, cells: NDArray[np.intp], degrees: Types, wrong: Wrong
) -> None:
    """One line for the first of these cells whose degrees ask for another number of points."""
    from meshkit.operators.soundness.topology import fits

    kinds, first = np.unique(degrees[cells], axis=0, return_index=True)
    for (a, b, c), at in zip(kinds.tolist(), first.tolist(), strict=True):
        if not fits(row, size, (a, b, c)):
            what = f"a {row.name} of {size} points and degrees {a}, {b}, {c}"
            raise wrong(what, int(cells[at]), "as many points as the degrees ask for")


def _wanted(row: CellType) -> str:
    """How many points a type of varying size asks for."""
    from meshkit.operators.soundness.topology import LEAST

    if row.corners is not None:
        return f"as many points as a {row.shape} of one degree along its edges has"
    least = f"at least {LEAST.get(row.shape, 1) * row.order}"
    return f"{least}, an even number" if row.order == 2 else least
