"""VTKHDF files out: one unstructured grid, of one time or of many.

vtkHDFReader stops at the first array of points or cells that it cannot read, texts among them.
So texts go as codes, and the words as a field array beside the others; each array is there at
all times, filled where the mesh has none; and what a time really has stands in a table.

Source: VTK File Formats (VTKHDF 2.6), and what vtkHDFReader of VTK 9.7 reads.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.errors import WriteError
from meshkit.fields import encode_texts
from meshkit.mesh import Mesh
from meshkit.readers.accounting import added_up
from meshkit.readers.vtk import VtkArray, VtkData, from_mesh, json_array
from meshkit.readers.vtk.arrays import ATTRIBUTE_WIDTHS, ATTRIBUTES
from meshkit.readers.vtk.names import encoded
from meshkit.readers.vtk.objects import arrays_of
from meshkit.readers.vtkhdf.arrays import GROUPS, MARK, TABLE
from meshkit.report import Ledger
from meshkit.series import MeshSeries

Numbers = NDArray[Any]

_VERSION: Final = (2, 6)
# No link can be called so: "/" parts a path, "." is where one is, "" is nothing.
_NOT_A_LINK: Final = re.compile(r"[\x00/\ud800-\udfff]|^\.{1,2}$|^$")
_CHUNK: Final = 1 << 20  # bytes


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Everything a mesh holds; what VTK has no place for rides in field arrays.

    vtkHDFReader sees the points, the cells and every array: texts of the whole as texts, texts
    of points and cells as numbers and beside them the words that they stand for.

    Raises:
        WriteError: the file cannot be written.
    """
    data = from_mesh(mesh, ledger)
    ledger.settle()
    with _made(path) as root:
        _Writer(root, path, growing=False).add(data)


def write_series(series: MeshSeries, path: Path, ledger: Ledger) -> None:
    """Every mesh of a series; what does not change is written once.

    The times are float64. A field may be absent at some times, and points, cells and fields may
    change; only the dtype of the points may not.

    Raises:
        WriteError: the file cannot be written, the series has no times, or its points change
            their dtype.
    """
    if len(series) == 0:
        raise WriteError(path, "a series of no times", expected="one at least")
    reports = []
    with _made(path) as root:
        writer = _Writer(root, path, growing=True)
        for mesh in series:
            own = Ledger()
            # The time stands with the times; without it the note of each mesh is the same.
            writer.add(from_mesh(mesh.replace(info=mesh.info.replace(time=None)), own))
            reports.append(own.report())
        writer.finish(series.times)
    added_up(reports, ledger)
    ledger.kept("time", "", len(series))


@contextmanager
def _made(path: Path) -> Iterator[Any]:
    """A new file's group "VTKHDF"; no time of writing stands in it."""
    import h5py

    try:
        plan = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        plan.set_obj_track_times(False)
        # Objects have checksums from here on, and vtk's HDF5 can read it.
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
        made = h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, plan, access)
        with h5py.File(made) as file:
            root = _group(file, "VTKHDF")
            root.attrs["Type"] = np.bytes_("UnstructuredGrid")
            root.attrs["Version"] = np.array(_VERSION, np.int64)
            yield root
    except (OSError, RuntimeError) as why:
        raise WriteError(path, f"cannot be written: {' '.join(str(why).split())}") from None


def _group(parent: Any, name: str) -> Any:
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


class _Writer:
    """Puts data sets into a group, one a time."""

    def __init__(self, root: Any, path: Path, *, growing: bool) -> None:
        self._root, self._path, self._growing = root, path, growing
        self._homes = {home: _group(root, name) for home, name in GROUPS.items()}
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
        arrays = _topology_arrays(data, wide=self._growing)
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
            arrays |= _no_solids(len(data.types))
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
            for name, values in _no_solids(counts["NumberOfCells"]).items():
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
        array = _for_hdf5(values)
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
        digest = _digest(values)
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
        steps = _group(self._root, "Steps")
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
            offsets = _group(steps, f"{name}Offsets")
            sizes = _group(steps, f"{name}Sizes") if home == "global_data" else None
            for (where, dataset), column in self._columns.items():
                if where == home:
                    put(offsets, dataset, column.starts)
                    if sizes is not None:
                        put(sizes, dataset, column.sizes)


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


def _topology_arrays(data: VtkData, *, wide: bool) -> dict[str, Numbers]:
    """The cells as VTKHDF has them; offsets and ids of one width, as vtk wants them."""
    offsets, ids = _alike(data.offsets, data.connectivity, wide=wide)
    arrays = {"Types": data.types, "Offsets": offsets, "Connectivity": ids}
    if data.polyhedra is not None:
        of_cell, ends, rings = data.polyhedra
        counts = np.zeros(len(data.types), np.int64)
        counts[data.types == POLYHEDRON] = np.diff(of_cell)
        places = np.concatenate([[0], np.cumsum(counts)])
        face_offsets, face_ids = _alike(ends, rings, wide=wide)
        arrays |= {
            "FaceOffsets": face_offsets,
            "FaceConnectivity": face_ids,
            "PolyhedronOffsets": places,
            "PolyhedronToFaces": np.arange(places[-1]),
        }
    return arrays


def _no_solids(n_cells: int) -> dict[str, Numbers]:
    none = np.zeros(0, np.int64)
    return {
        "FaceOffsets": np.zeros(1, np.int64),
        "FaceConnectivity": none,
        "PolyhedronOffsets": np.zeros(n_cells + 1, np.int64),
        "PolyhedronToFaces": none,
    }


def _alike(offsets: Numbers, ids: Numbers, *, wide: bool) -> tuple[Numbers, Numbers]:
    kind = np.dtype(np.int64) if wide else np.result_type(offsets, ids)
    return offsets.astype(kind, copy=False), ids.astype(kind, copy=False)


def _for_hdf5(values: Numbers | list[str]) -> Numbers:
    """[n] for one component, as vtk has it; texts in UTF-8, called ASCII, which vtk wants."""
    if isinstance(values, list):
        import h5py

        texts = np.empty(len(values), h5py.string_dtype("ascii"))
        texts[:] = [text.encode("utf-8", "surrogateescape") for text in values]
        return texts
    flat = values.ndim == 2 and values.shape[1] == 1
    return values.reshape(-1) if flat else values


def _digest(values: Numbers | list[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    if isinstance(values, list):
        for text in values:
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)
    else:
        digest.update(f"{len(values)} ".encode())
        digest.update(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
    return digest.digest()
