"""Chunks as they were before they were packed, without libhdf5, whose filters crash on damage.

Deflate, shuffle and Fletcher's checksum: what VTK writes, and what every HDF5 library has.

Source: HDF5 File Format Specification 3.0: IV.A.2.l (filter pipeline); H5checksum.c of HDF5 1.14
for what exactly is summed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_CHECKSUM: Final = 4  # bytes
_MODULUS: Final = 65535
_BLOCK: Final = 1 << 15  # products of this many 16-bit words and their places fit into 64 bits

Filter = tuple[int, int, tuple[int, ...], bytes]
"""Number, flags, settings and name, as h5py gives them."""


class BadChunk(ValueError):
    """A chunk cannot be unpacked."""


def unpacked(raw: bytes, filters: Sequence[Filter], mask: int, size: int) -> bytes:
    """The bytes of a chunk, its filters undone.

    Args:
        raw: as it is stored.
        filters: in the order they were applied.
        mask: bit i says that filter i was left out.
        size: how many bytes it has, unpacked.

    Raises:
        BadChunk: it is damaged, or a filter is not known.
    """
    for i, (number, _, settings, name) in reversed(list(enumerate(filters))):
        if mask & (1 << i):
            continue
        if number == _DEFLATE:
            raw = _inflated(raw, size)
        elif number == _SHUFFLE:
            raw = _unshuffled(raw, settings[0] if settings else 0)
        elif number == _FLETCHER32:
            raw = _checked(raw)
        else:
            known = name.decode("utf-8", "replace") or number
            raise BadChunk(f"it is packed by {known}; only gzip, shuffle and fletcher32 are read")
    if len(raw) != size:
        raise BadChunk(f"a chunk of {len(raw)} bytes, not {size}")
    return raw


def _inflated(raw: bytes, size: int) -> bytes:
    """At most a little more than a chunk; more means damage."""
    try:
        return zlib.decompressobj().decompress(raw, size + _CHECKSUM + 1)
    except zlib.error as why:
        raise BadChunk(f"a chunk that is not deflated: {why}") from None


def _unshuffled(raw: bytes, width: int) -> bytes:
    if width < 1 or width > max(len(raw), 1):
        raise BadChunk(f"a chunk shuffled by {width} bytes")
    whole = len(raw) // width * width
    table = np.frombuffer(raw, np.uint8, whole).reshape(width, -1)
    return table.T.tobytes() + raw[whole:]


def _checked(raw: bytes) -> bytes:
    """The bytes before the checksum, if it is theirs."""
    data, said = raw[:-_CHECKSUM], raw[-_CHECKSUM:]
    value = fletcher32(data)
    # Old libraries on other machines stored the bytes of each half the other way round.
    swapped = ((value & 0x00FF00FF) << 8) | ((value >> 8) & 0x00FF00FF)
    if len(said) < _CHECKSUM or int.from_bytes(said, "little") not in (value, swapped):
        raise BadChunk("a chunk whose checksum is wrong")
    return data


def fletcher32(data: bytes) -> int:
    """Fletcher's sum of 16-bit words, high byte first; a last odd byte is a high one.

    >>> hex(fletcher32(bytes([1, 2, 3, 4])))
    '0x5080406'
    """
    words: NDArray[Any] = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").astype(np.int64)
    first = second = 0
    for at in range(0, len(words), _BLOCK):
        block = words[at : at + _BLOCK]
        n = len(block)
        # Each word counts once in the first sum, and in the second once for each that follows.
        second += n * first + int((block * np.arange(n, 0, -1)).sum())
        first += int(block.sum())
    return (_folded(second) << 16) | _folded(first)


def _folded(total: int) -> int:
    """The rest of a sum as adding the carry gives it: never 0 for what is not 0."""
    rest = total % _MODULUS
    return _MODULUS if rest == 0 and total else rest
