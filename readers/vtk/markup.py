"""The markup of a VTK XML file: its elements and where they stand, read without any of its data.

VTK's own parser looks for the text `<AppendedData` before it looks at the markup, takes the first
`>` after the start of an element as the end of its tag, and the first byte after it that is no
space as the begin of its data. The same is done here, so that both see the same file; where a
well-formed file would be seen differently, it is refused.

Source: VTK File Formats (XML), and what vtkXMLDataParser of VTK 9.7 does with files.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from meshkit.errors import ReadError

_CHUNK: Final = 1 << 22
_MOST_ELEMENTS: Final = 500_000
_MOST_DEPTH: Final = 100
_APPENDED: Final = b"<AppendedData"
_WHOLE: Final = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_TAG: Final = re.compile(rb"""<[^<>"']*(?:"[^"<]*"[^<>"']*|'[^'<]*'[^<>"']*)*>""")


@dataclass(slots=True)
class Element:
    """One element: its tag, its attributes, and its bytes from `start` up to `stop`."""

    tag: str
    attributes: dict[str, str]
    start: int
    line: int
    stop: int = 0
    children: list[Element] = field(default_factory=list)

    def all(self, *tags: str) -> list[Element]:
        """The children of these tags, in order."""
        return [child for child in self.children if child.tag in tags]

    def start_tag(self, **changed: str | None) -> bytes:
        """The start tag written anew with some attributes changed, or left out where None."""
        pairs = {**self.attributes, **changed}
        said = "".join(f" {k}={quoteattr(v)}" for k, v in pairs.items() if v is not None)
        return f"<{self.tag}{said}>".encode()


@dataclass(frozen=True, slots=True)
class Appended:
    """Where the appended data begins (after its `_`) and ends, and how it is encoded."""

    start: int
    stop: int
    encoding: str


class Markup:
    """A VTK XML file: the root element, the appended data, and the bytes below both.

    Args:
        path: the file, for messages.
        data: all its bytes, memory-mapped.

    Raises:
        ReadError: it is not the XML of VTK, or it is cut off.
    """

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data = path, data
        self.appended: Appended | None = None
        at = data.find(_APPENDED)
        head = len(data) if at < 0 else at
        parser = _Parser(path)
        for start in range(0, head, _CHUNK):
            parser.feed(data[start : min(start + _CHUNK, head)])
        if at >= 0:
            stop = data.find(b">", at)
            if stop < 0:
                raise self.error("the tag of AppendedData is cut off", place=f"byte {at}")
            tag = data[at:stop].rstrip(b"/")
            parser.feed(tag + b"/></VTKFile>")
        parser.feed(b"", last=True)
        if parser.root is None or parser.root.tag != "VTKFile":
            found = "no element" if parser.root is None else f"<{parser.root.tag}>"
            raise self.error(f"begins with {found}", expected="<VTKFile>")
        self.root: Element = parser.root
        if at >= 0:
            appended = self.root.all("AppendedData")
            if len(appended) != 1:
                raise self.error("its AppendedData is in an unknown place", place=f"byte {at}")
            self.appended = self._appended(appended[0], stop + 1)

    def error(self, problem: str, **more: Any) -> ReadError:
        """A `ReadError` about this file."""
        return ReadError(self.path, problem, **more)

    def _appended(self, element: Element, start: int) -> Appended:
        data = self.data
        # VTK itself writes raw data without a line end before the closing tag.
        stop = data.rfind(b"</AppendedData")
        if stop < start or data.find(b"</VTKFile", stop) < 0:
            raise self.error(
                "is cut off inside its appended data", expected="</AppendedData> and </VTKFile>"
            )
        while start < stop and data[start] in b" \t\r\n":
            start += 1
        if data[start : start + 1] != b"_":
            raise self.error(
                "appended data does not begin with '_'", place=f"byte {start}", expected="'_'"
            )
        encoding = element.attributes.get("encoding", "")
        if encoding not in ("raw", "base64"):
            raise self.error(
                f"appended data is encoded as {encoding!r}", expected="'raw' or 'base64'"
            )
        return Appended(start + 1, stop, encoding)

    def body(self, element: Element) -> tuple[int, int]:
        """From where to where the text of an element reaches, blanks around it left out.

        Raises:
            ReadError: VTK would see its begin elsewhere (a bare `>` in an attribute).
        """
        data = self.data
        tag = _TAG.match(data, element.start)
        start = data.find(b">", element.start) + 1
        if tag is None or tag.end() != start:
            raise self.error(
                f"<{element.tag}> has a bare '>' in an attribute",
                place=f"line {element.line}",
                expected="'&gt;'",
            )
        if data[start - 2 : start - 1] == b"/":
            return start, start
        stop = data.find(b"<", start)
        while start < stop and data[start] in b" \t\r\n":
            start += 1
        while start < stop and data[stop - 1] in b" \t\r\n":
            stop -= 1
        return start, stop

    def whole(self, element: Element, name: str, default: int | None = None) -> int:
        """An attribute that must be a whole number from 0 on.

        Raises:
            ReadError: it is none, or it is missing and there is no default.
        """
        text = element.attributes.get(name)
        if text is None:
            if default is None:
                raise self.error(f"<{element.tag}> has no {name}", place=f"line {element.line}")
            return default
        if not _WHOLE.fullmatch(text) or int(text) < 0:
            raise self.error(
                f"{name} is {text[:40]!r}",
                place=f"line {element.line}",
                expected="a whole number from 0 on",
            )
        return int(text)

    def extent(self, element: Element, name: str) -> tuple[int, ...]:
        """An attribute of six whole numbers: the first and last point along each axis.

        A grid without points has none along any axis, as in "0 -1 0 -1 0 -1".

        Raises:
            ReadError: it is missing or something else.
        """
        text = element.attributes.get(name, "")
        words = text.split()
        if len(words) != 6 or not all(_WHOLE.fullmatch(word) for word in words):
            raise self.error(
                f"{name} of <{element.tag}> is {text[:60]!r}",
                place=f"line {element.line}",
                expected="six whole numbers",
            )
        found = tuple(int(word) for word in words)
        counts = [b - a + 1 for a, b in zip(found[::2], found[1::2], strict=True)]
        if min(counts) < 1 and any(counts):  # vtk makes arrays of negative length of others
            raise self.error(
                f"{name} of <{element.tag}> is {text[:60]!r}",
                place=f"line {element.line}",
                expected="from first to last along each axis",
            )
        return found

    def release(self) -> None:
        """Let the system take back the memory of what has been looked at; it can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.data.madvise(mmap.MADV_DONTNEED)

    def edited(self, edits: list[tuple[int, int, bytes]]) -> bytes:
        """All bytes of the file with some stretches (start, stop) replaced.

        A stretch inside of one that is replaced goes with it.
        """
        parts: list[bytes] = []
        at = 0
        for start, stop, new in sorted(edits):
            if start < at:
                continue
            parts += [self.data[at:start], new]
            at = stop
        return b"".join([*parts, self.data[at:]])

    def retagged(self, element: Element, **changed: str | None) -> tuple[int, int, bytes]:
        """The edit that changes attributes of an element."""
        stop = self.data.find(b">", element.start) + 1
        tag = element.start_tag(**changed)
        if self.data[stop - 2 : stop - 1] == b"/":
            tag = tag[:-1] + b"/>"
        return element.start, stop, tag

    def removed(self, element: Element) -> tuple[int, int, bytes]:
        """The edit that takes an element out."""
        stop = element.stop
        if self.data[stop : stop + 2] == b"</":
            stop = self.data.find(b">", stop) + 1
        return element.start, stop, b""


class _Parser:
    """expat, told to keep elements and where they stand, and to refuse what VTK never writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0
        self._expat = expat.ParserCreate()
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.StartDoctypeDeclHandler = self._doctype

    def feed(self, data: bytes, last: bool = False) -> None:
        """More of the file."""
        try:
            self._expat.Parse(data, last)
        except expat.ExpatError as why:
            said = expat.errors.messages[why.code]
            raise ReadError(
                self.path, f"is no well-formed XML: {said}", place=f"line {why.lineno}"
            ) from None
        except (UnicodeError, LookupError) as why:
            raise ReadError(self.path, f"is no XML that can be decoded: {why}") from None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS or len(self._open) >= _MOST_DEPTH:
            raise ReadError(
                self.path,
                "has too many or too deeply nested elements",
                expected=f"{_MOST_ELEMENTS} and {_MOST_DEPTH} at most",
            )
        at, line = self._expat.CurrentByteIndex, self._expat.CurrentLineNumber
        element = Element(tag, attributes, at, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop().stop = self._expat.CurrentByteIndex

    def _doctype(self, *_: object) -> None:
        raise ReadError(self.path, "has a document type", expected="plain XML without entities")


@contextmanager
def opened(path: Path) -> Iterator[Markup]:
    """The markup of a file, and its bytes while the block runs.

    Raises:
        ReadError: it is empty, not the XML of VTK, or cut off.
        OSError: it cannot be opened.
    """
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            raise ReadError(path, "is empty (0 bytes)", expected="a VTK XML file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield Markup(path, data)
