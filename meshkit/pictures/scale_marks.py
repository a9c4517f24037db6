"""Numbers along a colour bar: which, and how they are written."""

from __future__ import annotations

import math
from typing import Final

_ROUND: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUS: Final = "\N{MINUS SIGN}"


def written(x: float, digits: int = 4, *, among: float = 0.0) -> str:
    """A number in few characters.

    Args:
        among: how large the numbers beside it are; 0 is written for what is only their rounding.

    >>> written(28.5714), written(101325.0), written(-2.5e-7), written(6e-17, among=2.0)
    ('28.57', '1.013e5', '−2.5e−7', '0')
    """
    if abs(x) < 1e-12 * among:
        return "0"
    if 1e-3 <= abs(x) < 1e5 and abs(x - round(x)) < 1e-9 * abs(x):
        text = str(round(x))
    else:
        text = f"{x:.{digits}g}"
    mantissa, e, power = text.partition("e")
    return (f"{mantissa}e{int(power)}" if e else mantissa).replace("-", _MINUS)


def marks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, at most so many, in equal steps.

    >>> marks(28.57, 1171.4, 7)
    [200.0, 400.0, 600.0, 800.0, 1000.0]
    """
    span = high - low
    if most < 1 or not 0 < span < math.inf:
        return []
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough)) if rough else 0.0
    if not power:  # among the smallest of all numbers
        return []
    step = next(r * power for r in _ROUND if r * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def apart(numbers: list[float]) -> list[str]:
    """Numbers in few characters, but enough to tell them apart.

    >>> apart([0.0, 1 / 3, 2 / 3]), apart([100.0001, 100.0002])
    (['0', '0.3333', '0.6667'], ['100.0001', '100.0002'])
    """
    different = len({*numbers})
    for digits in range(4, 17):
        said = [written(x, digits) for x in numbers]
        if len({*said}) == different:
            return said
    return [repr(x) for x in numbers]
