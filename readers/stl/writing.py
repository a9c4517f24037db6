"""STL files out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.celltypes import cell_type
from meshkit.mesh import Mesh
from meshkit.readers.accounting import lose_faces, lose_fields, lose_info
from meshkit.readers.stl.soup import FACET, HEADER, disagreeing, merged, right_hand
from meshkit.readers.stl.text import write_text
from meshkit.report import Ledger
from meshkit.words import BLANKS

_TRIANGLE: Final = cell_type("triangle").number


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Write the triangles: binary, or text where binary would lose what text can hold.

    Text holds solids (cell regions of kind "solid" that together are all cells, each once) and
    float64 coordinates; binary holds a header and the cell field "attribute" (uint16). Both hold
    the cell field "normals".
    """
    cells, ids = _triangles(mesh, ledger)
    solids = _solids(mesh, ledger)
    points = _points(mesh, ids, ledger)
    exact = points.dtype == np.float32 or _fits_float32(points)
    text = bool(solids) or not exact
    if text and points.dtype == np.float32:
        ledger.converted("points", "", len(points), "float32 as decimals, read as float64")
    elif not text and points.dtype == np.float64:
        ledger.converted("points", "", len(points), "float64 that float32 holds exactly")
    if solids:
        order = np.concatenate([members for _, members in solids])
        if (np.diff(order) < 0).any():
            ledger.converted("cells", "triangle", len(order), "grouped by solid")
        place = np.full(mesh.n_cells, -1)
        place[cells] = np.arange(len(cells))
        ids = ids[place[order]]
        cells = order
    _note_order(mesh, points, ids, ledger)
    normals = _normals(mesh, cells, points[ids], text, ledger)
    attribute = _attribute(mesh, cells, text, ledger)
    header = _header(mesh, text, ledger)
    held = {"cell_data/normals"} if normals is not None else set()
    if attribute is not None:
        held.add("cell_data/attribute")
    if not text and header:
        ledger.kept("info", "attributes/header", 1)
    lose_fields(mesh, ledger, "STL has no such field", held=held)
    lose_faces(mesh, ledger, "STL has no faces beside its triangles")
    lose_info(mesh, ledger, "STL has no place for it", {"attributes/header"})
    ledger.settle()
    corners = points[ids]
    stored = right_hand(corners) if normals is None else normals
    if text:
        write_text(path, corners, stored, solids)
    else:
        table = np.zeros(len(corners), FACET)
        table["corners"], table["normal"] = corners, stored
        if attribute is not None:
            table["attribute"] = attribute
        count = len(table).to_bytes(4, "little")
        path.write_bytes(header.ljust(HEADER, b"\0") + count + table.tobytes())


def _fits_float32(values: NDArray[Any]) -> bool:
    """Whether float32 holds every number exactly; any NaN is as good as another."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = values.astype(np.float32)
    return bool(((narrow == values) | np.isnan(values)).all())


def _triangles(mesh: Mesh, ledger: Ledger) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which cells are triangles, and their points; the others are lost."""
    for name, count in mesh.cells.counts.items():
        if name == "triangle":
            ledger.kept("cells", name, count)
            continue
        ledger.dropped("cells", name, count, f"STL holds triangles only; {_what_to_do(name)}")
    ids, connectivity = mesh.cells.block("triangle")
    return ids.cpu().numpy(), connectivity.long().cpu().numpy()


def _what_to_do(name: str) -> str:
    """Which operators make triangles of cells of a type."""
    dim = None if name.isdigit() else cell_type(name).dim
    if dim == 3:
        return "operators.simplices(operators.boundary(mesh)) makes triangles of solids"
    if dim == 2:
        return "operators.simplices(mesh) makes triangles of them"
    return "no operator makes triangles of them"


def _points(mesh: Mesh, ids: NDArray[np.int64], ledger: Ledger) -> NDArray[Any]:
    """Points as STL takes them: 3-D, float32 or float64."""
    points = mesh.points.detach().cpu()
    if points.dtype not in (torch.float32, torch.float64):
        ledger.converted("points", "", len(points), f"{points.dtype} as float32")
        points = points.float()
    array: NDArray[Any] = points.numpy()
    if array.shape[1] < 3:
        reason = f"{array.shape[1]}-D as 3-D, zeros added"
        ledger.converted("points", "", len(array), reason)
        array = np.pad(array, ((0, 0), (0, 3 - array.shape[1])))
    return array


def _note_order(mesh: Mesh, points: NDArray[Any], ids: NDArray[Any], ledger: Ledger) -> None:
    """Count what becomes of points that a file of triangles cannot name."""
    used = np.zeros(len(points), bool)
    used[ids] = True
    ledger.kept("points", "", int(used.sum()))
    if not used.all():
        reason = "no triangle uses them"
        ledger.dropped("points", "unused", int((~used).sum()), reason)
    flat = ids.reshape(-1)
    first = flat[np.sort(np.unique(flat, return_index=True)[1])]
    if (np.diff(first) < 0).any():
        ledger.converted("points", "", len(first), "numbered by first appearance")
    back, _ = merged(points[first])
    if len(back) < len(first):
        reason = "equal to others, which reading merges"
        ledger.converted("points", "", len(first) - len(back), reason)
    again = len(flat) - len(first)
    if again and np.isnan(points[first]).any():
        nowhere = int(np.isnan(points[flat]).any(1).sum() - np.isnan(points[first]).any(1).sum())
        if nowhere:
            reason = "NaN is equal to nothing: reading gives each corner a point of its own"
            ledger.converted("points", "", nowhere, reason)
    minus = int(((points[first] == 0) & np.signbit(points[first])).sum())
    if minus:
        ledger.converted("points", "", minus, "-0.0 is read as 0.0")


def _normals(
    mesh: Mesh, cells: NDArray[Any], corners: NDArray[Any], text: bool, ledger: Ledger
) -> NDArray[Any] | None:
    """The cell field "normals" where the file can hold it."""
    field = mesh.cell_data.get("normals", None)
    if not isinstance(field, torch.Tensor) or field.shape[1:] != (3,):
        return None
    if field.dtype not in (torch.float32, torch.float64):
        return None
    array: NDArray[Any] = field.detach().cpu().numpy()[cells]
    if not text and not _fits_float32(array):
        return None
    if not disagreeing(array, corners).any():
        reason = "they follow from the corners, and reading leaves them out"
        ledger.converted("field", "cell_data/normals", len(array), reason)
    else:
        ledger.kept("field", "cell_data/normals", len(array))
    return array


def _attribute(mesh: Mesh, cells: NDArray[Any], text: bool, ledger: Ledger) -> NDArray[Any] | None:
    field = mesh.cell_data.get("attribute", None)
    if text or not isinstance(field, torch.Tensor) or field.dtype != torch.uint16 or field.ndim > 1:
        return None
    array: NDArray[Any] = field.detach().cpu().numpy()[cells]
    if array.any():
        ledger.kept("field", "cell_data/attribute", len(cells))
    else:
        ledger.converted("field", "cell_data/attribute", len(cells), "all 0, as without it")
    return array


def _header(mesh: Mesh, text: bool, ledger: Ledger) -> bytes:
    given = mesh.info.attributes.get("header")
    if given is None:
        return b""
    try:
        header = given.encode("latin-1") if isinstance(given, str) else b"?" * (HEADER + 1)
    except UnicodeEncodeError:
        header = b"?" * (HEADER + 1)
    if text or len(header) > HEADER or header != header.rstrip(b"\0 "):
        reason = "text has no header" if text else f"no {HEADER} bytes of Latin-1"
        ledger.dropped("info", "attributes/header", 1, reason)
        return b""
    return header


# Line ends, lone surrogates (which no encoding has), and what would read as the first facet.
_UNWRITABLE: Final = re.compile("[\r\n\0\ud800-\udfff]|\\bfacet\\s+normal\\b", re.IGNORECASE)


def _solids(mesh: Mesh, ledger: Ledger) -> list[tuple[str, NDArray[Any]]]:
    """Cell regions as solids, where together they are all triangles, each once."""
    cell_regions = [r for r in mesh.regions if r.entity == "cell"]
    for region in mesh.regions:
        if region.entity != "cell":
            reason = f"STL has no regions of {region.entity}s"
            ledger.dropped("region", region.name, len(region), reason)
    if not cell_regions:
        return []
    wanted = np.flatnonzero((mesh.cells.types == _TRIANGLE).cpu().numpy())
    members = [r.ids.cpu().numpy() for r in cell_regions]
    if not np.array_equal(np.sort(np.concatenate(members)), wanted):
        for region in cell_regions:
            reason = "regions are no solids: not every triangle is in exactly one"
            ledger.dropped("region", region.name, len(region), reason)
        return []
    solids = []
    for region, ids in zip(cell_regions, members, strict=True):
        name = region.name
        if not name or name != name.strip(BLANKS) or _UNWRITABLE.search(name):
            ledger.dropped("region", name, len(region), "no name that a solid can have")
            name = ""
        elif region.kind is None:
            ledger.converted("region", name, len(region), "of no kind, read as kind 'solid'")
        else:
            ledger.kept("region", name, len(region))
        known = {
            "kind": None if region.kind == "solid" else region.kind,
            "data": region.data,
            "attributes": region.attributes or None,
            "source_id": region.source_id,
            "parent": region.parent,
        }
        for part, value in known.items():
            if value is not None:
                ledger.dropped("region", f"{region.name}: {part}", 1, "a solid has a name only")
        solids.append((name, ids))
    return solids
