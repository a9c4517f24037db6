"""What "$name" stands for in a dictionary, and where it is looked for."""

from __future__ import annotations

import re
from typing import Any, Final

from meshkit.readers.openfoam.entries import Dictionary

_INNER: Final = re.compile(r"\$\{([^${}]*)\}|\$(\w+)")


def named(text: str, scopes: list[Dictionary]) -> str:
    """The name that is meant where a part of it is a macro itself: "a_${b}"; text if unknown."""

    def value(found: re.Match[str]) -> str:
        items = look_up(found[1] or found[2], scopes)
        single = isinstance(items, list) and len(items) == 1
        return str(items[0]) if single and isinstance(items[0], str | int) else found[0]

    return _INNER.sub(value, text)


def look_up(name: str, scopes: list[Dictionary]) -> Any:
    """What a macro stands for; None if nothing.

    "x" is looked for from the innermost dictionary outwards, ":x" in the outermost, "..x" in the
    one around; a dot or slash goes into a dictionary.
    """
    at = len(scopes) - 1
    outward = True
    if name.startswith((":", "/", "!")):
        name, at, outward = name[1:], 0, False
    elif name.startswith("."):
        dots = len(name) - len(name.lstrip("."))
        name, at, outward = name[dots:], max(at - (dots - 1), 0), False
    while at >= 0:
        found = _into(scopes[at], name)
        if found is not None or not outward:
            return found
        at -= 1
    return None


def _into(start: Dictionary, name: str) -> Any:
    found = start.find(name)
    if found is not None:
        return found
    for mark in ("/", "."):
        at: Any = start
        for part in name.split(mark):
            at = at.find(part) if isinstance(at, Dictionary) else None
        if at is not None:
            return at
    return None


def copied(found: Dictionary) -> Dictionary:
    """A dictionary of its own with the same entries."""
    made = Dictionary(found.line)
    made.merge(
        Dictionary(
            found.line,
            {k: copied(v) if isinstance(v, Dictionary) else v for k, v in found.entries.items()},
            {k: copied(v) if isinstance(v, Dictionary) else v for k, v in found.patterns.items()},
        )
    )
    return made
