"""`meshkit info`: what a file holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from meshkit.cli import workers
from meshkit.cli.lines import complain, counted, named, shown
from meshkit.cli.moments import moment_of
from meshkit.cli.sight import modules_for, need_reader


def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Any file meshkit reads.")],
    time: Annotated[
        str, typer.Option(help='"first", "last", a step (3, -1) or a time (0.5, 2.0).')
    ] = "last",
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Say what a file holds, and what reading it did."""
    moment = moment_of(time)
    need_reader(file)
    # In a process of its own, so that a file that crashes a library still gets its line.
    needed = (*modules_for([file]), "meshkit.cli.facts")
    (ending,) = workers.run(_facts, [(file, moment)], jobs=1, modules=needed)
    if ending.problem is not None:
        complain(named(file, ending.problem))
        raise typer.Exit(1)
    if as_json:
        print(json.dumps(ending.answer, indent=2))
    else:
        _print(ending.answer)


def _facts(question: tuple[str, str | int | float]) -> dict[str, Any]:
    from meshkit.cli.facts import facts_of
    from meshkit.places import place_of
    from meshkit.readers.formats import reader_for
    from meshkit.readers.reading import read

    file, moment = question
    facts = facts_of(read(file, time=moment))
    # A store remembers where its mesh came from; asked is what lies here.
    return {**facts, "file": file, "format": reader_for(place_of(file)).name}


def _print(facts: dict[str, Any]) -> None:
    print(f"{shown(facts['file'])} ({facts['format']})")
    for what, text in (
        *_sizes(facts),
        *_fields(facts["fields"]),
        *_regions(facts["regions"]),
        *_report(facts["report"]),
        *_findings(facts["findings"]),
    ):
        print(f"  {what:<10} {text}")


def _sizes(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    cells = ", ".join(f"{n} {name}" for name, n in facts["cells_by_type"].items())
    unit = facts["length_unit"]
    yield "points", f"{facts['points']} in {facts['space_dim']}-D, {facts['points_dtype']}"
    yield "cells", f"{facts['cells']}" + (f": {cells}" if cells else "")
    if facts["faces"] is not None:
        yield "faces", str(facts["faces"])
    yield "unit", shown(unit) if unit else "unknown"
    if facts["bounds"] is not None:
        box = zip(facts["bounds"]["min"], facts["bounds"]["max"], strict=True)
        yield "bounds", " x ".join(f"[{low:.6g}, {high:.6g}]" for low, high in box)
    for row in facts["measures"]:
        power = {1: "", 2: "^2", 3: "^3"}[row["dim"]]
        text = "unknown" if row["total"] is None else f"{row['total']:.7g}"
        text += f" {shown(unit)}{power}" if unit else ""
        for what in ("negative", "unknown"):
            if row[what]:
                text += f", {counted(row[what], 'cell')} {what}"
        yield row["what"], text
    if facts["frame"] is not None:
        yield "frame", shown(facts["frame"])
    if facts["time"] is not None:
        yield "time", f"{facts['time']:.9g}"


def _fields(fields: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    names = [f"{field['home']}/{shown(field['name'])}" for field in fields]
    types = [_type(field) for field in fields]
    # Aligned, but one long name does not push all the others to the right.
    wide = max((len(name) for name in names if len(name) <= _WIDE), default=0)
    for name, type_, field in zip(names, types, fields, strict=True):
        unit = f" {shown(field['unit'])}" if field["unit"] else ""
        if "texts" in field:
            said = _texts(field)
        elif field["min"] is None:
            said = ["no finite number"]
        else:
            low, high, mean = (_shortly(field[what]) for what in ("min", "max", "mean"))
            said = [f"{low} to {high}{unit}, mean {mean}"]
        said += [f"{field[what]} {word}" for what, word in _ODD.items() if field.get(what)]
        yield "field", f"{name:<{wide}}  {type_:<11} {', '.join(said)}"


_WIDE: Final = 36
_SOME: Final = 6
_ODD: Final = {"nan": "NaN", "inf": "infinite", "missing": "missing"}


def _type(field: dict[str, Any]) -> str:
    shape = ", ".join(map(str, field["shape"]))
    return f"{field['dtype']}[{shape}]" if shape else str(field["dtype"])


def _texts(field: dict[str, Any]) -> list[str]:
    some = [f"{shown(text)} ({n})" for text, n in list(field["texts"].items())[:_SOME]]
    more = len(field["texts"]) - len(some)
    return some + ([f"{more} more texts"] if more else [])


def _shortly(x: float | int) -> str:
    return str(x) if isinstance(x, int) else f"{x:.6g}"


def _regions(regions: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for region in regions:
        said = [counted(region["size"], region["entity"])]
        if region["kind"]:
            said.append(shown(region["kind"]))
        if region["parent"]:
            said.append(f"in {shown(region['parent'])}")
        if region["fields"]:
            said.append(f"fields {', '.join(map(shown, region['fields']))}")
        yield "region", f"{shown(region['name'])}: {', '.join(said)}"


def _report(report: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    kept = sum(line["outcome"] == "kept" for line in report)
    yield "kept", f"{counted(kept, 'thing')} as in the file"
    for line in report:
        if line["outcome"] != "kept":
            thing = f"{line['what']} {shown(line['name'])}" if line["name"] else line["what"]
            lost = ", a loss" if line["loss"] else ""
            yield line["outcome"], f"{thing} ({line['count']}{lost}): {shown(line['reason'])}"


def _findings(findings: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for finding in findings:
        if finding["severity"] != "info":
            yield finding["severity"], f"{finding['code']}: {shown(finding['message'])}"
