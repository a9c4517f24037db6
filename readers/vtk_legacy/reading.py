"""Reading the legacy VTK format: every data set that has points, versions 1.0 to 5.1.

The layout of cells is told by what follows CELLS, not by the version: rows that begin with their
count (up to 4.2), or OFFSETS and CONNECTIVITY (5.x).

Source: VTK File Formats (legacy), and the files that VTK 9.7 writes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.info import FieldKey, MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.ragged_rows import without_counts
from meshkit.readers.texts import text_of
from meshkit.readers.vtk import MARKER, VtkArray, to_mesh
from meshkit.readers.vtk_legacy.data import CELL_KEYWORDS, Found, Rows, assembled
from meshkit.readers.vtk_legacy.scan import Column, Scanner, shown
from meshkit.readers.vtk_legacy.words import decoded
from meshkit.report import Ledger

_MAGIC: Final = re.compile(rb"#\s*vtk\s+datafile(?:\s+version\s+(\d+)(?:\.(\d+))?)?", re.I)
_NEWEST: Final = 5
# Keys that VTK works out of the values and keeps; nothing is lost with them.
_DERIVED: Final = re.compile(
    r"vtkDataArray::(L2_NORM_(FINITE_)?RANGE|COMPONENT_RANGE)|.*DISCRETE_.*"
)
_TITLES: Final = ("", "vtk output")

_KINDS: Final = {
    "structured_points": ("dimensions", "extent", "spacing", "aspect_ratio", "origin"),
    "structured_grid": ("dimensions", "extent", "points", "blanking"),
    "rectilinear_grid": (
        *("dimensions", "extent", "x_coordinates", "y_coordinates", "z_coordinates"),
    ),
    "polydata": ("points", *CELL_KEYWORDS),
    "unstructured_grid": ("points", "cells", "cell_types"),
}
_ATTRIBUTES: Final = {
    "vectors": ("vectors", 3),
    "normals": ("normals", 3),
    "tensors": ("tensors", 9),
    "tensors6": ("tensors", 6),
    "global_ids": ("global_ids", 1),
    "pedigree_ids": ("pedigree_ids", 1),
    "edge_flags": ("edge_flags", 1),
}
_HOMES: Final = {"point": "point_data", "cell": "cell_data", "field": "global_data"}


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read a legacy VTK file, ascii or binary.

    Points stay float32 or float64 (integers become float64), ids are int32 where they fit, and
    "vtkIdType" and "long" are 64 bits. Structured data becomes explicit cells and
    `mesh.info.grid`. Of poly data, vertices come first, then lines, polygons and strips, as cell
    data counts them. A colour table stays in `info.attributes["lookup_tables"]`, keys of METADATA
    in `info.attributes["vtk_information"]`, the title in `info.attributes["title"]`.

    Raises:
        ReadError: the file breaks the format; the message names the line, or the byte if binary.
    """
    return _Reader(path, ledger).mesh()


class _Reader:
    """One pass over the file; keywords lead to methods."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.path, self.ledger = path, ledger
        self.scan = Scanner(path, path.read_bytes())
        self.found = Found()
        self.home = "field"  # where arrays belong: after POINT_DATA, CELL_DATA, or before

    def mesh(self) -> Mesh:
        """All of it."""
        self._header()
        while (word := self.scan.word()) is not None:
            if word.startswith(b"#"):
                self.scan.line()
            else:
                self._section(word)
        data = assembled(self.found, self.path, self.ledger)
        mesh = to_mesh(data, self.path, self.ledger)
        return mesh.replace(info=self._informed(mesh.info, MARKER in data.field_arrays))

    def _header(self) -> None:
        scan = self.scan
        magic = _MAGIC.match(scan.line())
        if magic is None:
            raise scan.error("is no legacy VTK file", expected="# vtk DataFile Version")
        self.found.version = int(magic[1] or 0)
        if self.found.version > _NEWEST:
            raise scan.error(
                f"version {text_of(magic[1])}", expected=f"at most version {_NEWEST}.1"
            )
        self.found.title = text_of(scan.line().strip())
        word = scan.need("ASCII or BINARY")
        if word.lower() not in (b"ascii", b"binary"):
            raise scan.error(f"found {shown(word)}", expected="ASCII or BINARY")
        # Only now: places in the header are lines.
        scan.binary = word.lower() == b"binary"

    def _section(self, word: bytes) -> None:
        scan, found = self.scan, self.found
        key = word.decode("ascii", "replace").lower()
        if key == "dataset":
            self._dataset()
        elif key == "field":
            self._field()
        elif not found.kind:
            raise scan.error(
                f"{shown(word)} before any DATASET", expected="DATASET and its kind: a mesh"
            )
        elif key in ("point_data", "cell_data"):
            self.home = key.removesuffix("_data")
            n = scan.integer(f"the count of {key.upper()}")
            if found.declared.setdefault(self.home, n) != n:
                raise scan.error(f"{key.upper()} {n}", expected=f"{found.declared[self.home]}")
        elif self.home != "field":
            self._attribute(word, key)
        elif key in _KINDS[found.kind]:
            self._geometry(key)
        else:
            known = ("field", *_KINDS[found.kind], "point_data", "cell_data")
            raise scan.error(
                f"unknown keyword {shown(word)} in {found.kind.upper()}",
                expected=", ".join(known).upper(),
            )

    def _dataset(self) -> None:
        scan = self.scan
        if self.found.kind:
            raise scan.error("a second DATASET", expected="one a file")
        word = scan.need("the kind of the DATASET")
        kind = word.decode("ascii", "replace").lower()
        if kind not in _KINDS:
            raise scan.error(
                f"a DATASET of kind {shown(word)} is no mesh", expected=", ".join(_KINDS).upper()
            )
        self.found.kind = kind

    # --- geometry --------------------------------------------------------------------------------

    def _geometry(self, key: str) -> None:
        scan, found = self.scan, self.found
        if key == "points":
            self._once(found.points, key)
            found.points = self._coordinates(scan.integer("the count of POINTS"), 3, "POINTS")
        elif key == "dimensions":
            self._once(found.dims, key)
            found.dims = tuple(scan.integer("DIMENSIONS") for _ in range(3))
        elif key == "extent":
            self._once(found.dims, key)
            ends = [scan.integer("EXTENT", -(10**18)) for _ in range(6)]
            found.first = tuple(ends[::2])
            found.dims = tuple(
                max(b - a + 1, 0) for a, b in zip(ends[::2], ends[1::2], strict=True)
            )
        elif key in ("spacing", "aspect_ratio"):
            found.spacing = tuple(scan.real("SPACING") for _ in range(3))
        elif key == "origin":
            found.origin = tuple(scan.real("ORIGIN") for _ in range(3))
        elif key.endswith("_coordinates"):
            self._once(found.axes.get(key), key)
            n = scan.integer(f"the count of {key.upper()}")
            found.axes[key] = self._coordinates(n, 1, key.upper())[:, 0]
        elif key == "blanking":
            n = scan.integer("the count of BLANKING")
            shows = self._numbers(scan.column(n, 1, "BLANKING"), "BLANKING")
            found.hidden = shows == 0
        elif key == "cell_types":
            self._once(found.types, key)
            n = scan.integer("the count of CELL_TYPES")
            types = scan.numbers(np.dtype(">i4"), n, "CELL_TYPES")
            if n and not 0 <= int(types.min()) <= int(types.max()) <= 255:
                bad = types[(types < 0) | (types > 255)][0]
                raise scan.error(f"cell type {bad}", expected="numbers from 0 to 255")
            found.types = types.astype(np.uint8)
        else:
            self._once(found.rows.get(key), key)
            found.rows[key] = self._rows(key.upper())

    def _once(self, already: Any, key: str) -> None:
        if already is not None:
            raise self.scan.error(f"{key.upper()} a second time", expected="it once")

    def _coordinates(self, n: int, c: int, what: str) -> NDArray[Any]:
        column = self.scan.column(n, c, what)
        values = self._numbers(column, what)
        self._note(column, what)
        if values.dtype not in (np.float32, np.float64):
            reason = f"{values.dtype} as float64"
            self.ledger.converted("points", "" if c == 3 else what.lower(), n, reason)
            values = values.astype(np.float64)
        return values

    def _numbers(self, column: Column, what: str) -> NDArray[Any]:
        if isinstance(column.values, list):
            raise self.scan.error(f"{what} of texts", expected="numbers")
        return column.values

    def _rows(self, what: str) -> Rows:
        scan = self.scan
        n = scan.integer(f"the count of {what}")
        size = scan.integer(f"the size of {what}")
        if (scan.peek() or b"").lower() == b"offsets":
            return self._rows_by_offsets(n, size, what)
        if n > size:
            raise scan.error(
                f"{what} says {n} rows of {size} numbers in all",
                expected="a count and the points in each row",
            )
        flat = scan.numbers(np.dtype(">i4"), size, what)
        rows = without_counts(flat, n)
        if rows is None:
            raise scan.error(
                f"{what}: the counts of the rows do not add up",
                expected=f"{n} rows, {size} numbers with their counts",
            )
        return Rows(*rows)

    def _rows_by_offsets(self, n: int, size: int, what: str) -> Rows:
        scan = self.scan
        found = []
        for key, count in (("OFFSETS", n), ("CONNECTIVITY", size)):
            word = scan.need(key)
            if word.lower() != key.lower().encode():
                raise scan.error(f"found {shown(word)} in {what}", expected=key)
            column = scan.column(count, 1, f"{key} of {what}")
            values = self._numbers(column, f"{key} of {what}")[:, 0]
            if values.dtype.kind not in "iu":
                raise scan.error(f"{key} of {what} are {values.dtype}", expected="integers")
            if values.dtype == np.uint64 and count and int(values.max()) >= 2**63:
                raise scan.error(f"{key} of {what} hold {values.max()}", expected="ids in the file")
            found.append(values.astype(np.int64, copy=False))
        offsets, connectivity = found
        offsets = offsets if n else np.zeros(1, np.int64)
        if offsets[0] != 0 or offsets[-1] != size:
            raise scan.error(
                f"OFFSETS of {what} run from {offsets[0]} to {offsets[-1]}",
                expected=f"0 to {size}",
            )
        down = np.flatnonzero(np.diff(offsets) < 0)
        if len(down):
            raise scan.error(f"OFFSETS of {what} descend after row {down[0]}", expected="ascending")
        return Rows(offsets, connectivity)

    # --- arrays ----------------------------------------------------------------------------------

    def _field(self) -> None:
        scan = self.scan
        scan.need("the name of FIELD")
        rows = self.found.declared.get(self.home)
        for _ in range(scan.integer("the count of arrays in FIELD")):
            word = scan.need("an array of FIELD")
            if word == b"NULL_ARRAY":
                continue
            name = decoded(word)
            c = scan.integer(f"the components of {name!r}", 1)
            n = scan.integer(f"the rows of {name!r}")
            if rows is not None and n != rows:
                raise scan.error(f"array {name!r} has {n} rows", expected=f"{rows}")
            self._add(name, scan.column(n, c, f"array {name!r}"), None, n, c)

    def _attribute(self, word: bytes, key: str) -> None:
        scan = self.scan
        n = self.found.declared[self.home]
        if key == "lookup_table":
            self._table()
            return
        if key == "metadata":
            raise scan.error("METADATA without an array before it", expected="an array")
        known = ("scalars", "color_scalars", "texture_coordinates", *_ATTRIBUTES)
        if key not in known:
            raise scan.error(
                f"unknown keyword {shown(word)} in {self.home.upper()}_DATA",
                expected=", ".join(("field", "lookup_table", *known)).upper(),
            )
        name = scan.name(f"the name of {key.upper()}")
        what = f"{key.upper()} {name!r}"
        if key == "scalars":
            self._scalars(name, n, what)
        elif key == "color_scalars":
            c = scan.integer(f"the components of {what}", 1)
            column = scan.rest_of_column("unsigned_char" if scan.binary else "float", n, c, what)
            changed = None
            if not scan.binary:
                given = self._numbers(column, what)
                colours = np.rint(np.nan_to_num(given).clip(0, 1) * 255)
                column = replace(column, values=colours.astype(np.uint8))
                changed = "colours from 0 to 1 as bytes from 0 to 255, rounded"
                outside = int(np.count_nonzero(~((given >= 0) & (given <= 1))))
                if outside:
                    changed += f"; {outside} were outside and became 0 or 255"
            self._add(name, column, "scalars", n, c, changed)
        elif key == "texture_coordinates":
            c = scan.integer(f"the components of {what}", 1)
            self._add(name, scan.column(n, c, what), "tcoords", n, c)
        else:
            role, c = _ATTRIBUTES[key]
            self._add(name, scan.column(n, c, what), role, n, c)

    def _scalars(self, name: str, n: int, what: str) -> None:
        scan = self.scan
        type_name = scan.need(f"the type of {what}").decode("ascii", "replace").lower()
        c = 1
        if (scan.peek() or b"").lower() != b"lookup_table":
            c = scan.integer(f"the components of {what}, or LOOKUP_TABLE", 1)
        word = scan.need("LOOKUP_TABLE")
        if word.lower() != b"lookup_table":
            raise scan.error(f"found {shown(word)} after {what}", expected="LOOKUP_TABLE")
        table = scan.name("the name of the LOOKUP_TABLE")
        if table.lower() != "default":
            self.found.coloured[_HOMES[self.home], name] = table
        self._add(name, scan.rest_of_column(type_name, n, c, what), "scalars", n, c)

    def _table(self) -> None:
        scan = self.scan
        name = scan.name("the name of the LOOKUP_TABLE")
        n = scan.integer(f"the size of LOOKUP_TABLE {name!r}")
        what = f"LOOKUP_TABLE {name!r}"
        dtype = np.dtype("u1" if scan.binary else ">f8")
        colours = scan.numbers(dtype, 4 * n, what).reshape(n, 4)
        rgba = colours / 255 if scan.binary else colours
        if not np.isfinite(rgba).all():
            raise scan.error(f"{what} holds nan or inf", expected="red, green, blue, opacity")
        self.found.tables[name] = rgba.tolist()
        self.ledger.converted(
            "lookup table", name, n, 'colours, kept in info.attributes["lookup_tables"]'
        )

    def _add(
        self,
        name: str,
        column: Column,
        role: str | None,
        n: int,
        c: int,
        changed: str | None = None,
    ) -> None:
        """Put one array where it belongs; texts of several components become several arrays."""
        arrays = self.found.arrays[self.home]
        path = f"{_HOMES[self.home]}/{name}"
        self._note(column, path)
        values = column.values
        made: dict[str, VtkArray] = {}
        if isinstance(values, list) and c > 1:
            for i in range(c):
                made[f"{name}_{i}"] = VtkArray(values[i::c], role, None, column.unit)
            self.ledger.converted("field", path, n, f"texts of {c} components as {c} fields")
        else:
            made[name] = VtkArray(values, role, column.components, column.unit, changed)
        for key, array in made.items():
            before = arrays.pop(key, None)
            if before is not None:
                self.ledger.dropped(
                    "field", f"{_HOMES[self.home]}/{key}", n, "a later array has the same name"
                )
            arrays[key] = array

    def _note(self, column: Column, where: str) -> None:
        """Keep the keys of METADATA that nothing else says."""
        for key, words in column.information.items():
            if _DERIVED.fullmatch(key):
                reason = "VTK works it out of the values"
                self.ledger.dropped("information", f"{where} {key}", 1, reason, loss=False)
            else:
                self.found.information.setdefault(where, {})[key] = words
                self.ledger.kept("information", f"{where} {key}", 1)

    def _informed(self, info: MeshInfo, ours: bool) -> MeshInfo:
        """What the format says beyond VtkData, in the info."""
        found = self.found
        attributes = dict(info.attributes)
        if not ours and self.found.title.lower() not in _TITLES:
            attributes.setdefault("title", self.found.title)
            self.ledger.kept("info", "attributes/title", 1)
        if found.tables:
            attributes["lookup_tables"] = found.tables
        if found.information:
            attributes["vtk_information"] = found.information
        fields: dict[FieldKey, Any] = {}
        for key, table in found.coloured.items():
            if table in found.tables:
                known = info.field(*key)
                more = {**known.attributes, "lookup_table": table}
                fields[key] = replace(known, attributes=more)
        return info.replace(attributes=attributes).with_fields(fields)
