"""Where the bytes of a sample lie."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from weakref import finalize

from meshkit.errors import ReadError
from meshkit.store.names import MANIFEST, TEXT_LIMIT

NO_SAMPLE = "is no sample: it has no MANIFEST.json"


class Files(Protocol):
    """Bytes by key, from one state of a sample."""

    name: str  # how messages call the sample
    block: int  # bytes that are worth a read of their own
    reads_at_once: int | None  # None: as many as there are threads to decode

    def manifest(self) -> bytes:
        """The manifest's bytes.

        Raises:
            ReadError: there is none.
        """

    def read(self, key: str, size: int, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes start to stop of the file of this key and size.

        Raises:
            ReadError: the file is missing or has another size.
        """

    def sizes(self) -> dict[str, int] | None:
        """The size of every file below the sample by its key; None where asking costs much."""

    def replaced(self) -> bool:
        """Whether another sample has meanwhile taken the place."""

    def close(self) -> None:
        """Hold nothing any more."""


class LocalFiles:
    """A directory, held open: a sample that takes its place is never mixed in.

    Raises:
        ReadError: there is no directory of this name.
    """

    block: int = 1 << 21
    reads_at_once: int | None = None

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        try:
            self._at = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except NotADirectoryError:
            raise ReadError(path, "is a file", expected="a directory of a meshkit store") from None
        except OSError as why:
            raise ReadError(path, f"cannot be read: {_said(why)}") from None
        self._close = finalize(self, os.close, self._at)

    def close(self) -> None:
        """See `Files`."""
        self._close()
        self._at = -1  # the number may soon be another file's

    def manifest(self) -> bytes:
        """See `Files`."""
        try:
            file = self._open(MANIFEST)
            size = os.fstat(file).st_size
            if size <= TEXT_LIMIT:
                return _read(file, 0, size)
            os.close(file)
        except FileNotFoundError:
            raise ReadError(
                self.name,
                NO_SAMPLE,
                hint="its writer was interrupted, or another program wrote it",
            ) from None
        except OSError as why:
            raise ReadError(self.name, f"cannot be read: {_said(why)}", place=MANIFEST) from None
        said = f"has {size} bytes"
        raise ReadError(self.name, said, place=MANIFEST, expected=f"at most {TEXT_LIMIT}")

    def read(self, key: str, size: int, start: int = 0, stop: int | None = None) -> bytes:
        """See `Files`."""
        try:
            file = self._open(key)
            there = os.fstat(file).st_size
            if there != size:
                os.close(file)
                raise ReadError(self.name, f"has {there} bytes", place=key, expected=str(size))
            data = _read(file, start, size if stop is None else stop)
        except FileNotFoundError:
            raise ReadError(self.name, "is missing", place=key) from None
        except OSError as why:
            raise ReadError(self.name, f"cannot be read: {_said(why)}", place=key) from None
        if len(data) != (size if stop is None else stop) - start:
            raise ReadError(self.name, "is cut short", place=key)
        return data

    def _open(self, key: str) -> int:
        # Not blocking: a pipe of that name would keep us waiting for a writer.
        file = os.open(key, os.O_RDONLY | os.O_NONBLOCK, dir_fd=self._at)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ReadError(self.name, "is no file", place=key)
        return file

    def sizes(self) -> dict[str, int]:
        """See `Files`."""
        out = {}
        try:
            for folder, _, names, at in os.fwalk(".", dir_fd=self._at):
                for name in names:
                    with suppress(FileNotFoundError):  # a link to nothing is as good as no file
                        size = os.stat(name, dir_fd=at).st_size
                        out[os.path.normpath(os.path.join(folder, name))] = size
        except OSError as why:
            raise ReadError(self.name, f"cannot be read: {_said(why)}") from None
        return out

    def replaced(self) -> bool:
        """See `Files`."""
        try:
            return not os.path.samestat(os.fstat(self._at), os.stat(self._path))
        except OSError:
            return True


def _read(file: int, start: int, stop: int) -> bytes:
    """Bytes start to stop of an open file, as far as there are any; it is closed then."""
    with os.fdopen(file, "rb", buffering=0):
        parts = []
        while start < stop and (part := os.pread(file, stop - start, start)):
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _said(why: OSError) -> str:
    return why.strerror or str(why)
