"""A cursor over a legacy VTK file: words, numbers, arrays, and errors that say where.

Keywords and counts are words between blanks, whatever the lines. The numbers of an array follow
in the same manner in an ascii file; in a binary one they begin on the next line, big-endian.
Nothing is allocated before the file has been found long enough to hold it.

Source: VTK File Formats (legacy), and the files that VTK 9.7 writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.memory import need_room
from meshkit.readers.ascii_numbers import BadNumber, parsed, words_end
from meshkit.readers.texts import text_of
from meshkit.readers.vtk_legacy.words import DTYPES, OTHER_TYPES, decoded

_WORD: Final = re.compile(rb"[ \t-\r]*([^ \t-\r]{1,4096})")
_METADATA: Final = re.compile(rb"[ \t-\r]*metadata[ \t]*\r?(?:\n|\Z)", re.IGNORECASE)
_WHOLE: Final = re.compile(rb"[+-]?[0-9]{1,18}")
_KEY: Final = re.compile(rb"NAME (\S+) LOCATION (\S+)\s*", re.IGNORECASE)

# vtkType.h: the variants that are whole numbers, and those that are numbers at all.
_WHOLE_VARIANTS: Final = frozenset({1, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17})
_NUMBER_VARIANTS: Final = _WHOLE_VARIANTS | {10, 11}


@dataclass
class Column:
    """One array as it stands in the file.

    `values` are numbers [n, c] in native byte order (bits are bools), or n c texts.
    `information` holds the keys of its METADATA as "LOCATION::NAME" with the words of their
    data; `unit` is taken out of them.
    """

    values: NDArray[Any] | list[str]
    components: tuple[str, ...] | None = None
    unit: str | None = None
    information: dict[str, list[str]] = field(default_factory=dict)


class Scanner:
    """Where we are in the bytes of a file.

    Args:
        path: the file, for messages.
        data: all of it.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.raw = np.frombuffer(data, np.uint8)
        self.at = 0
        self.binary = False
        self._word_at = 0

    @property
    def left(self) -> int:
        """How many bytes follow."""
        return len(self.data) - self.at

    def error(
        self,
        problem: str,
        *,
        at: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> ReadError:
        """An error at a byte (the last word's, unless given): its line, or the byte if binary."""
        at = self._word_at if at is None else at
        place = f"byte {at}" if self.binary else f"line {self.data.count(10, 0, at) + 1}"
        return ReadError(self.path, problem, place=place, expected=expected, hint=hint)

    def line(self) -> bytes:
        """The rest of this line without its end; the cursor goes to the next."""
        self._word_at = self.at
        end = self.data.find(b"\n", self.at)
        end = len(self.data) if end < 0 else end
        text = self.data[self.at : end]
        self.at = min(end + 1, len(self.data))
        return text.removesuffix(b"\r")

    def peek(self) -> bytes | None:
        """The next word, where it is; None at the end."""
        found = _WORD.match(self.data, self.at)
        return None if found is None else found[1]

    def word(self) -> bytes | None:
        """The next word; None at the end."""
        found = _WORD.match(self.data, self.at)
        if found is None:
            self.at = self._word_at = len(self.data)
            return None
        self._word_at, self.at = found.start(1), found.end(1)
        return found[1]

    def need(self, what: str) -> bytes:
        """The next word, which must be there."""
        word = self.word()
        if word is None:
            raise self.error("ends too early", expected=what)
        return word

    def name(self, what: str) -> str:
        """The next word as a name."""
        return decoded(self.need(what))

    def integer(self, what: str, low: int = 0) -> int:
        """The next word as an integer of at least `low`."""
        word = self.need(what)
        if _WHOLE.fullmatch(word) is None or int(word) < low:
            raise self.error(f"found {shown(word)}", expected=f"{what}, an integer from {low} up")
        return int(word)

    def real(self, what: str) -> float:
        """The next word as a number."""
        word = self.need(what)
        try:
            return float(parsed(word, 1, np.dtype(np.float64))[0])
        except BadNumber:
            raise self.error(f"found {shown(word)}", expected=f"{what}, a number") from None

    def column(self, n: int, c: int, what: str) -> Column:
        """The array whose type is the next word: n rows of c components, and its METADATA."""
        type_name = self.need(f"the type of {what}").decode("ascii", "replace").lower()
        return self.rest_of_column(type_name, n, c, what)

    def rest_of_column(self, type_name: str, n: int, c: int, what: str) -> Column:
        """As `column`, once the type is known."""
        if type_name == "bit":
            values: NDArray[Any] | list[str] = self._bits(n * c, what).reshape(n, c)
        elif type_name in ("string", "utf8_string"):
            values = self._texts(n * c, what)
        elif type_name == "variant":
            values = self._variants(n, c, what)
        elif type_name in DTYPES:
            values = self.numbers(DTYPES[type_name], n * c, what).reshape(n, c)
            if type_name == "vtkidtype":
                values = values.astype(np.int64)
        else:
            known = ", ".join(sorted({*DTYPES, *OTHER_TYPES}))
            raise self.error(f"{what} has the unknown type {type_name!r}", expected=known)
        column = Column(values)
        if _METADATA.match(self.data, self.at):
            self._metadata(column, c, what)
        return column

    def numbers(self, dtype: np.dtype[Any], total: int, what: str) -> NDArray[Any]:
        """Flat numbers in native byte order; `dtype` is the one of binary files."""
        native = dtype.newbyteorder("=")
        need_room(self.path, min(total, len(self.data)) * native.itemsize, place=what)
        if self.binary:
            start = self._binary_start(total * dtype.itemsize, f"{total} numbers of {what}")
            found = np.frombuffer(self.data, dtype, total, start)
            self.at = start + total * dtype.itemsize
            return found.astype(native)
        start = self.at
        end = words_end(self.raw, start, total)
        if end is None:
            raise self.error(
                "ends too early", at=len(self.data), expected=f"{total} numbers of {what}"
            )
        text = self.data[start:end]
        try:
            found = parsed(text, total, native)
        except BadNumber as why:
            before = words_end(self.raw, start, why.index) or start
            word = _WORD.match(self.data, before)
            raise self.error(
                f"{why.word!r} among the numbers of {what}",
                at=before if word is None else word.start(1),
                expected=f"{total} numbers of type {native.name}",
            ) from None
        self.at = end
        return found

    def _binary_start(self, size: int, what: str) -> int:
        """The byte after this line, from which `size` bytes must be there."""
        header = self._word_at
        self.line()
        if size > self.left:
            raise self.error(
                f"{size} bytes for {what}, but {self.left} left in the file",
                at=header,
                expected="a whole file with true counts",
            )
        return self.at

    def _bits(self, total: int, what: str) -> NDArray[np.bool_]:
        if not self.binary:
            return self.numbers(np.dtype(">i8"), total, what).astype(np.bool_)
        size = (total + 7) // 8
        start = self._binary_start(size, f"{total} bits of {what}")
        self.at = start + size
        packed = np.frombuffer(self.data, np.uint8, size, start)
        return np.unpackbits(packed, count=total).view(np.bool_)

    def _texts(self, total: int, what: str) -> list[str]:
        # A text takes a line, or at least the byte of its length.
        start = self._binary_start(max(total - (not self.binary), 0), f"{total} texts of {what}")
        if not self.binary:
            lines: list[str] = []
            for _ in range(total):
                if self.at >= len(self.data) and len(lines) < total - 1:
                    raise self.error("ends too early", expected=f"{total} texts of {what}")
                lines.append(decoded(self.line()))
            return lines
        texts = []
        at = start
        for i in range(total):
            # Two bits say how many bytes the length takes: 11 one, 10 two, 01 four, 00 eight.
            width = (8, 4, 2, 1)[self.data[at] >> 6] if at < len(self.data) else 1
            length = int.from_bytes(self.data[at : at + width], "big")
            length &= (1 << (8 * width - 2)) - 1 if width < 8 else (1 << 64) - 1
            end = at + width + length
            if end > len(self.data) or at >= len(self.data):
                raise self.error(
                    f"text {i} of {what} has {length} bytes, beyond the end of the file",
                    at=at,
                    expected=f"{total} texts",
                )
            texts.append(text_of(self.data[at + width : end]))
            at = end
        self.at = at
        return texts

    def _variants(self, n: int, c: int, what: str) -> NDArray[Any] | list[str]:
        """One line a value, "type text", in binary files too; numbers if all of them are."""
        total = n * c
        self._binary_start(max(3 * total - 1, 0), f"{total} variants of {what}")
        types, texts = set(), []
        for _ in range(total):
            code, _, text = self.line().strip().partition(b" ")
            if _WHOLE.fullmatch(code) is None:
                raise self.error(
                    f"{shown(code)} as the type of a variant of {what}",
                    expected="a number of vtkType.h and the value",
                )
            types.add(int(code))
            texts.append(decoded(text))
        for dtype, kinds in ((np.int64, _WHOLE_VARIANTS), (np.float64, _NUMBER_VARIANTS)):
            if types <= kinds:
                try:
                    return parsed("\n".join(texts).encode(), total, np.dtype(dtype)).reshape(n, c)
                except BadNumber:
                    break
        return texts

    def _metadata(self, column: Column, c: int, what: str) -> None:
        """The METADATA block: up to an empty line or the end."""
        self.word()
        self.line()
        while self.at < len(self.data) and (line := self.line().strip()):
            words = line.split()
            key = words[0].lower()
            if key == b"component_names":
                names = tuple(decoded(self.line().strip()) for _ in range(c))
                column.components = names if any(names) else None
            elif key == b"information":
                if len(words) != 2 or _WHOLE.fullmatch(words[1]) is None:
                    raise self.error(f"{shown(line)}", expected="INFORMATION and a count")
                self._information(column, int(words[1]), what)
            else:
                raise self.error(
                    f"{shown(line)} in the METADATA of {what}",
                    expected="COMPONENT_NAMES, INFORMATION or an empty line",
                )

    def _information(self, column: Column, count: int, what: str) -> None:
        for _ in range(count):
            line = b""
            while not line:
                if self.at >= len(self.data):
                    raise self.error("ends too early", expected=f"{count} keys of {what}")
                line = self.line().strip()
            found = _KEY.fullmatch(line)
            if found is None:
                raise self.error(shown(line), expected="NAME ... LOCATION ...")
            key = f"{decoded(found[2])}::{decoded(found[1])}"
            line = self.line().strip()
            if line[:4].upper() != b"DATA":
                raise self.error(shown(line), expected=f"DATA of the key {key}")
            words = [decoded(word) for word in line[4:].split()]
            # A vector of texts has a line each after their number.
            if len(words) == 1 and words[0].isdecimal():
                lines: list[str] = []
                while len(lines) < int(words[0]) and not self._block_ends():
                    lines.append(decoded(self.line().strip()))
                words = lines or words
            if key == "vtkDataArray::UNITS_LABEL":
                column.unit = words[0] if words else None
            else:
                column.information[key] = words

    def _block_ends(self) -> bool:
        """Whether the next line is empty, the end, or another key."""
        end = self.data.find(b"\n", self.at, self.at + 4096)
        line = self.data[self.at : self.at + 4096 if end < 0 else end].strip()
        return not line or line[:5].upper() == b"NAME " or line.upper() == b"COMPONENT_NAMES"


def shown(word: bytes) -> str:
    """How a message quotes bytes of the file."""
    return repr(word[:40].decode("utf-8", "replace"))
