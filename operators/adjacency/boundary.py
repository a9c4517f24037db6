"""The boundary of a mesh, as a mesh of its own."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit import csr
from meshkit.cells import Cells
from meshkit.faces import Faces
from meshkit.fields import Path, mapped, negated, take, taken
from meshkit.info import FieldKey
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.outside import Outside, outside
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.inheritance import looked_up, moved, numbering, region_rows
from meshkit.operators.of_mesh import of_mesh
from meshkit.regions import Entity, Region, Regions
from meshkit.report import Ledger

PARENT_CELL, LOCAL_FACE, PARENT_POINT = "parent_cell", "local_face", "parent_point"
FACE_DATA = "face_data"


@of_mesh
def boundary(mesh: Mesh) -> Mesh:
    """The faces without a neighbour as cells: polygons of a solid's skin, lines, end points.

    Rows come in the order of the boundary rows of `faces(mesh)`, seen from outside: triangles and
    quads where the face has three or four corners, else polygons. High-order cells give their
    corners. The copies of a face that more than two cells share have no neighbour and are here.

    Carried along: fields of the points that are left, `cell_data` of the cell behind each face,
    `face_data` of a mesh with faces as the nested cell data "face_data"; what `info` knows, but
    for the grid. Regions of sides and of faces become cell regions, and so do cell regions: they
    name a face on which one of their cells of dimension `mesh.dim - 1` lies or behind which one
    of their cells of dimension `mesh.dim` stands (the first region of a name wins; the order is
    sides, faces, cells). Regions of points and edges keep what lies on the boundary. The report
    counts what of a region lies elsewhere.

    Returns:
        Mesh of dimension `mesh.dim - 1`, with cell data `parent_cell` and `local_face` (int64; -1
        where a given face is no side of its owner) and point data `parent_point` (int64); these
        names replace fields of the same name. A mesh of vertices, or without cells, has an empty
        boundary. Differentiable in points and fields.

    Raises:
        MeshError: as `faces`; or a region names what is not there.
    """
    return boundary_with(mesh, torch.zeros(0, dtype=torch.int64, device=mesh.device))


def boundary_with(mesh: Mesh, more: Tensor) -> Mesh:
    """The boundary, and after its rows those of `more`, as if they were on it.

    Args:
        mesh: any.
        more: int64 [m], views of interior faces as `views_named` numbers them, each once.

    Raises:
        MeshError: as `boundary`.
    """
    need_region_ids(mesh)
    need_point_ids(mesh)
    if mesh.faces is None and len(more) == 0:
        skin = outside(mesh.cells)
    else:
        skin = _seen_from(mesh, _views_of(mesh, more))
    offsets, ring, cell = skin.offsets, skin.connectivity, skin.owner
    used = torch.zeros(mesh.n_points, dtype=torch.bool, device=mesh.device)
    used[ring.long()] = True
    points = torch.nonzero(used).squeeze(1)
    new_point = numbering(points, mesh.n_points)
    cells = Cells(
        _types(csr.lengths_of(offsets), mesh.dim), offsets, new_point[ring.long()].to(ring.dtype)
    )
    ledger = Ledger()
    moves: list[tuple[FieldKey, FieldKey | None]] = []
    cell_data: dict[str, Any] = dict(taken(mesh.cell_data, cell).items())
    if len(list(mesh.face_data.keys())):
        _replaced(ledger, "cell_data", cell_data, FACE_DATA, moves)
        cell_data[FACE_DATA] = _seen(mesh, _views_of(mesh, more))
    point_data: dict[str, Any] = dict(taken(mesh.point_data, points).items())
    for home, fields, name, values in (
        ("cell_data", cell_data, PARENT_CELL, cell),
        ("cell_data", cell_data, LOCAL_FACE, skin.local),
        ("point_data", point_data, PARENT_POINT, points),
    ):
        _replaced(ledger, home, fields, name, moves)
        fields[name] = values
    moves.append((("face_data",), ("cell_data", FACE_DATA)))
    regions = Regions(())
    if len(mesh.regions):
        regions = _regions(mesh, _views_of(mesh, more), cell, new_point, ledger, moves)
    info = mesh.info.replace(grid=None, fields=moved(mesh.info.fields, moves))
    return Mesh(
        points=take(mesh.points, points),
        cells=cells,
        faces=None,
        point_data=point_data,  # type: ignore[arg-type]
        cell_data=cell_data,  # type: ignore[arg-type]
        face_data={},  # type: ignore[arg-type]
        global_data=mesh.global_data,
        regions=regions,
        info=info.noting(ledger.report()),
    )


def _views_of(mesh: Mesh, more: Tensor) -> Tensor:
    """The boundary's faces, seen from their owners, and then those of `more`."""
    return torch.cat([2 * face_table(mesh).faces.boundary, more])


def _seen_from(mesh: Mesh, views: Tensor) -> Outside:
    """Faces as the cells see them from which they are viewed."""
    table = face_table(mesh)
    faces = table.faces
    rows, turned = views // 2, views % 2 == 1
    offsets, places = csr.take_rows(faces.offsets, rows)
    cell = torch.where(turned, faces.neighbour[rows], faces.owner[rows]).long()
    side = torch.where(turned, table.neighbour_side[rows], table.owner_side[rows])
    ring = faces.connectivity[places]
    if bool(turned.any()):
        ring = Faces(offsets, ring, rows, rows).flipped(turned).connectivity
    return Outside(offsets, ring, cell, table.sides.local(side))


def _seen(mesh: Mesh, views: Tensor) -> TensorDictBase:
    """Rows of face fields; oriented ones negate where a face is seen from its neighbour."""
    rows, turned = views // 2, views % 2 == 1

    def change(path: Path, x: Tensor) -> Tensor:
        picked = take(x, rows)
        return negated(picked, turned) if mesh.info.field("face_data", *path).oriented else picked

    return mapped(mesh.face_data, len(rows), change)


def _types(sizes: Tensor, dim: int) -> Tensor:
    """uint8 [n]: vertex, line, or triangle, quad and polygon by size."""
    if dim <= 2:
        return torch.full_like(sizes, 3 if dim == 2 else 1, dtype=torch.uint8)
    types = torch.full_like(sizes, 7, dtype=torch.uint8)
    types[sizes == 3] = 5
    types[sizes == 4] = 9
    return types


def _replaced(
    ledger: Ledger,
    home: str,
    fields: dict[str, Any],
    name: str,
    moves: list[tuple[FieldKey, FieldKey | None]],
) -> None:
    """Count a field that gives way to one that the boundary brings."""
    if fields.pop(name, None) is not None:
        rows = "the boundary has one of this name that leads to its parents"
        ledger.dropped("field", f"{home}/{name}", 1, rows)
        moves.append(((home, name), None))


Rows = tuple[Tensor, Tensor]
"""Which rows of the boundary, and the row of a region that names each."""


def boundary_named(mesh: Mesh) -> dict[tuple[str, str], Rows]:
    """By (name, entity), what of the boundary each region names as sides, faces or cells on it.

    Regions of points and edges name none; cells count by lying on a face, not by standing
    behind it.

    Raises:
        MeshError: as `faces`.
    """
    faces = face_table(mesh).faces
    place = _places(2 * faces.boundary, len(faces))
    return {key: _placed(place, *named) for key, named in views_named(mesh).items()}


def views_named(mesh: Mesh) -> dict[tuple[str, str], Rows]:
    """By (name, entity), the faces that a region of sides, faces or cells on them names, inside
    too.

    Returns:
        Views of faces, int64, and the row of the region that names each. Face f of `faces(mesh)`
        is 2 f, seen from its owner; a side of its neighbour is 2 f + 1. Faces that regions of
        faces name, or that cells lie on, are seen from the owner.

    Raises:
        MeshError: as `faces`.
    """
    table = face_table(mesh)
    out: dict[tuple[str, str], Rows] = {}
    for region in mesh.regions:
        if region.entity == "side":
            side = table.sides.find(region.ids)
            face = looked_up(table.face_of_side, side)
            other = looked_up(table.owner_side, face) != side
            found = torch.where(face < 0, -1, 2 * face + other)
        elif region.entity == "face":
            found = _views(region.ids)
        elif region.entity == "cell":
            found = _views(looked_up(attached_faces(mesh), region.ids))
        else:
            continue
        here = torch.nonzero(found >= 0).squeeze(1)
        out[region.name, region.entity] = (found[here], here)
    return out


def _views(faces: Tensor) -> Tensor:
    """Faces seen from their owners; -1 stays."""
    faces = faces.long()
    return torch.where(faces < 0, -1, 2 * faces)


def _places(views: Tensor, n_faces: int) -> Tensor:
    """int64 [2 n_faces]: where each view stands, -1 where it does not."""
    return numbering(views, 2 * n_faces)


def _placed(place: Tensor, views: Tensor, rows: Tensor) -> Rows:
    """Where these views stand, of those that do, with their rows of the region."""
    found = looked_up(place, views)
    here = torch.nonzero(found >= 0).squeeze(1)
    return found[here], rows[here]


def _named_by_cells(mesh: Mesh, region: Region, lying: Rows, owner: Tensor) -> Rows:
    """What a region of cells names by cells that lie on faces or stand behind them."""
    behind = looked_up(_row_of_id(region.ids, mesh.n_cells), owner)
    here = torch.nonzero(behind >= 0).squeeze(1)
    return _first_each(torch.cat([lying[0], here]), torch.cat([lying[1], behind[here]]))


def _row_of_id(ids: Tensor, n: int) -> Tensor:
    """int64 [n]: the first row in which each id stands, -1 where it stands in none."""
    ids = ids.long()
    known = torch.nonzero((ids >= 0) & (ids < n)).squeeze(1)
    out = torch.full((n,), len(ids), dtype=torch.int64, device=ids.device)
    out = out.scatter_reduce(0, ids[known], known, "amin")
    return torch.where(out == len(ids), -1, out)


def _first_each(ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each id once, ascending, with the row of its first appearance."""
    order = torch.argsort(ids, stable=True)
    ids, rows = ids[order], rows[order]
    first = torch.ones_like(ids, dtype=torch.bool)
    first[1:] = ids[1:] != ids[:-1]
    return ids[first], rows[first]


def _regions(
    mesh: Mesh,
    views: Tensor,
    behind: Tensor,
    new_point: Tensor,
    ledger: Ledger,
    moves: list[tuple[FieldKey, FieldKey | None]],
) -> Regions:
    """The regions of the boundary, and what becomes of those that are not on it."""
    place = _places(views, len(face_table(mesh).faces))
    named = {key: _placed(place, *some) for key, some in views_named(mesh).items()}
    out: list[Region] = []
    names: set[str] = set()
    order = {"side": 0, "face": 1, "cell": 2}
    entity: Entity
    for region in sorted(mesh.regions, key=lambda r: order.get(r.entity, 3)):
        key = ("regions", region.name, region.entity)
        if region.entity in ("point", "edge"):
            ids = looked_up(new_point, region.ids.reshape(-1)).reshape(region.ids.shape)
            stays = ids >= 0 if ids.ndim == 1 else (ids >= 0).all(1)
            rows = torch.nonzero(stays).squeeze(1)
            entity, ids = region.entity, ids[rows]
        elif region.name in names:
            reason = "the boundary has a region of this name, of another entity"
            ledger.dropped("region", region.name, len(region), reason, loss=False)
            moves.append((key, None))
            continue
        else:
            ids, rows = named[region.name, region.entity]
            if region.entity == "cell":
                ids, rows = _named_by_cells(mesh, region, (ids, rows), behind)
            entity = "cell"
            names.add(region.name)
            moves.append((key, ("regions", region.name, entity)))
        away = len(region) - len(torch.unique(rows))
        if away:
            reason = f"{region.entity}s that are not on the boundary"
            ledger.dropped("region", region.name, away, reason, loss=False)
        out.append(region_rows(region, rows, ids, entity))
    return Regions(out)
