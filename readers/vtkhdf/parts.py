"""Points and cells of one time of a data set, and the last ones read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from meshkit.readers.vtk import VtkData
from meshkit.readers.vtkhdf.hdf5 import Group


@dataclass
class Parts:
    """The points and cells of one time, each part apart, without arrays."""

    key: tuple[Any, ...]  # what the file says of where they stand
    parts: list[VtkData]
    starts: dict[str, int]  # where points and cells begin in arrays of which nothing is said
    lattice: bool = False


@dataclass
class Cache:
    """The points and cells that were read last, by data set: at most times they stay."""

    held: dict[str, Parts] = field(default_factory=dict)
    names: dict[str, frozenset[str]] = field(default_factory=dict)  # of arrays, at any time

    def get(self, group: Group, key: tuple[Any, ...], make: Callable[[], Parts]) -> Parts:
        """Those of a group, read anew if they stand elsewhere now."""
        found = self.held.get(group.name)
        if found is None or found.key != key:
            found = self.held[group.name] = make()
        return found
