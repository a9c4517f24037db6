"""meshio's meshes, in memory, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit import csr
from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, cell_type
from meshkit.errors import MeshError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.repair.polyhedra import oriented_polyhedra
from meshkit.operators.repair.wedges import wedges_upright
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.accounting import lose_faces, lose_fields
from meshkit.readers.filling import filled
from meshkit.readers.interop.arrays import lose_region_parts, need_mesh, numpy_fields
from meshkit.readers.vtk.arrays import stranger
from meshkit.readers.vtk.cell_sizes import types_that_fit
from meshkit.regions import Region
from meshkit.report import Ledger

if TYPE_CHECKING:
    import meshio

OWN: Final = "meshkit"
"""Where `to_meshio` puts the info and the report: a key of `meshio.Mesh.info`."""

# The linear shape of meshio's elements of any order, whose inner points have no defined order.
_LINEAR: Final = {
    "line": "line",
    "triangle": "triangle",
    "quad": "quad",
    "tetra": "tetra",
    "hexahedron": "hexahedron",
    "wedge": "wedge",
    "pyramid": "pyramid",
}


def from_meshio(mesh: meshio.Mesh) -> Mesh:
    """The mesh of a `meshio.Mesh`; `info.report` says what was kept, converted and dropped.

    Blocks of cells follow each other in meshio's order. Cell sets and point sets become regions,
    field data become global data, texts become codes with a vocabulary. Wedges whose majority is
    inside out are reordered; faces of polyhedra are turned outward; polygons of two points and of
    one become lines and vertices. Elements of third order and
    above keep their corners only (counted as a loss), for meshio does not define the order of the
    rest. Numeric arrays are shared where numpy can share them.

    Raises:
        MeshError: the arrays contradict each other, or cells have not as many points as their
            type asks for.
    """
    import meshio

    if not isinstance(mesh, meshio.Mesh):
        raise MeshError(f"from_meshio: expected a meshio.Mesh, found {type(mesh).__name__}")
    ledger = Ledger()
    made = converted(mesh, ledger)
    return made.replace(info=made.info.noting(ledger.report()))


def converted(mesh: meshio.Mesh, ledger: Ledger) -> Mesh:
    """As `from_meshio`, with the report in the ledger.

    Raises:
        MeshError: the arrays contradict each other.
    """
    points = np.asarray(mesh.points)
    if points.dtype.kind not in "fiu" or points.ndim != 2 or points.shape[1] not in (1, 2, 3):
        raise MeshError(f"points: expected numbers [n, d], found {points.dtype} {points.shape}")
    ledger.kept("points", "", len(points))
    given_as = points.dtype
    if given_as.itemsize > 8 or given_as.kind != "f":
        points = points.astype(np.float64)
        exact = bool((points.astype(given_as) == mesh.points).all())
        rounded = "" if exact else ", rounded"
        ledger.converted("points", "", len(points), f"{given_as} as float64{rounded}")
    said = mesh.info if isinstance(mesh.info, dict) else None
    ours = said is not None and OWN in said
    cells = _cells(mesh.cells, len(points), ledger, ours=ours)
    at = torch.from_numpy(
        np.require(
            points.astype(points.dtype.newbyteorder("="), copy=False), requirements=["C", "W"]
        )
    )
    cells = _upright(cells, at, ledger)
    counts = [len(block.data) for block in mesh.cells]
    point_data = {str(k): _values(v) for k, v in mesh.point_data.items()}
    cell_data = filled("cell_data", _of_blocks(mesh.cell_data, counts), counts, ledger)
    global_data = {}
    for name, value in mesh.field_data.items():
        array = _values(value)
        if array.dtype.kind in "biufcUS":
            global_data[str(name)] = array
        else:
            ledger.dropped("field", f"global_data/{name}", 1, f"{type(value).__name__} is no array")
    for home, fields in (
        ("point_data", point_data),
        ("cell_data", cell_data),
        ("global_data", global_data),
    ):
        for name, array in fields.items():
            rows = len(array) if array.ndim else 1
            if array.dtype.kind in "US":
                reason = "texts as codes with a vocabulary"
                ledger.converted("field", f"{home}/{name}", rows, reason)
            elif home != "cell_data":  # those are counted already
                ledger.kept("field", f"{home}/{name}", rows)
    regions = list(_regions(mesh, counts, len(points), ledger))
    info = MeshInfo()
    if said is not None and ours:
        info = MeshInfo.from_json(said[OWN]["info"])
    elif mesh.info:
        ledger.dropped("info", "info", 1, "meshio's notes on its own format")
    if mesh.gmsh_periodic:
        ledger.dropped("info", "gmsh_periodic", len(mesh.gmsh_periodic), "no place for it yet")
    return make_mesh(
        at,
        cells,
        point_data=point_data,
        cell_data=cell_data,
        global_data=global_data,
        regions=regions,
        info=info,
    )


def _values(value: Any) -> NDArray[Any]:
    """An array of numbers or of texts; anything else stays an array of objects."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.array(None, dtype=object)
    if array.dtype.kind == "O" and all(isinstance(x, str) for x in array.ravel()):
        return array.astype(str)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array


def _of_blocks(
    fields: Mapping[Any, Sequence[Any]], counts: Sequence[int]
) -> list[dict[str, NDArray[Any]]]:
    """The cell fields of each block of cells."""
    blocks: list[dict[str, NDArray[Any]]] = [{} for _ in counts]
    for name, values in fields.items():
        arrays = [_values(x) for x in values]
        rows = [len(x) if x.ndim else 0 for x in arrays]
        if rows != list(counts):
            raise MeshError(
                f"cell_data {str(name)!r}: expected rows for blocks of {list(counts)} cells, "
                f"found {rows}"
            )
        shapes = dict.fromkeys(x.shape[1:] for x in arrays if len(x))
        if len(shapes) > 1:
            found = ", ".join(str(list(x.shape)) for x in arrays if len(x))
            raise MeshError(f"cell_data {str(name)!r}: expected rows of one shape, found {found}")
        for block, x in zip(blocks, arrays, strict=True):
            if len(x) or not shapes:  # else another block says what it is
                block[str(name)] = x
    return blocks


def _cells(blocks: Sequence[Any], n_points: int, ledger: Ledger, *, ours: bool) -> Cells:
    """The blocks one after the other; what others made has as many points as its types ask for."""
    types: list[NDArray[np.uint8]] = []
    sizes: list[NDArray[np.int64]] = []
    ids: list[NDArray[np.int64]] = []
    solids: list[list[Any]] = []
    pairs: dict[tuple[int, int], None] = {}  # each type and size, in order of appearance
    none = np.zeros(0, np.int64)
    for block in blocks:
        if block.type.startswith("polyhedron"):
            solids.extend(list(block.data))
            rings = [np.concatenate([none, *map(np.asarray, cell)]) for cell in block.data]
            # the distinct points of each, in order of first appearance
            rows = [r[np.sort(np.unique(r, return_index=True)[1])] for r in rings]
            types.append(np.full(len(rows), POLYHEDRON, np.uint8))
            sizes.append(np.array([len(r) for r in rows], np.int64))
            pairs |= dict.fromkeys((POLYHEDRON, len(r)) for r in rows)
            ids.extend(r.astype(np.int64) for r in rows)
            continue
        table = np.asarray(block.data)
        if table.ndim != 2 or table.dtype.kind not in "iu":
            raise MeshError(
                f"cells {block.type!r}: expected ids [n, k], found {table.dtype} {table.shape}"
            )
        number, width = _type(block.type, table, ledger)
        types.append(np.full(len(table), number, np.uint8))
        sizes.append(np.full(len(table), width, np.int64))
        if len(table):
            pairs[number, width] = None
        ids.append(table[:, :width].astype(np.int64).reshape(-1))
    flat, counts = np.concatenate([*ids, none]), np.concatenate([*sizes, none])
    ends = np.concatenate([[0], np.cumsum(counts)])
    if len(flat) and (flat.min() < 0 or flat.max() >= n_points):
        cell, bad = stranger(flat, ends, n_points)
        expected = f"ids from 0 to {n_points - 1}"
        raise MeshError(f"cell {cell}: point id {bad}; expected {expected}")
    kinds = np.concatenate([*types, np.zeros(0, np.uint8)])
    if not ours:
        kinds = types_that_fit(kinds, counts, pairs, None, _wrong_size, ledger)
    small = max(n_points, len(flat)) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    return Cells(
        torch.from_numpy(kinds),
        torch.from_numpy(ends.astype(dtype)),
        torch.from_numpy(flat.astype(dtype)),
        _polyhedra(solids, dtype),
    )


def _wrong_size(what: str, cell: int, expected: str) -> MeshError:
    return MeshError(f"cells: {what} in cell {cell}; expected {expected}")


def _type(name: str, table: NDArray[Any], ledger: Ledger) -> tuple[int, int]:
    """The number of a block's type, and how many of its columns are used."""
    from meshio._vtk_common import meshio_to_vtk_type

    width = table.shape[1]
    number = meshio_to_vtk_type.get(name)
    row = CELL_TYPES.get(number) if number is not None else None
    if row is not None:
        if row.size is not None and row.size != width:
            raise MeshError(f"cells {name!r}: expected {row.size} points a cell, found {width}")
        return row.number, width
    stem = re.match("[a-z]+", name)
    linear = _LINEAR.get(stem.group()) if stem else None
    if linear is None:
        raise MeshError(f"cells: meshio type {name!r} is unknown")
    row = cell_type(linear)
    corners = row.size or 0
    reason = "meshio does not define their order; the corners stay, as linear cells"
    ledger.dropped("cells", f"inner points of {name}", len(table), reason)
    return row.number, corners


def _polyhedra(cells: Sequence[Any], dtype: Any) -> Polyhedra | None:
    if not cells:
        return None
    rings = [np.asarray(face) for cell in cells for face in cell]

    def ends(parts: Sequence[Any]) -> torch.Tensor:
        return torch.from_numpy(np.cumsum([0, *map(len, parts)]).astype(dtype))

    flat = np.concatenate([np.zeros(0, np.int64), *rings])
    return Polyhedra(ends(cells), ends(rings), torch.from_numpy(flat.astype(dtype)))


def _upright(cells: Cells, points: torch.Tensor, ledger: Ledger) -> Cells:
    cells, turned = wedges_upright(cells, points)
    for name, count in cells.counts.items():
        ledger.kept("cells", name, count)
    for number, count in turned.items():
        reason = "points reordered: most were inside out"
        ledger.converted("cells", cell_type(number).name, count, reason)
    if cells.polyhedra is None or points.shape[1] < 3:
        return cells
    polyhedra, count = oriented_polyhedra(points, cells.polyhedra)
    if count:
        reason = "faces turned to be consistent and to point out of the cell"
        ledger.converted("cells", "polyhedron", count, reason)
    return Cells(cells.types, cells.offsets, cells.connectivity, polyhedra)


def _regions(
    mesh: meshio.Mesh, counts: Sequence[int], n_points: int, ledger: Ledger
) -> Iterator[Region]:
    starts = np.cumsum([0, *counts])
    named: dict[tuple[str, Any], list[NDArray[Any]]] = {}
    for name, members in mesh.point_sets.items():
        named["" + str(name), "point"] = [_ids(members, n_points)]
    for name, blocks in mesh.cell_sets.items():
        if len(blocks) != len(counts):
            ledger.dropped("region", str(name), len(blocks), "not one list of cells a block")
            continue
        named[str(name), "cell"] = [
            _ids(block, n) + start
            for block, start, n in zip(blocks, starts, counts, strict=False)
            if block is not None
        ]
    for attribute, data, entity in (
        ("point_tags", mesh.point_data, "point"),
        ("cell_tags", mesh.cell_data, "cell"),
    ):
        _families(getattr(mesh, attribute, None), data.get(attribute), entity, named)
    for (name, entity), parts in named.items():
        ids = np.concatenate([*parts, np.zeros(0, np.int64)])
        top = n_points if entity == "point" else int(starts[-1])
        if len(ids) and (ids.min() < 0 or ids.max() >= top):
            reason = f"its ids do not name {entity}s of the mesh"
            ledger.dropped("region", name, len(ids), reason)
            continue
        ledger.kept("region", name, len(ids))
        yield Region(name, entity, torch.from_numpy(ids))


def _ids(members: Any, n: int) -> NDArray[np.int64]:
    """Ids from ids or a mask; what is neither becomes an id that is out of range."""
    array = np.asarray(members).reshape(-1)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind == "b" and len(array) == n:
        return np.flatnonzero(array).astype(np.int64)
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n:
        return np.array([np.iinfo(np.int64).min // 2])
    return array.astype(np.int64)


def _families(
    families: Any, tags: Any, entity: str, named: dict[tuple[str, Any], list[NDArray[Any]]]
) -> None:
    """MED's groups: a family number an entity, and the names of the groups of each family."""
    if not isinstance(families, dict) or tags is None:
        return
    numbers = np.concatenate([np.asarray(t).reshape(-1) for t in tags]) if len(tags) else tags
    numbers = numbers if entity == "cell" else np.asarray(tags).reshape(-1)
    of: dict[str, list[int]] = {}
    for number, names in families.items():
        for name in names:
            of.setdefault(str(name), []).append(int(number))
    for name, members in of.items():
        named.setdefault((name, entity), []).append(np.flatnonzero(np.isin(numbers, members)))


# --- the other way -----------------------------------------------------------------------------


def to_meshio(mesh: Mesh) -> meshio.Mesh:
    """The mesh as a `meshio.Mesh`.

    Cells keep their order: each run of one type and size is a block, so a mesh whose types
    alternate has many. Pixels and voxels become quads and hexahedra. Cell and point regions
    become sets, nested fields get names joined by "/", codes with a vocabulary become texts,
    tensors of dtypes that numpy lacks become float32. Info and the report of this conversion
    stand in `.info["meshkit"]`; `from_meshio` takes the info back. What meshio has no place for
    (the mesh's own faces, regions of sides, edges and faces, what a region holds beside its ids)
    is counted in that report. Points, ids and fields are shared where they can be.

    Raises:
        MeshError: it is no mesh, ids name what is not there, or meshio lacks a cell type
            (poly-lines, strips, Bezier cells) or cannot hold it in memory (wedges of 15 points,
            pyramids of 13, prisms of five and six sides).
    """
    import meshio

    need_mesh("to_meshio", mesh)
    need_structure(mesh)
    ledger = Ledger()
    ledger.kept("points", "", mesh.n_points)
    cells = mesh.cells
    named = {number: _meshio_type(number) for number in cells.present}
    ends = _runs(cells)
    blocks: list[tuple[str, Any]] = []
    order = np.cumsum(cells.types.cpu().numpy() == POLYHEDRON) - 1
    flat = cells.connectivity.cpu().numpy()
    offsets = cells.offsets.cpu().numpy()
    for start, stop in pairwise(ends):
        number = int(cells.types[start])
        size = int(offsets[start + 1] - offsets[start])
        if number == POLYHEDRON:
            blocks.append((f"polyhedron{size}", _rings(cells, order[start:stop])))
            continue
        table = flat[offsets[start] : offsets[stop]].reshape(stop - start, size)
        if number in _REORDERED:
            table = table[:, _CORNERS_OF[number]]
        blocks.append((named[number], table))
    for number, other in _REORDERED.items():
        count = int((cells.types == number).sum()) if number in named else 0
        if count:
            reason = f"as {other}, its points in that order"
            ledger.converted("cells", CELL_TYPES[number].name, count, reason)
    for name, count in cells.counts.items():
        if cell_type(name).number not in _REORDERED:
            ledger.kept("cells", name, count)
    if cells.degrees is not None:
        ledger.dropped("cells", "degrees", len(cells), "meshio keeps no degrees of Lagrange cells")
    bounds = ends[1:-1]
    cell_data = {
        name: list(np.split(array, bounds)) if blocks else []
        for name, array in numpy_fields(mesh, "cell_data", ledger).items()
    }
    cell_sets, point_sets = _sets(mesh, ends, ledger)
    lose_faces(mesh, ledger, "meshio has no faces beside cells")
    lose_fields(mesh, ledger, "meshio has no fields of faces", ["face_data"])
    made = meshio.Mesh(
        mesh.points.detach().cpu().numpy(),
        blocks,
        point_data=numpy_fields(mesh, "point_data", ledger),
        cell_data=cell_data,
        field_data=numpy_fields(mesh, "global_data", ledger),
        point_sets=point_sets,
        cell_sets=cell_sets,
    )
    info = mesh.info.replace(report=ledger.report(), source=None)
    # Where a field is called by one name here, its info goes by that name too.
    renamed = {(k[0], "/".join(k[1:])): v for k, v in info.fields.items() if k[0] != "regions"}
    made.info = {OWN: {"info": info.replace(fields=renamed).to_json()}}
    return made


_REORDERED: Final = {8: "quad", 11: "hexahedron"}
"""Pixels and voxels: the same cells, their points in another order."""

_CORNERS_OF: Final = {number: list(CELL_TYPES[number].corners or ()) for number in _REORDERED}


def _meshio_type(number: int) -> str:
    """meshio's name of a type.

    Raises:
        MeshError: it has none, or its `Mesh` refuses the name.
    """
    from meshio._mesh import topological_dimension
    from meshio._vtk_common import vtk_to_meshio_type

    if number == POLYHEDRON:
        return "polyhedron"
    if number in _REORDERED:
        return _REORDERED[number]
    name = vtk_to_meshio_type.get(number)
    if name in topological_dimension:
        return str(name)
    row = cell_type(number)
    hint = "leave those cells out with mesh.select"
    if row.dim:
        hint = f"take operators.simplices(mesh) first, or {hint}"
    raise MeshError(f"to_meshio: meshio.Mesh has no cells of type {row.name!r}; {hint}")


def _runs(cells: Cells) -> list[int]:
    """Where each run of cells of one type and size begins, and the end."""
    if len(cells) == 0:
        return [0]
    types, sizes = cells.types.int(), csr.lengths_of(cells.offsets)
    change = (types[1:] != types[:-1]) | (sizes[1:] != sizes[:-1])
    return [0, *(torch.nonzero(change).squeeze(1) + 1).tolist(), len(cells)]


def _rings(cells: Cells, which: NDArray[Any]) -> list[list[NDArray[Any]]]:
    polyhedra = cells.polyhedra
    if polyhedra is None:
        raise MeshError("to_meshio: polyhedra without faces")
    faces, offsets = polyhedra.faces.tolist(), polyhedra.offsets.tolist()
    flat = polyhedra.connectivity.cpu().numpy()
    return [
        [flat[offsets[f] : offsets[f + 1]] for f in range(faces[i], faces[i + 1])] for i in which
    ]


def _sets(
    mesh: Mesh, ends: Sequence[int], ledger: Ledger
) -> tuple[dict[str, list[NDArray[Any]]], dict[str, NDArray[Any]]]:
    cell_sets: dict[str, list[NDArray[Any]]] = {}
    point_sets: dict[str, NDArray[Any]] = {}
    for region in mesh.regions:
        ids = region.ids.cpu().numpy()
        if region.entity == "point":
            point_sets[region.name] = ids
        elif region.entity == "cell":
            cell_sets[region.name] = [
                ids[(ids >= start) & (ids < stop)] - start for start, stop in pairwise(ends)
            ]
            if (np.diff(np.searchsorted(ends, ids, side="right")) < 0).any():
                reason = "its cells in the order of the blocks"
                ledger.converted("region", region.name, len(ids), reason)
        else:
            reason = f"meshio has no sets of {region.entity}s"
            ledger.dropped("region", region.name, len(ids), reason)
            continue
        ledger.kept("region", region.name, len(ids))
        lose_region_parts(region, ledger, "meshio's sets are names and ids only")
    return cell_sets, point_sets
