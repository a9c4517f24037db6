"""The elements of an OBJ file: vertices, lines and faces, and what their corners refer to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.celltypes import POLYGON, cell_type
from meshkit.errors import ReadError
from meshkit.readers.number_lines import (
    numbers,
    word_starts,
    words_per_line,
)
from meshkit.readers.obj.lines import Ints, Lines, shown

VERTEX, POLY_VERTEX, LINE, POLY_LINE, TRIANGLE, QUAD = (
    cell_type(name).number
    for name in ("vertex", "poly_vertex", "line", "poly_line", "triangle", "quad")
)


@dataclass(frozen=True)
class Elements:
    """The elements of one keyword: corners [n, 3] hold ids of points, textures, normals or -1."""

    word: str
    lines: Ints  # [n_elements]
    sizes: Ints  # [n_elements]
    corners: Ints  # [sum of sizes, 3]


_SLASHES: Final = {"f": 2, "l": 1, "p": 0}


def elements_of(lines: Lines, word: str, counts: Sequence[int]) -> Elements:
    """The elements of one keyword; `counts` says how many points, textures and normals there are.

    Raises:
        ReadError: a line holds something else, or an id is out of range.
    """
    text, which = lines.of(word)
    if not len(which):
        return Elements(word, which, which, np.zeros((0, 3), np.int64))
    wanted = f"ids of points after {word!r}"
    if b"/" in text:
        text = re.sub(rb"/+(?=\s)", lambda m: b" " * len(m.group()), text)
    sizes = words_per_line(text)
    fewest = 2 if word == "l" else 1
    slashes = np.zeros(int(sizes.sum()), np.int64)
    if b"/" in text:
        text = text.replace(b"//", b"/0/")
        slashes = _slashes_per_word(text)
    flat = numbers(text.replace(b"/", b" "), np.int64)
    sound = (sizes >= fewest).all() and slashes.max(initial=0) <= _SLASHES[word]
    if flat is None or len(flat) != (slashes + 1).sum() or not sound:
        _refuse(lines, word, which, fewest, wanted)
    at = np.cumsum(slashes + 1) - slashes - 1
    ids = np.zeros((len(slashes), 3), np.int64)
    ids[:, 0] = flat[at]
    for k in (1, 2):
        has = slashes >= k
        ids[has, k] = flat[at[has] + k]
    line = np.repeat(which, sizes)
    for k, (name, referred) in enumerate((("point", "v"), ("texture", "vt"), ("normal", "vn"))):
        column = ids[:, k]
        back = column < 0
        if back.any():
            column[back] += lines.before(referred, line[back]) + 1
            # what reaches back too far must not look like "none" or like another
            column[back & (column <= 0)] = np.iinfo(np.int64).max
        wrong = (column > counts[k]) | ((column == 0) & (k == 0))
        if wrong.any():
            bad = int(np.argmax(wrong))
            lines.fail(
                int(line[bad]),
                f"{name} id {_said(lines, word, which, bad, sizes, k)}",
                f"1 to {counts[k]}, or as far back",
            )
    return Elements(word, which, sizes, ids - 1)


def _said(lines: Lines, word: str, which: Ints, token: int, sizes: Ints, k: int) -> str:
    """The id as the file has it."""
    ends = np.cumsum(sizes)
    row = int(np.searchsorted(ends, token, side="right"))
    text = lines.of(word)[0].split(b"\n")[row].split()[token - int(ends[row] - sizes[row])]
    return text.split(b"/")[k].decode("ascii", "replace")


def _slashes_per_word(text: bytes) -> Ints:
    begins = word_starts(text)
    slash = np.frombuffer(text, np.uint8) == ord("/")
    word = np.cumsum(begins) - 1
    return np.bincount(word[slash], minlength=int(begins.sum())).astype(np.int64)


_CORNER: Final = re.compile(rb"-?\d{1,18}(?:/-?\d{0,18}){0,2}")


def _refuse(lines: Lines, word: str, which: Ints, fewest: int, wanted: str) -> NoReturn:
    text, _ = lines.of(word)
    most = _SLASHES[word]
    for line, row in zip(which, text.split(b"\n"), strict=False):
        tokens = row.split()
        for token in tokens:
            if _CORNER.fullmatch(token) is None or token.rstrip(b"/").count(b"/") > most:
                lines.fail(line, f"found {shown(token)}", wanted)
        if len(tokens) < fewest:
            lines.fail(line, f"{len(tokens)} ids", f"at least {fewest} {wanted}")
    raise ReadError(lines.path, f"ids after {word!r} cannot be told apart")


def joined(drawn: Sequence[Elements], order: Ints, n_points: int) -> tuple[Ints, Cells]:
    """Corners and cells of all keywords in the order of the file."""
    sizes = np.concatenate([e.sizes for e in drawn])
    types = np.concatenate([_types(e) for e in drawn])
    corners = np.concatenate([e.corners for e in drawn])
    starts = np.cumsum(sizes) - sizes
    sizes, starts = sizes[order], starts[order]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)
    corners = corners[places]
    small = max(n_points, len(corners)) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    cells = Cells(
        torch.from_numpy(types[order]),
        torch.from_numpy(ends.astype(dtype)),
        torch.from_numpy(corners[:, 0].astype(dtype)),
    )
    return corners, cells


def _types(elements: Elements) -> NDArray[np.uint8]:
    by_size = {
        "f": {1: VERTEX, 2: LINE, 3: TRIANGLE, 4: QUAD},
        "l": {2: LINE},
        "p": {1: VERTEX},
    }[elements.word]
    more = {"f": POLYGON, "l": POLY_LINE, "p": POLY_VERTEX}[elements.word]
    types = np.full(len(elements.sizes), more, np.uint8)
    for size, number in by_size.items():
        types[elements.sizes == size] = number
    return types


def odd_faces(faces: Elements) -> dict[str, int]:
    """How many faces of one and of two points there are, by what they become."""
    found = {"vertex": int((faces.sizes == 1).sum()), "line": int((faces.sizes == 2).sum())}
    return {name: n for name, n in found.items() if n}
