"""What VTK has no place for, in arrays it can carry, and a note that says what is where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.celltypes import cell_type
from meshkit.errors import MeshError, ReadError
from meshkit.fields import as_bits, decode_texts, leaves
from meshkit.info import FieldInfo
from meshkit.mesh import Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.vtk.arrays import ROLES, VtkArray, VtkData, json_array, json_of, tensor_of
from meshkit.readers.vtk.foreign import field_of
from meshkit.readers.vtk.seals import need_seals, same_cells, sealed, sums
from meshkit.report import Ledger
from meshkit.view import mesh_of, parts_of, plain_name

DEGREES: Final = "HigherOrderDegrees"
MARKER: Final = "meshkit_format"
_PREFIX: Final = "meshkit_"
_VERSION: Final = 2
_UNSEALED: Final = 1  # the version before, whose notes have no checksums of their own
_HOMES: Final = ("point_data", "cell_data", "global_data")

# VTK has these numbers from torch as they are; the rest goes in a wider or split form.
_NATIVE: Final = frozenset(
    {
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    }
)


def from_mesh(mesh: Mesh, ledger: Ledger) -> VtkData:
    """The data set of a mesh; `to_mesh` gives the same mesh back, bit for bit.

    What VTK has no place for (regions, faces, names of parts, 2-D points, dtypes, nesting) rides
    in field arrays whose names begin with "meshkit_"; `meshkit_format` says what is where. Any
    other reader sees the points, the cells and every field: in VTK's numbers, texts as texts,
    names of nested fields joined by "/", all components in one row.

    Raises:
        MeshError: info or a region is not JSON, or a tensor is sparse or quantized.
    """
    flat, meta = parts_of(mesh)
    for path, x in flat.items():
        if x.layout != torch.strided or x.is_quantized:
            kind = "quantized" if x.is_quantized else str(x.layout)
            raise MeshError(f"{'/'.join(path)} is {kind}, expected a dense tensor")
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
            rider: dict[str, VtkArray] = {}
            row = _carried(path, x, rider, "/".join(path), FieldInfo(), rows=False)
            riders |= {_PREFIX + name: array for name, array in rider.items()}
            row["name"] = _PREFIX + row["name"]
        else:
            own = tuple(map(plain_name, path[1:]))
            info = mesh.info.field(home, *own)
            rows = home != "global_data"
            row = _carried(path, x, homes[home], "/".join(own), info, rows=rows)
            ledger.kept("field", f"{home}/{'/'.join(own)}", len(x) if x.ndim else 1)
        table.append({"home": home, **row})
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region), "in meshkit's own arrays")
    data, cell_table = _geometry(mesh, riders, homes["cell_data"], ledger)
    note = {
        "version": _VERSION,
        "parts": meta,
        "arrays": table,
        "cells": cell_table,
        "points": [mesh.points.shape[1], _dtype_name(mesh.points.dtype)],
        **sums(data, cell_table, riders),
    }
    data.point_arrays |= homes["point_data"]
    data.cell_arrays |= homes["cell_data"]
    data.field_arrays = {**homes["global_data"], **riders}
    if mesh.info.time is not None and "TimeValue" not in data.field_arrays:
        # Only for other readers: ours finds the time in the note.
        data.field_arrays["TimeValue"] = VtkArray(np.array([[mesh.info.time]]))
        table.append({"home": "global_data", "name": "TimeValue", "path": None})
    try:
        data.field_arrays[MARKER] = json_array(sealed(note))
    except (TypeError, ValueError, RecursionError) as why:
        raise MeshError(f"info or a region holds what JSON cannot: {why}") from None
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
    unique = _free_name(name, into)
    how: dict[str, Any] = {
        "name": unique,
        "path": list(path),
        "dtype": _dtype_name(x.dtype),
        "shape": list(x.shape[1:] if rows else x.shape),
    }
    x = _plain(x)
    role = info.kind if info.kind in ROLES else None
    words = info.vocabulary
    if words is not None and _as_texts(x, words):
        how["texts"] = list(words)
        into[unique] = VtkArray(decode_texts(x.cpu(), words), role)
        return how
    if x.numel() == 0 and (not rows or x.shape[0]):
        how["empty"] = True  # VTK has no array without components
        return how
    numbers = _numbers(x, rows)
    if x.dtype not in _NATIVE and not _same_bits(_from_numbers(tensor_of(numbers), x.dtype), x):
        # NaNs of a short type change on the way through float32: the bits go instead.
        how["bits"] = True
        numbers = _numbers(as_bits(x.contiguous()), rows)
    into[unique] = VtkArray(numbers, role, info.components, info.unit)
    return how


def _free_name(name: str, taken: Mapping[str, VtkArray]) -> str:
    """The name, or one like it that is free and is not one of our own."""
    wanted = f"field {name}" if name.startswith(_PREFIX) else name
    unique, i = wanted, 1
    while unique in taken:
        i += 1
        unique = f"{wanted} ({i})"
    return unique


def _as_texts(codes: Tensor, words: tuple[str, ...]) -> bool:
    """Whether the codes can go as texts and be found again."""
    if codes.ndim != 1 or codes.is_floating_point() or len(set(words)) < len(words):
        return False
    if len(codes) == 0:
        return True
    low, high = int(codes.min()), int(codes.max())
    return low >= -1 and high < len(words) and not (low < 0 and "" in words)


def _same_bits(x: Tensor, y: Tensor) -> bool:
    return torch.equal(as_bits(x.reshape(-1)), as_bits(y.detach().cpu().reshape(-1)))


def _from_numbers(x: Tensor, dtype: torch.dtype) -> Tensor:
    """VTK's numbers as the dtype they were, flat."""
    if x.numel() == 0:
        return torch.empty(0, dtype=dtype, device="cpu")
    if dtype.is_complex:
        real = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype)
        return torch.view_as_complex(x.reshape(-1, 2).to(real or torch.float16))
    if dtype == torch.bool:
        return x.reshape(-1).view(torch.bool)
    return x.reshape(-1).to(dtype)


def _plain(x: Tensor) -> Tensor:
    """The values alone, as memory has them: no gradient, no pending conjugate or sign."""
    return x.detach().resolve_conj().resolve_neg()


def _numbers(x: Tensor, rows: bool) -> NDArray[Any]:
    """A tensor as VTK's numbers [n, c]."""
    x = _plain(x)
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
    mesh: Mesh, riders: dict[str, VtkArray], fields: Mapping[str, VtkArray], ledger: Ledger
) -> tuple[VtkData, dict[str, Any]]:
    """Points and cells in VTK's form; what of them is not VTK's goes among the riders."""
    points = _plain(mesh.points)
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
        parts = (solid.faces, solid.offsets, solid.connectivity)
        how["polyhedra"] = [_dtype_name(x.dtype) for x in parts]
    data = VtkData(points.contiguous().cpu().numpy(), types, offsets, connectivity, polyhedra)
    if cells.degrees is not None:
        name = _free_name(DEGREES, fields)
        how["degrees"] = [name, _dtype_name(cells.degrees.dtype)]
        data.cell_arrays[name] = VtkArray(_numbers(cells.degrees, True), "degrees")
    return data, how


def _ids(x: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = _plain(x).contiguous().cpu().numpy()
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


def mesh_of_ours(data: VtkData, note: VtkArray, path: Path, ledger: Ledger) -> Mesh | None:
    """The mesh that meshkit wrote; None where another program has changed its cells since."""
    try:
        said = json_of(note)
        version = said["version"]
        if version not in (_VERSION, _UNSEALED):
            raise ReadError(
                path,
                f"written by a newer meshkit (version {version} of its arrays)",
                place=f"field array {MARKER!r}",
                expected=f"version {_VERSION}",
                hint="update meshkit",
            )
        if version != _UNSEALED:
            need_seals(data, said)
        if not same_cells(data, said):
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
        if version == _UNSEALED:
            need_structure(mesh)
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
    points = tensor_of(data.points[:, :d]).to(getattr(torch, dtype))
    flat: dict[tuple[str, ...], Tensor] = {("points",): points}
    for how in said["arrays"]:
        arrays, rows = homes[how["home"] or "global_data"]
        array = arrays.pop(how["name"], None)
        if how["path"] is not None:
            flat[tuple(how["path"])] = _got_back(array, how, rows)
    flat |= _cells_back(data, said["cells"])
    for name in said["cells"].get("degrees", [])[:1]:
        homes["cell_data"][0].pop(name, None)
    mesh = mesh_of(flat, said["parts"])
    more: dict[str, dict[str, Tensor]] = {}
    known: dict[tuple[str, ...], FieldInfo] = {}
    for home, (arrays, _) in homes.items():
        # What another program has added since.
        for name, array in arrays.items():
            if home == "global_data" and name.startswith(_PREFIX):
                continue
            more.setdefault(home, {})[name], known[home, name] = field_of(array)
    mesh = mesh.with_data(
        more.get("point_data"), more.get("cell_data"), None, more.get("global_data")
    )
    return mesh.replace(info=mesh.info.with_fields(known))


def _got_back(array: VtkArray | None, how: dict[str, Any], rows: int | None) -> Tensor:
    dtype = getattr(torch, how["dtype"])
    shape = how["shape"] if rows is None or how["home"] is None else [rows, *how["shape"]]
    if how.get("empty"):
        return torch.zeros(shape, dtype=dtype, device="cpu")
    if array is None:
        raise KeyError(f"array {how['name']!r} is missing")
    if isinstance(array.values, list):
        place = {word: i for i, word in enumerate(how["texts"])}
        codes = [place.get(text, -1) for text in array.values]
        return torch.tensor(codes, dtype=torch.int64, device="cpu").to(dtype).reshape(shape)
    x = tensor_of(array.values)
    if how.get("bits"):
        return x.reshape(-1).view(dtype).reshape(shape)
    return _from_numbers(x, dtype).reshape(shape)


def _cells_back(data: VtkData, how: dict[str, Any]) -> dict[tuple[str, ...], Tensor]:
    def own(name: str) -> Tensor:
        values = data.field_arrays[f"{_PREFIX}cells/{name}"].values
        return tensor_of(np.asarray(values).reshape(-1))

    if how.get("own"):
        types, offsets, ids = own("types"), own("offsets"), own("connectivity")
    else:
        types, offsets, ids = (tensor_of(x) for x in (data.types, data.offsets, data.connectivity))
    flat: dict[tuple[str, ...], Tensor] = {
        ("cells", "types"): types.to(torch.uint8),
        ("cells", "offsets"): offsets.to(getattr(torch, how["offsets"])),
        ("cells", "connectivity"): ids.to(getattr(torch, how["connectivity"])),
    }
    if data.polyhedra is not None:
        names = ("faces", "offsets", "connectivity")
        for name, part, dtype in zip(names, data.polyhedra, how["polyhedra"], strict=True):
            flat["cells", "polyhedra", name] = tensor_of(part).to(getattr(torch, dtype))
    if "degrees" in how:
        name, dtype = how["degrees"]
        values = torch.from_numpy(np.asarray(data.cell_arrays[name].values))
        flat["cells", "degrees"] = values.to(getattr(torch, dtype))
    return flat
