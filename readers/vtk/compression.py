"""The compressed blocks of VTK's XML files, each undone into memory that is there already.

Source: VTK File Formats (XML); zlib streams, LZ4 blocks without a frame, and .xz streams.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

# What .xz may ask for to be undone; its highest preset takes 65 MB.
_MOST_MEMORY: Final = 1 << 28


def _zlib(data: memoryview, into: Bytes) -> bool:
    stream = zlib.decompressobj()
    try:
        # One byte more than there should be: only then is the checksum at the end looked at.
        return _put(stream.decompress(data, len(into) + 1), into) and stream.eof
    except zlib.error:
        return False


def _xz(data: memoryview, into: Bytes) -> bool:
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)
    try:
        return _put(stream.decompress(data, len(into) + 1), into) and stream.eof
    except lzma.LZMAError:
        return False


def _lz4(data: memoryview, into: Bytes) -> bool:
    from numcodecs import lz4

    # numcodecs wants the number of bytes in front of a block.
    said = len(into).to_bytes(4, "little") + data
    try:
        return len(into) > 0 and lz4.decompress(said, into) is not None
    except (RuntimeError, ValueError):
        return False


def _put(found: bytes, into: Bytes) -> bool:
    if len(found) != len(into):
        return False
    into[:] = np.frombuffer(found, np.uint8)
    return True


@dataclass(frozen=True, slots=True)
class Compressor:
    """How VTK can compress.

    `most` is what one compressed byte can stand for at most; a greater claim is a broken header.
    `undo` puts a block into an array of its size, and returns False where the block is damaged.
    `slow` says that blocks are worth a thread.
    """

    most: int
    undo: Callable[[memoryview, Bytes], bool]
    slow: bool


COMPRESSORS: Final = {
    "vtkZLibDataCompressor": Compressor(1040, _zlib, True),
    "vtkLZ4DataCompressor": Compressor(256, _lz4, False),
    "vtkLZMADataCompressor": Compressor(1 << 14, _xz, True),
}
"""By VTK's name."""
