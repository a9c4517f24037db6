"""The door for files in: any format, told by content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from meshkit.errors import MeshError, ReadError
from meshkit.fields import finite
from meshkit.info import Source
from meshkit.memory import need_room
from meshkit.mesh import Mesh
from meshkit.operators.soundness.fields import of_codes
from meshkit.places import Place, place_of
from meshkit.readers.formats import Format, reader_for
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries, moment_of, step_of


def read(path: str | os.PathLike[str], *, format: str | None = None, time: Any = "last") -> Mesh:
    """Read a mesh. What was kept, converted and dropped stands in `mesh.info.report`.

    Args:
        path: the file, or the directory or remote place ("s3://...") of a store.
        format: a name in `FORMATS`; None looks at the content, never at the suffix alone.
        time: "first", "last", a step (int) or a time (float).

    Raises:
        UnknownFormat: no reader claims the file, or none has that name.
        ReadError: the file breaks its format, or holds no such time; the message says where and
            how.
        MeshError: the path is no path, or the time none of these.
    """
    path, time = place_of(path), moment_of(time)
    row = reader_for(path, format)
    _need_room(row, path)
    mesh = _held(row, path)
    if isinstance(mesh, MeshSeries):
        return _one_of(mesh, _step(path, mesh.times, time))
    if isinstance(time, float) and mesh.info.time is None:
        raise ReadError(path, "holds no time", hint="leave `time` out")
    if isinstance(time, int) and mesh.info.time is None and time not in (0, -1):
        raise ReadError(path, f"holds one mesh and no times, so no step {time}")
    _step(path, [0.0 if mesh.info.time is None else mesh.info.time], time)
    return mesh


def read_series(path: str | os.PathLike[str], *, format: str | None = None) -> MeshSeries:
    """The meshes of a file over time; a file without times is a series of one, at 0.

    Each mesh is read when it is asked for, and tells in its own report what was kept, converted
    and dropped; errors in its part of the file come then.

    Raises:
        as `read`.
    """
    path = place_of(path)
    row = reader_for(path, format)
    _need_room(row, path)
    mesh = _held(row, path)
    if isinstance(mesh, MeshSeries):
        return mesh
    time = 0.0 if mesh.info.time is None else mesh.info.time
    return MeshSeries([time], [mesh].__getitem__)


def _read_one(row: Format, path: Place) -> Mesh:
    """The mesh of a file that holds one."""
    reader, ledger = row.load_reader(), Ledger()
    with _guarded(path):
        mesh = reader(path, ledger)
    return _finished(mesh, row, path, ledger.report())


def _held(row: Format, path: Place) -> Mesh | MeshSeries:
    """What the file holds: one mesh and no times, or meshes over time."""
    found = None
    if row.series is not None:
        reader = row.load_series()
        with _guarded(path):
            found = reader(path)
    if found is None:
        return _read_one(row, path)
    if isinstance(found, Mesh):
        return _finished(found, row, path, found.info.report)
    series = found  # the name of this type alone, for the function below

    def load(i: int) -> Mesh:
        with _guarded(path):
            mesh = series[i]
        return _finished(mesh, row, path, mesh.info.report)

    return MeshSeries(series.times, load)


def _one_of(series: MeshSeries, step: int) -> Mesh:
    """The mesh of one time, which tells of the others."""
    mesh, others = series[step], len(series) - 1
    if not others:
        return mesh
    ledger = Ledger()
    reason = f"only {series.times[step]!r} is read here; read_series reads all"
    ledger.dropped("time", "others", others, reason, loss=False)
    return mesh.replace(info=mesh.info.noting(ledger.report()))


def _step(path: Place, times: Sequence[float], time: Any) -> int:
    try:
        return step_of(times, time)
    except MeshError as why:
        raise ReadError(path, str(why)) from None


def _finished(mesh: Mesh, row: Format, path: Place, report: Report) -> Mesh:
    """The mesh with its source and its report; points that are nowhere are named there, and codes
    of texts that mean nothing.
    """
    from meshkit import __version__

    ledger = Ledger()
    _note_unfinite(mesh, ledger)
    for finding in of_codes(mesh):
        ledger.kept("codes", "out of range", finding.count, finding.message)
    read_from = Source(str(path), row.name, f"meshkit {__version__}")
    source = mesh.info.source if row.store else read_from
    return mesh.replace(info=mesh.info.replace(source=source, report=report + ledger.report()))


def _need_room(row: Format, path: Place) -> None:
    """Refuse at once a file longer than the memory left: sparse ones cost nothing to make."""
    if not row.whole or isinstance(path, str) or not path.is_file():
        return
    need_room(path, path.stat().st_size)


@contextmanager
def _guarded(path: Place) -> Iterator[None]:
    """What a broken file makes of arrays or memory is the file's error."""
    try:
        yield
    except OSError as why:
        raise ReadError(path, f"cannot be read: {why.strerror or why}") from None
    except MeshError as why:
        raise ReadError(path, f"holds no sound mesh: {why}") from None
    except MemoryError:
        raise ReadError(path, "needs more memory than there is") from None


def _note_unfinite(mesh: Mesh, ledger: Ledger) -> None:
    """Points that are nowhere are read as they are, and named."""
    points = mesh.points
    # One pass without a mask is nearly always enough; numpy's, since torch would wake its threads
    # for it, which costs more than the sum.
    if points.dtype in (torch.float32, torch.float64):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(points.detach().numpy().sum()):
                return
    bad = int((~finite(mesh.points)).any(1).sum())
    if bad:
        ledger.kept("points", "not finite", bad, "their coordinates are NaN or infinite")
