"""Where a mesh lies: a path, or a place that is no file of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from meshkit.errors import MeshError

Place = Path | str
"""A path, or the text of a remote place: "s3://bucket/case.zarr"."""


def place_of(path: str | os.PathLike[str]) -> Place:
    """A path as pathlib has it, but for a remote place, whose "//" it would spoil.

    >>> place_of("s3://bucket/case.zarr"), place_of("file:///a%20b/case.zarr")
    ('s3://bucket/case.zarr', PosixPath('/a b/case.zarr'))

    Raises:
        MeshError: it is no path.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise MeshError(f"expected a path as text or pathlib.Path, found {path!r:.60}")
    if text[:7].lower() == "file://":
        url = urlsplit(text)
        if url.netloc not in ("", "localhost"):
            raise MeshError(
                f"{text!r:.80} is on {url.netloc!r:.40}; expected a file of this machine"
            )
        return _named(unquote(url.path))
    return text if "://" in text else _named(text)


def _named(text: str) -> Path:
    """A path that the system can have."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise MeshError(f"{text!r:.80} is no name of a file: it has characters that none can have")
    return Path(text)
