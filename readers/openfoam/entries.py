"""What a dictionary of OpenFOAM holds, once it is read: a value, and how keys find it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


class Word(str):
    """A word without quotes."""

    __slots__ = ()


@dataclass(frozen=True)
class Dims:
    """[kg m s K mol A cd], or units in words."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Unread:
    """What would have to be run or looked up elsewhere: #calc, #codeStream, $UNKNOWN."""

    what: str
    line: int
    text: str = ""  # what would be run


Item = Any
"""int, float, str, `Word`, list (of items), `Dims`, `lists.Values`, `Dictionary` or `Unread`."""

_SAFE_PATTERN: Final = 4
_PATTERN_LENGTH: Final = 200


@dataclass
class Dictionary:
    """Entries by key; keys in quotes are patterns, and the last one that fits holds.

    An entry is a list of items, or a Dictionary.
    """

    line: int = 1
    entries: dict[str, list[Item] | Dictionary] = field(default_factory=dict)
    patterns: dict[str, list[Item] | Dictionary] = field(default_factory=dict)

    def put(self, key: str, value: list[Item] | Dictionary, *, pattern: bool) -> None:
        """Add an entry; a dictionary of a known key is merged into the known one."""
        home = self.patterns if pattern else self.entries
        known = home.get(key)
        if isinstance(known, Dictionary) and isinstance(value, Dictionary):
            known.merge(value)
            return
        if pattern:
            home.pop(key, None)  # the last one said is the first one asked
        home[key] = value

    def merge(self, other: Dictionary) -> None:
        """Take over all entries of another one."""
        for key, value in other.entries.items():
            self.put(key, value, pattern=False)
        for key, value in other.patterns.items():
            self.put(key, value, pattern=True)

    def find(self, key: str, also: Sequence[str] = ()) -> list[Item] | Dictionary | None:
        """The entry of a key, else the last one of the other names, else of the last pattern that
        fits the key."""
        if key in self.entries:
            return self.entries[key]
        if also:
            for name in reversed(self.entries):
                if name in also:
                    return self.entries[name]
        for pattern in reversed(self.patterns):
            if fits(pattern, key):
                return self.patterns[pattern]
        return None

    def items_of(self, key: str) -> list[Item]:
        """The items of an entry; [] where there is none, or it is a dictionary."""
        found = self.find(key)
        return found if isinstance(found, list) else []

    def word(self, key: str) -> str | None:
        """The first item of an entry as text, if it is one."""
        items = self.items_of(key)
        return str(items[0]) if items and isinstance(items[0], str) else None

    def number(self, key: str) -> int | float | None:
        """The last item of an entry, if it is a number: also of "nu [0 2 -1 ...] 0.01"."""
        items = self.items_of(key)
        last = items[-1] if items else None
        return last if isinstance(last, int | float) else None

    def remove(self, key: str, *, pattern: bool) -> None:
        """Take an entry away, or all whose key fits a pattern."""
        for name in [n for n in self.entries if n == key or (pattern and fits(key, n))]:
            del self.entries[name]
        self.patterns.pop(key if pattern else "", None)

    def below(self, key: str) -> Dictionary:
        """The dictionary of a key; an empty one where there is none."""
        found = self.find(key)
        return found if isinstance(found, Dictionary) else Dictionary(self.line)

    def unread(self) -> Iterator[tuple[str, Unread]]:
        """What was not read, with the path of its key."""
        for key, value in (*self.entries.items(), *self.patterns.items()):
            if isinstance(value, Dictionary):
                yield from ((f"{key}.{path}", what) for path, what in value.unread())
            else:
                yield from ((key, x) for x in _flat(value) if isinstance(x, Unread))


def _flat(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern of a dictionary's key is the whole of a name.

    One that could take for ever (groups repeated within repeated groups, many stars) fits nothing
    but its own text.
    """
    repeats = len(re.findall(r"[*+{]", pattern))
    nested = re.search(r"[*+{][^()]*\)+[*+{]", pattern)
    if len(pattern) > _PATTERN_LENGTH or repeats > _SAFE_PATTERN or nested or r"\1" in pattern:
        return pattern == name
    try:
        return re.fullmatch(pattern, name[:_PATTERN_LENGTH]) is not None
    except (re.error, RecursionError):
        return pattern == name


def sized(items: Sequence[Item]) -> list[Item]:
    """The items of a list behind its count and type: "List<word> 1(wall)" is ["wall"].

    >>> sized([2, ["a", "b"]]), sized([["a"]]), sized(["a"])
    (['a', 'b'], ['a'], ['a'])
    """
    return list(items[-1] if is_list(items) else items)


def is_list(items: Sequence[Item]) -> bool:
    """Whether items are one list, with its type and count before it or not."""
    if not items or not isinstance(items[-1], list):
        return False
    return all(
        isinstance(x, int) or (isinstance(x, Word) and x.startswith("List<")) for x in items[:-1]
    )
