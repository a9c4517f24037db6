"""A VTK XML file checked before vtk touches it: vtk crashes on, or makes up, what is not there.

vtk trusts counts: a short string array, an offset beyond the connectivity or a header of 2^62
bytes end the process; an array that a later piece lacks is filled with whatever memory holds. So
each array is found in the file with exactly the values its piece promises, offsets ascend, and
the faces of polyhedra are walked. What vtk would drop, skip or confuse (arrays without a name or
with the same one, several time steps, empty pieces) is noted as edits: vtk is then given a copy of
the file in memory that it reads rightly.

Source: VTK File Formats (XML), and what the readers of VTK 9.7 do with files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.errors import ReadError
from meshkit.readers.lattice import lattice_counts
from meshkit.readers.vtk.markup import Element, Markup
from meshkit.readers.vtk.payload import Payload
from meshkit.report import Ledger

Numbers = NDArray[Any]
Edit = tuple[int, int, bytes]

ARRAYS: Final = ("DataArray", "Array")
POLY_LISTS: Final = ("Verts", "Lines", "Strips", "Polys")
STRUCTURED: Final = ("ImageData", "RectilinearGrid", "StructuredGrid")
_SECTIONS: Final = {
    "UnstructuredGrid": {"Points", "Cells"},
    "PolyData": {"Points", *POLY_LISTS},
    "ImageData": set[str](),
    "RectilinearGrid": {"Coordinates"},
    "StructuredGrid": {"Points"},
}
_OLD_FACES: Final = ("faces", "faceoffsets")
_NEW_FACES: Final = (
    *("face_connectivity", "face_offsets", "polyhedron_to_faces", "polyhedron_offsets"),
)
# An image of that many points that holds no data at all is believed; a larger one is not.
_MOST_IMPLICIT: Final = 1 << 24
_FEW: Final = 32


@dataclass(slots=True)
class Declared:
    """One array of points, cells or the whole, as the file declares it."""

    home: str  # "point_data", "cell_data" or "global_data"
    name: str  # unique in its home
    rows: int
    components: int
    element: Element

    @property
    def kind(self) -> tuple[str, str, str, int]:
        """What pieces must agree on to be read as one."""
        return self.home, self.name, self.element.attributes.get("type", ""), self.components


@dataclass(slots=True)
class Piece:
    """One <Piece> and what it holds."""

    element: Element
    n_points: int
    n_cells: int
    arrays: list[Declared]
    extent: tuple[int, ...] | None = None
    geometry: list[tuple[str, str]] = field(default_factory=list)  # (array, type)

    @property
    def layout(self) -> tuple[Any, ...]:
        """What pieces must agree on to be read as one by vtk, which looks at the first alone."""
        roles = [
            (s.tag, sorted(s.attributes.items())) for s in self.element.all("PointData", "CellData")
        ]
        return [array.kind for array in self.arrays], roles, self.geometry


@dataclass(slots=True)
class Plan:
    """What vtk is to read, how the file is to be edited for it, and what must come out."""

    kind: str
    grid: Element
    pieces: list[Piece]
    fields: list[Declared]
    edits: list[Edit]
    time: float | None = None

    @property
    def at_once(self) -> bool:
        """Whether vtk reads all pieces rightly in one go."""
        first = self.pieces[0]
        arrays = {name for piece in self.pieces for name, _ in piece.geometry}
        return len(self.pieces) == 1 or (
            all(piece.layout == first.layout for piece in self.pieces)
            # vtk sorts the cells of poly data by list, and confuses data of polygons and strips;
            # polyhedra are seldom in pieces.
            and self.kind != "PolyData"
            and not arrays & {*_OLD_FACES, *_NEW_FACES}
        )


def preflight(markup: Markup, kind: str, ledger: Ledger) -> Plan:
    """Check a file of this kind ("UnstructuredGrid", ...), and plan how vtk is to read it.

    Raises:
        ReadError: something is missing, contradicts itself, or is not where the file says.
    """
    return _Preflight(markup, kind, ledger).plan()


class _Preflight:
    def __init__(self, markup: Markup, kind: str, ledger: Ledger) -> None:
        self.markup, self.kind, self.ledger = markup, kind, ledger
        self.payload = Payload(markup)
        self.edits: dict[int, Edit] = {}

    def edit(self, edit: Edit) -> None:
        """Note an edit; it stands for an earlier one of the same place."""
        self.edits[edit[0]] = edit

    def fail(
        self, problem: str, place: str | None = None, expected: str | None = None
    ) -> ReadError:
        return self.markup.error(problem, place=place, expected=expected)

    # --- the file --------------------------------------------------------------------------------

    def plan(self) -> Plan:
        root = self.markup.root
        found = root.attributes.get("type")
        if found != self.kind:
            raise self.fail(f"is of type {str(found)[:60]!r}", expected=repr(self.kind))
        grid = self.only(root, self.kind)
        if grid is None:
            raise self.fail(f"holds no <{self.kind}>")
        for other in root.children:
            if other is not grid and other.tag != "AppendedData":
                self.drop(other, "stands where vtk reads no data")
        time = self.times(grid)
        fields: list[Declared] = []
        section = self.only(grid, "FieldData")
        if section is not None:
            fields = self.arrays(section, "global_data", None, "FieldData")
        pieces: list[Piece] = []
        for child in grid.children:
            if child.tag == "Piece":
                pieces.append(self.piece(child, len(pieces)))
            elif child.tag != "FieldData":
                self.drop(child, "stands where vtk reads no data")
        if not pieces:
            raise self.fail(f"<{self.kind}> holds no <Piece>")
        pieces = self.without_empty(pieces)
        plan = Plan(self.kind, grid, pieces, fields, list(self.edits.values()), time)
        if self.kind in STRUCTURED:
            self.cover(grid, plan)
        return plan

    def times(self, grid: Element) -> float | None:
        """The last of several times in one file; vtk returns memory it has not read for any."""
        said = grid.attributes.get("TimeValues")
        if said is None:
            return None
        self.edit(self.markup.retagged(grid, TimeValues=None))
        try:
            times = [float(word) for word in said.split()]
        except ValueError:
            raise self.fail(f"TimeValues are {said[:60]!r}", expected="numbers") from None
        if len(times) > 1:
            reason = "only the last time in the file is read"
            self.ledger.dropped("time", "", len(times) - 1, reason)
        return times[-1] if times else None

    def without_empty(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces that hold something; vtk fails on others. One stays in any case."""
        full = [p for p in pieces if p.n_points or p.n_cells] or pieces[:1]
        for piece in pieces:
            if not any(piece is kept for kept in full):
                self.edit(self.markup.removed(piece.element))
        return full

    def drop(self, element: Element, reason: str) -> None:
        """Count the arrays below an element that vtk does not read."""
        if element.tag in ARRAYS:
            name = element.attributes.get("Name", "")
            self.ledger.dropped("field", f"{name} in line {element.line}", 1, reason)
        for child in element.children:
            self.drop(child, reason)

    def only(self, parent: Element, tag: str) -> Element | None:
        """The one child of this tag."""
        found = parent.all(tag)
        if len(found) > 1:
            raise self.fail(
                f"<{parent.tag}> has {len(found)} <{tag}>", f"line {parent.line}", "one"
            )
        return found[0] if found else None

    # --- arrays ----------------------------------------------------------------------------------

    def children(self, section: Element) -> list[Element]:
        """The arrays of a section; of several time steps the last."""
        latest: dict[str, int] = {}
        for child in section.children:
            if child.tag not in ARRAYS:
                raise self.fail(
                    f"<{section.tag}> holds <{child.tag[:60]}>", f"line {child.line}", "<DataArray>"
                )
            if "TimeStep" in child.attributes:
                name = child.attributes.get("Name", "")
                step = self.markup.whole(child, "TimeStep")
                latest[name] = max(step, latest.get(name, 0))
        if not latest:
            return section.children
        found = []
        for child in section.children:
            name = child.attributes.get("Name", "")
            if "TimeStep" not in child.attributes:
                found.append(child)
            elif self.markup.whole(child, "TimeStep") == latest.get(name):
                found.append(child)
                del child.attributes["TimeStep"]
                del latest[name]
                self.edit(self.markup.retagged(child))
            else:
                self.edit(self.markup.removed(child))
        return found

    def components(self, element: Element, place: str) -> int:
        found = self.markup.whole(element, "NumberOfComponents", 1)
        if not 1 <= found < 1 << 24:
            raise self.fail(f"has {found} components", place, "1 or more")
        return found

    def arrays(self, section: Element, home: str, rows: int | None, where: str) -> list[Declared]:
        """The data arrays of a section, each found whole; they get unique names."""
        found: list[Declared] = []
        names: set[str] = set()
        for element in self.children(section):
            said = element.attributes.get("Name", "")
            name, n = said or "unnamed", 1
            while name in names:
                n += 1
                name = f"{said or 'unnamed'} ({n})"
            names.add(name)
            place = f"array {name!r} of {where}"
            components = self.components(element, place)
            count = rows
            changed: dict[str, str] = {}
            if name != said:
                changed["Name"] = name
            if count is None:
                count = self.tuples(element, components, place)
                if "NumberOfTuples" not in element.attributes:
                    changed["NumberOfTuples"] = str(count)
            self.payload.check(element, count * components, place)
            if self.payload.misread(element, place):
                self.edit(self.payload.recoded(element, place, **changed))
            elif changed:
                self.edit(self.markup.retagged(element, **changed))
            if name != said:
                reason = (
                    f"there is another array {said!r}" if said else "it has no name in the file"
                )
                self.ledger.converted("field", f"{home}/{name}", count, f"renamed: {reason}")
            found.append(Declared(home, name, count, components, element))
        return found

    def tuples(self, element: Element, components: int, place: str) -> int:
        """The rows of a field array; where the file does not say, as many as there are."""
        if "NumberOfTuples" in element.attributes:
            return self.markup.whole(element, "NumberOfTuples")
        count = self.payload.count(element, place)
        if count % components:
            raise self.fail(f"holds {count} values", place, f"a multiple of {components}")
        return count // components

    def named(self, section: Element | None, where: str) -> dict[str, Element]:
        """The arrays of a section that describes cells, by name."""
        found: dict[str, Element] = {}
        for element in [] if section is None else self.children(section):
            name = element.attributes.get("Name", "")
            if name in found:
                raise self.fail(f"{where} has two arrays {name!r}", f"line {element.line}", "one")
            place = f"array {name!r} of {where}"
            if self.components(element, place) != 1:
                raise self.fail("has several components", place, "1")
            found[name] = element
        return found

    def whole_numbers(self, element: Element, place: str) -> Numbers:
        """Values of an integer array, as int64."""
        dtype = self.payload.dtype(element, place)
        if dtype is None or dtype.kind not in "iu" or element.attributes["type"] == "Bit":
            raise self.fail(f"is of type {element.attributes['type']}", place, "whole numbers")
        return self.payload.values(element, place).astype(np.int64, copy=False)

    # --- pieces ----------------------------------------------------------------------------------

    def piece(self, element: Element, number: int) -> Piece:
        where = f"piece {number}"
        known = {"PointData", "CellData", *_SECTIONS[self.kind]}
        for child in element.children:
            if child.tag not in known:
                self.drop(child, f"<{child.tag[:60]}> is no part of a piece")
            self.only(element, child.tag)
        extent = None
        if self.kind in STRUCTURED:
            extent = self.markup.extent(element, "Extent")
            dims = [b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True)]
            n_points, n_cells = lattice_counts(dims)
        else:
            n_points = self.markup.whole(element, "NumberOfPoints")
            n_cells = self.cells_of(element)
        arrays: list[Declared] = []
        for tag, home, rows in (
            ("PointData", "point_data", n_points),
            ("CellData", "cell_data", n_cells),
        ):
            section = self.only(element, tag)
            if section is not None:
                arrays += self.arrays(section, home, rows, f"{tag} in {where}")
        piece = Piece(element, n_points, n_cells, arrays, extent)
        if "Points" in known:
            self.points(piece, where)
        if self.kind == "UnstructuredGrid":
            self.unstructured(piece, where)
        elif self.kind == "PolyData":
            for tag in POLY_LISTS:
                n = self.markup.whole(element, f"NumberOf{tag}", 0)
                self.cells(piece, tag, n, f"{tag} in {where}")
        elif self.kind == "RectilinearGrid":
            self.coordinates(piece, dims, where)
        elif self.kind == "ImageData" and not arrays and n_points > _MOST_IMPLICIT:
            raise self.fail(
                f"an image of {n_points} points without any data",
                where,
                f"{_MOST_IMPLICIT} at most",
            )
        return piece

    def cells_of(self, element: Element) -> int:
        if self.kind == "UnstructuredGrid":
            return self.markup.whole(element, "NumberOfCells")
        return sum(self.markup.whole(element, f"NumberOf{tag}", 0) for tag in POLY_LISTS)

    def points(self, piece: Piece, where: str) -> None:
        section = self.only(piece.element, "Points")
        arrays = [] if section is None else self.children(section)
        if piece.n_points == 0 and not arrays:
            return
        if len(arrays) != 1:
            raise self.fail(f"Points hold {len(arrays)} arrays", where, "one")
        place = f"Points in {where}"
        if self.components(arrays[0], place) != 3:
            raise self.fail(f"have {self.components(arrays[0], place)} components", place, "3")
        dtype = self.payload.dtype(arrays[0], place)
        if dtype is None or arrays[0].attributes["type"] == "Bit":
            raise self.fail(f"are of type {arrays[0].attributes['type']}", place, "numbers")
        self.payload.check(arrays[0], 3 * piece.n_points, place)
        if self.payload.misread(arrays[0], place):
            self.edit(self.payload.recoded(arrays[0], place))
        piece.geometry.append(("Points", arrays[0].attributes["type"]))

    def cells(self, piece: Piece, tag: str, n: int, where: str) -> dict[str, Element]:
        """Check connectivity and offsets of n cells."""
        arrays = self.named(self.only(piece.element, tag), where)
        offsets, ids = arrays.get("offsets"), arrays.get("connectivity")
        if offsets is None or ids is None:
            if n or offsets is not ids:
                missing = "offsets" if offsets is None else "connectivity"
                raise self.fail(f"{n} cells without {missing}", where, f"an array {missing!r}")
            return arrays
        place = f"array 'offsets' of {where}"
        self.payload.check(offsets, n, place)
        self.rows(offsets, ids, place, f"array 'connectivity' of {where}")
        if n:
            piece.geometry += [(tag, ids.attributes["type"]), (tag, offsets.attributes["type"])]
        return arrays

    def rows(self, offsets: Element, values: Element, place: str, of: str) -> int:
        """Ends of rows that must ascend from 0 to the number of values; how many rows."""
        ends = self.whole_numbers(offsets, place)
        falls = ends[1:] < ends[:-1]
        if len(ends) and (ends[0] < 0 or falls.any()):
            at = 0 if ends[0] < 0 else int(np.argmax(falls)) + 1
            before = ends[at - 1] if at else 0
            raise self.fail(f"descend at {at}: {before} to {ends[at]}", place, "ascending")
        found, end = self.payload.count(values, of), int(ends[-1]) if len(ends) else 0
        if found != end:
            raise self.fail(f"holds {found} values", of, f"{end}, where its offsets end")
        return len(ends)

    def unstructured(self, piece: Piece, where: str) -> None:
        n = piece.n_cells
        arrays = self.cells(piece, "Cells", n, f"Cells in {where}")
        types = arrays.get("types")
        if types is None:
            if n:
                raise self.fail(f"{n} cells without types", f"Cells in {where}", "an array 'types'")
        else:
            place = f"array 'types' of Cells in {where}"
            self.payload.check(types, n, place)
            dtype = self.payload.dtype(types, place)
            if n and (dtype is None or dtype.itemsize > 1 or dtype.kind != "u"):
                found = self.whole_numbers(types, place)
                if found.min() < 0 or found.max() > 255:
                    raise self.fail(f"type {int(found.max())}", place, "0 to 255")
        known = {"connectivity", "offsets", "types", *_OLD_FACES, *_NEW_FACES}
        for name, element in arrays.items():
            if name not in known:
                self.drop(element, "an array of Cells that vtk does not know")
        solids = False
        for names, check in ((_OLD_FACES, self.old_faces), (_NEW_FACES, self.new_faces)):
            held = [name for name in names if name in arrays]
            if held and len(held) < len(names):
                missing = next(name for name in names if name not in arrays)
                raise self.fail(f"has {held[0]!r} without {missing!r}", f"Cells in {where}")
            if held:
                check({name: arrays[name] for name in names}, n, f"of Cells in {where}")
                piece.geometry += [(name, arrays[name].attributes["type"]) for name in names]
                solids = True
        if not solids and n and types is not None:
            self.no_solids(types, f"array 'types' of Cells in {where}")

    def no_solids(self, types: Element, place: str) -> None:
        if (self.payload.values(types, place) == POLYHEDRON).any():
            raise self.fail("holds polyhedra whose faces are missing", place, "faces")

    def old_faces(self, arrays: dict[str, Element], n: int, where: str) -> None:
        """faces: of each polyhedron its number of faces, then of each its size and its points.

        faceoffsets: for each cell the end of its faces in there; -1 for no polyhedron.
        """
        place = f"array 'faceoffsets' {where}"
        stream = self.whole_numbers(arrays["faces"], f"array 'faces' {where}")
        ends = self.whole_numbers(arrays["faceoffsets"], place)
        if len(stream) == len(ends) == 0:
            return
        self.payload.check(arrays["faceoffsets"], n, place)
        ends = ends[ends >= 0]
        starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        if (ends <= starts).any() or (ends[-1:] > len(stream)).any():
            raise self.fail("do not ascend within the faces", place, f"up to {len(stream)}")
        if not _walks(stream, starts, ends):
            raise self.fail(
                "do not fill their cells", f"array 'faces' {where}", "sizes, then points"
            )

    def new_faces(self, arrays: dict[str, Element], n: int, where: str) -> None:
        """Points of each face, and of each cell its faces, both as rows with ends."""

        def place(name: str) -> str:
            return f"array {name!r} {where}"

        def rows(offsets: str, values: str) -> int:
            return self.rows(arrays[offsets], arrays[values], place(offsets), place(values))

        faces = rows("face_offsets", "face_connectivity")
        if self.payload.count(arrays["polyhedron_offsets"], place("polyhedron_offsets")):
            self.payload.check(arrays["polyhedron_offsets"], n, place("polyhedron_offsets"))
        rows("polyhedron_offsets", "polyhedron_to_faces")
        ids = self.whole_numbers(arrays["polyhedron_to_faces"], place("polyhedron_to_faces"))
        if len(ids) and (ids.min() < 0 or ids.max() >= faces):
            bad = int(ids.min()) if ids.min() < 0 else int(ids.max())
            raise self.fail(
                f"face {bad}", place("polyhedron_to_faces"), f"faces from 0 to {faces - 1}"
            )

    def coordinates(self, piece: Piece, dims: list[int], where: str) -> None:
        section = self.only(piece.element, "Coordinates")
        arrays = [] if section is None else self.children(section)
        if len(arrays) != 3:
            raise self.fail(f"Coordinates hold {len(arrays)} arrays", where, "three")
        for axis, element, n in zip("xyz", arrays, dims, strict=True):
            place = f"{axis} coordinates in {where}"
            if self.components(element, place) != 1 or self.payload.dtype(element, place) is None:
                raise self.fail("are no numbers of one component", place)
            if piece.n_points:
                self.payload.check(element, n, place)
            else:  # vtk writes one coordinate along the axes of an empty grid
                self.payload.count(element, place)
            if self.payload.misread(element, place):
                self.edit(self.payload.recoded(element, place))
            piece.geometry.append((axis, element.attributes["type"]))

    # --- structured ------------------------------------------------------------------------------

    def cover(self, grid: Element, plan: Plan) -> None:
        """Refuse pieces that leave holes or differ; vtk makes up the rest."""
        whole = self.markup.extent(grid, "WholeExtent")
        dims = [b - a + 1 for a, b in zip(whole[::2], whole[1::2], strict=True)]
        n_points, n_cells = lattice_counts(dims)
        extents = np.array([piece.extent for piece in plan.pieces], dtype=np.int64)
        if n_points == 0 and all(piece.n_points == 0 for piece in plan.pieces):
            return
        low, high = extents[:, ::2], extents[:, 1::2]
        outside = (low < whole[::2]).any(1) | (high > np.array(whole[1::2])).any(1)
        if outside.any():
            raise self.fail(
                f"extent {tuple(extents[int(outside.argmax())].tolist())}",
                f"piece {int(outside.argmax())}",
                f"inside of the whole extent {whole}",
            )
        found = sum(piece.n_cells for piece in plan.pieces)
        if found < n_cells or not _covers(low - whole[::2], high - whole[::2], dims):
            raise self.fail(
                f"its {len(plan.pieces)} pieces leave holes", expected=f"{n_cells} cells in all"
            )
        if found > n_cells:
            reason = "pieces overlap; vtk keeps one of them"
            self.ledger.dropped("cells", "overlap", found - n_cells, reason, loss=False)
        for number, piece in enumerate(plan.pieces):
            if piece.layout != plan.pieces[0].layout:
                raise self.fail("holds other arrays than the first piece", f"piece {number}")
        numbers = [grid.attributes.get(name) for name in ("Origin", "Spacing", "Direction")]
        for name, said, n in zip(
            ("Origin", "Spacing", "Direction"), numbers, (3, 3, 9), strict=True
        ):
            if said is None:
                continue
            try:
                right = all(math.isfinite(float(word)) for word in said.split())
            except ValueError:
                right = False
            if not right or len(said.split()) != n:
                raise self.fail(f"{name} is {said[:60]!r}", f"<{grid.tag}>", f"{n} numbers")


def _covers(low: Numbers, high: Numbers, dims: list[int]) -> bool:
    """Whether boxes of points cover all cells of a lattice; no extent counts as one cell."""
    covered = np.zeros([max(n - 1, 1) for n in dims], np.bool_)
    for a, b in zip(low.tolist(), np.maximum(high, low + 1).tolist(), strict=True):
        covered[tuple(slice(x, y) for x, y in zip(a, b, strict=True))] = True
    return bool(covered.all())


def _walks(stream: Numbers, starts: Numbers, ends: Numbers) -> bool:
    """Whether the faces of each polyhedron fill its stretch of the stream exactly."""
    left = stream[starts]
    at = starts + 1
    if (left < 0).any() or (left > ends - starts).any():
        return False
    while len(left):
        done = left == 0
        if (at[done] != ends[done]).any():
            return False
        left, at, ends = left[~done], at[~done], ends[~done]
        if (at >= ends).any():
            return False
        if len(left) <= _FEW:  # those with very many faces: going on with arrays would be slow
            return all(
                _walks_one(stream[low:high], faces)
                for low, high, faces in zip(at.tolist(), ends.tolist(), left.tolist(), strict=True)
            )
        sizes = stream[at]
        # A size beyond the stretch is caught before it can overflow.
        if (sizes < 0).any() or (sizes > ends - at).any():
            return False
        at, left = at + sizes + 1, left - 1
    return True


def _walks_one(stream: Numbers, faces: int) -> bool:
    words = stream.tolist()
    at = 0
    for _ in range(faces):
        if at >= len(words) or words[at] < 0:
            return False
        at += words[at] + 1
    return at == len(words)
