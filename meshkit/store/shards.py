"""Chunks in a file: compressed, each with its checksum, an index of them at the end.

Zarr v3's sharding codec with bytes, blosc and crc32c inside, in the plainest form it allows: the
chunks lie in row-major order without a gap, none is left out, and the index follows them.

Source: Zarr v3 codecs: sharding-indexed 1.0, blosc 1.0, crc32c 1.0; Blosc 1 chunk header.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CODEC: Final[dict[str, Any]] = {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "blocksize": 0}
CHECK: Final = 4
"""Bytes of a checksum."""
HEADER: Final = 16
"""Bytes of Blosc's header, which the least of chunks has."""


class Damage(ValueError):
    """Bytes that are not what was written."""


Bytes = NDArray[np.uint8]


def checksum(data: bytes | Bytes) -> bytes:
    """The CRC-32C of some bytes, little-endian."""
    import google_crc32c

    return int(google_crc32c.value(data)).to_bytes(CHECK, "little")


def encode(numbers: NDArray[Any]) -> bytes:
    """A chunk as it lies in a file: compressed, its checksum after it.

    Call it off the main thread: there Blosc uses threads of its own, and the bytes then depend on
    which of them is first.
    """
    from numcodecs import blosc

    packed: bytes = blosc.compress(
        numbers,
        CODEC["cname"].encode(),
        CODEC["clevel"],
        blosc.SHUFFLE,
        CODEC["blocksize"],
        typesize=numbers.itemsize,
    )
    return packed + checksum(packed)


def decode(data: Bytes, into: NDArray[Any]) -> None:
    """Decompress a chunk into a contiguous array of its size.

    Raises:
        Damage: the checksum does not hold, or another number of bytes is in it.
    """
    from numcodecs import blosc

    packed = data[:-CHECK]
    if len(data) < HEADER + CHECK or checksum(packed) != data[-CHECK:].tobytes():
        raise Damage("its checksum does not hold")
    held, there = map(int, packed[4:HEADER].view("<u4")[[0, 2]])
    if held != into.nbytes or there != len(packed):
        raise Damage(f"holds {held} bytes, expected {into.nbytes}")
    try:
        blosc.decompress(packed, into.view(np.uint8))
    except (RuntimeError, ValueError) as why:
        raise Damage(f"cannot be decompressed: {why}") from None


def index_size(n_chunks: int) -> int:
    """Bytes of the index of that many chunks, its checksum included."""
    return 16 * n_chunks + CHECK


def pack_index(lengths: Sequence[int]) -> bytes:
    """The index of chunks of these lengths, one after the other from the start of the file."""
    ends = np.cumsum([0, *lengths], dtype="<u8")
    table = np.stack([ends[:-1], np.asarray(lengths, "<u8")], 1).tobytes()
    return table + checksum(table)


def unpack_index(data: bytes, begins_at: int) -> list[int]:
    """Where each chunk ends: n + 1 offsets of n chunks, the first 0.

    Args:
        data: the index, checksum included.
        begins_at: where it stands in the file, which is where the last chunk ends.

    Raises:
        Damage: the checksum does not hold, or the chunks leave gaps.
    """
    table = data[:-CHECK]
    if checksum(table) != data[-CHECK:]:
        raise Damage("the checksum of its index does not hold")
    rows = np.frombuffer(table, "<u8").reshape(-1, 2)
    ends = list(accumulate(map(int, rows[:, 1]), initial=0))
    if ends[:-1] != rows[:, 0].tolist() or ends[-1] != begins_at:
        raise Damage("its index does not fit the file")
    return ends
