"""ParaView file series (.vtu.series, .vtm.series, ...): JSON that names a file for each time.

Untrusted: a reference that leads out of the directory of the file is refused.

Source: ParaView's user guide, "file series"; what foamToVTK of OpenFOAM writes.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.collection import Collection, Part, time_said
from meshkit.report import Ledger
from meshkit.series import MeshSeries

_LIMIT: Final = 1 << 28  # bytes; a file that only names others is smaller


def read(path: Path, ledger: Ledger) -> Mesh:
    """The mesh of the last time.

    Raises:
        ReadError: the file, or the one of that time, is damaged, or missing.
    """
    return _collection(path).last(ledger)


def series(path: Path) -> MeshSeries:
    """The meshes over time; see `Collection.series`.

    Raises:
        ReadError: the file is damaged, or refers to a file outside of its directory.
    """
    return _collection(path).series()


def _collection(path: Path) -> Collection:
    if path.stat().st_size > _LIMIT:
        raise ReadError(path, f"is longer than {_LIMIT} bytes", expected="names of files")
    try:
        said = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as why:
        raise ReadError(path, f"is no JSON: {why}") from None
    rows = said.get("files") if isinstance(said, dict) else None
    if not isinstance(rows, list) or not rows:
        raise ReadError(path, "lists no files", expected='{"files": [{"name": ..., "time": ...}]}')
    return Collection(path, tuple(_part(path, i, row) for i, row in enumerate(rows)))


def _part(path: Path, i: int, row: Any) -> Part:
    place = f"files[{i}]"
    name, said = (row.get(key) if isinstance(row, dict) else None for key in ("name", "time"))
    if not isinstance(name, str):
        raise ReadError(path, "names no file", place=place)
    time = math.nan
    if isinstance(said, int | float) and not isinstance(said, bool):
        time = time_said(said)
    if not math.isfinite(time):
        raise ReadError(path, f"time is {said!r:.40}", place=place, expected="a finite number")
    return Part(time, name, place, "a file")
