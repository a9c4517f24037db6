"""`meshkit convert`: files in, files out, one child process a case."""

from __future__ import annotations

import json
import os
import signal
import sys
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from meshkit.cli import workers
from meshkit.cli.cases import Case, Plan, plan
from meshkit.cli.conversion import Conversion, Options, convert_case
from meshkit.cli.leftovers import remove_leftovers
from meshkit.cli.lines import complain, named
from meshkit.cli.misuse import Misuse
from meshkit.cli.moments import moment_of
from meshkit.cli.receipts import Receipts
from meshkit.cli.sight import modules_for, problem_of
from meshkit.errors import UnitError, UnknownFormat, WriteError

if TYPE_CHECKING:
    from meshkit.readers.formats import Format


class ConvertCommand(TyperCommand):
    """Of one argument alone the parser thinks that IN is missing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer does it, but for naming OUT where that is missing."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as why:
            missing = getattr(getattr(why, "param", None), "name", None)
            if missing == "inputs" and self.make_parser(ctx).parse_args(given)[0].get("out"):
                said = "OUT is missing, where to write to: meshkit convert IN OUT"
                raise Misuse(f"{said} (see meshkit convert --help)") from None
            raise


Result = dict[str, Any]
"""What became of a case: a row of "cases" in the answer of --json."""


def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN", help="Files, directories, or quoted patterns such as 'runs/**/*.vtu'."
        ),
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="A file or store for one input; else a directory, where paths below an input "
            "directory are kept.",
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="Format of outputs in a directory.", show_default="zarr"
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help='"all", "first", "last", a step (3, -1) or a time (0.5, 2.0).',
            show_default="all where OUT can hold times, else last",
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Keep only this field: p, cell_data/p, a group. Repeatable."
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Keep only the cells of this region. Repeatable."),
    ] = None,
    to_simplices: Annotated[
        bool, typer.Option("--to-simplices", help="Split cells into triangles and tetrahedra.")
    ] = False,
    length_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT", help="Declare the unit of files that have none; scales nothing."
        ),
    ] = None,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Write although something is lost; it is counted.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Cases at a time.", show_default="number of cores"),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Give a case up after this long.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Convert again what is done and unchanged.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only problems.")] = False,
) -> None:
    """Convert meshes, each in a process of its own.

    What is done and has not changed since is skipped, so an
    interrupted run goes on when it is started again.

    Exit code 0: all done; 1: some failed, each named on stderr;
    2: misuse, and nothing was started.
    """
    if timeout is not None and not timeout > 0:
        raise Misuse(f"--timeout {timeout:g}: expected more than 0 seconds")
    started = clock.monotonic()
    moment = time if time in (None, "all") else moment_of(time)
    _need_length(length_unit)
    planned, row = _planned(inputs, out, to)
    options = Options(
        row.name,
        moment,
        tuple(field or ()),
        tuple(region or ()),
        to_simplices,
        length_unit,
        allow_loss,
    )
    results: list[Result] = []
    try:
        with _terminated_as_interrupted(), _progress(planned, as_json or quiet) as step:
            for result in _converted(planned, options, row, jobs, timeout, force):
                results.append(result)
                step(result)
    except KeyboardInterrupt:
        done = sum(r["status"] != "failed" for r in results)
        complain(
            f"interrupted: {done} of {len(planned.cases)} cases are done; "
            "the same command goes on with the rest"
        )
        raise typer.Exit(130) from None
    _report(planned, results, clock.monotonic() - started, as_json=as_json, quiet=quiet)
    if any(r["status"] == "failed" for r in results):
        raise typer.Exit(1)


def _need_length(unit: str | None) -> None:
    if unit is None:
        return
    from meshkit.cli.units import metres

    try:
        metres(unit)
    except UnitError as why:
        raise Misuse(f"--length-unit: {why}") from None


def _planned(inputs: list[str], out: str, to: str | None) -> tuple[Plan, Format]:
    """The cases, and the format that all of them are written in."""
    from meshkit.readers.formats import FALLBACK, FORMATS, writer_for

    readable = frozenset(s for row in (*FORMATS, FALLBACK) for s in row.suffixes)
    try:
        suffix = None if to is None else writer_for(Path(out), to).suffixes[0]
    except UnknownFormat as why:
        raise Misuse(f"--to: {why.problem}; expected {why.expected}") from None
    stores = frozenset(s for row in FORMATS if row.directory is not None for s in row.suffixes)
    planned = plan(inputs, out, suffix, readable, lambda folder: Receipts(folder).made, stores)
    try:
        row = writer_for(planned.cases[0].output, to)
    except UnknownFormat as why:
        raise Misuse(str(why)) from None
    return planned, row


def _converted(
    planned: Plan,
    options: Options,
    row: Format,
    jobs: int | None,
    timeout: float | None,
    force: bool,
) -> Iterator[Result]:
    """What became of each case, as it comes; finished ones are written down at once.

    No process is started for those before the first that something can read.
    """
    receipts = Receipts(planned.folder)
    asked = options.to_json()
    waiting: dict[Case, None] = {}
    for case in planned.cases:
        if not force and receipts.holds(case, asked):
            yield _result(case, "skipped", contents={"findings": receipts.findings(case)})
        elif not waiting and (error := problem_of(case.input)) is not None:
            remove_leftovers([case.output])
            yield _result(case, "failed", error=named(str(case.input), error))
        else:
            waiting[case] = None
    if not waiting:
        return
    needed = modules_for((case.input for case in waiting), row)
    changed = (*options.fields, *options.regions)
    needed += ("meshkit.cli.subsets",) if changed else ()
    remove_leftovers(case.output for case in waiting)
    cores = len(os.sched_getaffinity(0))
    jobs = max(1, min(jobs or cores, len(waiting)))
    tasks = [Conversion(case, options, max(1, cores // jobs)) for case in waiting]
    try:
        running = workers.run(convert_case, tasks, jobs=jobs, timeout=timeout, modules=needed)
        with closing(running) as endings:
            for ending in endings:
                case, answer = ending.task.case, ending.answer or {}
                error = ending.problem or answer.pop("error", None)
                sources, outputs = answer.pop("sources", []), answer.pop("outputs", [])
                if error is None:
                    _write_down(receipts, case, asked, sources, outputs, answer.get("findings", ()))
                    del waiting[case]
                else:
                    error = named(str(case.input), error)
                status = "done" if error is None else "failed"
                yield _result(case, status, ending.seconds, error, ending.log, answer)
    finally:
        remove_leftovers(case.output for case in waiting)


def _write_down(
    receipts: Receipts,
    case: Case,
    asked: dict[str, Any],
    sources: list[dict[str, Any]],
    outputs: list[dict[str, Any]],
    findings: Iterable[Mapping[str, Any]],
) -> None:
    try:
        receipts.add(case, asked, sources, outputs, findings)
    except OSError as why:
        raise WriteError(receipts.file, f"cannot be written: {why.strerror or why}") from None


def _result(
    case: Case,
    status: str,
    seconds: float = 0.0,
    error: str | None = None,
    log: str = "",
    contents: dict[str, Any] | None = None,
) -> Result:
    return {
        "input": str(case.input),
        "output": str(case.output),
        "status": status,
        "seconds": round(seconds, 3),
        "error": error,
        "report": [],
        **(contents or {}),
        **({"log": log} if log else {}),
    }


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A polite request to end (a queue's time limit) ends the children too, as Ctrl-C does."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(planned: Plan, silent: bool) -> Iterator[Callable[[Result], None]]:
    """Show on a terminal how far it has come; give what takes each result."""
    if silent or not sys.stderr.isatty() or len(planned.cases) == 1:
        yield lambda result: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("converting", total=len(planned.cases))
        failed = 0

        def step(result: Result) -> None:
            nonlocal failed
            failed += result["status"] == "failed"
            said = f"converting, {failed} failed" if failed else "converting"
            progress.update(task, advance=1, description=said)

        yield step


def _report(
    planned: Plan, results: list[Result], seconds: float, *, as_json: bool, quiet: bool
) -> None:
    """All that is printed when the work is over: problems on stderr, the rest on stdout."""
    from meshkit.cli.summary import print_cases

    order = {str(case.output): i for i, case in enumerate(planned.cases)}
    results.sort(key=lambda result: order[result["output"]])
    if as_json:
        counts = {s: sum(r["status"] == s for r in results) for s in ("done", "skipped", "failed")}
        totals = {
            "cases": len(results),
            **counts,
            "ignored": planned.ignored,
            "parts": planned.parts,
            "seconds": round(seconds, 3),
        }
        print(json.dumps({"cases": results, "totals": totals}, indent=2))
    elif not quiet:
        print_cases(results, ignored=planned.ignored, parts=planned.parts, seconds=seconds)
    sys.stdout.flush()
    for result in results:
        if result["error"] is not None:
            complain(result["error"])
