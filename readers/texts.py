"""Bytes of a file as text."""

from __future__ import annotations

import re
from typing import Final

BLANKS: Final = " \t\n\r\v\f"
"""What parts words in text formats. `str.strip` and `str.split` alone take Unicode's white space
too, which belongs to names."""

_WORD: Final = re.compile(f"[^{BLANKS}]+")


def text_of(raw: bytes) -> str:
    """Bytes as text: UTF-8 where they are, else Latin-1, in which any bytes are."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def words_of(text: str) -> list[str]:
    """The words between blanks.

    >>> words_of(" wall\u00a0left  inlet ")
    ['wall\xa0left', 'inlet']
    """
    return _WORD.findall(text)
