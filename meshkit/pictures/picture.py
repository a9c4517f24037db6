"""Finished pictures: pixels that can be looked at and saved, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import WriteError
from meshkit.readers.placing import placed

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]
"""uint8 [height, width, 3]: red, green, blue; the first row is the top."""

STILL: Final = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
"""Suffix -> what pillow calls the format of one picture."""

MOVING: Final = ".gif"
"""The suffix of several pictures one after the other."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture; a notebook shows it.

    Args:
        array: uint8 [height, width, 3].
        title: what its legend is about, "" without a legend.
        span: the values at the two ends of its colour bar; None without one.
        left_out: how many cells have no finite position and could not be shown.
    """

    array: Pixels
    title: str = ""
    span: tuple[float, float] | None = None
    left_out: int = 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.array.shape[1], self.array.shape[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as PNG, JPEG or GIF, as the suffix says; an existing file is replaced.

        Folders above it are made.

        Raises:
            WriteError: another suffix, or the file cannot be written. Nothing partial is left.
        """
        path = Path(path)
        kind = "GIF" if path.suffix.lower() == MOVING else STILL.get(path.suffix.lower())
        if kind is None:
            raise _unknown_suffix(path, (*STILL, MOVING))
        _put(path, self._encoded(kind))

    def _repr_png_(self) -> bytes:
        return self._encoded("PNG")

    def _encoded(self, kind: str) -> bytes:
        more: dict[str, Any] = {"quality": 92} if kind == "JPEG" else {}
        held = BytesIO()
        image_of(self.array).save(held, kind, optimize=True, **more)
        return held.getvalue()

    def __repr__(self) -> str:
        width, height = self.size
        return f"Picture({width} x {height}{f', {self.title}' if self.title else ''})"


@dataclass(frozen=True, eq=False)
class Film:
    """Pictures of one size, one after the other.

    Args:
        frames: the pictures, in few colours (`few_colours.frame_of`).
        size: width and height.
        title, span, left_out: as of a `Picture`.
        seconds: how long each is shown.
    """

    frames: Sequence[Image]
    size: tuple[int, int]
    title: str = ""
    span: tuple[float, float] | None = None
    left_out: int = 0
    seconds: float = 0.25

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a GIF that repeats for ever; an existing file is replaced.

        Folders above it are made.

        Raises:
            WriteError: another suffix, or the file cannot be written. Nothing partial is left.
        """
        path = Path(path)
        if path.suffix.lower() != MOVING:
            raise _unknown_suffix(path, (MOVING,))
        held = BytesIO()
        first, *others = self.frames
        first.save(
            held,
            "GIF",
            save_all=True,
            append_images=others,
            duration=round(1000 * self.seconds),
            loop=0,
            optimize=False,
        )
        _put(path, held.getvalue())

    def __len__(self) -> int:
        return len(self.frames)


def image_of(array: Pixels) -> Image:
    """The same pixels as pillow has them."""
    from PIL.Image import fromarray

    return fromarray(array)


def _unknown_suffix(path: Path, known: Sequence[str]) -> WriteError:
    return WriteError(path, f"a picture cannot end in {path.suffix!r}", expected=" or ".join(known))


def _put(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with placed(path) as place:
        place.write_bytes(content)
