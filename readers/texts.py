"""Bytes of a file as text."""

from __future__ import annotations


def text_of(raw: bytes) -> str:
    """Bytes as text: UTF-8 where they are, else Latin-1, in which any bytes are."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
