"""The data of one array in a VTK XML file: how many values are really there, and which.

An array is written as text (ascii), in base64 (inline or appended) or raw (appended), and the
binary ones perhaps in compressed blocks.

Everything is compared with the size of the file and with the memory that is free before memory is
taken for it, and goes from the file straight into the array that is handed out, window by window.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.memory import need_room
from meshkit.readers.vtk.compression import COMPRESSORS
from meshkit.readers.vtk.markup import Element, Markup
from meshkit.readers.vtk.packed_bytes import PackedBytes
from meshkit.readers.vtk.written_words import Bounds, WrittenWords, bounds_of

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


# How many bytes to be changed are in work at once: what the caches hold.
_STEP: Final = 1 << 19

_TEXT_ROOM: Final = 10
"""What a byte of texts takes: twice itself, and a place in a list, for an empty text is a byte."""


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
        self._order = order
        compressor = said.get("compressor", "")
        if compressor and compressor not in COMPRESSORS:
            raise markup.error(
                f"compressor {compressor[:60]!r} is unknown",
                expected=f"one of {', '.join(COMPRESSORS)}",
            )
        self._compressor = compressor
        self._packed = PackedBytes(markup, np.dtype(f"{order}u{width}"), compressor)
        self._words = WrittenWords(markup)

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
            return self._words.count(element, place)
        n_bytes = self._packed.located(element, place).n_bytes
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
            n = self._words.count(element, place)
            codes = np.empty(n, np.int64)
            self._words.put(element, place, codes, codes.dtype)
            if len(codes) and (codes.min() < -128 or codes.max() > 255):
                raise self.markup.error(
                    "its texts are no bytes", place=place, expected="-128 to 255"
                )
            raw = codes.astype(np.uint8).tobytes()
        else:
            n_bytes = self._packed.located(element, place).n_bytes
            need_room(self.markup.path, _TEXT_ROOM * n_bytes, place=place)
            into = np.empty(n_bytes, np.uint8)
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
            count = self.count(element, place)
        if self._is_ascii(element, place):
            start, stop = self.markup.body(element)
            right = count <= (stop - start + 1) // 2  # all of them are counted as they are read
        elif dtype == np.bool_:
            right = (count + 7) // 8 == self._packed.located(element, place).n_bytes
        else:
            right = count == self.count(element, place)
        if not right:
            raise self._wrong_count(element, place, count)
        need_room(self.markup.path, count * dtype.itemsize, place=place)
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
            return self._words.put(element, place, out, dtype)
        blocks = self._packed.located(element, place)
        swapped = dtype.itemsize > 1 and not np.dtype(dtype.newbyteorder(self._order)).isnative
        plain = out.dtype == dtype
        target = out.view(np.uint8) if plain else None

        def work(first: int, stop: int, spare: Numbers | None = None) -> Bounds:
            if target is not None:
                raw = target[first:stop]
            else:
                raw = np.empty(stop - first, np.uint8) if spare is None else spare[: stop - first]
            self._packed.decode(blocks, first, raw, place)
            values = raw.view(dtype)
            if swapped:
                values.byteswap(inplace=True)
            if not plain:
                out[first // dtype.itemsize : stop // dtype.itemsize] = values
            return bounds_of(values) if bounded else (0, 0)

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
