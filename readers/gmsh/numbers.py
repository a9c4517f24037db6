"""The numbers of a section, one after the other, from text or from bytes by the same questions.

Nothing is allocated before the section has been found long enough to hold it.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.ascii_numbers import BadNumber, parsed, words_count, words_end
from meshkit.readers.gmsh.sections import MshFile, Section
from meshkit.readers.texts import text_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EXACT: Final = 1 << 53
"""Whole numbers below it are what they are as floats."""
WHOLE: Final = "whole numbers below 2^53"

_WINDOW: Final = 1 << 20
_IN_CACHE: Final = 1 << 15  # numbers that are read and converted together
_BLANK: Final = (b"\n", b" ", b"\t", b"\r")


class Numbers(Protocol):
    """What stands in a section, in order."""

    def ints(self, count: int, what: str) -> Ints:
        """The next whole numbers of 4 bytes."""

    def sizes(self, count: int, what: str) -> Ints:
        """The next tags or counts."""

    def doubles(self, count: int, what: str) -> Floats:
        """The next floating-point numbers; the array is the caller's own."""

    def error(self, problem: str, expected: str, back: int = 0) -> ReadError:
        """An error at what was last asked for, `back` numbers after its begin."""

    def finish(self) -> None:
        """Refuse anything that is left.

        Raises:
            ReadError: there are more numbers.
        """


def numbers_of(msh: MshFile, section: Section, *, whole: bool = False) -> Numbers:
    """The numbers of a section; `whole` where all of them are whole, which is faster in text."""
    return BinaryNumbers(msh, section) if msh.binary else TextNumbers(msh, section, whole=whole)


def text_numbers(msh: MshFile, start: int, end: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """All numbers of a range of text, in windows, so that the text is never whole in memory.

    Whole numbers are int32 as long as all fit.

    Raises:
        ReadError: a word is no number; the message names the line.
    """
    parts: list[NDArray[Any]] = []
    at, kept = start, b""
    msh.file.seek(start)
    while at < end:
        chunk = msh.file.read(min(_WINDOW, end - at))
        at += len(chunk)
        text = kept + chunk
        cut = len(text) if at >= end or not chunk else max(map(text.rfind, _BLANK)) + 1
        text, kept = text[:cut], text[cut:]
        if len(kept) > _WINDOW:
            raise msh.error("a word without an end", at=at - len(kept), expected="numbers")
        parts.append(_window(msh, text, at - len(kept) - len(text), dtype))
        if not chunk:
            break
    return joined(parts, dtype)


def joined(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Parts one after the other, in their common dtype; each is let go once it is copied.

    So no more than one part is in memory twice: pages are there once they are written to.
    """
    if len(parts) == 1:
        return parts.pop()
    kind = np.result_type(*parts) if parts else dtype
    out = np.empty(sum(map(len, parts)), kind)
    at = 0
    for i in range(len(parts)):
        part, parts[i] = parts[i], parts[i][:0].copy()
        out[at : at + len(part)] = part
        at += len(part)
    return out


def _window(msh: MshFile, text: bytes, start: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    raw = np.frombuffer(text, np.uint8)
    place = msh.file.tell()
    try:
        found = parsed(text, words_count(raw, 0), dtype)
    except BadNumber as why:
        before = (words_end(raw, 0, why.index) or 0) if why.index else 0
        at = start + before + len(text[before:]) - len(text[before:].lstrip())
        kind = "whole numbers" if dtype.kind == "i" else "numbers"
        raise msh.error(f"found {why.word!r}", at=at, expected=kind) from None
    finally:
        msh.file.seek(place)
    if dtype.kind == "i" and len(found):
        ends = np.iinfo(np.int32)
        if ends.min <= int(found.min()) and int(found.max()) <= ends.max:
            return found.astype(np.int32)
    return found


class TextNumbers:
    """Numbers of an ascii section."""

    def __init__(self, msh: MshFile, section: Section, *, whole: bool) -> None:
        self.msh, self.section = msh, section
        dtype = np.dtype(np.int64 if whole else np.float64)
        self.flat = text_numbers(msh, section.start, section.end, dtype)
        self.at = self.last = 0

    def _take(self, count: int, what: str) -> NDArray[Any]:
        self.last = self.at
        if not 0 <= count <= len(self.flat) - self.at:
            left = len(self.flat) - self.at
            raise self.error(f"{count} numbers for {what}, but {left} are left", "true counts")
        self.at += count
        return self.flat[self.last : self.at]

    def ints(self, count: int, what: str) -> Ints:
        """The next whole numbers."""
        found = self._take(count, what)
        if found.dtype.kind == "i":
            return found
        with np.errstate(invalid="ignore"):
            whole = found.astype(np.int64)
        if (whole != found).any():
            bad = int(np.flatnonzero(whole != found)[0])
            raise self.error(f"found {found[bad]:g} for {what}", "whole numbers", bad)
        exact = not len(whole) or float(np.abs(found).max()) < EXACT
        return whole if exact else self._exactly(what)

    sizes = ints

    def _exactly(self, what: str) -> Ints:
        """The numbers that were taken last, of which some are beyond what a float holds."""
        text = self.msh.text(self.section)
        raw = np.frombuffer(text, np.uint8)
        begin, end = (words_end(raw, 0, n) or 0 for n in (self.last, self.at))
        out = np.empty(self.at - self.last, np.int64)
        for i, word in enumerate(text[begin:end].split()):
            digits = word.removeprefix(b"-")
            if not digits.isdigit() or len(digits) > 18:
                raise self.error(f"found {text_of(word[:40])} for {what}", "at most 18 digits", i)
            out[i] = int(word)
        return out

    def doubles(self, count: int, what: str) -> Floats:
        """The next numbers."""
        return self._take(count, what).astype(np.float64)

    def error(self, problem: str, expected: str, back: int = 0) -> ReadError:
        """An error in the line of a number."""
        msh, section = self.msh, self.section
        raw = np.frombuffer(msh.text(section), np.uint8)
        before = words_end(raw, 0, min(self.last + back, len(self.flat)))
        rest = raw[before:].tobytes()
        skipped = len(rest) - len(rest.lstrip())
        at = section.start + (len(raw) if before is None else before + skipped)
        return msh.error(problem, at=min(at, section.end), expected=expected)

    def finish(self) -> None:
        """Refuse numbers that nothing asked for."""
        left = len(self.flat) - self.at
        if left:
            self.last = self.at
            name = self.section.name
            raise self.error(f"{left} numbers more than its counts say", f"$End{name}")


class BinaryNumbers:
    """Numbers of a binary section."""

    def __init__(self, msh: MshFile, section: Section, start: int | None = None) -> None:
        self.msh, self.section = msh, section
        self.at = self.last = section.start if start is None else start
        self._size = 1
        self._int = np.dtype(f"{msh.order}i4")
        self._tag = np.dtype(f"{msh.order}u{msh.width}")
        self._double = np.dtype(f"{msh.order}f8")
        msh.file.seek(self.at)

    def take(self, dtype: np.dtype[Any], count: int, what: str) -> NDArray[Any]:
        """The next numbers of a dtype, as they stand in the file."""
        self._begin(dtype, count, what)
        out = np.empty(count, dtype)
        self._fill(out)
        return out

    def _begin(self, dtype: np.dtype[Any], count: int, what: str) -> None:
        """Refuse to read numbers that the section has no room for."""
        self.last, self._size = self.at, dtype.itemsize
        left = self.section.end - self.at
        if not 0 <= count <= left // dtype.itemsize:
            raise self.error(
                f"{count} numbers of {dtype.itemsize} bytes for {what}, but {left} bytes are left",
                "true counts",
            )

    def _fill(self, out: NDArray[Any]) -> None:
        if len(out) and self.msh.file.readinto(out.view(np.uint8)) != out.nbytes:  # type: ignore[attr-defined]
            raise self.error("the file ends too early", "a file that nobody else writes")
        self.at += out.nbytes

    def require(self, count: int, width: int, what: str) -> None:
        """Refuse rows of tags that the section has no room for, before there is memory for them."""
        self._begin(self._tag, count * width, what)

    def rows(self, first: NDArray[Any], rest: NDArray[Any], most: int | None, what: str) -> bool:
        """Read rows of tags into the arrays [n] and [n, width - 1], few at a time.

        Returns:
            False where a tag is greater than `most`; then nothing has been taken.
        """
        start, width = self.at, 1 + rest.shape[1]
        step = max(_IN_CACHE // width, 1)
        buffer = np.empty(min(step, len(first)) * width, self._tag)
        for low in range(0, len(first), step):
            high = min(low + step, len(first))
            some = buffer[: (high - low) * width]
            self.last = self.at
            self._fill(some)
            greatest = int(some.max())
            if most is not None and greatest > most:
                self.at = start
                self.msh.file.seek(start)
                return False
            self._refuse_beyond(some, greatest, what)
            table = some.reshape(-1, width)
            first[low:high], rest[low:high] = table[:, 0], table[:, 1:]
        return True

    def _refuse_beyond(self, found: NDArray[Any], greatest: int, what: str) -> None:
        if greatest >= 1 << 62:
            bad = int(np.argmax(found))
            raise self.error(f"found {found[bad]} for {what}", "a tag or a count", bad)

    def ints(self, count: int, what: str) -> Ints:
        """The next numbers of 4 bytes."""
        return self.take(self._int, count, what).astype(np.int64)

    def sizes(self, count: int, what: str) -> Ints:
        """The next tags or counts."""
        found = self.take(self._tag, count, what)
        self._refuse_beyond(found, int(found.max(initial=0)), what)
        return found.astype(np.int64)

    def doubles(self, count: int, what: str) -> Floats:
        """The next numbers of 8 bytes."""
        return self.take(self._double, count, what).astype(np.float64, copy=False)

    def error(self, problem: str, expected: str, back: int = 0) -> ReadError:
        """An error at the byte of a number."""
        return self.msh.error(problem, at=self.last + back * self._size, expected=expected)

    def finish(self) -> None:
        """Refuse bytes that nothing asked for, but for the end of a line."""
        left = self.section.end - self.at
        self.last, self._size = self.at, 1
        if left > 2 or self.msh.file.read(max(left, 0)).strip():
            raise self.error(f"{left} bytes more than its counts say", f"$End{self.section.name}")
