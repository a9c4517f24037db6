"""The header of a PLY file: which elements there are, of which properties.

Source: Greg Turk, The PLY Polygon File Format (1994), with the type names int8 to float64.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.texts import text_of
from meshkit.words import BLANKS, words_of

TYPES: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype(code)
    for names, code in (
        ("char int8", "i1"),
        ("uchar uint8", "u1"),
        ("short int16", "i2"),
        ("ushort uint16", "u2"),
        ("int int32", "i4"),
        ("uint uint32", "u4"),
        ("float float32", "f4"),
        ("double float64", "f8"),
    )
    for name in names.split()
}
"""Type names and their dtypes, without a byte order."""

# The names that every reader knows.
NAMES: Final = {
    dtype.name: name for name, dtype in TYPES.items() if not any(c.isdigit() for c in name)
}

Order = Literal["", "<", ">"]
"""Of the bytes of a number; "" is ascii."""

ORDERS: Final[dict[str, Order]] = {
    "ascii": "",
    "binary_little_endian": "<",
    "binary_big_endian": ">",
}

_START: Final = re.compile(rb"ply[ \t]*(\r\n|\n|\r)")
_COUNT: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Property:
    """A property: one number a row, or (`count` is the type of its length) a list of them."""

    name: str
    dtype: np.dtype[Any]
    count: np.dtype[Any] | None = None


@dataclass(frozen=True)
class Element:
    """A table of the file: its rows hold the properties in their order."""

    name: str
    rows: int
    properties: list[Property] = field(default_factory=list)


@dataclass(frozen=True)
class Header:
    """What stands before the numbers; `start` is the byte where they begin.

    `comments` holds the texts of comment lines, and those of obj_info lines with that word.
    """

    order: Order
    elements: dict[str, Element]
    comments: list[str]
    start: int


def read_header(path: Path, data: bytes) -> Header:
    """Parse the header.

    Raises:
        ReadError: it breaks the format, or does not end.
    """
    begin = _START.match(data)
    if begin is None:
        raise ReadError(path, "is no PLY file", place="line 1", expected="ply")
    ending = b"\r" if begin[1] == b"\r" else b"\n"
    at, number = begin.end(), 1
    order: Order | None = None
    elements: dict[str, Element] = {}
    known: set[tuple[str, str]] = set()  # properties; a header may name very many
    comments: list[str] = []
    while True:
        number += 1
        end = data.find(ending, at)
        if end < 0 and data[at:].strip() != b"end_header":
            raise ReadError(path, "the header does not end", expected="end_header")
        line = data[at : end if end >= 0 else len(data)].removesuffix(b"\r")
        at = end + 1 if end >= 0 else len(data)
        text = text_of(line)
        words = words_of(text)

        def wrong(problem: str, expected: str, line: int = number) -> ReadError:
            return ReadError(path, problem, place=f"line {line}", expected=expected)

        match words:
            case []:
                continue
            case ["end_header"]:
                break
            case ["comment", *_]:
                comments.append(text.lstrip(BLANKS)[len("comment ") :])
            case ["obj_info", *_]:
                comments.append(text.lstrip(BLANKS))
            case ["format", name, _] if name in ORDERS:
                order = ORDERS[name]
            case ["element", name, rows] if _COUNT.fullmatch(rows):
                if name in elements:
                    raise wrong(f"element {name!r} a second time", "it once")
                elements[name] = Element(name, int(rows))
            case ["property", *rest] if elements:
                element = next(reversed(elements.values()))
                match rest:
                    case ["list", count, kind, name] if (
                        kind in TYPES and count in TYPES and TYPES[count].kind != "f"
                    ):
                        made = Property(name, TYPES[kind], TYPES[count])
                    case [kind, name] if kind in TYPES:
                        made = Property(name, TYPES[kind])
                    case _:
                        raise wrong(
                            f"found {text[:60].strip()!r}",
                            f"a type of {', '.join(TYPES)} and a name, or a list of two types",
                        )
                if (element.name, made.name) in known:
                    raise wrong(f"property {made.name!r} of {element.name!r} twice", "it once")
                known.add((element.name, made.name))
                element.properties.append(made)
            case _:
                raise wrong(
                    f"found {text[:60].strip()!r}",
                    "format, comment, obj_info, element, property or end_header",
                )
    if order is None:
        names = ", ".join(ORDERS)
        raise ReadError(path, "the header names no format", expected=f"one of {names}")
    return Header(order, elements, comments, at)
