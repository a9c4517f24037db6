"""Cells without size, inside out, or not star-shaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.operators.measure.assembled import assembled
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.measure.star_shapes import surely_star_shaped
from meshkit.operators.simplices import parts_of, parts_without_size
from meshkit.operators.soundness.finding import Finding, found, places

_ZERO: Final = 1e-12


def of_shapes(mesh: Mesh, ids: Tensor) -> Iterator[Finding]:
    """Measures that are zero or negative, and fans that are inside out in part.

    `ids` are what the cells are called.
    """
    points = in_space(mesh.points)
    measures = cell_measures(mesh.replace(points=points))
    dims = mesh.cells.dims.long()
    eps = torch.finfo(points.dtype).eps
    bound = max(_ZERO, 2 * eps)
    zero = (measures.abs() <= bound * _extents(mesh, points) ** dims) & (dims > 0)
    what = "no length, area or volume"
    yield from found("zero_cell", "warning", what, ids[places(zero)])
    inverted = (dims == 3) & (measures < 0) & ~zero
    yield from found("inverted_cell", "error", "negative volume", ids[places(inverted)])
    # A tet is star-shaped; of all others those in doubt are taken apart.
    simplex = torch.tensor(
        [n in CELL_TYPES and CELL_TYPES[n].shape == "tetra" for n in range(256)],
        device=mesh.device,
    )[mesh.cells.types.int()]
    doubtful = (dims == 3) & (measures > 0) & ~zero & ~simplex
    if bool(doubtful.any()):
        doubtful &= ~surely_star_shaped(mesh.cells, points)
    solids = places(doubtful)
    if len(solids):
        parts, sizes = parts_of(mesh.replace(points=points, cells=mesh.cells.take(solids)))
        inside_out = (sizes < 0) & ~parts_without_size(parts, sizes)
        cells = torch.unique(parts.parent[inside_out])
        what = "not star-shaped: parts of the fan are inside out"
        yield from found("not_star_shaped", "warning", what, ids[solids[cells]])


def _extents(mesh: Mesh, points: Tensor) -> Tensor:
    """[n_cells]: the longest side of each cell's box."""
    parts = []
    for block in mesh.cells.blocks:
        if block.connectivity.shape[1]:
            x = points[block.connectivity.long()]
            parts.append((block.ids, (x.amax(1) - x.amin(1)).amax(1)))
    return assembled(mesh.n_cells, parts, points.new_zeros(()))
