"""The entities of the geometry, and the names of physical groups: what cells are grouped by."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from meshkit.readers.gmsh.numbers import Numbers, numbers_of
from meshkit.readers.gmsh.sections import MshFile
from meshkit.readers.texts import text_of

Key = tuple[int, int]
"""Dimension and tag."""

KINDS: Final = ("point", "curve", "surface", "volume")

_NAME: Final = re.compile(rb'\s*(\d{1,9})\s+(-?\d{1,18})\s+"(.*)"\s*', re.DOTALL)
_NAME_ONLY: Final = re.compile(rb'\s*()(-?\d{1,18})\s+"(.*)"\s*', re.DOTALL)
ANY_DIMENSION: Final = -1
"""Stands for the dimension of a name of version 2.0, which says none."""


@dataclass(frozen=True)
class Entity:
    """A point, curve, surface or volume of the geometry, or a part of one in a partition.

    `bounds` are least and greatest x, y, z (of a point its place); the sign of a physical tag
    says whether the group turns the entity round, that of a tag of `boundary` how it bounds.
    """

    dim: int
    tag: int
    bounds: tuple[float, ...] = ()
    physical: tuple[int, ...] = ()
    boundary: tuple[int, ...] = ()
    parent: Key | None = None
    partitions: tuple[int, ...] = ()

    @property
    def key(self) -> Key:
        """Dimension and tag."""
        return (self.dim, self.tag)

    def to_json(self) -> dict[str, Any]:
        """What is known, as JSON can say it."""
        row: dict[str, Any] = {"dimension": self.dim, "tag": self.tag}
        for part in ("bounds", "physical", "boundary", "parent", "partitions"):
            value = getattr(self, part)
            if value:
                row[part] = list(value)
        return row

    @staticmethod
    def from_json(row: dict[str, Any]) -> Entity:
        """The inverse of `to_json`."""
        parts = {
            part: tuple(row[part])
            for part in ("bounds", "physical", "boundary", "parent", "partitions")
            if part in row
        }
        return Entity(row["dimension"], row["tag"], **parts)


def physical_names(msh: MshFile) -> dict[Key, str]:
    """The names of physical groups, in the order of the file.

    A group whose name is empty has none, as in gmsh.

    Raises:
        ReadError: a line says no group, or their number is not what the first line says.
    """
    section = msh.only("PhysicalNames")
    if section is None:
        return {}
    out: dict[Key, str] = {}
    at = section.start
    lines = msh.text(section).split(b"\n")
    count: int | None = None
    for line in lines:
        found = _NAME.fullmatch(line)
        if found is None and msh.version <= (2, 0):
            found = _NAME_ONLY.fullmatch(line)
        if count is None and line.strip().isdigit():
            count = int(line)
        elif found is not None and count is not None:
            key = (int(found[1] or ANY_DIMENSION), int(found[2]))
            if key[0] > 3:
                raise msh.error(f"a group of dimension {key[0]}", at=at, expected="0 to 3")
            out[key] = text_of(found[3])
        elif line.strip():
            shown = repr(text_of(line.strip()[:60]))
            expected = 'a dimension, a tag and a "name"' if count is not None else "a count"
            raise msh.error(f"found {shown}", at=at, expected=expected)
        at += len(line) + 1
    if count != len(out):
        raise msh.error(
            f"{count} physical names are declared, {len(out)} groups have one",
            at=section.start,
            expected="true counts",
        )
    return {key: name for key, name in out.items() if name}


def entities(msh: MshFile) -> tuple[dict[Key, Entity], dict[Key, int]]:
    """The entities by dimension and tag; and of ghost entities the partition they are seen from.

    Raises:
        ReadError: counts contradict the file.
    """
    out: dict[Key, Entity] = {}
    section = msh.only("Entities")
    if section is not None:
        _entities(numbers_of(msh, section), msh, out, parts=False)
    ghosts: dict[Key, int] = {}
    section = msh.only("PartitionedEntities")
    if section is not None:
        numbers = numbers_of(msh, section)
        _count, n = numbers.sizes(2, "the counts of partitions and ghost entities").tolist()
        for tag, partition in numbers.ints(2 * n, "ghost entities").reshape(n, 2).tolist():
            ghosts[-1, tag] = partition  # the dimension follows from the elements
        _entities(numbers, msh, out, parts=True)
    return out, ghosts


def _entities(numbers: Numbers, msh: MshFile, out: dict[Key, Entity], *, parts: bool) -> None:
    counts = numbers.sizes(4, "the counts of entities").tolist()
    for dim, count in enumerate(counts):
        what = f"{KINDS[dim]}s of the geometry"
        for _ in range(count):
            (tag,) = numbers.ints(1, what).tolist()
            entity = Entity(dim, tag)
            if parts:
                parent = tuple(numbers.ints(2, what).tolist())
                belongs = _listed(numbers, what)
                entity = replace(entity, parent=(parent[0], parent[1]), partitions=belongs)
            # Version 4.0 gives points a box too.
            wide = 3 if dim == 0 and msh.version >= (4, 1) else 6
            bounds = tuple(numbers.doubles(wide, what).tolist())
            physical = _listed(numbers, what)
            boundary = _listed(numbers, what) if dim else ()
            entity = replace(entity, bounds=bounds, physical=physical, boundary=boundary)
            out[entity.key] = entity
    numbers.finish()


def _listed(numbers: Numbers, what: str) -> tuple[int, ...]:
    (count,) = numbers.sizes(1, what).tolist()
    return tuple(numbers.ints(count, what).tolist())
