"""What #if and #ifeq of a dictionary are decided by.

Source: OpenFOAM's functionEntries (ifEntry, ifeqEntry) and Switch.
"""

from __future__ import annotations

from typing import Final

from meshkit.readers.openfoam.entries import Item

_TRUTHS: Final = {
    **dict.fromkeys(("true", "on", "yes", "t", "y"), True),
    **dict.fromkeys(("false", "off", "no", "f", "n", "none"), False),
}


def truth(item: Item) -> bool | None:
    """What a number or a word says; None where it is neither yes nor no.

    >>> truth(0), truth("on"), truth("maybe")
    (False, True, None)
    """
    if isinstance(item, int | float):
        return item != 0
    return _TRUTHS.get(item) if isinstance(item, str) else None


def same(one: Item, other: Item) -> bool | None:
    """Whether two numbers or words are equal; None where one is neither.

    >>> same(1, 1.0), same("a", "b"), same("1", 1)
    (True, False, False)
    """
    known = all(isinstance(x, int | float | str) for x in (one, other))
    return one == other if known else None
