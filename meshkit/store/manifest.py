"""MANIFEST.json: what a sample consists of, to the last bit. Without it there is no sample."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from meshkit.errors import ReadError
from meshkit.store.names import MANIFEST
from meshkit.store.plain_json import from_bytes, to_bytes

FORMAT: Final = "meshkit-store"
VERSION: Final = (1, 0)
_TAIL: Final = re.compile(rb',\n"blake3":"([0-9a-f]{64})"}\n')
_TAIL_LENGTH: Final = 79
_HASH: Final = re.compile("[0-9a-f]{64}")
_CHECKS: Final = re.compile("([0-9a-f]{8})*")
_VERSION: Final = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a sample: its size, its hash, and the checksum of each chunk in it."""

    size: int
    blake3: str
    checks: bytes = b""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a sample by their keys, below `root`, which is "" or a name with "/"."""

    entries: Mapping[str, Entry]
    root: str = ""
    version: tuple[int, int] = field(default=VERSION)

    def to_bytes(self) -> bytes:
        """The file; the same entries in any order give the same bytes."""
        keys = {
            key: {
                "size": entry.size,
                "blake3": entry.blake3,
                **({"crc32c": entry.checks.hex()} if entry.checks else {}),
            }
            for key, entry in sorted(self.entries.items())
        }
        said = {
            "format": FORMAT,
            "version": "{}.{}".format(*self.version),
            "root": self.root,
            "keys": keys,
        }
        body = to_bytes(said)[:-1]
        return body + f',\n"blake3":"{digest(body)}"}}\n'.encode()


def digest(data: bytes | memoryview) -> str:
    """The BLAKE3 of some bytes, 32 bytes in hexadecimal."""
    from blake3 import blake3

    return blake3(data).hexdigest()


def parse(name: str, data: bytes) -> Manifest:
    """The manifest of the sample of this name.

    Raises:
        ReadError: it is damaged, not of meshkit, or of a newer major version.
    """
    tail = _TAIL.fullmatch(data[-_TAIL_LENGTH:])
    body = data[:-_TAIL_LENGTH]
    if tail is None:
        raise ReadError(name, "is cut short, or not meshkit's", place=MANIFEST)
    if digest(body) != tail[1].decode():
        raise ReadError(name, "is damaged: its hash does not hold", place=MANIFEST)
    try:
        said = from_bytes(body + b"}")
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ReadError(name, "is no manifest of a meshkit store", place=MANIFEST)
    version = said.get("version")
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if found is None or int(found[1]) != VERSION[0]:
        newer = found is not None and int(found[1]) > VERSION[0]
        raise ReadError(
            name,
            f"version {version!s:.20} of the store's format",
            place=MANIFEST,
            expected=f"version {VERSION[0]}",
            hint="a newer meshkit wrote it: update meshkit" if newer else None,
        )
    entries, root = _entries(said.get("keys")), said.get("root")
    if entries is None or not isinstance(root, str) or not (root == "" or _is_key(root[:-1])):
        raise ReadError(name, "does not list the sample's files", place=MANIFEST)
    return Manifest(entries, root, (int(found[1]), int(found[2])))


def _entries(keys: Any) -> dict[str, Entry] | None:
    if not isinstance(keys, dict):
        return None
    out = {}
    for key, row in keys.items():
        if not _is_key(key) or not isinstance(row, dict):
            return None
        size, hash, checks = row.get("size"), row.get("blake3"), row.get("crc32c", "")
        if (
            not isinstance(size, int)
            or isinstance(size, bool)
            or size < 0
            or not isinstance(hash, str)
            or not _HASH.fullmatch(hash)
            or not isinstance(checks, str)
            or not _CHECKS.fullmatch(checks)
        ):
            return None
        out[key] = Entry(size, hash, bytes.fromhex(checks))
    return out


def _is_key(key: str) -> bool:
    """Whether a key stays below the sample."""
    parts = key.split("/")
    return "\0" not in key and "\\" not in key and not {"", ".", ".."} & set(parts)
