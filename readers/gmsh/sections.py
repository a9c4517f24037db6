"""An MSH file as a list of sections, each a range of bytes; none is parsed before it is asked for.

Source: Gmsh reference manual, "MSH file format" (version 4.1) and "Legacy formats" (4.0 and 2.2).
"""

from __future__ import annotations

import re
import struct
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from meshkit.errors import ReadError
from meshkit.readers.gmsh.elements import sizes
from meshkit.readers.texts import text_of

_WINDOW: Final = 1 << 20
_FIRST_WINDOW: Final = 1 << 14
_LONGEST: Final = 1 << 16  # bytes of a line of the header or of a name
_BEGIN: Final = re.compile(rb"\s*\$(\w{1,64})\s*$")
_KNOWN: Final = ("2", "2.0", "2.1", "2.2", "4", "4.0", "4.1")
_WANTED: Final = "version 2 to 2.2, 4.0 (ascii) or 4.1"
_SAVE: Final = "open it in gmsh and save it as version 4.1"


@dataclass(frozen=True)
class Section:
    """One section: its name, and the bytes between its first line and its end mark."""

    name: str
    start: int
    end: int


@dataclass
class MshFile:
    """What the header of a file says, and where its sections are.

    `width` is the number of bytes of a tag or a count in a binary file of version 4.1.
    """

    path: Path
    file: BinaryIO
    version: tuple[int, int] = (0, 0)
    binary: bool = False
    order: str = "<"
    width: int = 8
    sections: list[Section] = field(default_factory=list)

    @staticmethod
    def opened(path: Path, file: BinaryIO) -> MshFile:
        """The file with its sections found.

        Raises:
            ReadError: it is no MSH file, of a version that is not read, or a section has no end.
        """
        it = MshFile(path, file)
        for section in it._found():
            if section.name == "MeshFormat":
                it._header(section)
            else:
                it.sections.append(section)
        if it.version == (0, 0):
            raise ReadError(path, "has no $MeshFormat", expected="a Gmsh MSH file")
        return it

    def named(self, *names: str) -> list[Section]:
        """The sections of these names, in the order of the file."""
        return [section for section in self.sections if section.name in names]

    def only(self, name: str) -> Section | None:
        """The one section of this name; None if there is none.

        Raises:
            ReadError: there are several.
        """
        found = self.named(name)
        if len(found) > 1:
            raise self.error(f"a second ${name}", at=found[1].start, expected="one a file")
        return found[0] if found else None

    def text(self, section: Section) -> bytes:
        """All bytes of a section."""
        self.file.seek(section.start)
        return self.file.read(section.end - section.start)

    def error(
        self, problem: str, *, at: int, expected: str | None = None, hint: str | None = None
    ) -> ReadError:
        """An error at a byte: its line, or the byte if the file is binary."""
        place = f"byte {at}" if self.binary else f"line {self._line_of(at)}"
        return ReadError(self.path, problem, place=place, expected=expected, hint=hint)

    def _line_of(self, at: int) -> int:
        self.file.seek(0)
        line = 1
        while at > 0 and (text := self.file.read(min(at, _WINDOW))):
            line += text.count(b"\n")
            at -= len(text)
        return line

    def _found(self) -> Iterator[Section]:
        if self.file.read(len(BOM_UTF8)) != BOM_UTF8:
            self.file.seek(0)
        while line := self.file.readline(_LONGEST):
            after = self.file.tell()
            if not line.strip():
                continue
            begin = _BEGIN.match(line)
            if begin is None:
                shown = repr(text_of(line.strip()[:40]))
                raise self.error(
                    f"found {shown} between sections", at=after - len(line), expected="$Name"
                )
            name = begin[1].decode()
            if name in ("NOD", "NOE", "PTS"):
                raise ReadError(self.path, "is of MSH version 1", expected=_WANTED, hint=_SAVE)
            mark = f"$End{name}".encode()
            end = self._after_blocks(name, mark, after)
            end = self._find(mark, after) if end is None else end
            if end is None:
                raise self.error(
                    f"${name} has no end", at=after - len(line), expected=f"$End{name}"
                )
            yield Section(name, after, end)
            self.file.seek(end)
            self.file.readline(_LONGEST)

    def _after_blocks(self, name: str, mark: bytes, start: int) -> int | None:
        """The end mark of a binary section of blocks, which say how long they are.

        None where it does not stand there; the section is then looked through, and refused when
        it is read.
        """
        if not self.binary or self.version < (4, 1) or name not in ("Nodes", "Elements"):
            return None
        size = "Q" if self.width == 8 else "I"
        head = struct.Struct(f"{self.order}3i{size}")
        first = struct.Struct(f"{self.order}4{size}")
        self.file.seek(start)
        said = self.file.read(first.size)
        if len(said) < first.size:
            return None
        for _ in range(first.unpack(said)[0]):
            block = self.file.read(head.size)
            if len(block) < head.size:
                return None
            dim, _, third, count = head.unpack(block)
            wide = self.width + 8 * (3 + dim * third)
            if name == "Elements":
                points = sizes()[third] if 0 <= third < len(sizes()) else 0
                wide = self.width * (1 + points)
            if not 0 <= count * wide < 1 << 62:
                return None
            self.file.seek(count * wide, 1)
        at = self.file.tell()
        near = self.file.read(len(mark) + 2)
        return at + near.index(mark) if near.lstrip().startswith(mark) else None

    def _find(self, mark: bytes, start: int) -> int | None:
        """Where a mark stands from `start` on; one byte of it is looked for, which is fastest."""
        self.file.seek(start)
        at, window = start, bytearray(_FIRST_WINDOW)
        while size := self.file.readinto(window):  # type: ignore[attr-defined]
            found = window.find(mark[:1], 0, size)
            while found >= 0:
                if window.startswith(mark, found, size):
                    return at + found
                if found + len(mark) > size:
                    self.file.seek(at + found)
                    if self.file.read(len(mark)) == mark:
                        return at + found
                    self.file.seek(at + size)
                found = window.find(mark[:1], found + 1, size)
            at += size
            if size == len(window) < _WINDOW:
                window = bytearray(4 * size)
        return None

    def _header(self, section: Section) -> None:
        line, _, rest = self.text(section).partition(b"\n")
        words = line.split()
        if self.version != (0, 0):
            raise self.error("a second $MeshFormat", at=section.start, expected="one a file")
        if len(words) != 3 or words[1] not in (b"0", b"1") or not words[2].isdigit():
            raise self.error(
                f"found {text_of(line[:60])!r}",
                at=section.start,
                expected="the version, 0 or 1 for ascii or binary, and the size of a number",
            )
        said = text_of(words[0])
        if said not in _KNOWN:
            raise self.error(f"is of MSH version {said[:20]}", at=section.start, expected=_WANTED)
        major, _, minor = said.partition(".")
        self.version, self.binary = (int(major), int(minor or 0)), words[1] == b"1"
        self.width = int(words[2])
        if not self.binary:
            return
        if self.version == (4, 0):
            raise self.error(
                "is binary of version 4.0", at=section.start, expected=_WANTED, hint=_SAVE
            )
        if self.width not in ((4, 8) if self.version >= (4, 1) else (8,)):
            raise self.error(f"numbers of {self.width} bytes", at=section.start, expected="8 bytes")
        for order in "<>":
            if rest[:4] == struct.pack(f"{order}i", 1):
                self.order = order
                return
        raise self.error(
            f"found {rest[:4].hex(' ')!r}",
            at=section.start + len(line) + 1,
            expected="the number 1 in four bytes, which tells the byte order",
        )
