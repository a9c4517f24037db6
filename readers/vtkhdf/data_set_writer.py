"""Data sets, one a time, into a group of a VTKHDF file; blocks that repeat are written once.

vtkHDFReader stops at the first array of points or cells that it cannot read, texts among them.
So texts go as codes, and the words as a field array beside the others; each array is there at
all times, filled where the mesh has none; and what a time really has stands in a table.

Source: VTK File Formats (VTKHDF 2.6), and what vtkHDFReader of VTK 9.7 reads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import WriteError
from meshkit.fields import encode_texts
from meshkit.readers.vtk import VtkArray, VtkData, json_array
from meshkit.readers.vtk.arrays import ATTRIBUTE_WIDTHS, ATTRIBUTES
from meshkit.readers.vtk.names import encoded
from meshkit.readers.vtk.objects import arrays_of
from meshkit.readers.vtkhdf.arrays import GROUPS, MARK, TABLE
from meshkit.readers.vtkhdf.written_arrays import digest_of, for_hdf5, no_solids, topology_arrays

Numbers = NDArray[Any]

# No link can be called so: "/" parts a path, "." is where one is, "" is nothing.
_NOT_A_LINK: Final = re.compile(r"[\x00/\ud800-\udfff]|^\.{1,2}$|^$")
_CHUNK: Final = 1 << 20  # bytes
_SOLID_COUNTS: Final = (
    *("NumberOfFaceConnectivityIds", "NumberOfFaces", "NumberOfPolyhedronToFaceIds"),
)
# What says where a time's part begins, and which counts of the parts before add up to it.
_OFFSETS: Final = {
    "CellOffsets": "NumberOfCells",
    "ConnectivityIdOffsets": "NumberOfConnectivityIds",
    "FaceConnectivityOffsets": "NumberOfFaceConnectivityIds",
    "FaceOffsetsOffsets": "NumberOfFaces",
    "PolyhedronToFaceIdOffsets": "NumberOfPolyhedronToFaceIds",
}


def new_group(parent: Any, name: str) -> Any:
    """A group in another; no time of writing stands in it."""
    import h5py

    plan = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    plan.set_obj_track_times(False)
    return h5py.Group(h5py.h5g.create(parent.id, name.encode(), None, plan))


@dataclass
class _Column:
    """A dataset in the making, and what of it each time has."""

    handle: Any
    rows: int = 0
    known: dict[bytes, int] = field(default_factory=dict)  # digest of a block -> where it begins
    starts: list[int] = field(default_factory=list)  # by time
    sizes: list[tuple[int, int]] = field(default_factory=list)  # components, rows, by time
    blank: tuple[int, int] = (0, 0)  # rows that nobody wrote: where, how many


class DataSetWriter:
    """Puts data sets into a group, one a time."""

    def __init__(self, root: Any, path: Path, *, growing: bool) -> None:
        self._root, self._path, self._growing = root, path, growing
        self._homes = {home: new_group(root, name) for home, name in GROUPS.items()}
        self._columns: dict[tuple[str, str], _Column] = {}
        self._names: dict[tuple[str, str, Any], str] = {}  # home, name, nature -> dataset
        self._roles: set[tuple[str, str]] = set()
        self._parts: dict[bytes, int] = {}
        self._counts: list[dict[str, int]] = []  # by part
        self._rows: list[tuple[int, int]] = []  # points and cells, by time
        self._part_of: list[int] = []  # by time

    def add(self, given: VtkData) -> None:
        """The data set of the next time."""
        data = encoded(given, _NOT_A_LINK)
        self._rows.append((len(data.points), len(data.types)))
        self._topology(data)
        self._put("", "Points", data.points)
        table: dict[str, list[tuple[str, str, str | None]]] = {}
        for home in GROUPS:
            table[home] = []
            for name, array in arrays_of(data, home).items():
                table[home].append(self._array(home, name, array))
        self._array("global_data", TABLE, json_array(table))
        for (home, _), column in self._columns.items():
            if home in GROUPS and len(column.starts) < len(self._rows):
                self._leave_blank(home, column, len(self._rows) - 1)

    # --- points and cells -------------------------------------------------------------------------

    def _topology(self, data: VtkData) -> None:
        """Points and cells are a part, which times share while they stay."""
        arrays = topology_arrays(data, wide=self._growing)
        digest = hashlib.blake2b(digest_size=20)
        digest.update(str(len(data.points)).encode())
        for name, values in arrays.items():
            digest.update(f"{name} {values.dtype} {len(values)} ".encode())
            digest.update(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
        part = self._parts.setdefault(digest.digest(), len(self._counts))
        self._part_of.append(part)
        if part < len(self._counts):
            return
        if data.polyhedra is not None:
            self._no_solids_so_far()
        elif ("", "FaceOffsets") in self._columns:
            arrays |= no_solids(len(data.types))
        counts = {
            "NumberOfPoints": len(data.points),
            "NumberOfCells": len(data.types),
            "NumberOfConnectivityIds": len(data.connectivity),
        }
        if "FaceOffsets" in arrays:
            counts |= {
                "NumberOfFaceConnectivityIds": len(arrays["FaceConnectivity"]),
                "NumberOfFaces": len(arrays["FaceOffsets"]) - 1,
                "NumberOfPolyhedronToFaceIds": len(arrays["PolyhedronToFaces"]),
            }
        self._counts.append(counts)
        for name, values in arrays.items():
            self._put("", name, values, again=True)
        for name, count in counts.items():
            self._put("", name, np.array([count], np.int64), again=True)

    def _no_solids_so_far(self) -> None:
        """When the first polyhedra come, the parts before get none of each."""
        if ("", "FaceOffsets") in self._columns:
            return
        for counts in self._counts:
            for name, values in no_solids(counts["NumberOfCells"]).items():
                self._put("", name, values, again=True)
            for name in _SOLID_COUNTS:
                counts[name] = 0
                self._put("", name, np.zeros(1, np.int64), again=True)

    # --- arrays -----------------------------------------------------------------------------------

    def _array(self, home: str, name: str, array: VtkArray) -> tuple[str, str, str | None]:
        """Put an array, and say where it is."""
        if not isinstance(array.values, list):
            values = array.values.view(np.uint8) if array.values.dtype == bool else array.values
            nature = (values.dtype.str, values.shape[1])
            dataset = self._name(home, name, nature)
            column = self._put(home, dataset, values)
            self._declare(home, column, array.role, values.shape[1])
            return dataset, name, None
        if home == "global_data":
            dataset = self._name(home, name, "texts")
            self._put(home, dataset, array.values)
            return dataset, name, None
        codes, words = encode_texts(array.values)
        numbers: Numbers = codes.numpy().reshape(-1, 1)
        dataset = self._name(home, name, (numbers.dtype.str, 1))
        column = self._put(home, dataset, numbers)
        self._declare(home, column, array.role if array.role == "pedigree_ids" else None, 1)
        beside = self._name("global_data", f"meshkit_words {home} {dataset}", "texts")
        self._put("global_data", beside, list(words))
        return dataset, name, beside

    def _name(self, home: str, name: str, nature: Any) -> str:
        """A dataset for arrays of this name and nature, the same at each time."""
        key = (home, name, nature)
        if key not in self._names:
            taken = {held for (where, _, _), held in self._names.items() if where == home}
            unique, n = name, 1
            while unique in taken:
                n += 1
                unique = f"{name} ({n})"
            self._names[key] = unique
        return self._names[key]

    def _declare(self, home: str, column: _Column, role: str | None, width: int) -> None:
        """Say what an array is, once for each role: of two, vtk would drop the first."""
        wanted = ATTRIBUTE_WIDTHS.get(role or "", (width,))
        if home == "global_data" or role not in ATTRIBUTES or width not in wanted:
            return
        if (home, role) not in self._roles and "Attribute" not in column.handle.attrs:
            self._roles.add((home, role))
            column.handle.attrs["Attribute"] = np.bytes_(ATTRIBUTES[role])

    def _leave_blank(self, home: str, column: _Column, time: int) -> None:
        """The array is absent at a time: other readers find rows that nobody wrote."""
        if home == "global_data":
            column.starts.append(0)
            column.sizes.append((0, 0))
            return
        rows = self._rows[time][0 if home == "point_data" else 1]
        if column.blank[1] < rows:
            column.blank = (column.rows, rows)
            column.rows += rows
            column.handle.resize(column.rows, 0)
        column.starts.append(column.blank[0])
        column.sizes.append((0, 0))

    # --- datasets ---------------------------------------------------------------------------------

    def _put(
        self, home: str, name: str, values: Numbers | list[str], *, again: bool = False
    ) -> _Column:
        """Append a block, unless the same one is there; `again` writes it all the same."""
        rows = len(values)
        array = for_hdf5(values)
        column = self._columns.get((home, name))
        if column is None:
            column = self._columns[home, name] = self._new(home, name, array)
            for time in range(len(self._rows) - 1) if home else ():
                self._leave_blank(home, column, time)
        elif column.handle.dtype != array.dtype:
            raise WriteError(
                self._path,
                f"the {name.lower()} change from {column.handle.dtype} to {array.dtype}",
                expected="one dtype at all times",
            )
        digest = digest_of(values)
        start = None if again else column.known.get(digest)
        if start is None:
            start = column.known[digest] = column.rows
            column.rows += rows
            if rows and self._growing:
                column.handle.resize(column.rows, 0)
                column.handle[start:] = array
        column.starts.append(start)
        # No texts at all are said as absent: vtk would read them from nowhere.
        absent = isinstance(values, list) and not rows
        column.sizes.append((0, 0) if absent else (array.shape[1] if array.ndim == 2 else 1, rows))
        return column

    def _new(self, home: str, name: str, array: Numbers) -> _Column:
        group = self._homes[home] if home else self._root
        more: dict[str, Any] = {"track_times": False}
        if self._growing:
            width = max(array.dtype.itemsize * int(np.prod(array.shape[1:])), 1)
            rows = min(max(len(array), 1), max(_CHUNK // width, 1))
            kind = array.dtype.kind
            more |= {
                "shape": (0, *array.shape[1:]),
                "dtype": array.dtype,
                "maxshape": (None, *array.shape[1:]),
                "chunks": (rows, *array.shape[1:]),
                "fillvalue": {"f": np.nan, "i": -1}.get(kind, None if kind == "O" else 0),
            }
        else:
            more["data"] = array
        handle = group.create_dataset(name, **more)
        if home:
            handle.attrs[MARK] = np.uint8(1)
        return _Column(handle)

    # --- times ------------------------------------------------------------------------------------

    def finish(self, times: Sequence[float]) -> None:
        """Say where each time stands."""
        steps = new_group(self._root, "Steps")
        steps.attrs["NSteps"] = np.int64(len(times))

        def put(parent: Any, name: str, values: Any, dtype: Any = np.int64) -> None:
            parent.create_dataset(name, data=np.array(values, dtype), track_times=False)

        put(steps, "Values", times, np.float64)
        put(steps, "PartOffsets", self._part_of)
        put(steps, "NumberOfParts", [1] * len(times))
        put(steps, "PointOffsets", self._columns["", "Points"].starts)
        for name, counted in _OFFSETS.items():
            before = [0]
            for counts in self._counts:
                before.append(before[-1] + counts.get(counted, 0))
            if counted in self._counts[0]:
                put(steps, name, [before[part] for part in self._part_of])
        for home, name in GROUPS.items():
            offsets = new_group(steps, f"{name}Offsets")
            sizes = new_group(steps, f"{name}Sizes") if home == "global_data" else None
            for (where, dataset), column in self._columns.items():
                if where == home:
                    put(offsets, dataset, column.starts)
                    if sizes is not None:
                        put(sizes, dataset, column.sizes)
