"""The data of one array in a VTK XML file: how many values are really there, and which.

An array is written as text (ascii), in base64 (inline or appended) or raw (appended), and the
binary ones perhaps in compressed blocks. Uncompressed: the number of bytes, then the bytes, in
one base64 text. Compressed: number of blocks, size of a block, size of a partial last block (0:
none), compressed size of each, in one base64 text; then the blocks, in a second.

Everything is compared with the size of the file before memory is taken for it, and goes from the
file straight into the array that is handed out, window by window.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.ascii_numbers import BadNumber, blank, parsed
from meshkit.readers.vtk.compression import COMPRESSORS, ROOM
from meshkit.readers.vtk.markup import Element, Markup

Numbers = NDArray[Any]

DTYPES: Final = {
    **{
        f"{sign}Int{8 * n}": f"{sign.lower() or 'i'}{n}" for sign in ("", "U") for n in (1, 2, 4, 8)
    },
    "Float32": "f4",
    "Float64": "f8",
    "Bit": "?",
}
"""The types of numbers, as numpy names them without the byte order; bits come 8 in a byte."""

TEXT: Final = "String"


# How much text, and how many bytes to be changed, are in work at once: what the caches hold.
_TEXT_WINDOW: Final = 1 << 20
_STEP: Final = 1 << 19
_CACHED: Final = 1 << 16

Bounds = tuple[int, int]


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
    ends: Numbers | None = None  # [n_blocks + 1], where compressed blocks begin and end


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
        if compressor and compressor not in COMPRESSORS:
            raise markup.error(
                f"compressor {compressor[:60]!r} is unknown",
                expected=f"one of {', '.join(COMPRESSORS)}",
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

    def count(self, element: Element, place: str) -> int:
        """How many values an array holds; of bits, as many as its bytes can hold.

        Raises:
            ReadError: its data are not there.
        """
        dtype = self.dtype(element, place)
        if dtype is None:
            return len(self.texts(element, place))
        if self._is_ascii(element, place):
            return sum(_words(text) for text in self._texts(element, place))
        n_bytes = self._located(element, place).n_bytes
        if dtype == np.bool_:
            return 8 * n_bytes
        if n_bytes % dtype.itemsize:
            raise self.markup.error(
                f"holds {n_bytes} bytes", place=place, expected=f"a multiple of {dtype.itemsize}"
            )
        return n_bytes // dtype.itemsize

    def numbers(self, element: Element, place: str, count: int | None = None) -> Numbers:
        """All numbers of an array, flat, in native byte order; bits as booleans.

        Args:
            element: the array.
            place: what messages call it.
            count: how many there must be.

        Raises:
            ReadError: its data are not there, are more or fewer, or are no such numbers.
        """
        dtype = self.dtype(element, place)
        if dtype is None:
            raise self.markup.error("holds texts", place=place, expected="numbers")
        count = self._counted(element, place, dtype, count)
        if dtype == np.bool_ and not self._is_ascii(element, place):
            packed = np.empty((count + 7) // 8, np.uint8)
            self._put(element, place, packed, packed.dtype)
            return np.unpackbits(packed, count=count).view(np.bool_)
        out = np.empty(count, dtype)
        self._put(element, place, out, dtype)
        return out

    def whole_numbers(self, element: Element, place: str, out: Numbers) -> Bounds:
        """Put an array of as many whole numbers into `out`, of int32 or int64.

        Returns:
            The least of them, or 0 if none is negative, and the greatest. Where int32 cannot
            hold these, `out` is wrong.

        Raises:
            ReadError: its data are not there, are more or fewer, or are no whole numbers.
        """
        dtype = self.dtype(element, place)
        if dtype is None or dtype.kind not in "iu":
            raise self.markup.error(
                f"is of type {element.attributes['type']}", place=place, expected="whole numbers"
            )
        self._counted(element, place, dtype, len(out))
        found = self._put(element, place, out, dtype, bounded=True)
        return min((0, *(low for low, _ in found))), max((0, *(top for _, top in found)))

    def texts(self, element: Element, place: str, count: int | None = None) -> list[str]:
        """All texts of an array; bytes that are no UTF-8 become lone surrogates.

        Raises:
            ReadError: its data are not there, or the last text is cut off, or others are there
                than `count` texts.
        """
        if self._is_ascii(element, place):
            n = sum(_words(text) for text in self._texts(element, place))
            codes = np.empty(n, np.int64)
            self._put_words(element, place, codes, codes.dtype)
            if len(codes) and (codes.min() < -128 or codes.max() > 255):
                raise self.markup.error(
                    "its texts are no bytes", place=place, expected="-128 to 255"
                )
            raw = codes.astype(np.uint8).tobytes()
        else:
            into = np.empty(self._located(element, place).n_bytes, np.uint8)
            self._put(element, place, into, into.dtype)
            raw = into.tobytes()
        if raw and not raw.endswith(b"\0"):
            raise self.markup.error("its last text is cut off", place=place)
        found = [text.decode("utf-8", "surrogateescape") for text in raw.split(b"\0")[:-1]]
        if count is not None and len(found) != count:
            raise self.markup.error(f"holds {len(found)} texts", place=place, expected=str(count))
        return found

    def _counted(
        self, element: Element, place: str, dtype: np.dtype[Any], count: int | None
    ) -> int:
        """How many values there are, or `count`, if there can be as many."""
        if count is None:
            return self.count(element, place)
        if self._is_ascii(element, place):
            start, stop = self.markup.body(element)
            right = count <= (stop - start + 1) // 2  # all of them are counted as they are read
        elif dtype == np.bool_:
            right = (count + 7) // 8 == self._located(element, place).n_bytes
        else:
            right = count == self.count(element, place)
        if not right:
            raise self._wrong_count(element, place, count)
        return count

    def _wrong_count(self, element: Element, place: str, count: int) -> ReadError:
        found = self.count(element, place)
        return self.markup.error(f"holds {found} values", place=place, expected=str(count))

    def _put(
        self,
        element: Element,
        place: str,
        out: Numbers,
        dtype: np.dtype[Any],
        bounded: bool = False,
    ) -> list[Bounds]:
        """Put all values, which are of this dtype in the file, into an array of as many.

        Returns:
            Bounds of some and of the others, where they are asked for.
        """
        if self._is_ascii(element, place):
            return self._put_words(element, place, out, dtype)
        blocks = self._located(element, place)
        swapped = dtype.itemsize > 1 and not np.dtype(dtype.newbyteorder(self._order)).isnative
        plain = out.dtype == dtype
        target = out.view(np.uint8) if plain else None

        def work(first: int, stop: int, spare: Numbers | None = None) -> Bounds:
            if target is not None:
                raw = target[first:stop]
            else:
                raw = np.empty(stop - first, np.uint8) if spare is None else spare[: stop - first]
            self._decode(blocks, first, raw, place)
            values = raw.view(dtype)
            if swapped:
                values.byteswap(inplace=True)
            if not plain:
                out[first // dtype.itemsize : stop // dtype.itemsize] = values
            return _bounds(values) if bounded else (0, 0)

        if blocks.n_bytes == 0:  # where there are no blocks, their size may be 0
            return []
        step = blocks.n_bytes
        if blocks.ends is not None:  # as many blocks as make whole values, and some more
            step = blocks.size * dtype.itemsize * max(_STEP // (blocks.size * dtype.itemsize), 1)
        elif blocks.data.base64 or swapped or bounded or not plain:
            step = _STEP
        spans = [
            (first, min(first + step, blocks.n_bytes)) for first in range(0, blocks.n_bytes, step)
        ]
        slow = blocks.ends is not None and COMPRESSORS[self._compressor].slow
        threads = min(torch.get_num_threads(), len(spans)) if slow else 1
        if threads <= 1:
            spare = np.empty(0 if plain else min(step, blocks.n_bytes), np.uint8)  # stays cached
            return [work(*span, spare) for span in spans]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda span: work(*span), spans))

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

    def _texts(self, element: Element, place: str) -> Iterator[bytes]:
        """The text of an array in parts that end where words end."""
        start, stop = self.markup.body(element)
        while start < stop:
            text = self.markup.data.read(start, min(start + _TEXT_WINDOW, stop))
            if start + len(text) < stop:
                text = text[: 1 + max(text.rfind(x) for x in (b" ", b"\n", b"\t", b"\r"))]
            if not text:
                raise self.markup.error(
                    f"a word of more than {_TEXT_WINDOW} letters", place=place, expected="numbers"
                )
            yield text
            start += len(text)

    def _put_words(
        self, element: Element, place: str, out: Numbers, dtype: np.dtype[Any]
    ) -> list[Bounds]:
        at, bounds = 0, []
        kind = np.dtype(np.uint8) if dtype == np.bool_ else dtype
        for text in self._texts(element, place):
            n = _words(text)
            if at + n > len(out):
                raise self._wrong_count(element, place, len(out))
            try:
                values = parsed(text, n, kind)
            except BadNumber as why:
                raise self.markup.error(
                    f"word {at + why.index} is {why.word!r}",
                    place=place,
                    expected=f"a number of {dtype}",
                ) from None
            out[at : at + n] = values
            if n and kind.kind in "iu":
                bounds.append(_bounds(values))
            at += n
        if at != len(out):
            raise self._wrong_count(element, place, len(out))
        return bounds

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
            n_bytes = int(self._header_words(stretch, 1, place)[0])
            self._need(stretch, self._width + n_bytes, f"{n_bytes} bytes", place)
            return _Blocks(n_bytes, stretch, self._width)
        n = int(self._header_words(stretch, 1, place)[0])
        self._need(stretch, (3 + n) * self._width, f"{n} blocks", place)
        words = self._header_words(stretch, 3 + n, place)
        size, partial = int(words[1]), int(words[2])
        after = stretch.start + stretch.length((3 + n) * self._width)
        data = _Stretch(after, stretch.stop, stretch.base64)
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
            raise self.markup.error("the sizes of its blocks are impossible", place=place)
        ends = np.concatenate([[0], np.cumsum(compressed, dtype=np.int64)])
        self._need(data, int(ends[-1]), f"{ends[-1]} bytes in {n} blocks", place)
        return _Blocks(size * (n - 1) + last if n else 0, data, 0, size, ends)

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

    def _header_words(self, stretch: _Stretch, n: int, place: str) -> Numbers:
        """The first words of a header, in native byte order."""
        self._need(stretch, n * self._width, "a header", place)
        raw = self._bytes(stretch, 0, n * self._width, place)
        return np.frombuffer(raw, self._header).astype(self._header.newbyteorder("="))

    def _bytes(self, stretch: _Stretch, first: int, stop: int, place: str) -> memoryview:
        """Bytes of data from first up to stop; the file has been found to hold them."""
        read = self.markup.data.read
        if not stretch.base64:
            return memoryview(read(stretch.start + first, stretch.start + stop))
        group = first // 3  # of three bytes in four letters
        text = read(stretch.start + 4 * group, stretch.start + stretch.length(stop))
        try:
            raw = binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error:
            raw = b""
        if len(raw) < stop - 3 * group:
            raise self.markup.error("its data are no base64", place=place)
        return memoryview(raw)[first - 3 * group : stop - 3 * group]

    def _fill(self, stretch: _Stretch, first: int, into: Numbers, place: str) -> None:
        """Put bytes of data from `first` on into memory, as many as it has."""
        if stretch.base64:
            found = self._bytes(stretch, first, first + len(into), place)
            into[:] = np.frombuffer(found, np.uint8)
        else:
            self.markup.data.fill(stretch.start + first, into)

    def _decode(self, blocks: _Blocks, first: int, into: Numbers, place: str) -> None:
        """Put bytes from `first` on into memory: as they were before base64 and compression."""
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
            raise self.markup.error(f"block {low + bad} does not decompress", place=place)


def _bounds(values: Numbers) -> Bounds:
    """The least of some whole numbers, or 0 if none is negative, and the greatest."""
    # As unsigned numbers, negative ones are beyond all others: one pass.
    top = int(values.view(f"u{values.itemsize}").max())
    if values.dtype.kind == "i" and top > np.iinfo(values.dtype).max:
        return int(values.min()), int(values.max())
    return 0, top


def _words(text: bytes) -> int:
    """How many words a text holds."""
    found = 0
    before = True
    for at in range(0, len(text), _CACHED):
        space = blank(np.frombuffer(text, np.uint8, min(_CACHED, len(text) - at), at))
        found += int(np.count_nonzero(space[:-1] & ~space[1:])) + int(before and not space[0])
        before = bool(space[-1])
    return found
