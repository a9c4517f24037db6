"""Length units as pint understands them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from meshkit.errors import UnitError

if TYPE_CHECKING:
    import pint


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry()


def metres(unit: str) -> float:
    """How many metres one of this unit is.

    >>> metres("mm"), metres("inch")
    (0.001, 0.0254)

    Raises:
        UnitError: it is no unit of length.
    """
    from tokenize import TokenError

    import pint

    registry = _registry()
    # What pint's parser makes of text that is no unit.
    nonsense = (
        *(pint.PintError, TokenError, SyntaxError, AssertionError, RecursionError),
        *(ValueError, TypeError, AttributeError, ArithmeticError),
    )
    try:
        return float(registry.Quantity(1.0, registry.Unit(unit)).to("m").magnitude)
    except nonsense:
        raise UnitError(f"{unit!r} is no unit of length; expected one like m, mm, inch") from None


def same_length(one: str, other: str) -> bool:
    """Whether two texts name the same unit of length ("mm", "millimetre").

    Texts that are no unit to pint are the same only if they are equal.
    """
    if one == other:
        return True
    try:
        return math.isclose(metres(one), metres(other), rel_tol=1e-12)
    except UnitError:
        return False
