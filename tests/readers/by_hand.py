"""Files by hand: texts or bytes that stand in a test, written, and read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshkit.errors import ReadError
from meshkit.mesh import Mesh
from meshkit.readers.reading import read


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_text(path: Path, content: str | bytes) -> Mesh:
    return read(written(path, content))


def refused(path: Path, match: str) -> None:
    """Reading ends in one line that begins with the file and matches."""
    with pytest.raises(ReadError, match=match) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def refused_text(path: Path, content: str | bytes, match: str) -> None:
    refused(written(path, content), match)
