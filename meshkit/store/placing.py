"""A directory that appears in its place whole or not at all.

It is made under a temporary name beside its place and exchanged with what is there. A kill leaves
the old sample, the new one, or none, and at most a leftover, which the next writer removes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from meshkit.errors import WriteError
from meshkit.store.metadata import ATTRIBUTE
from meshkit.store.names import MANIFEST, METADATA, PREFIX, ROOTS, SEGMENTS, STEPS
from meshkit.syncing import LACKING, sync

_OURS: Final = ROOTS | {MANIFEST, METADATA, SEGMENTS, STEPS}
_FILE: Final = re.compile(r"zarr\.json|c(\.0)*")
_MARK: Final = f'"attributes":{{"{ATTRIBUTE}":'.encode()  # how the top group's document begins
_AT_WORKING_DIRECTORY: Final = -100
_RENAME_EXCHANGE: Final = 2


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """An empty directory to write into, which takes the place of `path` at the end.

    What is written must be on the disk by then (`syncing.synced`).

    Raises:
        WriteError: the place holds what no writer of ours made, or the disk refuses.
    """
    _need_ours(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = Path(os.path.realpath(path))  # a link stays, what it leads to is replaced
        if target.is_symlink():
            raise WriteError(path, "is a link that leads to itself", hint="remove it")
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        work, lock = _scratch(target)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    try:
        yield work
        ours = os.stat(work)
        _exchange(work, target)
        _confirm(ours, work, target)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    finally:
        # Now the old sample, or what did not become a new one.
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def _confirm(ours: os.stat_result, work: Path, target: Path) -> None:
    """Wait until the exchange is on the disk; when that fails, take it back.

    The caller hears that nothing was written, so what was there must be there again.

    Raises:
        OSError: the disk refuses; the message says so if the new sample had to stay.
    """
    try:
        sync(target.parent)
    except OSError as why:
        try:
            # Not over what another writer has put there meanwhile.
            if os.path.samestat(ours, os.stat(target)):
                _take_back(work, target)
        except OSError:
            stays = "the new sample is in its place, but may not survive a power cut"
            raise OSError(why.errno, f"{why.strerror}; {stays}") from None
        raise


def _take_back(work: Path, target: Path) -> None:
    """Undo `_exchange`."""
    if work.is_dir():
        _exchange(work, target)
    else:
        os.rename(target, work)


def _need_ours(path: Path) -> None:
    """Refuse to replace what somebody else made, but for hidden files in what is ours."""
    try:
        if not path.is_dir():
            if path.exists():
                raise WriteError(path, "is a file", expected="a name for a directory")
            return
        theirs = _foreign(path) or _unknown(path)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    if theirs is not None:
        raise WriteError(
            path,
            f"is a directory that holds what meshkit did not write ({theirs!r})",
            hint="choose another name, or move it away",
        )


def _foreign(folder: Path) -> str | None:
    """What lies below that no writer of ours makes; hidden files, but not folders, are nobody's."""
    for at, folders, files in os.walk(folder, onerror=_raised):
        below = os.path.relpath(at, folder)
        top = below == "."
        made = [name for name in files if not name.startswith(".") and not _FILE.fullmatch(name)]
        theirs = [name for name in made if not (top and name == MANIFEST)]
        theirs += [name for name in folders if name.startswith(".")]
        if top:
            ours = [name for name in folders if name in _OURS or PREFIX.fullmatch(name)]
            theirs += set(folders) - set(ours)
        if theirs:
            return os.path.normpath(os.path.join(below, min(theirs)))
    return None


def _raised(why: OSError) -> None:
    raise why


def _unknown(folder: Path) -> str | None:
    """A name in a folder that is neither empty nor known as a sample, be it a damaged one.

    Other programs write Zarr too, with arrays of the same names.
    """
    names = os.listdir(folder)
    if not names or MANIFEST in names:
        return None
    top = folder / METADATA
    if top.is_file() and _MARK in top.read_bytes():
        return None
    return min(names)


def _scratch(path: Path) -> tuple[Path, int]:
    """A fresh directory beside the place, and the lock that says its writer lives."""
    while True:
        work = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        work.mkdir()
        lock = _locked(work, wait=True)
        # Between the two lines another writer may have taken it for a leftover.
        if lock is not None and work.is_dir():
            return work, lock
        if lock is not None:
            os.close(lock)


def _locked(folder: Path, *, wait: bool) -> int | None:
    """An open directory that nobody else holds locked; None if somebody does."""
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(at, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if wait:
            return at  # the file system has no locks: then no leftover is ever removed there
        os.close(at)
        return None
    return at


def _remove_leftovers(path: Path) -> None:
    """Remove what killed writers of this place left; a lock tells that one still lives."""
    name = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{8}")
    for entry in os.scandir(path.parent):
        if not name.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        folder = Path(entry.path)
        lock = _locked(folder, wait=False)
        if lock is None:
            continue
        try:
            with suppress(OSError):
                if _foreign(folder) is None:
                    shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _exchange(work: Path, path: Path) -> None:
    """Put `work` in its place; what was there is in `work` afterwards, or nowhere.

    Raises:
        OSError: the system refuses; what was there is there.
    """
    while True:
        aside = None
        try:
            if _swap(work, path):
                return
            aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            os.rename(path, aside)
        except FileNotFoundError:
            if not work.is_dir():
                raise
            aside = None
        try:
            os.rename(work, path)
        except OSError as why:
            if aside is not None:
                # Refused where another writer was first: its sample is the newer one.
                with suppress(OSError):
                    os.rename(aside, path)
                if path.is_dir():
                    shutil.rmtree(aside, ignore_errors=True)
            if why.errno in (errno.ENOTEMPTY, errno.EEXIST):
                continue
            raise
        if aside is not None:
            with suppress(FileNotFoundError):  # another writer took it for a leftover
                os.rename(aside, work)
        return


def _swap(work: Path, path: Path) -> bool:
    """Exchange two names in one step; False where the system cannot.

    Raises:
        FileNotFoundError: one of them does not exist.
        OSError: the system refuses.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = (os.fsencode(work), os.fsencode(path))
    at = _AT_WORKING_DIRECTORY
    if renameat2(at, names[0], at, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in LACKING:
        return False
    raise OSError(number, os.strerror(number), str(path))
