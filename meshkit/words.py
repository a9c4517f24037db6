"""Where words begin and end: white space of ASCII parts them, that of Unicode belongs to names."""

from __future__ import annotations

import re
from typing import Final

BLANKS: Final = " \t\n\r\v\f"
"""What parts words. `str.strip` and `str.split` alone take Unicode's white space too."""

_WORD: Final = re.compile(f"[^{BLANKS}]+")


def words_of(text: str) -> list[str]:
    """The words between blanks.

    >>> words_of(" wall\u00a0left  inlet ")
    ['wall\\xa0left', 'inlet']
    """
    return _WORD.findall(text)


def one_line(text: str) -> str:
    """The words with one space between each two.

    >>> one_line("a\u00a0b:\\n  is empty")
    'a\\xa0b: is empty'
    """
    return " ".join(words_of(text))
