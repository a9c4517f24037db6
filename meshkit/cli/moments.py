"""Which time of a series is meant by --time."""

from __future__ import annotations

import math

from meshkit.cli.misuse import Misuse


def moment_of(text: str) -> str | int | float:
    """What `meshkit.read` takes as `time`: a word, a step (int) or a time (float).

    >>> moment_of("last"), moment_of("-1"), moment_of("2"), moment_of("2.0"), moment_of("1e-3")
    ('last', -1, 2, 2.0, 0.001)

    Raises:
        Misuse: it is none of these.
    """
    if text in ("first", "last"):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        moment = float(text)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise Misuse(f"--time {text}: expected first, last, a step (3, -1) or a time (0.5)")
    return moment
