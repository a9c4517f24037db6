"""Many numbers out of text, at the speed of numpy, with the place of the one that is wrong."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_WINDOW: Final = 1 << 22


class BadNumber(ValueError):
    """A word that is not a number of the type wanted.

    Args:
        index: which word of the text, from 0.
        word: the word.
    """

    def __init__(self, index: int, word: bytes) -> None:
        self.index = index
        self.word = word[:40].decode("utf-8", "replace")
        super().__init__(self.word)


def blank(raw: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes separate words: space, tab, line ends, vertical tab, form feed."""
    between: NDArray[np.bool_] = (raw >= 9) & (raw <= 13)
    between |= raw == 32
    return between


def words_end(raw: NDArray[np.uint8], start: int, count: int) -> int | None:
    """Where the last of `count` words from `start` on ends; None if there are fewer.

    Looks at windows of a few MB, so that the cost is the length of the words, not of the file.
    """
    if count == 0:
        return start
    if count > (len(raw) - start + 1) // 2:
        return None
    found = 0
    for low in range(start, len(raw), _WINDOW):
        space = blank(raw[low : low + _WINDOW + 1])
        # A word ends where the next byte is blank, or the text ends.
        ends = ~space[:_WINDOW]
        ends[: len(space) - 1] &= space[1:]
        total = int(np.count_nonzero(ends))
        if found + total >= count:
            return low + int(np.flatnonzero(ends)[count - found - 1]) + 1
        found += total
    return None


def parsed(text: bytes, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The `count` numbers that a text consists of.

    Floats may be nan and inf, with a sign; they are read as float64 and rounded. Integers are
    exact over the whole range of the dtype.

    Raises:
        BadNumber: a word is no such number, or does not fit the dtype.
    """
    wide = np.dtype(
        np.float64 if dtype.kind == "f" else np.uint64 if dtype.kind == "u" else np.int64
    )
    numbers = _all_numbers(text, wide, count)
    if numbers is None or _beyond(numbers, dtype) or (dtype.kind == "u" and b"-" in text):
        _find_bad(text, dtype)
        # Only saturated ends of the widest types come here, and they are right.
        numbers = np.array([int(word) for word in text.split()], dtype=wide)
    with np.errstate(over="ignore"):  # a double beyond float32 becomes inf
        return numbers.astype(dtype, copy=False)


def _all_numbers(text: bytes, wide: np.dtype[Any], count: int) -> NDArray[Any] | None:
    """The numbers, or None where some word is none (numpy 2.0 to 2.3 warn of it, 2.4 raises)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(text, dtype=wide, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    # "1-2" is two numbers to numpy and no number to us.
    return numbers if len(numbers) == count else None


def _beyond(numbers: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether an integer reaches or passes the ends of the dtype (numpy saturates silently)."""
    if dtype.kind == "f" or len(numbers) == 0:
        return False
    ends = np.iinfo(dtype)
    low, high = int(numbers.min()), int(numbers.max())
    if dtype.itemsize == 8:
        return high == ends.max or (dtype.kind == "i" and low == ends.min)
    return low < ends.min or high > ends.max


def _find_bad(text: bytes, dtype: np.dtype[Any]) -> None:
    """Raise `BadNumber` for the first bad word."""
    whole = dtype.kind != "f"
    ends = np.iinfo(dtype) if whole else None
    for index, word in enumerate(text.split()):
        try:
            if b"_" in word:
                raise ValueError
            value = int(word) if whole else float(word)
        except ValueError:
            raise BadNumber(index, word) from None
        if ends is not None and not ends.min <= value <= ends.max:
            raise BadNumber(index, word)


def words_count(raw: NDArray[np.uint8], start: int) -> int:
    """How many words there are from `start` on."""
    total = 0
    before = True  # whether the byte before is blank
    for low in range(start, len(raw), _WINDOW):
        space = blank(raw[low : low + _WINDOW])
        begins = ~space
        begins[1:] &= space[:-1]
        begins[0] &= before
        total += int(np.count_nonzero(begins))
        before = bool(space[-1])
    return total
