"""Words, numbers and signs out of a file of OpenFOAM, in windows: the file is never all in memory.

Source: OpenFOAM user guide, "Basic input/output file format"; what ISstream reads.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.openfoam.files import Bytes
from meshkit.words import BLANKS

_WINDOW: Final = 1 << 16
_LONGEST: Final = 1 << 20
_WORD_LENGTH: Final = 1 << 12
"""No text or piece of code is longer than the one, no word than the other, in bytes."""
_BLANK: Final = re.compile(rb"[ \t\r\n\v\f]*")
_NUMBER: Final = re.compile(
    rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=[\s;(){}\[\],]|/[/*]|\Z)"
)
_WORD: Final = re.compile(rb"[^\s\"';{}()\[\]]+")
_TEXT: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.S)
_BRACE: Final = re.compile(rb"[{}]")
_SIGNS: Final = frozenset(b"(){}[];")


class Token(NamedTuple):
    """A piece of text: kind "sign", "number", "word", "text", "macro", "directive" or "code"."""

    kind: str
    value: Any


class Scanner:
    """Reads a file from front to back.

    Args:
        source: the bytes.
        name: what errors call the file, where that is not its path (a processor's block).
    """

    def __init__(self, source: Bytes, name: str | None = None) -> None:
        self.source = source
        self.name = name or str(source.path)
        self.binary = False  # errors then name bytes, not lines
        self._text = b""
        self._at = 0
        self._lines = self._bytes = 0  # those before the window
        self._ended = False

    # --- where we are ---------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """How many bytes may still come."""
        return self.source.left + len(self._text) - self._at

    def place(self) -> str:
        """Where we are, as errors say it."""
        if self.binary:
            return f"byte {self._bytes + self._at}"
        return f"line {self.line}"

    @property
    def line(self) -> int:
        """The number of the line, from 1."""
        return self._lines + self._text.count(b"\n", 0, self._at) + 1

    @property
    def offset(self) -> int:
        """How many bytes are behind us."""
        return self._bytes + self._at

    def error(
        self, problem: str, *, place: str | None = None, expected: str = "", hint: str = ""
    ) -> ReadError:
        """An error that names the file and this place."""
        return ReadError(
            self.name,
            problem,
            place=place or self.place(),
            expected=expected or None,
            hint=hint or None,
        )

    def _more(self, least: int = _WINDOW) -> bool:
        """Widen the window; False at the end of the file."""
        if self._ended:
            return False
        behind = self._text[: self._at]
        self._lines += behind.count(b"\n")
        self._bytes += self._at
        got = self.source.read(max(least, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + got, 0
        self._ended = not got
        return bool(got)

    # --- pieces of text -------------------------------------------------------------------------

    def skip(self) -> None:
        """Pass over blanks and comments."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            if len(self._text) - self._at < 2 and self._more():
                continue
            start = self._text[self._at : self._at + 2]
            if start == b"//":
                self._pass_until(b"\n", open_ended=True)
            elif start == b"/*":
                self._pass_until(b"*/", open_ended=False)
            else:
                return

    def _pass_until(self, mark: bytes, *, open_ended: bool) -> None:
        begun = self.place()
        self._at += 2
        while True:
            found = self._text.find(mark, self._at)
            if found >= 0:
                self._at = found + len(mark)
                return
            self._at = max(self._at, len(self._text) - len(mark) + 1)
            if not self._more():
                self._at = len(self._text)
                if open_ended:
                    return
                raise self.error("a comment has no end", place=begun, expected="*/")

    def peek(self) -> bytes:
        """The next byte that is no blank or comment; b"" at the end."""
        self.skip()
        return self._text[self._at : self._at + 1]

    def token(self) -> Token | None:
        """The next piece of text; None at the end."""
        sign = self.peek()
        if not sign:
            return None
        if sign[0] in _SIGNS:
            self._at += 1
            return Token("sign", sign.decode())
        if sign == b'"':
            found = self._match(_TEXT)
            if found is None:
                raise self.error("a text has no end", expected='"')
            raw = found[1].replace(b"\\\n", b"").replace(b'\\"', b'"')
            return Token("text", raw.decode("utf-8", "replace"))
        if sign == b"'":
            raise self.error("a ' stands alone", expected='a word, or a text in "..."')
        number = self._match(_NUMBER)
        if number is not None:
            return Token("number", _value(number[0]))
        if sign == b"#":
            return self._directive()
        if sign == b"$":
            return self._macro()
        return Token("word", self._word())

    def _match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """What a pattern finds here, widening the window while it might go on behind its end."""
        while True:
            found = pattern.match(self._text, self._at)
            end = len(self._text) if found is None else found.end()
            if end < len(self._text) - 2 or len(self._text) - self._at > _LONGEST:
                break
            if found is None and pattern is not _TEXT and len(self._text) - self._at > 64:
                break
            if not self._more():
                found = pattern.match(self._text, self._at)
                break
        if found is not None:
            self._at = found.end()
        return found

    def _word(self) -> str:
        """A word; it may hold parentheses that pair up within it: div(phi,U)."""
        if len(self._text) - self._at < _WORD_LENGTH:
            self._more(_WORD_LENGTH)
        text, begun = self._text, self._at
        at, depth, opened = begun, 0, -1
        while True:
            found = _WORD.match(text, at)
            at = at if found is None else found.end()
            sign = text[at : at + 1]
            if sign == b"(" and at > begun:
                opened = at if depth == 0 else opened
                depth += 1
            elif sign == b")" and depth:
                depth -= 1
            else:
                break
            at += 1
        if depth:  # a word and a list right behind it: hex(0 1 2)
            at = opened
        comment = text.find(b"//", begun, at)
        at = comment if comment > begun else at
        if at == begun:
            raise self.error(f"{_shown(text[begun : begun + 1])} is no part of a word")
        if at - begun >= _WORD_LENGTH:
            raise self.error(f"a word of more than {_WORD_LENGTH} bytes", expected="OpenFOAM text")
        self._at = at
        return text[begun:at].decode("utf-8", "replace")

    def _directive(self) -> Token:
        if self._text.startswith(b"#{", self._at):
            begun = self.place()
            self._at += 2
            start, taken = self._at, b""
            while (end := self._text.find(b"#}", start)) < 0:
                taken = self._text[self._at :]
                if len(taken) > _LONGEST or not self._more():
                    raise self.error("code has no end", place=begun, expected="#}")
                start = self._at
            code = self._text[self._at : end]
            self._at = end + 2
            return Token("code", code.decode("utf-8", "replace"))
        self._at += 1
        # "#calc{...}" and "#eval{...}" need no blank between.
        return Token("directive", self._word() if self._text[self._at : self._at + 1] else "")

    def _macro(self) -> Token:
        self._at += 1
        if self._text.startswith(b"{", self._at):
            return Token("macro", self.braced("${").strip(BLANKS))
        return Token("macro", self._word())

    def braced(self, what: str) -> str:
        """What is between the "{" here and the "}" that pairs up with it; nothing else counts."""
        begun, depth, at = self.place(), 0, self._at
        while True:
            for found in _BRACE.finditer(self._text, at):
                depth += 1 if found[0] == b"{" else -1
                if depth == 0:
                    inside = self._text[self._at + 1 : found.start()]
                    self._at = found.end()
                    return inside.decode("utf-8", "replace")
            at = len(self._text) - self._at  # behind what the wider window begins with
            if at > _LONGEST or not self._more():
                raise self.error(f"{what} has no end", place=begun, expected="}")

    def expect(self, sign: bytes, where: str) -> None:
        """Pass over a sign that must come now."""
        found = self.peek()
        if found != sign:
            raise self.error(
                f"{where}: found {_shown(self._text[self._at : self._at + 20])}",
                expected=repr(sign.decode()),
            )
        self._at += 1

    def taken(self, sign: bytes) -> bool:
        """Pass over a sign if it comes now."""
        if self.peek() != sign:
            return False
        self._at += 1
        return True

    # --- bytes ----------------------------------------------------------------------------------

    def raw(self, array: NDArray[Any]) -> bool:
        """Fill an array with the bytes from here on; False where the file ends before."""
        view = memoryview(array.reshape(-1).view(np.uint8).data)
        here = min(len(view), len(self._text) - self._at)
        view[:here] = self._text[self._at : self._at + here]
        self._at += here
        if here == len(view):
            return True
        self._lines += self._text.count(b"\n")
        self._bytes += len(self._text)
        self._text, self._at = b"", 0
        got = self.source.fill(view[here:])
        self._bytes += got
        return here + got == len(view)

    def pass_bytes(self, count: int) -> bool:
        """Pass over bytes; False where the file ends before."""
        here = min(count, len(self._text) - self._at)
        self._at += here
        if here == count:
            return True
        self._lines += self._text.count(b"\n")
        self._bytes += len(self._text)
        self._text, self._at = b"", 0
        got = self.source.skip(count - here)
        self._bytes += got
        return here + got == count

    def window(self, least: int) -> bytes:
        """The text from here on, at least so many bytes of it unless the file ends before."""
        while len(self._text) - self._at < least and self._more(least):
            pass
        return self._text[self._at :]

    def advance(self, count: int) -> None:
        """Pass over bytes of the window."""
        self._at += count


def _value(number: bytes) -> int | float:
    try:
        return int(number)
    except ValueError:
        return float(number)


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace")) if text else "the end of the file"
