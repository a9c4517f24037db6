"""OBJ files out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.celltypes import CELL_TYPES, POLYGON, CellType, cell_type
from meshkit.mesh import Mesh
from meshkit.readers.accounting import lose_faces, lose_fields, lose_info
from meshkit.readers.obj.corners import written_corners
from meshkit.readers.obj.elements import (
    LINE,
    POLY_LINE,
    POLY_VERTEX,
    QUAD,
    TRIANGLE,
    VERTEX,
)
from meshkit.readers.obj.lines import Ints
from meshkit.readers.obj.state_changes import UNWRITABLE, Change, state_changes
from meshkit.report import Ledger
from meshkit.words import BLANKS

_ABLE: Final = {
    VERTEX: "p",
    POLY_VERTEX: "p",
    LINE: "l",
    POLY_LINE: "l",
    TRIANGLE: "f",
    QUAD: "f",
    POLYGON: "f",
}


_CHUNK: Final = 1 << 16


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Write points, vertices, lines, triangles, quads and polygons in their order.

    Coordinates are the shortest decimals that give the same float64 again. Cell regions become
    objects, groups or materials by their kind (any other kind: groups); the fields that reading
    makes ("texture", "normals", "corner_texture", "corner_normals", "colors", "w",
    "smoothing_group") are written back.
    """
    able, cells = _written_cells(mesh, ledger)
    written = np.zeros(mesh.n_cells, bool)
    written[able] = True
    tables, held = written_corners(mesh, written, ledger)
    states = state_changes(mesh, able, ledger, held)
    points, fields = _written_points(mesh, ledger, held)
    lose_fields(mesh, ledger, "OBJ has no such field", held=held)
    lose_faces(mesh, ledger, "OBJ has no faces beside its cells")
    libraries = mesh.info.attributes.get("mtllib", [])
    named = isinstance(libraries, list) and all(
        isinstance(x, str) and x and x == x.strip(BLANKS) and not UNWRITABLE.search(x)
        for x in libraries
    )
    lose_info(mesh, ledger, "OBJ has no place for it", {"attributes/mtllib"} if named else ())
    if named and libraries:
        ledger.kept("info", "attributes/mtllib", len(libraries))
    ledger.settle()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("# written by meshkit\n")
        file.writelines(f"mtllib {x}\n" for x in (libraries if named else ()))
        rows = np.concatenate([points, *fields], 1)
        file.writelines(_number_lines("v", rows))
        for word, rows_of in tables.items():
            file.writelines(_number_lines(word, rows_of.table))
        both = [tables[word].of_corner if word in tables else None for word in ("vt", "vn")]
        file.writelines(_element_lines(cells, both, states))


def _number_lines(word: str, table: NDArray[Any]) -> Iterator[str]:
    line = word + " %r" * table.shape[1] + "\n"
    for start in range(0, len(table), _CHUNK):
        part = table[start : start + _CHUNK]
        yield (line * len(part)) % tuple(part.ravel().tolist())


def _written_points(
    mesh: Mesh, ledger: Ledger, held: set[str]
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    points = mesh.points.detach().cpu()
    if points.dtype != torch.float64:
        reason = f"{str(points.dtype).removeprefix('torch.')} as decimals, read as float64"
        ledger.converted("points", "", len(points), reason)
    array = points.double().numpy()
    if array.shape[1] < 3:
        reason = f"{array.shape[1]}-D as 3-D, zeros added"
        ledger.converted("points", "", len(array), reason)
        array = np.pad(array, ((0, 0), (0, 3 - array.shape[1])))
    else:
        ledger.kept("points", "", len(array))
    fields = []
    for name, shape in (("w", ()), ("colors", (3,))):
        x = mesh.point_data.get(name, None)
        if isinstance(x, torch.Tensor) and x.dtype == torch.float64 and x.shape[1:] == shape:
            held.add(f"point_data/{name}")
            if name == "w" and bool((x == 1).all()):
                ledger.dropped("field", "point_data/w", len(x), "all are 1, as without", loss=False)
                continue
            ledger.kept("field", f"point_data/{name}", len(x))
            fields.append(x.detach().cpu().numpy().reshape(len(x), -1))
    return array, fields


@dataclass(frozen=True)
class _Written:
    types: NDArray[np.uint8]
    offsets: Ints
    flat: Ints
    at: Ints  # where each id stands in the mesh's connectivity


def _written_cells(mesh: Mesh, ledger: Ledger) -> tuple[Ints, _Written]:
    """Which cells OBJ can hold, and they."""
    cells = mesh.cells
    types = cells.types.cpu().numpy()
    sizes = cells.sizes.long().cpu().numpy()
    for name, count in cells.counts.items():
        row = CELL_TYPES.get(cell_type(name).number) if not name.isdigit() else None
        if row is not None and row.number in _ABLE:
            ledger.kept("cells", name, count)
            continue
        ledger.dropped("cells", name, count, f"OBJ has no such cells; {_what_to_do(row)}")
    for number, size, name in (
        (POLYGON, 3, "triangle"),
        (POLYGON, 4, "quad"),
        (POLY_LINE, 2, "line"),
        (POLY_VERTEX, 1, "vertex"),
    ):
        count = int(((types == number) & (sizes == size)).sum())
        if count:
            kind = CELL_TYPES[number].name
            ledger.converted("cells", kind, count, f"of {size} points, read as {name}")
    short = {POLY_LINE: 2, POLYGON: 3, POLY_VERTEX: 1}
    least = np.array([short.get(t, 0) for t in range(256)])[types]
    few = np.isin(types, list(_ABLE)) & (sizes < least)
    if few.any():
        ledger.dropped("cells", "of too few points", int(few.sum()), "no element of OBJ")
    able = np.flatnonzero(np.isin(types, list(_ABLE)) & ~few)
    starts = cells.offsets.long().cpu().numpy()[:-1][able]
    ends = np.concatenate([[0], np.cumsum(sizes[able])])
    at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes[able])
    flat = cells.connectivity.long().cpu().numpy()[at]
    return able, _Written(types[able], ends, flat, at)


def _what_to_do(row: CellType | None) -> str:
    """Which operator makes cells of a type that OBJ has."""
    if row is None or row.shape == "empty":
        return "no operator makes others of them"
    if row.dim == 3:
        return "operators.boundary(mesh) makes polygons of solids"
    return "operators.simplices(mesh) makes triangles and lines of them"


def _element_lines(
    cells: _Written, corner_rows: Sequence[Ints | None], states: Sequence[Change]
) -> Iterator[str]:
    """The elements and, before those where it changes, the state."""
    n = len(cells.types)
    sizes = np.diff(cells.offsets)
    words = np.array([_ABLE.get(t, "") for t in range(256)])[cells.types]
    alike = np.flatnonzero((words[1:] != words[:-1]) | (sizes[1:] != sizes[:-1])) + 1
    chunks = np.arange(0, n, _CHUNK)
    cuts = np.unique(np.concatenate([[0, n], alike, chunks, [s.cell for s in states]]))
    columns = [cells.flat + 1]
    columns += [np.zeros(0, np.int64) if r is None else r[cells.at] + 1 for r in corner_rows]
    waiting = list(reversed(states))

    def until(cell: int) -> Iterator[str]:
        while waiting and waiting[-1].cell <= cell:
            yield waiting.pop().line + "\n"

    for start, stop in pairwise(cuts.astype(np.int64).tolist()):
        yield from until(start)
        span = slice(int(cells.offsets[start]), int(cells.offsets[stop]))
        yield _run(str(words[start]), int(sizes[start]), [c[span] for c in columns])
    yield from until(n)


def _run(word: str, size: int, columns: Sequence[Ints]) -> str:
    """Elements of one keyword and size as lines."""
    ids, textures, normals = columns
    if word == "p":
        textures = textures[:0]
    if word in ("p", "l"):
        normals = normals[:0]
    if not len(textures) and not len(normals):
        line = word + " %d" * size + "\n"
        return (line * (len(ids) // size)) % tuple(ids.tolist())
    none = np.zeros(len(ids), np.int64)
    rows = zip(
        ids.tolist(),
        (textures if len(textures) else none).tolist(),
        (normals if len(normals) else none).tolist(),
        strict=True,
    )
    corners = [f"{v}/{t or ''}/{n}" if n else f"{v}/{t}" if t else f"{v}" for v, t, n in rows]
    return "".join(
        f"{word} {' '.join(corners[i : i + size])}\n" for i in range(0, len(corners), size)
    )
