"""Text and simple shapes on a sheet of pixels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshkit.pictures.colours import Rgb
from meshkit.pictures.picture import Pixels
from meshkit.words import words_of

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_DARK: Rgb = (0.12, 0.14, 0.17)
LIGHT: Rgb = (0.95, 0.95, 0.96)


@lru_cache(maxsize=64)
def font(size: int, bold: bool = False) -> FreeTypeFont:
    """DejaVu Sans, which matplotlib brings along, so high in pixels."""
    import matplotlib
    from PIL.ImageFont import truetype

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", name)), size)


def ink_on(background: Rgb) -> Rgb:
    """What can be read on a background: nearly black or nearly white."""
    red, green, blue = background
    return _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT


def mixed(a: Rgb, b: Rgb, share: float) -> Rgb:
    """A colour between two."""
    red, green, blue = (x + share * (y - x) for x, y in zip(a, b, strict=True))
    return red, green, blue


def bytes_of(colour: Rgb) -> tuple[int, int, int]:
    """From 0 to 255."""
    red, green, blue = (round(255 * c) for c in colour)
    return red, green, blue


def printable(text: str) -> str:
    """One line that a font can show, whatever a file calls its things."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def width_of(text: str, size: int, bold: bool = False) -> int:
    """In pixels."""
    return round(font(size, bold).getlength(text))


def shortened(text: str, size: int, most: int, bold: bool = False) -> str:
    """The text, with dots in its middle where it would be wider than `most` pixels."""
    if width_of(text, size, bold) <= most:
        return text
    for kept in range(len(text) - 1, 1, -1):
        begin = text[: (kept + 1) // 2]
        end = text[len(text) - kept // 2 :]
        short = f"{begin}\N{HORIZONTAL ELLIPSIS}{end}"
        if width_of(short, size, bold) <= most:
            return short
    return "\N{HORIZONTAL ELLIPSIS}"


def wrapped(text: str, size: int, most: int, bold: bool = False) -> list[str]:
    """The text in lines of at most `most` pixels, broken at spaces."""
    lines: list[str] = []
    for word in words_of(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold) <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return [shortened(line, size, most, bold) for line in lines]


class Canvas:
    """A sheet to put pictures, text and shapes on; colours as `Rgb`, places in pixels."""

    def __init__(self, size: tuple[int, int], background: Rgb) -> None:
        from PIL import Image, ImageDraw

        self._image = Image.new("RGB", size, bytes_of(background))
        self._pen: Any = ImageDraw.Draw(self._image)

    def paste(self, pixels: Pixels, at: tuple[int, int]) -> None:
        """Put pixels with their upper left corner there."""
        from PIL import Image

        self._image.paste(Image.fromarray(pixels), at)

    def text(
        self,
        text: str,
        at: tuple[float, float],
        size: int,
        colour: Rgb,
        *,
        anchor: str = "la",
        bold: bool = False,
    ) -> None:
        """Write one line; `anchor` is pillow's: which point of the text stands at the place."""
        self._pen.text(at, text, font=font(size, bold), fill=bytes_of(colour), anchor=anchor)

    def rectangle(self, box: tuple[int, int, int, int], fill: Rgb, outline: Rgb | None) -> None:
        """Fill the pixels from (left, top) to before (right, bottom)."""
        left, top, right, bottom = box
        line = None if outline is None else bytes_of(outline)
        corners = (left, top, right - 1, bottom - 1)
        self._pen.rectangle(corners, fill=bytes_of(fill), outline=line)

    def polygon(self, corners: list[tuple[float, float]], fill: Rgb) -> None:
        """Fill a polygon."""
        self._pen.polygon(corners, fill=bytes_of(fill))

    def line(self, ends: list[tuple[float, float]], colour: Rgb, width: int) -> None:
        """Draw a line."""
        self._pen.line(ends, fill=bytes_of(colour), width=width)

    def pixels(self) -> Pixels:
        """uint8 [height, width, 3]: a copy."""
        import numpy as np

        return np.array(self._image)
