"""Reading PLY: ascii and both binary orders, any elements and properties.

Source: Greg Turk, The PLY Polygon File Format (1994); tristrips as the Stanford scans have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells
from meshkit.readers.padded_rows import MOST_PADDING, blank, fits_padded, padded
from meshkit.readers.ply.body import Body, Column, Lists
from meshkit.readers.ply.cells import Block, blocks_of, cells_of
from meshkit.readers.ply.header import read_header
from meshkit.readers.ply.note import comments_beside, found_note, is_note
from meshkit.report import Ledger

_AXES: Final = ("x", "y", "z")
# Properties that belong together: the field they make, its kind, and their names.
_TOGETHER: Final = (
    ("normals", "normals", ("nx", "ny", "nz")),
    ("colors", None, ("red", "green", "blue", "alpha")),
    ("colors", None, ("red", "green", "blue")),
    ("texture", "tcoords", ("s", "t")),
    ("texture", "tcoords", ("texture_u", "texture_v")),
    ("texture", "tcoords", ("u", "v")),
)


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read a PLY file.

    `x, y, z` are the points, float32 if all of them are, else float64. Faces become triangles,
    quads and polygons (of one vertex a vertex, of two a line), `tristrips` triangle strips,
    `edge` lines, in the order of the elements. Any other property is a field; `nx, ny, nz` are
    together "normals", `red, green, blue` and `alpha` "colors", `s, t` or `u, v` "texture". Lists
    of different lengths are filled to a table, beside their lengths in "NAME_length". What
    belongs to neither vertices nor cells is in `global_data` under its element. Comments are in
    `info.attributes["comments"]`. A file that meshkit wrote comes back as the mesh it was.

    Raises:
        ReadError: the file breaks the format; the message names the line, or the byte if binary.
    """
    data = path.read_bytes()
    header = read_header(path, data)
    body = Body(path, data, header)
    tables = {element.name: body.read(element) for element in header.elements.values()}
    if body.left:
        unit = "bytes" if header.order else "numbers"
        if not (header.order and data[header.start + body.at :].strip(b"\r\n\0 ") == b""):
            ledger.dropped(unit, "", body.left, "they follow the last element of the header")
    points = _points(path, tables.get("vertex"), ledger)
    blocks = blocks_of(path, tables, len(points), ledger)
    note, comments = found_note(path, header.comments), header.comments
    if note is not None and not note.fits(tables):
        reason = "another program has changed the properties since meshkit wrote them"
        ledger.dropped("info", "comment meshkit", 1, reason)
        note, comments = None, [text for text in comments if not is_note(text)]
    if note is not None:
        mesh = note.mesh(path, points, blocks, tables["vertex"], ledger)
        return _with_comments(mesh, comments_beside(header.comments, mesh), ledger)
    made = _foreign(points, blocks, tables, ledger)
    return _with_comments(made, comments, ledger)


def _with_comments(mesh: Mesh, more: list[str], ledger: Ledger) -> Mesh:
    """The mesh with more comments in its info."""
    known = mesh.info.attributes.get("comments", [])
    comments = [*(known if isinstance(known, list) else [known]), *more]
    if more:
        attributes = {**mesh.info.attributes, "comments": comments}
        mesh = mesh.replace(info=mesh.info.replace(attributes=attributes))
    if comments:
        ledger.kept("info", "attributes/comments", len(comments))
    return mesh


def _points(path: Path, vertex: dict[str, Column] | None, ledger: Ledger) -> NDArray[Any]:
    """Points [n, d], as many of x, y, z as there are."""
    if vertex is None:
        raise ReadError(path, "holds no element 'vertex'", expected="a mesh")
    axes = [name for name in _AXES if name in vertex]
    if not axes or tuple(axes) != _AXES[: len(axes)]:
        found = ", ".join(axes) or "no coordinate"
        raise ReadError(path, f"vertex has {found}", expected="x, y and z")
    columns = [vertex[name] for name in axes]
    plain = [column for column in columns if not isinstance(column, Lists)]
    if len(plain) < len(axes):
        raise ReadError(path, "a coordinate of vertex is a list", expected="a number")
    dtype = np.dtype(np.float32 if all(c.dtype == np.float32 for c in plain) else np.float64)
    if any(c.dtype.kind != "f" for c in plain):
        kinds = " and ".join(dict.fromkeys(c.dtype.name for c in plain))
        ledger.converted("points", "", len(plain[0]), f"{kinds} as float64")
    return np.stack(plain, 1).astype(dtype, copy=False)


def _foreign(
    points: NDArray[Any],
    blocks: list[Block],
    tables: dict[str, dict[str, Column]],
    ledger: Ledger,
) -> Mesh:
    """The mesh of a file of someone else's."""
    ledger.kept("points", "", len(points))
    known: dict[FieldKey, FieldInfo] = {}
    spare: dict[str, dict[str, Any]] = {}
    used = {"vertex", *(block.element for block in blocks)}
    for name, columns in tables.items():
        if name not in used and columns:
            spare[name] = dict(columns)
    vertex = {k: v for k, v in tables["vertex"].items() if k not in _AXES}
    point_data = _fields("point_data", vertex, len(points), known, ledger)
    for name, x in point_data.items():
        _count("point_data", name, len(x), known, ledger)
    parts = [
        _fields("cell_data", block.columns, len(block.sizes), known, ledger) for block in blocks
    ]
    cell_data = _joined(blocks, parts, known, ledger)
    cells = cells_of(blocks)
    keep_cells(cells, ledger)
    return make_mesh(
        points,
        cells,
        point_data=point_data,
        cell_data=cell_data,
        global_data=_spare(spare, ledger),
        info=MeshInfo(fields=known),
    )


def _count(
    home: str, name: str, n: int, known: Mapping[FieldKey, FieldInfo], ledger: Ledger
) -> None:
    """One line for a field; of several properties it is converted."""
    info = known.get((home, name))
    together = None if info is None else info.components
    if together:
        reason = f"the properties {', '.join(together)} as one field"
        ledger.converted("field", f"{home}/{name}", n, reason)
    else:
        ledger.kept("field", f"{home}/{name}", n)


def _fields(
    home: str,
    columns: dict[str, Column],
    rows: int,
    known: dict[FieldKey, FieldInfo],
    ledger: Ledger,
) -> dict[str, NDArray[Any]]:
    """Fields of the properties.

    Lists of different lengths become two fields: a row holds the list and then NaN (-1, or 0 for
    unsigned integers), and "name_length" says how long it is.
    """
    found: dict[str, NDArray[Any]] = {}
    left = dict(columns)
    for name, kind, together in _TOGETHER:
        group = [left.get(key) for key in together]
        plain = [c for c in group if c is not None and not isinstance(c, Lists)]
        if (
            len(plain) < len(together)
            or len({c.dtype for c in plain}) > 1
            or name in columns
            or name in found
            or (together == ("u", "v") and "w" in left)  # a velocity
        ):
            continue
        for key in together:
            del left[key]
        found[name] = np.stack(plain, 1)
        known[home, name] = FieldInfo(kind=kind, components=together)
    for name, column in left.items():
        if not isinstance(column, Lists):
            found[name] = column
        elif (size := column.size) is not None or not rows:
            found[name] = column.values.reshape(rows, size or 0)
        else:
            found |= _padded(home, name, column, {*columns, *found}, ledger)
    return found


def _padded(
    home: str, name: str, lists: Lists, taken: set[str], ledger: Ledger
) -> dict[str, NDArray[Any]]:
    """A field of lists of different lengths, and one of the lengths."""
    lengths = np.diff(lists.offsets)
    widest, values = int(lengths.max()), lists.values
    if not fits_padded(len(lengths), widest, len(values), values.itemsize):
        reason = f"as a table of {widest} columns its lists take over {MOST_PADDING} times"
        ledger.dropped("field", f"{home}/{name}", len(lengths), f"{reason} their memory")
        return {}
    of_lengths = f"{name}_length"
    while of_lengths in taken:
        of_lengths += "_"
    reason = f"lists of different lengths, filled with {blank(values.dtype)}; see {of_lengths!r}"
    ledger.converted("field", f"{home}/{name}", len(lengths), reason)
    return {name: padded(lengths, values, widest), of_lengths: lengths.astype(np.int32)}


def _joined(
    blocks: list[Block],
    parts: list[dict[str, NDArray[Any]]],
    known: Mapping[FieldKey, FieldInfo],
    ledger: Ledger,
) -> dict[str, NDArray[Any]]:
    """Cell fields over all elements; where one lacks a field it is filled, and counted."""
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for part in parts:
        for name, x in part.items():
            shapes.setdefault(name, []).append(x.shape[1:])
    for block, part in zip(blocks, parts, strict=True):
        for name in [n for n in part if len(set(shapes[n])) > 1]:
            part[f"{block.element}_{name}"] = part.pop(name)
    names = dict.fromkeys(name for part in parts for name in part)
    joined = {}
    for name in names:
        have = [part[name] for part in parts if name in part]
        dtype = np.result_type(*(x.dtype for x in have))
        fill = blank(dtype)
        pieces, missing = [], 0
        for block, part in zip(blocks, parts, strict=True):
            if name in part:
                pieces.append(part[name].astype(dtype, copy=False))
            else:
                missing += len(block.sizes)
                pieces.append(np.full((len(block.sizes), *have[0].shape[1:]), fill, dtype))
        joined[name] = np.concatenate(pieces)
        _count("cell_data", name, len(joined[name]), known, ledger)
        if missing:
            reason = f"cells of elements without this property are {fill}"
            ledger.converted("field", f"cell_data/{name}", missing, reason)
        if any(x.dtype != dtype for x in have):
            reason = f"{' and '.join(x.dtype.name for x in have)} as {dtype.name}"
            ledger.converted("field", f"cell_data/{name}", len(joined[name]), reason)
    return joined


def _spare(spare: dict[str, dict[str, Any]], ledger: Ledger) -> dict[str, dict[str, Any]]:
    """Global fields of what belongs to neither points nor cells."""
    out: dict[str, dict[str, Any]] = {}
    for element, columns in spare.items():
        for name, column in columns.items():
            where = f"global_data/{element}/{name}"
            if not isinstance(column, Lists):
                out.setdefault(element, {})[name] = column
                reason = "a property of an element that is neither points nor cells"
                ledger.converted("field", where, len(column), reason)
                continue
            n = len(column.offsets) - 1
            size = column.size
            if size is not None:
                made: Any = column.values.reshape(n, size)
            else:
                made = {"offsets": column.offsets, "values": column.values}
            out.setdefault(element, {})[name] = made
            ledger.converted("field", where, n, "lists, as their offsets and values")
    return out
