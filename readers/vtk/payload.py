"""The data of one array in a VTK XML file: how many values are really there, and which.

An array is written as text (ascii), in base64 (inline or appended) or raw (appended), and the
binary ones perhaps in compressed blocks. Uncompressed: the number of bytes, then the bytes, in
one base64 text. Compressed: number of blocks, size of a block, size of a partial last block (0:
none), compressed size of each, in one base64 text; then the blocks, in a second.

Everything is compared with the size of the file before anything is made of it.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

import base64
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.ascii_numbers import BadNumber, blank, parsed
from meshkit.readers.vtk.markup import Element, Markup
from meshkit.readers.vtk.messages import vtk_messages

Numbers = NDArray[Any]

DTYPES: Final = {
    **{
        f"{sign}Int{8 * n}": f"{sign.lower() or 'i'}{n}" for sign in ("", "U") for n in (1, 2, 4, 8)
    },
    "Float32": "f4",
    "Float64": "f8",
    "Bit": "u1",
}
"""The types of numbers, as numpy names them without the byte order; bits come 8 in a byte."""

TEXT: Final = "String"

# The most that one compressed byte can stand for; a greater claim is a broken header.
_RATIOS: Final = {
    "vtkZLibDataCompressor": 1040,
    "vtkLZ4DataCompressor": 256,
    "vtkLZMADataCompressor": 1 << 14,
}
_WINDOW: Final = 1 << 22
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Bytes of the file that hold data from `start` up to `stop`, as they are or in base64."""

    start: int
    stop: int
    base64: bool

    def length(self, n: int) -> int:
        """How many bytes of the file n bytes of data take."""
        return (n + 2) // 3 * 4 if self.base64 else n


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Bytes of data that are there for sure: n of them, behind a header or in blocks."""

    n_bytes: int
    data: _Stretch
    skip: int  # bytes of header in front, in the same base64 text
    size: int = 0  # of a block, uncompressed; 0: not compressed
    compressed: Numbers | None = None  # size of each block


class Payload:
    """The arrays of a file.

    Args:
        markup: the file.

    Raises:
        ReadError: byte order, header type or compressor are unknown.
    """

    def __init__(self, markup: Markup) -> None:
        self.markup = markup
        said = markup.root.attributes
        order = self._known(said, "byte_order", {"LittleEndian": "<", "BigEndian": ">"})
        # Files without a header type are from before VTK 6 and have 32 bits.
        width = self._known(
            {"header_type": "UInt32"} | said, "header_type", {"UInt32": 4, "UInt64": 8}
        )
        self._order, self._width = order, width
        self._header = np.dtype(f"{order}u{width}")
        compressor = said.get("compressor", "")
        if compressor and compressor not in _RATIOS:
            raise markup.error(
                f"compressor {compressor[:60]!r} is unknown",
                expected=f"one of {', '.join(_RATIOS)}",
            )
        self._compressor = compressor
        self._known_blocks: dict[int, _Blocks] = {}

    def _known(self, said: dict[str, str], name: str, among: dict[str, Any]) -> Any:
        found = among.get(said.get(name, ""))
        if found is None:
            raise self.markup.error(
                f"{name} is {said.get(name, '')[:40]!r}", expected=f"one of {', '.join(among)}"
            )
        return found

    def dtype(self, element: Element, place: str) -> np.dtype[Any] | None:
        """The dtype of an array, in native byte order; None for texts.

        Raises:
            ReadError: the type is unknown.
        """
        name = element.attributes.get("type", "")
        if name == TEXT:
            return None
        if name not in DTYPES:
            raise self.markup.error(
                f"type {name[:40]!r} is unknown", place=place, expected="Int8 to Float64 or String"
            )
        return np.dtype(DTYPES[name])

    def check(self, element: Element, count: int, place: str) -> None:
        """Refuse an array that does not hold exactly `count` values.

        Raises:
            ReadError: it holds more or fewer, or its data are not there.
        """
        found = self.count(element, place, count)
        if found != count:
            what = "texts" if self.dtype(element, place) is None else "values"
            raise self.markup.error(f"holds {found} {what}", place=place, expected=str(count))

    def count(self, element: Element, place: str, wanted: int | None = None) -> int:
        """How many values an array holds; bits are taken to be as many as wanted if they can be.

        Raises:
            ReadError: its data are not there.
        """
        dtype = self.dtype(element, place)
        if dtype is None:
            return self._count_texts(element, place)
        if self._is_ascii(element, place):
            if dtype.kind == "u" or (dtype.kind == "i" and dtype.itemsize < 4):
                self._refuse_wrapped(element, dtype, place)
            return sum(words for _, words in self._words(element))
        n_bytes = self._located(element, place).n_bytes
        if element.attributes["type"] == "Bit":
            return wanted if wanted is not None and (wanted + 7) // 8 == n_bytes else 8 * n_bytes
        if n_bytes % dtype.itemsize:
            raise self.markup.error(
                f"holds {n_bytes} bytes", place=place, expected=f"a multiple of {dtype.itemsize}"
            )
        return n_bytes // dtype.itemsize

    def values(self, element: Element, place: str) -> Numbers:
        """All numbers of an array, flat, in native byte order (not for bits and texts).

        Raises:
            ReadError: its data are not there, or are no such numbers.
        """
        dtype = self.dtype(element, place)
        if dtype is None:
            raise self.markup.error("holds texts", place=place, expected="numbers")
        if self._is_ascii(element, place):
            return self._parsed(element, dtype, place)
        self.count(element, place)
        raw = self._decoded(element, place)
        return np.frombuffer(raw, dtype.newbyteorder(self._order)).astype(dtype, copy=False)

    def texts(self, element: Element, place: str) -> list[str]:
        """All texts of an array; bytes that are no UTF-8 become lone surrogates.

        Raises:
            ReadError: its data are not there, or the last text is cut off.
        """
        self._count_texts(element, place)
        if self._is_ascii(element, place):
            raw = (self._codes(element, place) % 256).astype(np.uint8).tobytes()
        else:
            raw = bytes(self._decoded(element, place))
        return [text.decode("utf-8", "surrogateescape") for text in raw.split(b"\0")[:-1]]

    def misread(self, element: Element, place: str) -> bool:
        """Whether vtk would read these numbers wrongly: -inf in ascii becomes +inf."""
        dtype = self.dtype(element, place)
        if dtype is None or dtype.kind != "f" or not self._is_ascii(element, place):
            return False
        body = self.markup.body(element)
        return any(self.markup.data.find(letter, *body) >= 0 for letter in (b"i", b"I"))

    def recoded(self, element: Element, place: str, **changed: str) -> tuple[int, int, bytes]:
        """The edit that makes base64 of an array in ascii, as binary ones in this file are.

        Raises:
            ReadError: it holds something else than numbers.
        """
        values = self.values(element, place)
        raw = values.astype(values.dtype.newbyteorder(self._order)).tobytes()
        if not self._compressor or not raw:
            words = [len(raw)] if not self._compressor else [0, 0, 0]
            text = base64.b64encode(np.array(words, self._header).tobytes() + raw)
        else:
            block = self._compressed(raw)
            head = np.array([1, len(raw), 0, len(block)], self._header).tobytes()
            text = base64.b64encode(head) + base64.b64encode(block)
        stop = self.markup.body(element)[1]
        return element.start, stop, element.start_tag(format="binary", **changed) + text

    # --- text ------------------------------------------------------------------------------------

    def _is_ascii(self, element: Element, place: str) -> bool:
        """VTK goes by the offset where there is one, else by the word "binary"."""
        form = element.attributes.get("format", "ascii")
        appended = "offset" in element.attributes
        if form not in ("ascii", "binary", "appended") or (form == "appended") != appended:
            with_offset = "with" if appended else "without"
            raise self.markup.error(
                f"format is {form[:40]!r} {with_offset} an offset",
                place=place,
                expected="'appended' with one, 'ascii' or 'binary' without",
            )
        return form == "ascii"

    def _words(self, element: Element) -> Iterator[tuple[Numbers, int]]:
        """The text of an array in windows, and how many words begin in each."""
        start, stop = self.markup.body(element)
        before = True
        for at in range(start, stop, _WINDOW):
            raw = np.frombuffer(self.markup.data[at : min(at + _WINDOW, stop)], np.uint8)
            space = blank(raw)
            begins = ~space[1:] & space[:-1]
            yield raw, int(np.count_nonzero(begins)) + int(before and not space[0])
            before = bool(space[-1])

    def _parsed(self, element: Element, dtype: np.dtype[Any], place: str) -> Numbers:
        start, stop = self.markup.body(element)
        count = sum(words for _, words in self._words(element))
        try:
            return parsed(self.markup.data[start:stop], count, dtype)
        except BadNumber as why:
            raise self.markup.error(
                f"word {why.index} is {why.word!r}", place=place, expected=f"a number of {dtype}"
            ) from None

    def _refuse_wrapped(self, element: Element, dtype: np.dtype[Any], place: str) -> None:
        """Refuse whole numbers that vtk would wrap around: it reads them wider and cuts."""
        start, stop = self.markup.body(element)
        if dtype.itemsize < 4 or self.markup.data.find(b"-", start, stop) >= 0:
            self._parsed(element, dtype, place)

    def _codes(self, element: Element, place: str) -> Numbers:
        """The bytes of texts that are written as numbers, signed or not."""
        codes = self._parsed(element, np.dtype(np.int64), place)
        if len(codes) and (codes.min() < -128 or codes.max() > 255):
            raise self.markup.error("its texts are no bytes", place=place, expected="-128 to 255")
        return codes

    def _count_texts(self, element: Element, place: str) -> int:
        """Each text ends with a zero; nothing may follow the last."""
        if self._is_ascii(element, place):
            codes = self._codes(element, place)
            ends, closed = int((codes == 0).sum()), len(codes) == 0 or codes[-1] == 0
        else:
            raw = bytes(self._decoded(element, place))
            ends, closed = raw.count(b"\0"), raw.endswith(b"\0") or not raw
        if not closed:
            raise self.markup.error("its last text is cut off", place=place)
        return ends

    # --- binary ----------------------------------------------------------------------------------

    def _located(self, element: Element, place: str) -> _Blocks:
        """The data of an array, once it is sure that they are in the file."""
        known = self._known_blocks.get(element.start)
        if known is None:
            known = self._known_blocks[element.start] = self._located_anew(element, place)
        return known

    def _located_anew(self, element: Element, place: str) -> _Blocks:
        stretch = self._stretch(element, place)
        if not self._compressor:
            head = self._header_words(stretch, 0, 1, place)
            n_bytes = int(head[0])
            self._need(stretch, self._width + n_bytes, f"{n_bytes} bytes", place)
            blocks = _Blocks(n_bytes, stretch, self._width)
        else:
            n = int(self._header_words(stretch, 0, 1, place)[0])
            self._need(stretch, (3 + n) * self._width, f"{n} blocks", place)
            words = self._header_words(stretch, 0, 3 + n, place)
            size, partial = int(words[1]), int(words[2])
            after = stretch.start + stretch.length((3 + n) * self._width)
            data = _Stretch(after, stretch.stop, stretch.base64)
            compressed = words[3:]
            most = _RATIOS[self._compressor]
            # Sums of such sizes cannot overflow, and no block can be larger than its bytes allow.
            fits = n == 0 or int(compressed.max()) <= data.stop - data.start
            total = int(compressed.sum(dtype=np.uint64)) if fits else 0
            last = partial or size
            if n and (
                not fits
                or size < 1
                or partial > size
                or (n > 1 and size > most * int(compressed[:-1].min()) + most)
                or last > most * int(compressed[-1]) + most
            ):
                raise self.markup.error("the sizes of its blocks are impossible", place=place)
            self._need(data, total, f"{total} bytes in {n} blocks", place)
            n_bytes = size * (n - 1) + last if n else 0
            blocks = _Blocks(n_bytes, data, 0, size, compressed)
        if stretch.base64:
            self._need_alphabet(stretch, blocks, place)
        return blocks

    def _stretch(self, element: Element, place: str) -> _Stretch:
        if "offset" not in element.attributes:
            return _Stretch(*self.markup.body(element), base64=True)
        appended = self.markup.appended
        offset = self.markup.whole(element, "offset")
        if appended is None:
            raise self.markup.error("its appended data are missing", place=place)
        start = appended.start + offset
        if start > appended.stop:
            raise self.markup.error(
                f"begins at byte {offset} of the appended data",
                place=place,
                expected=f"{appended.stop - appended.start} at most",
            )
        return _Stretch(start, appended.stop, appended.encoding == "base64")

    def _need(self, stretch: _Stretch, n: int, what: str, place: str) -> None:
        found = max(stretch.stop - stretch.start, 0)
        if stretch.length(n) > found:
            raise self.markup.error(
                f"its header promises {what}, the file ends before",
                place=place,
                expected=f"{stretch.length(n)} bytes of file, found {found}",
            )

    def _header_words(self, stretch: _Stretch, first: int, n: int, place: str) -> Numbers:
        """Some words of a header, as Python's order has them."""
        self._need(stretch, (first + n) * self._width, "a header", place)
        raw = self._read(stretch, (first + n) * self._width, place)
        return np.frombuffer(raw, self._header)[first:].astype(self._header.newbyteorder("="))

    def _read(self, stretch: _Stretch, n: int, place: str) -> bytes:
        """The first n bytes of data; the file has been found to hold them."""
        raw = self.markup.data[stretch.start : stretch.start + stretch.length(n)]
        if not stretch.base64:
            return raw
        try:
            found = base64.b64decode(raw, validate=True)
        except ValueError:
            found = b""
        if len(found) < n:
            raise self.markup.error("its data are no base64", place=place)
        return found[:n]

    def _need_alphabet(self, stretch: _Stretch, blocks: _Blocks, place: str) -> None:
        """Refuse what is no base64: VTK stops there, and takes what it has for the whole."""
        total = blocks.skip + blocks.n_bytes
        if blocks.compressed is not None:
            total = int(blocks.compressed.sum(dtype=np.uint64))
        data = blocks.data
        stop = data.start + data.length(total)
        padding = -total % 3
        for at in range(data.start, stop - padding, _WINDOW):
            raw = self.markup.data[at : min(at + _WINDOW, stop - padding)]
            if raw.translate(None, _ALPHABET):
                raise self.markup.error("its data are no base64", place=place)

    def _decoded(self, element: Element, place: str) -> bytes | memoryview:
        """The bytes of an array as they were before compression and base64."""
        blocks = self._located(element, place)
        if blocks.compressed is None:
            raw = self._read(blocks.data, blocks.skip + blocks.n_bytes, place)
            return memoryview(raw)[blocks.skip :]
        sizes = blocks.compressed.tolist()
        raw = self._read(blocks.data, sum(sizes), place)
        parts, at, left = [], 0, blocks.n_bytes
        for number, size in enumerate(sizes):
            wanted = min(blocks.size, left)
            part = self._uncompressed(raw[at : at + size], wanted)
            if part is None or len(part) != wanted:
                raise self.markup.error(f"block {number} does not decompress", place=place)
            parts.append(part)
            at, left = at + size, left - wanted
        return b"".join(parts)

    def _uncompressed(self, data: bytes, n: int) -> bytes | None:
        """A block of n bytes; None where it is damaged."""
        if self._compressor == "vtkZLibDataCompressor":
            try:
                return zlib.decompressobj().decompress(data, n)
            except zlib.error:
                return None
        if self._compressor == "vtkLZMADataCompressor":
            try:
                return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data, n)
            except lzma.LZMAError:
                return None
        from vtkmodules.vtkIOCore import vtkLZ4DataCompressor

        out = bytearray(n)
        with vtk_messages():
            found = vtkLZ4DataCompressor().Uncompress(data, len(data), out, n)
        return bytes(out) if found == n else None

    def _compressed(self, raw: bytes) -> bytes:
        """A block that `_uncompressed` undoes."""
        if self._compressor == "vtkZLibDataCompressor":
            return zlib.compress(raw)
        if self._compressor == "vtkLZMADataCompressor":
            return lzma.compress(raw, lzma.FORMAT_XZ)
        from vtkmodules.vtkIOCore import vtkLZ4DataCompressor

        lz4 = vtkLZ4DataCompressor()
        out = bytearray(lz4.GetMaximumCompressionSpace(len(raw)))
        return bytes(out[: lz4.Compress(raw, len(raw), out, len(out))])
