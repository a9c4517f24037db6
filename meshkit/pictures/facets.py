"""Surface cells to draw: the faces of solids, or surface cells themselves, curved ones as curved.

A `Facets` is a list of surface cells of vtk's types over the points of a mesh. Its rows know which
cell of the mesh each shows, so that a colour can be looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit import csr
from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.pictures.cell_parts import Degrees, Part, parts
from meshkit.readers.vtk import VtkArray, VtkData
from meshkit.readers.vtk.objects import to_unstructured

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]

SHADE: Final = "shade"
"""The name of the array that is coloured."""

SMOOTHNESS: Final = 3
"""A curved edge is drawn as 2^3 straight ones."""


@dataclass(frozen=True, eq=False)
class Facets:
    """Cells of one dimension over the points of a mesh.

    Args:
        types: uint8 [n], vtk's.
        offsets, connectivity: the points of each.
        row: int64 [n], which cell or face of the mesh each one shows.
        degrees: uint8 [n, 3] of Lagrange cells; 0 where it follows from the size.
    """

    types: NDArray[np.uint8]
    offsets: Ids
    connectivity: Ids
    row: Ids
    degrees: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.types)

    def where(self, mask: NDArray[np.bool_]) -> Facets:
        """Some of them."""
        ids = np.flatnonzero(mask)
        offsets, places = csr.take_rows(torch.from_numpy(self.offsets), torch.from_numpy(ids))
        return Facets(
            self.types[ids],
            offsets.numpy(),
            self.connectivity[places.numpy()],
            self.row[ids],
            None if self.degrees is None else self.degrees[ids],
        )

    def lows_and_highs(self, at_points: Reals) -> tuple[Reals, Reals]:
        """The least and the greatest of a number a point over the points of each."""
        return extremes(self.offsets, self.connectivity, at_points)

    def dataset(
        self, points: Reals, *, cell: Reals | None = None, point: Reals | None = None
    ) -> Any:
        """A `pyvista.PolyData` of them, curved ones made of several; array "shade" if given.

        Args:
            points: float64 [n_points, 3] of the mesh.
            cell: the shade of each of them.
            point: the shade of each point of the mesh.
        """
        if len(self) == 0:
            return empty()
        used = np.zeros(len(points), np.bool_)
        used[self.connectivity] = True
        ids = np.flatnonzero(used)
        new = np.cumsum(used) - 1
        data = VtkData(points[ids], self.types, self.offsets, new[self.connectivity])
        if self.degrees is not None:
            degrees = VtkArray(self.degrees.astype(np.float64), "degrees")
            data.cell_arrays["HigherOrderDegrees"] = degrees
        if cell is not None:
            data.cell_arrays[SHADE] = VtkArray(cell.reshape(-1, 1))
        if point is not None:
            data.point_arrays[SHADE] = VtkArray(point[ids].reshape(-1, 1))
        return skin_of(to_unstructured(data))


def skin_of(grid: Any) -> Any:
    """A `pyvista.PolyData` of cells that are no solids; curved ones become several straight."""
    import pyvista
    from vtkmodules.vtkFiltersGeometry import vtkDataSetSurfaceFilter

    surface = vtkDataSetSurfaceFilter()
    surface.SetInputData(grid)
    surface.SetNonlinearSubdivisionLevel(SMOOTHNESS)
    surface.Update()
    return pyvista.wrap(surface.GetOutput())


def empty() -> Any:
    """A `pyvista.PolyData` of nothing."""
    import pyvista

    return pyvista.PolyData()


def extremes(offsets: Ids, connectivity: Ids, at_points: Reals) -> tuple[Reals, Reals]:
    """The least and the greatest of a number a point, over each row; NaN for an empty row."""
    n = len(offsets) - 1
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    filled = np.flatnonzero(np.diff(offsets) > 0)
    if len(filled):
        starts = offsets[filled]
        values = at_points[connectivity]
        low[filled] = np.minimum.reduceat(values, starts)
        high[filled] = np.maximum.reduceat(values, starts)
    return low, high


def facets_of_cells(mesh: Mesh, ids: Ids) -> Facets:
    """Cells of the mesh as they are; `row` is the cell."""
    offsets, places = csr.take_rows(mesh.cells.offsets.long(), torch.from_numpy(ids))
    degrees = None if mesh.cells.degrees is None else mesh.cells.degrees.numpy()[ids]
    return Facets(
        mesh.cells.types.numpy()[ids],
        offsets.numpy(),
        mesh.cells.connectivity.long().numpy()[places.numpy()],
        ids,
        degrees,
    )


def facets_of_faces(mesh: Mesh, rows: Ids) -> Facets:
    """Faces of the solids of a mesh, rows of `faces(mesh)`; `row` is that row."""
    table = face_table(mesh)
    faces = table.faces
    chosen = torch.from_numpy(rows)
    owners = faces.owner.long()[chosen]
    curved = torch.zeros(len(rows), dtype=torch.bool, device="cpu")
    groups: list[Facets] = []
    if any(CELL_TYPES[t].dim == 3 and _is_curved(t) for t in mesh.cells.present):
        local = table.sides.local(table.owner_side[chosen])
        for part, mine, cells in _curved_parts(mesh, owners, local):
            curved[mine] = True
            starts = mesh.cells.offsets.long()[cells]
            nodes = mesh.cells.connectivity.long()[
                starts[:, None] + torch.tensor(part.nodes, device="cpu")
            ]
            groups.append(_of_one_type(part, nodes.numpy(), rows[mine.numpy()]))
    flat = torch.nonzero(~curved).squeeze(1)
    offsets, places = csr.take_rows(faces.offsets.long(), chosen[flat])
    sizes = np.diff(offsets.numpy())
    types = np.select([sizes == 3, sizes == 4], [5, 9], 7).astype(np.uint8)
    rings = faces.connectivity.long()[places].numpy()
    straight = Facets(types, offsets.numpy(), rings, rows[flat.numpy()])
    return joined([straight.where(sizes >= 3), *groups])


def edges_of(facets: Facets) -> Facets:
    """The edges of surface cells, each once, as lines or curves; `row` is -1."""
    groups: list[Facets] = []
    for number, size, degrees, ids in _kinds(facets):
        nodes = facets.connectivity[facets.offsets[ids][:, None] + np.arange(size)]
        groups += [
            _of_one_type(part, nodes[:, list(part.nodes)], np.full(len(ids), -1))
            for part in parts("Edge", number, size, degrees)
        ]
    every = joined(groups)
    if len(every) == 0:
        return every
    ends = every.connectivity[every.offsets[:-1][:, None] + np.arange(2)]
    ends.sort(axis=1)
    _, first = np.unique(ends, axis=0, return_index=True)
    once = np.zeros(len(every), np.bool_)
    once[first] = True
    return every.where(once)


def joined(groups: Sequence[Facets]) -> Facets:
    """All of several lists, one after the other."""
    ids = np.zeros(0, np.int64)
    none = Facets(np.zeros(0, np.uint8), np.zeros(1, np.int64), ids, ids)
    groups = [g for g in groups if len(g)] or [none]
    sizes = np.concatenate([np.diff(g.offsets) for g in groups])
    told = any(g.degrees is not None for g in groups)
    return Facets(
        np.concatenate([g.types for g in groups]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([g.connectivity for g in groups]),
        np.concatenate([g.row for g in groups]),
        np.concatenate([_degrees(g) for g in groups]) if told else None,
    )


def _degrees(facets: Facets) -> NDArray[np.uint8]:
    return np.zeros((len(facets), 3), np.uint8) if facets.degrees is None else facets.degrees


def _of_one_type(part: Part, nodes: Ids, rows: Ids) -> Facets:
    n, size = nodes.shape
    return Facets(
        np.full(n, part.type, np.uint8),
        np.arange(n + 1, dtype=np.int64) * size,
        nodes.reshape(-1),
        rows,
        None if part.degrees is None else np.tile(np.array(part.degrees, np.uint8), (n, 1)),
    )


def _is_curved(number: int) -> bool:
    return CELL_TYPES[number].order != 1


def _curved_parts(
    mesh: Mesh, owners: torch.Tensor, local: torch.Tensor
) -> Iterator[tuple[Part, torch.Tensor, torch.Tensor]]:
    """For each face of each kind of curved cell: the part, which of the rows, and their cells."""
    cells = mesh.cells
    sizes = cells.sizes.long()
    n_locals = int(local.max()) + 1 if len(local) else 0
    kinds = cells.types.long()[owners] * (int(sizes.max()) + 1) + sizes[owners]
    key = kinds * n_locals + local
    key[local < 0] = -1
    for found in torch.unique(key[key >= 0]).tolist():
        kind, side = divmod(found, n_locals)
        number, size = divmod(kind, int(sizes.max()) + 1)
        if not _is_curved(number):
            continue
        mine = torch.nonzero(key == found).squeeze(1)
        for degrees, among in _by_degrees(mesh, owners[mine]):
            made = parts("Face", number, size, degrees)
            if side < len(made):
                some = mine[among]
                yield made[side], some, owners[some]


def _by_degrees(mesh: Mesh, cells: torch.Tensor) -> Iterator[tuple[Degrees | None, torch.Tensor]]:
    if mesh.cells.degrees is None:
        yield None, torch.arange(len(cells), device="cpu")
        return
    found, which = torch.unique(mesh.cells.degrees[cells].long(), dim=0, return_inverse=True)
    for i, (a, b, c) in enumerate(found.tolist()):
        yield (a, b, c) if a else None, torch.nonzero(which == i).squeeze(1)


def _kinds(facets: Facets) -> Iterator[tuple[int, int, Degrees | None, Ids]]:
    """The types, sizes and degrees that occur, and which they are."""
    told = _degrees(facets).astype(np.int64)
    table = np.column_stack([facets.types.astype(np.int64), np.diff(facets.offsets), told])
    found, which = np.unique(table, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for i, (number, size, a, b, c) in enumerate(found.tolist()):
        yield number, size, (a, b, c) if a else None, np.flatnonzero(which == i)
