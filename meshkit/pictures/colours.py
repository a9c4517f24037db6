"""Which colour stands for which number."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from meshkit.pictures.options import FITTING

Rgb = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""

SEQUENTIAL, DIVERGING = "viridis", "coolwarm"
"""Perceptually uniform; the second for values on both sides of zero."""

_LEANING: Final = 0.15
"""A range is two-sided where its shorter side is more than this share of the longer one."""

NOTHING: Final[Rgb] = (0.80, 0.80, 0.80)
"""What has no value, or no region."""

PLAIN: Final[Rgb] = (0.67, 0.73, 0.80)
"""What is not coloured at all."""

_STEPS: Final = 256


@dataclass(frozen=True, eq=False)
class Bar:
    """Colours along a range of values.

    Args:
        span: the values at the ends.
        table: float64 [256, 3].
    """

    span: tuple[float, float]
    table: NDArray[np.float64]

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where values lie, 0 to 1 within the range; NaN stays NaN."""
        low, high = self.span
        half = high / 2 - low / 2  # the difference itself could overflow
        with np.errstate(over="ignore", invalid="ignore"):
            share = (values / 2 - low / 2) / half
        return np.clip(share, -1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Kinds:
    """A colour for each of some names.

    Args:
        names: what the values are called.
        values: float64 [len(names)], ascending; any other value has no name.
        table: float64 [len(names), 3].
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    table: NDArray[np.float64]

    def place(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """int64 [n]: which name each value has; -1 for none."""
        if not len(self.values):
            return np.full(len(values), -1)
        at = np.searchsorted(self.values, values).clip(max=len(self.values) - 1)
        return np.where(self.values[at] == values, at, -1)

    def rgb(self, values: NDArray[np.float64]) -> NDArray[np.uint8]:
        """uint8 [n, 3]: the colour of each value."""
        table = np.vstack([self.table, NOTHING])
        return np.round(255 * table[self.place(values)]).astype(np.uint8)


def bar(
    found: tuple[float, float] | None, wanted: tuple[float, float] | None, colours: str
) -> Bar | None:
    """The colours for values between these; None where there are none.

    Args:
        found: the least and the greatest value.
        wanted: the range asked for, taken as it is.
        colours: a colour map of matplotlib; `FITTING` takes a two-sided one, with zero in its
            middle, where the values have both signs.
    """
    if found is None and wanted is None:
        return None
    low, high = wanted or found or (0.0, 1.0)
    two_sided = low < 0 < high and min(-low, high) > _LEANING * max(-low, high)
    if colours == FITTING:
        colours = DIVERGING if two_sided else SEQUENTIAL
        if two_sided and wanted is None:
            low, high = -max(-low, high), max(-low, high)
    if not high / 2 - low / 2 > 0:  # one value, in the middle
        reach = abs(low) / 2 or 1.0
        low, high = low - reach, high + reach
    return Bar((low, high), table_of(colours))


def table_of(colours: str) -> NDArray[np.float64]:
    """float64 [256, 3] of a colour map of matplotlib."""
    from matplotlib import colormaps

    return np.asarray(colormaps[colours](np.linspace(0, 1, _STEPS))[:, :3], np.float64)


def kinds(
    names: tuple[str, ...], colours: str = FITTING, values: Sequence[float] | None = None
) -> Kinds:
    """Colours that are easy to tell apart; or evenly from a colour map that was asked for.

    Args:
        values: that the names stand for, ascending; else 0, 1, 2, ...
    """
    n = len(names)
    codes = np.arange(n, dtype=np.float64) if values is None else np.array(values, np.float64)
    if colours != FITTING:
        at = np.linspace(0, _STEPS - 1, max(n, 2)).round().astype(int)
        return Kinds(names, codes, table_of(colours)[at][:n])
    from matplotlib import colormaps

    # Both palettes have a grey, which would look like "nothing".
    few = [c for i, c in enumerate(colormaps["tab10"].colors) if i != 7]  # type: ignore[attr-defined]
    more = [c for i, c in enumerate(colormaps["tab20"].colors) if i not in (14, 15)]  # type: ignore[attr-defined]
    if n <= len(few):
        chosen = few[:n]
    elif n <= len(more):
        chosen = [*more[::2], *more[1::2]][:n]
    else:
        golden = 0.6180339887498949
        chosen = [
            colorsys.hsv_to_rgb(i * golden % 1, (0.55, 0.85)[i % 2], (0.95, 0.70)[i // 2 % 2])
            for i in range(n)
        ]
    return Kinds(names, codes, np.array(chosen, np.float64).reshape(n, 3))
