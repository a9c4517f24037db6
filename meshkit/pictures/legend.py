"""What the colours mean: a bar with numbers, or a list of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from meshkit.pictures.colours import NOTHING, Bar, Kinds, Rgb
from meshkit.pictures.lettering import (
    Canvas,
    mixed,
    printable,
    shortened,
    width_of,
    wrapped,
)
from meshkit.pictures.scale_marks import marks, written
from meshkit.words import words_of

Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom; the last two are the first pixels outside."""

_WIDEST: Final = 0.30
"""A legend takes at most this share of the sheet's width."""


class Legend(Protocol):
    """Something that says what the colours mean."""

    @property
    def title(self) -> str:
        """What it is about."""
        ...

    def width(self, letter: int, sheet: int) -> int:
        """How many pixels it needs across, for letters of a size on a sheet of a width."""
        ...

    def put(self, canvas: Canvas, box: Rectangle, letter: int, ink: Rgb) -> None:
        """Draw it in a box."""
        ...


@dataclass(frozen=True, eq=False)
class BarLegend:
    """A colour bar with round numbers, and what lies outside of its range.

    Args:
        title: the field, its component and unit.
        bar: the colours; None where there is no value at all.
        below, above: values lie outside of the range.
        gaps: some of what is drawn has no value.
    """

    title: str
    bar: Bar | None
    below: bool = False
    above: bool = False
    gaps: bool = False

    def width(self, letter: int, sheet: int) -> int:
        """How many pixels it needs across."""
        most = int(_WIDEST * sheet)
        numbers = [self._said(x) for x in (*self.bar.span, *self._marks(8))] if self.bar else []
        labels = max((width_of(n, letter) for n in numbers), default=0) + 2 * letter
        title = _title_width(self.title, letter)
        swatch = width_of("no value", letter) + 2 * letter if self.gaps or not self.bar else 0
        return min(most, max(labels, title, swatch, 5 * letter) + letter)

    def put(self, canvas: Canvas, box: Rectangle, letter: int, ink: Rgb) -> None:
        """Draw it in a box."""
        left, top, right, bottom = box
        room = right - left
        line = round(1.3 * letter)
        for text in wrapped(printable(self.title), letter, room, True):
            canvas.text(text, (left, top), letter, ink, bold=True)
            top += line
        top += round(0.8 * letter)
        below = top
        if self.bar is not None:
            tip = round(0.9 * letter)
            first = top + (tip if self.above else letter // 2)
            last = bottom - (tip if self.below else letter // 2) - (2 * line if self.gaps else 0)
            last = min(last, first + 24 * letter)
            if last - first >= 2 * letter:
                bar = (left, first, left + round(1.1 * letter), last)
                self._put_bar(canvas, bar, letter, ink, tip)
                below = last + (tip if self.below else letter // 2) + letter // 2
        if self.gaps or self.bar is None:
            _swatch(canvas, (left, below), letter, NOTHING, "no value", ink, room)

    def _put_bar(self, canvas: Canvas, box: Rectangle, letter: int, ink: Rgb, tip: int) -> None:
        if self.bar is None:
            return
        left, top, right, bottom = box
        table = np.round(255 * self.bar.table).astype(np.uint8)
        height = bottom - top
        rows = np.linspace(len(table) - 1, 0, height).round().astype(int)
        canvas.paste(np.repeat(table[rows][:, None], right - left, axis=1), (left, top))
        middle = (left + right) / 2
        ends = (self.bar.table[-1], self.bar.table[0])
        if self.above:
            corners = [(left, top - 1), (right - 1, top - 1), (middle, top - tip)]
            canvas.polygon([(float(x), float(y)) for x, y in corners], _rgb(ends[0]))
        if self.below:
            corners = [(left, bottom), (right - 1, bottom), (middle, bottom + tip - 1)]
            canvas.polygon([(float(x), float(y)) for x, y in corners], _rgb(ends[1]))
        low, high = self.bar.span
        said: list[int] = []
        for value in (high, low, *self._marks(height // (2 * letter))):
            y = bottom - 1 - round(float(self.bar.share(np.array(value))) * (height - 1))
            if any(abs(y - other) < 1.25 * letter for other in said):
                continue
            said.append(y)
            canvas.line([(right, y), (right + letter // 3, y)], ink, max(1, letter // 14))
            text = (right + round(0.6 * letter), y)
            canvas.text(self._said(value), text, letter, ink, anchor="lm")

    def _said(self, x: float) -> str:
        return written(x, among=max(map(abs, self.bar.span)) if self.bar else 0.0)

    def _marks(self, most: int) -> list[float]:
        return marks(*self.bar.span, min(most, 8)) if self.bar else []


@dataclass(frozen=True, eq=False)
class KindsLegend:
    """Names with their colours.

    Args:
        title: what they are.
        kinds: the names and colours.
        shown: the codes that can be seen, in the order of the list.
        nothing: what has no name is called so; None where there is no such thing.
        hidden: how many more there are that cannot be seen.
    """

    title: str
    kinds: Kinds
    shown: tuple[int, ...]
    nothing: str | None = None
    hidden: int = 0

    def width(self, letter: int, sheet: int) -> int:
        """How many pixels it needs across."""
        words = [printable(self.kinds.names[c]) for c in self.shown]
        words += [self.nothing or "", self._more(self.hidden)]
        names = max((width_of(w, letter) for w in words), default=0) + 2 * letter
        title = _title_width(self.title, letter)
        return min(int(_WIDEST * sheet), max(names, title, 5 * letter) + letter)

    def put(self, canvas: Canvas, box: Rectangle, letter: int, ink: Rgb) -> None:
        """Draw it in a box; names that find no place are counted."""
        left, top, right, bottom = box
        room, line = right - left, round(1.5 * letter)
        for text in wrapped(printable(self.title), letter, room, True):
            canvas.text(text, (left, top), letter, ink, bold=True)
            top += round(1.3 * letter)
        top += round(0.6 * letter)
        rows: list[tuple[str, Rgb]] = [
            (printable(self.kinds.names[c]), _rgb(self.kinds.table[c])) for c in self.shown
        ]
        if self.nothing is not None:
            rows.append((self.nothing, NOTHING))
        places = max(0, (bottom - top) // line)
        hidden = self.hidden
        if len(rows) + bool(hidden) > places:
            kept = max(0, places - 1)
            hidden += len(rows) - kept
            rows = rows[:kept]
        for name, colour in rows:
            _swatch(canvas, (left, top), letter, colour, name, ink, room)
            top += line
        if hidden and places:
            text = shortened(self._more(hidden), letter, room)
            canvas.text(text, (left, top), letter, ink)

    @staticmethod
    def _more(n: int) -> str:
        return f"and {n} more" if n else ""


def _title_width(title: str, letter: int) -> int:
    """What a title needs across: one line if it is short, else a line a word."""
    whole = width_of(printable(title), letter, True)
    longest = max((width_of(word, letter, True) for word in words_of(printable(title))), default=0)
    return max(longest, min(whole, 12 * letter))


def _swatch(
    canvas: Canvas,
    at: tuple[int, int],
    letter: int,
    colour: Rgb,
    name: str,
    ink: Rgb,
    room: int,
) -> None:
    left, top = at
    canvas.rectangle((left, top, left + letter, top + letter), colour, mixed(colour, ink, 0.35))
    text = shortened(name, letter, room - round(1.6 * letter))
    place = (left + round(1.6 * letter), top + letter // 2)
    canvas.text(text, place, letter, ink, anchor="lm")


def _rgb(row: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Rgb:
    red, green, blue = (float(x) for x in row)
    return red, green, blue
