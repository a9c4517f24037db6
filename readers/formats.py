"""Which reader reads which file: a table of data, which imports no reader and no tensor."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from meshkit.errors import MissingPackage, ReadError, UnknownFormat
from meshkit.places import Place
from meshkit.readers import sniff
from meshkit.report import Ledger

if TYPE_CHECKING:
    from meshkit.mesh import Mesh
    from meshkit.series import MeshSeries

Reader = Callable[[Place, Ledger], "Mesh"]
Writer = Callable[["Mesh", Place, Ledger], None]
SeriesReader = Callable[[Place], "MeshSeries | Mesh | None"]
"""A file without times is its mesh, where that is read by now, or None, where not."""
SeriesWriter = Callable[["MeshSeries", Place, Ledger], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table: data, so that listing formats imports no reader.

    `reader` is a function (path, ledger) -> Mesh, `writer` a function (mesh, path, ledger); both
    as "module:function", imported on first use, and both write into the ledger what becomes of
    everything. A writer calls `ledger.settle` once it knows its losses. `sniffer` tells the
    format by content; None means that only a name or the suffix says so.

    A format that holds times has `series`, a function (path) -> MeshSeries whose meshes bring
    their own report, or None where the file holds one mesh and no times, which is `reader`'s; and
    `series_writer`, a function (series, path, ledger).

    A format that is a directory has `directory`, which tells one by the names in it. A `store` may
    be remote, its writer puts it in its place itself, and it remembers the source of its mesh.
    A file that is only a `marker` of its directory may be empty.

    One that writes `parts` puts them into a folder beside the file that names them. Its writer
    imports what it `writes_with` when it writes, and not before.

    A reader that is `whole` reads all of a file before it can say what is wrong with it.

    A `native` one gives back any arrays bit for bit, so that an unsound mesh may be written to it.
    One that has no `groups` loses groups of fields that hold no field.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str | None = None
    sniffer: sniff.Sniffer | None = None
    extra: str | None = None  # pip install 'meshkit[extra]' brings what it needs
    series: str | None = None
    series_writer: str | None = None
    directory: sniff.DirectorySniffer | None = None
    store: bool = False
    whole: bool = True
    native: bool = False
    groups: bool = True
    parts: bool = False
    marker: bool = False
    writes_with: tuple[str, ...] = ()

    def load_reader(self) -> Reader:
        """The reader, imported."""
        found: Reader = self._load(self.reader)
        return found

    def load_writer(self) -> Writer:
        """The writer, imported; only where there is one."""
        if self.writer is None:
            raise LookupError(f"{self.name} has no writer")
        found: Writer = self._load(self.writer)
        return found

    def load_series(self) -> SeriesReader:
        """The reader of series, imported; only where there is one."""
        if self.series is None:
            raise LookupError(f"{self.name} holds no times")
        found: SeriesReader = self._load(self.series)
        return found

    def load_series_writer(self) -> SeriesWriter:
        """The writer of series, imported; only where there is one."""
        if self.series_writer is None:
            raise LookupError(f"{self.name} has no writer of series")
        found: SeriesWriter = self._load(self.series_writer)
        return found

    def _load(self, where: str) -> Any:
        module, _, function = where.partition(":")
        try:
            return getattr(import_module(module), function)
        except ModuleNotFoundError as why:
            if self.extra is None:
                raise
            raise MissingPackage(self.name, f"meshkit[{self.extra}]") from why


_ROOM: Final = "meshkit.readers"
_STORE: Final = "meshkit.store"


def _xml(name: str, title: str, type_name: str, writer: bool) -> Format:
    where = f"{_ROOM}.{name}"
    return Format(
        name,
        title,
        (f".{name}",),
        f"{where}:read",
        f"{where}:write" if writer else None,
        sniff.vtk_xml(type_name),
        writes_with=("vtkmodules.vtkIOXML", "vtkmodules.util.numpy_support") if writer else (),
    )


FORMATS: Final = (
    _xml("vtu", "VTK XML unstructured grid", "UnstructuredGrid", True),
    _xml("vtp", "VTK XML poly data", "PolyData", True),
    _xml("vti", "VTK XML image", "ImageData", False),
    _xml("vtr", "VTK XML rectilinear grid", "RectilinearGrid", False),
    _xml("vts", "VTK XML structured grid", "StructuredGrid", False),
    _xml("pvtu", "VTK XML unstructured grid in pieces", "PUnstructuredGrid", False),
    _xml("pvtp", "VTK XML poly data in pieces", "PPolyData", False),
    replace(_xml("vtm", "VTK XML blocks", "vtkMultiBlockDataSet", True), parts=True),
    replace(
        _xml("pvd", "ParaView collection of times", "Collection", True),
        series=f"{_ROOM}.pvd:series",
        series_writer=f"{_ROOM}.pvd:write_series",
        parts=True,
    ),
    Format(
        "series",
        "ParaView file series",
        (".series",),
        f"{_ROOM}.file_series:read",
        sniffer=sniff.file_series,
        series=f"{_ROOM}.file_series:series",
    ),
    Format(
        "vtkhdf",
        "VTK HDF",
        (".vtkhdf", ".hdf"),
        f"{_ROOM}.vtkhdf:read",
        f"{_ROOM}.vtkhdf:write",
        sniff.vtkhdf,
        series=f"{_ROOM}.vtkhdf:series",
        whole=False,
        series_writer=f"{_ROOM}.vtkhdf:write_series",
    ),
    Format(
        "openfoam",
        "OpenFOAM case",
        (".foam", ".openfoam"),
        f"{_ROOM}.openfoam:read",
        series=f"{_ROOM}.openfoam:series",
        directory=sniff.openfoam,
        marker=True,
    ),
    Format(
        "vtk",
        "VTK legacy",
        (".vtk",),
        f"{_ROOM}.vtk_legacy:read",
        f"{_ROOM}.vtk_legacy:write",
        sniff.legacy_vtk,
    ),
    Format(
        "ply",
        "PLY",
        (".ply",),
        f"{_ROOM}.ply:read",
        f"{_ROOM}.ply:write",
        sniff.ply,
        groups=False,
    ),
    Format(
        "stl",
        "STL",
        (".stl",),
        f"{_ROOM}.stl:read",
        f"{_ROOM}.stl:write",
        sniff.stl,
        whole=False,  # its header says how long it is
        groups=False,
    ),
    Format(
        "obj",
        "Wavefront OBJ",
        (".obj",),
        f"{_ROOM}.obj:read",
        f"{_ROOM}.obj:write",
        sniff.obj,
        groups=False,
    ),
    Format("off", "OFF", (".off",), f"{_ROOM}.off:read", None, sniff.off),
    Format(
        "gltf",
        "glTF 2",
        (".glb", ".gltf"),
        f"{_ROOM}.gltf:read",
        None,
        lambda head, size: head.startswith(b"glTF") or sniff.gltf_text(head, size),
    ),
    Format(
        "gmsh",
        "Gmsh MSH",
        (".msh",),
        f"{_ROOM}.gmsh:read",
        f"{_ROOM}.gmsh:write",
        sniff.gmsh,
        series=f"{_ROOM}.gmsh:series",
        series_writer=f"{_ROOM}.gmsh:write_series",
        groups=False,
    ),
    Format(
        "npz",
        "meshkit arrays",
        (".npz",),
        f"{_ROOM}.npz:read",
        f"{_ROOM}.npz:write",
        sniff.starts(b"PK\x03\x04"),
        native=True,
    ),
    Format(
        "zarr",
        "meshkit store",
        (".zarr",),
        f"{_STORE}.reading:read",
        f"{_STORE}.writing:write",
        series=f"{_STORE}.reading:read_held",
        series_writer=f"{_STORE}.writing:write_series",
        directory=sniff.holds("MANIFEST.json", "zarr.json"),
        store=True,
        native=True,
    ),
)

# What meshio can read and we cannot yet; its own table decides by suffix. Here are those by which
# a search of a directory knows a mesh: not the ones that are mostly something else (.xml, .dat).
FALLBACK: Final = Format(
    "meshio",
    "anything meshio reads",
    (
        *(".avs", ".bdf", ".cgns", ".e", ".ele", ".ex2", ".exo", ".f3grid", ".fem", ".h5m"),
        *(".inp", ".mdpa", ".med", ".mesh", ".meshb", ".msh", ".nas", ".su2", ".tec", ".ugrid"),
        *(".vol", ".xdmf", ".xmf"),
    ),
    f"{_ROOM}.fallback:read",
    sniffer=sniff.fluent,  # .msh too, and no MSH of gmsh's
)


def reader_for(path: Place, format: str | None = None) -> Format:
    """The row of this name (in any case), or the one that the content of the file names.

    Of a remote place the suffix decides.

    Raises:
        UnknownFormat: there is no row of that name.
        ReadError: there is no such file, it cannot be read, is a pipe or device, or empty.
    """
    _need_name(path, format)
    if isinstance(path, str):
        return _remote(path, format)
    try:
        if format is not None:
            for row in (*FORMATS, FALLBACK):
                if row.name == format.lower():
                    if path.is_dir() and row.directory is None:
                        raise ReadError(path, "is a directory", expected="a file")
                    _need_no_stream(path)
                    return row
            known = ", ".join(row.name for row in FORMATS)
            raise UnknownFormat(path, f"no format {format!r}", expected=f"one of {known}")
        if path.is_dir():
            return _directory(path)
        _need_no_stream(path)
        # A suffix that no content backs up still picks the reader: it says best what is wrong.
        suffix = path.suffix.lower()
        named = next((row for row in FORMATS if suffix in row.suffixes), FALLBACK)
        if path.stat().st_size == 0 and not named.marker:
            raise ReadError(path, "is empty (0 bytes)", expected="a mesh file")
        return sniffed(path) or named
    except OSError as why:
        raise ReadError(path, f"cannot be read: {why.strerror or why}") from None


def _need_name(path: Place, format: object) -> None:
    if format is not None and not isinstance(format, str):
        raise UnknownFormat(path, f"format is {format!r:.60}", expected="a name, or None")


_STREAMS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _need_no_stream(path: Path) -> None:
    """Refuse what has no size and may have no end; readers look into a file more than once."""
    mode = path.stat().st_mode
    for found, what in _STREAMS:
        if found(mode):
            raise ReadError(path, f"is {what}", expected="a file")


def _directory(path: Path) -> Format:
    """The row of a directory, by what lies in it; the suffix is the second best."""
    names = frozenset(os.listdir(path))
    rows = [row for row in FORMATS if row.directory is not None]
    for row in rows:
        if row.directory is not None and row.directory(names):
            return row
    for row in rows:
        if path.suffix.lower() in row.suffixes:
            return row
    raise ReadError(path, "is a directory", expected="a file, a store or a case")


def _remote(path: str, format: str | None) -> Format:
    """The row of a remote place, which nobody looks into for its format."""
    rows = [row for row in FORMATS if row.store]
    format = None if format is None else format.lower()
    for row in rows:
        named = format is not None and row.name == format.lower()
        if named or (format is None and path.rstrip("/").lower().endswith(row.suffixes)):
            return row
    known = ", ".join(suffix for row in rows for suffix in row.suffixes)
    raise UnknownFormat(path, "only a store is read and written remotely", expected=known)


def writer_for(path: Place, format: str | None = None) -> Format:
    """The row that writes this name, or this suffix, in any case.

    Raises:
        UnknownFormat: there is none.
    """
    _need_name(path, format)
    if isinstance(path, str):
        return _remote(path, format)
    able = [row for row in FORMATS if row.writer is not None]
    wanted = None if format is None else format.lower()
    for row in able:
        if row.name == wanted or (format is None and path.suffix.lower() in row.suffixes):
            return row
    known = ", ".join(row.name for row in able)
    said = repr(format) if format else f"suffix {path.suffix!r}"
    raise UnknownFormat(path, f"no writer for {said}", expected=f"one of {known}")


def sniffed(path: Path) -> Format | None:
    """The row that the content names; the suffix breaks a tie."""
    with path.open("rb") as file:
        head = file.read(sniff.HEAD)
    size = path.stat().st_size
    rows = (*FORMATS, FALLBACK)
    found = [row for row in rows if row.sniffer is not None and row.sniffer(head, size)]
    suffix = path.suffix.lower()
    return min(found, key=lambda row: suffix not in row.suffixes, default=None)
