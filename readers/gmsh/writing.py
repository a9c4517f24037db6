"""MSH files out: version 4.1, binary, little-endian.

The cells of each combination of regions are an entity, each region a physical group of entities;
nodes and elements keep the order of the mesh, so runs of one entity and type are the blocks. What
MSH has no place for and is small goes in a section of our own (see `note`).

Source: Gmsh reference manual, "MSH file format" (version 4.1), and the files that Gmsh 4.15 writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from meshkit.cells import Cells
from meshkit.errors import WriteError
from meshkit.fields import leaves
from meshkit.mesh import Mesh
from meshkit.readers.accounting import (
    added_up,
    keep_cells,
    lose_faces,
    lose_fields,
    lose_with_cells,
)
from meshkit.readers.gmsh.carried import faces_as_sides
from meshkit.readers.gmsh.data_out import columns_of, same_bits, write_column
from meshkit.readers.gmsh.elements import ElementType, element_of_cell
from meshkit.readers.gmsh.grouping import PHYSICAL
from meshkit.readers.gmsh.layout import REORDERED, Layout, own_arrays
from meshkit.readers.gmsh.note import region_row, whole_row
from meshkit.report import Ledger
from meshkit.series import MeshSeries


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Points, cells, regions, periodic links and fields.

    Points go as float64 [n, 3], fields as float64; reading gives them their dtypes and shapes
    back. Points, edges and sides that regions name become vertices, lines and faces after the
    cells, in a physical group each region, so that other programs have them; their ids, data of
    regions and global data also stand in meshkit's own section, which reading takes them from.
    Regions of faces become those of sides. Lost, and listed in the ledger: cells that gmsh has no
    element for (polygons, polyhedra and strips among them), faces and their data, and integers
    beyond 2^53.

    Raises:
        WriteError: a name is no text that the file can hold.
        LossError: from `ledger.settle`, when something is lost.
    """
    mesh = _held(mesh, ledger)
    columns = columns_of(mesh, own_arrays(mesh), ledger)
    plan = Layout(mesh, ledger)
    _lose(mesh, ledger)
    ledger.settle()
    with path.open("wb") as file:
        plan.write(file)
        for column in columns:
            write_column(file, column, plan, mesh.info.time, 0)
        time = mesh.info.time
        whole = [whole_row(mesh, time)]
        file.write(plan.note(time, [column.row for column in columns], whole))


def write_series(series: MeshSeries, path: Path, ledger: Ledger) -> None:
    """The mesh once and its fields at every time.

    Raises:
        WriteError: there is no time, or the points, cells or regions change.
        LossError: from `ledger.settle`, when something is lost.
    """
    if not len(series):
        raise WriteError(path, "a series of no times", expected="one or more")
    reports = []
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    first: Mesh | None = None
    plan: Layout | None = None
    whole: list[dict[str, Any]] = []
    with path.open("wb") as file:
        for i, time in enumerate(series.times):
            own = Ledger()
            mesh = _held(series[i], own)
            columns = columns_of(mesh, own_arrays(mesh), own)
            once = Ledger()
            _lose(mesh, once)
            if plan is None or first is None:
                first, plan = mesh, Layout(mesh, once)
                own.add(once.report())
                plan.write(file)
            elif (what := _changed(first, mesh)) is not None:
                raise WriteError(
                    path,
                    f"{what} change at time {time:g}",
                    expected="one mesh at all times",
                    hint="write a store, a VTKHDF or a pvd",
                )
            if columns:
                own.kept("time", "", 1)
            else:
                own.dropped("time", "", 1, "MSH has times only of data of points and cells")
            whole.append(whole_row(mesh, time))
            for column in columns:
                write_column(file, column, plan, time, i)
                before = rows.setdefault((column.kind, column.name), column.row)
                if before != column.row:
                    raise WriteError(
                        path,
                        f"the field {column.name!r} changes its dtype or shape at time {time:g}",
                        expected="one at all times",
                    )
            reports.append(own.report())
        if plan is not None:
            file.write(plan.note(series.times[0], list(rows.values()), whole))
    added_up(reports, ledger)
    ledger.settle()


def _changed(first: Mesh, mesh: Mesh) -> str | None:
    """What of a mesh is not as at the first time."""
    same = first.points.dtype == mesh.points.dtype and _same(first.points, mesh.points)
    if not same:
        return "points"
    for a, b in zip(first.cells.sources, mesh.cells.sources, strict=False):
        if not _same(a, b):
            return "cells"
    mine, theirs = list(first.regions), list(mesh.regions)
    alike = len(mine) == len(theirs) and all(
        region_row(a, (), PHYSICAL) == region_row(b, (), PHYSICAL)
        for a, b in zip(mine, theirs, strict=False)
    )
    return None if alike else "regions"


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a is b:
        return True
    return a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num())


# --- what can be written --------------------------------------------------------------------------


def _held(mesh: Mesh, ledger: Ledger) -> Mesh:
    """The mesh with only those cells that are elements of gmsh; the others are lost."""
    mesh = faces_as_sides(mesh, ledger)
    lose_faces(mesh, ledger, "MSH has no faces beside elements")
    lose_fields(mesh, ledger, "MSH has no data of faces", ["face_data"])
    mesh = mesh.replace(faces=None, face_data={})
    held = torch.zeros(mesh.n_cells, dtype=torch.bool, device="cpu")
    for ids, kind in _kinds(mesh.cells):
        held[ids] = kind is not None
    if bool(held.all()):
        return mesh
    whole, mesh = mesh, mesh.select(cells=held.to(mesh.device))
    left = mesh.cells.counts
    for name, count in whole.cells.counts.items():
        if count > left.get(name, 0):
            gone = count - left.get(name, 0)
            ledger.dropped("cells", name, gone, "gmsh has no such element")
    lose_with_cells(whole, mesh, ledger)
    return mesh


def _kinds(cells: Cells) -> Iterator[tuple[torch.Tensor, ElementType | None]]:
    """The cells of each type and size, and the element that they are."""
    for block in cells.blocks:
        number = REORDERED.get(block.type, block.type)
        kind = element_of_cell(number, block.connectivity.shape[1])
        ids = block.ids.cpu()
        if kind is None or cells.degrees is None or not bool(cells.degrees[block.ids].any()):
            yield ids, kind
            continue
        used = cells.degrees[block.ids, : kind.dim].cpu()
        even = (used == used[:, :1]).all(1)
        yield ids[even], kind
        yield ids[~even], None


def _lose(mesh: Mesh, ledger: Ledger) -> None:
    """What is no field and no cell, but is not there when the file is read."""
    if mesh.cells.degrees is not None:
        reason = "gmsh's elements have one degree along all axes, which their size says"
        ledger.converted("cells", "degrees", mesh.n_cells, reason)
    keep_cells(mesh.cells, ledger)
    points = mesh.points.detach()
    if same_bits(points.double().to(points.dtype), points):
        ledger.kept("points", "", mesh.n_points)
    else:
        ledger.converted("points", "", mesh.n_points, f"the bits of NaNs of {points.dtype}")
    for path, x in leaves(mesh.global_data):
        where = "in meshkit's own section"
        ledger.kept("field", f"global_data/{'/'.join(path)}", len(x) if x.ndim else 1, where)
    if mesh.info.grid is not None or mesh.info.attributes or mesh.info.length_unit:
        ledger.kept("info", "", 1, "in meshkit's own section")
