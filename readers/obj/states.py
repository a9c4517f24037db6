"""What holds in an OBJ file until the next statement of its kind: objects, groups, materials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch

from meshkit.errors import ReadError
from meshkit.readers.obj.lines import Ints, Lines
from meshkit.regions import Region
from meshkit.report import Ledger
from meshkit.words import words_of

_STATE: Final = frozenset({"o", "g", "usemtl", "s", "mtllib"})


_FREE_FORM: Final = frozenset(
    {
        *("vp", "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole"),
        *("scrv", "sp", "end", "con", "bzp", "bsp", "res", "cdc", "cdp"),
    }
)


_DISPLAY: Final = frozenset(
    {
        *("bevel", "c_interp", "d_interp", "lod", "maplib", "usemap", "shadow_obj", "trace_obj"),
        *("ctech", "stech", "mg", "call", "csh"),
    }
)


KINDS: Final = {"o": "object", "g": "group", "usemtl": "material"}


@dataclass
class _State:
    """The values of one keyword over the file: from which line each name holds."""

    lines: list[int] = field(default_factory=list)
    values: list[tuple[str, ...]] = field(default_factory=list)

    def say(self, line: int, value: tuple[str, ...]) -> None:
        self.lines.append(line)
        self.values.append(value)


def states_of(
    lines: Lines, cells: Ints, ledger: Ledger
) -> tuple[dict[str, Any], list[Region], dict[str, Any]]:
    """Fields and regions from the statements that hold until the next of their kind."""
    states = {word: _State() for word in KINDS}
    smoothing = _State()
    libraries: list[str] = []
    for line, word, rest in lines.statements:
        if word in ("o", "usemtl"):
            states[word].say(line, (rest,) if rest else ())
        elif word == "g":
            states[word].say(line, tuple(dict.fromkeys(words_of(rest))))
        elif word == "s":
            number = "0" if rest in ("off", "") else rest
            if re.fullmatch(r"\d{1,9}", number) is None:
                lines.fail(line, f"found {rest[:40]!r}", "a number or 'off' after 's'")
            smoothing.say(line, (number,))
        elif word == "mtllib":
            libraries += [rest] if rest else []
    cell_data: dict[str, Any] = {}
    if smoothing.lines:
        of_cell = np.searchsorted(smoothing.lines, cells)
        numbers = np.array([0, *(int(v[0]) for v in smoothing.values)], np.int32)
        cell_data["smoothing_group"] = numbers[of_cell]
        ledger.kept("field", "cell_data/smoothing_group", len(cells))
    found = [r for word, state in states.items() for r in _regions(KINDS[word], state, cells)]
    regions = []
    for region, name in zip(found, read_names([(r.kind, r.name) for r in found]), strict=True):
        if name != region.name:
            reason = f"{region.name!r} is the name of another kind of region too"
            ledger.converted("region", name, len(region), reason)
            region = region.replace(name=name, attributes={"name": region.name})
        ledger.kept("region", region.name, len(region))
        regions.append(region)
    attributes: dict[str, Any] = {}
    if libraries:
        attributes["mtllib"] = libraries
        ledger.kept("info", "attributes/mtllib", len(libraries))
    return cell_data, regions, attributes


def read_names(said: Sequence[tuple[str | None, str]]) -> list[str]:
    """What regions of these kinds and names are called: of one name, the later say their kind.

    >>> read_names([("object", "Cube"), ("group", "Cube")])
    ['Cube', 'Cube (group)']
    """
    taken: dict[str, None] = {}
    for kind, own in said:
        name, i = own, 2
        if name in taken:
            name = f"{own} ({kind})"
        while name in taken:
            name, i = f"{own} ({kind} {i})", i + 1
        taken[name] = None
    return list(taken)


def _regions(kind: str, state: _State, cells: Ints) -> Iterator[Region]:
    """The cells of each name, by first appearance; one that holds at no cell is empty."""
    if not state.lines:
        return
    of_cell = np.searchsorted(state.lines, cells)  # 0: before the first statement
    order = np.argsort(of_cell, kind="stable")
    ends = np.searchsorted(of_cell[order], np.arange(len(state.lines) + 2))
    dtype = np.int32 if len(cells) <= np.iinfo(np.int32).max else np.int64
    parts: dict[str, list[Ints]] = {}
    for i, names in enumerate(state.values, 1):
        for name in names:
            parts.setdefault(name, []).append(order[ends[i] : ends[i + 1]])
    for name, members in parts.items():
        ids = np.sort(np.concatenate(members)).astype(dtype)
        yield Region(name, "cell", torch.from_numpy(ids), kind=kind)


def refuse_or_count_rest(lines: Lines, ledger: Ledger) -> None:
    """Refuse what is no OBJ, count what is not held."""
    counts: dict[str, int] = {}
    for line, word, _ in lines.statements:
        if word in _FREE_FORM or word in _DISPLAY:
            counts[word] = counts.get(word, 0) + 1
        elif word not in _STATE:
            lines.fail(line, f"found {word[:40]!r}", "a statement of OBJ")
    for word, count in counts.items():
        reason = "free-form geometry" if word in _FREE_FORM else "how to display it"
        ledger.dropped("statement", word, count, reason)
    if not lines.data.strip():
        raise ReadError(lines.path, "holds nothing but blanks", expected="statements of OBJ")
