"""One case from file to file: what a child process of `meshkit convert` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshkit.cli.cases import Case
from meshkit.cli.parts import parts_of
from meshkit.cli.receipts import fingerprint, stamp
from meshkit.errors import LossError, MeshError, ReadError, UnitError
from meshkit.report import Entry, Ledger, Report

if TYPE_CHECKING:
    from meshkit.mesh import Mesh
    from meshkit.operators.soundness.finding import Finding
    from meshkit.series import MeshSeries


@dataclass(frozen=True, slots=True)
class Options:
    """What is done to each case; the same options on the same input give the same output."""

    format: str
    time: str | int | float | None = None  # "all", or None: all where the format holds times
    fields: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    to_simplices: bool = False
    length_unit: str | None = None
    allow_loss: bool = False

    def to_json(self) -> dict[str, Any]:
        """As JSON can say it, with the version of meshkit that does it."""
        from meshkit import __version__

        return {**asdict(self), "meshkit": __version__}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A case, what to do with it, and how many threads it may use."""

    case: Case
    options: Options
    threads: int = 1


def convert_case(work: Conversion) -> dict[str, Any]:
    """Read, change as asked, write; what came of it, as JSON can say it.

    "error" is None when the output is written, and otherwise says what would be lost; "report"
    has the lines of reading, changing and writing, "findings" what is wrong with the mesh itself.

    Raises:
        MeshkitError: one line that names the file, and why it is not converted.
    """
    import torch

    from meshkit.readers.reading import read
    from meshkit.readers.writing import write

    torch.set_num_threads(work.threads)
    case, options = work.case, work.options
    try:
        before = [(path, stamp(path)) for path in (case.input, *parts_of(case.input))]
    except OSError as why:
        raise ReadError(case.input, f"cannot be read: {why.strerror or why}") from None
    series = _series(case, options)
    changes = _Changes(case, options)
    made: Mesh | MeshSeries
    error = None
    sources: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    written = Report()
    try:
        if series is not None and len(series) > 1:
            made = changes.of_series(series)
        elif series is not None:
            made = changes.of(series[0])  # read by now, perhaps
        else:
            one = "last" if options.time in (None, "all") else options.time
            made = changes.of(read(case.input, time=one))
        written = write(made, case.output, format=options.format, allow_loss=options.allow_loss)
        sources = [_as_read(path, then) for path, then in before]
        outputs = [stamp(path) for path in (case.output, *parts_of(case.output))]
    except _Unasked as why:
        error = str(why)
    except LossError as why:
        written, error = why.report, f"{case.input}: {why.problem}; {why.hint}"
    steps = {**changes.reports(), "write": written}
    return {
        "error": error,
        **changes.contents,
        "findings": [
            {"code": f.code, "severity": f.severity, "message": f.message, "count": f.count}
            for f in changes.findings.values()
        ],
        **({} if series is None or len(series) == 1 else {"times": len(series)}),
        "report": [{"step": s, **line} for s, r in steps.items() for line in r.to_json()],
        "sources": sources,
        "outputs": outputs,
    }


class _Unasked(ReadError):
    """Something would be lost that nobody asked to go."""


def _series(case: Case, options: Options) -> MeshSeries | None:
    """All times of a case, perhaps one, where all are wanted and the format can have several.

    Raises:
        ReadError: all were asked for, and the format that is written holds one.
    """
    from meshkit.readers.formats import reader_for, writer_for
    from meshkit.readers.reading import read_series

    if options.time not in (None, "all"):
        return None
    holds = writer_for(case.output, options.format).series_writer is not None
    if reader_for(case.input).series is None or not (holds or options.time == "all"):
        return None
    series = read_series(case.input)
    if len(series) > 1 and not holds:
        said = f"holds {len(series)} times, and {options.format} holds one"
        raise ReadError(case.input, said, hint="choose one with --time, or another format")
    return series


class _Changes:
    """What the options make of each mesh of a case, and what reports say of it."""

    def __init__(self, case: Case, options: Options) -> None:
        self._case, self._options = case, options
        self._reports: dict[int, tuple[Report, Report]] = {}  # by step: read, changed
        self.contents: dict[str, Any] = {}  # of the mesh that was changed last
        self.findings: dict[tuple[str, int], Finding] = {}

    def of(self, mesh: Mesh, step: int = 0) -> Mesh:
        """A mesh as the options want it.

        Raises:
            _Unasked: it would lose what nobody allowed.
        """
        report = mesh.info.report
        try:
            mesh = _changed(mesh, self._options)
        except (MeshError, UnitError) as why:
            raise ReadError(self._case.input, str(why)) from None
        later = Report(mesh.info.report.entries[len(report.entries) :])
        self._reports[step] = report, later
        self.contents = _contents(mesh)
        self._find(mesh)
        lost = [] if self._options.allow_loss else [*report.losses, *later.losses]
        if lost:
            raise _Unasked(
                self._case.input, f"would lose {_listed(lost)}", hint="--allow-loss allows it"
            )
        return mesh

    def _find(self, mesh: Mesh) -> None:
        """What `meshkit info` would find too, as far as it comes cheaply."""
        from meshkit.operators.soundness.arrays import of_arrays

        nth: Counter[str] = Counter()
        for one in of_arrays(mesh):
            # Of a series the worst of all times, so that a fault that stays is told once.
            key = one.code, nth[one.code]
            nth[one.code] += 1
            if key not in self.findings or self.findings[key].count < one.count:
                self.findings[key] = one

    def of_series(self, series: MeshSeries) -> MeshSeries:
        """A series whose meshes are changed when they are asked for."""
        from meshkit.series import MeshSeries

        return MeshSeries(series.times, lambda i: self.of(series[i], i))

    def reports(self) -> dict[str, Report]:
        """What reading and changing did, of all times together."""
        from meshkit.readers.accounting import added_up

        found = {}
        for at, name in enumerate(("read", "change")):
            reports = [pair[at] for pair in self._reports.values()]
            ledger = Ledger()
            added_up(reports, ledger)
            found[name] = reports[0] if len(reports) == 1 else ledger.report()
        return found


def _as_read(path: Path, then: dict[str, Any]) -> dict[str, Any]:
    """The fingerprint of a file; without its hash, so that it counts as changed, if it is not any
    more what it was before it was read.
    """
    try:
        now = fingerprint(path)
    except OSError:  # it has gone
        return then
    return now if all(now[key] == value for key, value in then.items()) else then


def _changed(mesh: Mesh, options: Options) -> Mesh:
    """The mesh as the options want it; the report goes on with what that did."""
    from meshkit.cli.subsets import only_fields, only_regions

    mesh = _with_unit(mesh, options.length_unit)
    if options.fields:
        mesh = only_fields(mesh, options.fields)
    if options.regions:
        mesh = only_regions(mesh, options.regions)
    if options.to_simplices:
        from meshkit.operators import simplices

        mesh = simplices(mesh)
    return mesh


def _with_unit(mesh: Mesh, declared: str | None) -> Mesh:
    """The mesh with a length unit, if it had none; its numbers stay as they are."""
    from meshkit.cli.units import same_length

    own = mesh.info.length_unit
    if declared is None:
        return mesh
    if own is not None:
        if same_length(own, declared):
            return mesh
        raise UnitError(
            f"is in {own!r}, and --length-unit says {declared!r}; it declares the unit of files "
            "that have none and scales nothing"
        )
    ledger = Ledger()
    ledger.converted("info", "length_unit", 1, f"none in the file, declared as {declared!r}")
    info = mesh.info.replace(length_unit=declared)
    return mesh.replace(info=info.noting(ledger.report()))


def _listed(lost: Iterable[Entry]) -> str:
    lost = list(lost)
    some = ", ".join(f"{e.what} {e.name!r} ({e.reason})" for e in lost[:8])
    return some + (f" and {len(lost) - 8} more" if len(lost) > 8 else "")


def _contents(mesh: Mesh) -> dict[str, Any]:
    """What a mesh holds, in short."""
    from meshkit.fields import leaves
    from meshkit.mesh import DATA

    return {
        "points": mesh.n_points,
        "cells": mesh.cells.counts,
        "fields": [
            "/".join((home, *path)) for home in DATA for path, _ in leaves(getattr(mesh, home))
        ],
        "regions": [{"name": r.name, "entity": r.entity, "size": len(r)} for r in mesh.regions],
        "length_unit": mesh.info.length_unit,
        "time": mesh.info.time,
    }
