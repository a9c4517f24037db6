"""$NodeData, $ElementData and $ElementNodeData: what is declared, and the values when asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.gmsh.numbers import EXACT, WHOLE, BinaryNumbers, Floats, Ints, text_numbers
from meshkit.readers.gmsh.sections import MshFile, Section
from meshkit.readers.ragged_rows import row_starts
from meshkit.readers.texts import text_of

NODE, ELEMENT, CORNER = "NodeData", "ElementData", "ElementNodeData"
KINDS: Final = (NODE, ELEMENT, CORNER)
_MOST_TAGS: Final = 1000
_MOST_COMPONENTS: Final = 1 << 20


@dataclass(frozen=True)
class View:
    """One section of data: one field at one time, or a part of it.

    Args:
        section: where it stands; its numbers begin at `start`.
        name: the first text; the second, if any, names a scheme of interpolation.
        time: the first real number; None without one.
        step, components, rows: the first three whole numbers.
        partition: the fourth; 0 where there is none.
    """

    section: Section
    start: int
    name: str
    scheme: str
    time: float | None
    step: int
    components: int
    rows: int
    partition: int

    @property
    def kind(self) -> str:
        """What it is of: one of `KINDS`."""
        return self.section.name


def views(msh: MshFile) -> list[View]:
    """All data of a file, in its order.

    Raises:
        ReadError: the tags of a section are not what they should be.
    """
    return [_view(msh, section) for section in msh.named(*KINDS)]


class _Lines:
    """The tags of a section: a count, then as many texts or numbers, each kind on lines."""

    def __init__(self, msh: MshFile, section: Section) -> None:
        self.msh, self.section, self.at = msh, section, section.start
        msh.file.seek(section.start)

    def line(self, what: str) -> bytes:
        """The next line that is not empty."""
        while self.at < self.section.end:
            line = self.msh.file.readline(min(1 << 16, self.section.end - self.at))
            self.at += len(line)
            if line.strip():
                return line
        raise self.msh.error("ends too early", at=self.section.end, expected=what)

    def count(self, what: str) -> int:
        """A line with a count."""
        line = self.line(what)
        if not line.strip().isdigit() or int(line) > _MOST_TAGS:
            raise self.bad(line, what)
        return int(line)

    def words(self, count: int, what: str) -> list[bytes]:
        """So many words, on one line or on several."""
        out: list[bytes] = []
        while len(out) < count:
            out += self.line(what).split()
        if len(out) > count:
            raise self.bad(out[count], f"{count} {what}")
        return out

    def bad(self, line: bytes, expected: str) -> Exception:
        """An error in the line that was read last."""
        shown = repr(text_of(line.strip()[:40]))
        at = max(self.at - 1, self.section.start)
        return self.msh.error(f"found {shown}", at=at, expected=expected)


def _view(msh: MshFile, section: Section) -> View:
    lines = _Lines(msh, section)
    texts = []
    for _ in range(lines.count("the number of texts")):
        line = lines.line("a text in quotes")
        first, last = line.find(b'"'), line.rfind(b'"')
        texts.append(text_of(line[first + 1 : last] if first < last else line.strip()))
    times = []
    for word in lines.words(lines.count("the number of real numbers"), "real numbers"):
        try:
            times.append(float(word))
        except ValueError:
            raise lines.bad(word, "a real number") from None
    whole = []
    for word in lines.words(lines.count("the number of whole numbers"), "whole numbers"):
        if not word.removeprefix(b"-").isdigit() or len(word) > 18:
            raise lines.bad(word, "a whole number")
        whole.append(int(word))
    if len(whole) < 3 or not 0 < whole[1] <= _MOST_COMPONENTS or whole[2] < 0:
        raise msh.error(
            f"found the whole numbers {whole[:5]}",
            at=section.start,
            expected="a step, the number of components and the number of rows",
        )
    name, scheme = (*texts, "", "")[:2]
    time = times[0] if times and math.isfinite(times[0]) else None
    partition = whole[3] if len(whole) > 3 else 0
    step, components, rows = whole[:3]
    return View(section, lines.at, name, scheme, time, step, components, rows, partition)


def rows_of(msh: MshFile, view: View) -> tuple[Ints, Floats]:
    """The tags [n] of nodes or elements, and the values [n, components], of a view.

    Raises:
        ReadError: the section has not as many numbers as it declares.
    """
    if msh.binary:
        dtype = np.dtype([("tag", f"{msh.order}i4"), ("x", f"{msh.order}f8", (view.components,))])
        numbers = BinaryNumbers(msh, view.section, view.start)
        table = numbers.take(dtype, view.rows, f"rows of {view.name!r}")
        numbers.finish()
        return table["tag"].astype(np.int64), table["x"].astype(np.float64)
    flat = text_numbers(msh, view.start, view.section.end, np.dtype(np.float64))
    if len(flat) != view.rows * (1 + view.components):
        raise _wrong(msh, view, f"{len(flat)} numbers")
    table = flat.reshape(view.rows, 1 + view.components)
    return _tags(msh, view, table[:, 0]), table[:, 1:]


def _wrong(msh: MshFile, view: View, found: str) -> Exception:
    return msh.error(
        f"declares {view.rows} rows of {view.components} components, but has {found}",
        at=view.section.start,
        expected="true counts",
    )


def _tags(msh: MshFile, view: View, tags: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        whole = tags.astype(np.int64)
    wrong = (whole != tags) | (np.abs(tags) >= EXACT)
    if wrong.any():
        problem = f"{tags[wrong][0]:g} as a tag in {view.name!r}"
        raise msh.error(problem, at=view.section.start, expected=WHOLE)
    return whole


def corners_of(msh: MshFile, view: View) -> tuple[Ints, Ints, Floats]:
    """The tags [n] of elements, their numbers of nodes [n], and values [sum of these, components].

    Raises:
        ReadError: the section has not as many numbers as it declares.
    """
    c, n = view.components, view.rows
    if msh.binary:
        numbers = BinaryNumbers(msh, view.section, view.start)
        left = (view.section.end - view.start) // 4
        raw = numbers.take(np.dtype("V4"), left, f"rows of {view.name!r}")
        numbers.finish()
        flat: NDArray[Any] = raw.view(f"{msh.order}i4").astype(np.int64)
        step = 2
    else:
        flat = text_numbers(msh, view.start, view.section.end, np.dtype(np.float64))
        step = 1

    def lengths(at: Ints) -> Ints:
        nodes = flat[np.minimum(at + 1, len(flat) - 1)]
        sane = (nodes >= 0) & (nodes <= len(flat))
        return np.where(sane, 2 + step * c * np.where(sane, nodes, 0), 1).astype(np.int64)

    starts = row_starts(n, len(flat), lengths)
    if len(starts) != n + 1 or starts[-1] != len(flat) or (np.diff(starts) < 2).any():
        raise _wrong(msh, view, "rows of another number or size")
    begin = starts[:-1]
    counts = (np.diff(starts) - 2) // (step * c)
    keep = np.ones(len(flat), np.bool_)
    keep[begin] = keep[begin + 1] = False
    if msh.binary:
        values = raw[keep].view(f"{msh.order}f8").astype(np.float64)
        return flat[begin], counts, values.reshape(-1, c)
    return _tags(msh, view, flat[begin]), counts, flat[keep].reshape(-1, c)
