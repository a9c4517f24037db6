"""The door for files in: any format, told by content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from meshkit.errors import MeshError, ReadError
from meshkit.info import Source
from meshkit.mesh import Mesh
from meshkit.readers.formats import Format, reader_for
from meshkit.report import Ledger
from meshkit.series import MeshSeries, step_of


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
    row = reader_for(path, format)
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
    if bool(mesh.points.sum().isfinite()):  # one pass without a mask, nearly always enough
        return
    bad = int((~mesh.points.isfinite()).any(1).sum())
    if bad:
        ledger.kept("points", "not finite", bad, "their coordinates are NaN or infinite")
