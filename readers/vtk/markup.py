"""The markup of a VTK XML file: its elements and where they stand, read without any of its data.

VTK's own parser looks for the text `<AppendedData` before it looks at the markup, takes the first
`>` after the start of an element as the end of its tag, and the first byte after it that is no
space as the begin of its data. The same is done here, so that both see the same file; where a
well-formed file would be seen differently, it is refused. Long stretches of data between two tags
are not given to the XML parser, which would look at each letter.

Source: VTK File Formats (XML), and what vtkXMLDataParser of VTK 9.7 does with files.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.vtk.content import WINDOW, Content
from meshkit.words import words_of

_LONG: Final = 1 << 14
_MOST_ELEMENTS: Final = 500_000
_MOST_DEPTH: Final = 100
_APPENDED: Final = b"<AppendedData"
_BLANKS: Final = b" \t\r\n"
_KEY: Final = "InformationKey"
_WHOLE: Final = re.compile(r"\s*[+-]?[0-9]{1,18}\s*", re.ASCII)
_TAG: Final = re.compile(rb"""<[^<>"']*(?:"[^"<]*"[^<>"']*|'[^'<]*'[^<>"']*)*>""")


@dataclass(slots=True)
class Element:
    """One element: its tag, its attributes, and its bytes from `start` up to `stop`.

    Its data stop at `inner`, where a child or a comment begins. `text` is what stands between the
    tags of those that say something of an array.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    line: int
    stop: int = 0
    inner: int | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> list[Element]:
        """The children of these tags, in order."""
        return [child for child in self.children if child.tag in tags]


@dataclass(frozen=True, slots=True)
class Appended:
    """Where the appended data begins (after its `_`) and ends, and how it is encoded."""

    start: int
    stop: int
    encoding: str


class Markup:
    """A VTK XML file: the root element, the appended data, and the bytes below both.

    Args:
        data: the file.

    Raises:
        ReadError: it is not the XML of VTK, or it is cut off.
    """

    def __init__(self, data: Content) -> None:
        self.path, self.data = data.path, data
        self.appended: Appended | None = None
        at = data.find(_APPENDED, 0)
        parser = _Parser(data.path)
        parser.feed_all(data, data.size if at < 0 else at)
        if at >= 0:
            stop = data.find(b">", at)
            if stop < 0:
                raise self.error("the tag of AppendedData is cut off", place=f"byte {at}")
            parser.feed(data.read(at, stop).rstrip(b"/") + b"/></VTKFile>")
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
        stop = data.rfind(b"</AppendedData", start)
        if stop < start or data.find(b"</VTKFile", stop) < 0:
            raise self.error(
                "is cut off inside its appended data", expected="</AppendedData> and </VTKFile>"
            )
        start = self._after_blanks(start, stop)
        if data.read(start, min(start + 1, stop)) != b"_":
            raise self.error(
                "appended data does not begin with '_'", place=f"byte {start}", expected="'_'"
            )
        encoding = element.attributes.get("encoding", "")
        if encoding not in ("raw", "base64"):
            raise self.error(
                f"appended data is encoded as {encoding!r}", expected="'raw' or 'base64'"
            )
        return Appended(start + 1, stop, encoding)

    def _after_blanks(self, start: int, stop: int) -> int:
        """The first place from start on that is no blank."""
        while start < stop:
            raw = self.data.read(start, min(start + 256, stop))
            left = len(raw.lstrip(_BLANKS))
            if left:
                return start + len(raw) - left
            start += len(raw)
        return stop

    def _before_blanks(self, start: int, stop: int) -> int:
        """The place after the last before stop that is no blank."""
        while start < stop:
            raw = self.data.read(max(start, stop - 256), stop)
            left = len(raw.rstrip(_BLANKS))
            if left:
                return stop - len(raw) + left
            stop -= len(raw)
        return start

    def body(self, element: Element) -> tuple[int, int]:
        """From where to where the text of an element reaches, blanks around it left out.

        Raises:
            ReadError: VTK would see its begin elsewhere (a bare `>` in an attribute).
        """
        start = self.data.find(b">", element.start) + 1
        if not _TAG.fullmatch(self.data.read(element.start, start)):
            raise self.error(
                f"<{element.tag}> has a bare '>' in an attribute",
                place=f"line {element.line}",
                expected="'&gt;'",
            )
        if self.data.read(start - 2, start) == b"/>":
            return start, start
        stop = element.stop if element.inner is None else element.inner
        start = self._after_blanks(start, stop)
        return start, self._before_blanks(start, stop)

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
        words = words_of(text)
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


class _Parser:
    """expat, told to keep elements and where they stand, and to refuse what VTK never writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0
        # Places in what was fed, and how many bytes and lines were left out before each.
        self._cuts, self._left_out, self._lines_left_out = [0], [0], [0]
        self._fed = 0
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.StartDoctypeDeclHandler = self._doctype
        self._expat.CommentHandler = self._interrupt
        self._expat.ProcessingInstructionHandler = self._interrupt
        self._expat.StartCdataSectionHandler = self._interrupt

    def feed_all(self, data: Content, stop: int) -> None:
        """The first bytes of a file up to stop, without its long stretches of data."""
        in_tag = True
        for start in range(0, stop, WINDOW):
            raw = data.read(start, min(start + WINDOW, stop))
            begins = np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("<"))
            edges = np.concatenate([[0], begins, [len(raw)]])
            done = 0
            for i in np.flatnonzero(np.diff(edges) > _LONG).tolist():
                low, high = int(edges[i]), int(edges[i + 1])
                ended = not in_tag
                if low or raw[:1] == b"<" or in_tag:
                    end = raw.find(b">", low, high)
                    low, ended = max(end + 1, low), end >= 0
                self.feed(raw[done:low])
                done = low
                said = not self._open or self._expat.CharacterDataHandler is not None
                if ended and not said and raw.find(b">", low, high) < 0:
                    self._leave_out(raw, low, high)
                    done = high
            self.feed(raw[done:])
            last = int(begins[-1]) if len(begins) else 0
            in_tag = (in_tag or len(begins) > 0) and raw.find(b">", last) < 0

    def feed(self, data: bytes, last: bool = False) -> None:
        """More of the file."""
        self._fed += len(data)
        try:
            self._expat.Parse(data, last)
        except expat.ExpatError as why:
            said = expat.errors.messages[why.code]
            line = why.lineno + self._lines_left_out[-1]
            raise ReadError(
                self.path, f"is no well-formed XML: {said}", place=f"line {line}"
            ) from None
        except (UnicodeError, LookupError) as why:
            raise ReadError(self.path, f"is no XML that can be decoded: {why}") from None

    def _leave_out(self, raw: bytes, low: int, high: int) -> None:
        self._cuts.append(self._fed)
        self._left_out.append(self._left_out[-1] + high - low)
        self._lines_left_out.append(self._lines_left_out[-1] + raw.count(b"\n", low, high))

    def _place(self) -> tuple[int, int]:
        """Byte and line of what is being handled."""
        at = self._expat.CurrentByteIndex
        i = bisect.bisect_right(self._cuts, at) - 1
        return at + self._left_out[i], self._expat.CurrentLineNumber + self._lines_left_out[i]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS or len(self._open) >= _MOST_DEPTH:
            raise ReadError(
                self.path,
                "has too many or too deeply nested elements",
                expected=f"{_MOST_ELEMENTS} and {_MOST_DEPTH} at most",
            )
        element = Element(tag, attributes, *self._place())
        self._interrupt()
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        if tag == _KEY:
            self._expat.CharacterDataHandler = self._text

    def _interrupt(self, *_: object) -> None:
        """Something else than text begins in the element that is open."""
        if self._open and self._open[-1].inner is None:
            self._open[-1].inner = self._place()[0]

    def _text(self, text: str) -> None:
        self._open[-1].text += text

    def _end(self, tag: str) -> None:
        self._open.pop().stop = self._place()[0]
        if tag == _KEY:
            self._expat.CharacterDataHandler = None

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
        size = file.seek(0, 2)
        if size == 0:
            raise ReadError(path, "is empty (0 bytes)", expected="a VTK XML file")
        yield Markup(Content(path, file.fileno(), size))
