"""What is a unit of length, and which texts name the same one."""

import pytest

from meshkit.cli.units import metres, same_length
from meshkit.errors import UnitError


@pytest.mark.parametrize(
    ("unit", "size"), [("m", 1), ("mm", 1e-3), ("in", 0.0254), ("µm", 1e-6), ("foot", 0.3048)]
)
def test_metres(unit: str, size: float) -> None:
    assert metres(unit) == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("text", ["", "kg", "m**2", "2*m", "m)", "foo", "1", "(" * 500, "in ch"])
def test_no_length(text: str) -> None:
    with pytest.raises(UnitError, match="is no unit of length"):
        metres(text)


def test_same() -> None:
    assert same_length("mm", "millimetre")
    assert same_length("micron", "um")
    assert not same_length("mm", "m")
    assert same_length("furlongs of old", "furlongs of old")
    assert not same_length("furlongs of old", "m")
