"""Files by hand: texts or bytes that stand in a test, written and read through the front door."""

from __future__ import annotations

from pathlib import Path

from meshkit.mesh import Mesh
from meshkit.readers.reading import read


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_text(path: Path, content: str | bytes) -> Mesh:
    return read(written(path, content))
