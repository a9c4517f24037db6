"""`make_mesh`: from what people have to a `Mesh`."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells, Polyhedra, brief, need_ids
from meshkit.celltypes import POLYHEDRON, cell_type
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Fields, tensor_of
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh, need_points
from meshkit.regions import Region, Regions

_SIMPLEX = {1: "vertex", 2: "line", 3: "triangle", 4: "tetra"}


def make_mesh(
    points: Any,
    cells: Any = None,
    *,
    types: Any = None,
    offsets: Any = None,
    faces: Faces | None = None,
    polyhedra: Any = None,
    point_data: Fields | None = None,
    cell_data: Fields | None = None,
    face_data: Fields | None = None,
    global_data: Fields | None = None,
    regions: Iterable[Region] = (),
    info: MeshInfo | None = None,
) -> Mesh:
    """Build a mesh from tensors, arrays or lists.

    Args:
        points: float [n, d] with d = 1, 2 or 3; a tensor or array of floats keeps its
            dtype, lists and integers become float64.
        cells: a table [n, k]; or a list of rows of different lengths; or flat connectivity with
            `offsets` and `types`; or a `Cells`. None: no cells.
        types: for a table one type or one a row, otherwise one a row; VTK names or numbers. A
            table without types is of vertices, lines, triangles or tetrahedra by k.
        offsets: int [n + 1], for flat connectivity.
        faces: only to keep a source's own faces and their order.
        polyhedra: faces of the type-42 cells: for each a list of faces, each a list of points in
            a ring seen from outside, or a `Polyhedra`. Without `cells`, all cells are polyhedra
            and list their points in order of first appearance.
        point_data, cell_data, face_data, global_data: fields by name; lists of text become codes
            with a vocabulary in `info`.
        regions: named parts.
        info: what it all means.

    Ids keep int32 or int64; other integers become int64. Nothing is copied that can be shared.

    >>> square = make_mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2, 3]], types="quad")
    >>> square.dim, square.cells
    (2, Cells(1 quad))

    Raises:
        MeshError: the parts contradict each other; the message says which and how.
    """
    at = _points(points)
    need_points(at)
    made = _cells(cells, types, offsets, polyhedra, at)
    return Mesh(
        points=at,
        cells=made,
        faces=faces,
        point_data={} if point_data is None else point_data,  # type: ignore[arg-type]
        cell_data={} if cell_data is None else cell_data,  # type: ignore[arg-type]
        face_data={} if face_data is None else face_data,  # type: ignore[arg-type]
        global_data={} if global_data is None else global_data,  # type: ignore[arg-type]
        regions=regions if isinstance(regions, Regions) else Regions(regions),
        info=info or MeshInfo(),
    )


def _points(points: Any) -> Tensor:
    at = tensor_of("points", points)
    given = isinstance(points, Tensor | np.ndarray) and at.is_floating_point()
    return at if given or at.is_complex() else at.double()


def _ids(what: str, given: Any, device: torch.device) -> Tensor:
    """Ids of any shape as int32 or int64."""
    ids = tensor_of(what, given)
    if isinstance(given, Tensor):
        need_device(what, given.device, device, "points")
    else:
        ids = ids.to(device)
        if ids.numel() == 0:
            ids = ids.long()
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise MeshError(f"{what}: expected integer ids, found {brief(ids)}")
    return ids if ids.dtype in (torch.int32, torch.int64) else ids.long()


def _types(types: Any, n: int, device: torch.device) -> Tensor:
    """uint8 [n] from one type or one a row, by name or number."""
    if isinstance(types, str | int | np.integer) and not isinstance(types, bool):
        number = cell_type(types if isinstance(types, str) else int(types)).number
        return torch.full((n,), number, dtype=torch.uint8, device=device)
    if isinstance(types, Tensor) or getattr(getattr(types, "dtype", None), "kind", "U") != "U":
        numbers = _ids("types", types, device)
    else:
        numbers = torch.tensor([_type_number(t) for t in _rows("types", types)], device=device)
    if numbers.shape != (n,):
        raise MeshError(f"types: expected {n}, one a cell, found {list(numbers.shape)}")
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) <= 255:
        raise MeshError("types: expected VTK numbers from 0 to 255")
    return numbers.to(torch.uint8)


def _type_number(of: Any) -> int:
    if isinstance(of, str):
        return cell_type(str(of)).number
    return cell_type(_whole("types", of)).number


def _whole(what: str, number: Any) -> int:
    """An integer, and nothing that would have to be rounded to one."""
    try:
        return operator.index(number)
    except (TypeError, RuntimeError):  # a tensor without values is no integer either
        raise MeshError(f"{what}: expected integers, found {number!r}") from None


def _rows(what: str, given: Any) -> list[Any]:
    """What is in a sequence; a text is none."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise MeshError(f"{what}: expected a list, found {given!r}")
    return list(given)


def _cells(cells: Any, types: Any, offsets: Any, polyhedra: Any, points: Tensor) -> Cells:
    device = points.device
    given = _polyhedra(polyhedra, device)
    if isinstance(cells, Cells):
        if types is not None or offsets is not None:
            raise MeshError("cells: expected no types or offsets beside a Cells")
        if given is None:
            return _paired(cells)
        return _paired(Cells(cells.types, cells.offsets, cells.connectivity, given, cells.degrees))
    if cells is None:
        if types is not None or offsets is not None:
            raise MeshError("cells: expected connectivity beside types or offsets, found none")
        return Cells.none(points) if given is None else _all_polyhedra(given)
    if offsets is not None:
        if types is None:
            raise MeshError("types: expected one a cell beside offsets, found none")
        ends = _ids("offsets", offsets, device)
        need_ids("offsets", ends)
        flat = _ids("cells", cells, device)
        return _paired(Cells(_types(types, max(len(ends) - 1, 0), device), ends, flat, given))
    if not isinstance(cells, Tensor | np.ndarray):
        cells = [_rows("cells", row) for row in _rows("cells", cells)]
    if isinstance(cells, list) and len({len(row) for row in cells}) > 1:
        if types is None:
            raise MeshError("types: expected one a cell for rows of different lengths, found none")
        lengths = torch.tensor([len(row) for row in cells], device=device)
        flat = _ids("cells", [i for row in cells for i in row], device)
        ends = csr.offsets_of(lengths).to(flat.dtype)
        return _paired(Cells(_types(types, len(lengths), device), ends, flat, given))
    table = _ids("cells", cells, device)
    if table.ndim == 1 and table.numel() == 0:
        return Cells.none(points)
    if table.ndim != 2:
        raise MeshError(
            f"cells: expected a table [n, k], or offsets beside it, found {brief(table)}"
        )
    if types is None:
        k, d = table.shape[1], points.shape[1]
        types = _SIMPLEX.get(k)
        if types is None or k > d + 1:
            raise MeshError(f"types: cells of {k} points in {d}-D could be several; name the type")
    n, k = table.shape
    ends = torch.arange(n + 1, device=device, dtype=table.dtype) * k
    made = Cells(_types(types, n, device), ends, table.reshape(-1), given)
    for number in made.present:
        size = cell_type(number).size
        if size is not None and size != k:
            name = cell_type(number).name
            raise MeshError(f"cells: a {name} has {size} points, found rows of {k}")
    return _paired(made)


def _polyhedra(given: Any, device: torch.device) -> Polyhedra | None:
    if given is None or isinstance(given, Polyhedra):
        return given
    cells = [_rows("polyhedra", cell) for cell in _rows("polyhedra", given)]
    faces = [_rows("polyhedra: a face", face) for cell in cells for face in cell]

    def ends(lengths: Sequence[int]) -> Tensor:
        return csr.offsets_of(torch.tensor(lengths, dtype=torch.int64, device=device))

    ids = [_whole("polyhedra", i) for face in faces for i in face]
    if ids and max(map(abs, ids)) > torch.iinfo(torch.int64).max:
        raise MeshError(f"polyhedra: point id {max(ids, key=abs)} does not fit 64 bits")
    return Polyhedra(
        ends([len(cell) for cell in cells]),
        ends([len(face) for face in faces]),
        torch.tensor(ids, dtype=torch.int64, device=device),
    )


def _all_polyhedra(polyhedra: Polyhedra) -> Cells:
    """Cells that are all polyhedra, their points in order of first appearance."""
    ids = polyhedra.connectivity.long()
    cell_of_face = csr.row_of_each(polyhedra.faces)
    cell = cell_of_face[csr.row_of_each(polyhedra.offsets)]
    # A stable sort by (cell, id) brings equal ids together with the earliest first.
    high = int(ids.max()) + 1 if len(ids) else 1
    key = cell * high + ids
    order = torch.argsort(key, stable=True)
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = key[order][1:] != key[order][:-1]
    places = torch.sort(order[first]).values
    lengths = torch.bincount(cell[places], minlength=len(polyhedra))
    dtype = polyhedra.connectivity.dtype
    types = torch.full((len(polyhedra),), POLYHEDRON, dtype=torch.uint8, device=ids.device)
    flat = polyhedra.connectivity[places]
    return Cells(types, csr.offsets_of(lengths).to(dtype), flat, polyhedra)


def _paired(cells: Cells) -> Cells:
    """Refuse polyhedra without faces and faces without polyhedra."""
    wanted = len(cells.polyhedron_ids) if POLYHEDRON in cells.present else 0
    found = 0 if cells.polyhedra is None else len(cells.polyhedra)
    if wanted != found:
        raise MeshError(f"polyhedra: expected faces of {wanted} type-42 cells, found {found}")
    return cells
