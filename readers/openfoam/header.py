"""The head of a file of OpenFOAM: its class, and how numbers are written in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from meshkit.readers.openfoam.scanner import Scanner, Token

_LONGEST: Final = 200
"""A head has fewer pieces of text than this."""


@dataclass(frozen=True)
class Encoding:
    """How numbers are written: as text, or as bytes of these sizes."""

    binary: bool = False
    order: str = "<"
    label: int = 4
    scalar: int = 8
    said: bool = True  # False: no `arch` says the sizes, the bytes must tell

    @property
    def float_type(self) -> np.dtype[Any]:
        """The dtype of scalars, in the file's byte order."""
        return np.dtype(f"{self.order}f{self.scalar}")

    @property
    def int_type(self) -> np.dtype[Any]:
        """The dtype of labels, in the file's byte order."""
        return np.dtype(f"{self.order}i{self.label}")


@dataclass(frozen=True)
class Header:
    """What FoamFile { ... } says."""

    class_name: str = ""
    object_name: str = ""
    note: str = ""
    encoding: Encoding = Encoding()
    said: bool = False  # there is one, and not only what holds without


def read_header(scanner: Scanner, inherited: Header | None = None) -> Header | None:
    """The head, if the file has one; else the inherited one, of which a block has no own.

    Raises:
        ReadError: the head is damaged, of a version beyond 2, or names sizes that do not exist.
    """
    if not scanner.window(1 << 12).lstrip()[:2].startswith((b"F", b"/*", b"//")):
        return _begun(scanner, inherited)
    scanner.skip()
    if not re.match(rb"FoamFile\b", scanner.window(9)):
        return _begun(scanner, inherited)
    scanner.token()
    scanner.expect(b"{", "FoamFile")
    entries: dict[str, list[Any]] = {}
    words: list[Token] = []
    depth = 0
    for _ in range(_LONGEST):
        token = scanner.token()
        if token is None:
            raise scanner.error("the head has no end", expected="}")
        sign = token.value if token.kind == "sign" else ""
        if sign == "{":  # "meta { ... }" says nothing of how numbers are written
            depth += 1
        if depth:
            depth -= sign == "}"
            words = []
            continue
        if sign == "}":
            return _begun(scanner, _header(scanner, entries))
        if sign == ";":
            if words:
                entries[str(words[0].value)] = [t.value for t in words[1:]]
            words = []
            continue
        words.append(token)
    raise scanner.error("FoamFile does not end", expected="}")


def _begun(scanner: Scanner, header: Header | None) -> Header | None:
    scanner.binary = header is not None and header.encoding.binary
    return header


def _header(scanner: Scanner, entries: dict[str, list[Any]]) -> Header:
    def said(key: str) -> str:
        return " ".join(str(x) for x in entries.get(key, ()))

    if not re.fullmatch(r"[012](\.\d*)?", said("version") or "2.0"):
        raise scanner.error(f"FoamFile is of version {said('version')!r}", expected="2.0")
    form = said("format") or "ascii"
    if form not in ("ascii", "binary"):
        raise scanner.error(f"format is {form!r}", expected="ascii or binary")
    arch = said("arch")
    return Header(
        said("class"),
        said("object"),
        said("note"),
        _encoding(scanner, form == "binary", arch),
        said=True,
    )


def _encoding(scanner: Scanner, binary: bool, arch: str) -> Encoding:
    sizes = {"label": 32, "scalar": 64}
    for key in sizes:
        found = re.search(rf"\b{key}=(\w+)", arch)
        if found is not None:
            if found[1] not in ("32", "64"):
                raise scanner.error(f"arch says {key}={found[1]}", expected="32 or 64")
            sizes[key] = int(found[1])
    order = ">" if re.search(r"\bMSB\b", arch) else "<"
    said = "label=" in arch and "scalar=" in arch
    return Encoding(binary, order, sizes["label"] // 8, sizes["scalar"] // 8, said)
