"""High-order solids as small hexes through points of their own curved shape, for cutting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.measure.elements import element
from meshkit.operators.measure.shape_functions import SIMPLEX_AXES, Element
from meshkit.pictures.cut import Cut
from meshkit.pictures.facets import SHADE
from meshkit.readers.vtk import VtkArray, VtkData

Reals = NDArray[np.float64]
Ids = NDArray[np.int64]

_MOST: Final = 400_000
"""About so many small hexes at a time are looked at; more cells are divided less finely."""


def has_shape(mesh: Mesh, ids: Ids) -> NDArray[np.bool_]:
    """Which of these cells are curved solids whose shape functions are ours."""
    found = np.zeros(len(ids), np.bool_)
    for _, rows, _ in _kinds(mesh, ids):
        found[rows] = True
    return found


def small_hexes(
    mesh: Mesh, ids: Ids, points: Reals, cut: Cut, cell: Reals | None, point: Reals | None
) -> VtkData:
    """Those parts of these cells that the plane goes through, as linear hexes.

    Simplices are cubes with sides drawn together, so hexes at their corners have points in common.

    Args:
        ids: cells of which `has_shape` says yes.
        points: [n_points, 3] as they are drawn.
        cell, point: the shades of all cells or of all points.
    """
    by = int(np.clip(round((_MOST / max(len(ids), 1)) ** (1 / 3)), 2, 8))
    grids, shades = [], []
    for made, rows, nodes in _kinds(mesh, ids):
        weights = made.functions(_lattice(made.shape, by))[0].numpy()  # [q, k]
        at = np.einsum("qk,mkd->mqd", weights, points[nodes])
        corners = at[:, _corners(by)]  # [m, by^3, 8, 3]
        heights = cut.heights(corners)
        crossed = (heights.min(2) < 0) & (heights.max(2) >= 0)
        grids.append(corners[crossed])
        if cell is not None:
            shades.append(np.repeat(cell[ids[rows]], crossed.sum(1)))
        elif point is not None:
            inner = np.einsum("qk,mk->mq", weights, point[nodes])
            shades.append(inner[:, _corners(by)][crossed].reshape(-1))
    hexes = np.concatenate([*grids, np.zeros((0, 8, 3))])
    n = len(hexes)
    data = VtkData(
        hexes.reshape(-1, 3),
        np.full(n, 12, np.uint8),
        np.arange(n + 1, dtype=np.int64) * 8,
        np.arange(8 * n, dtype=np.int64),
    )
    if shades:
        arrays = data.cell_arrays if cell is not None else data.point_arrays
        arrays[SHADE] = VtkArray(np.concatenate(shades).reshape(-1, 1))
    return data


def _kinds(mesh: Mesh, ids: Ids) -> Iterator[tuple[Element, Ids, Ids]]:
    """Each kind of curved solid among these cells: which rows they are, and their points [m, k]."""
    place = np.full(mesh.n_cells, -1)
    place[ids] = np.arange(len(ids))
    for block in mesh.cells.blocks:
        row = CELL_TYPES[block.type]
        rows = place[block.ids.numpy()]
        here = np.flatnonzero(rows >= 0)
        if row.dim != 3 or row.order == 1 or row.shape not in SIMPLEX_AXES or not len(here):
            continue
        nodes = block.connectivity.long().numpy()[here]
        for degrees, among in _by_degrees(mesh, block.ids[torch.from_numpy(here)]):
            made = element(row.name, row.shape, nodes.shape[1], degrees)
            if made is not None:
                yield made, rows[here][among], nodes[among]


def _by_degrees(
    mesh: Mesh, cells: torch.Tensor
) -> Iterator[tuple[tuple[int, int, int] | None, Ids]]:
    if mesh.cells.degrees is None:
        yield None, np.arange(len(cells))
        return
    found, which = torch.unique(mesh.cells.degrees[cells].long(), dim=0, return_inverse=True)
    for i, (a, b, c) in enumerate(found.tolist()):
        yield (a, b, c) if a else None, np.flatnonzero(which.numpy() == i)


def _lattice(shape: str, by: int) -> torch.Tensor:
    """Points [(by + 1)^3, 3] of a reference shape, the last axis fastest."""
    along = torch.linspace(0, 1, by + 1, dtype=torch.float64, device="cpu")
    grid = torch.cartesian_prod(along, along, along)
    at, left = grid.clone(), torch.ones(len(grid), dtype=torch.float64, device="cpu")
    for axis in range(SIMPLEX_AXES[shape]):
        at[:, axis] = grid[:, axis] * left
        left = left - at[:, axis]
    return at


def _corners(by: int) -> Ids:
    """The lattice points [by^3, 8] of each small hex, in vtk's order."""
    at = np.arange((by + 1) ** 3).reshape(by + 1, by + 1, by + 1)
    low, high = slice(None, -1), slice(1, None)
    ring = ((low, low), (high, low), (high, high), (low, high))
    return np.stack([at[x, y, z].reshape(-1) for z in (low, high) for x, y in ring], 1)
