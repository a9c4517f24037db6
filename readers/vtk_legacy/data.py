"""From what a legacy VTK file has said to the arrays of a data set.

A polyhedron's row holds its face stream: how many faces, then each face's count and points.

Source: VTK File Formats (legacy), and the files that VTK 9.7 writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.errors import ReadError
from meshkit.info import Grid
from meshkit.readers.lattice import lattice_cells, lattice_counts, need_lattice_room
from meshkit.readers.ragged_rows import without_counts
from meshkit.readers.vtk import MARKER, VtkArray, VtkData
from meshkit.readers.vtk.note import DEGREES
from meshkit.report import Ledger

CELL_KEYWORDS: Final = ("vertices", "lines", "polygons", "triangle_strips")
"""The cells of poly data, in the order in which cell data counts them."""
POLYHEDRON_POINTS: Final = "meshkit_polyhedron_points"
"""The field array in which our writer keeps the order of the points of polyhedra."""
TRUE_NAMES: Final = "meshkit_names"
"""The field array in which our writer keeps names that VTK cannot read, by their stand-ins."""

# A lattice whose size no array in the file confirms: more is taken for a damaged header.
_UNCONFIRMED: Final = 4_000_000
_HIDDEN_POINT: Final = 2  # vtkDataSetAttributes::HIDDENPOINT


@dataclass
class Rows:
    """Cells by their points: row i is connectivity[offsets[i]:offsets[i + 1]]."""

    offsets: NDArray[Any]
    connectivity: NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass
class Found:
    """What the file has said so far."""

    version: int = 0  # the major one
    title: str = ""
    kind: str = ""
    points: NDArray[Any] | None = None
    rows: dict[str, Rows] = field(default_factory=dict)
    types: NDArray[np.uint8] | None = None
    dims: tuple[int, ...] | None = None
    origin: tuple[float, ...] = (0.0, 0.0, 0.0)
    spacing: tuple[float, ...] = (1.0, 1.0, 1.0)
    first: tuple[int, ...] = (0, 0, 0)  # of an extent that does not begin at 0
    axes: dict[str, NDArray[Any]] = field(default_factory=dict)
    hidden: NDArray[np.bool_] | None = None  # by BLANKING
    arrays: dict[str, dict[str, VtkArray]] = field(
        default_factory=lambda: {"point": {}, "cell": {}, "field": {}}
    )
    declared: dict[str, int] = field(default_factory=dict)  # by POINT_DATA and CELL_DATA
    tables: dict[str, list[list[float]]] = field(default_factory=dict)
    coloured: dict[tuple[str, str], str] = field(default_factory=dict)
    information: dict[str, dict[str, list[str]]] = field(default_factory=dict)


def assembled(found: Found, path: Path, ledger: Ledger) -> VtkData:
    """The data set that a file has told of.

    Raises:
        ReadError: its parts contradict each other.
    """
    return _Assembly(found, path, ledger).data()


@dataclass(frozen=True)
class _Assembly:
    """What was found, and where to say what is wrong or becomes of it."""

    found: Found
    path: Path
    ledger: Ledger

    def data(self) -> VtkData:
        """All of it."""
        found = self.found
        if not found.kind:
            what = "a FIELD and no DATASET" if found.arrays["field"] else "no DATASET"
            raise ReadError(self.path, f"holds {what}", expected="a mesh")
        make: Callable[[], VtkData] = {
            "unstructured_grid": self._unstructured,
            "polydata": self._poly_data,
        }.get(found.kind, self._structured)
        data = make()
        for home, n in (("point", len(data.points)), ("cell", len(data.types))):
            declared = found.declared.get(home, n)
            if declared != n:
                raise ReadError(
                    self.path, f"{home.upper()}_DATA {declared}", expected=f"{n}, as in the DATASET"
                )
        data.point_arrays = found.arrays["point"]
        data.cell_arrays = found.arrays["cell"]
        data.field_arrays = found.arrays["field"]
        self._true_names(data)
        self._ghosts(data)
        self._degrees(data)
        return data

    def _points(self) -> NDArray[Any]:
        if self.found.points is None:
            raise ReadError(self.path, "holds no POINTS", expected="a mesh")
        return self.found.points

    def _unstructured(self) -> VtkData:
        found = self.found
        points = self._points()
        rows = found.rows.get("cells", Rows(np.zeros(1, np.int64), np.zeros(0, np.int64)))
        types = np.zeros(0, np.uint8) if found.types is None else found.types
        if len(types) != len(rows):
            raise ReadError(
                self.path, f"CELL_TYPES of {len(types)} cells", expected=f"{len(rows)}, as in CELLS"
            )
        solid = types == POLYHEDRON
        if not solid.any():
            return _vtk_data(points, types, rows)
        return self._with_polyhedra(points, types, rows, solid)

    def _with_polyhedra(
        self,
        points: NDArray[Any],
        types: NDArray[np.uint8],
        rows: Rows,
        solid: NDArray[np.bool_],
    ) -> VtkData:
        """Face streams taken apart; a polyhedron's points ascend, as VTK 9.7 lists them."""
        lengths = np.diff(rows.offsets)
        stream_of = np.repeat(solid, lengths)
        stream = rows.connectivity[stream_of]
        stream_lengths = lengths[solid]
        begins = np.cumsum(stream_lengths) - stream_lengths
        faces = None
        if (stream_lengths > 0).all():
            counts = stream[begins].astype(np.int64)
            rest = np.ones(len(stream), np.bool_)
            rest[begins] = False
            if counts.min() >= 0 and counts.max() <= len(stream):
                faces = without_counts(stream[rest], int(counts.sum()))
        if faces is None:
            raise self._bad_stream()
        face_offsets, ids = faces
        cell_faces = np.concatenate([[0], np.cumsum(counts)])
        # Where a polyhedron's faces end its stream must end too.
        ends = face_offsets[cell_faces] + cell_faces
        if (ends != np.concatenate([[0], np.cumsum(stream_lengths - 1)])).any():
            raise self._bad_stream()
        cell_of_id = np.repeat(np.arange(len(counts)), np.diff(face_offsets[cell_faces]))
        listed, cell_of = _distinct(cell_of_id, ids)
        listed_sizes = np.bincount(cell_of, minlength=len(counts))
        given = self.found.arrays["field"].pop(POLYHEDRON_POINTS, None)
        own = None if given is None else _own_order(given, listed, cell_of, len(counts))
        if own is not None:
            listed_sizes, listed = own
        sizes = lengths.copy()
        sizes[solid] = listed_sizes
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        connectivity = np.empty(offsets[-1], rows.connectivity.dtype)
        is_solid = np.repeat(solid, sizes)
        connectivity[is_solid] = listed
        connectivity[~is_solid] = rows.connectivity[~stream_of]
        data = _vtk_data(points, types, Rows(offsets, connectivity))
        dtype = data.connectivity.dtype
        data.polyhedra = (
            cell_faces.astype(dtype),
            face_offsets.astype(dtype),
            ids.astype(dtype, copy=False),
        )
        return data

    def _bad_stream(self) -> ReadError:
        return ReadError(
            self.path,
            "the faces of a polyhedron do not add up",
            place="CELLS",
            expected="for each its number of faces, then each face's count and points",
        )

    def _poly_data(self) -> VtkData:
        points = self._points()
        parts = [self.found.rows.get(key) for key in CELL_KEYWORDS]
        types, sizes, ids = [], [], []
        for key, rows in zip(CELL_KEYWORDS, parts, strict=True):
            if rows is not None:
                size = np.diff(rows.offsets)
                types.append(_poly_types(key, size))
                sizes.append(size)
                ids.append(rows.connectivity)
        none = np.zeros(0, np.int64)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([none, *sizes]))])
        flat = np.concatenate(ids) if ids else none
        kinds = np.concatenate([none.astype(np.uint8), *types])
        return _vtk_data(points, kinds, Rows(offsets, flat))

    def _structured(self) -> VtkData:
        found = self.found
        if found.dims is None:
            raise ReadError(self.path, "holds no DIMENSIONS", expected=f"{found.kind.upper()}")
        n_points, n_cells = lattice_counts(found.dims)
        for home, n in (("point", n_points), ("cell", n_cells)):
            declared = found.declared.get(home, n)
            if declared != n:
                shape = " x ".join(map(str, found.dims))
                raise ReadError(
                    self.path,
                    f"{home.upper()}_DATA {declared}",
                    expected=f"{n}, as DIMENSIONS {shape} say",
                )
        confirmed = found.points is not None or found.arrays["point"] or found.arrays["cell"]
        if n_points > _UNCONFIRMED and not confirmed:
            raise ReadError(
                self.path,
                f"DIMENSIONS say {n_points} points and no array has that many",
                expected=f"at most {_UNCONFIRMED} points without data",
            )
        need_lattice_room(self.path, found.dims)
        grid = Grid(found.dims)
        if found.kind == "structured_grid":
            points = self._points()
            if len(points) != n_points:
                raise ReadError(
                    self.path,
                    f"POINTS {len(points)}",
                    expected=f"{n_points}, as DIMENSIONS {' x '.join(map(str, found.dims))} say",
                )
        elif found.kind == "rectilinear_grid":
            points = _product(self._axes(found.dims))
        else:
            axes = [
                found.origin[i] + found.spacing[i] * (found.first[i] + np.arange(n, dtype=float))
                for i, n in enumerate(found.dims)
            ]
            points = _product(axes)
            start = tuple(found.origin[i] + found.spacing[i] * found.first[i] for i in range(3))
            grid = Grid(found.dims, start, found.spacing, (1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0))
        if n_cells == 0:
            none = np.zeros(0, np.int32)
            return VtkData(points, none.astype(np.uint8), np.zeros(1, np.int32), none, grid=grid)
        cells = lattice_cells(found.dims, straight=found.kind != "structured_grid")
        return VtkData(points, *cells, grid=grid)

    def _axes(self, dims: tuple[int, ...]) -> list[NDArray[Any]]:
        axes = []
        for i, key in enumerate(("x_coordinates", "y_coordinates", "z_coordinates")):
            axis = self.found.axes.get(key)
            if axis is None and dims[i] == 1:
                axis = np.zeros(1, np.float32)
            if axis is None or len(axis) != dims[i]:
                n = "no" if axis is None else len(axis)
                raise ReadError(
                    self.path, f"{n} {key.upper()}", expected=f"{dims[i]}, as DIMENSIONS say"
                )
            axes.append(axis)
        return axes

    def _true_names(self, data: VtkData) -> None:
        """Names that our writer had to replace, put back."""
        table = data.field_arrays.pop(TRUE_NAMES, None)
        if table is None:
            return
        words = table.values
        if not isinstance(words, list) or len(words) % 2:
            raise ReadError(
                self.path, "is damaged", place=f"field array {TRUE_NAMES!r}", expected="pairs"
            )
        true = dict(zip(words[::2], words[1::2], strict=True))
        for home in ("point_arrays", "cell_arrays", "field_arrays"):
            arrays = getattr(data, home)
            setattr(data, home, {true.get(name, name): array for name, array in arrays.items()})

    def _ghosts(self, data: VtkData) -> None:
        """Before version 4 hidden points were BLANKING and ghosts had levels."""
        hidden = self.found.hidden
        if hidden is not None:
            ghosts = hidden.astype(np.uint8) * _HIDDEN_POINT
            data.point_arrays.setdefault("vtkGhostType", VtkArray(ghosts))
            self.ledger.converted(
                "field", "point_data/vtkGhostType", len(hidden), "BLANKING as ghost types"
            )
        if self.found.version >= 4 or MARKER in data.field_arrays:
            return
        for arrays in (data.point_arrays, data.cell_arrays):
            levels = arrays.get("vtkGhostLevels")
            if levels is None or isinstance(levels.values, list):
                continue
            if levels.values.dtype == np.uint8 and levels.values.shape[1] == 1:
                # DUPLICATEPOINT and DUPLICATECELL are both 1.
                del arrays["vtkGhostLevels"]
                arrays["vtkGhostType"] = VtkArray((levels.values > 0).astype(np.uint8))
                self.ledger.converted(
                    "field", "vtkGhostType", len(levels.values), "ghost levels as ghost types"
                )

    def _degrees(self, data: VtkData) -> None:
        """The degrees of Lagrange and Bezier cells, which have no keyword here."""
        array = data.cell_arrays.get(DEGREES)
        if array is None or isinstance(array.values, list) or array.values.shape[1] != 3:
            return
        curved = ((data.types >= 68) & (data.types <= 81)).any()
        if curved and MARKER not in data.field_arrays:
            data.cell_arrays[DEGREES] = replace(array, role="degrees")


def _vtk_data(points: NDArray[Any], types: NDArray[np.uint8], rows: Rows) -> VtkData:
    """Ids as int32 where they fit: half the memory."""
    offsets, connectivity = rows.offsets, rows.connectivity
    low = int(connectivity.min()) if len(connectivity) else 0
    high = int(connectivity.max()) if len(connectivity) else 0
    if max(len(points), len(connectivity), high, -low) < 2**31:
        offsets = offsets.astype(np.int32, copy=False)
        connectivity = connectivity.astype(np.int32, copy=False)
    return VtkData(points, types, offsets, connectivity.astype(offsets.dtype, copy=False))


def _poly_types(key: str, sizes: NDArray[Any]) -> NDArray[np.uint8]:
    """The cell types that vtkPolyData gives rows by their number of points."""
    usual, by_size = {
        "vertices": (2, {1: 1}),
        "lines": (4, {2: 3}),
        "polygons": (7, {3: 5, 4: 9}),
        "triangle_strips": (6, {}),
    }[key]
    types = np.full(len(sizes), usual, np.uint8)
    for size, number in {0: 0, **by_size}.items():
        types[sizes == size] = number
    return types


def _distinct(
    row_of: NDArray[np.int64], ids: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct ids of each row, ascending, and their rows."""
    order = np.lexsort((ids, row_of))
    row, value = row_of[order], ids[order]
    first = np.ones(len(ids), np.bool_)
    first[1:] = (row[1:] != row[:-1]) | (value[1:] != value[:-1])
    return value[first], row[first]


def _own_order(
    given: VtkArray, points: NDArray[Any], cell_of: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    """How many points each of our writer's polyhedra lists, and which.

    None when a cell does not list all the `points` of its faces: another program has changed
    the cells and kept the array.
    """
    flat = np.asarray([] if isinstance(given.values, list) else given.values).reshape(-1)
    rows = without_counts(flat, n) if flat.dtype.kind == "i" else None
    if rows is None:
        return None
    sizes = np.diff(rows[0])
    listed = rows[1].astype(np.int64)
    width = int(max(points.max(initial=0), listed.max(initial=0))) + 1
    held = np.isin(cell_of * width + points, np.repeat(np.arange(n), sizes) * width + listed)
    return (sizes, listed) if held.all() else None


def _product(axes: list[NDArray[Any]]) -> NDArray[Any]:
    """Points [n, 3] of a lattice, first axis fastest; float32 if all axes are."""
    nx, ny, nz = (len(axis) for axis in axes)
    points = np.empty((nz, ny, nx, 3), np.result_type(*axes))
    points[..., 0] = axes[0]
    points[..., 1] = axes[1][:, None]
    points[..., 2] = axes[2][:, None, None]
    return points.reshape(-1, 3)
