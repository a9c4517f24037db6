"""The compressed blocks of VTK's XML files, each undone into memory that is there already.

Source: VTK File Formats (XML); zlib streams, LZ4 blocks without a frame, and .xz streams.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

# What .xz may ask for to be undone; its highest preset takes 65 MB.
_MOST_MEMORY: Final = 1 << 28

ROOM: Final = 4
"""How many bytes that are of no more use stand in front of a block to be undone."""


def _zlib(data: memoryview, into: memoryview) -> bool:
    stream = zlib.decompressobj()
    try:
        # One byte more than there should be: only then is the checksum at the end looked at.
        return _put(stream.decompress(data[ROOM:], len(into) + 1), into) and stream.eof
    except zlib.error:
        return False


def _xz(data: memoryview, into: memoryview) -> bool:
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)
    try:
        return _put(stream.decompress(data[ROOM:], len(into) + 1), into) and stream.eof
    except lzma.LZMAError:
        return False


def _lz4(data: memoryview, into: memoryview) -> bool:
    # numcodecs wants the number of bytes in front of a block. It checks an array to put them into
    # for
    # longer than it takes to copy them.
    data[:ROOM] = len(into).to_bytes(ROOM, "little")
    try:
        return len(into) > 0 and _put(_numcodecs().decompress(data), into)
    except (RuntimeError, ValueError):
        return False


@cache
def _numcodecs() -> Any:
    from numcodecs import lz4

    return lz4


def _put(found: bytes, into: memoryview) -> bool:
    if len(found) != len(into):
        return False
    into[:] = found
    return True


@dataclass(frozen=True, slots=True)
class Compressor:
    """How VTK can compress.

    `most` is what one compressed byte can stand for at most; a greater claim is a broken header.
    `undo` puts a block, which has `ROOM` bytes in front that may be written, into bytes of its
    size, and returns False where the block is damaged.
    `slow` says that blocks are worth a thread.
    """

    most: int
    undo: Callable[[memoryview, memoryview], bool]
    slow: bool


COMPRESSORS: Final = {
    "vtkZLibDataCompressor": Compressor(1040, _zlib, True),
    "vtkLZ4DataCompressor": Compressor(256, _lz4, False),
    "vtkLZMADataCompressor": Compressor(1 << 14, _xz, True),
}
"""By VTK's name."""
