"""Bytes of a case's files, from front to back, plain or gzip, never more than they may hold."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast

from meshkit.errors import ReadError

_UNPACKED: Final = 256 << 20
_RATIO: Final = 200
"""A gzip file may unpack to 256 MiB, or to 200 times its size: text of a solver packs 3 to 10
times, and a field of one value everywhere is written as `uniform`, not as a list."""


class Bytes:
    """The bytes of a file, or of a stretch of it, in order.

    `left` is how many may still come: exact for a plain file, a bound for a packed one. A size that
    a file declares is held against it before memory is taken.
    """

    def __init__(self, path: Path, file: IO[bytes], left: int, *, packed: bool) -> None:
        self.path, self.left, self.packed = path, left, packed
        self._file = file

    def read(self, count: int) -> bytes:
        """At most `count` bytes; fewer only at the end."""
        got = self._guarded(partial(self._file.read, min(count, self.left + self.packed)))
        self._took(len(got))
        return cast(bytes, got)

    def fill(self, view: memoryview) -> int:
        """As many bytes as the view holds into it; fewer only at the end."""
        done = 0
        while done < len(view):
            part = view[done : done + min(len(view) - done, self.left + self.packed)]
            got = self._guarded(partial(cast(Any, self._file).readinto, part))
            if not got:
                break
            self._took(got)
            done += got
        return done

    def skip(self, count: int) -> int:
        """Pass over bytes; how many there were."""
        if not self.packed:
            count = min(count, self.left)
            self._file.seek(count, os.SEEK_CUR)
            self.left -= count
            return count
        done = 0
        while done < count and (got := len(self.read(min(count - done, 1 << 20)))):
            done += got
        return done

    def _took(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ReadError(
                self.path,
                f"unpacks to more than {_RATIO} times its size",
                expected="what a solver wrote",
                hint="unpack it with gunzip if it is right",
            )

    def _guarded(self, work: Any) -> Any:
        try:
            return work()
        except EOFError:
            raise ReadError(self.path, "is cut: its gzip stream has no end") from None
        except (gzip.BadGzipFile, zlib.error) as why:
            raise ReadError(self.path, f"is no sound gzip file: {why}") from None
        except OSError as why:
            raise ReadError(self.path, f"cannot be read: {why.strerror or why}") from None


@contextmanager
def opened(path: Path, start: int = 0, size: int | None = None) -> Iterator[Bytes]:
    """The bytes of a file, unpacked where its first bytes say gzip; or `size` of them from `start`.

    Raises:
        ReadError: it is no file, or cannot be read.
    """
    try:
        if not path.is_file():
            what = "is no file" if path.exists() else "is missing"
            raise ReadError(path, what, expected="a file of OpenFOAM")
        with path.open("rb", buffering=0) as raw:
            whole = os.fstat(raw.fileno()).st_size
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=raw, mode="rb") as file:
                    source = Bytes(
                        path, cast(IO[bytes], file), max(_UNPACKED, _RATIO * whole), packed=True
                    )
                    source.skip(start)
                    if size is not None:
                        source.left = min(source.left, size)
                        source.packed = False  # its end is known
                    yield source
                return
            raw.seek(min(start, whole))
            left = max(whole - start, 0)
            left = left if size is None else min(left, size)
            yield Bytes(path, cast(IO[bytes], raw), left, packed=False)
    except OSError as why:
        raise ReadError(path, f"cannot be read: {why.strerror or why}") from None


def present(folder: Path, name: str) -> Path | None:
    """The file of this name, or packed as name.gz; None if there is neither."""
    for file in (folder / name, folder / f"{name}.gz"):
        if file.is_file():
            return file
    return None


def plain_name(name: str) -> str:
    """What a file is called without ".gz"."""
    return name.removesuffix(".gz")
