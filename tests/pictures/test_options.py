"""What people write, and the line they get for what means nothing."""

import math

import pytest
import torch

from meshkit import plot
from meshkit.errors import MeshkitError
from meshkit.pictures.errors import PictureError
from meshkit.pictures.options import (
    background_of,
    camera_of,
    checked_size,
    checked_span,
    colours_of,
    plane_of,
    size_of,
    span_of,
)
from tests.meshes import cube_surface

CUBE = cube_surface()


def test_cameras() -> None:
    assert camera_of("+x") == (0, 0)
    assert camera_of("-x") == (180, 0)
    assert camera_of("+y") == (90, 0)
    assert camera_of("-z") == (-90, -90)
    assert camera_of("45,-20.5") == (45, -20.5)


def test_planes() -> None:
    assert plane_of("y").normal == (0, 1, 0)
    assert plane_of("y").nearer
    away = plane_of("-y", (1, 2, 3))
    assert away.normal == (0, -1, 0)
    assert away.at == (1, 2, 3)
    assert not away.nearer
    assert math.hypot(*plane_of("3,4,12").normal) == pytest.approx(1, abs=1e-15)


def test_sizes_spans_and_colours() -> None:
    assert size_of("1200x900") == size_of("1200X900") == (1200, 900)
    assert span_of("-1,1e5") == (-1, 1e5)
    assert background_of("#ff0000") == (1, 0, 0)
    assert background_of("white") == (1, 1, 1)
    assert colours_of("cividis") == "cividis"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: camera_of("above"), "camera 'above': expected iso"),
        (lambda: camera_of("0,91"), "elevation from -90 to 90"),
        (lambda: camera_of("nan,0"), "camera 'nan,0'"),
        (lambda: plane_of("w"), "clip 'w': expected x, y, z"),
        (lambda: plane_of("0,0,0"), "clip '0,0,0'"),
        (lambda: plane_of("1,inf,0"), "clip '1,inf,0'"),
        (lambda: plane_of("x", "1,2"), "clip at '1,2': expected a point"),
        (lambda: plane_of("x", (1.0, math.nan, 0.0)), "clip at"),
        (lambda: plane_of("x", ("a", 0, 0)), "clip at: expected numbers, found"),  # type: ignore[arg-type]
        (lambda: checked_span(torch.zeros(2, device="meta")), "range: expected numbers, found"),  # type: ignore[arg-type]
        (lambda: checked_span(5), "range: expected numbers, found 5"),  # type: ignore[arg-type]
        (lambda: plot(CUBE, camera=5), "camera: expected numbers, found 5"),  # type: ignore[arg-type]
        (lambda: plot(CUBE, clip=torch.zeros(3, device="meta")), "clip: expected numbers, found"),  # type: ignore[arg-type]
        (lambda: size_of("large"), "size 'large': expected width and height"),
        (lambda: size_of("20x20"), "size 20x20: expected from 120x90 to 8192x8192"),
        (lambda: checked_size((99999, 100)), "size 99999x100"),
        (lambda: span_of("1"), "range '1': expected two numbers"),
        (lambda: span_of("2,1"), "range 2,1: expected a finite minimum below"),
        (lambda: background_of("reddish-ish"), "background 'reddish-ish': expected a colour"),
        (lambda: colours_of("virids"), "did you mean viridis"),
    ],
)
def test_refusals(wrong: object, said: str) -> None:
    assert callable(wrong)
    with pytest.raises(PictureError) as why:
        wrong()
    assert said in str(why.value)
    assert "\n" not in str(why.value)
    assert isinstance(why.value, MeshkitError)
