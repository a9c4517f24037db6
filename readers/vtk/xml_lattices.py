"""VTK's structured grids in XML: pieces of a lattice, put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.lattice import lattice_counts, need_lattice_room
from meshkit.readers.vtk import VtkArray, VtkData
from meshkit.readers.vtk.markup import Element
from meshkit.readers.vtk.objects import count_hidden, image_of, rectilinear_of, structured_of
from meshkit.readers.vtk.xml_arrays import Sections
from meshkit.readers.vtk.xml_pieces import expect_sections, points_of
from meshkit.words import words_of

Numbers = NDArray[Any]
Extent = tuple[int, ...]

IMAGE: Final = "ImageData"
RECTILINEAR: Final = "RectilinearGrid"
STRUCTURED: Final = "StructuredGrid"
LATTICES: Final = {IMAGE: set[str](), RECTILINEAR: {"Coordinates"}, STRUCTURED: {"Points"}}
"""What a piece of each kind holds besides the arrays of its points and cells."""

# A lattice of that many points that holds no data at all is believed; a larger one is not.
_MOST_IMPLICIT: Final = 1 << 24


@dataclass
class _Part:
    """A box of a lattice: coordinates along its axes or points, and arrays."""

    extent: Extent
    axes: list[Numbers] = field(default_factory=list)
    points: Numbers | None = None
    point_arrays: dict[str, VtkArray] = field(default_factory=dict)
    cell_arrays: dict[str, VtkArray] = field(default_factory=dict)

    @property
    def layout(self) -> tuple[Any, ...]:
        """What pieces must agree on to be one."""
        numbers = [x.dtype for x in (*self.axes, *([] if self.points is None else [self.points]))]
        return numbers, *(
            [(name, _nature(array)) for name, array in arrays.items()]
            for arrays in (self.point_arrays, self.cell_arrays)
        )


def lattice_in(file: Sections, kind: str, grid: Element, pieces: list[Element]) -> VtkData:
    """A lattice of its pieces, which must cover it, without the field arrays of the whole.

    Where pieces overlap, the last one counts.

    Raises:
        ReadError: something is missing, contradicts itself, or is not where the file says.
    """
    whole = file.markup.extent(grid, "WholeExtent")
    extents = [file.markup.extent(piece, "Extent") for piece in pieces]
    full = [i for i, extent in enumerate(extents) if min(_dims(extent)) > 0] or [0]
    pieces, extents = [pieces[i] for i in full], [extents[i] for i in full]
    n_points = lattice_counts(_dims(whole))[0]
    declared = [a for tag in ("PointData", "CellData", "Points") for a in pieces[0].all(tag)]
    if n_points > _MOST_IMPLICIT and not any(section.children for section in declared):
        raise file.fail(
            f"a lattice of {n_points} points without any data",
            expected=f"{_MOST_IMPLICIT} points at most",
        )
    need_lattice_room(file.markup.path, _dims(whole))
    parts = []
    for number, (piece, extent) in enumerate(zip(pieces, extents, strict=True)):
        expect_sections(file, piece, LATTICES[kind])
        parts.append(_part(file, kind, piece, extent, f"piece {number}"))
        if parts[-1].layout != parts[0].layout:
            raise file.fail("holds other arrays than the first piece", f"piece {number}")
    _expect_cover(file, whole, extents)
    part = parts[0] if extents == [whole] else _together(parts, whole)
    data = _GRIDS[kind](file, grid, part)
    data.point_arrays, data.cell_arrays = part.point_arrays, part.cell_arrays
    count_hidden(data, file.ledger)
    return data


def _part(file: Sections, kind: str, piece: Element, extent: Extent, where: str) -> _Part:
    dims = _dims(extent)
    n_points, n_cells = lattice_counts(dims)
    part = _Part(extent)
    if kind == STRUCTURED:
        part.points = points_of(file, piece, n_points, where)
    elif kind == RECTILINEAR:
        part.axes = _coordinates(file, piece, dims, where)
    for tag, into, rows in (
        ("PointData", part.point_arrays, n_points),
        ("CellData", part.cell_arrays, n_cells),
    ):
        into.update(file.arrays(file.only(piece, tag), rows, f" in {where}"))
    return part


def _coordinates(file: Sections, piece: Element, dims: Sequence[int], where: str) -> list[Numbers]:
    arrays = file.children(file.only(piece, "Coordinates"))
    if len(arrays) != 3:
        raise file.fail(f"Coordinates hold {len(arrays)} arrays", where, "three")
    found = []
    for axis, element, n in zip("xyz", arrays, dims, strict=True):
        place = f"{axis} coordinates in {where}"
        dtype = file.payload.dtype(element, place)
        if file.components(element, place) != 1 or dtype is None or dtype == np.bool_:
            raise file.fail("are no numbers of one component", place)
        # VTK writes one coordinate along the axes of an empty grid.
        found.append(file.payload.numbers(element, place, n if min(dims) else None)[:n])
    return found


def _dims(extent: Extent) -> tuple[int, ...]:
    """Points an axis."""
    return tuple(b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True))


def _nature(array: VtkArray) -> tuple[Any, ...]:
    if isinstance(array.values, list):
        return "texts", array.role
    return array.values.dtype, array.values.shape[1], array.role


# --- pieces --------------------------------------------------------------------------------------


def _expect_cover(file: Sections, whole: Extent, extents: list[Extent]) -> None:
    """Refuse pieces that leave holes."""
    n_points, n_cells = lattice_counts(_dims(whole))
    if extents == [whole] or (n_points == 0 and not any(min(_dims(e)) for e in extents)):
        return
    for number, extent in enumerate(extents):
        flat = [a == b for a, b in zip(extent[::2], extent[1::2], strict=True)]
        thin = [a == b for a, b in zip(whole[::2], whole[1::2], strict=True)]
        inside = all(
            low <= a and b <= high
            for a, b, low, high in zip(
                extent[::2], extent[1::2], whole[::2], whole[1::2], strict=True
            )
        )
        if not inside or flat != thin:
            raise file.fail(
                f"extent {extent}", f"piece {number}", f"a box inside of the whole extent {whole}"
            )
    found = sum(lattice_counts(_dims(extent))[1] for extent in extents)
    holes = found < n_cells
    if not holes:
        covered = np.zeros([max(n - 1, 1) for n in reversed(_dims(whole))], np.bool_)
        for extent in extents:
            covered[_box(extent, whole, cells=True)] = True
        holes = not covered.all()
    if holes:
        raise file.fail(
            f"its {len(extents)} pieces leave holes", expected=f"{n_cells} cells in all"
        )
    if found > n_cells:
        reason = "pieces overlap; the last one counts"
        file.ledger.dropped("cells", "overlap", found - n_cells, reason, loss=False)


def _box(extent: Extent, whole: Extent, cells: bool) -> tuple[slice, ...]:
    """Where a piece stands in an array [z, y, x, c] of the whole."""
    return tuple(
        slice(a - first, max(b - first, a - first + 1) if cells else b - first + 1)
        for a, b, first in zip(extent[4::-2], extent[5::-2], whole[4::-2], strict=True)
    )


def _together(parts: list[_Part], whole: Extent) -> _Part:
    """The whole of parts that cover it."""
    first = parts[0]
    out = _Part(whole)
    for axis, values in enumerate(first.axes):
        line = np.empty(_dims(whole)[axis], values.dtype)
        for part in parts:
            low = part.extent[2 * axis] - whole[2 * axis]
            line[low : low + len(part.axes[axis])] = part.axes[axis]
        out.axes.append(line)
    if first.points is not None:
        points = [part.points for part in parts if part.points is not None]
        out.points = _filled(points, parts, whole, cells=False)
    for cells, name in ((False, "point_arrays"), (True, "cell_arrays")):
        for key, array in getattr(first, name).items():
            held = [getattr(part, name)[key].values for part in parts]
            values = _filled(held, parts, whole, cells)
            kept = values[:, 0].tolist() if isinstance(array.values, list) else values
            made = VtkArray(kept, array.role, array.components, array.unit)
            getattr(out, name)[key] = made
    return out


def _filled(
    values: Sequence[Numbers | list[str]], parts: list[_Part], whole: Extent, cells: bool
) -> Numbers:
    """Rows [n, c] of the whole from those of its parts."""
    less = 1 if cells else 0
    shape = [max(n - less, 1) for n in reversed(_dims(whole))]
    rows = [np.array(x, dtype=object).reshape(-1, 1) if isinstance(x, list) else x for x in values]
    out = np.empty([*shape, rows[0].shape[1]], rows[0].dtype)
    for part, found in zip(parts, rows, strict=True):
        at = _box(part.extent, whole, cells)
        out[at] = found.reshape([*(b.stop - b.start for b in at), -1])
    return out.reshape(-1, out.shape[-1])


# --- grids ---------------------------------------------------------------------------------------


def _image(file: Sections, grid: Element, part: _Part) -> VtkData:
    said = grid.attributes
    origin = _numbers(file, grid, "Origin", said.get("Origin", "0 0 0"), 3)
    spacing = _numbers(file, grid, "Spacing", said.get("Spacing", "1 1 1"), 3)
    turned = _numbers(file, grid, "Direction", said.get("Direction", "1 0 0 0 1 0 0 0 1"), 9)
    return image_of(part.extent, origin, spacing, np.array(turned).reshape(3, 3))


def _numbers(file: Sections, grid: Element, name: str, said: str, n: int) -> list[float]:
    try:
        found = [float(word) for word in words_of(said)]
    except ValueError:
        found = []
    if len(found) != n or not all(map(math.isfinite, found)):
        raise file.fail(f"{name} is {said[:60]!r}", f"<{grid.tag}>", f"{n} numbers")
    return found


def _rectilinear(file: Sections, grid: Element, part: _Part) -> VtkData:
    return rectilinear_of(part.axes, _dims(part.extent))


def _structured(file: Sections, grid: Element, part: _Part) -> VtkData:
    points = np.zeros((0, 3)) if part.points is None else part.points
    return structured_of(points, _dims(part.extent))


_GRIDS: Final = {IMAGE: _image, RECTILINEAR: _rectilinear, STRUCTURED: _structured}
