"""Values of views as fields of the mesh: a row a point or cell, NaN where the file says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meshkit.info import FieldInfo, FieldKey
from meshkit.readers.gmsh.cells import Elements
from meshkit.readers.gmsh.elements import element_types
from meshkit.readers.gmsh.numbers import Floats, Ints
from meshkit.readers.gmsh.sections import MshFile
from meshkit.readers.gmsh.tags import Tags
from meshkit.readers.gmsh.views import CORNER, NODE, View, corners_of, rows_of
from meshkit.readers.padded_rows import MOST_PADDING, fits_padded
from meshkit.report import Ledger


@dataclass
class Fields:
    """Fields of one time by home and name, and what is known of them."""

    values: dict[FieldKey, Floats]
    known: dict[FieldKey, FieldInfo]


def fields_of(
    msh: MshFile,
    views: Sequence[View],
    nodes: Tags,
    elements: Elements,
    taken: set[FieldKey],
    ledger: Ledger,
) -> Fields:
    """The fields that the views of one time are.

    Views of one kind and name that are parts of one field (partitions) are put together; others
    of one name are told apart by a number.

    Args:
        taken: fields that the mesh has already.

    Raises:
        ReadError: a view is not what it declares.
    """
    out = Fields({}, {})
    for kind, name in dict.fromkeys((view.kind, view.name) for view in views):
        mine = [view for view in views if (view.kind, view.name) == (kind, name)]
        for parts in _together(mine):
            home = "point_data" if kind == NODE else "cell_data"
            key = _free((home, name), taken | out.values.keys(), ledger)
            values = _values(msh, parts, key, nodes, elements, ledger)
            if values is None:
                continue
            out.values[key] = values
            ledger.kept("field", "/".join(key), len(values))
            steps = {"time_step": parts[0].step} if parts[0].step else {}
            role = CORNER if kind == CORNER else None
            if role or steps:
                out.known[key] = FieldInfo(kind=role, attributes=steps)
    return out


def _together(views: Sequence[View]) -> list[list[View]]:
    """Views of one name: the parts of a field, each in another partition, or several fields."""
    partitions = [view.partition for view in views]
    if len({view.components for view in views}) == 1 and len(set(partitions)) == len(views):
        return [list(views)]
    return [[view] for view in views]


def _free(key: FieldKey, taken: set[FieldKey], ledger: Ledger) -> FieldKey:
    home, name = key
    n = 1
    while (home, name) in taken:
        n += 1
        name = f"{key[1]} ({n})"
    if n > 1:
        reason = f"called {name!r}: another field is called {key[1]!r}"
        ledger.converted("field", f"{home}/{name}", 1, reason)
    return (home, name)


def _values(
    msh: MshFile,
    parts: Sequence[View],
    key: FieldKey,
    nodes: Tags,
    elements: Elements,
    ledger: Ledger,
) -> Floats | None:
    if parts[0].kind == CORNER:
        return _corner_values(msh, parts, key, elements, ledger)
    index = nodes if parts[0].kind == NODE else elements.tags
    count = len(nodes.tags) if parts[0].kind == NODE else len(elements.types)
    table = np.full((count, parts[0].components), np.nan)
    known = np.zeros(count, np.bool_)
    for view in parts:
        tags, values = rows_of(msh, view)
        at = index.of(tags)
        _count_strangers(at, tags, key, ledger)
        table[at[at >= 0]] = values[at >= 0]
        known[at[at >= 0]] = True
    _count_missing(known, key, ledger)
    return table[:, 0] if table.shape[1] == 1 else table


def _count_missing(
    known: np.ndarray[tuple[int], np.dtype[np.bool_]], key: FieldKey, ledger: Ledger
) -> None:
    missing = int(len(known) - np.count_nonzero(known))
    if missing:
        what = "points" if key[0] == "point_data" else "cells"
        ledger.converted("field", "/".join(key), missing, f"{what} without a value are NaN")


def _count_strangers(at: Ints, tags: Ints, key: FieldKey, ledger: Ledger) -> None:
    strangers = tags[at < 0]
    if len(strangers):
        what = "node" if key[0] == "point_data" else "element"
        reason = f"of {what}s that the mesh does not have: {what} {strangers[0]}"
        ledger.dropped("field", "/".join(key), len(strangers), reason)


def _corner_values(
    msh: MshFile, parts: Sequence[View], key: FieldKey, elements: Elements, ledger: Ledger
) -> Floats | None:
    """A row of values a cell, one a point of it in the cell's order: [n_cells, widest, ...]."""
    found = [corners_of(msh, view) for view in parts]
    widest = int(elements.sizes.max(initial=0))
    n, c = len(elements.types), parts[0].components
    if not fits_padded(n, widest, sum(len(values) for _, _, values in found), 8 * c):
        reason = (
            f"as a table of {widest} points a cell it takes over {MOST_PADDING} times the memory"
        )
        ledger.dropped("field", "/".join(key), n, reason)
        return None
    table = np.full((n, widest, c), np.nan)
    known = np.zeros(n, np.bool_)
    unfit = 0
    for tags, counts, values in found:
        cells = elements.tags.of(tags)
        _count_strangers(cells, tags, key, ledger)
        begin = np.cumsum(counts) - counts
        for number in np.unique(elements.numbers[cells[cells >= 0]]).tolist():
            kind = element_types()[number]
            mine = np.flatnonzero((cells >= 0) & (elements.numbers[cells] == number))
            fits = mine[counts[mine] == kind.size]
            unfit += len(mine) - len(fits)
            places = begin[fits][:, None] + np.array(kind.order)
            table[cells[fits], : len(kind.order)] = values[places]
            known[cells[fits]] = True
            if len(fits) and not kind.whole:
                reason = f"values at inner points of elements of type {number}"
                ledger.dropped("field", "/".join(key), len(fits), reason)
    if unfit:
        reason = "elements with another number of nodes than the values say"
        ledger.dropped("field", "/".join(key), unfit, reason)
    _count_missing(known, key, ledger)
    return table[:, :, 0] if c == 1 else table
