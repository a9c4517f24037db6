"""Which word was meant by one that is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

_TELLING: Final = 3
"""How many letters say that one word is in another."""


def did_you_mean(
    given: object, choices: Iterable[str], also: Mapping[str, str] | None = None
) -> str:
    """The end of a message, "; did you mean this or that?", or nothing where no choice is near.

    Near is what differs by case, hyphens and underscores only; then what the word begins with or
    that begins with it, what it holds or that holds it, the nearest length first; then what
    differs by a few letters.

    Args:
        given: what was found; only text can be near.
        choices: what could be meant.
        also: other names of choices.

    >>> did_you_mean("Green-Gauss", ["lsq", "green_gauss", "green_gauss_plain"])
    '; did you mean green_gauss?'
    >>> did_you_mean("tetrahedron", ["tetra", "quadratic_tetra", "lagrange_tetrahedron"])
    '; did you mean tetra or lagrange_tetrahedron?'
    >>> did_you_mean("velocity", ["p", "T"])
    ''
    """
    if not isinstance(given, str) or not _folded(given):
        return ""
    word = _folded(given)
    near = [name for other, name in (also or {}).items() if _folded(other) == word]
    folded = {choice: _folded(choice) for choice in choices}
    near += [choice for choice, like in folded.items() if like == word]
    if not near:
        held = [c for c, like in folded.items() if like and _in_each_other(like, word)]
        near = sorted(held, key=lambda c: _distance(folded[c], word))
        close = difflib.get_close_matches(word, folded.values(), 3)
        near += [c for like in close for c in folded if folded[c] == like]
    return f"; did you mean {' or '.join([*dict.fromkeys(near)][:3])}?" if near else ""


def _folded(text: str) -> str:
    return re.sub(r"[-_\s]", "", text.lower())


def _in_each_other(one: str, other: str) -> bool:
    """Whether the longer word holds the shorter one; a letter or two say nothing."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _TELLING and short in long


def _distance(one: str, other: str) -> tuple[bool, int]:
    """Words that begin alike come first, then those of like length."""
    alike = one.startswith(other) or other.startswith(one)
    return not alike, abs(len(one) - len(other))
