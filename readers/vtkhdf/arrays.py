"""The arrays of points, of cells and of the whole, at one time.

meshkit's own files have a table of what stands under which name at each time: VTKHDF itself
cannot say that an array is absent at some times, has no names with a "/" and no texts at points
or cells.

Source: VTK File Formats, VTKHDF: attribute data, temporal data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.vtk import VtkArray, VtkData, json_of
from meshkit.readers.vtk.arrays import ATTRIBUTES
from meshkit.readers.vtk.names import NAMES
from meshkit.readers.vtkhdf.hdf5 import Group
from meshkit.readers.vtkhdf.parts import Cache
from meshkit.readers.vtkhdf.rows import counts
from meshkit.readers.vtkhdf.steps import Step
from meshkit.readers.vtkhdf.stored import Stored
from meshkit.report import Ledger

Numbers = NDArray[Any]

TABLE: Final = "meshkit_vtkhdf"
"""The field array that says, as JSON, which datasets are there at a time: for each home a list of
[dataset, name, dataset of the words that its codes stand for, or null]."""

MARK: Final = "meshkit"
"""The attribute of datasets that the table speaks of; others were added by someone else."""

GROUPS: Final = {
    "point_data": "PointData",
    "cell_data": "CellData",
    "global_data": "FieldData",
}

POLY_GROUPS: Final = ("Vertices", "Lines", "Polygons", "Strips")
"""The groups of poly data's cells, in the order of its cell data."""

_ROLES: Final = {name.lower(): role for role, name in ATTRIBUTES.items()}


@dataclass(frozen=True)
class _Entry:
    """An array of this time: its dataset, its name, and the words its codes stand for."""

    dataset: str
    name: str
    words: str | None = None


def add_arrays(
    step: Step,
    parts: list[VtkData],
    starts: dict[str, int],
    lattice: bool,
    cache: Cache,
    ledger: Ledger,
) -> None:
    """Put the arrays of this time into the parts; those of the whole into the first.

    Args:
        step: which time of which data set.
        parts: points and cells of the time, to be completed.
        starts: where points and cells begin in their arrays, where the file says nothing.
        lattice: arrays have an axis for each of the lattice's, and one for time.
        cache: takes what all times have, so that it is looked up once.
        ledger: takes what is no array.

    Raises:
        ReadError: an array is damaged or has another number of rows.
    """
    table = _table(step)
    _note_absent(step, table, cache, ledger)
    for home, group_name in GROUPS.items():
        group = step.group.group(group_name)
        if group is None:
            continue
        roles = _active(group)
        for entry, stored in _entries(group, home, table, ledger):
            if table is None and not _at_all_times(step, stored, home, lattice):
                reason = "has values for some times, and the file does not say for which"
                ledger.dropped("field", f"{home}/{entry.name}", len(stored), reason)
                continue
            if home == "global_data":
                array = _field_array(step, stored)
                if array is None and table is not None and entry in table[home]:
                    array = VtkArray([])
                if array is not None:
                    parts[0].field_arrays[entry.name] = array
                continue
            counts = [len(p.points if home == "point_data" else p.types) for p in parts]
            values = _values(step, stored, group_name, sum(counts), starts[home], lattice)
            if entry.words is not None:
                values = _texts(step, stored, values, entry.words)
            said = stored.attribute("Attribute")
            role = _ROLES.get(str(said).lower()) if said is not None else roles.get(entry.dataset)
            at = 0
            for part, count in zip(parts, counts, strict=True):
                arrays = part.point_arrays if home == "point_data" else part.cell_arrays
                arrays[entry.name] = VtkArray(values[at : at + count], role)
                at += count


def _table(step: Step) -> dict[str, list[_Entry]] | None:
    """What meshkit wrote down of this time; None in the files of others."""
    fields = step.group.group(GROUPS["global_data"])
    stored = None if fields is None else fields.find(TABLE)
    if stored is None:
        return None
    array = _field_array(step, stored)
    try:
        said = json_of(array or VtkArray([]))
        return {
            home: [
                _Entry(str(dataset), str(name), None if words is None else str(words))
                for dataset, name, words in said[home]
            ]
            for home in GROUPS
        }
    except (KeyError, TypeError, ValueError) as why:
        raise stored.error(f"meshkit's own table is damaged: {why}") from None


def _note_absent(
    step: Step, table: dict[str, list[_Entry]] | None, cache: Cache, ledger: Ledger
) -> None:
    """Say which arrays of points and cells other times have."""
    if table is None or step.index is None:
        return
    if step.group.name not in cache.names:
        cache.names[step.group.name] = _names_at_any_time(step)
    for name in sorted(cache.names[step.group.name] - _names(step, table)):
        reason = "absent at this time, other times have it"
        ledger.dropped("field", name, 0, reason, loss=False)


def _names_at_any_time(step: Step) -> frozenset[str]:
    """The arrays that any time has; times that share a table are looked at once."""
    starts = step.everywhere(f"FieldDataOffsets/{TABLE}")
    times = [] if starts is None else np.unique(starts, return_index=True)[1].tolist()
    found: frozenset[str] = frozenset()
    for time in times:
        other = replace(step, index=time)
        found |= _names(other, _table(other) or {})
    return found


def _names(step: Step, table: dict[str, list[_Entry]]) -> frozenset[str]:
    """The arrays of a time as reports name them: "point_data/p"."""
    fields = step.group.group(GROUPS["global_data"])
    stored = None if fields is None else fields.find(NAMES)
    array = None if stored is None else _field_array(step, stored)
    try:
        said = {} if array is None else json_of(array)
        return frozenset(
            f"{home}/{said.get(home, {}).get(entry.dataset, {}).get('name', entry.name)}"
            for home in ("point_data", "cell_data")
            for entry in table.get(home, ())
        )
    except (AttributeError, TypeError, ValueError):  # `decoded` counts it
        return frozenset()


def _at_all_times(step: Step, stored: Stored, home: str, lattice: bool) -> bool:
    """Whether a dataset has rows for every time.

    VTK's writer appends rows, and where they begin, at times that have the array, and nothing at
    others: then nobody can tell which rows are of which time.
    """
    if step.index is None:
        return True
    name = stored.name.rpartition("/")[2]
    starts = step.everywhere(f"{GROUPS[home]}Offsets/{name}")
    if starts is None:
        return True
    if len(starts) < step.count:
        return False
    last = int(starts.argmax())
    rows = 1 if lattice and home != "global_data" else _rows(replace(step, index=last), home, name)
    return int(starts[last]) + rows <= len(stored)


def _rows(step: Step, home: str, name: str) -> int:
    """How many rows an array has at a time."""
    group = step.group
    if home == "global_data":
        size = step.said(f"FieldDataSizes/{name}", columns=2)
        return 1 if size is None else size[1]
    parts = step.parts(len(group.need("NumberOfPoints")))
    if home == "point_data":
        return sum(counts(group, "NumberOfPoints", parts))
    holders = [group] if group.has("NumberOfCells") else [group.group(x) for x in POLY_GROUPS]
    return sum(sum(counts(x, "NumberOfCells", parts)) for x in holders if x is not None)


def _entries(
    group: Group, home: str, table: dict[str, list[_Entry]] | None, ledger: Ledger
) -> Iterator[tuple[_Entry, Stored]]:
    """The arrays of this time in one home, and their datasets."""
    names = group.names()
    known: set[str] = {TABLE}
    if table is not None:
        known |= {entry.dataset for entry in table[home]}
        known |= {e.words for entries in table.values() for e in entries if e.words is not None}
        for entry in table[home]:
            # VTK's writer exchanges dots when it writes the file anew.
            for name in (entry.dataset, entry.dataset.replace(".", "_")):
                stored = group.find(name)
                if stored is not None:
                    known.add(name)
                    yield entry, stored
                    break
    for name in names:
        if name in known:
            continue
        found = group.member(name)
        if not isinstance(found, Stored) or not (found.is_numbers or found.texts):
            ledger.dropped("field", f"{home}/{name}", 1, "holds neither numbers nor texts")
        elif table is None or found.attribute(MARK) is None:
            yield _Entry(name, name), found


def _active(group: Group) -> dict[str, str]:
    """Roles as the group declares them: the way of files before VTKHDF 2.6."""
    found: dict[str, str] = {}
    for role, name in ATTRIBUTES.items():
        value = group.attribute(name)
        if isinstance(value, str):
            found.setdefault(value, role)
    return found


def _values(
    step: Step, stored: Stored, group_name: str, rows: int, start: int, lattice: bool
) -> Any:
    """The rows of all parts: numbers [n, c], or texts."""
    said = step.said(f"{group_name}Offsets/{stored.name.rpartition('/')[2]}")
    if lattice:
        return _lattice_values(step, stored, rows, said)
    if step.index is None and len(stored) != rows:
        raise stored.error(f"holds {len(stored)} rows", expected=f"{rows}")
    begin = said[0] if said else start
    if stored.texts:
        return _one_each(stored, stored.read_texts(begin, rows), rows)
    return _flat(stored.read(begin, rows), rows)


def _lattice_values(step: Step, stored: Stored, rows: int, said: tuple[int, ...] | None) -> Any:
    timed = step.index is not None
    inner = stored.shape[1:] if timed else stored.shape
    total = math.prod(inner)
    if total != rows and (not inner or math.prod(inner[:-1]) != rows):
        raise stored.error(
            f"has the shape {list(stored.shape)}",
            expected=f"{rows} values or rows{' at each time' if timed else ''}",
        )
    begin, count = (said[0] if said else step.index or 0, 1) if timed else (0, None)
    if stored.texts:
        return _one_each(stored, stored.read_texts(begin, count), rows)
    return _flat(stored.read(begin, count).reshape(rows, total // max(rows, 1) or 1), rows)


def _flat(values: Numbers, rows: int) -> Numbers:
    """[n, c], whatever the rank."""
    return values.reshape(rows, math.prod(values.shape[1:]))


def _one_each(stored: Stored, texts: list[str], rows: int) -> list[str]:
    if len(texts) != rows:
        raise stored.error(f"holds {len(texts)} texts", expected=f"{rows}, one a row")
    return texts


def _field_array(step: Step, stored: Stored) -> VtkArray | None:
    """An array of the whole at this time; None where it is absent then."""
    name = stored.name.rpartition("/")[2]
    begin, count, width = 0, len(stored), None
    if step.index is not None:
        size = step.said(f"FieldDataSizes/{name}", columns=2)
        offset = step.said(f"FieldDataOffsets/{name}")
        if size == (0, 0):
            return None
        if size is not None or offset is not None:
            begin = offset[0] if offset else 0
            width, count = size or (None, 1)
        elif len(stored) == step.count:
            begin, count = step.index, 1
    if stored.texts:
        return VtkArray(stored.read_texts(begin, count))
    values = _flat(stored.read(begin, count), count)
    return VtkArray(values if width is None else values[:, : max(width, 1)])


def _texts(step: Step, stored: Stored, codes: Any, words: str) -> list[str]:
    """The texts that codes stand for."""
    fields = step.group.group(GROUPS["global_data"])
    held = None if fields is None else fields.find(words)
    array = None if held is None else _field_array(step, held)
    known = array.values if array is not None and isinstance(array.values, list) else []
    flat = np.asarray(codes).reshape(-1)
    if flat.dtype.kind not in "iu" or (
        len(flat) and not 0 <= flat.min() <= flat.max() < len(known)
    ):
        raise ReadError(
            stored.path,
            f"its codes have no texts in {words!r}",
            place=stored.place,
            expected=f"0 to {len(known) - 1}",
        )
    return [known[code] for code in flat.tolist()]
