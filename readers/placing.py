"""A file that appears in its place whole or not at all, with its parts."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from xml.sax.saxutils import unescape

from meshkit.errors import WriteError
from meshkit.syncing import sync, synced

_INDEXES: Final = (".vtm", ".pvd")
_NAMED: Final = re.compile("file=(\"[^\"]*\"|'[^']*')")
_QUOTES: Final = {"&quot;": '"', "&apos;": "'"}


@contextmanager
def placed(path: Path, *, parts: bool = False) -> Iterator[Path]:
    """A name in a fresh sibling directory; what is written there moves into place at the end.

    A writer of `parts` puts them into a folder named after the name it is given, and a file that
    names them beside it. The folder moves first, under a name that is free: what was there before
    names its own parts until the new file takes its place in one step, and these go only then. All
    is on the disk before. So a writer that is killed leaves the old or the new, and at most a
    folder that nobody names.

    Raises:
        WriteError: the place is a directory, or the disk refuses; what was there is there.
    """
    if path.is_dir():
        raise WriteError(path, "is a directory", expected="a file name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    try:
        file = work / (_free_name(path) if parts else path.name)
        yield file
        if parts:
            _moved_in(file, path)
        else:
            os.replace(file, path)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _free_name(path: Path) -> str:
    """The file's name, with a number where the folder of its parts would be another's."""
    there = {Path(name).stem for name in os.listdir(path.parent) if Path(name).suffix in _INDEXES}
    n = 1
    while True:
        stem = path.stem if n == 1 else f"{path.stem}_{n}"
        anothers = n > 1 and stem in there
        name = stem + path.suffix
        if not anothers and not any(path.with_name(f).exists() for f in _folders(name)):
            return name
        n += 1


def _folders(name: str) -> tuple[str, ...]:
    """How a writer may call the folder of parts of a file of this name."""
    stem, suffix = os.path.splitext(name)
    return (stem,) if suffix else (f"{name}_blocks", f"{name}_times")


def _moved_in(file: Path, path: Path) -> None:
    """Put the folders of parts beside the place and the file into it; then remove the old parts."""
    synced(file.parent)
    old = path.read_bytes() if path.is_file() else b""
    folders = [made for made in file.parent.iterdir() if made != file]
    moved: list[Path] = []
    try:
        for folder in folders:
            os.rename(folder, path.with_name(folder.name))
            moved.append(path.with_name(folder.name))
        sync(path.parent)
        os.replace(file, path)
    except OSError:
        for folder in moved:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    sync(path.parent)
    _remove_parts(path, old, {folder.name for folder in moved})


def _remove_parts(path: Path, old: bytes, new: set[str]) -> None:
    """Remove the parts that an older file in this place named, as far as they look like ours."""
    own = re.compile(re.escape(path.stem) + r"(_\d+)?(_blocks|_times)?")
    folders = set()
    for said in _NAMED.findall(old.decode("utf-8", "replace")):
        folder, _, name = unescape(said[1:-1], _QUOTES).partition("/")
        if folder in new or not own.fullmatch(folder) or path.with_name(folder).is_symlink():
            continue
        if re.fullmatch(re.escape(folder) + r"_\d+\.vtu", name):
            with suppress(OSError):
                os.remove(path.parent / folder / name)
            folders.add(path.with_name(folder))
    for emptied in folders:
        with suppress(OSError):
            emptied.rmdir()
