"""What the arrays of a sample are called, whatever its fields are called."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from meshkit.fields import Path
from meshkit.view import plain_name, safe_name

ROOTS: Final = frozenset(
    {"points", "cells", "faces", "point_data", "cell_data", "face_data", "global_data", "regions"}
)
"""The first part of every path."""

MANIFEST: Final = "MANIFEST.json"
METADATA: Final = "zarr.json"
TEXT_LIMIT: Final = 1 << 28
"""Bytes of JSON that a file may have: a manifest of this size lists chunks of 8 TB."""
SEGMENTS: Final = "segments"
STEPS: Final = "steps"
PREFIX: Final = re.compile(r"data-([0-9a-f]{8})[0-9a-f]{8}")
"""Where the files of a remote sample lie: data-, when it was begun, and what makes it unique."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PART_LIMIT: Final = 200  # bytes; a file system takes 255
_NAME_LIMIT: Final = 1000  # bytes; a path may have 4096


def array_name(path: Path, segment: int = 0) -> str:
    """Where the array of a part lies: parts joined by "/", each a name that any store can hold.

    `path` has safe names, as `view.parts_of` gives them. Names that Zarr reserves or UTF-8 lacks
    are percent-encoded; what is too long for a file system ends in a hash. It says nothing that
    the sample's metadata do not say: a reader takes a path from there.

    >>> array_name(("point_data", "flow", "U")), array_name(("cell_data", "zarr.json"), 2)
    ('point_data/flow/U', 'segments/2/cell_data/%7Aarr.json')
    """
    parts = [_part(part) for part in path]
    name = "/".join(parts)
    if len(name.encode()) > _NAME_LIMIT:
        name = f"{path[0]}/%~{_hash(name)}"
    return name if segment == 0 else f"{SEGMENTS}/{segment}/{name}"


def _part(part: str) -> str:
    name = _SURROGATE.sub(lambda m: f"%u{ord(m.group()):04X}", part)
    if name == METADATA or name.startswith("__"):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    encoded = name.encode()
    if len(encoded) > _PART_LIMIT:
        # "%~" is never the outcome of an encoding, so it cannot meet another field's name.
        return f"{encoded[: _PART_LIMIT // 2].decode(errors='ignore')}%~{_hash(name)}"
    return name


def _hash(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:32]


def plain_path(path: Path) -> Path:
    """A path of safe names by the fields' own names.

    >>> plain_path(("cell_data", "a%2Fb"))
    ('cell_data', 'a/b')
    """
    n = _fixed(path)
    return (*path[:n], *map(plain_name, path[n:]))


def safe_path(path: Path) -> Path:
    """The inverse of `plain_path`."""
    n = _fixed(path)
    return (*path[:n], *map(safe_name, path[n:]))


def is_part(path: Path) -> bool:
    """Whether a mesh may have a tensor of this path."""
    match path:
        case ("points",) | ("cells", "types" | "offsets" | "connectivity" | "degrees"):
            return True
        case ("cells", "polyhedra", "faces" | "offsets" | "connectivity"):
            return True
        case ("faces", "offsets" | "connectivity" | "owner" | "neighbour"):
            return True
        case ("point_data" | "cell_data" | "face_data" | "global_data", _, *_):
            return True
        case ("regions", number, "ids" | "flip") | ("regions", number, "data", _, *_):
            return number.isdecimal() and number.isascii()
    return False


def _fixed(path: Path) -> int:
    """How many parts of a path are words of ours, and no names."""
    if path[0].endswith("_data"):
        return 1
    return 3 if path[0] == "regions" else len(path)
