"""ParaView collection (.pvd): a file that names a file for each time, or several.

Untrusted: a reference that leads out of the directory of the collection is refused.

Source: ParaView's documentation of the PVD file format, and what vtkPVDReader 6 does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from meshkit.errors import WriteError
from meshkit.mesh import Mesh
from meshkit.readers import vtu
from meshkit.readers.accounting import added_up
from meshkit.readers.collection import Collection, Part, time_said
from meshkit.readers.vtk.markup import Element, Markup, opened
from meshkit.report import Ledger
from meshkit.series import MeshSeries
from meshkit.words import BLANKS

_KIND: Final = "Collection"


def read(path: Path, ledger: Ledger) -> Mesh:
    """The mesh of the last time.

    Raises:
        ReadError: the collection or a file of that time is damaged, or missing.
    """
    return _collection(path)[0].last(ledger)


def series(path: Path) -> MeshSeries | None:
    """The meshes over time; see `Collection.series`.

    Returns:
        None where no row says a time: there is one mesh.

    Raises:
        ReadError: the collection is damaged, or refers to a file outside of its directory.
    """
    collection, timed = _collection(path)
    return collection.series() if timed else None


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """A collection of one time, if the mesh has one, and a .vtu that holds everything.

    Raises:
        WriteError: a file cannot be written.
    """
    _write([mesh], [mesh.info.time], path, ledger)


def write_series(series: MeshSeries, path: Path, ledger: Ledger) -> None:
    """A .vtu for each time, in a directory that has the name of the file without its suffix.

    Raises:
        WriteError: a file cannot be written, or the series has no times.
    """
    if len(series) == 0:
        raise WriteError(path, "a series of no times", expected="one at least")
    _write(series, series.times, path, ledger)
    ledger.kept("time", "", len(series))


# --- reading --------------------------------------------------------------------------------------


def _collection(path: Path) -> tuple[Collection, bool]:
    """What it names, and whether any row says a time."""
    with opened(path) as markup:
        found = markup.root.attributes.get("type")
        collections = markup.root.all(_KIND)
        if found != _KIND or len(collections) != 1:
            raise markup.error(
                f"holds {len(collections)} <{_KIND}> and is of type {str(found)[:60]!r}",
                expected=f"one <{_KIND}>",
            )
        rows = collections[0].all("DataSet")
        if not rows:
            raise markup.error("names no <DataSet>", expected="one for each time")
        parts = tuple(_part(markup, row) for row in rows)
        timed = any("timestep" in row.attributes for row in rows)
    return Collection(path, parts), timed


def _part(markup: Markup, row: Element) -> Part:
    said, place = row.attributes.get("timestep", "0"), f"line {row.line}"
    time = time_said(said)
    if not math.isfinite(time):
        raise markup.error(f"timestep is {said[:40]!r}", place=place, expected="a finite number")
    number = row.attributes.get("part", "").strip(BLANKS)
    label = row.attributes.get("name") or (f"part {number}" if number else "")
    group = row.attributes.get("group", "")
    return Part(time, row.attributes.get("file"), place, "a <DataSet>", label, group)


# --- writing --------------------------------------------------------------------------------------


def _write(
    meshes: MeshSeries | Sequence[Mesh], times: Sequence[float | None], path: Path, ledger: Ledger
) -> None:
    folder = path.parent / (path.stem if path.suffix else f"{path.name}_times")
    digits = max(4, len(str(len(times) - 1)))
    lines, reports = [], []
    try:
        folder.mkdir()
        for i, time in enumerate(times):
            file = folder / f"{folder.name}_{i:0{digits}d}.vtu"
            own = Ledger()
            vtu.write(meshes[i], file, own)
            reports.append(own.report())
            # What is no moment cannot stand here; the .vtu keeps it as its TimeValue.
            moment = time is not None and math.isfinite(time)
            said = f' timestep="{time!r}"' if moment else ""
            place = quoteattr(f"{folder.name}/{file.name}")
            lines.append(f'    <DataSet{said} group="" part="0" file={place}/>\n')
        text = (
            '<?xml version="1.0"?>\n'
            f'<VTKFile type="{_KIND}" version="1.0" byte_order="LittleEndian">\n'
            f"  <{_KIND}>\n{''.join(lines)}  </{_KIND}>\n</VTKFile>\n"
        )
        path.write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise WriteError(path, "its name is no Unicode text, which XML needs") from None
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    added_up(reports, ledger)
