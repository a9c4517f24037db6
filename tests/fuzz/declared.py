"""How many points and cells a file says it has, found without our readers.

So a damaged file that is read can be held to its own word: a reader that stops early, or goes on
where a count was changed, gives other numbers. None where a format declares nothing, where the
words are no longer there, or where a reader may change the number (ghosts go).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

Sizes = tuple[int | None, int | None]
"""Points and cells; None where nothing is said."""

UNKNOWN: Final[Sizes] = (None, None)


def declared(path: Path) -> Sizes:
    """What a file declares."""
    find = FINDERS.get(path.suffix)
    try:
        return UNKNOWN if find is None else find(path)
    except (ValueError, OSError, LookupError, RuntimeError, TypeError):
        return UNKNOWN


def _sum(pieces: list[bytes], *names: bytes) -> int | None:
    """The sum of these attributes over all pieces, if every piece has the first."""
    total = 0
    for piece in pieces:
        found = [re.search(rb"\s" + name + rb"\s*=\s*[\"']([^\"']*)[\"']", piece) for name in names]
        if found[0] is None:
            return None
        total += sum(int(match[1]) for match in found if match is not None)
    return total


def _pieces(path: Path) -> list[bytes]:
    head = path.read_bytes().partition(b"<AppendedData")[0]
    return re.findall(rb"<Piece\b([^>]*)>", head)


def _vtu(path: Path) -> Sizes:
    pieces = _pieces(path)
    return _sum(pieces, b"NumberOfPoints"), _sum(pieces, b"NumberOfCells")


def _vtp(path: Path) -> Sizes:
    pieces = _pieces(path)
    cells = (b"NumberOfPolys", b"NumberOfVerts", b"NumberOfLines", b"NumberOfStrips")
    return _sum(pieces, b"NumberOfPoints"), _sum(pieces, *cells)


def _lattice(path: Path) -> Sizes:
    said = re.search(rb"\sWholeExtent\s*=\s*[\"']([^\"']*)[\"']", path.read_bytes())
    extent = [int(x) for x in said[1].split()] if said else []
    if len(extent) != 6:
        return UNKNOWN
    return math.prod(b - a + 1 for a, b in zip(extent[::2], extent[1::2], strict=True)), None


def _legacy(path: Path) -> Sizes:
    data = path.read_bytes()
    points = re.search(rb"\nPOINTS\s+(\d+)\s", data)
    cells = re.search(rb"\nCELL_TYPES\s+(\d+)\s", data)
    dims = re.search(rb"\nDIMENSIONS\s+(\d+)\s+(\d+)\s+(\d+)\s", data)
    if dims is not None:
        return math.prod(int(x) for x in dims.groups()), None
    return (int(points[1]) if points else None), (int(cells[1]) if cells else None)


def _ply(path: Path) -> Sizes:
    said = re.search(
        rb"\nelement\s+vertex\s+(\d+)\s", path.read_bytes().partition(b"end_header")[0]
    )
    return (int(said[1]) if said else None), None


def _stl(path: Path) -> Sizes:
    data = path.read_bytes()
    if re.match(rb"(\xef\xbb\xbf)?\s*solid", data, re.IGNORECASE):
        return None, len(re.findall(rb"\bendfacet\b", data, re.IGNORECASE))
    return None, int.from_bytes(data[80:84], "little")


def _off(path: Path) -> Sizes:
    words = re.sub(rb"#[^\n]*", b"", path.read_bytes()).split()
    return int(words[1]), int(words[2])


def _vtkhdf(path: Path) -> Sizes:
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        group = file["VTKHDF"]
        if "Steps" in group or "vtkGhostType" in group.get("CellData", ()):
            return UNKNOWN
        if "NumberOfPoints" not in group or len(group["NumberOfPoints"]) != 1:
            return UNKNOWN
        cells = int(group["NumberOfCells"][0]) if "NumberOfCells" in group else None
        return int(group["NumberOfPoints"][0]), cells


def _msh(path: Path) -> Sizes:
    """Elements that no cell is for go, so only nodes are held to their count."""
    data = path.read_bytes()
    head = re.search(rb"\$MeshFormat\s+(\S+) (\d) (\d)\s", data)
    begin = re.search(rb"\$Nodes\r?\n", data)
    if head is None or begin is None:
        return UNKNOWN
    if head[1] == b"4.1" and head[2] == b"1":
        said = data[begin.end() + 8 : begin.end() + 16]
        return int.from_bytes(said, "little" if data[head.end()] == 1 else "big"), None
    return int(data[begin.end() : begin.end() + 80].split()[head[1] == b"4.1"]), None


FINDERS: Final[dict[str, Callable[[Path], Sizes]]] = {
    ".vtu": _vtu,
    ".vtp": _vtp,
    **dict.fromkeys((".vti", ".vtr", ".vts"), _lattice),
    ".vtk": _legacy,
    ".ply": _ply,
    ".stl": _stl,
    ".off": _off,
    ".msh": _msh,
    ".vtkhdf": _vtkhdf,
}
"""By suffix, how it is found."""
