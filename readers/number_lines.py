"""Lines of numbers in a text, all at once: where words begin, how many a line has, their values."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.ascii_numbers import BadNumber, parsed

_SPACE: Final = np.isin(np.arange(256), (9, 11, 12, 13, 32))
_NUMBER: Final = re.compile(
    rb"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


def is_space(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes are blanks within a line: not the line feed."""
    blank: NDArray[np.bool_] = _SPACE[text]
    return blank


def word_starts(text: bytes) -> NDArray[np.bool_]:
    """At which bytes a word begins."""
    raw = np.frombuffer(text, np.uint8)
    blank = is_space(raw) | (raw == 10)
    begins: NDArray[np.bool_] = ~blank
    begins[1:] &= blank[:-1]
    return begins


def words_per_line(text: bytes) -> NDArray[np.int64]:
    """How many words each line has; a text must end in a line feed.

    >>> words_per_line(b"1 2 3\\n\\n 4\\n").tolist()
    [3, 0, 1]
    """
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    total = np.cumsum(word_starts(text), dtype=np.int64)[ends]
    return np.diff(total, prepend=0)


def numbers(text: bytes, dtype: Any = np.float64) -> NDArray[Any] | None:
    """All numbers of a text; None where a word is no number, or does not fit the dtype.

    >>> numbers(b"1 2.5 nan\\n").tolist()
    [1.0, 2.5, nan]
    """
    try:
        return parsed(text, int(word_starts(text).sum()), np.dtype(dtype))
    except BadNumber:
        return None


def is_number(word: bytes) -> bool:
    """Whether a word is a decimal number, infinity or NaN."""
    return _NUMBER.fullmatch(word) is not None


def without_comments(text: bytes) -> bytes:
    """Blanks in place of what follows a "#" on a line; every place stays what it was."""
    if b"#" not in text:
        return text
    return re.sub(rb"#[^\n]*", lambda found: b" " * len(found.group()), text)
