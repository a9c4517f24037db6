"""Cells that no operator can take, and cells that hardly mean what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import Block, Cells
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, CellType
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.vertex_sets import tables, vertex_set_ids
from meshkit.operators.measure.elements import element
from meshkit.operators.soundness.finding import Finding, Severity, found, places

_REPEATING = ("poly_line", "poly_vertex", "triangle_strip")
"""Shapes that may use a point twice: closed polylines, strips that turn on the spot."""


def of_offsets(mesh: Mesh) -> Iterator[Finding]:
    """Offsets that fall, or do not span what they point into."""
    cells = mesh.cells
    rows = [("cells", cells.offsets, len(cells.connectivity))]
    if cells.polyhedra is not None:
        solids = cells.polyhedra
        rows.append(("polyhedra.faces", solids.faces, len(solids.offsets) - 1))
        rows.append(("polyhedra.offsets", solids.offsets, len(solids.connectivity)))
    if mesh.faces is not None:
        rows.append(("faces", mesh.faces.offsets, len(mesh.faces.connectivity)))
    code = "offsets_not_ascending"
    for name, offsets, end in rows:
        falls = places(offsets[1:] < offsets[:-1])
        yield from found(code, "error", f"offsets of {name} fall", falls, "rows")
        first, last = int(offsets[0]), int(offsets[-1])
        if (first, last) != (0, end):
            what = f"offsets of {name} run from {first} to {last}, expected 0 to {end}"
            yield Finding(code, "error", what, 1, ())


def of_types(cells: Cells, usable: Tensor) -> Iterator[Finding]:
    """Cells of no type, of a wrong size, or without faces; they are marked as not usable."""
    wrong = torch.zeros_like(usable)
    for block in cells.blocks:
        row = CELL_TYPES.get(block.type)
        if row is None:
            what = f"type {block.type} is unknown"
            yield from found("unknown_type", "error", what, block.ids)
            usable[block.ids] = False
        elif row.shape == "convex_point_set":
            what = f"a {row.name} does not say what its faces are"
            yield from found("no_faces", "warning", what, block.ids)
            usable[block.ids] = False
        else:
            wrong[block.ids] = _wrong_size(cells, block, row)
    what = "not as many points as the type has"
    yield from found("wrong_size", "error", what, places(wrong))
    usable &= ~wrong


def _wrong_size(cells: Cells, block: Block, row: CellType) -> Tensor:
    """bool [m]: cells that do not have the points of their type, or of their degrees."""
    size = block.connectivity.shape[1]
    every = torch.ones_like(block.ids, dtype=torch.bool)
    if cells.degrees is None or row.order != 0 or size < len(row.corners or ()):
        return every & (not fits(row, size))
    kinds, which = torch.unique(cells.degrees[block.ids].long(), dim=0, return_inverse=True)
    good = [fits(row, size, (a, b, c)) for a, b, c in kinds.tolist()]
    return ~torch.tensor(good, device=which.device)[which]


LEAST: Final = {"polygon": 3, "triangle_strip": 3, "poly_line": 2, "polyhedron": 4}
"""The fewest points of shapes whose cells vary in size; one where it is not said."""


def fits(row: CellType, size: int, degrees: tuple[int, int, int] | None = None) -> bool:
    """Whether a cell of a type, and of these degrees if any, can have so many points."""
    if row.size is not None:
        return size == row.size
    if row.corners is None:
        return size >= LEAST.get(row.shape, 1) * row.order and size % row.order == 0
    try:
        element(row.name, row.shape, size, degrees)
    except MeshError:
        return False
    return size >= len(row.corners)


def of_polyhedra_count(cells: Cells) -> Iterator[Finding]:
    """Cells of type 42 without faces, and faces without such a cell."""
    wanted = len(cells.polyhedron_ids)
    listed = 0 if cells.polyhedra is None else len(cells.polyhedra)
    if wanted != listed:
        what = f"{wanted} cells of type {POLYHEDRON}, but faces of {listed}"
        yield Finding("polyhedra_count", "error", what, abs(wanted - listed), ())


def out_of_range(cells: Cells, n_points: int) -> Tensor:
    """bool [n_cells]: cells that use a point which is not there."""
    wrong = torch.zeros(len(cells), dtype=torch.bool, device=cells.types.device)
    bad = (cells.connectivity < 0) | (cells.connectivity >= n_points)
    if bool(bad.any()):
        wrong[csr.row_of_each(cells.offsets)[bad]] = True
    solids = cells.polyhedra
    if solids is not None:
        bad = (solids.connectivity < 0) | (solids.connectivity >= n_points)
        if bool(bad.any()):
            face = csr.row_of_each(solids.offsets)[bad]
            wrong[cells.polyhedron_ids[csr.row_of_each(solids.faces)[face]]] = True
    return wrong


def of_repeats(cells: Cells, ids: Tensor) -> Iterator[Finding]:
    """Points used twice in a cell, and cells that stand twice; `ids` are the cells' own."""
    twice, again = [ids[:0]], [ids[:0]]
    for number in cells.present:
        mine = places(cells.types == number)
        offsets, at = csr.take_rows(cells.offsets, mine)
        rings = cells.connectivity[at]
        if CELL_TYPES[number].shape not in _REPEATING:
            for rows, table in tables(offsets, rings):
                ordered = torch.sort(table, 1).values
                same = (ordered[:, 1:] == ordered[:, :-1]).any(1)
                twice.append(ids[mine[rows[same]]])
        sets, _ = vertex_set_ids(offsets, rings)
        order = torch.argsort(sets, stable=True)
        same = (sets[order][1:] == sets[order][:-1]) & (sets[order][1:] >= 0)
        again.append(ids[mine[order[1:][same]]])
    repeated, duplicate = (torch.sort(torch.cat(x)).values for x in (twice, again))
    yield from found("repeated_point", "warning", "a point used twice", repeated)
    what = "type and points of an earlier cell"
    yield from found("duplicate_cell", "warning", what, duplicate)


def of_manifold(mesh: Mesh, ids: Tensor) -> Iterator[Finding]:
    """Faces that more than two cells share; the cells are named."""
    table = face_table(mesh)
    if len(table.crowd) == 0:
        return
    faces = len(torch.unique(table.crowd_set))
    what = {3: "face", 2: "edge", 1: "point"}.get(mesh.dim, "face")
    severity: Severity = "info" if mesh.dim == 1 else "warning"
    cells = torch.unique(ids[table.sides.cell[table.crowd]])
    listed = list(found("", severity, f"{faces} {what}s of more than two cells", cells))
    yield Finding("nonmanifold", severity, listed[0].message, faces, listed[0].ids)
