"""OBJ files in: the lines by keyword, then all numbers of a keyword at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells
from meshkit.readers.number_lines import (
    is_number,
    numbers,
    words_per_line,
)
from meshkit.readers.obj.corners import corner_fields
from meshkit.readers.obj.elements import elements_of, joined, odd_faces
from meshkit.readers.obj.lines import Ints, Lines, shown
from meshkit.readers.obj.states import refuse_or_count_rest, states_of
from meshkit.report import Ledger


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read points as float64 and cells in the order of the file.

    Ids may be negative (counted back from where they stand), faces may refer to later points, a
    backslash continues a line. Colours after the coordinates become the point field "colors".

    Raises:
        ReadError: a line is not what its keyword promises, or an id is out of range.
    """
    lines = Lines(path, path.read_bytes())
    points, fields = _points(lines, ledger)
    textures, normals = _table(lines, "vt", 1, 3), _table(lines, "vn", 3, 3)
    counts = (len(points), len(textures), len(normals))
    drawn = [elements_of(lines, word, counts) for word in ("f", "l", "p")]
    order = np.argsort(np.concatenate([e.lines for e in drawn]), kind="stable")
    at = np.concatenate([e.lines for e in drawn])[order]
    corners, cells = joined(drawn, order, len(points))
    ledger.kept("points", "", len(points))
    reason = "written as a face of fewer than three points"
    keep_cells(cells, ledger, {k: (n, reason) for k, n in odd_faces(drawn[0]).items()})
    tables = (textures, normals)
    of_points, of_corners = corner_fields(cells, corners, len(points), tables, ledger)
    cell_data, regions, attributes = states_of(lines, at, ledger)
    refuse_or_count_rest(lines, ledger)
    return make_mesh(
        torch.from_numpy(points),
        cells,
        point_data=fields | of_points,
        cell_data=cell_data | of_corners,
        regions=regions,
        info=MeshInfo(attributes=attributes),
    )


def _floats(lines: Lines, word: str, fewest: int, most: int) -> tuple[NDArray[Any], Ints]:
    """All numbers of the lines of a keyword, and how many each has."""
    text, which = lines.of(word)
    counts = words_per_line(text) if text else np.zeros(0, np.int64)
    wanted = f"{fewest} to {most} numbers after {word!r}"
    if fewest == most:
        wanted = f"{most} numbers after {word!r}"
    wrong = np.flatnonzero((counts < fewest) | (counts > most))
    flat = numbers(text)
    if flat is not None and not len(wrong):
        return flat, counts
    for line, row in zip(which, text.split(b"\n"), strict=False):
        tokens = row.split()
        bad = next((t for t in tokens if not is_number(t)), None)
        if bad is not None:
            lines.fail(line, f"found {shown(bad)}", wanted)
        if not fewest <= len(tokens) <= most:
            lines.fail(line, f"{len(tokens)} numbers", wanted)
    raise ReadError(lines.path, f"numbers after {word!r} cannot be told apart")


def _points(lines: Lines, ledger: Ledger) -> tuple[NDArray[Any], dict[str, Any]]:
    flat, counts = _floats(lines, "v", 3, 7)
    at = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    wrong = np.flatnonzero(counts == 5)
    if len(wrong):
        line = int(lines.of("v")[1][wrong[0]])
        lines.fail(line, "5 numbers", "x y z, x y z w, x y z r g b, or x y z w r g b after 'v'")
    points = _columns(flat, at, 3)
    fields: dict[str, Any] = {}
    colored = counts >= 6
    if colored.any():
        colors = np.full((len(counts), 3), np.nan)
        colors[colored] = _columns(flat, (at + counts - 3)[colored], 3)
        fields["colors"] = colors
        ledger.kept("field", "point_data/colors", int(colored.sum()))
        if not colored.all():
            reason = "points without a colour are filled with NaN"
            ledger.converted("field", "point_data/colors", int((~colored).sum()), reason)
    weighted = (counts == 4) | (counts == 7)
    if weighted.any():
        weights = np.ones(len(counts))
        weights[weighted] = flat[(at + 3)[weighted]]
        if (weights == 1).all():
            ledger.dropped("field", "w", len(counts), "all are 1, as without", loss=False)
        else:
            fields["w"] = weights
            ledger.kept("field", "point_data/w", len(counts))
    return points, fields


def _columns(flat: NDArray[Any], at: Ints, k: int) -> NDArray[Any]:
    columns: NDArray[Any] = flat[at[:, None] + np.arange(k)] if len(at) else np.zeros((0, k))
    return columns


def _table(lines: Lines, word: str, fewest: int, most: int) -> NDArray[Any]:
    """The rows of a keyword, padded with zeros to the longest."""
    flat, counts = _floats(lines, word, fewest, most)
    width = int(counts.max(initial=fewest))
    table = np.zeros((len(counts), width))
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[row, place] = flat
    return table
