"""The bytes of a binary array in a VTK XML file: where they lie, and as they were before packing.

In base64 (inline or appended) or raw (appended), and perhaps in compressed blocks. Uncompressed:
the number of bytes, then the bytes, in one base64 text. Compressed: number of blocks, size of a
block, size of a partial last block (0: none), compressed size of each, in one base64 text; then
the blocks, in a second.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.vtk.compression import COMPRESSORS, ROOM
from meshkit.readers.vtk.markup import Element, Markup

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of the file that hold data from `start` up to `stop`, as they are or in base64."""

    start: int
    stop: int
    base64: bool

    def length(self, n: int) -> int:
        """How many bytes of the file n bytes of data take."""
        return (n + 2) // 3 * 4 if self.base64 else n


@dataclass(frozen=True, slots=True)
class Blocks:
    """Bytes of data that are there for sure: n of them, behind a header or in blocks."""

    n_bytes: int
    data: Stretch
    skip: int  # bytes of header in front, in the same base64 text
    size: int = 0  # of a block, uncompressed; 0: not compressed
    ends: Numbers | None = None  # [n_blocks + 1], where compressed blocks begin and end


class PackedBytes:
    """The binary arrays of a file.

    Args:
        markup: the file.
        header: the dtype of the words before the data.
        compressor: how blocks are compressed; "": there are none.
    """

    def __init__(self, markup: Markup, header: np.dtype[Any], compressor: str) -> None:
        self._markup, self._compressor = markup, compressor
        self._header, self._width = header, header.itemsize
        self._known_blocks: dict[int, Blocks] = {}

    def located(self, element: Element, place: str) -> Blocks:
        """The data of an array, once it is sure that they are in the file.

        Raises:
            ReadError: they are not, or their sizes contradict each other.
        """
        known = self._known_blocks.get(element.start)
        if known is None:
            known = self._known_blocks[element.start] = self._located_anew(element, place)
        return known

    def _located_anew(self, element: Element, place: str) -> Blocks:
        stretch = self._stretch(element, place)
        if not self._compressor:
            n_bytes = int(self._header_words(stretch, 1, place)[0])
            self._need(stretch, self._width + n_bytes, f"{n_bytes} bytes", place)
            return Blocks(n_bytes, stretch, self._width)
        n = int(self._header_words(stretch, 1, place)[0])
        self._need(stretch, (3 + n) * self._width, f"{n} blocks", place)
        words = self._header_words(stretch, 3 + n, place)
        size, partial = int(words[1]), int(words[2])
        after = stretch.start + stretch.length((3 + n) * self._width)
        data = Stretch(after, stretch.stop, stretch.base64)
        compressed = words[3:]
        most = COMPRESSORS[self._compressor].most
        # Sums of such sizes cannot overflow, and no block can be larger than its bytes allow.
        fits = n == 0 or int(compressed.max()) <= data.stop - data.start
        last = partial or size
        if n and (
            not fits
            or size < 1
            or partial > size
            or (n > 1 and size > most * int(compressed[:-1].min()) + most)
            or last > most * int(compressed[-1]) + most
        ):
            raise self._markup.error("the sizes of its blocks are impossible", place=place)
        ends = np.concatenate([[0], np.cumsum(compressed, dtype=np.int64)])
        self._need(data, int(ends[-1]), f"{ends[-1]} bytes in {n} blocks", place)
        return Blocks(size * (n - 1) + last if n else 0, data, 0, size, ends)

    def _stretch(self, element: Element, place: str) -> Stretch:
        if "offset" not in element.attributes:
            return Stretch(*self._markup.body(element), base64=True)
        appended = self._markup.appended
        offset = self._markup.whole(element, "offset")
        if appended is None:
            raise self._markup.error("its appended data are missing", place=place)
        start = appended.start + offset
        if start > appended.stop:
            raise self._markup.error(
                f"begins at byte {offset} of the appended data",
                place=place,
                expected=f"{appended.stop - appended.start} at most",
            )
        return Stretch(start, appended.stop, appended.encoding == "base64")

    def _need(self, stretch: Stretch, n: int, what: str, place: str) -> None:
        found = max(stretch.stop - stretch.start, 0)
        if stretch.length(n) > found:
            raise self._markup.error(
                f"its header promises {what}, the file ends before",
                place=place,
                expected=f"{stretch.length(n)} bytes of file, found {found}",
            )

    def _header_words(self, stretch: Stretch, n: int, place: str) -> Numbers:
        """The first words of a header, in native byte order."""
        self._need(stretch, n * self._width, "a header", place)
        raw = self._bytes(stretch, 0, n * self._width, place)
        return np.frombuffer(raw, self._header).astype(self._header.newbyteorder("="))

    def _bytes(self, stretch: Stretch, first: int, stop: int, place: str) -> memoryview:
        """Bytes of data from first up to stop; the file has been found to hold them."""
        read = self._markup.data.read
        if not stretch.base64:
            return memoryview(read(stretch.start + first, stretch.start + stop))
        group = first // 3  # of three bytes in four letters
        text = read(stretch.start + 4 * group, stretch.start + stretch.length(stop))
        try:
            raw = binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error:
            raw = b""
        if len(raw) < stop - 3 * group:
            raise self._markup.error("its data are no base64", place=place)
        return memoryview(raw)[first - 3 * group : stop - 3 * group]

    def _fill(self, stretch: Stretch, first: int, into: Numbers, place: str) -> None:
        """Put bytes of data from `first` on into memory, as many as it has."""
        if stretch.base64:
            found = self._bytes(stretch, first, first + len(into), place)
            into[:] = np.frombuffer(found, np.uint8)
        else:
            self._markup.data.fill(stretch.start + first, into)

    def decode(self, blocks: Blocks, first: int, into: Numbers, place: str) -> None:
        """Put bytes from `first` on into memory: as they were before base64 and compression.

        Raises:
            ReadError: they are no base64, or do not decompress.
        """
        stop = first + len(into)
        if blocks.ends is None:
            self._fill(blocks.data, blocks.skip + first, into, place)
            return
        low, high = first // blocks.size, -(-stop // blocks.size)
        ends = blocks.ends[low : high + 1]
        begin = int(ends[0])
        found = np.empty(ROOM + int(ends[-1]) - begin, np.uint8)
        self._fill(blocks.data, begin, found[ROOM:], place)
        undo = COMPRESSORS[self._compressor].undo
        bad = undo(
            memoryview(found.data), (ends - begin).tolist(), blocks.size, memoryview(into.data)
        )
        if bad is not None:
            raise self._markup.error(f"block {low + bad} does not decompress", place=place)
