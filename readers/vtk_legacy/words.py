"""How the legacy VTK format says things: names, types, texts."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from meshkit.readers.texts import text_of

_CODE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_PLAIN: Final = frozenset(range(33, 127)) - frozenset(b'"%')

DTYPES: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype(code)
    for names, code in (
        ("char signed_char vtktypeint8", "i1"),
        ("unsigned_char vtktypeuint8", "u1"),
        ("short vtktypeint16", ">i2"),
        ("unsigned_short vtktypeuint16", ">u2"),
        ("int vtktypeint32", ">i4"),
        ("unsigned_int vtktypeuint32", ">u4"),
        ("long long_long vtktypeint64", ">i8"),
        ("unsigned_long unsigned_long_long vtktypeuint64", ">u8"),
        ("vtkidtype", ">i4"),  # 64 bits in memory, 32 in files
        ("float vtktypefloat32", ">f4"),
        ("double vtktypefloat64", ">f8"),
    )
    for name in names.split()
}
"""Type names in lower case, and how their numbers stand in a binary file."""

# Only names that the readers of VTK 9.7 know.
NAMES: Final = {
    "int8": "char",
    "uint8": "unsigned_char",
    "int16": "short",
    "uint16": "unsigned_short",
    "int32": "int",
    "uint32": "unsigned_int",
    "int64": "vtktypeint64",
    "uint64": "vtktypeuint64",
    "float32": "float",
    "float64": "double",
}
"""numpy's names of the dtypes that can be written, and VTK's."""

OTHER_TYPES: Final = ("bit", "string", "utf8_string", "variant")


def encoded(text: str) -> bytes:
    """UTF-8, with blanks, quotes, percent signs and everything beyond ASCII as %XX.

    >>> encoded("50% né")
    b'50%25%20n%C3%A9'
    """
    raw = text.encode("utf-8", "surrogatepass")
    return b"".join(bytes([b]) if b in _PLAIN else b"%%%02X" % b for b in raw)


def decoded(raw: bytes) -> str:
    """The inverse of `encoded`; a percent sign that begins no code stands for itself.

    >>> decoded(b"50%25%20n%C3%A9"), decoded(b"100%")
    ('50% né', '100%')
    """
    return text_of(_CODE.sub(lambda found: bytes([int(found[1], 16)]), raw))
