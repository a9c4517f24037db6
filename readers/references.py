"""The files that a file names: pieces, blocks, times, buffers.

Untrusted: a file that came from elsewhere must not make us open what lies elsewhere. So whatever
leads out of its own directory is refused, by "..", as an absolute path or through a symbolic
link, before it is opened. A URL is the name of a file that is not there.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Final

from meshkit.errors import ReadError

_MOST_OFTEN: Final = 100


class References:
    """The files that one reading has opened, none of them very often.

    A short file that names another a thousand times, which does likewise, asks for more than any
    memory or patience has.
    """

    def __init__(self) -> None:
        self._opened: Counter[Path] = Counter()

    def file(self, path: Path, name: str | None, *, place: str, what: str) -> Path:
        """As `referred`.

        Raises:
            ReadError: as there; or the file has been opened a hundred times.
        """
        found = referred(path, name, place=place, what=what)
        here = found.resolve()
        self._opened[here] += 1
        if self._opened[here] > _MOST_OFTEN:
            raise ReadError(
                path,
                f"{what} is named again and again: {found.name!r}",
                place=place,
                expected=f"at most {_MOST_OFTEN} times",
            )
        return found


def referred(path: Path, name: str | None, *, place: str, what: str) -> Path:
    """The file of this name beside another, or below it.

    Args:
        path: the file that names it.
        name: as it stands there, with "/" or "\\" between folders.
        place: where it stands there.
        what: what the file is, for messages.

    Raises:
        ReadError: it names nothing, leads out of the directory, or there is no such file.
    """
    if not name or "\0" in name:
        raise ReadError(path, f"{what} names no file", place=place)
    for said in (name, name.replace("\\", "/")):
        if not is_within(path, said):
            raise ReadError(
                path,
                f"{what} leads out of the directory: {name[:200]!r}",
                place=place,
                expected="a file beside this one or below",
                hint="move the files together",
            )
        if os.path.isfile(path.parent / said):
            return path.parent / said
    raise ReadError(
        path, f"{what} is missing: {name[:200]!r}", place=place, expected="a file beside this one"
    )


def is_within(path: Path, name: str) -> bool:
    """Whether a name that stands in a file leads to its directory or below, links followed."""
    base = os.path.realpath(path.parent)
    return os.path.commonpath([base, os.path.realpath(path.parent / name)]) == base
