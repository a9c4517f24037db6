"""Frames of a film in the 256 colours that a GIF has, the same ones in each frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.pictures.colours import NOTHING, PLAIN, Bar, Kinds, Rgb
from meshkit.pictures.lettering import ink_on
from meshkit.pictures.picture import Pixels, image_of

if TYPE_CHECKING:
    from PIL.Image import Image

_LEAST_LIGHT: Final = 0.45
"""No surface is darker than this share of its colour."""

_ALONG_BAR: Final = 44
_RAMP: Final = 24


def palette_of(colours: Bar | Kinds | None, background: Rgb, axes: NDArray[np.float64]) -> Image:
    """A palette: the colours in several lights, and what letters and edges are drawn in.

    Args:
        axes: float64 [n, 3]: other colours that are needed as they are.
    """
    from PIL import Image

    if isinstance(colours, Bar):
        at = np.linspace(0, len(colours.table) - 1, _ALONG_BAR).round().astype(int)
        hues = colours.table[at]
    else:
        hues = np.array([PLAIN]) if colours is None else colours.table
    ramp = np.linspace(0, 1, _RAMP)[:, None]
    fixed = np.vstack([axes, ramp * np.array(ink_on(background)) + (1 - ramp) * background])
    hues = np.vstack([hues, NOTHING])[: 256 - len(fixed)]
    lights = np.linspace(1, _LEAST_LIGHT, max(1, (256 - len(fixed)) // len(hues)))
    table = np.vstack([fixed, (lights[:, None, None] * hues).reshape(-1, 3)])
    held = Image.new("P", (1, 1))
    held.putpalette(np.round(255 * table).astype(np.uint8).tobytes())
    return held


def frame_of(pixels: Pixels, palette: Image) -> Image:
    """A picture in the colours of a palette."""
    from PIL.Image import Dither

    return image_of(pixels).quantize(palette=palette, dither=Dither.FLOYDSTEINBERG)
