"""The bytes of a file by place: a file that is cut off while it is read is an error, no crash."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError

WINDOW: Final = 1 << 22
"""How many bytes are looked at in one go."""


class Content:
    """A file that is open.

    Args:
        path: for messages.
        handle: what the operating system calls it.
        size: how many bytes it has.
    """

    def __init__(self, path: Path, handle: int, size: int) -> None:
        self.path, self._handle, self.size = path, handle, size

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from start up to stop, or up to the end of the file."""
        count = max(min(stop, self.size) - start, 0)
        if count <= WINDOW:
            raw = os.pread(self._handle, count, start)
            if len(raw) == count:
                return raw
        into = np.empty(count, np.uint8)
        self.fill(start, into)
        return into.tobytes()

    def fill(self, start: int, into: NDArray[np.uint8]) -> None:
        """Put the bytes from start on into an array, as many as it has.

        Raises:
            ReadError: the file has been cut since it was opened.
        """
        left = memoryview(into.data)
        while len(left):
            count = os.preadv(self._handle, [left], start)
            if count == 0:
                raise ReadError(
                    self.path, "ends while it is read", place=f"byte {start}", expected="more"
                )
            start, left = start + count, left[count:]

    def find(self, what: bytes, start: int, stop: int | None = None) -> int:
        """Where these bytes begin for the first time from start on; -1 if nowhere before stop."""
        stop = self.size if stop is None else min(stop, self.size)
        step = 4096  # what is looked for is mostly near
        while start < stop:
            at = self.read(start, min(start + step + len(what) - 1, stop)).find(what)
            if at >= 0:
                return start + at
            start, step = start + step, WINDOW
        return -1

    def rfind(self, what: bytes, start: int, stop: int | None = None) -> int:
        """Where these bytes begin for the last time before stop; -1 if nowhere from start on."""
        stop = self.size if stop is None else min(stop, self.size)
        step = 4096
        while start < stop:
            low = max(start, stop - step)
            at = self.read(low, stop).rfind(what)
            if at >= 0:
                return low + at
            if low == start:
                break
            stop, step = low + len(what) - 1, WINDOW
        return -1
