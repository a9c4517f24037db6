"""Whether numbers have room in memory, asked before they are decompressed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from meshkit.errors import ReadError

_WORTH_ASKING: Final = 1 << 30
_MEMORY: Final = Path("/proc/meminfo")


def need_room(name: str, size: int) -> None:
    """Refuse more bytes than the machine has free, rather than be killed for them.

    A kernel that hands out memory which it does not have says nothing until it is written to.

    Args:
        name: the sample that wants them.
        size: how many bytes.

    Raises:
        ReadError: there are not as many.
    """
    if size <= _WORTH_ASKING:
        return
    free = _free()
    if free is not None and size > free:
        said = f"needs {size / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free"
        raise ReadError(name, said, hint="read some fields, rows or times of it (open_store)")


def _free() -> int | None:
    """Bytes that can be had without taking them from others; None where nobody says."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
        known = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        return known["MemAvailable"] + known.get("SwapFree", 0)
    except (OSError, ValueError, IndexError, KeyError):
        return None
