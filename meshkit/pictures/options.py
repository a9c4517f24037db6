"""What a picture is to show, checked before anything costly is done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from meshkit.pictures.errors import PictureError
from meshkit.suggestions import did_you_mean

Direction = tuple[float, float, float]

AXES: Final[dict[str, Direction]] = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
}
ISO: Final = (-60.0, 30.0)
"""Azimuth and elevation of the camera that is called "iso"."""

LEAST, MOST = (120, 90), (8192, 8192)
"""Between these sizes a picture can be."""

FITTING: Final = "viridis or diverging"
"""Stands for the colour map that goes with the values."""


@dataclass(frozen=True, slots=True)
class Plane:
    """A plane to cut at: what lies where the normal points goes.

    Args:
        normal: of length 1.
        at: a point of it; None for the middle of the mesh's box.
        nearer: the half that is nearer to the camera goes, wherever the normal points.
    """

    normal: Direction
    at: Direction | None = None
    nearer: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What a picture shows; `options` makes it from what people write.

    Args:
        field: a name, with or without its home ("p", "cell_data/p"); None chooses.
        component: "magnitude", "x", "y", "z", a name or a number from 0; None: the magnitude.
        regions: colour by region instead of by a field.
        edges: draw the edges of the cells.
        plane: cut there.
        camera: azimuth and elevation in degrees; None: "iso", straight on for a flat mesh.
        size: width and height in pixels.
        colours: a name of matplotlib's colour maps, or `FITTING`.
        span: values at the ends of the colour bar; None: those of the field.
        background: red, green and blue from 0 to 1.
    """

    field: str | None = None
    component: str | None = None
    regions: bool = False
    edges: bool = False
    plane: Plane | None = None
    camera: tuple[float, float] | None = None
    size: tuple[int, int] | None = None
    colours: str = FITTING
    span: tuple[float, float] | None = None
    background: tuple[float, float, float] = (1.0, 1.0, 1.0)


def camera_of(text: str) -> tuple[float, float]:
    """Azimuth (from x to y) and elevation of the camera, in degrees.

    >>> camera_of("iso"), camera_of("+z"), camera_of("-y"), camera_of("30,-10")
    ((-60.0, 30.0), (-90.0, 90.0), (-90.0, 0.0), (30.0, -10.0))

    Raises:
        PictureError: it says no direction.
    """
    if text == "iso":
        return ISO
    known = {"+x": (0.0, 0.0), "-x": (180.0, 0.0), "+y": (90.0, 0.0), "-y": (-90.0, 0.0)}
    known |= {"+z": (-90.0, 90.0), "-z": (-90.0, -90.0)}
    if text in known:
        return known[text]
    pair = _numbers(text, 2)
    if pair is None or abs(pair[1]) > 90:
        raise PictureError(
            f"camera {text!r}: expected iso, +x, -x, +y, -y, +z, -z "
            "or degrees as 'azimuth,elevation' with an elevation from -90 to 90"
        )
    return pair[0], pair[1]


def plane_of(text: str, at: str | Sequence[float] | None = None) -> Plane:
    """The plane that a clip is at.

    "x", "y" and "z" cut across an axis, and the half nearer to the camera goes. "+x", "-x" and a
    normal "nx,ny,nz" say which half goes: that to which they point.

    >>> plane_of("z")
    Plane(normal=(0.0, 0.0, 1.0), at=None, nearer=True)
    >>> plane_of("0,-2,0", "1,2,3")
    Plane(normal=(0.0, -1.0, 0.0), at=(1.0, 2.0, 3.0), nearer=False)

    Raises:
        PictureError: it says no plane.
    """
    point = None
    if at is not None:
        given = _numbers(at, 3) if isinstance(at, str) else floats("clip at", at)
        if given is None or len(given) != 3 or not all(map(math.isfinite, given)):
            raise PictureError(f"clip at {at!r}: expected a point as 'x,y,z'")
        point = (given[0], given[1], given[2])
    if text in AXES:
        return Plane(AXES[text], point, nearer=True)
    if text[:1] in ("+", "-") and text[1:] in AXES:
        sign = 1.0 if text[0] == "+" else -1.0
        x, y, z = (sign * c + 0.0 for c in AXES[text[1:]])
        return Plane((x, y, z), point)
    normal = _numbers(text, 3)
    length = math.hypot(*normal) if normal else 0.0
    if normal is None or not 0 < length < math.inf:
        raise PictureError(
            f"clip {text!r}: expected x, y, z, a side as +x or -x, or a normal as 'nx,ny,nz'"
        )
    x, y, z = (c / length + 0.0 for c in normal)
    return Plane((x, y, z), point)


def size_of(text: str) -> tuple[int, int]:
    """Width and height from "1200x900".

    Raises:
        PictureError: it says no size, or one too small or too large.
    """
    width, cross, height = text.lower().partition("x")
    if not cross or not width.strip().isdecimal() or not height.strip().isdecimal():
        raise PictureError(f"size {text!r}: expected width and height in pixels, as in 1200x900")
    return checked_size((int(width), int(height)))


def checked_size(size: Sequence[int]) -> tuple[int, int]:
    """The same size.

    Raises:
        PictureError: it is too small for a legend or larger than a window can be.
    """
    least, most = "x".join(map(str, LEAST)), "x".join(map(str, MOST))
    if len(size) != 2 or not all(a <= n <= b for a, n, b in zip(LEAST, size, MOST, strict=True)):
        found = "x".join(map(str, size))
        raise PictureError(f"size {found}: expected from {least} to {most} pixels")
    return int(size[0]), int(size[1])


def span_of(text: str) -> tuple[float, float]:
    """Least and greatest value from "0,1e5".

    Raises:
        PictureError: it is no ascending pair of numbers.
    """
    pair = _numbers(text, 2)
    if pair is None:
        raise PictureError(f"range {text!r}: expected two numbers as 'min,max'")
    return checked_span(pair)


def checked_span(span: Sequence[float]) -> tuple[float, float]:
    """The same pair.

    Raises:
        PictureError: it does not ascend, or is not finite.
    """
    span = floats("range", span)
    if len(span) != 2 or not -math.inf < span[0] < span[1] < math.inf:
        found = ",".join(f"{x:g}" for x in span)
        raise PictureError(f"range {found}: expected a finite minimum below a finite maximum")
    return span[0], span[1]


def background_of(text: str) -> tuple[float, float, float]:
    """Red, green and blue from a name or "#rrggbb".

    Raises:
        PictureError: there is no such colour.
    """
    if text == "white":
        return 1.0, 1.0, 1.0
    from matplotlib.colors import is_color_like, to_rgb

    if not is_color_like(text):
        raise PictureError(f"background {text!r}: expected a colour such as white or #1b2a41")
    red, green, blue = to_rgb(text)
    return float(red), float(green), float(blue)


def colours_of(text: str) -> str:
    """The name of a colour map, if there is one.

    Raises:
        PictureError: matplotlib has none of that name; close names are suggested.
    """
    from matplotlib import colormaps

    if text not in colormaps:
        meant = did_you_mean(text, colormaps) or "; for example viridis or coolwarm"
        raise PictureError(f"cmap {text!r} is unknown{meant}")
    return text


def floats(what: str, given: Sequence[Any]) -> list[float]:
    """The numbers of a sequence, an array or a tensor.

    Raises:
        PictureError: it holds none.
    """
    try:
        return [float(x) for x in given]
    except (TypeError, ValueError, RuntimeError):
        raise PictureError(f"{what}: expected numbers, found {given!r:.60}") from None


def _numbers(text: str, n: int) -> list[float] | None:
    """n finite numbers with commas between; None if it is something else."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        return None
    return found if len(found) == n and all(map(math.isfinite, found)) else None
