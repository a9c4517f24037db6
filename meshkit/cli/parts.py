"""Which other files a file consists of: pieces, blocks, buffers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from meshkit.readers.references import is_within

_HEAD: Final = 4096
_LIMIT: Final = 1 << 26
"""A file that only names others is smaller than this many bytes."""
_INDEX: Final = re.compile(
    rb"<VTKFile\b[^>]*\btype\s*=\s*[\"']"
    rb"(P(UnstructuredGrid|PolyData|ImageData|RectilinearGrid|StructuredGrid)|vtk\w+|Collection)"
    rb"[\"']"
)
_NAMED: Final = re.compile(
    rb"<(?:Piece|DataSet)\b[^>]*?\b(?:Source|file)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_JSON: Final = re.compile(rb"(\xef\xbb\xbf)?\s*\{")


def parts_of(path: Path) -> tuple[Path, ...]:
    """The files that a pvtu, pvtp, vtm, pvd, series or gltf consists of, and theirs, if they exist.

    Of a .foam file it is the directory of its case.

    Empty for any other file, and for one that cannot be understood: reading it says why.
    """
    if path.suffix.lower() in (".foam", ".openfoam") and path.is_file():
        return (path.parent,)
    seen: dict[Path, None] = {}

    def visit(at: Path) -> None:
        for name in _names(at):
            part = at.parent / name
            if part == path or part in seen or "\0" in name or not is_within(at, name):
                continue
            if part.is_file():
                seen[part] = None
                visit(part)

    visit(path)
    return tuple(seen)


def _names(path: Path) -> Iterator[str]:
    try:
        if not path.is_file():  # a pipe would keep us waiting, a device has no end
            return
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if _INDEX.search(head):
                yield from _names_in_xml(head + file.read(_LIMIT))
            elif _JSON.match(head) and b'"file-series-version"' in head:
                yield from _names_in_series(head + file.read(_LIMIT))
            elif path.suffix.lower() == ".gltf" and _JSON.match(head):
                yield from _names_in_gltf(head + file.read(_LIMIT))
    except OSError:
        return  # the reader will say so


def _names_in_xml(text: bytes) -> Iterator[str]:
    for double, single in _NAMED.findall(text):
        yield unescape((double or single).decode(errors="surrogateescape"))


def _names_in_series(text: bytes) -> Iterator[str]:
    for row in _rows(text, "files"):
        if isinstance(row.get("name"), str):
            yield row["name"]


def _names_in_gltf(text: bytes) -> Iterator[str]:
    for row in _rows(text, "buffers", "images"):
        uri = row.get("uri")
        if isinstance(uri, str) and not uri.startswith("data:"):
            yield unquote(uri)


def _rows(text: bytes, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in these lists of a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    for key in keys:
        rows = found.get(key) if isinstance(found, dict) else None
        yield from (
            row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict)
        )
