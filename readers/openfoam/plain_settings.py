"""Entries of dictionaries as JSON can say them, for attributes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

from meshkit.readers.openfoam.dimensions import dims_of, exponents, in_other_units, unit
from meshkit.readers.openfoam.entries import Dictionary, Dims, Item, Unread, is_list
from meshkit.readers.openfoam.lists import Values
from meshkit.report import Ledger
from meshkit.words import BLANKS

_SHORT: Final = 64
"""Lists of more rows than this do not belong into attributes; they stand as their count."""


def plain(found: Dictionary, without: Container[str] = ()) -> dict[str, Any]:
    """All entries; patterns keep their quotes.

    A dimensioned value ("nu [0 2 -1 0 0 0 0] 0.01") is {"value": 0.01, "unit": "m^2/s"}; what
    would have to be run stays as its text.
    """
    rows = [(k, v) for k, v in found.entries.items() if k not in without]
    rows += [(f'"{k}"', v) for k, v in found.patterns.items()]
    return {k: plain(v) if isinstance(v, Dictionary) else plain_items(v) for k, v in rows}


def plain_items(items: Sequence[Item]) -> Any:
    """An entry: its one item, or a list."""
    dims = dims_of(items)
    last = items[-1] if items else None
    known = dims is not None or in_other_units(items)
    if known and len(items) > 1 and isinstance(last, int | float | list):
        said = next(x for x in items if isinstance(x, Dims))
        return {"value": _plain(last), "unit": _plain(said)}
    if is_list(items):
        return [_plain(x) for x in items[-1]]
    return _plain(items[0]) if len(items) == 1 else [_plain(x) for x in items]


def _plain(item: Item) -> Any:
    if isinstance(item, Dictionary):
        return plain(item)
    if isinstance(item, Dims):
        return unit(exponents(item.items)) or " ".join(map(str, item.items))
    if isinstance(item, Unread):
        return f"{item.what} {item.text}".strip(BLANKS)
    if isinstance(item, Values):
        if item.count > _SHORT:
            return f"{item.count} {item.kind}s"
        return item.rows.tolist() if not item.uniform else item.rows.tolist() * item.count
    if isinstance(item, list):
        return [_plain(x) for x in item]
    if isinstance(item, tuple):
        return {str(item[0]): plain(item[1])}
    return item if isinstance(item, int | float) else str(item)


def note_unread(found: Dictionary, where: str, ledger: Ledger) -> None:
    """Count what would have to be run, and stays as its text."""
    for key, what in found.unread():
        reason = f"{what.what} in line {what.line} is not run; its text is kept"
        ledger.converted("setting", f"{where} {key}"[:300], 1, reason)
