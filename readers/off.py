"""OFF: points and polygons, in text or binary, with the prefixes ST, C, N, 4 and n.

Normals, colours and texture coordinates of points become the point fields "normals", "colors"
and "texture", colours of faces the cell field "colors" (or "color_index" into a colour map).
Faces of one and two points become vertices and lines.

Source: The Geomview manual, OFF Files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.celltypes import POLYGON, cell_type
from meshkit.errors import ReadError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells
from meshkit.readers.number_lines import is_number, numbers, without_comments, words_per_line
from meshkit.report import Ledger

Ints = NDArray[np.int64]

_MAGIC: Final = re.compile(
    rb"(?:\s*#[^\n]*\n)*\s*((?:ST|C|N|4|n){0,5})OFF\b(?:[ \t]+(BINARY)\b[^\n]*\n)?"
)
_BY_SIZE: Final = {
    1: cell_type("vertex").number,
    2: cell_type("line").number,
    3: cell_type("triangle").number,
    4: cell_type("quad").number,
}


@dataclass
class _Parts:
    """What a file holds, still in its own words."""

    points: NDArray[Any]  # [n, columns]
    sizes: Ints  # [n_faces]
    ids: Ints  # [sum of sizes]
    color_sizes: Ints  # [n_faces]: 0, 1, 3 or 4
    colors: NDArray[Any]  # [sum of color_sizes]


@dataclass(frozen=True)
class _Layout:
    """The columns of a point by the prefixes of the magic word."""

    dim: int
    homogeneous: bool
    normals: bool
    colors: bool
    texture: bool

    @property
    def width(self) -> int:
        """Columns of a point; colours count 4, though files also give 3."""
        position = self.dim + self.homogeneous
        return position + self.dim * self.normals + 4 * self.colors + 2 * self.texture


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read points as float64 from text, float32 from binary, and faces in their order.

    Homogeneous points (4OFF) are divided by their weight, which stays as the point field "w"
    where it is not 1.

    Raises:
        ReadError: counts contradict the file, or a line is not what must stand there.
    """
    data = path.read_bytes()
    magic = _MAGIC.match(data)
    if magic is None:
        raise ReadError(path, "does not begin with 'OFF'", expected="an OFF file")
    prefix = magic.group(1)
    if magic.group(2):
        layout, parts = _binary(path, data, magic.end(), prefix)
    else:
        layout, parts = _text(path, data, magic.end(), prefix)
    points, fields = _columns(path, parts.points, layout, ledger)
    ledger.kept("points", "", len(points))
    cells = _cells(path, parts, len(points))
    changed = {
        name: (int((parts.sizes == size).sum()), f"written as faces of {size}")
        for size, name in ((1, "vertex"), (2, "line"))
    }
    keep_cells(cells, ledger, changed)
    for name in fields:
        ledger.kept("field", f"point_data/{name}", len(points))
    return make_mesh(points, cells, point_data=fields, cell_data=_face_colors(parts, ledger))


def _layout(path: Path, prefix: bytes, dim: int) -> _Layout:
    if dim not in (1, 2, 3):
        raise ReadError(path, f"points of {dim} dimensions", expected="1, 2 or 3")
    return _Layout(dim, b"4" in prefix, b"N" in prefix, b"C" in prefix, b"ST" in prefix)


def _cells(path: Path, parts: _Parts, n_points: int) -> Cells:
    ids = parts.ids
    if len(ids) and (ids.min() < 0 or ids.max() >= n_points):
        wrong = int(np.argmax((ids < 0) | (ids >= n_points)))
        face = int(np.searchsorted(np.cumsum(parts.sizes), wrong, side="right"))
        expected = f"ids from 0 to {n_points - 1}"
        raise ReadError(path, f"point id {ids[wrong]}", place=f"face {face}", expected=expected)
    types = np.full(len(parts.sizes), POLYGON, np.uint8)
    for size, number in _BY_SIZE.items():
        types[parts.sizes == size] = number
    small = max(n_points, len(ids)) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    ends = np.concatenate([[0], np.cumsum(parts.sizes)]).astype(dtype)
    flat = torch.from_numpy(ids.astype(dtype))
    return Cells(torch.from_numpy(types), torch.from_numpy(ends), flat)


def _columns(
    path: Path, table: NDArray[Any], layout: _Layout, ledger: Ledger
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Points and fields from the columns; a column fewer means colours without alpha."""
    fields: dict[str, Any] = {}
    at = layout.dim + layout.homogeneous
    points = table[:, : layout.dim].copy()
    if layout.homogeneous:
        weight = table[:, layout.dim].copy()
        if (weight == 1).all():
            ledger.dropped("field", "w", len(weight), "all are 1", loss=False)
        elif (weight == 0).any():
            said = "a point at infinity (its weight is 0)"
            place = f"point {int(np.argmin(weight != 0))}"
            raise ReadError(path, said, place=place, expected="finite points")
        else:
            with np.errstate(all="ignore"):
                points /= weight[:, None]
            fields["w"] = weight
            ledger.converted("points", "", len(weight), "divided by their homogeneous weight")
    if layout.normals:
        fields["normals"] = table[:, at : at + layout.dim].copy()
        at += layout.dim
    if layout.colors:
        width = table.shape[1] - at - 2 * layout.texture
        fields["colors"] = _colors(table[:, at : at + width])
        at += width
    if layout.texture:
        fields["texture"] = table[:, at:].copy()
    return points, fields


def _colors(values: NDArray[Any]) -> NDArray[Any]:
    """uint8 where they are whole numbers up to 255 and not all 0 or 1, else as they are."""
    whole = values.size and (values == np.floor(values)).all()
    if whole and values.min() >= 0 and 1 < values.max() <= 255:
        return values.astype(np.uint8)
    return values.copy()


def _face_colors(parts: _Parts, ledger: Ledger) -> dict[str, Any]:
    sizes = parts.color_sizes
    starts = np.cumsum(sizes) - sizes
    n = len(sizes)
    fields: dict[str, Any] = {}
    indexed, painted = sizes == 1, sizes >= 3
    if indexed.any():
        index = np.full(n, -1, np.int32)
        index[indexed] = parts.colors[starts[indexed]]
        fields["color_index"] = index
        ledger.kept("field", "cell_data/color_index", int(indexed.sum()))
    if painted.any():
        width = int(sizes.max())
        table = np.full((n, width), np.nan, parts.colors.dtype)
        for k in range(width):
            has = sizes > k
            has &= painted
            table[has, k] = parts.colors[starts[has] + k]
        fields["colors"] = table if np.isnan(table).any() else _colors(table)
        ledger.kept("field", "cell_data/colors", int(painted.sum()))
        bare = int((sizes < width).sum())
        if bare:
            reason = "faces without a colour, or without alpha, are filled with NaN"
            ledger.converted("field", "cell_data/colors", bare, reason)
    return fields


# --- text ----------------------------------------------------------------------------------------


class _Text:
    """The lines that say something, as numbers."""

    def __init__(self, path: Path, data: bytes, start: int) -> None:
        self.path = path
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
        self.size = len(data)
        # The magic word becomes blanks, so that every line keeps its number.
        self._text = re.sub(rb"[^\n]", b" ", data[:start]) + without_comments(data[start:]) + b"\n"
        self._ends = np.flatnonzero(np.frombuffer(self._text, np.uint8) == 10) + 1
        self._words = words_per_line(self._text)
        self._said = np.flatnonzero(self._words)

    def __len__(self) -> int:
        return len(self._said)

    def widths(self, first: int, last: int) -> Ints:
        """How many words each line has, from the first up to the last that say something."""
        return self._words[self._said[first:last]]

    def block(self, first: int, last: int) -> NDArray[np.float64]:
        """All numbers of these lines."""
        if first >= last:
            return np.zeros(0)
        begin = self._ends[self._said[first] - 1] if self._said[first] else 0
        text = self._text[begin : self._ends[self._said[last - 1]]]
        found = numbers(text)
        if found is None:
            for i, line in enumerate(text.split(b"\n")):
                for word in line.split():
                    if not is_number(word):
                        shown = word[:40].decode("utf-8", "replace")
                        self._fail(int(self._said[first]) + i, f"found {shown!r}", "a number")
            raise ReadError(self.path, "numbers cannot be told apart")
        return found

    def fail(self, at: int, found: str, expected: str) -> NoReturn:
        """Raise the error of one of the lines that say something."""
        self._fail(int(self._said[at]) if at < len(self) else len(self._ends), found, expected)

    def _fail(self, line: int, found: str, expected: str) -> NoReturn:
        raise ReadError(self.path, found, place=f"line {line + 1}", expected=expected)


def _text(path: Path, data: bytes, start: int, prefix: bytes) -> tuple[_Layout, _Parts]:
    text = _Text(path, data, start)
    at, dim = 0, 3
    if b"n" in prefix:
        dim = _whole(text, 0, "the number of dimensions after 'nOFF'", 1, 1)[0]
        at = 1
    layout = _layout(path, prefix, dim)
    counts = _whole(text, at, "counts of points, faces and edges", 2, 3)
    n_points, n_faces = counts[:2]
    at += 1
    # Points may be broken over lines, as long as they begin and end with one.
    total = np.cumsum(text.widths(at, len(text)))
    layout, columns = _point_columns(text, at, n_points, n_faces, layout)
    stop = at + int(np.searchsorted(total, n_points * columns)) + 1 if n_points else at
    flat = text.block(at, min(stop, len(text)))
    if len(flat) != n_points * columns:
        what = "the points end" if stop > len(text) else "points and faces share a line"
        text.fail(min(stop, len(text) + 1) - 1, what, f"{n_points} points of {columns} numbers")
    widths = text.widths(stop, len(text))
    if len(widths) != n_faces:
        where = stop + min(n_faces, len(widths))
        text.fail(where, f"{len(widths)} lines of faces", f"{n_faces}, as the counts say")
    faces = text.block(stop, len(text))
    return layout, _faces(text, stop, flat.reshape(n_points, columns), faces, widths)


def _whole(text: _Text, at: int, what: str, fewest: int, most: int) -> list[int]:
    """The whole numbers of one line, none of them more than the file has bytes."""
    found = text.block(at, min(at + 1, len(text)))
    sound = (found == np.floor(found)) & (found >= 0) & (found <= text.size)
    if not fewest <= len(found) <= most or not sound.all():
        said = " ".join(f"{x:g}" for x in found[:6]) or "nothing"
        text.fail(at, f"found {said}", f"{what} that a file of {text.size} bytes can hold")
    return [int(x) for x in found]


def _point_columns(
    text: _Text, at: int, n: int, n_faces: int, layout: _Layout
) -> tuple[_Layout, int]:
    """How many numbers a point has: colours may lack alpha, or stand there without a "C"."""
    width = layout.width
    found = int(text.widths(at, at + 1)[0]) if n and at < len(text) else width
    if layout.colors and found == width - 1:
        return layout, found
    a_line_each = len(text) - at == n + n_faces and (text.widths(at, at + n) == found).all()
    if a_line_each and not layout.colors and found - width in (3, 4):
        return replace(layout, colors=True), found
    if found > width and found % width:
        text.fail(at, f"{found} numbers", f"{width} for a point")
    return layout, width


def _faces(
    text: _Text, first: int, points: NDArray[Any], flat: NDArray[Any], widths: Ints
) -> _Parts:
    starts = np.cumsum(widths) - widths
    with np.errstate(invalid="ignore"):
        sizes = flat[starts].astype(np.int64)
        wrong = (sizes != flat[starts]) | (sizes < 1) | (sizes > widths - 1)
        extra = widths - 1 - sizes
        wrong |= ~np.isin(extra, (0, 1, 3, 4))
        if wrong.any():
            bad = int(np.argmax(wrong))
            text.fail(
                first + bad,
                f"{widths[bad]} numbers, the first {flat[starts[bad]]:g}",
                "a count, as many point ids, and a colour of 0, 1, 3 or 4 numbers",
            )
        ids_at = _spread(starts + 1, sizes)
        ids = flat[ids_at].astype(np.int64)
        if (ids != flat[ids_at]).any():
            bad = int(np.argmax(ids != flat[ids_at]))
            face = int(np.searchsorted(np.cumsum(sizes), bad, side="right"))
            text.fail(first + face, f"point id {flat[ids_at][bad]:g}", "a whole number")
    return _Parts(points, sizes, ids, extra, flat[_spread(starts + 1 + sizes, extra)])


def _spread(starts: Ints, sizes: Ints) -> Ints:
    """starts[i], starts[i] + 1, ... for each i, sizes[i] of them."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    places: Ints = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return places


# --- binary --------------------------------------------------------------------------------------


def _binary(path: Path, data: bytes, start: int, prefix: bytes) -> tuple[_Layout, _Parts]:
    words = np.frombuffer(data[start : start + (len(data) - start) // 4 * 4], ">i4")
    at, dim = 0, 3
    if b"n" in prefix and len(words):
        at, dim = 1, int(words[0])
    layout = _layout(path, prefix, dim)
    if len(words) < at + 3:
        raise ReadError(path, "ends before its counts", place=f"byte {len(data)}")
    n_points, n_faces = int(words[at]), int(words[at + 1])
    at += 3
    stop = at + n_points * layout.width
    # a face takes at least two numbers: how many points, how many colours
    if n_points < 0 or n_faces < 0 or stop + 2 * n_faces > len(words):
        raise ReadError(
            path,
            f"counts of {n_points} points and {n_faces} faces",
            place="header",
            expected=f"no more than {len(data)} bytes can hold",
        )
    points = words[at:stop].view(">f4").astype(np.float32).reshape(n_points, layout.width)
    rest = words[stop:].astype(np.int64)
    if (len(data) - start) % 4 or (n_faces == 0 and len(rest)):
        raise ReadError(path, "goes on after its last face", expected="its end")
    begun = _binary_faces(path, rest, n_faces, start + 4 * stop)
    sizes = rest[begun]
    color_sizes = rest[begun + 1 + sizes]
    ids = rest[_spread(begun + 1, sizes)]
    colors = words[stop:][_spread(begun + 2 + sizes, color_sizes)].view(">f4").astype(np.float32)
    return layout, _Parts(points, sizes, ids, color_sizes, colors)


def _binary_faces(path: Path, words: Ints, n: int, start: int) -> Ints:
    """Where each face begins; alike faces are found at once, others one by one."""
    if n == 0:
        return np.zeros(0, np.int64)
    size = int(words[0])
    if 0 < size < len(words) - 1:
        colors = int(words[1 + size])
        step = size + 2 + colors
        if 0 <= colors <= 4 and n * step == len(words):
            rows = words.reshape(n, step)
            if (rows[:, 0] == size).all() and (rows[:, 1 + size] == colors).all():
                return np.arange(n) * step
    begun = np.zeros(n, np.int64)
    at = 0
    for i in range(n):
        begun[i] = at
        size = int(words[at]) if at < len(words) else 0
        colors = int(words[at + 1 + size]) if 0 < size < len(words) - at - 1 else -1
        if colors not in (0, 1, 3, 4) or at + 2 + size + colors > len(words):
            raise ReadError(
                path,
                f"face {i} of {size} points and {colors} colours",
                place=f"byte {start + 4 * at}",
                expected="at least one point, 0, 1, 3 or 4 colours, all within the file",
            )
        at += size + 2 + colors
    if at != len(words):
        raise ReadError(
            path, f"goes on after its {n} faces", place=f"byte {start + 4 * at}", expected="its end"
        )
    return begun
