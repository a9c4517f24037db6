"""Which reader reads which file: the table, and the doors `read` and `write`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from meshkit.errors import (
    LossError,
    MeshError,
    MissingPackage,
    ReadError,
    UnknownFormat,
    WriteError,
)
from meshkit.info import Source
from meshkit.mesh import Mesh
from meshkit.readers import sniff
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries, step_of

Reader = Callable[[Path, Ledger], Mesh]
Writer = Callable[[Mesh, Path, Ledger], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table: data, so that listing formats imports no reader.

    `reader` is a function (path, ledger) -> Mesh, `writer` a function (mesh, path, ledger); both
    as "module:function", imported on first use, and both write into the ledger what becomes of
    everything. A writer calls `ledger.settle` once it knows its losses. `sniffer` tells the
    format by content; None means that only a name or the suffix says so.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str | None = None
    sniffer: sniff.Sniffer | None = None
    extra: str | None = None  # pip install 'meshkit[extra]' brings what it needs

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

    def _load(self, where: str) -> Any:
        module, _, function = where.partition(":")
        try:
            return getattr(import_module(module), function)
        except ModuleNotFoundError as why:
            if self.extra is None:
                raise
            raise MissingPackage(self.name, f"meshkit[{self.extra}]") from why


_ROOM: Final = "meshkit.readers"


def _xml(name: str, title: str, type_name: str, writer: bool) -> Format:
    where = f"{_ROOM}.{name}"
    return Format(
        name,
        title,
        (f".{name}",),
        f"{where}:read",
        f"{where}:write" if writer else None,
        sniff.vtk_xml(type_name),
    )


FORMATS: Final = (
    _xml("vtu", "VTK XML unstructured grid", "UnstructuredGrid", True),
    _xml("vtp", "VTK XML poly data", "PolyData", True),
    _xml("vti", "VTK XML image", "ImageData", False),
    _xml("vtr", "VTK XML rectilinear grid", "RectilinearGrid", False),
    _xml("vts", "VTK XML structured grid", "StructuredGrid", False),
    _xml("pvtu", "VTK XML unstructured grid in pieces", "PUnstructuredGrid", False),
    _xml("pvtp", "VTK XML poly data in pieces", "PPolyData", False),
    _xml("vtm", "VTK XML blocks", "vtkMultiBlockDataSet", True),
    Format(
        "vtk",
        "VTK legacy",
        (".vtk",),
        f"{_ROOM}.vtk_legacy:read",
        f"{_ROOM}.vtk_legacy:write",
        sniff.legacy_vtk,
    ),
    Format("ply", "PLY", (".ply",), f"{_ROOM}.ply:read", f"{_ROOM}.ply:write", sniff.ply),
    Format("stl", "STL", (".stl",), f"{_ROOM}.stl:read", f"{_ROOM}.stl:write", sniff.stl),
    Format("obj", "Wavefront OBJ", (".obj",), f"{_ROOM}.obj:read", f"{_ROOM}.obj:write", sniff.obj),
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
        "npz",
        "meshkit arrays",
        (".npz",),
        f"{_ROOM}.npz:read",
        f"{_ROOM}.npz:write",
        sniff.starts(b"PK\x03\x04"),
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
)


def read(path: str | os.PathLike[str], *, format: str | None = None, time: Any = "last") -> Mesh:
    """Read a mesh. What was kept, converted and dropped stands in `mesh.info.report`.

    Args:
        path: the file.
        format: a name in `FORMATS`; None looks at the content, never at the suffix alone.
        time: "first", "last", a step (int) or a time (float).

    Raises:
        UnknownFormat: no reader claims the file, or none has that name.
        ReadError: the file breaks its format; the message says where and how.
        MeshError: it holds no such time.
    """
    path = Path(path)
    row = _chosen(path, format)
    ledger = Ledger()
    mesh = _guarded(row, path, ledger)
    _note_unfinite(mesh, ledger)
    times = [0.0 if mesh.info.time is None else mesh.info.time]
    if isinstance(time, float) and mesh.info.time is None:
        raise ReadError(path, "holds no time", hint="leave `time` out")
    try:
        step_of(times, time)
    except MeshError as why:
        raise ReadError(path, str(why)) from None
    from meshkit import __version__

    source = Source(str(path), row.name, f"meshkit {__version__}")
    return mesh.replace(info=mesh.info.replace(source=source, report=ledger.report()))


def read_series(path: str | os.PathLike[str]) -> MeshSeries:
    """The meshes of a file over time; a file without times is a series of one, at 0.

    Raises:
        as `read`.
    """
    mesh = read(path)
    time = 0.0 if mesh.info.time is None else mesh.info.time
    return MeshSeries([time], [mesh].__getitem__)


def write(
    mesh: Mesh | MeshSeries,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    allow_loss: bool = False,
) -> Report:
    """Write a mesh; the report says what was kept, converted and dropped.

    The file appears whole or not at all: it is written beside its place and moved in.

    Args:
        mesh: a mesh, or a series of one time.
        path: the file; an existing one is replaced.
        format: a name in `FORMATS`; None goes by the suffix.
        allow_loss: write although the format cannot hold everything.

    Raises:
        LossError: the format cannot hold everything; nothing is written, the list is in it.
        UnknownFormat: no writer has that name or suffix.
        WriteError: the file cannot be written.
    """
    path = Path(path)
    row = writer_for(path, format)
    if isinstance(mesh, MeshSeries):
        if len(mesh) != 1:
            raise WriteError(path, f"{row.name} holds one time, found a series of {len(mesh)}")
        mesh = mesh[0]
    ledger = Ledger(None if allow_loss else lambda report: LossError(path, row.name, report))
    with _placed(path) as place:
        try:
            row.load_writer()(mesh, place, ledger)
        except WriteError as why:
            if why.path != place:
                raise
            # The writer knows only the place; the caller wants the name that they gave.
            raise WriteError(
                path, why.problem, place=why.place, expected=why.expected, hint=why.hint
            ) from None
        ledger.settle()
    return ledger.report()


def writer_for(path: Path, format: str | None = None) -> Format:
    """The row that writes this name, or this suffix."""
    able = [row for row in FORMATS if row.writer is not None]
    for row in able:
        if row.name == format or (format is None and path.suffix.lower() in row.suffixes):
            return row
    known = ", ".join(row.name for row in able)
    said = repr(format) if format else f"suffix {path.suffix!r}"
    raise UnknownFormat(path, f"no writer for {said}", expected=f"one of {known}")


def sniffed(path: Path) -> Format | None:
    """The row that the content names; the suffix breaks a tie."""
    with path.open("rb") as file:
        head = file.read(sniff.HEAD)
    size = path.stat().st_size
    found = [row for row in FORMATS if row.sniffer is not None and row.sniffer(head, size)]
    suffix = path.suffix.lower()
    return min(found, key=lambda row: suffix not in row.suffixes, default=None)


def _chosen(path: Path, format: str | None) -> Format:
    try:
        if path.is_dir():
            raise ReadError(path, "is a directory", expected="a file")
        if format is not None:
            for row in (*FORMATS, FALLBACK):
                if row.name == format:
                    return row
            known = ", ".join(row.name for row in FORMATS)
            raise UnknownFormat(path, f"no format {format!r}", expected=f"one of {known}")
        if path.stat().st_size == 0:
            raise ReadError(path, "is empty (0 bytes)", expected="a mesh file")
        # A suffix that no content backs up still picks the reader: it says best what is wrong.
        suffix = path.suffix.lower()
        named = next((row for row in FORMATS if suffix in row.suffixes), FALLBACK)
        return sniffed(path) or named
    except OSError as why:
        raise ReadError(path, f"cannot be read: {why.strerror or why}") from None
    except ValueError as why:  # a NUL in the name
        raise ReadError(str(path).replace("\0", "\\0"), f"is no name of a file: {why}") from None


def _guarded(row: Format, path: Path, ledger: Ledger) -> Mesh:
    """The reader's answer; what a broken file makes of arrays or memory is the file's error."""
    reader = row.load_reader()
    try:
        return reader(path, ledger)
    except OSError as why:
        raise ReadError(path, f"cannot be read: {why.strerror or why}") from None
    except MeshError as why:
        raise ReadError(path, f"holds no sound mesh: {why}") from None
    except MemoryError:
        raise ReadError(path, "needs more memory than there is") from None


def _note_unfinite(mesh: Mesh, ledger: Ledger) -> None:
    """Points that are nowhere are read as they are, and named."""
    bad = int((~mesh.points.isfinite()).any(1).sum())
    if bad:
        ledger.kept("points", "not finite", bad, "their coordinates are NaN or infinite")


@contextmanager
def _placed(path: Path) -> Iterator[Path]:
    """A name in a fresh sibling directory; what is written there moves into place at the end.

    A writer may make files beside its own (the blocks of a vtm); its own is moved last.
    """
    if path.is_dir():
        raise WriteError(path, "is a directory", expected="a file name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    try:
        yield work / path.name
        others = sorted(p for p in work.iterdir() if p.name != path.name)
        for made in (*others, work / path.name):
            target = path.parent / made.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(made, target)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
