"""The lines of an OBJ file, sorted by their keyword."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.number_lines import (
    is_space,
    without_comments,
)
from meshkit.readers.texts import text_of
from meshkit.words import BLANKS

Ints = NDArray[np.int64]


_NUMERIC: Final = ("v", "vt", "vn", "f", "l", "p")


class Lines:
    """The lines of a file by their keyword."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")  # as old Macintoshes did
        if data.startswith(b"\xef\xbb\xbf"):
            data = b"   " + data[3:]
        # Continued lines are joined by as many spaces, so that places stay what they were.
        self.data = re.sub(rb"\\\r?\n", lambda m: b" " * len(m.group()), data) + b"\n"
        self._original = data
        raw = np.frombuffer(self.data, np.uint8)
        self._raw = raw
        ends = np.flatnonzero(raw == 10) + 1
        self._starts = np.concatenate([[0], ends[:-1]])
        self._lengths = ends - self._starts
        first, self._filled = _first_tokens(raw, ends)
        self._first = first
        self._class = self._classes(first)

    def _classes(self, first: Ints) -> NDArray[np.int8]:
        """Which of `_NUMERIC` each line is; -1 for a blank or a comment, -2 for the rest."""
        raw = self._raw
        padded = np.concatenate([raw, np.array([10, 10, 10], np.uint8)])
        a, b, c = padded[first], padded[first + 1], padded[first + 2]
        found = np.full(len(first), -2, np.int8)
        found[~self._filled | (a == ord("#"))] = -1
        open_b, open_c = is_space(b) | (b == 10), is_space(c) | (c == 10)
        for i, word in enumerate(_NUMERIC):
            if len(word) == 1:
                found[(a == ord(word)) & open_b] = i
            else:
                found[(a == ord("v")) & (b == ord(word[1])) & open_c] = i
        return found

    def number_of(self, line: int) -> int:
        """The number of a line in the file, continued lines counted."""
        return self._original.count(b"\n", 0, int(self._first[line])) + 1

    def of(self, word: str) -> tuple[bytes, Ints]:
        """The text of all lines of a keyword, without it and without comments, and which."""
        chosen = self._class == _NUMERIC.index(word)
        which = np.flatnonzero(chosen)
        raw = self._raw.copy() if len(which) else self._raw
        if len(which):
            for k in range(len(word)):
                raw[self._first[which] + k] = 32
        text = raw[np.repeat(chosen, self._lengths)].tobytes()
        return without_comments(text), which

    def before(self, word: str, lines: Ints) -> Ints:
        """How many lines of this keyword stand before each of these lines."""
        return np.searchsorted(np.flatnonzero(self._class == _NUMERIC.index(word)), lines)

    @cached_property
    def statements(self) -> list[tuple[int, str, str]]:
        """The lines of all other keywords: line, keyword, the rest."""
        out = []
        for line in np.flatnonzero(self._class == -2).tolist():
            start = int(self._starts[line])
            text = self.data[start : start + int(self._lengths[line])]
            word, _, rest = text_of(text).strip(BLANKS).partition(" ")
            if "\t" in word:
                word, _, more = word.partition("\t")
                rest = f"{more} {rest}"
            out.append((line, word, rest.strip(BLANKS)))
        return out

    def fail(self, line: int, found: str, expected: str) -> NoReturn:
        """Raise the error of one line."""
        raise ReadError(
            self.path, found, place=f"line {self.number_of(line)}", expected=expected
        ) from None


_DEEPEST: Final = 16


def _first_tokens(raw: NDArray[np.uint8], ends: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where the first word of each line begins, and whether there is one."""
    starts = np.concatenate([[0], ends[:-1]])
    first = starts.copy()
    # Most lines begin at once, and indented ones soon: they step on together.
    moving = np.flatnonzero(is_space(raw[first]))
    for _ in range(_DEEPEST):
        first[moving] += 1
        moving = moving[is_space(raw[first[moving]])]
    for line in moving.tolist():
        span = raw[first[line] : ends[line]]
        first[line] += int(np.argmin(is_space(span)))
    return first, raw[first] != 10


def shown(token: bytes) -> str:
    """A word as a message shows it."""
    return repr(token[:40].decode("utf-8", "replace"))
