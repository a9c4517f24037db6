"""Whether something has room in memory, asked before it is read or decompressed.

Source: Linux, proc(5); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from meshkit.errors import ReadError
from meshkit.places import Place

_WORTH_ASKING: Final = 1 << 26  # asking takes as long as reading some hundred kilobytes
_SYSTEM: Final = Path("/")


def need_room(path: Place, size: int, *, place: str | None = None, hint: str | None = None) -> None:
    """Refuse more bytes than there are free, rather than be killed for them.

    A kernel that hands out memory which it does not have says nothing until it is written to, and
    a container's memory is not seen by asking for some. Small sizes are not asked about.

    Args:
        path: the file or sample that wants them.
        size: how many bytes.
        place: what in it wants them.
        hint: what the user can do.

    Raises:
        ReadError: there are not as many.
    """
    if size <= _WORTH_ASKING:
        return
    free = free_memory(_SYSTEM)
    if size > free:
        said = f"needs {size / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free"
        raise ReadError(path, said, place=place, hint=hint)


def free_memory(system: Path = _SYSTEM) -> int:
    """Bytes that this process can have yet: the least that anybody who limits them leaves.

    Those are the machine, the control groups (versions 1 and 2) that the process is in and all
    above them, which is what limits a container, and the process's own limits of its address space
    and its data. Pages that merely keep what files hold count as free. Who says nothing that can
    be understood limits nothing.

    Args:
        system: where /proc and /sys are.
    """
    rooms: list[int | None] = [_machine(system), *_processes_own(system)]
    for group in _GROUPS:
        rooms.extend(_left(folder, group) for folder in _folders(system, group))
    return max(0, min(room for room in rooms if room is not None))


def _machine(system: Path) -> int:
    """What all processes together can have yet; all the memory where no one says."""
    try:
        said = _numbers(system / "proc/meminfo")
        return (said["MemAvailable:"] + said.get("SwapFree:", 0)) << 10
    except (OSError, ValueError, KeyError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _processes_own(system: Path) -> Iterator[int]:
    """What the limits of this process leave."""
    try:
        pages = [int(word) for word in (system / "proc/self/statm").read_text("ascii").split()]
        limits = (system / "proc/self/limits").read_text("ascii").splitlines()
        used = {"Max address space": pages[0], "Max data size": pages[5]}
    except (OSError, ValueError, IndexError):
        return
    for line in limits:
        words = line.rsplit(maxsplit=3)  # what, soft limit, hard limit, unit
        if len(words) == 4 and words[0] in used and words[1].isdecimal():
            yield int(words[1]) - used[words[0]] * os.sysconf("SC_PAGE_SIZE")


class _Groups(NamedTuple):
    """How one version of control groups names things."""

    controller: str  # in /proc/self/cgroup
    mounts: tuple[str, ...]
    limit: str
    used: str
    cached: tuple[str, ...]  # in memory.stat: what is given back when others want it


_GROUPS: Final = (
    _Groups(
        "",
        ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
        "memory.max",
        "memory.current",
        ("inactive_file", "active_file"),
    ),
    _Groups(
        "memory",
        ("sys/fs/cgroup/memory",),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)


def _folders(system: Path, group: _Groups) -> Iterator[Path]:
    """The control group that this process is in, and all above it.

    A container may see its own group as the root while it is told the group's whole name: the
    folders that are not there are passed over.
    """
    try:
        lines = (system / "proc/self/cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if group.controller not in controllers.split(","):
            continue
        inner = PurePosixPath(name.lstrip("/"))
        for mount in group.mounts:
            yield from (system / mount / above for above in (inner, *inner.parents))


def _left(folder: Path, group: _Groups) -> int | None:
    """What one control group leaves; None where it has no limit."""
    try:
        limit = (folder / group.limit).read_text("ascii").strip()
        if not limit.isdecimal():  # "max"
            return None
        used = int((folder / group.used).read_text("ascii"))
    except (OSError, ValueError):
        return None
    try:
        said = _numbers(folder / "memory.stat")
    except (OSError, ValueError):
        said = {}
    return int(limit) - used + sum(said.get(name, 0) for name in group.cached)


def _numbers(file: Path) -> dict[str, int]:
    """Lines of a name and a number, and perhaps a unit."""
    lines = (line.split() for line in file.read_text("ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
