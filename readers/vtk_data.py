"""A VTK dataset as plain arrays: what every VTK file format can carry, and no more.

The XML formats (through vtk's classes), the legacy format (through our own parser) and pyvista
all meet here: they turn their data set into a `VtkData`, and `to_mesh` makes the mesh of it;
`from_mesh` goes the other way. So wedge order, strings, ghosts, times, units and names are
decided once.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, cell_type
from meshkit.errors import ReadError
from meshkit.fields import decode_texts, encode_texts, leaves
from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.repair.polyhedra import oriented_polyhedra
from meshkit.operators.repair.wedges import wedges_upright
from meshkit.report import Ledger
from meshkit.view import mesh_of, parts_of, plain_name


@dataclass
class VtkArray:
    """One named array: numbers [n, c] (c >= 1, native byte order), or n texts.

    `role` is the attribute it was declared as, in lower case ("scalars", "vectors", "normals",
    "tcoords", "tensors", "global_ids", "pedigree_ids", and "degrees" for the degrees [n, 3] of
    Lagrange and Bezier cells, VTK's HIGHERORDERDEGREES), `components` the names of its
    components, `unit` what an information key says of its unit.
    """

    values: NDArray[Any] | list[str]
    role: str | None = None
    components: tuple[str, ...] | None = None
    unit: str | None = None


@dataclass
class VtkData:
    """Points, cells and arrays as VTK has them: always 3-D, cells in VTK's types and order.

    `polyhedra` is (faces, offsets, connectivity) as in `meshkit.Polyhedra`. For structured data
    the cells are explicit here too (types 11 voxel / 12 hexahedron, 8 pixel / 9 quad, 3 line,
    1 vertex by dimension), and `grid` keeps the lattice.
    """

    points: NDArray[Any]  # float32 or float64 [n, 3]
    types: NDArray[np.uint8]  # [n_cells]
    offsets: NDArray[Any]  # int32 or int64 [n_cells + 1]
    connectivity: NDArray[Any]  # int32 or int64
    polyhedra: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None
    point_arrays: dict[str, VtkArray] = field(default_factory=dict)
    cell_arrays: dict[str, VtkArray] = field(default_factory=dict)
    field_arrays: dict[str, VtkArray] = field(default_factory=dict)
    grid: Grid | None = None


# What the vtk classes call an array's attribute, and what FieldInfo.kind says.
ROLES: Final = frozenset(
    {"scalars", "vectors", "normals", "tcoords", "tensors", "global_ids", "pedigree_ids"}
)
DEGREES: Final = "HigherOrderDegrees"
MARKER: Final = "meshkit_format"
_PREFIX: Final = "meshkit_"
_VERSION: Final = 1
_HOMES: Final = ("point_data", "cell_data", "global_data")

# VTK has these numbers from torch as they are; the rest goes in a wider or split form.
_NATIVE: Final = frozenset(
    {
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    }
)


def to_mesh(data: VtkData, path: Path, ledger: Ledger) -> Mesh:
    """The mesh of a VTK data set.

    A data set that meshkit wrote is given back as it was. In any other, wedges whose majority
    is inside out are reordered (VTK up to 9.6 and from 9.7 disagree, and no file says which it
    is), polyhedra get consistent outward faces, texts become codes with a vocabulary, an array
    of one component becomes [n] and of c components [n, c], and the field `TimeValue` is also
    `info.time`. Everything is counted in the ledger.

    Raises:
        ReadError: counts, offsets, ids or types contradict each other.
    """
    _refuse_unsound(data, path)
    note = data.field_arrays.get(MARKER)
    if note is not None:
        written = _marked(data, note, path, ledger)
        if written is not None:
            return written
    return _foreign(data, ledger)


def _refuse_unsound(data: VtkData, path: Path) -> None:
    """One line for the first thing that makes the arrays no mesh."""

    def fail(problem: str, place: str, expected: str | None = None) -> ReadError:
        return ReadError(path, problem, place=place, expected=expected)

    n_points, n_cells = len(data.points), len(data.types)
    for place, offsets, end in (
        ("cells", data.offsets, len(data.connectivity)),
        *(
            (
                ("polyhedra", data.polyhedra[0], len(data.polyhedra[1]) - 1),
                ("faces of polyhedra", data.polyhedra[1], len(data.polyhedra[2])),
            )
            if data.polyhedra is not None
            else ()
        ),
    ):
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
            raise fail("offsets do not span what they point into", place, f"0 to {end}")
        if (np.diff(offsets) < 0).any():
            at = int(np.argmax(np.diff(offsets) < 0))
            raise fail(f"offsets descend at {at}", place)
    if len(data.offsets) != n_cells + 1:
        raise fail(f"{len(data.offsets) - 1} cells have offsets", "cells", f"{n_cells}")
    if n_cells:
        for number, size in _distinct_sizes(data):
            row = CELL_TYPES.get(number)
            if row is None:
                raise fail(f"unknown cell type {number}", "cells", "a type number of VTK 9.7")
            if row.size is not None and row.size != size:
                raise fail(f"a {row.name} of {size} points", "cells", f"{row.size}")
    ids = [("cells", data.connectivity)]
    if data.polyhedra is not None:
        ids.append(("faces of polyhedra", data.polyhedra[2]))
    for place, used in ids:
        if len(used) and (used.min() < 0 or used.max() >= n_points):
            bad = int(used.min()) if used.min() < 0 else int(used.max())
            raise fail(f"point id {bad}", place, f"ids from 0 to {n_points - 1}")
    wanted = int((data.types == POLYHEDRON).sum())
    found = 0 if data.polyhedra is None else len(data.polyhedra[0]) - 1
    if wanted != found:
        raise fail(f"{found} polyhedra have faces", "cells", f"{wanted}")
    for home, arrays, rows in (
        ("point", data.point_arrays, n_points),
        ("cell", data.cell_arrays, n_cells),
    ):
        for name, array in arrays.items():
            if len(array.values) != rows:
                raise fail(f"{len(array.values)} rows", f"{home} array {name!r}", f"{rows}")


def _distinct_sizes(data: VtkData) -> list[tuple[int, int]]:
    """Each (type, size) that occurs."""
    sizes = np.diff(data.offsets).astype(np.int64)
    width = int(sizes.max()) + 1
    keys = np.unique(data.types.astype(np.int64) * width + sizes)
    return [divmod(int(key), width) for key in keys]


def _foreign(data: VtkData, ledger: Ledger) -> Mesh:
    """A data set of someone else's."""
    points = _tensor(data.points)
    ledger.kept("points", "", len(points))
    homes = {
        "point_data": data.point_arrays,
        "cell_data": {k: v for k, v in data.cell_arrays.items() if v.role != "degrees"},
        "global_data": {k: v for k, v in data.field_arrays.items() if k != MARKER},
    }
    known: dict[tuple[str, ...], FieldInfo] = {}
    fields: dict[str, dict[str, Tensor]] = {}
    for home, arrays in homes.items():
        fields[home] = {}
        for name, array in arrays.items():
            fields[home][name], info = _field(array)
            if info != FieldInfo():
                known[home, name] = info
            count = len(array.values)
            if isinstance(array.values, list):
                reason = "texts as codes with a vocabulary"
                ledger.converted("field", f"{home}/{name}", count, reason)
            else:
                ledger.kept("field", f"{home}/{name}", count)
    cells = _cells(data, points, ledger)
    return make_mesh(
        points,
        cells,
        point_data=fields["point_data"],
        cell_data=fields["cell_data"],
        global_data=fields["global_data"],
        info=MeshInfo(time=_time(data), fields=known, grid=data.grid),
    )


def _time(data: VtkData) -> float | None:
    array = data.field_arrays.get("TimeValue")
    if array is None or isinstance(array.values, list) or array.values.size != 1:
        return None
    return float(array.values.reshape(-1)[0])


def _tensor(array: NDArray[Any]) -> Tensor:
    """A tensor that shares the array's memory where it can be written to."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _field(array: VtkArray) -> tuple[Tensor, FieldInfo]:
    info = FieldInfo(unit=array.unit, kind=array.role, components=array.components)
    if isinstance(array.values, list):
        codes, vocabulary = encode_texts(array.values)
        return codes, replace(info, vocabulary=vocabulary)
    values = array.values
    return _tensor(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values), info


def _cells(data: VtkData, points: Tensor, ledger: Ledger) -> Cells:
    """The cells, wedges and polyhedra put right, counted by type."""
    polyhedra = None
    if data.polyhedra is not None:
        polyhedra = Polyhedra(*(_tensor(x) for x in data.polyhedra))
    given = next((a for a in data.cell_arrays.values() if a.role == "degrees"), None)
    degrees = None
    if given is not None and not isinstance(given.values, list):
        degrees = _tensor(given.values.astype(np.uint8))
    types, ids = _tensor(data.types), _tensor(data.connectivity)
    cells = Cells(types, _tensor(data.offsets), ids, polyhedra, degrees)
    cells, turned = wedges_upright(cells, points)
    turned_types = {cell_type(number).name: n for number, n in turned.items()}
    if polyhedra is not None:
        polyhedra, oriented = oriented_polyhedra(points, polyhedra)
        if oriented:
            turned_types[cell_type(POLYHEDRON).name] = oriented
            cells = replace(cells, polyhedra=polyhedra)
    for name, count in cells.counts.items():
        ledger.kept("cells", name, count)
        if name in turned_types:
            reason = (
                "faces turned to be consistent and to point out of the cell"
                if name == "polyhedron"
                else "points reordered: most were inside out, as VTK 9.6 and before wrote them"
            )
            ledger.converted("cells", name, turned_types[name], reason)
    return cells


def from_mesh(mesh: Mesh, ledger: Ledger) -> VtkData:
    """The data set of a mesh; `to_mesh` gives the same mesh back, bit for bit.

    What VTK has no place for (regions, faces, names of parts, 2-D points, dtypes, nesting) rides
    in field arrays whose names begin with "meshkit_"; `meshkit_format` says what is where. Any
    other reader sees the points, the cells and every field: in VTK's numbers, texts as texts,
    names of nested fields joined by "/", all components in one row.
    """
    flat, meta = parts_of(mesh)
    meta["info"].pop("report")
    meta["info"].pop("source")
    homes: dict[str, dict[str, VtkArray]] = {home: {} for home in _HOMES}
    table: list[dict[str, Any]] = []
    riders: dict[str, VtkArray] = {}
    for path, x in flat.items():
        if path[0] in ("points", "cells"):
            continue
        home = path[0] if path[0] in _HOMES else None
        if home is None:
            row = _carried(path, x, riders, _PREFIX + "/".join(path), FieldInfo(), rows=False)
        else:
            own = tuple(map(plain_name, path[1:]))
            info = mesh.info.field(home, *own)
            rows = home != "global_data"
            row = _carried(path, x, homes[home], "/".join(own), info, rows=rows)
            ledger.kept("field", f"{home}/{'/'.join(own)}", len(x) if x.ndim else 1)
        table.append({"home": home, **row})
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region), "in meshkit's own arrays")
    data, cell_table = _geometry(mesh, riders, ledger)
    note = {
        "version": _VERSION,
        "parts": meta,
        "arrays": table,
        "cells": cell_table,
        "points": [mesh.points.shape[1], _dtype_name(mesh.points.dtype)],
        "topology": _topology_sum(data),
    }
    text = json.dumps(note, ensure_ascii=False)
    data.point_arrays |= homes["point_data"]
    data.cell_arrays |= homes["cell_data"]
    data.field_arrays = {**homes["global_data"], **riders, MARKER: VtkArray([text])}
    if mesh.info.time is not None and "TimeValue" not in data.field_arrays:
        # Only for other readers: ours finds the time in the note.
        data.field_arrays["TimeValue"] = VtkArray(np.array([[mesh.info.time]]))
        table.append({"home": "global_data", "name": "TimeValue", "path": None})
        note["arrays"] = table
        data.field_arrays[MARKER] = VtkArray([json.dumps(note, ensure_ascii=False)])
    data.grid = mesh.info.grid
    return data


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _carried(
    path: tuple[str, ...],
    x: Tensor,
    into: dict[str, VtkArray],
    name: str,
    info: FieldInfo,
    *,
    rows: bool,
) -> dict[str, Any]:
    """Put one tensor among the arrays and say how to get it back."""
    unique, i = name, 1
    while unique in into or (unique.startswith(_PREFIX) and rows) or unique == MARKER:
        unique, i = f"{name} ({i})", i + 1
        if rows and unique.startswith(_PREFIX):
            unique = f"field {unique}"
    how: dict[str, Any] = {
        "name": unique,
        "path": list(path),
        "dtype": _dtype_name(x.dtype),
        "shape": list(x.shape[1:] if rows else x.shape),
    }
    role = info.kind if info.kind in ROLES else None
    words = info.vocabulary
    if words is not None and _as_texts(x, words):
        how["texts"] = list(words)
        into[unique] = VtkArray(decode_texts(x.cpu(), words), role)
        return how
    if x.numel() == 0 and (not rows or x.shape[0]):
        how["empty"] = True  # VTK has no array without components
        return how
    into[unique] = VtkArray(_numbers(x, rows), role, info.components, info.unit)
    return how


def _as_texts(codes: Tensor, words: tuple[str, ...]) -> bool:
    """Whether the codes can go as texts and be found again."""
    if codes.ndim != 1 or codes.is_floating_point() or len(set(words)) < len(words):
        return False
    if len(codes) == 0:
        return True
    low, high = int(codes.min()), int(codes.max())
    return low >= -1 and high < len(words) and not (low < 0 and "" in words)


def _numbers(x: Tensor, rows: bool) -> NDArray[Any]:
    """A tensor as VTK's numbers [n, c]."""
    x = x.detach().resolve_conj().resolve_neg()
    if x.is_complex():
        x = torch.view_as_real(x)
    if x.dtype == torch.bool:
        x = x.view(torch.uint8)
    elif x.dtype not in _NATIVE:
        x = x.to(torch.float32)
    n = x.shape[0] if x.ndim else 1
    array: NDArray[Any] = x.contiguous().cpu().numpy()
    width = x.numel() // n if n else int(np.prod(x.shape[1:] or (1,)))
    return array.reshape(n, max(width, 1))


def _geometry(
    mesh: Mesh, riders: dict[str, VtkArray], ledger: Ledger
) -> tuple[VtkData, dict[str, Any]]:
    """Points and cells in VTK's form; what of them is not VTK's goes among the riders."""
    points = mesh.points.detach()
    if points.dtype not in (torch.float32, torch.float64):
        ledger.converted("points", "", len(points), f"{_dtype_name(points.dtype)} as float32")
        points = points.float()
    if points.shape[1] < 3:
        ledger.converted("points", "", len(points), f"{points.shape[1]}-D as 3-D, zeros added")
        points = torch.nn.functional.pad(points, (0, 3 - points.shape[1]))
    else:
        ledger.kept("points", "", len(points))
    cells = mesh.cells
    for name, count in cells.counts.items():
        ledger.kept("cells", name, count)
    arrays = [_ids(x) for x in (cells.types, cells.offsets, cells.connectivity)]
    types, offsets, connectivity = arrays
    how: dict[str, Any] = {
        "offsets": _dtype_name(cells.offsets.dtype),
        "connectivity": _dtype_name(cells.connectivity.dtype),
    }
    if any(number in _BASE for number in cells.present):
        for name, array in zip(("types", "offsets", "connectivity"), arrays, strict=True):
            riders[f"{_PREFIX}cells/{name}"] = VtkArray(array.reshape(-1, 1))
        how["own"] = True
        types, offsets, connectivity = _in_vtk_types(types, offsets, connectivity, ledger)
    polyhedra = None
    if cells.polyhedra is not None:
        solid = cells.polyhedra
        polyhedra = (_ids(solid.faces), _ids(solid.offsets), _ids(solid.connectivity))
        how["polyhedra"] = [_dtype_name(x.dtype) for x in solid_parts(solid)]
    data = VtkData(points.contiguous().cpu().numpy(), types, offsets, connectivity, polyhedra)
    if cells.degrees is not None:
        how["degrees"] = _dtype_name(cells.degrees.dtype)
        data.cell_arrays[DEGREES] = VtkArray(_numbers(cells.degrees, True), "degrees")
    return data, how


def solid_parts(polyhedra: Polyhedra) -> tuple[Tensor, Tensor, Tensor]:
    """The three tensors of polyhedra, in the order `VtkData` has them."""
    return (polyhedra.faces, polyhedra.offsets, polyhedra.connectivity)


def _ids(x: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = x.contiguous().cpu().numpy()
    return array


# Our own types, and the VTK type that shares their first points.
_BASE: Final = {200: 24, 201: 27}


def _in_vtk_types(
    types: NDArray[Any], offsets: NDArray[Any], connectivity: NDArray[Any], ledger: Ledger
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The same cells with our types as the VTK type of their first points."""
    types, sizes = types.copy(), np.diff(offsets)
    for own, base in _BASE.items():
        which = types == own
        if which.any():
            row = cell_type(base)
            reason = f"other readers see a {row.name} of its first {row.size} points"
            ledger.converted("cells", cell_type(own).name, int(which.sum()), reason)
            types[which] = base
            sizes[which] = row.size
    new = np.concatenate([offsets[:1], np.cumsum(sizes, dtype=offsets.dtype)])
    row_of = np.repeat(np.arange(len(types)), sizes)
    places = np.arange(new[-1]) - new[:-1][row_of] + offsets[:-1][row_of]
    return types, new, connectivity[places]


def _topology_sum(data: VtkData) -> int:
    """A checksum of the cells: has another program changed them since?"""
    total = 0
    for array in (data.types, data.offsets, data.connectivity):
        total = zlib.crc32(np.ascontiguousarray(array, dtype=np.int64).data.cast("B"), total)
    return total


def _marked(data: VtkData, note: VtkArray, path: Path, ledger: Ledger) -> Mesh | None:
    """The mesh that meshkit wrote; None where another program has changed its cells since."""
    try:
        said = json.loads(note.values[0])
        version = said["version"]
        if version != _VERSION:
            raise ReadError(
                path,
                f"written by a newer meshkit (version {version} of its arrays)",
                place=f"field array {MARKER!r}",
                expected=f"version {_VERSION}",
                hint="update meshkit",
            )
        if said["topology"] != _topology_sum(data):
            mine = [k for k in data.field_arrays if k.startswith(_PREFIX)]
            ledger.dropped(
                "regions",
                "",
                len(mine),
                "another program has changed the cells since meshkit wrote them",
            )
            for name in mine:
                del data.field_arrays[name]
            return None
        mesh = _restored(data, said)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as why:
        raise ReadError(
            path, f"meshkit's own arrays are damaged: {why}", place=f"field array {MARKER!r}"
        ) from None
    ledger.kept("points", "", mesh.n_points)
    for name, count in mesh.cells.counts.items():
        ledger.kept("cells", name, count)
    for home in ("point_data", "cell_data", "face_data", "global_data"):
        for at, x in leaves(getattr(mesh, home)):
            ledger.kept("field", f"{home}/{'/'.join(at)}", len(x) if x.ndim else 1)
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region))
    return mesh


def _restored(data: VtkData, said: dict[str, Any]) -> Mesh:
    homes = {
        "point_data": (dict(data.point_arrays), len(data.points)),
        "cell_data": (dict(data.cell_arrays), len(data.types)),
        "global_data": (dict(data.field_arrays), None),
    }
    d, dtype = said["points"]
    points = _tensor(data.points[:, :d]).to(getattr(torch, dtype))
    flat: dict[tuple[str, ...], Tensor] = {("points",): points}
    for how in said["arrays"]:
        arrays, rows = homes[how["home"] or "global_data"]
        array = arrays.pop(how["name"], None)
        if how["path"] is not None:
            flat[tuple(how["path"])] = _got_back(array, how, rows)
    flat |= _cells_back(data, said["cells"])
    mesh = mesh_of(flat, said["parts"])
    more: dict[str, dict[str, Tensor]] = {}
    known: dict[tuple[str, ...], FieldInfo] = {}
    for home, (arrays, _) in homes.items():
        # What another program has added since.
        for name, array in arrays.items():
            if array.role == "degrees" or (home == "global_data" and name.startswith(_PREFIX)):
                continue
            more.setdefault(home, {})[name], known[home, name] = _field(array)
    mesh = mesh.with_data(
        more.get("point_data"), more.get("cell_data"), None, more.get("global_data")
    )
    return mesh.replace(info=mesh.info.with_fields(known))


def _got_back(array: VtkArray | None, how: dict[str, Any], rows: int | None) -> Tensor:
    dtype = getattr(torch, how["dtype"])
    shape = how["shape"] if rows is None or how["home"] is None else [rows, *how["shape"]]
    if how.get("empty"):
        return torch.zeros(shape, dtype=dtype)
    if array is None:
        raise KeyError(f"array {how['name']!r} is missing")
    if isinstance(array.values, list):
        place = {word: i for i, word in enumerate(how["texts"])}
        codes = [place.get(text, -1) for text in array.values]
        return torch.tensor(codes, dtype=torch.int64).to(dtype).reshape(shape)
    x = _tensor(array.values)
    if dtype.is_complex:
        real = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype)
        parts = x.reshape(*shape, 2).to(real or torch.float16)
        return torch.view_as_complex(parts)
    if dtype == torch.bool:
        return x.view(torch.bool).reshape(shape)
    return x.to(dtype).reshape(shape)


def _cells_back(data: VtkData, how: dict[str, Any]) -> dict[tuple[str, ...], Tensor]:
    def own(name: str) -> Tensor:
        values = data.field_arrays[f"{_PREFIX}cells/{name}"].values
        return _tensor(np.asarray(values).reshape(-1))

    if how.get("own"):
        types, offsets, ids = own("types"), own("offsets"), own("connectivity")
    else:
        types, offsets, ids = (_tensor(x) for x in (data.types, data.offsets, data.connectivity))
    flat: dict[tuple[str, ...], Tensor] = {
        ("cells", "types"): types.to(torch.uint8),
        ("cells", "offsets"): offsets.to(getattr(torch, how["offsets"])),
        ("cells", "connectivity"): ids.to(getattr(torch, how["connectivity"])),
    }
    if data.polyhedra is not None:
        names = ("faces", "offsets", "connectivity")
        for name, part, dtype in zip(names, data.polyhedra, how["polyhedra"], strict=True):
            flat["cells", "polyhedra", name] = _tensor(part).to(getattr(torch, dtype))
    if "degrees" in how:
        array = next(a for a in data.cell_arrays.values() if a.role == "degrees")
        values = torch.from_numpy(np.asarray(array.values))
        flat["cells", "degrees"] = values.to(getattr(torch, how["degrees"]))
    return flat
