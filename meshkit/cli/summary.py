"""What `meshkit convert` tells people when it is over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from meshkit.cli.lines import counted, shown

_LINES: Final = 20


def print_cases(
    results: Sequence[dict[str, Any]], *, ignored: int, parts: int, seconds: float
) -> None:
    """One case in detail, or several in a table of counts with what was converted and dropped."""
    if len(results) == 1 and results[0]["status"] == "done":
        _print_one(results[0])
        return
    counts = {s: sum(r["status"] == s for r in results) for s in ("done", "skipped", "failed")}
    said = [f"{n} {status}" for status, n in counts.items() if n or status == "done"]
    if parts:
        said.append(f"{counted(parts, 'file')} read as part of another")
    if ignored:
        said.append(f"{counted(ignored, 'other file')} ignored")
    print(f"{counted(len(results), 'case')} in {seconds:.1f} s: {', '.join(said)}")
    _print_losses(results)
    for result in results:
        _print_findings(result, f"{shown(result['input'])}: ")


def _print_one(result: dict[str, Any]) -> None:
    print(f"{shown(result['input'])} -> {shown(result['output'])} ({result['seconds']:.1f} s)")
    cells = result["cells"]
    rows = [
        ("points", str(result["points"])),
        ("cells", f"{sum(cells.values())}{_named(f'{n} {name}' for name, n in cells.items())}"),
        ("fields", ", ".join(map(shown, result["fields"])) or "none"),
        (
            "regions",
            ", ".join(
                f"{shown(r['name'])} ({counted(r['size'], r['entity'])})" for r in result["regions"]
            )
            or "none",
        ),
        ("unit", shown(result["length_unit"] or "unknown")),
    ]
    if "times" in result:
        rows.append(("times", f"{result['times']}; of the last are the numbers above"))
    for what, text in rows:
        print(f"  {what:<10} {text}")
    _print_losses([result])
    _print_findings(result)


def _print_findings(result: dict[str, Any], where: str = "") -> None:
    """What is wrong with the mesh, which is converted all the same: `meshkit info` tells more."""
    found = [f for f in result.get("findings", ()) if f["severity"] != "info"]
    for finding in found[:_LINES]:
        said = f"{where}{finding['code']}: {shown(finding['message'])}"
        print(f"  {finding['severity']:<10} {said}")
    if len(found) > _LINES:
        print(f"  and {len(found) - _LINES} more; --json lists them all")


def _named(parts: Iterable[str]) -> str:
    text = ", ".join(parts)
    return f": {text}" if text else ""


def _print_losses(results: Sequence[dict[str, Any]]) -> None:
    """Each thing that did not arrive as it was, once, with its rows and cases added up."""
    rows: dict[tuple[Any, ...], int] = defaultdict(int)
    cases: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for i, result in enumerate(results):
        if result["status"] != "done":
            continue
        for line in result["report"]:
            if line["outcome"] != "kept":
                key = tuple(line[x] for x in ("outcome", "what", "name", "reason", "loss"))
                rows[key] += line["count"]
                cases[key].add(i)
    for key in list(rows)[:_LINES]:
        outcome, what, name, reason, lost = key
        where = f" in {counted(len(cases[key]), 'case')}" if len(results) > 1 else ""
        thing = f"{what} {shown(name)}" if name else what
        loss = ", a loss" if lost else ""
        print(f"  {outcome:<10} {thing} ({rows[key]}{where}{loss}): {shown(reason)}")
    if len(rows) > _LINES:
        print(f"  and {len(rows) - _LINES} more; --json lists them all")
