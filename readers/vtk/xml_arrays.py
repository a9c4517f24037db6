"""The arrays in a section of a VTK XML file: names, units, roles, and the last of several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.arrays import ATTRIBUTE_WIDTHS, ATTRIBUTES, descent, stranger
from meshkit.readers.vtk.markup import Element, Markup
from meshkit.readers.vtk.payload import Payload
from meshkit.report import Ledger
from meshkit.words import BLANKS

Numbers = NDArray[Any]

ARRAYS: Final = ("DataArray", "Array")
_LEVELS: Final = "vtkGhostLevels"
_GHOSTS: Final = "vtkGhostType"
_UNIT: Final = "UNITS_LABEL"
# Information keys that only say again what the values say.
_DERIVED: Final = frozenset(
    {"L2_NORM_RANGE", "L2_NORM_FINITE_RANGE", "COMPONENT_RANGE", "DISCRETE_VALUES"}
)
_HOMES: Final = {"PointData": "point_data", "CellData": "cell_data", "FieldData": "global_data"}


@dataclass
class Sections:
    """A file that is read, and the report of what becomes of it.

    `n_points` is how many points the piece has whose ids are read. Ids are int32 where they fit,
    unless `wide` says that those of 64 bits keep their width.
    """

    markup: Markup
    payload: Payload
    ledger: Ledger
    wide: bool = False
    n_points: int = 0

    def fail(
        self, problem: str, place: str | None = None, expected: str | None = None
    ) -> ReadError:
        """An error about this file."""
        return self.markup.error(problem, place=place, expected=expected)

    def only(self, parent: Element, tag: str) -> Element | None:
        """The one child of this tag, if there is one.

        Raises:
            ReadError: there are several.
        """
        found = parent.all(tag)
        if len(found) > 1:
            raise self.fail(
                f"<{parent.tag}> has {len(found)} <{tag}>", f"line {parent.line}", "one"
            )
        return found[0] if found else None

    def drop(self, element: Element, reason: str) -> None:
        """Count the arrays below an element that is not read."""
        if element.tag in ARRAYS:
            name = element.attributes.get("Name", "")
            self.ledger.dropped("field", f"{name} in line {element.line}", 1, reason)
        for child in element.children:
            self.drop(child, reason)

    def children(self, section: Element | None) -> list[Element]:
        """The arrays of a section; of several time steps the last.

        Raises:
            ReadError: it holds something else.
        """
        latest: dict[str, int] = {}
        children = [] if section is None else section.children
        for child in children:
            if section is not None and child.tag not in ARRAYS:
                raise self.fail(
                    f"<{section.tag}> holds <{child.tag[:60]}>", f"line {child.line}", "<DataArray>"
                )
            if "TimeStep" in child.attributes:
                name = child.attributes.get("Name", "")
                step = self.markup.whole(child, "TimeStep")
                latest[name] = max(step, latest.get(name, 0))
        found = []
        for child in children:
            name = child.attributes.get("Name", "")
            if "TimeStep" not in child.attributes:
                found.append(child)
            elif self.markup.whole(child, "TimeStep") == latest.get(name):
                found.append(child)
                del latest[name]
        return found

    def components(self, element: Element, place: str) -> int:
        """How many numbers a row has.

        Raises:
            ReadError: none, or too many.
        """
        found = self.markup.whole(element, "NumberOfComponents", 1)
        if not 1 <= found < 1 << 24:
            raise self.fail(f"has {found} components", place, "1 or more")
        return found

    def named(self, section: Element | None, where: str) -> dict[str, Element]:
        """The arrays of a section that describes cells, by name.

        Raises:
            ReadError: two have one name, or one has several components.
        """
        found: dict[str, Element] = {}
        for element in self.children(section):
            name = element.attributes.get("Name", "")
            if name in found:
                raise self.fail(f"{where} has two arrays {name!r}", f"line {element.line}", "one")
            place = f"array {name!r} of {where}"
            if self.components(element, place) != 1:
                raise self.fail("has several components", place, "1")
            found[name] = element
        return found

    def arrays(
        self, section: Element | None, rows: int | None = None, where: str = ""
    ) -> dict[str, VtkArray]:
        """The data arrays of a section; they get unique names.

        Args:
            section: <PointData>, <CellData> or <FieldData>.
            rows: how many each must have; None: as many as the file says.
            where: what more messages say of the place.

        Raises:
            ReadError: an array is not there, or has another number of rows.
        """
        found: dict[str, VtkArray] = {}
        if section is None:
            return found
        home, where = _HOMES[section.tag], f"{section.tag}{where}"
        for element in self.children(section):
            said = element.attributes.get("Name", "")
            name, n = said or "unnamed", 1
            while name in found:
                n += 1
                name = f"{said or 'unnamed'} ({n})"
            array = self._array(element, f"array {name!r} of {where}", f"{home}/{name}", rows)
            array.role = _role(section, said if name == said else "", array)
            if rows is not None and self.old and name == _LEVELS:
                name = _marks(name, array)
            elif name != said:
                reason = (
                    f"there is another array {said!r}" if said else "it has no name in the file"
                )
                count = len(array.values)
                self.ledger.converted("field", f"{home}/{name}", count, f"renamed: {reason}")
            found[name] = array
        return found

    def _array(self, element: Element, place: str, name: str, rows: int | None) -> VtkArray:
        width = self.components(element, place)
        if rows is None and "NumberOfTuples" in element.attributes:
            rows = self.markup.whole(element, "NumberOfTuples")
        count = None if rows is None else rows * width
        unit = self._unit(element, name)
        if self.payload.dtype(element, place) is None:
            return VtkArray(self.payload.texts(element, place, count))
        values = self.payload.numbers(element, place, count)
        if len(values) % width:
            raise self.fail(f"holds {len(values)} values", place, f"a multiple of {width}")
        said = [element.attributes.get(f"ComponentName{i}") for i in range(min(width, 1 << 10))]
        components = None
        if any(text is not None for text in said):
            components = tuple(text or "" for text in said) + ("",) * (width - len(said))
        return VtkArray(values.reshape(-1, width), None, components, unit)

    def _unit(self, element: Element, name: str) -> str | None:
        """The unit that an information key says; other keys are counted."""
        found = None
        for child in element.all("InformationKey"):
            key = child.attributes.get("name", "")
            if key == _UNIT:
                found = child.text.strip(BLANKS)
            elif key not in _DERIVED:
                reason = f"information key {key[:60]!r}, a note of VTK's own"
                self.ledger.dropped("info", name, 1, reason, loss=False)
        return found

    # --- ids -------------------------------------------------------------------------------------

    def ids_dtype(self, element: Element, top: int) -> np.dtype[Any]:
        """Of which width whole numbers up to `top` become."""
        narrow = element.attributes.get("type") == "Int32" or not self.wide
        return np.dtype(np.int32 if narrow and top <= np.iinfo(np.int32).max else np.int64)

    def point_ids(self, element: Element, starts: Numbers, place: str, row: str) -> Numbers:
        """Ids of the piece's points.

        Args:
            element: the ids.
            starts: where the rows of ids start, and the last ends.
            place: what messages call the ids.
            row: what messages call a row.

        Raises:
            ReadError: the piece has no such point.
        """
        n, count = self.n_points, int(starts[-1])
        out = np.empty(count, self.ids_dtype(element, n))
        low, high = self.payload.whole_numbers(element, place, out)
        if count and (low < 0 or high >= n):
            wide = np.empty(count, np.int64)  # those that do not fit into int32 are among them
            self.payload.whole_numbers(element, place, wide)
            at, bad = stranger(wide, starts, n)
            raise self.fail(f"point id {bad} in {row} {at}", place, f"ids from 0 to {n - 1}")
        return out

    def starts(self, offsets: Element, values: Element, n: int, place: str, of: str) -> Numbers:
        """The starts [n + 1] of n rows whose ends the file holds.

        Args:
            offsets: the ends.
            values: what the rows consist of.
            n: how many rows.
            place: what messages call the ends.
            of: what messages call the values.

        Raises:
            ReadError: they do not ascend from 0 to the number of values.
        """
        found = self.payload.count(values, of)
        starts = np.zeros(n + 1, self.ids_dtype(offsets, found))
        low, high = self.payload.whole_numbers(offsets, place, starts[1:])
        if low < 0 or high > found or descent(starts) >= 0:
            starts = np.zeros(n + 1, np.int64)  # what is narrow may not say what is wrong
            self.payload.whole_numbers(offsets, place, starts[1:])
            at = descent(starts)
            if at >= 0:
                problem = f"descend at {at}: {starts[at]} to {starts[at + 1]}"
                raise self.fail(problem, place, "ascending")
        if starts[-1] != found:
            raise self.fail(f"holds {found} values", of, f"{starts[-1]}, where its offsets end")
        return starts

    @property
    def old(self) -> bool:
        """Whether the file is from before version 2, when marks of ghosts were levels."""
        return self.markup.root.attributes.get("version", "").split(".")[0].strip() in (
            "",
            "0",
            "1",
        )


def _marks(name: str, array: VtkArray) -> str:
    """Levels of ghosts become the marks that VTK has today; what the array is to be called."""
    values = array.values
    if isinstance(values, list) or values.dtype != np.uint8 or values.shape[1] != 1:
        return name
    array.values = (values > 0).astype(np.uint8)
    return _GHOSTS


def _role(section: Element, name: str, array: VtkArray) -> str | None:
    """What the section declares an array as, unless VTK would refuse it."""
    for role, said in ATTRIBUTES.items():
        if not name or section.attributes.get(said) != name:
            continue
        if role == "pedigree_ids":
            return role
        widths = ATTRIBUTE_WIDTHS.get(role)
        if isinstance(array.values, list):
            continue
        if widths is None or array.values.shape[1] in widths:
            return role
    return None
