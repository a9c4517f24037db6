"""The compressed blocks of VTK's XML files, each undone into memory that is there already.

Source: VTK File Formats (XML); zlib streams, LZ4 blocks without a frame, and .xz streams.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

# What .xz may ask for to be undone; its highest preset takes 65 MB.
_MOST_MEMORY: Final = 1 << 28

_MOST_LZ4: Final = 0x7E000000
"""How many bytes an LZ4 block holds at most."""

Undo = Callable[[memoryview, list[int], int, memoryview], "int | None"]

ROOM: Final = 4
"""How many bytes that are of no use stand in front of the blocks to be undone."""


def _streams(new: Callable[[], Any]) -> Undo:
    """Blocks that are each a stream with a checksum at its end."""

    def undo(blocks: memoryview, ends: list[int], size: int, into: memoryview) -> int | None:
        for i, (first, stop) in enumerate(pairwise(ends)):
            out = into[i * size : (i + 1) * size]
            stream = new()
            try:
                # One byte more than there should be: only then is the checksum looked at.
                found = stream.decompress(blocks[ROOM + first : ROOM + stop], len(out) + 1)
            except (zlib.error, lzma.LZMAError):
                return i
            if len(found) != len(out) or not stream.eof:
                return i
            out[:] = found
        return None

    return undo


def _lz4(blocks: memoryview, ends: list[int], size: int, into: memoryview) -> int | None:
    undone = _numcodecs().decompress
    # numcodecs wants the number of bytes in front of a block, where the block before has stood,
    # which is undone. It checks an array to put them into for longer than it takes to copy them.
    length, last = min(size, len(into)), len(ends) - 2
    for i, (first, stop) in enumerate(pairwise(ends)):
        at = i * size
        if i == last:
            length = len(into) - at
        if not 0 < length <= _MOST_LZ4:
            return i
        blocks[first : first + ROOM] = length.to_bytes(ROOM, "little")
        try:
            found = undone(blocks[first : ROOM + stop])
        except (RuntimeError, ValueError):
            return i
        if len(found) != length:
            return i
        into[at : at + length] = found
    return None


@cache
def _numcodecs() -> Any:
    from numcodecs import lz4

    return lz4


@dataclass(frozen=True, slots=True)
class Compressor:
    """How VTK can compress.

    `most` is what one compressed byte can stand for at most; a greater claim is a broken header.
    `undo` takes blocks that stand one after the other behind `ROOM` bytes, all of which it may
    write into; where each begins and the last ends, without these; the size of a block; and where
    to put them all, the last one perhaps smaller. The answer is which block is damaged, if one is.
    `slow` says that blocks are worth a thread.
    """

    most: int
    undo: Undo
    slow: bool


COMPRESSORS: Final = {
    "vtkZLibDataCompressor": Compressor(1040, _streams(zlib.decompressobj), True),
    "vtkLZ4DataCompressor": Compressor(256, _lz4, False),
    "vtkLZMADataCompressor": Compressor(
        1 << 14, _streams(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)), True
    ),
}
"""By VTK's name."""
