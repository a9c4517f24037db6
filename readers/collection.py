"""Files that name a file for each time, or several: what pvd and series have in common.

Nothing but the names is read until a time is asked for. Then the first bytes of the other files
are looked at once, for the fields that they declare.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from meshkit.errors import ReadError
from meshkit.fields import leaves
from meshkit.mesh import Mesh
from meshkit.readers.formats import reader_for
from meshkit.readers.references import References, is_within, referred
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.blocks import Block, mesh_of_blocks
from meshkit.readers.vtm import block_of
from meshkit.report import Ledger
from meshkit.series import MeshSeries

_LOOKED_AT: Final = 1 << 16  # bytes at the begin of a file in which arrays are declared
_COLLECTIONS: Final = ("pvd", "series")  # so that none names itself
_DEEPEST: Final = 3  # files that name files that name files
_SECTION: Final = re.compile(rb"<P?(Point|Cell)Data\b[^>]*>(.*?)(?:</P?\1Data\s*>|\Z)", re.S)
_DECLARED: Final = re.compile(rb"<P?(?:Data)?Array\b[^>]*?\sName\s*=\s*(\"[^\"]*\"|'[^']*')")
_BLOCK: Final = re.compile(rb"<DataSet\b[^>]*?\sfile\s*=\s*(\"[^\"]*\"|'[^']*')")


@dataclass(frozen=True)
class Part:
    """A file of one time.

    Args:
        time: of the mesh.
        name: of the file, as it is said.
        place: where that stands.
        what: how messages call it.
        label: what the part is called.
        group: what several parts are called together.
    """

    time: float
    name: str | None
    place: str
    what: str
    label: str = ""
    group: str = ""

    def file(self, path: Path, references: References | None = None) -> Path:
        """The file, which lies beside the one that names it, or below.

        Raises:
            ReadError: it leads elsewhere, is missing, or has been opened too often.
        """
        references = References() if references is None else references
        return references.file(path, self.name, place=self.place, what=self.what)


@dataclass(frozen=True)
class Collection:
    """What a file says of others.

    Args:
        path: the file.
        parts: the files that it names, in its order.
    """

    path: Path
    parts: tuple[Part, ...]

    @property
    def times(self) -> list[list[Part]]:
        """The files of each time, ascending; a file that is named twice counts once."""
        found: dict[float, dict[tuple[str | None, str, str], Part]] = {}
        for part in self.parts:
            same = (part.name, part.label, part.group)
            found.setdefault(part.time, {}).setdefault(same, part)
        return [list(found[time].values()) for time in sorted(found)]

    def mesh(self, rows: Sequence[Part], several: bool, ledger: Ledger) -> Mesh:
        """The mesh of one time.

        Args:
            rows: its files.
            several: make each a cell region, as at times with several files.
            ledger: takes what becomes of everything.

        Raises:
            ReadError: a file is damaged, missing, or one that names files for times itself.
        """
        if several:
            own: dict[str, VtkArray] = {}
            return mesh_of_blocks(self._blocks(rows, ledger, own), self.path, ledger, own)
        file = rows[0].file(self.path)
        row = reader_for(file)
        if row.name in _COLLECTIONS:
            raise ReadError(
                self.path, f"refers to another collection: {file.name}", expected="a mesh file"
            )
        return row.load_reader()(file, ledger)

    def last(self, ledger: Ledger) -> Mesh:
        """The mesh of the last time."""
        times = self.times
        return self.mesh(times[-1], _several(times), ledger)

    def series(self) -> MeshSeries:
        """The meshes over time, each read from its files when it is asked for.

        Several files of one time are blocks of one mesh, each a cell region, called as its name,
        its group, or its number says. A field that other times have is reported missing, as far
        as the files tell without being read; it is not invented.

        Raises:
            ReadError: a file is named that leads out of the directory.
        """
        times = self.times
        several = _several(times)
        for part in self.parts:
            _need_within(self.path, part)
        known: list[set[str]] = []

        def load(i: int) -> Mesh:
            ledger = Ledger()
            mesh = self.mesh(times[i], several, ledger)
            said = mesh.info.time
            if said is not None and said != times[i][0].time:
                reason = f"the file says {said:g}, the collection {times[i][0].time:g}"
                ledger.converted("time", "", 1, reason)
            if not known:
                known.extend(
                    _declared(self.path, [part.name for part in rows], 0, set()) for rows in times
                )
            own = _fields(mesh)
            for name in sorted(set().union(*known) - known[i] - own):
                reason = "absent at this time, other times have it"
                ledger.dropped("field", name, 0, reason, loss=False)
            known[i] |= own
            return mesh.replace(info=mesh.info.replace(report=ledger.report()))

        return MeshSeries([rows[0].time for rows in times], load)

    def _blocks(self, rows: Sequence[Part], ledger: Ledger, own: dict[str, VtkArray]) -> Block:
        """The files of one time as blocks: those with a group below it."""
        top = Block(None)
        groups: dict[str, Block] = {}
        above, references = (self.path.resolve(),), References()
        labels = [(part.group, part.label) for part in rows]
        members = [part.group for part in rows]
        for part in rows:
            file = part.file(self.path, references)
            distinct = part.label and labels.count((part.group, part.label)) == 1
            alone = part.group and members.count(part.group) == 1
            label = part.group if alone else part.label if distinct else file.stem
            block = block_of(file, label, ledger, above, own, references)
            if not part.group or alone:
                top.below.append(block)
                continue
            if part.group not in groups:
                groups[part.group] = Block(part.group)
                top.below.append(groups[part.group])
            groups[part.group].below.append(block)
        return top


def time_said(value: str | float) -> float:
    """A time as a number; NaN for what is none.

    >>> time_said("0.5"), time_said("soon")
    (0.5, nan)
    """
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _several(times: Sequence[Sequence[Part]]) -> bool:
    return any(len(rows) > 1 for rows in times)


def _need_within(path: Path, part: Part) -> None:
    """Refuse at once what leads elsewhere; whether a file is there is asked when it is needed."""
    name = part.name
    if not name or "\0" in name or not is_within(path, name):
        part.file(path)  # says why not


def _fields(mesh: Mesh) -> set[str]:
    """The fields at points and cells, as reports name them."""
    homes = (("point_data", mesh.point_data), ("cell_data", mesh.cell_data))
    return {f"{home}/{'/'.join(at)}" for home, data in homes for at, _ in leaves(data)}


def _declared(path: Path, names: Iterable[str | None], depth: int, seen: set[Path]) -> set[str]:
    """The arrays at points and cells that the first bytes of these files declare.

    Files that only name blocks are looked through, each once; what is missing or elsewhere
    declares nothing.
    """
    found: set[str] = set()
    for name in names:
        try:
            file = referred(path, name, place="", what="a file")
            here = file.resolve()
            if here in seen:
                continue
            seen.add(here)
            with file.open("rb") as opened_file:
                head = opened_file.read(_LOOKED_AT)
        except (ReadError, OSError):  # reading it says why
            continue
        for home, section in _SECTION.findall(head):
            for quoted in _DECLARED.findall(section):
                found.add(f"{home.decode().lower()}_data/{_unquoted(quoted)}")
        if depth < _DEEPEST:
            found |= _declared(file, map(_unquoted, _BLOCK.findall(head)), depth + 1, seen)
    return found


def _unquoted(said: bytes) -> str:
    return html.unescape(said[1:-1].decode("utf-8", "replace"))
