"""Waiting until files and their names are on the disk."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

_WAITS: Final = 8
LACKING: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
"""What a file system or a kernel says that cannot do what it is asked."""


def synced(folder: Path) -> None:
    """Wait until a directory, all directories in it and their files are on the disk."""
    files, folders = [], []
    for at, _, names in os.walk(folder):
        folders.append(Path(at))
        files += [Path(at, name) for name in names]
    # Side by side: a disk answers many waits at once.
    with ThreadPoolExecutor(_WAITS) as pool:
        for some in (files, folders):
            for _ in pool.map(sync, some):
                pass


def sync_file(path: Path) -> None:
    """Wait until a file and its name are on the disk."""
    sync(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a directory's names, are on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError as why:
        # A file system that never waits for directories cannot be asked to.
        if why.errno not in LACKING or not stat.S_ISDIR(os.fstat(file).st_mode):
            raise
    finally:
        os.close(file)
