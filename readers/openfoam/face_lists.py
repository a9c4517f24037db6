"""The faces of a mesh: rings of points, as plain lists of lists or as one compact list.

Source: OpenFOAM's faceIOList, faceCompactIOList and the stream operators of List.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.operators.kernels import kernel
from meshkit.readers.openfoam.header import Encoding, Header
from meshkit.readers.openfoam.lists import (
    Array,
    need_room,
    read_list,
    rows_of_text,
    words_in_rows,
)
from meshkit.readers.openfoam.scanner import Scanner

_BLANKS: Final = bytes.maketrans(b"()", b"  ")
_LEAST: Final = 4
"""A face takes this many bytes or more, as text "0()\\n" and in binary."""


def read_faces(scanner: Scanner, header: Header) -> tuple[Array, Array]:
    """Offsets [n + 1] and points of the rings, int32 where they fit.

    Raises:
        ReadError: the list is cut, its counts contradict each other, or a word is no number.
    """
    if header.class_name == "faceCompactList":
        return _compact(scanner, header.encoding)
    begun = scanner.peek()
    token = scanner.token() if begun != b"(" else None
    count = None if token is None else token.value
    if begun != b"(" and (not isinstance(count, int) or count < 0):
        raise scanner.error(f"the number of faces is {count!r}", expected="a count from 0 on")
    if count == 0 and scanner.peek() != b"(":
        return np.zeros(1, np.int32), np.zeros(0, np.int32)
    if count is not None:
        need_room(scanner, count, _LEAST, "faces")
    scanner.expect(b"(", "the list of faces")
    if header.encoding.binary:
        if count is None:
            raise scanner.error("a binary list of faces has no count", expected="a count")
        return _plain_bytes(scanner, header.encoding, count)
    return _plain_text(scanner, count)


def _compact(scanner: Scanner, encoding: Encoding) -> tuple[Array, Array]:
    offsets = read_list(scanner, encoding, "label").rows
    place = scanner.place()
    rings = read_list(scanner, encoding, "label").rows
    if len(offsets) == 0:
        offsets = np.zeros(1, np.int32)
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls) or offsets[0] != 0:
        row = int(falls[0]) if len(falls) else 0
        raise scanner.error(
            f"the offsets of face {row} are {offsets[row : row + 2].tolist()}",
            place=place,
            expected="offsets that begin with 0 and ascend",
        )
    if offsets[-1] != len(rings):
        raise scanner.error(
            f"the faces list {len(rings)} points, their offsets end at {offsets[-1]}",
            expected="the same number",
        )
    return offsets, rings


def _plain_text(scanner: Scanner, count: int | None) -> tuple[Array, Array]:
    """ "4(0 1 2 3) 3(0 1 4) ...", in windows."""
    sizes: list[Array] = []
    rings: list[Array] = []
    total = 0
    for text, last in rows_of_text(scanner, compound=True, kind="face"):
        size, ring = _rings(scanner, text)
        total += len(size)
        if (last and count not in (None, total)) or (count is not None and total > count):
            more = "" if last else " or more"
            raise scanner.error(f"a list of {count} faces has {total}{more}")
        sizes.append(size)
        rings.append(ring)
    points = np.concatenate(rings)
    offsets = np.zeros(total + 1, np.int64)
    np.cumsum(np.concatenate(sizes), out=offsets[1:])
    small = len(points) <= np.iinfo(np.int32).max
    return (offsets.astype(np.int32) if small else offsets), points


def _rings(scanner: Scanner, text: bytes) -> tuple[Array, Array]:
    """How many points each face of a text has, and which."""
    from meshkit.readers.ascii_numbers import BadNumber, parsed

    words, bad = words_in_rows(text, 1)
    flat: NDArray[Any] = np.zeros(0, np.int32)
    try:
        if not bad:
            flat = parsed(text.translate(_BLANKS), int(words.sum()), np.dtype(np.int32))
    except BadNumber as why:
        raise scanner.error(
            f"{why.word!r} is no point", place=f"near line {scanner.line}", expected="faces"
        ) from None
    starts = np.cumsum(words) - words
    if bad or (words < 1).any() or (flat[starts] != words - 1).any():
        wrong = np.flatnonzero((words < 1) | (flat[starts] != words - 1)) if not bad else [0]
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 41)
        line = scanner.line + text.count(b"\n", 0, int(ends[wrong[0]]) if len(ends) else 0)
        raise scanner.error(
            "a face does not have as many points as it says",
            place=f"line {line}",
            expected="n(p0 p1 ...)",
        )
    keep = np.ones(len(flat), np.bool_)
    keep[starts] = False
    return words - 1, flat[keep]


def _plain_bytes(scanner: Scanner, encoding: Encoding, count: int) -> tuple[Array, Array]:
    """Each face as its count in text and its points in bytes."""
    place = scanner.place()
    rest = np.frombuffer(scanner.window(scanner.left), np.uint8)
    size = encoding.label
    offsets = np.zeros(count + 1, np.int64)
    # What is no point is at least "1" and a pair of parentheses a face.
    rings = np.empty(max(len(rest) - 3 * count, 0) // size * size, np.uint8)
    end = int(_copied_rings(rest, size, offsets, rings))
    if end < 0:
        face = -end - 1
        raise scanner.error(
            f"face {face} of {count} is damaged or missing",
            place=f"{place} on",
            expected=f"n(points), of {size} bytes each",
        )
    scanner.advance(end)
    scanner.expect(b")", "the list of faces")
    points = rings[: offsets[-1] * size].view(encoding.int_type).astype(np.int64)
    small = max(len(points), points.max(initial=0)) <= np.iinfo(np.int32).max
    if small and points.min(initial=0) >= np.iinfo(np.int32).min:
        return offsets.astype(np.int32), points.astype(np.int32)
    return offsets, points


@kernel
def _copied_rings(raw: Array, size: int, offsets: Array, rings: Array) -> int:
    """Follow "n(bytes)" through `raw`; where the last ends, or -1 - (the first damaged face)."""
    at, filled, total = 0, 0, len(raw)
    for face in range(len(offsets) - 1):
        while at < total and raw[at] <= 32:
            at += 1
        count, digits = 0, 0
        while at < total and 48 <= raw[at] <= 57 and digits < 9:
            count = 10 * count + (int(raw[at]) - 48)
            digits += 1
            at += 1
        while at < total and raw[at] <= 32 and digits > 0:
            at += 1
        if count == 0 and digits > 0:
            if at + 1 < total and raw[at] == 40 and raw[at + 1] == 41:
                at += 2
        else:
            ends = at + 1 + count * size
            if digits == 0 or ends >= total or raw[at] != 40 or raw[ends] != 41:
                return -1 - face
            if filled + count * size > len(rings):
                return -1 - face
            for i in range(at + 1, ends):
                rings[filled] = raw[i]
                filled += 1
            at = ends + 1
        offsets[face + 1] = filled // size
    return at
