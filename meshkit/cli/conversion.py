"""One case from file to file: what a child process of `meshkit convert` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True, slots=True)
class Options:
    """What is done to each case; the same options on the same input give the same output."""

    format: str
    time: str | int | float = "last"
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
    has the lines of reading, changing and writing.

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
    mesh = read(case.input, time=options.time)
    report = mesh.info.report
    try:
        mesh = _changed(mesh, options)
    except (MeshError, UnitError) as why:
        raise ReadError(case.input, str(why)) from None
    steps = {"read": report, "change": Report(mesh.info.report.entries[len(report.entries) :])}
    lost = [] if options.allow_loss else _unasked(steps)
    error = None
    sources: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    if lost:
        error = f"{case.input}: would lose {_listed(lost)}; --allow-loss allows it"
    else:
        try:
            steps["write"] = write(
                mesh, case.output, format=options.format, allow_loss=options.allow_loss
            )
            sources = [_as_read(path, then) for path, then in before]
            outputs = [stamp(path) for path in (case.output, *parts_of(case.output))]
        except LossError as why:
            steps["write"], error = why.report, f"{case.input}: {why.problem}; {why.hint}"
    return {
        "error": error,
        **_contents(mesh),
        "report": [{"step": s, **line} for s, r in steps.items() for line in r.to_json()],
        "sources": sources,
        "outputs": outputs,
    }


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


def _unasked(steps: Mapping[str, Report]) -> list[Entry]:
    """What was lost although nobody asked for it to go."""
    return [entry for report in steps.values() for entry in report.losses]


def _listed(lost: Iterable[Entry]) -> str:
    lost = list(lost)
    some = ", ".join(f"{e.what} {e.name!r} ({e.reason})" for e in lost[:8])
    return some + (f" and {len(lost) - 8} more" if len(lost) > 8 else "")


def _contents(mesh: Mesh) -> dict[str, Any]:
    """What a mesh holds, in short."""
    import torch

    from meshkit.fields import leaves
    from meshkit.mesh import DATA

    broken = int((~torch.isfinite(mesh.points)).any(1).sum())
    warnings = [f"{broken} points have coordinates that are NaN or infinite"] if broken else []
    return {
        "points": mesh.n_points,
        "cells": mesh.cells.counts,
        "fields": [
            "/".join((home, *path)) for home in DATA for path, _ in leaves(getattr(mesh, home))
        ],
        "regions": [{"name": r.name, "entity": r.entity, "size": len(r)} for r in mesh.regions],
        "length_unit": mesh.info.length_unit,
        "time": mesh.info.time,
        "warnings": warnings,
    }
