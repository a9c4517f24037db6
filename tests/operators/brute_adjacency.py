"""Adjacency by brute force: loops and dictionaries, that the operators are held to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from torch import Tensor

from meshkit import operators as ops
from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.templates import edge_template, side_template
from tests.operators.topology_twins import answered_by


def rows_of(offsets: Tensor, values: Tensor) -> list[list[int]]:
    flat = values.tolist()
    return [flat[a:b] for a, b in pairwise(offsets.tolist())]


def adjacencies(mesh: Mesh) -> dict[str, ops.Adjacency]:
    """All that links points, cells and faces."""
    return {
        "point_points": ops.point_points(mesh),
        "point_cells": ops.point_cells(mesh),
        "cell_cells": ops.cell_cells(mesh),
        "cells through points": ops.cell_cells(mesh, through="points"),
        "cell_faces": ops.cell_faces(mesh),
    }


def answer(mesh: Mesh) -> dict[str, Any]:
    """Everything that adjacency says, as lists."""
    table = face_table(mesh)
    faces = table.faces
    rows = adjacencies(mesh)
    skin = ops.boundary(mesh)
    return {
        "rings": rows_of(faces.offsets, faces.connectivity),
        "owner": faces.owner.tolist(),
        "neighbour": faces.neighbour.tolist(),
        "face dtypes": [x.dtype for x in faces.sources],
        "owner_side": table.owner_side.tolist(),
        "neighbour_side": table.neighbour_side.tolist(),
        "face_of_side": table.face_of_side.tolist(),
        "crowd": table.crowd.tolist(),
        "edges": ops.edges(mesh).tolist(),
        "edge dtype": ops.edges(mesh).dtype,
        "parts": ops.components(mesh).tolist(),
        "parts through points": ops.components(mesh, through="points").tolist(),
        "skin": rows_of(skin.cells.offsets, skin.cells.connectivity),
        "skin types": skin.cells.types.tolist(),
        "parents": [skin.cell_data["parent_cell"].tolist(), skin.cell_data["local_face"].tolist()],
        "skin points": skin.point_data["parent_point"].tolist(),
        **{name: rows_of(found.offsets, found.indices) for name, found in rows.items()},
    }


def brute(mesh: Mesh) -> dict[str, Any]:
    """The same by loops and dictionaries, for meshes without faces of their own."""
    cells, dim = mesh.cells, mesh.dim
    points = rows_of(cells.offsets, cells.connectivity)
    top = [CELL_TYPES[t].dim == dim for t in cells.types.tolist()]
    sides = sides_of(cells, dim, points)
    alike: dict[frozenset[int], list[int]] = {}
    for i, (_, _, ring) in enumerate(sides):
        if len(set(ring)) >= max(dim, 1):
            alike.setdefault(frozenset(ring), []).append(i)
    partner = [-1] * len(sides)
    crowds = [group for group in alike.values() if len(group) > 2]
    for group in alike.values():
        if len(group) == 2 and sides[group[0]][0] != sides[group[1]][0]:
            partner[group[0]], partner[group[1]] = group[1], group[0]
    inner = [i for i in range(len(sides)) if partner[i] > i]
    outer = [i for i in range(len(sides)) if partner[i] < 0]
    order = inner + outer
    links = {(sides[i][0], sides[partner[i]][0]) for i in range(len(sides)) if partner[i] >= 0}
    links |= {(sides[a][0], sides[b][0]) for group in crowds for a in group for b in group}
    by_face = sorted(link for link in links if link[0] != link[1])
    edges = sorted({(min(e), max(e)) for e in edges_of(cells, dim, points, sides) if e[0] != e[1]})
    listed = sorted({(p, i) for i, row in enumerate(points) if top[i] for p in row})
    by_point = {(i, j) for p, i in listed for q, j in listed if p == q and i != j}
    n = len(points)
    cell_faces = sorted(
        {(sides[i][0], f) for f, i in enumerate(order)}
        | {(sides[partner[i]][0], f) for f, i in enumerate(inner)}
    )
    used = sorted({p for i in outer for p in sides[i][2]})
    return {
        "rings": [sides[i][2] for i in order],
        "owner": [sides[i][0] for i in order],
        "neighbour": [sides[partner[i]][0] for i in inner] + [-1] * len(outer),
        "owner_side": order,
        "neighbour_side": [partner[i] for i in order],
        "crowd": sorted(i for group in crowds for i in group),
        "edges": [list(e) for e in edges],
        "parts": parts_of(top, by_face),
        "parts through points": parts_of(top, sorted(by_point)),
        "skin": [[used.index(p) for p in sides[i][2]] for i in outer],
        "parents": [[sides[i][0] for i in outer], [sides[i][1] for i in outer]],
        "skin points": used,
        "point_points": listed_rows(mesh.n_points, [*edges, *((b, a) for a, b in edges)]),
        "point_cells": listed_rows(mesh.n_points, listed),
        "cell_cells": listed_rows(n, by_face),
        "cells through points": listed_rows(n, sorted(by_point)),
        "cell_faces": listed_rows(n, cell_faces),
    }


def listed_rows(n: int, pairs: list[tuple[int, int]]) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in range(n)]
    for row, value in sorted(pairs):
        out[row].append(value)
    return out


def sides_of(cells: Cells, dim: int, points: list[list[int]]) -> list[tuple[int, int, list[int]]]:
    """(cell, local face, ring) of every side."""
    out, solid = [], 0
    for i, number in enumerate(cells.types.tolist()):
        if CELL_TYPES[number].dim != dim or dim == 0:
            continue
        if number == 42 and cells.polyhedra is not None:
            rings = polyhedron(cells, solid)
            solid += 1
        else:
            rings = [[points[i][p] for p in r] for r in side_template(number, len(points[i]))]
        out += [(i, k, ring) for k, ring in enumerate(rings)]
    return out


def polyhedron(cells: Cells, which: int) -> list[list[int]]:
    held = cells.polyhedra
    assert held is not None
    rows = rows_of(held.offsets, held.connectivity)
    return rows[int(held.faces[which]) : int(held.faces[which + 1])]


def edges_of(
    cells: Cells, dim: int, points: list[list[int]], sides: list[tuple[int, int, list[int]]]
) -> Iterator[tuple[int, int]]:
    numbers = cells.types.tolist()
    for i, number in enumerate(numbers):
        if CELL_TYPES[number].dim == dim and number != 42:
            for a, b in edge_template(number, len(points[i])):
                yield points[i][a], points[i][b]
    for i, _, ring in sides:
        if numbers[i] == 42:
            yield from zip(ring, ring[1:] + ring[:1], strict=True)


def parts_of(top: list[bool], links: list[tuple[int, int]]) -> list[int]:
    label = list(range(len(top)))
    for _ in top:
        for a, b in links:
            label[a] = label[b] = min(label[a], label[b])
    kept = sorted({x for x, here in zip(label, top, strict=True) if here})
    return [kept.index(x) if here else -1 for x, here in zip(label, top, strict=True)]


def agrees(mesh: Mesh, twin: str) -> None:
    with answered_by(twin) as there:
        got = answer(there(mesh))
    for name, wanted in brute(mesh).items():
        assert got[name] == wanted, name
