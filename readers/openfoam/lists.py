"""Lists of numbers: scalars, vectors, tensors, labels and faces, as text or as bytes.

Bytes go straight into the array they end up in; text is parsed in windows of a few MB. The size
that a list declares is held against what is left of the file before memory is taken.

Source: OpenFOAM's List, CompactIOList and VectorSpace stream operators; OpenFOAM user guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.memory import need_room as need_memory
from meshkit.readers.ascii_numbers import BadNumber, parsed
from meshkit.readers.number_lines import word_starts
from meshkit.readers.openfoam.header import Encoding
from meshkit.readers.openfoam.memory import room
from meshkit.readers.openfoam.scanner import Scanner

Array = NDArray[Any]

WIDTHS: Final = {
    "scalar": 1,
    "vector": 3,
    "sphericalTensor": 1,
    "symmTensor": 6,
    "tensor": 9,
    "label": 1,
    "bool": 1,
}
"""What lists are of, and how many numbers each has."""
_COMPOUND: Final = frozenset({"vector", "sphericalTensor", "symmTensor", "tensor"})
_WINDOW: Final = 1 << 22
_BLANKS: Final = bytes.maketrans(b"()", b"  ")
_TRUTHS: Final = {b"true": b"1", b"on": b"1", b"yes": b"1", b"false": b"0", b"off": b"0"}


@dataclass(frozen=True)
class Values:
    """A list: [n] for scalars, labels and bools, else [n, width].

    `uniform` ones have one row in `rows` that stands for all `count`.
    """

    kind: str
    rows: Array
    count: int
    uniform: bool = False


def read_list(scanner: Scanner, encoding: Encoding, kind: str) -> Values:
    """A list of the kind, its count before it or not: N(...), N{value}, (...).

    Labels and bools come as int32 where they fit, else as int64; floats in the size of the file's.

    Raises:
        ReadError: the list is cut, has another number of rows than it says, or a word that is no
            number; the message says in which line or at which byte.
    """
    count = _count(scanner)
    if count is not None and scanner.peek() == b"{":
        return _repeated(scanner, encoding, kind, count)
    if count == 0 and scanner.peek() != b"(":
        return Values(kind, _blank(encoding, kind, 0), 0)
    if encoding.binary and count != 0:
        if count is None:
            raise scanner.error(f"a binary list of {kind}s has no count", expected="a count")
        return Values(kind, _bytes(scanner, encoding, kind, count), count)
    scanner.expect(b"(", f"a list of {kind}s")
    rows = _text(scanner, encoding, kind, count)
    return Values(kind, rows, len(rows))


def _count(scanner: Scanner) -> int | None:
    if not scanner.peek().isdigit() and scanner.peek() not in (b"-", b"+"):
        return None
    token = scanner.token()
    count = None if token is None else token.value
    if not isinstance(count, int) or count < 0:
        raise scanner.error(f"the size of a list is {count!r}", expected="a count from 0 on")
    return count


def need_room(scanner: Scanner, count: int, each: int, what: str) -> None:
    """Refuse a list of more rows than the rest of the file, or the memory, can hold.

    Args:
        scanner: stands before the rows.
        count: how many rows.
        each: bytes that a row takes in the file at least, and about as many in memory.
        what: what messages call rows.

    Raises:
        ReadError: the message says how much is left.
    """
    if count * each > scanner.left:
        raise scanner.error(
            f"is cut: {count} {what} need {count * each} bytes or more, {scanner.left} are left",
            expected="the whole list",
        )
    need_memory(scanner.source.path, count * each, place=scanner.place())


def _dtype(encoding: Encoding, kind: str) -> np.dtype[Any]:
    """How the file writes one number."""
    if kind == "bool":
        return np.dtype(np.uint8)
    return encoding.int_type if kind == "label" else encoding.float_type


def _shape(kind: str, count: int) -> tuple[int, ...]:
    return (count, WIDTHS[kind]) if kind in _COMPOUND else (count,)


def _blank(encoding: Encoding, kind: str, count: int) -> Array:
    dtype = np.dtype(np.int32) if kind in ("label", "bool") else _dtype(encoding, kind)
    return np.empty(_shape(kind, count), dtype.newbyteorder("="))


# --- bytes ----------------------------------------------------------------------------------------


def _bytes(scanner: Scanner, encoding: Encoding, kind: str, count: int) -> Array:
    scanner.expect(b"(", f"a binary list of {kind}s")
    dtype = _dtype(encoding, kind)
    if not encoding.said and kind != "bool":
        dtype = _measured(scanner, dtype, WIDTHS[kind] * count)
    each = WIDTHS[kind] * dtype.itemsize
    need_room(scanner, count, each, f"{kind}s")
    begun = scanner.place()
    if kind == "label" and dtype.itemsize == 8:
        rows = _narrowed(scanner, dtype, count)
    else:
        rows = room(_shape(kind, count), dtype)
        _fill(scanner, rows, begun, kind)
    end_of_bytes(scanner, count, kind)
    if not dtype.isnative:
        rows = rows.byteswap().view(dtype.newbyteorder("="))
    return rows


def _measured(scanner: Scanner, dtype: np.dtype[Any], count: int) -> np.dtype[Any]:
    """The size of numbers with which the list ends at a ")", where no head says it.

    The smaller one first: behind it stand other lists, in which a ")" is no rarity, while within
    the bytes of a list of the greater one hardly ever one stands with a blank or ";" behind it.
    """
    for size in (4, 8):
        end = count * size
        if end < scanner.left:
            behind = scanner.window(end + 2)[end : end + 2]
            if behind[:1] == b")" and (behind[1:] or b";") in b";)} \t\r\n":
                return np.dtype(f"{'>' if dtype.byteorder == '>' else '<'}{dtype.kind}{size}")
    return dtype


def _fill(scanner: Scanner, rows: Array, begun: str, kind: str) -> None:
    if not scanner.raw(rows):
        raise scanner.error(
            f"is cut in a list of {kind}s that begins at {begun}", expected="the whole list"
        )


def _narrowed(scanner: Scanner, dtype: np.dtype[Any], count: int) -> Array:
    """64-bit labels, in windows so that int32 ones never need twice the memory."""
    begun = scanner.place()
    out = room(count, np.int32)
    for low in range(0, count, _WINDOW):
        part = np.empty(min(_WINDOW, count - low), dtype)
        _fill(scanner, part, begun, "label")
        native = part.astype(np.int64, copy=False)
        if out.dtype == np.int32 and not _fits(native):
            out = out.astype(np.int64)
        out[low : low + len(part)] = native
    return out


def _fits(labels: Array) -> bool:
    ends = np.iinfo(np.int32)
    return len(labels) == 0 or (labels.min() >= ends.min and labels.max() <= ends.max)


def end_of_bytes(scanner: Scanner, count: int, kind: str) -> None:
    """Pass over the ")" that must stand right behind the bytes.

    Raises:
        ReadError: another byte stands there: count, label or scalar sizes are not the file's.
    """
    found = scanner.window(1)[:1]
    if found != b")":
        said = repr(found.decode("latin-1")) if found else "the end of the file"
        raise scanner.error(
            f"a list of {count} {kind}s is followed by {said}",
            expected="')': are its count and the sizes that arch says right?",
        )
    scanner.advance(1)


# --- text -----------------------------------------------------------------------------------------


def _repeated(scanner: Scanner, encoding: Encoding, kind: str, count: int) -> Values:
    """N{value}: one value for all rows."""
    scanner.expect(b"{", "a list")
    if encoding.binary:
        dtype = _dtype(encoding, kind)
        row = np.empty(_shape(kind, 1), dtype)
        _fill(scanner, row, scanner.place(), kind)
        row = row.astype(dtype.newbyteorder("="))
    else:
        row = read_row(scanner, encoding, kind)[None]
    scanner.expect(b"}", "a list of one value")
    return Values(kind, row, count, uniform=True)


def read_row(scanner: Scanner, encoding: Encoding, kind: str) -> Array:
    """One value as text: a number, or (x y z)."""
    words: list[bytes] = []
    compound = kind in _COMPOUND
    if compound:
        scanner.expect(b"(", f"a {kind}")
    for _ in range(WIDTHS[kind]):
        token = scanner.token()
        if token is None or token.kind not in ("number", "word"):
            said = "the end" if token is None else repr(token.value)
            raise scanner.error(f"a {kind} has {said}", expected=f"{WIDTHS[kind]} numbers")
        words.append(str(token.value).encode())
    if compound:
        scanner.expect(b")", f"a {kind}")
    return _numbers(scanner, b" ".join(words), encoding, kind, 0).reshape(_shape(kind, 1)[1:])


def _numbers(scanner: Scanner, text: bytes, encoding: Encoding, kind: str, lines: int) -> Array:
    """All numbers of a text that begins so many lines below where the scanner is."""
    dtype = np.dtype(np.int64) if kind in ("label", "bool") else encoding.float_type
    if kind == "bool":
        for word, digit in _TRUTHS.items():
            text = text.replace(word, digit)
    try:
        return parsed(text, int(np.count_nonzero(starts_of_words(text))), dtype.newbyteorder("="))
    except BadNumber as why:
        line = scanner.line + lines + _line_of_word(text, why.index)
        raise scanner.error(
            f"{why.word!r} is no number", place=f"line {line}", expected=f"a list of {kind}s"
        ) from None


def starts_of_words(text: bytes) -> NDArray[np.bool_]:
    """At which bytes a word begins; every byte up to the blank counts as one."""
    solid = np.frombuffer(text, np.uint8) > 32
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    return begins


def _line_of_word(text: bytes, index: int) -> int:
    at = int(np.flatnonzero(word_starts(text))[index])  # what `parsed` calls words
    return text.count(b"\n", 0, at)


def _text(scanner: Scanner, encoding: Encoding, kind: str, count: int | None) -> Array:
    """The rows of a list as text up to its ")", in windows."""
    if count is not None:
        need_room(scanner, count, 2 * WIDTHS[kind], f"{kind}s")
    parts: list[Array] = []
    total = 0
    for text, last in rows_of_text(scanner, compound=kind in _COMPOUND, kind=kind):
        flat = _numbers(scanner, text.translate(_BLANKS), encoding, kind, 0)
        if kind in _COMPOUND:
            need_even_rows(scanner, text, WIDTHS[kind], kind)
            flat = flat.reshape(-1, WIDTHS[kind])
        total += len(flat)
        if (last and count not in (None, total)) or (count is not None and total > count):
            raise scanner.error(f"a list of {count} {kind}s has {_so_many(total, last)}")
        parts.append(flat)
    rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if kind in ("label", "bool") and _fits(rows):
        return rows.astype(np.int32)
    return rows


def _so_many(total: int, last: bool) -> str:
    return str(total) if last else f"{total} or more"


def need_even_rows(scanner: Scanner, text: bytes, width: int, kind: str) -> None:
    """Refuse rows in parentheses that do not all have this many numbers."""
    sizes, bad = words_in_rows(text, 0)
    wrong = np.flatnonzero(sizes != width) if not bad else np.zeros(1, np.int64)
    if bad or len(wrong):
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 41)
        at = int(ends[wrong[0]]) if len(ends) > wrong[0] else 0
        line = scanner.line + text.count(b"\n", 0, at)
        said = (
            "words beside it, or parentheses that do not pair up"
            if bad
            else f"{int(sizes[wrong[0]])} numbers"
        )
        raise scanner.error(
            f"a {kind} has {said}", place=f"line {line}", expected=f"({width} numbers)"
        )


def words_in_rows(text: bytes, before: int) -> tuple[NDArray[np.int64], bool]:
    """How many words each "n(...)" has up to its ")".

    Args:
        text: rows, and nothing behind the last.
        before: how many words stand before each "(".

    Returns:
        The counts, and whether parentheses do not pair up or other words stand between.
    """
    raw = np.frombuffer(text, np.uint8)
    opens, closes = np.flatnonzero(raw == 40), np.flatnonzero(raw == 41)
    if len(opens) != len(closes):
        return np.zeros(0, np.int64), True
    bad = bool((opens > closes).any() or (opens[1:] < closes[:-1]).any())
    begins = np.flatnonzero(starts_of_words(text.translate(_BLANKS)))
    ends = np.searchsorted(begins, closes)
    sizes = np.diff(ends, prepend=0)
    inside = ends - np.searchsorted(begins, opens)
    bad = bad or bool((sizes - inside != before).any()) or len(begins) != ends[-1:].sum()
    return sizes, bad


def rows_of_text(scanner: Scanner, *, compound: bool, kind: str) -> Iterator[tuple[bytes, bool]]:
    """The text of a list behind its "(", in pieces of whole rows, and whether it is the last.

    The scanner passes over a piece when the next one is asked for, so that errors about it count
    lines from its begin; behind the last it stands behind the list's own ")".
    """
    least = _WINDOW
    while True:
        text = scanner.window(least)
        if b"/" in text:
            text = without_comments(text)
        end = _end_of_list(text) if compound else text.find(b")")
        if end >= 0:
            yield text[:end], True
            scanner.advance(end + 1)
            return
        cut = text.rfind(b")") + 1 if compound else _last_blank(text)
        if cut <= 0 or len(text) < least:
            raise scanner.error(f"is cut in a list of {kind}s", expected="')' at its end")
        yield text[:cut], False
        scanner.advance(cut)


def _end_of_list(text: bytes) -> int:
    """Where the ")" stands that closes no row of a list of rows; -1 if it does not come."""
    raw = np.frombuffer(text, np.uint8)
    signs = np.flatnonzero((raw == 40) | (raw == 41))
    closing = raw[signs] == 41
    # In "(..)(..))" signs alternate until the one that ends the list.
    again = np.flatnonzero(closing[1:] & closing[:-1])
    if len(closing) and closing[0]:
        return int(signs[0])
    return int(signs[again[0] + 1]) if len(again) else -1


def _last_blank(text: bytes) -> int:
    return max(text.rfind(b"\n"), text.rfind(b" ")) + 1


def without_comments(text: bytes) -> bytes:
    """Blanks in place of comments; line ends and places stay what they were."""

    def blanked(found: re.Match[bytes]) -> bytes:
        return re.sub(rb"[^\n]", b" ", found[0])

    return re.sub(rb"//[^\n]*|/\*.*?\*/", blanked, text, flags=re.S)
