"""Fields of points and cells as $NodeData, $ElementData and $ElementNodeData.

A complex number is two components.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.cells import Cells
from meshkit.fields import as_bits, leaves
from meshkit.mesh import Mesh
from meshkit.readers.gmsh.elements import element_of_cell
from meshkit.readers.gmsh.packed import dtype_name
from meshkit.readers.gmsh.views import CORNER, ELEMENT, NODE
from meshkit.report import Ledger

_AT_ONCE: Final = 1 << 18
_MOST: Final = 1 << 20  # components of a row


@dataclass(frozen=True)
class Column:
    """One field as it will stand in the file.

    Args:
        kind: the section.
        name: in the file.
        values: float64, [n, components]; of corners [n_cells, widest, components].
        row: what the note says of it.
        cells: of corners, which cells they are of.
    """

    kind: str
    name: str
    values: NDArray[np.float64]
    row: dict[str, Any]
    cells: Cells | None = None


class TagsOfRows(Protocol):
    """The tags that rows go by."""

    node_tags: NDArray[Any]
    element_tags: NDArray[Any]


def columns_of(mesh: Mesh, own: Container[str], ledger: Ledger) -> list[Column]:
    """The fields of a mesh that can be written, but for those of tags and entities."""
    out: list[Column] = []
    names: set[tuple[str, str]] = set()
    for home, kind in (("point_data", NODE), ("cell_data", ELEMENT)):
        for path, x in leaves(getattr(mesh, home)):
            field = f"{home}/{'/'.join(path)}"
            if len(path) == 1 and path[0] in own:
                ledger.kept("field", field, len(x))
                continue
            corners = home == "cell_data" and _are_corners(mesh, path, x)
            section, dtype = CORNER if corners else kind, dtype_name(x.dtype)
            if x.is_complex():
                x = torch.view_as_real(x.detach().resolve_conj())
            values = _doubles(x, field, ledger)
            if values is None:
                continue
            name = _free("/".join(path), section, names)
            lead = (len(x), x.shape[1]) if corners else (len(x),)
            shaped = values.reshape(*lead, max(_width(x, len(lead)), 1))
            row = {
                "home": home,
                "name": name,
                "path": list(path),
                "dtype": dtype,
                "shape": list(x.shape[1:]),
            }
            out.append(Column(section, name, shaped, row, mesh.cells if corners else None))
    return out


def _width(x: Tensor, leading: int) -> int:
    width = 1
    for n in x.shape[leading:]:
        width *= n
    return width


def _free(name: str, section: str, names: set[tuple[str, str]]) -> str:
    """A name that gmsh reads, and that no other field of the section has."""
    plain = "".join("_" if c in '"' or ord(c) < 32 or ord(c) == 127 else c for c in name)
    plain = plain.encode("utf-8", "replace").decode("utf-8")
    unique, n = plain, 1
    while (section, unique) in names:
        n += 1
        unique = f"{plain} ({n})"
    names.add((section, unique))
    return unique


def _doubles(x: Tensor, field: str, ledger: Ledger) -> NDArray[np.float64] | None:
    """The values as float64; None where that cannot hold them."""
    rows, reason = len(x), None
    if x.numel() == 0 and rows:
        reason = "MSH has no data without components"
    elif _width(x, 1) > _MOST:
        reason = f"more than {_MOST} components"
    if reason is not None:
        ledger.dropped("field", field, rows, reason)
        return None
    x = x.detach().cpu()
    values = x.double()
    if x.dtype != torch.float64 and not _same_numbers(x, values):
        ledger.dropped("field", field, rows, f"{x.dtype} that float64 does not hold exactly")
        return None
    if x.dtype.is_floating_point and not same_bits(values.to(x.dtype), x):
        ledger.converted("field", field, rows, f"the bits of NaNs of {x.dtype}")
    else:
        ledger.kept("field", field, rows)
    found: NDArray[np.float64] = values.contiguous().numpy()
    return found


def _same_numbers(x: Tensor, values: Tensor) -> bool:
    """Whether float64 holds the numbers, whatever bits a NaN has."""
    if x.dtype == torch.uint64:  # torch has few operations on it
        held = x.numpy().astype(np.float64)
        return bool(held.max(initial=0) < 2.0**64 and (held.astype(np.uint64) == x.numpy()).all())
    back = values.to(x.dtype)
    if not x.dtype.is_floating_point:
        low = bool((values.abs() < 2.0**63).all())
        return low and torch.equal(back, x)
    return bool(((back.double() == values) | values.isnan()).all())


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of one dtype are the same bit for bit."""
    return torch.equal(as_bits(a.contiguous()), as_bits(b.contiguous()))


def _are_corners(mesh: Mesh, path: tuple[str, ...], x: Tensor) -> bool:
    """Whether a cell field holds a value a point of each cell, as reading makes them."""
    if (
        mesh.info.field("cell_data", *path).kind != CORNER
        or x.ndim < 2
        or not x.is_floating_point()
    ):
        return False
    sizes = mesh.cells.sizes.long().to(x.device)
    widest = int(sizes.max()) if len(sizes) else 0
    if x.shape[1] != widest:
        return False
    beyond = torch.arange(widest, device=x.device) >= sizes[:, None]
    rest = x.reshape(len(x), widest, -1).isnan().all(2)
    return bool(rest[beyond].all())


# --- writing --------------------------------------------------------------------------------------


def write_column(
    file: BinaryIO, column: Column, tags: TagsOfRows, time: float | None, step: int
) -> None:
    """One section. Rows of NaN, which say that there is no value, are left out."""
    values = column.values
    there = ~_blank(values.reshape(len(values), -1)) if len(values) else np.zeros(0, bool)
    components = values.shape[-1]
    times = [] if time is None else [repr(float(time))]
    whole = [str(step), str(components), str(int(np.count_nonzero(there)))]
    lines = ["1", f'"{column.name}"', str(len(times)), *times, str(len(whole)), *whole]
    file.write(f"${column.kind}\n".encode() + "\n".join(lines).encode("utf-8") + b"\n")
    own = (tags.node_tags if column.kind == NODE else tags.element_tags)[: len(values)]
    if column.cells is None:
        _write_rows(file, own, values, there)
    else:
        for block in _corner_rows(column.cells, own, values, there):
            file.write(block)
    file.write(f"\n$End{column.kind}\n".encode())


def _blank(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows that are nothing but the NaN that stands for no value, bit for bit."""
    nan = np.array(np.nan).view(np.uint64)
    found: NDArray[np.bool_] = (np.ascontiguousarray(rows).view(np.uint64) == nan).all(1)
    return found


def _write_rows(
    file: BinaryIO, tags: NDArray[Any], values: NDArray[np.float64], there: NDArray[np.bool_]
) -> None:
    dtype = np.dtype([("tag", "<i4"), ("x", "<f8", (values.shape[1],))])
    for low in range(0, len(values), _AT_ONCE):
        some = there[low : low + _AT_ONCE]
        rows = np.empty(int(np.count_nonzero(some)), dtype)
        rows["tag"] = tags[low : low + _AT_ONCE][some]
        rows["x"] = values[low : low + _AT_ONCE][some]
        file.write(rows.tobytes())


def _corner_rows(
    cells: Cells, tags: NDArray[Any], values: NDArray[np.float64], there: NDArray[np.bool_]
) -> Iterator[bytes]:
    """The values of each block of cells in the order of gmsh's nodes."""
    for block in cells.blocks:
        ids = block.ids.cpu().numpy()
        ids = ids[there[ids]]
        size = block.connectivity.shape[1]
        kind = element_of_cell(block.type, size)
        order = list(range(size)) if kind is None else list(kind.reverse)
        shape = (size, values.shape[2])
        dtype = np.dtype([("tag", "<i4"), ("size", "<i4"), ("x", "<f8", shape)])
        rows = np.empty(len(ids), dtype)
        rows["tag"], rows["size"] = tags[ids], size
        rows["x"] = values[ids][:, order]
        yield rows.tobytes()
