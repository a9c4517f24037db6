"""Whether this machine can draw, and what tests ask of pictures: colours and shares, not bytes."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from meshkit.pictures.errors import NoWindow
from meshkit.pictures.window import window

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@cache
def why_no_drawing() -> str | None:
    """What is missing; None where it is possible."""
    try:
        with window((16, 16)):
            return None
    except NoWindow as why:
        return str(why)


def need_drawing() -> None:
    """Skip the test where nothing can be drawn."""
    missing = why_no_drawing()
    if missing is not None:
        pytest.skip(missing)


def near(pixels: Pixels, colour: Any, within: float = 0.06) -> Mask:
    """Where pixels are about of a colour (red, green, blue from 0 to 1)."""
    far = np.abs(pixels.astype(np.float64) / 255 - np.asarray(colour)).max(-1)
    found: Mask = far <= within
    return found


def hued(pixels: Pixels, colour: Any, within: float = 0.06) -> Mask:
    """Where pixels have about the hue of a colour, in any light that a body is drawn in."""
    part = pixels.astype(np.float64) / 255
    light = part.max(-1, keepdims=True)
    wanted = np.asarray(colour) / max(colour)
    alike: Mask = np.abs(part / np.maximum(light, 1e-9) - wanted).max(-1) <= within
    lit: Mask = (light[..., 0] > 0.4 * max(colour)) & (light[..., 0] < 1.1 * max(colour))
    return alike & lit


def drawn(pixels: Pixels, background: Any = (1.0, 1.0, 1.0)) -> Mask:
    """Where there is anything but background."""
    return ~near(pixels, background, 0.02)


def share(mask: Mask) -> float:
    """How much of the picture a mask covers."""
    return float(mask.mean())


def dark(pixels: Pixels) -> Mask:
    """Where letters may be."""
    found: Mask = pixels.max(-1) < 90
    return found
