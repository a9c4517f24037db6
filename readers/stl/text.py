"""STL as text, in and out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.number_lines import is_number
from meshkit.readers.stl.soup import FACET, HEADER, START, Soup
from meshkit.readers.texts import text_of
from meshkit.words import BLANKS


def counted_facets(head: bytes) -> int:
    """How many facets the header of a binary file says there are."""
    return int.from_bytes(head[HEADER:START], "little")


_SPACE: Final = rb"\s+"


_NUMBERS: Final = _SPACE.join([rb"(\S+)"] * 3)


_WORDS: Final = (
    *(b"facet", b"normal", None, None, None, b"outer", b"loop"),
    *(b"vertex", None, None, None) * 3,
    *(b"endloop", b"endfacet"),
)


_FACET_TEXT: Final = re.compile(
    rb"\s*" + _SPACE.join(rb"(\S+)" if word is None else word for word in _WORDS) + rb"(?=\s)",
    re.IGNORECASE,
)


_SOLID: Final = re.compile(
    rb"\s*solid(?:[ \t]+([^\r\n]*?))?[ \t]*(?:[\r\n]|\Z|(?=\bfacet\s+normal\s))", re.IGNORECASE
)


_END: Final = re.compile(rb"\s*endsolid\b[^\r\n]*", re.IGNORECASE)


_TOKEN: Final = re.compile(rb"\s*(\S+)")


_CHUNK: Final = 1 << 16


def need_solid(path: Path, head: bytes, size: int) -> None:
    """Refuse a file that is not binary and does not begin with "solid".

    Args:
        path: of the error.
        head: the first bytes, or all; if they are no more than a blank, nothing is refused.
        size: of the file.
    """
    begun = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    cut = len(head) < size and len(begun) <= len(b"solid")
    if cut or re.match(rb"solid\b", begun, re.IGNORECASE):
        return
    counted = f"; the header counts {counted_facets(head)} facets" if len(head) >= START else ""
    raise ReadError(
        path,
        f"is neither binary nor text ({size} bytes{counted})",
        expected=f"{START} + {FACET.itemsize} x the count of facets in bytes, "
        "or a first word 'solid'",
    )


def from_text(path: Path, data: bytes) -> Soup:
    """Solids one after the other, each of facets; nothing else may stand between them."""
    need_solid(path, data, len(data))
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    numbers: list[NDArray[np.float64]] = []
    tokens: list[bytes] = []
    begun: list[int] = []  # where each facet of the tokens at hand begins
    solids: list[tuple[str, int]] = []
    done = 0
    while True:
        solid = _SOLID.match(data, at)
        if solid is None:
            if data[at:].strip(b" \t\r\n\0\x1a"):
                raise _unexpected(path, data, at, "'solid', or the end of the file")
            break
        solids.append((text_of((solid.group(1) or b"").strip()), done + len(begun)))
        at = solid.end()
        while found := _FACET_TEXT.match(data, at):
            tokens += found.groups()
            begun.append(at)
            at = found.end()
            if len(begun) == _CHUNK:
                numbers.append(_numbers(path, data, tokens, begun))
                done += len(begun)
                tokens, begun = [], []
        end = _END.match(data, at)
        if end is None:
            raise _broken(path, data, at, solids[-1][0])
        at = end.end()
    numbers.append(_numbers(path, data, tokens, begun))
    table = np.concatenate(numbers).reshape(-1, 4, 3)
    return Soup(table[:, 1:].copy(), table[:, 0].copy(), solids=solids)


def _numbers(
    path: Path, data: bytes, tokens: Sequence[bytes], begun: Sequence[int]
) -> NDArray[np.float64]:
    try:
        if not any(b"_" in token for token in tokens):  # float() would take 1_000
            return np.array(list(map(float, tokens)))
    except ValueError:
        pass
    bad = next(i for i, token in enumerate(tokens) if not is_number(token))
    facet, place = divmod(bad, 12)
    words = _TOKEN.finditer(data, begun[facet])
    wanted = [i for i, word in enumerate(_WORDS) if word is None][place]
    at = next(word.start(1) for i, word in enumerate(words) if i == wanted)
    raise _unexpected(path, data, at, "a number")


def _broken(path: Path, data: bytes, at: int, solid: str) -> ReadError:
    """What is wrong with the facet that should begin here."""
    position = at
    for i, word in enumerate(_WORDS):
        found = _TOKEN.match(data, position)
        if found is None:
            what = f"the file ends within solid {solid!r}"
            expected = "'facet' or 'endsolid'" if i == 0 else _wanted(word)
            return ReadError(path, what, place=_line(data, len(data)), expected=expected)
        token = found.group(1)
        if token.lower() != word if word else not is_number(token):
            expected = "'facet' or 'endsolid'" if i == 0 else _wanted(word)
            return _unexpected(path, data, found.start(1), expected)
        position = found.end()
    return ReadError(
        path,
        f"the file ends within solid {solid!r}",
        place=_line(data, len(data)),
        expected="'facet' or 'endsolid'",
    )


def _wanted(word: bytes | None) -> str:
    return "a number" if word is None else repr(word.decode())


def _unexpected(path: Path, data: bytes, at: int, expected: str) -> ReadError:
    found = _TOKEN.match(data, at)
    token = found.group(1)[:40].decode("ascii", "replace") if found else "nothing"
    start = found.start(1) if found else at
    return ReadError(path, f"found {token!r}", place=_line(data, start), expected=expected)


def _line(data: bytes, at: int) -> str:
    number = data.count(b"\n", 0, at) + 1
    return f"line {number}"


_FACET_LINES: Final = (
    "facet normal %r %r %r\n outer loop\n" + "  vertex %r %r %r\n" * 3 + " endloop\nendfacet\n"
)


def write_text(
    path: Path,
    corners: NDArray[Any],
    normals: NDArray[Any],
    solids: Sequence[tuple[str, NDArray[Any]]],
) -> None:
    """Shortest decimals that give the same float64 again."""
    numbers = np.concatenate([normals[:, None], corners], 1).astype(np.float64).reshape(-1, 12)
    ends = np.cumsum([0, *(len(ids) for _, ids in solids)]) if solids else [0, len(corners)]
    names = [name for name, _ in solids] or [""]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for name, start, stop in zip(names, ends, ends[1:], strict=False):
            file.write(f"solid {name}".rstrip(BLANKS) + "\n")
            for at in range(start, stop, _CHUNK):
                part = numbers[at : min(at + _CHUNK, stop)]
                file.write((_FACET_LINES * len(part)) % tuple(part.ravel().tolist()))
            file.write(f"endsolid {name}".rstrip(BLANKS) + "\n")
