"""ParaView collection (.pvd): a file that names a file for each time, or several.

Untrusted: a reference that leads out of the directory of the collection is refused.

Source: ParaView's documentation of the PVD file format, and what vtkPVDReader 6 does.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from meshkit.errors import ReadError, WriteError
from meshkit.fields import leaves
from meshkit.mesh import Mesh
from meshkit.readers import vtu
from meshkit.readers.accounting import added_up
from meshkit.readers.formats import reader_for
from meshkit.readers.references import referred
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.blocks import Block, mesh_of_blocks
from meshkit.readers.vtk.markup import Element, Markup, opened
from meshkit.readers.vtm import block_of
from meshkit.report import Ledger
from meshkit.series import MeshSeries

_KIND: Final = "Collection"
_LOOKED_AT: Final = 1 << 16  # bytes at the begin of a file in which arrays are declared
_SECTION: Final = re.compile(rb"<P?(Point|Cell)Data\b[^>]*>(.*?)(?:</P?\1Data\s*>|\Z)", re.S)
_DECLARED: Final = re.compile(rb"<P?(?:Data)?Array\b[^>]*?\sName\s*=\s*(\"[^\"]*\"|'[^']*')")


@dataclass(frozen=True)
class _Part:
    """A row: a file of one time."""

    time: float
    file: Path
    label: str
    group: str


def read(path: Path, ledger: Ledger) -> Mesh:
    """The mesh of the last time.

    Raises:
        ReadError: the collection or a file of that time is damaged, or missing.
    """
    times = _by_time(_parts(path)[0])
    return _mesh(path, times[-1], _several(times), ledger)


def series(path: Path) -> MeshSeries | None:
    """The meshes over time, each read from its files when it is asked for.

    Several files of one time are blocks of one mesh, each a cell region, called as its name, its
    group, or its number says. A field that other times have is reported missing, as far as the
    files tell without being read; it is not invented.

    Returns:
        None where no row says a time: there is one mesh.

    Raises:
        ReadError: the collection is damaged, or refers to a file that is missing or outside of
            its directory.
    """
    parts, timed = _parts(path)
    if not timed:
        return None
    times = _by_time(parts)
    several = _several(times)
    known: list[set[str]] = []

    def load(i: int) -> Mesh:
        if not known:
            known.extend(_declared(part.file for part in rows) for rows in times)
        ledger = Ledger()
        mesh = _mesh(path, times[i], several, ledger)
        said = mesh.info.time
        if said is not None and said != times[i][0].time:
            reason = f"the file says {said:g}, the collection {times[i][0].time:g}"
            ledger.converted("time", "", 1, reason)
        own = _fields(mesh)
        for name in sorted(set().union(*known) - known[i] - own):
            ledger.dropped("field", name, 0, "absent at this time, other times have it", loss=False)
        known[i] |= own
        return mesh.replace(info=mesh.info.replace(report=ledger.report()))

    return MeshSeries([rows[0].time for rows in times], load)


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


def _parts(path: Path) -> tuple[list[_Part], bool]:
    """The rows, and whether any of them says a time."""
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
        parts = [_part(markup, row) for row in rows]
        timed = any("timestep" in row.attributes for row in rows)
    return parts, timed


def _part(markup: Markup, row: Element) -> _Part:
    said = row.attributes.get("timestep", "0")
    try:
        time = float(said)
    except ValueError:
        time = math.nan
    if not math.isfinite(time):
        raise markup.error(
            f"timestep is {said[:40]!r}", place=f"line {row.line}", expected="a finite number"
        )
    number = row.attributes.get("part", "").strip()
    label = row.attributes.get("name") or (f"part {number}" if number else "")
    group = row.attributes.get("group", "")
    place, name = f"line {row.line}", row.attributes.get("file")
    file = referred(markup.path, name, place=place, what="a <DataSet>")
    return _Part(time, file, label, group)


def _by_time(parts: Sequence[_Part]) -> list[list[_Part]]:
    """The rows of each time, ascending; a row that stands twice counts once."""
    found: dict[float, dict[_Part, None]] = {}
    for part in parts:
        found.setdefault(part.time, {})[part] = None
    return [list(found[time]) for time in sorted(found)]


def _several(times: Sequence[Sequence[_Part]]) -> bool:
    return any(len(rows) > 1 for rows in times)


def _mesh(path: Path, rows: Sequence[_Part], several: bool, ledger: Ledger) -> Mesh:
    """The mesh of one time."""
    if several:
        own: dict[str, VtkArray] = {}
        return mesh_of_blocks(_blocks(path, rows, ledger, own), path, ledger, own)
    file = rows[0].file
    row = reader_for(file)
    if row.name == "pvd":
        raise ReadError(path, f"refers to another collection: {file.name}", expected="a mesh file")
    return row.load_reader()(file, ledger)


def _blocks(path: Path, rows: Sequence[_Part], ledger: Ledger, own: dict[str, VtkArray]) -> Block:
    """The files of one time as blocks: those with a group below it."""
    top = Block(None)
    groups: dict[str, Block] = {}
    above = (path.resolve(),)
    labels = [(part.group, part.label) for part in rows]
    members = [part.group for part in rows]
    for part in rows:
        distinct = part.label and labels.count((part.group, part.label)) == 1
        alone = part.group and members.count(part.group) == 1
        label = part.group if alone else part.label if distinct else part.file.stem
        block = block_of(part.file, label, ledger, above, own)
        if not part.group or alone:
            top.below.append(block)
            continue
        if part.group not in groups:
            groups[part.group] = Block(part.group)
            top.below.append(groups[part.group])
        groups[part.group].below.append(block)
    return top


def _fields(mesh: Mesh) -> set[str]:
    """The fields at points and cells, as reports name them."""
    homes = (("point_data", mesh.point_data), ("cell_data", mesh.cell_data))
    return {f"{home}/{'/'.join(at)}" for home, data in homes for at, _ in leaves(data)}


def _declared(files: Iterable[Path]) -> set[str]:
    """The arrays at points and cells that the first bytes of VTK XML files declare."""
    found: set[str] = set()
    for file in files:
        with file.open("rb") as opened_file:
            head = opened_file.read(_LOOKED_AT)
        for home, section in _SECTION.findall(head):
            for quoted in _DECLARED.findall(section):
                name = html.unescape(quoted[1:-1].decode("utf-8", "replace"))
                found.add(f"{home.decode().lower()}_data/{name}")
    return found


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
            said = "" if time is None else f' timestep="{time!r}"'
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
