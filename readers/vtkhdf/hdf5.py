"""HDF5 files and their groups through h5py: nothing outside of the file is followed.

Source: HDF5 File Format Specification 3.0; h5py 3.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from meshkit.errors import ReadError
from meshkit.readers.vtkhdf.heaps import Heaps
from meshkit.readers.vtkhdf.stored import Placed, Stored, stored, told

_SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"
_MOST_NAMES: Final = 100_000


@contextmanager
def opened(path: Path) -> Iterator[Group]:
    """The root group of an HDF5 file, closed at the end.

    Raises:
        ReadError: it is no HDF5 file, or it is damaged.
    """
    import h5py

    size = path.stat().st_size
    with path.open("rb") as file:
        begun = file.read(len(_SIGNATURE)) == _SIGNATURE
        place = 512
        while not begun and place < size:  # a block of the user's own may stand before
            file.seek(place)
            begun = file.read(len(_SIGNATURE)) == _SIGNATURE
            place *= 2
    if not begun:
        raise ReadError(path, "has no HDF5 signature", expected="a VTKHDF file")
    with told(path, None):
        # Only reading: a lock would keep out the program that still writes, or fail on its disk.
        handle = h5py.File(os.fspath(path), "r", locking=False)
    try:
        yield Group(path, size, Heaps(path), handle, "")
    finally:
        with told(path, None):
            handle.close()


@dataclass(frozen=True)
class Group(Placed):
    """A group of an HDF5 file."""

    def names(self) -> list[str]:
        """The names in it: in the order they were made where the file keeps it, else sorted."""
        with told(self.path, self.place):
            if len(self.handle) > _MOST_NAMES:
                raise ValueError(f"{len(self.handle)} names in one group")
            return list(self.handle.keys())

    def soft(self, name: str) -> str | None:
        """Where a symbolic link points; None for what stands here itself.

        Raises:
            ReadError: it is a link to another file.
        """
        import h5py

        with told(self.path, f"{self.name}/{name}"):
            link = self.handle.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise ReadError(
                self.path,
                "is a link to another file",
                place=f"{self.name}/{name}",
                expected="all data in this one",
            )
        return link.path if isinstance(link, h5py.SoftLink) else None

    def has(self, name: str) -> bool:
        """Whether there is anything of that name."""
        with told(self.path, self.place):
            links = self.handle.id.links
            return bool(links.exists(name.encode("utf-8", "surrogateescape")))

    def _opened(self, name: str) -> Any:
        """The object of that name, if it stands here itself; None where there is none."""
        if not self.has(name):
            return None
        if self.soft(name) is not None:
            raise ReadError(
                self.path,
                "is a symbolic link",
                place=f"{self.name}/{name}",
                expected="these only below Assembly",
            )
        with told(self.path, f"{self.name}/{name}"):
            return self.handle[name]

    def member(self, name: str) -> Group | Stored | None:
        """A group or a dataset; None for what is neither (a named type), or not there."""
        import h5py

        found = self._opened(name)
        file = (self.path, self.size, self.heaps)
        if isinstance(found, h5py.Group):
            return Group(*file, found, f"{self.name}/{name}")
        if isinstance(found, h5py.Dataset):
            return stored(Stored(*file, found, f"{self.name}/{name}"))
        return None

    def group(self, name: str) -> Group | None:
        """The group of that name; None where there is none.

        Raises:
            ReadError: there is something else.
        """
        found = self.member(name)
        if isinstance(found, Group) or not self.has(name):
            return found if isinstance(found, Group) else None
        raise ReadError(self.path, "is no group", place=f"{self.name}/{name}")

    def find(self, name: str) -> Stored | None:
        """The dataset of that name; None where there is none.

        Raises:
            ReadError: there is something else.
        """
        found = self.member(name)
        if isinstance(found, Stored) or not self.has(name):
            return found if isinstance(found, Stored) else None
        raise ReadError(self.path, "is no dataset", place=f"{self.name}/{name}")

    def need(self, name: str) -> Stored:
        """The dataset of that name.

        Raises:
            ReadError: there is none.
        """
        found = self.find(name)
        if found is None:
            raise ReadError(self.path, "is missing", place=f"{self.name}/{name}")
        return found
