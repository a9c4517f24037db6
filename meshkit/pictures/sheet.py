"""One sheet: drawings, what stands above each, the legend beside them, the caption below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from meshkit.pictures.colours import Rgb
from meshkit.pictures.legend import Legend, Rectangle
from meshkit.pictures.lettering import Canvas, ink_on, mixed, printable, shortened
from meshkit.pictures.picture import Pixels
from meshkit.pictures.view_point import View

AXES_COLOURS: Final[tuple[Rgb, ...]] = ((0.80, 0.22, 0.20), (0.20, 0.58, 0.26), (0.20, 0.38, 0.80))
"""Of x, y and z."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """How a sheet is divided; nothing overlaps.

    Args:
        size: width and height.
        panels: a rectangle for each drawing.
        legend: what the colours mean.
        legend_box: where it stands.
        heads: what stands above each drawing; "" for nothing.
        caption: lines below.
        letter: size of the letters.
        background: of everything.
    """

    size: tuple[int, int]
    panels: tuple[Rectangle, ...]
    legend: Legend | None
    legend_box: Rectangle
    heads: tuple[str, ...]
    caption: tuple[str, ...]
    letter: int
    background: Rgb

    @property
    def panel_size(self) -> tuple[int, int]:
        """Width and height of each drawing."""
        left, top, right, bottom = self.panels[0]
        return right - left, bottom - top

    def filled(self, drawings: Sequence[Pixels], view: View) -> Pixels:
        """The sheet with its drawings."""
        canvas = Canvas(self.size, self.background)
        ink = ink_on(self.background)
        pale = mixed(ink, self.background, 0.25)
        for drawing, box, head in zip(drawings, self.panels, self.heads, strict=True):
            canvas.paste(drawing, box[:2])
            if head:
                middle = (box[0] + box[2]) / 2
                canvas.text(
                    head, (middle, box[1] - 0.3 * self.letter), self.letter, ink, anchor="md"
                )
        if self.legend is not None:
            self.legend.put(canvas, self.legend_box, self.letter, ink)
        self._put_caption(canvas, pale, view)
        return canvas.pixels()

    def _put_caption(self, canvas: Canvas, ink: Rgb, view: View) -> None:
        height = _band(self.letter)
        _triad(canvas, (self.letter, self.size[1] - height), height, self.letter, view, ink)
        small = _small(self.letter)
        left = round(1.6 * self.letter) + height
        top = self.size[1] - round(height / 2 + 0.7 * small * len(self.caption))
        for line in self.caption:
            text = shortened(printable(line), small, self.size[0] - left - self.letter)
            canvas.text(text, (left, top), small, ink)
            top += round(1.4 * small)


def divided(
    size: tuple[int, int],
    aspect: float,
    legend: Legend | None,
    heads: Sequence[str],
    caption: Sequence[str],
    background: Rgb,
) -> Sheet:
    """A sheet for as many drawings as there are heads, as large as they can be.

    Args:
        aspect: width by height of what is drawn; it decides how many stand in a row.
    """
    width, height = size
    letter = max(9, min(44, round(math.sqrt(0.75 * width * height) / 44), height // 22))
    gap = letter
    band = _band(letter)
    right = width - gap
    legend_box = (0, 0, 0, 0)
    if legend is not None:
        needed = legend.width(letter, width)
        legend_box = (right - needed, 2 * gap, right, height - band - gap)
        right -= needed + gap
    area = (gap, gap, right, height - band - gap // 2)
    head = round(1.7 * letter) if any(heads) else 0
    panels = _grid(area, len(heads), aspect, head, gap)
    return Sheet(size, panels, legend, legend_box, tuple(heads), tuple(caption), letter, background)


def _grid(area: Rectangle, n: int, aspect: float, head: int, gap: int) -> tuple[Rectangle, ...]:
    """n boxes of one size in rows; the number of columns is that in which most can be seen."""
    left, top, right, bottom = area

    def box(columns: int) -> tuple[int, int]:
        rows = math.ceil(n / columns)
        wide = (right - left - gap * (columns - 1)) // columns
        high = (bottom - top - gap * (rows - 1)) // rows - head
        return max(wide, 8), max(high, 8)

    def seen(columns: int) -> float:
        wide, high = box(columns)
        return min(wide / aspect, high)

    columns = max(range(1, n + 1), key=lambda c: (round(seen(c), 6), c))
    wide, high = box(columns)
    out = []
    for i in range(n):
        row, column = divmod(i, columns)
        x = left + column * (wide + gap)
        y = top + row * (high + head + gap) + head
        out.append((x, y, x + wide, y + high))
    return tuple(out)


def _small(letter: int) -> int:
    return max(9, round(0.78 * letter))


def _band(letter: int) -> int:
    """Height of the caption, with the axes beside it."""
    return round(3.9 * letter)


def _triad(
    canvas: Canvas, at: tuple[int, int], side: int, letter: int, view: View, ink: Rgb
) -> None:
    """The directions of x, y and z, the nearest last."""
    middle = (at[0] + side / 2, at[1] + side / 2)
    reach = 0.38 * side
    small = max(9, round(0.68 * letter))
    order = sorted(range(3), key=lambda axis: float(view.axes[2, axis]))
    for axis in order:
        x, y = float(view.axes[0, axis]), -float(view.axes[1, axis])
        length = math.hypot(x, y)
        if length < 0.15:  # it points to the eye, or away from it
            continue
        tip = (middle[0] + reach * x, middle[1] + reach * y)
        canvas.line([middle, tip], AXES_COLOURS[axis], max(2, letter // 8))
        beyond = 0.42 * letter / length
        place = (tip[0] + beyond * x, tip[1] + beyond * y)
        canvas.text("xyz"[axis], place, small, ink, anchor="mm")
