"""Writing PLY: binary, little-endian.

Source: Greg Turk, The PLY Polygon File Format (1994); tristrips as the Stanford scans have them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.cells import Cells
from meshkit.errors import WriteError
from meshkit.fields import as_bits, leaves, take
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells, lose_faces, lose_fields
from meshkit.readers.ply.cells import POLYGON, TYPE_OF_SIZE
from meshkit.readers.ply.note import PLACE, TYPE, WRITTEN_BY, comments_of, comments_said
from meshkit.readers.ply.table import Table, VertexLists
from meshkit.report import Ledger

_ELEMENTS: Final = {"face": (5, 7, 8, 9), "tristrips": (6,), "edge": (3,)}
_HELD: Final = tuple(number for numbers in _ELEMENTS.values() for number in numbers)
_PIXEL: Final = 8
# Fields that other programs know by these properties.
_KNOWN: Final = {
    ("normals", 3): ("nx", "ny", "nz"),
    ("colors", 3): ("red", "green", "blue"),
    ("colors", 4): ("red", "green", "blue", "alpha"),
    ("texture", 2): ("s", "t"),
}
_RESERVED: Final = frozenset(
    {
        *("x", "y", "z", "vertex_indices", "vertex_index", "vertex1", "vertex2", TYPE, PLACE),
        *(name for names in _KNOWN.values() for name in names),
    }
)
_NATIVE: Final = frozenset(
    {
        *(torch.int8, torch.int16, torch.int32, torch.float32, torch.float64),
        *(torch.uint8, torch.uint16, torch.uint32),
    }
)
_MOST_POINTS: Final = 2**31


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Write points, triangles, quads, pixels, polygons, strips and lines, and their fields.

    A field of c components is c properties name_0, name_1, ...; "normals", "colors" and
    "texture" go by the names that others know. Comments say what was what: the file reads back
    as the same mesh, bit for bit, id dtypes, vocabularies and units included. Integers of 64
    bits go as 32 where all values fit, short floats as float32.

    Lost, and listed in the ledger: cells of other types, regions, faces and their data, global
    data, complex numbers, and integers beyond 32 bits.

    Raises:
        WriteError: info holds what is not JSON, or there are more than 2^31 points.
    """
    if mesh.n_points > _MOST_POINTS:
        problem = f"{mesh.n_points} points"
        raise WriteError(path, problem, expected=f"at most {_MOST_POINTS} in PLY")
    points = _points(mesh, ledger)
    held, cells = _held(mesh, ledger)
    said: list[dict[str, Any]] = []
    of_points = _columns(mesh, "point_data", None, said, ledger)
    of_cells = _columns(mesh, "cell_data", held, said, ledger)
    _lose_the_rest(mesh, ledger)
    ledger.settle()
    axes = {name: points[:, i] for i, name in enumerate("xyz")}
    tables = {"vertex": Table(len(points), None, axes | of_points)}
    tables |= _cell_tables(cells, of_cells)
    header = _header(mesh, path, cells, tables, said)
    with path.open("wb") as file:
        file.write(header)
        for table in tables.values():
            file.write(table.rows())


def _points(mesh: Mesh, ledger: Ledger) -> NDArray[Any]:
    """Points [n, 3] as float32 or float64."""
    points = mesh.points.detach().cpu()
    if points.dtype not in (torch.float32, torch.float64):
        ledger.converted("points", "", len(points), f"{_name(points.dtype)} as float32")
        points = points.float()
    if points.shape[1] < 3:
        ledger.converted("points", "", len(points), f"{points.shape[1]}-D as 3-D, zeros added")
        points = torch.nn.functional.pad(points, (0, 3 - points.shape[1]))
    ledger.kept("points", "", len(points))
    array: NDArray[Any] = points.numpy()
    return array


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _held(mesh: Mesh, ledger: Ledger) -> tuple[Tensor | None, Cells]:
    """Which cells PLY can hold (None: all), and these."""
    cells = mesh.cells.apply(lambda x: x.cpu())
    can = torch.isin(cells.types, torch.tensor(_HELD, dtype=torch.uint8, device="cpu"))
    held = None if bool(can.all()) else torch.nonzero(can)[:, 0]
    if held is not None:
        for name, count in cells.take(torch.nonzero(~can)[:, 0]).counts.items():
            ledger.dropped("cells", name, count, "PLY has lines, polygons and strips only")
        cells = cells.take(held)
    keep_cells(cells, ledger)
    return held, cells


def _columns(
    mesh: Mesh,
    home: str,
    rows: Tensor | None,
    said: list[dict[str, Any]],
    ledger: Ledger,
) -> dict[str, NDArray[Any]]:
    """The columns of all fields of points or cells that PLY can hold; `said` tells of them."""
    columns: dict[str, NDArray[Any]] = {}
    for path, x in leaves(getattr(mesh, home)):
        where = f"{home}/{'/'.join(path)}"
        x = x.detach().cpu()
        x = x if rows is None else take(x, rows)
        numbers, reason = _numbers(x)
        if numbers is None:
            ledger.dropped("field", where, len(x), reason)
            continue
        width = numbers.shape[1]
        names = _names(path, width, columns)
        columns |= {name: numbers[:, i].numpy() for i, name in enumerate(names)}
        said.append(
            {
                "home": home,
                "path": list(path),
                "names": names,
                "dtype": _name(x.dtype),
                "shape": list(x.shape[1:]),
            }
        )
        ledger.kept("field", where, len(x))
    return columns


def _numbers(x: Tensor) -> tuple[Tensor | None, str]:
    """A field as numbers [n, c] of a type that PLY has; None and why where it has none."""
    width = int(np.prod(x.shape[1:] or (1,)))
    if x.is_complex():
        return None, "PLY has no complex numbers"
    if x.dtype in _NATIVE:
        made = x
    elif x.dtype == torch.bool:
        made = x.to(torch.uint8)
    elif x.is_floating_point():
        made = x.to(torch.float32)
        if not torch.equal(as_bits(made.to(x.dtype)), as_bits(x)):
            return None, f"PLY has no {_name(x.dtype)}, and float32 would change its NaNs"
    else:
        flat = x.reshape(-1).numpy()
        low, high = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
        if low >= -(2**31) and high < 2**31:
            made = torch.from_numpy(flat.astype(np.int32))
        elif low >= 0 and high < 2**32:
            made = torch.from_numpy(flat.astype(np.uint32))
        else:
            return None, f"PLY has integers of 32 bits, values go from {low} to {high}"
    return made.reshape(len(x), width), ""


def _names(path: tuple[str, ...], width: int, taken: Mapping[str, Any]) -> list[str]:
    """Property names for the components of a field, unique and without blanks."""
    known = _KNOWN.get((path[0], width)) if len(path) == 1 else None
    if known is not None and not any(name in taken for name in known):
        return list(known)
    base = re.sub(r"[^A-Za-z0-9_.:+-]", "_", "_".join(path)) or "field"
    stem, i = base, 1
    while True:
        names = [stem] if width == 1 else [f"{stem}_{k}" for k in range(width)]
        if not any(name in taken or name in _RESERVED for name in names):
            return names
        i += 1
        stem = f"{base}_{i}"


def _lose_the_rest(mesh: Mesh, ledger: Ledger) -> None:
    for region in mesh.regions:
        ledger.dropped("region", region.name, len(region), "PLY has no regions")
    lose_faces(mesh, ledger, "PLY has no place for a mesh's own faces")
    lose_fields(mesh, ledger, "PLY holds data of points and cells", ("face_data", "global_data"))
    if mesh.cells.degrees is not None:
        ledger.dropped("cells", "degrees", mesh.n_cells, "PLY has no high-order cells")


def _cell_tables(cells: Cells, columns: dict[str, NDArray[Any]]) -> dict[str, Table]:
    """The elements that hold the cells, each with its rows of the columns."""
    types = cells.types.numpy()
    sizes = cells.sizes.long().numpy()
    element = np.zeros(256, np.int64)
    for i, numbers in enumerate(_ELEMENTS.values()):
        element[list(numbers)] = i
    order = np.argsort(element[types], kind="stable")
    mixed = bool((order != np.arange(len(order))).any())
    usual = np.full(256, POLYGON, np.uint8)
    for size, number in TYPE_OF_SIZE.items():
        usual[size] = number
    tables = {}
    for i, name in enumerate(_ELEMENTS):
        which = order[element[types][order] == i]
        if len(which) == 0:
            continue
        part = cells.take(torch.from_numpy(which))
        ids = part.connectivity.numpy().astype(np.int32)
        own = types[which]
        table = Table(len(which))
        if name == "edge":
            table.columns |= {"vertex1": ids[0::2], "vertex2": ids[1::2]}
        else:
            key = "vertex_indices"
            ids = _rings(ids, own, sizes[which])
            table.lists = VertexLists(key, sizes[which], ids)
        table.columns |= {key: values[which] for key, values in columns.items()}
        if name == "face" and (own != usual[np.minimum(sizes[which], 255)]).any():
            table.columns[TYPE] = own
        if mixed:
            table.columns[PLACE] = which.astype(np.int32)
        tables[name] = table
    return tables


def _rings(
    ids: NDArray[np.int32], types: NDArray[np.uint8], sizes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Pixels as rings: others know no pixel."""
    third = (np.cumsum(sizes) - sizes)[types == _PIXEL] + 2
    ids = ids.copy()
    ids[third], ids[third + 1] = ids[third + 1], ids[third]
    return ids


def _header(
    mesh: Mesh,
    path: Path,
    cells: Cells,
    tables: Mapping[str, Table],
    said: list[dict[str, Any]],
) -> bytes:
    """The header with the comments that say what was what."""
    keys = {(f["home"], *f["path"]) for f in said}
    info = mesh.info.to_json()
    info["fields"] = [[key, known] for key, known in info["fields"] if tuple(key) in keys]
    del info["source"], info["report"]
    note = {
        "points": [mesh.points.shape[1], _name(mesh.points.dtype)],
        "ids": [_name(x.dtype) for x in (cells.offsets, cells.connectivity)],
        "fields": said,
        "info": info,
    }
    try:
        comments = list(comments_of(note))
    except (TypeError, ValueError) as why:
        raise WriteError(path, f"info holds what JSON cannot: {why}") from None
    lines = ["ply", "format binary_little_endian 1.0", f"comment {WRITTEN_BY}"]
    for text in comments_said(mesh):
        lines.append(text if text.startswith("obj_info ") else f"comment {text}")
    lines += [f"comment {piece}" for piece in comments]
    for name, table in tables.items():
        lines += [f"element {name} {table.n}", *table.properties()]
    return "\n".join([*lines, "end_header", ""]).encode("utf-8", "surrogatepass")
