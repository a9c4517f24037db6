"""The files that a file names: pieces, blocks, times, buffers.

Untrusted: a file that came from elsewhere must not make us open what lies elsewhere. So whatever
leads out of its own directory is refused, by "..", as an absolute path or through a symbolic
link, before it is opened. A URL is the name of a file that is not there.
"""

from __future__ import annotations

import os
from pathlib import Path

from meshkit.errors import ReadError


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
