"""A mesh of simplices from a mesh of any cells."""

from __future__ import annotations

from typing import Any, Final

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.fields import Path, cat, leaves, nested, take, taken
from meshkit.info import FieldKey
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.operators.adjacency.sides import sides
from meshkit.operators.inheritance import looked_up, moved, region_rows
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.coordinates import cross, dot, in_space, length
from meshkit.operators.measure.row_sums import summed
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.splitting import Split, parts_on_sides, split
from meshkit.operators.values import real_parts
from meshkit.regions import Region, Regions
from meshkit.report import Ledger

PARENT_CELL: Final = "parent_cell"
_TYPES: Final = (1, 3, 5, 10)  # vertex, line, triangle, tetra
_TINY: Final = 1e-12


@of_mesh
def simplices(mesh: Mesh) -> Mesh:
    """The same domain in vertices, lines, triangles and tets.

    Simplices stay as they are. Others become the fan that all measures use: a polygon the
    triangles between its edges and its vertex mean, a solid the tets between its vertex mean and
    the fans of its faces (a triangular face is its own fan). The two sides of a face share one
    added point, so conforming meshes stay conforming. Polylines and strips become their segments
    and triangles, poly-vertices their points; high-order cells go through their corners.

    The measures of a cell's parts add up to the measure of the cell (to rounding; for a
    high-order cell, of its corners). A cell that is not star-shaped about its vertex mean keeps
    parts that are inside out: tets of negative volume, triangles that face the other way. Parts
    of no size (at most 1e-12 of all parts of the cell, 8 eps in float32) are dropped and counted.

    Added points come after the mesh's own and have the vertex mean of floating and complex point
    data; other fields are filled (-1 where signed, else 0 or False) and counted. Fields of cells
    are those of the parent. Regions of points and edges stay, those of cells and sides are mapped
    to the parts, those of faces become sides (their data is repeated for each part). The mesh's
    own faces and `face_data` are dropped and counted; the grid goes.

    Returns:
        Mesh with cell data `parent_cell` int64, ascending. Points and floating point data are
        differentiable.

    Raises:
        MeshError: a point id is out of range, a type unknown, a size wrong, a convex point set
            does not say what its faces are, or a region names what is not there.
    """
    ledger = Ledger()
    parts = split(mesh)
    need_region_ids(mesh)
    points = _extended(mesh.points, parts)
    kept = ~parts_without_size(parts, _measures(parts, points.detach()))
    _count_cells(mesh, parts, kept, ledger)
    part_of = torch.cumsum(kept, 0) - 1
    part_of = torch.where(kept, part_of, -1)
    corners, parent = parts.points[kept], parts.parent[kept]
    used = torch.zeros(len(points), dtype=torch.bool, device=mesh.device)
    used[: mesh.n_points] = True
    used[corners[corners >= 0]] = True
    new_point = torch.cumsum(used, 0) - 1
    sizes = (corners >= 0).sum(1)
    dtype = mesh.cells.connectivity.dtype
    if max(len(points), int(sizes.sum())) > torch.iinfo(dtype).max:
        dtype = torch.int64
    types = torch.tensor(_TYPES, dtype=torch.uint8, device=mesh.device)[sizes - 1]
    ids = new_point[corners[corners >= 0]].to(dtype)
    moves: list[tuple[FieldKey, FieldKey | None]] = []
    cell_data: dict[str, Any] = dict(taken(mesh.cell_data, parent).items())
    if cell_data.pop(PARENT_CELL, None) is not None:
        reason = "simplices have one of this name that leads to their parents"
        ledger.dropped("field", f"cell_data/{PARENT_CELL}", mesh.n_cells, reason)
        moves.append((("cell_data", PARENT_CELL), None))
    cell_data[PARENT_CELL] = parent
    of_cell = csr.offsets_of(torch.bincount(parent, minlength=mesh.n_cells))
    regions = _regions(mesh, parts, part_of, of_cell, ledger, moves)
    _count_faces(mesh, ledger, moves)
    return Mesh(
        points=points[used],
        cells=Cells(types, csr.offsets_of(sizes).to(dtype), ids),
        faces=None,
        point_data=_point_data(mesh.point_data, parts, used[mesh.n_points :], ledger),
        cell_data=cell_data,  # type: ignore[arg-type]
        face_data={},  # type: ignore[arg-type]
        global_data=mesh.global_data,
        regions=regions,
        info=mesh.info.replace(grid=None, fields=moved(mesh.info.fields, moves)).noting(
            ledger.report()
        ),
    )


def _extended(points: Tensor, parts: Split) -> Tensor:
    """The points and the added ones after them."""
    return torch.cat([points, means(points, parts)])


def means(values: Tensor, parts: Split) -> Tensor:
    """The mean of floating or complex values [n_points, ...] for each added point."""
    dtype = values.dtype
    if dtype.is_complex:
        wide = values.to(torch.complex64) if dtype == torch.complex32 else values
        both = means(real_parts(wide), parts).to(dtype.to_real())
        return torch.view_as_complex(both.contiguous())  # torch warns of a new complex32
    wide = values.float() if dtype.itemsize < 4 else values
    count = csr.lengths_of(parts.mean_offsets)
    total = summed(wide[parts.mean_points], parts.mean_offsets)
    return (total / count.reshape(-1, *([1] * (values.ndim - 1)))).to(dtype)


def parts_of(mesh: Mesh) -> tuple[Split, Tensor]:
    """The simplices of all cells, and the length, area or signed volume of each (a vertex: 0).

    Raises:
        MeshError: as `simplices`.
    """
    parts = split(mesh)
    return parts, _measures(parts, _extended(mesh.points, parts))


def _measures(parts: Split, points: Tensor) -> Tensor:
    at = in_space(points)
    sizes = (parts.points >= 0).sum(1)
    found = []
    for size in range(2, 5):
        rows = torch.nonzero(sizes == size).squeeze(1)
        x = at[parts.points[rows, :size]]
        edges = x[:, 1:] - x[:, :1]
        if size == 2:
            measure = length(edges[:, 0])
        elif size == 3:
            measure = length(cross(edges[:, 0], edges[:, 1])) / 2
        else:
            measure = dot(cross(edges[:, 0], edges[:, 1]), edges[:, 2]) / 6
        found.append((rows, measure))
    return assembled(len(sizes), found, at.new_zeros(()))


def parts_without_size(parts: Split, measures: Tensor) -> Tensor:
    """bool [n]: parts that are rounding beside all parts of their cell.

    A cell that is one simplex, and a vertex, is never without size.
    """
    total = summed(measures.abs(), parts.of_cell)
    single = measures.dtype == torch.float32
    bound = 8 * torch.finfo(torch.float32).eps if single else _TINY
    small = measures.abs() <= bound * total[parts.parent]
    flat = (parts.points >= 0).sum(1) > 1
    return small & flat & ~parts.whole[parts.parent]


def _count_cells(mesh: Mesh, parts: Split, kept: Tensor, ledger: Ledger) -> None:
    """Say what became of the cells of each type."""
    made = torch.bincount(parts.parent[kept], minlength=mesh.n_cells)
    for number in mesh.cells.present:
        row = CELL_TYPES[number]
        mine = mesh.cells.types == number
        count, into = int(mine.sum()), int(made[mine].sum())
        linear = row.size == row.dim + 1 and into == count
        if linear:
            ledger.kept("cells", row.name, count)
        elif number:
            through = "" if row.order == 1 else "through their corners "
            ledger.converted("cells", row.name, count, f"{through}into {into} simplices")
        vanished = int((made[mine] == 0).sum())
        if vanished:
            ledger.dropped("cells", row.name, vanished, "no length, area or volume")
    if not bool(kept.all()):
        reason = "parts of no length, area or volume"
        ledger.dropped("simplices", "", int((~kept).sum()), reason, loss=False)


def _point_data(
    fields: TensorDictBase, parts: Split, used: Tensor, ledger: Ledger
) -> TensorDictBase:
    rows = torch.nonzero(used).squeeze(1)
    flat: dict[Path, Tensor] = {}
    for path, x in leaves(fields):
        if x.is_floating_point() or x.is_complex():
            more = take(means(x, parts), rows) if len(rows) else x[:0]
        else:
            fill = -1 if x.dtype.is_signed else 0
            more = torch.full((len(rows), *x.shape[1:]), fill, dtype=x.dtype, device=x.device)
            if len(rows):
                reason = f"filled with {fill} at the added points"
                ledger.converted("field", f"point_data/{'/'.join(path)}", len(rows), reason)
        flat[path] = cat([x, more])
    return nested(flat)  # type: ignore[return-value]


def _count_faces(mesh: Mesh, ledger: Ledger, moves: list[tuple[FieldKey, FieldKey | None]]) -> None:
    if mesh.faces is None:
        return
    reason = "simplices have other faces"
    ledger.dropped("faces", "", len(mesh.faces), reason, loss=False)
    for path, x in leaves(mesh.face_data):
        ledger.dropped("field", f"face_data/{'/'.join(path)}", len(x), reason)
    moves.append((("face_data",), None))


def _regions(
    mesh: Mesh,
    parts: Split,
    part_of: Tensor,
    of_cell: Tensor,
    ledger: Ledger,
    moves: list[tuple[FieldKey, FieldKey | None]],
) -> Regions:
    out: list[Region] = []
    on_sides: tuple[Tensor, Tensor] | None = None
    names = {r.name for r in mesh.regions if r.entity == "side"}
    for region in mesh.regions:
        if region.entity in ("point", "edge"):
            out.append(region)
            continue
        if region.entity == "cell":
            rows, ids = _expanded(of_cell, region.ids.long())
            out.append(region_rows(region, rows, ids, "cell"))
            continue
        if on_sides is None:
            on_sides = _parts_by_side(mesh, parts, part_of)
        key = ("regions", region.name, region.entity)
        if region.entity == "side":
            side = sides(mesh.cells).find(region.ids)
        elif region.name in names:
            reason = "a region of sides has this name, and simplices keep no faces"
            ledger.dropped("region", region.name, len(region), reason)
            moves.append((key, None))
            continue
        else:
            side = looked_up(face_table(mesh).owner_side, region.ids)
            reason = "faces became the sides of the parts in their owners"
            ledger.converted("region", region.name, len(region), reason)
            moves.append((key, ("regions", region.name, "side")))
        offsets, pairs = on_sides
        rows, places = _expanded(offsets, side)
        away = len(region) - len(torch.unique(rows))
        if away:
            reason = "sides without parts, or of no cell"
            ledger.dropped("region", region.name, away, reason)
        out.append(region_rows(region, rows, pairs[places], "side"))
    return Regions(out)


def _parts_by_side(mesh: Mesh, parts: Split, part_of: Tensor) -> tuple[Tensor, Tensor]:
    """For each side of the mesh the (simplex, local face) pairs [.., 2] that lie on it."""
    side, part, own = parts_on_sides(mesh.cells, parts.of_cell)
    new = part_of[part]
    stays = new >= 0
    counts = torch.bincount(side[stays], minlength=len(sides(mesh.cells)))
    return csr.offsets_of(counts), torch.stack([new[stays], own[stays]], 1)


def _expanded(offsets: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """For each value in the compressed rows `ids` (none for an id out of range): which of ids
    it belongs to, and where it stands.
    """
    known = torch.nonzero((ids >= 0) & (ids < len(offsets) - 1)).squeeze(1)
    ends, places = csr.take_rows(offsets, ids[known])
    return known[csr.row_of_each(ends)], places
