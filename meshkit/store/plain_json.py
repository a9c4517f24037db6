"""JSON that every program understands alike: ASCII, no number that is not finite, no key twice."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

_HOLDERS: Final = frozenset({list, dict})
_MARK: Final = "$"
_NUMBER: Final = "$number"
_SPELLED: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_plain(value: Any) -> Any:
    """The value with NaN and infinities as {"$number": "NaN" | "Infinity" | "-Infinity"}.

    A "$" that begins a key of the value's own is doubled.

    >>> to_plain({"limits": (0.5, float("inf"))})
    {'limits': [0.5, {'$number': 'Infinity'}]}

    Raises:
        TypeError: JSON has no word for the value; the message names it.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return {_NUMBER: "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text")
        return {_doubled(key): to_plain(one) for key, one in value.items()}
    raise TypeError(f"{type(value).__name__} {str(value)[:40]!r}")


def from_plain(value: Any) -> Any:
    """The inverse of `to_plain`; lists stay lists."""
    # Only what holds others is looked into: there may be a million numbers and texts.
    if isinstance(value, list):
        return [from_plain(one) if type(one) in _HOLDERS else one for one in value]
    if isinstance(value, dict):
        if len(value) == 1 and value.get(_NUMBER) in _SPELLED:
            return _SPELLED[value[_NUMBER]]
        return {
            key.removeprefix(_MARK): from_plain(one) if type(one) in _HOLDERS else one
            for key, one in value.items()
        }
    return value


def _doubled(key: str) -> str:
    return _MARK + key if key.startswith(_MARK) else key


def from_bytes(data: bytes) -> Any:
    """What `to_bytes` wrote.

    Raises:
        ValueError: it is no such JSON; also when it is nested too deeply.
    """
    try:
        return json.loads(
            data.decode("ascii"), parse_constant=_refused, object_pairs_hook=_without_twins
        )
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _refused(word: str) -> Any:
    raise ValueError(f"holds {word}")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        # One program takes the first, another the last.
        raise ValueError("has a key twice")
    return out


def to_bytes(value: Any) -> bytes:
    """The text of plain JSON, without spaces, in ASCII."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
