"""Dimensions of OpenFOAM as units that pint understands.

OpenFOAM works in SI: [kg m s K mol A cd] are exponents of SI's base units. Newer versions write
units in words, [m^2/s^2], which go through pint.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from meshkit.readers.openfoam.entries import Dims, Word

Exponents = tuple[float, ...]

_BASE: Final = ("kg", "m", "s", "K", "mol", "A", "cd")
_PINT_BASE: Final = ("kilogram", "meter", "second", "kelvin", "mole", "ampere", "candela")
_NAMED: Final = {(1.0, -1.0, -2.0, 0.0, 0.0, 0.0, 0.0): "Pa"}

PASCAL: Final = (1.0, -1.0, -2.0, 0.0, 0.0, 0.0, 0.0)
KINEMATIC: Final = (0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 0.0)
FLUXES: Final = ((0.0, 3.0, -1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0))
"""Of pressure over density, of volume over time, of mass over time."""


def exponents(items: Sequence[Any]) -> Exponents | None:
    """The seven exponents of what stands in [...]; None where they are no dimensions.

    >>> exponents((0, 1, -1, 0, 0))
    (0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0)
    """
    numbers = all(isinstance(x, int | float) for x in items)
    if numbers and len(items) in (5, 7):
        return tuple(float(x) for x in items) + (0.0,) * (7 - len(items))
    if numbers:
        return (0.0,) * 7 if not items else None
    words = " ".join(f"({' '.join(map(str, x))})" if isinstance(x, list) else str(x) for x in items)
    return _of_words(words)


def dims_of(items: Sequence[Any]) -> Exponents | None:
    """The exponents of the first [...] among the items of an entry."""
    found = next((x for x in items if isinstance(x, Dims)), None)
    return None if found is None else exponents(found.items)


def in_other_units(items: Sequence[Any]) -> bool:
    """Whether an entry's number is in units that are not SI's own, such as [mm^2/s]."""
    found = next((x for x in items if isinstance(x, Dims)), None)
    words = found is not None and any(isinstance(x, Word) for x in found.items)
    return words and dims_of(items) is None


def unit(exponent: Exponents | None) -> str | None:
    """The unit as text: "m/s", "Pa", "m^2/s^2", "dimensionless"; None where none is known.

    >>> unit((0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 0.0)), unit((0.0,) * 7)
    ('m^2/s^2', 'dimensionless')
    """
    if exponent is None:
        return None
    if exponent in _NAMED:
        return _NAMED[exponent]
    above = [_power(name, e) for name, e in zip(_BASE, exponent, strict=True) if e > 0]
    below = [_power(name, -e) for name, e in zip(_BASE, exponent, strict=True) if e < 0]
    if not above and not below:
        return "dimensionless"
    return "*".join(above or ["1"]) + "".join(f"/{name}" for name in below)


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}^{exponent:g}"


@cache
def _of_words(words: str) -> Exponents | None:
    """Units in words, a blank multiplies; None where they are not SI's own, as mm is."""
    from tokenize import TokenError

    import pint

    registry: Any = pint.UnitRegistry()
    nonsense = (
        *(pint.PintError, TokenError, SyntaxError, AssertionError, RecursionError),
        *(ValueError, TypeError, AttributeError, ArithmeticError),
    )
    try:
        if len(words) > 200:
            return None
        base = registry.Quantity(1, registry.parse_units(words)).to_base_units()
        found = dict(base.units._units)
    except nonsense:
        return None
    if abs(base.magnitude - 1) > 1e-12 or set(found) - set(_PINT_BASE):
        return None
    return tuple(float(found.get(name, 0)) for name in _PINT_BASE)
