"""Where the files of a case lie: in its directory, in a processor's, or as blocks of collated ones.

Source: OpenFOAM's fileOperations (uncollated, collated) and decomposedBlockData.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from meshkit.errors import ReadError
from meshkit.readers.openfoam.dictionary import Parser
from meshkit.readers.openfoam.entries import Dictionary
from meshkit.readers.openfoam.files import opened, plain_name, present
from meshkit.readers.openfoam.header import Encoding, Header, read_header
from meshkit.readers.openfoam.scanner import Scanner

_COLLATED: Final = "decomposedBlockData"
_Block = tuple[int, int]
_Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Folder:
    """A directory with constant/ and times, or one block of each file in such a directory.

    Args:
        path: the directory.
        root: the directory that included files must lie in.
        block: which block of a collated file is meant; None: files are not collated.
        label: what messages call it ("processor 3").
        blocks: where blocks begin, by file, once they were looked for.
    """

    path: Path
    root: Path
    block: int | None = None
    label: str = ""
    blocks: dict[_Stamp, tuple[Header | None, list[_Block]]] = field(default_factory=dict)

    def names(self, below: str = "") -> list[str]:
        """The names in a directory, sorted, without ".gz"; [] where there is none."""
        try:
            return sorted({plain_name(name) for name in os.listdir(self.path / below)})
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as why:
            raise ReadError(self.path / below, f"cannot be read: {why.strerror or why}") from None

    def find(self, where: str) -> Path | None:
        """The file at this place of the directory, packed or not; None if there is none."""
        path = self.path / where
        return present(path.parent, path.name)

    def stamp(self, where: str) -> _Stamp | None:
        """What tells whether the file at this place is the same as before."""
        path = self.find(where)
        if path is None:
            return None
        status = path.stat()
        return (str(path), status.st_size, status.st_mtime_ns)

    def missing(self, where: str, hint: str = "") -> ReadError:
        """The error for a file that must be there."""
        return ReadError(
            self.path / where, "is missing", expected="a file of OpenFOAM", hint=hint or None
        )

    @contextmanager
    def open(self, where: str) -> Iterator[tuple[Scanner, Header]]:
        """A file, or the block of it, behind its head.

        Raises:
            ReadError: it is missing, or damaged.
        """
        path = self.find(where)
        if path is None:
            raise self.missing(where)
        with opened(path) as source:
            scanner = Scanner(source)
            header = read_header(scanner)
            if header is None or header.class_name != _COLLATED:
                yield scanner, header or Header()
                return
        first, blocks = self._blocks(path)
        block = self.block or 0
        if block >= len(blocks):
            raise ReadError(
                path, f"has {len(blocks)} blocks", expected=f"one for processor {block} too"
            )
        start, size = blocks[block]
        with opened(path, start, size) as source:
            scanner = Scanner(source, f"{path}: block {block}")
            header = read_header(scanner, first)
            yield scanner, header or Header()

    def dictionary(self, where: str) -> tuple[Header, Dictionary]:
        """All entries of a file.

        Raises:
            ReadError: it is missing, or damaged.
        """
        with self.open(where) as (scanner, header):
            return header, self.parser(scanner, header.encoding).whole()

    def parser(self, scanner: Scanner, encoding: Encoding) -> Parser:
        """What reads entries from where a scanner stands."""
        real = Path(os.path.realpath(scanner.source.path))
        return Parser(scanner, encoding, self.root, (real,))

    def blocks_of(self, path: Path) -> list[tuple[int, int]]:
        """Where the blocks of a collated file begin, and how long they are.

        Raises:
            ReadError: the file is damaged.
        """
        return self._blocks(path)[1]

    def _blocks(self, path: Path) -> tuple[Header | None, list[_Block]]:
        status = path.stat()
        key = (str(path), status.st_size, status.st_mtime_ns)
        if key not in self.blocks:
            self.blocks[key] = _found_blocks(path)
        return self.blocks[key]


def _found_blocks(path: Path) -> tuple[Header | None, list[_Block]]:
    """The head of the first block, which the others share, and where all begin and how long."""
    blocks: list[_Block] = []
    with opened(path) as source:
        scanner = Scanner(source)
        read_header(scanner)
        scanner.binary = True
        while scanner.peek():
            token = scanner.token()
            if token is not None and token.value == "List<char>":
                token = scanner.token()
            size = None if token is None else token.value
            if not isinstance(size, int) or size < 0:
                raise scanner.error(f"block {len(blocks)} has size {size!r}", expected="a count")
            if size == 0 and scanner.peek() != b"(":
                blocks.append((scanner.offset, 0))
                continue
            scanner.expect(b"(", f"block {len(blocks)}")
            blocks.append((scanner.offset, size))
            if size > scanner.left or not scanner.pass_bytes(size):
                raise scanner.error(
                    f"is cut in block {len(blocks) - 1}", expected=f"{size} bytes and ')'"
                )
            scanner.expect(b")", f"block {len(blocks) - 1}")
    if not blocks:
        raise ReadError(path, "has no blocks", expected="one for each processor")
    with opened(path, *blocks[0]) as source:
        header = read_header(Scanner(source, f"{path}: block 0"))
    # Its note counts the cells of the first block alone.
    return None if header is None else replace(header, note=""), blocks
