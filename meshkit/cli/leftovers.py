"""What a writer that was killed left beside its output."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# `meshkit.write` works in a directory that tempfile names so, and moves the result out of it.
_SCRATCH: Final = re.compile(r"\.(.+)\.[a-z0-9_]{8}", re.DOTALL)


def remove_leftovers(outputs: Iterable[Path]) -> None:
    """Remove the temporary directories of these outputs; nobody may be writing them now."""
    names: dict[Path, set[str]] = defaultdict(set)
    for output in outputs:
        names[output.parent].add(output.name)
    for folder, ours in names.items():
        if not folder.is_dir():
            continue
        for entry in list(folder.iterdir()):
            found = _SCRATCH.fullmatch(entry.name)
            if found and found[1] in ours and entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
