"""The numbers of an array that is written as text in a VTK XML file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.ascii_numbers import BadNumber, blank, parsed
from meshkit.readers.vtk.markup import Element, Markup

Numbers = NDArray[Any]
Bounds = tuple[int, int]

# How much text is in work at once, and how much of it the caches hold.
_TEXT_WINDOW: Final = 1 << 20
_CACHED: Final = 1 << 16


class WrittenWords:
    """The text arrays of a file, taken in windows that end where words end."""

    def __init__(self, markup: Markup) -> None:
        self._markup = markup

    def _windows(self, element: Element, place: str) -> Iterator[bytes]:
        """The text of an array in parts that end where words end."""
        start, stop = self._markup.body(element)
        while start < stop:
            text = self._markup.data.read(start, min(start + _TEXT_WINDOW, stop))
            if start + len(text) < stop:
                text = text[: 1 + max(text.rfind(x) for x in (b" ", b"\n", b"\t", b"\r"))]
            if not text:
                raise self._markup.error(
                    f"a word of more than {_TEXT_WINDOW} letters", place=place, expected="numbers"
                )
            yield text
            start += len(text)

    def count(self, element: Element, place: str) -> int:
        """How many words the text of an array holds."""
        return sum(_words(text) for text in self._windows(element, place))

    def put(self, element: Element, place: str, out: Numbers, dtype: np.dtype[Any]) -> list[Bounds]:
        """Put all words, which are numbers of this dtype, into an array of as many.

        Returns:
            Bounds of some whole numbers and of the others.

        Raises:
            ReadError: there are more or fewer words, or one is no such number.
        """
        at, bounds = 0, []
        kind = np.dtype(np.uint8) if dtype == np.bool_ else dtype
        for text in self._windows(element, place):
            n = _words(text)
            if at + n > len(out):
                raise self._wrong_count(element, place, len(out))
            try:
                values = parsed(text, n, kind)
            except BadNumber as why:
                raise self._markup.error(
                    f"word {at + why.index} is {why.word!r}",
                    place=place,
                    expected=f"a number of {dtype}",
                ) from None
            out[at : at + n] = values
            if n and kind.kind in "iu":
                bounds.append(bounds_of(values))
            at += n
        if at != len(out):
            raise self._wrong_count(element, place, len(out))
        return bounds

    def _wrong_count(self, element: Element, place: str, count: int) -> ReadError:
        found = self.count(element, place)
        return self._markup.error(f"holds {found} values", place=place, expected=str(count))


def bounds_of(values: Numbers) -> Bounds:
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
