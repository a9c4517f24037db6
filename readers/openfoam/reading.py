"""OpenFOAM cases: whole or decomposed, one region or several, at one time or as a series.

Source: OpenFOAM user guide (v2312), "OpenFOAM cases", "Mesh description", "Basic input/output".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from meshkit.cells import Cells
from meshkit.errors import ReadError
from meshkit.faces import Faces
from meshkit.info import FieldInfo
from meshkit.mesh import Mesh
from meshkit.readers.accounting import added_up
from meshkit.readers.openfoam.addressing import Addressing, read_addressing
from meshkit.readers.openfoam.assembly import Part, assemble, topology
from meshkit.readers.openfoam.case import Case, Time, find_case
from meshkit.readers.openfoam.decomposed import (
    merged_field,
    merged_mesh,
    merged_points,
    merged_zones,
)
from meshkit.readers.openfoam.fields import Field
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.lists import Array
from meshkit.readers.openfoam.poly_mesh import Places, RawMesh, read_points, read_topology
from meshkit.readers.openfoam.settings import read_settings
from meshkit.readers.openfoam.time_folder import note_outputs, read_fields, time_settings
from meshkit.readers.openfoam.zones import Zone, read_zones
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries

_FILES: Final = (
    *("faces", "owner", "neighbour", "boundary", "cellZones", "faceZones", "pointZones"),
    *(f"{what}ProcAddressing" for what in ("cell", "face", "point", "boundary")),
)


def read(path: Path, ledger: Ledger) -> Mesh:
    """The mesh of the last time, or of a case without times.

    Raises:
        ReadError: the case lacks a file, or one is damaged; the message names file and place.
    """
    reader = _Reader(find_case(path))
    times = reader.case.times
    mesh = reader.mesh(times[-1] if times else None)
    ledger.add(mesh.info.report)
    return mesh


def series(path: Path) -> MeshSeries | None:
    """The meshes over time, each read when it is asked for; None where there are no times.

    Meshes that move or change come with their own points or topology; while the topology stays,
    all share it. A field that a time lacks is absent there.

    Raises:
        ReadError: the path is no case of OpenFOAM.
    """
    reader = _Reader(find_case(path))
    times = reader.case.times
    if not times:
        return None
    return MeshSeries([t.value for t in times], lambda i: reader.mesh(times[i]))


@dataclass(frozen=True)
class _Skeleton:
    """The topology of a region, and of the processors it is put together from."""

    raw: RawMesh
    zones: tuple[Zone, ...]
    parts: tuple[RawMesh, ...]
    addressing: tuple[Addressing, ...]
    report: Report


class _Reader:
    """Reads one case, and remembers the topology it read last."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._skeletons: dict[str | None, tuple[Any, _Skeleton]] = {}
        self._topology: tuple[tuple[_Skeleton, ...], Cells, Faces] | None = None

    def mesh(self, time: Time | None) -> Mesh:
        """The mesh at a time, with its report in its info."""
        ledger = Ledger()
        folders = self.case.folders(time)
        places = [[self.case.places(f, r, time) for f in folders] for r in self.case.regions]
        points = [[read_points(p) for p in there] for there in places]
        merging = folders is self.case.processors
        skeletons = [
            self._skeleton(region, there, [len(x) for x in at], merging)
            for region, there, at in zip(self.case.regions, places, points, strict=True)
        ]
        # Before the fields: what it takes in between is free again when they come.
        cells, faces = self._joined(skeletons)
        parts = [
            self._part(region, time, folders, skeleton, there, at, ledger)
            for region, skeleton, there, at in zip(
                self.case.regions, skeletons, places, points, strict=True
            )
        ]
        attributes: dict[str, Any] = {}
        if not self.case.bare:
            attributes = read_settings(self.case.folder, None, ledger)
            note_outputs(self.case.folder, ledger)
        if time is not None:
            attributes |= time_settings(folders[0], time, ledger)
        mesh = assemble(parts, cells, faces, attributes, ledger)
        value = None if time is None else time.value
        return mesh.replace(info=mesh.info.replace(time=value, report=ledger.report()))

    def _joined(self, skeletons: Sequence[_Skeleton]) -> tuple[Cells, Faces]:
        held = self._topology
        if held is None or any(a is not b for a, b in zip(held[0], skeletons, strict=True)):
            self._topology = held = (tuple(skeletons), *topology([s.raw for s in skeletons]))
        return held[1], held[2]

    def _part(
        self,
        region: str | None,
        time: Time | None,
        folders: Sequence[Folder],
        skeleton: _Skeleton,
        places: Sequence[Places],
        points: list[Array],
        ledger: Ledger,
    ) -> Part:
        """A region's points, fields and settings at a time, on its topology."""
        ledger.add(skeleton.report)
        raw = skeleton.raw
        fields = _fields(region, time, folders, skeleton, self.case.regions, ledger)
        more: dict[tuple[str, ...], tuple[Array, FieldInfo]] = {}
        if skeleton.addressing:
            at = merged_points(points, skeleton.addressing, raw.n_points)
        else:
            at, more = points[0], _numbers(places[0], raw)
        settings: dict[str, Any] = {}
        if len(self.case.regions) > 1 and region is not None:
            settings = read_settings(self.case.folder, region, ledger)
        return Part(region, raw, at, skeleton.zones, fields, settings, more)

    def _skeleton(
        self, region: str | None, places: Sequence[Places], counts: Sequence[int], merging: bool
    ) -> _Skeleton:
        """The topology of a region, read anew where its files are others than before."""
        key = (merging, tuple(counts), tuple(_stamps(p) for p in places))
        held = self._skeletons.get(region)
        if held is not None and held[0] == key:
            return held[1]
        ledger = Ledger()
        parts = [read_topology(p, n, ledger) for p, n in zip(places, counts, strict=True)]
        zones = [read_zones(p, raw, ledger) for p, raw in zip(places, parts, strict=True)]
        if merging:
            at = [read_addressing(p, raw) for p, raw in zip(places, parts, strict=True)]
            folders = [p.folder for p in places]
            whole, all_zones = merged_mesh(parts, at, folders), merged_zones(zones, at)
            made = _Skeleton(whole, all_zones, tuple(parts), tuple(at), ledger.report())
        else:
            made = _Skeleton(parts[0], zones[0], (), (), ledger.report())
        self._skeletons[region] = (key, made)
        return made


def _stamps(places: Places) -> tuple[Any, ...]:
    """What tells whether the topology is the same as before."""
    found = []
    for name in _FILES:
        where = places.find(name)
        found.append(None if where is None else places.folder.stamp(where))
    sets = f"{places.need('faces').rpartition('/')[0]}/sets".lstrip("/")
    found += [places.folder.stamp(f"{sets}/{name}") for name in places.folder.names(sets)]
    return tuple(found)


def _fields(
    region: str | None,
    time: Time | None,
    folders: Sequence[Folder],
    skeleton: _Skeleton,
    regions: Sequence[str | None],
    ledger: Ledger,
) -> list[Field]:
    """The fields of a region at a time, put together where processors have parts of them."""
    if time is None:
        return []
    if not skeleton.addressing:
        return list(read_fields(folders[0], time, region, skeleton.raw, regions, ledger).values())
    ledgers = [Ledger() for _ in folders]
    rows = [
        read_fields(folder, time, region, raw, regions, own)
        for folder, raw, own in zip(folders, skeleton.parts, ledgers, strict=True)
    ]
    added_up((own.report() for own in ledgers), ledger)
    out: list[Field] = []
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row[name] for row in rows if name in row]
        if len(found) < len(rows):
            lacking = next(f for f, row in zip(folders, rows, strict=True) if name not in row)
            raise ReadError(
                lacking.path, f"{lacking.label} lacks field {name!r} at time {time.name}",
                expected="the fields that the other processors have",
            )  # fmt: skip
        one = merged_field(found, skeleton.parts, skeleton.addressing, skeleton.raw, ledger)
        out.append(one)
    return out


def _numbers(places: Places, raw: RawMesh) -> dict[tuple[str, ...], tuple[Array, FieldInfo]]:
    """The numbering in the whole case that a processor's part brings along."""
    if places.find("cellProcAddressing") is None:
        return {}
    found = read_addressing(places, raw)
    known = FieldInfo(kind="global_ids")
    signed = FieldInfo(kind="global_ids + 1, negative where turned round")
    return {
        ("cell_data", "cellProcAddressing"): (found.cells, known),
        ("face_data", "faceProcAddressing"): (found.faces, signed),
        ("point_data", "pointProcAddressing"): (found.points, known),
    }
