"""Linear finite elements on simplices: gradients, stiffness and mass, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit import csr
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids, top_blocks
from meshkit.operators.adjacency.templates import corners
from meshkit.operators.differential.bands import bands
from meshkit.operators.differential.forms import SCALAR, Form
from meshkit.operators.differential.samples import in_double
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype
from meshkit.operators.measure.coordinates import (
    cross,
    dot,
    extent,
    in_space,
    length,
    matters,
)

_SHAPES = ("line", "triangle", "tetra")
_OTHERWISE = ', or another method than "fem"'


@dataclass(frozen=True, eq=False)
class Elements:
    """The simplices of dimension s = mesh.dim, float64."""

    cells: Tensor  # int64 [m], ascending
    corners: Tensor  # int64 [m, s + 1]: point ids
    slopes: Tensor  # [m, s + 1, 3]: the gradients of the hat functions, tangential; they sum to 0
    measures: Tensor  # [m], positive
    good: Tensor  # bool [m]: the measure is more than rounding; else slopes and measure are zero


def elements(what: str, mesh: Mesh, otherwise: str = "") -> Elements:
    """The simplices, high-order ones through their corners.

    Args:
        what: who asks, for messages.
        mesh: its cells of dimension mesh.dim are looked at.
        otherwise: how a message about cells that are none goes on.

    Raises:
        MeshError: as `faces`; or some cell of dimension mesh.dim is no simplex.
    """
    need_point_ids(mesh)
    points = in_space(in_double(mesh).points)
    ids, tables = [], []
    for block in top_blocks(mesh.cells):
        row = CELL_TYPES[block.type]
        at = corners(row, block.connectivity.shape[1])
        is_simplex = row.shape in _SHAPES or (row.shape in ("polygon", "poly_line"))
        if not is_simplex or len(at) != row.dim + 1:
            raise MeshError(
                f"{what}: cell {int(block.ids[0])}: expected lines, triangles or tets, found a "
                f"{row.name} of {block.connectivity.shape[1]} points; take simplices(mesh)"
                f"{otherwise}"
            )
        ids.append(block.ids)
        tables.append(block.connectivity[:, list(at)].long())
    if not ids:
        raise MeshError(
            f"{what}: expected cells that are lines, triangles or tets, found {mesh.cells!r}"
        )
    cells, corner = torch.cat(ids), torch.cat(tables)
    order = torch.argsort(cells)
    cells, corner = cells[order], corner[order]
    x = points[corner]
    slopes, measures, good = _slopes(x)
    return Elements(cells, corner, slopes, measures, good)


def _slopes(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the hat functions of simplices [m, s + 1, 3], and measures."""
    s = x.shape[1] - 1
    edges = (x[:, 1:] - x[:, :1]).unbind(1)
    scale = extent(x - x.mean(1, keepdim=True))
    if s == 1:
        size = length(edges[0])
        good = size.detach() > 0
        per = torch.where(good, size, 1)
        rest = [edges[0] / per[:, None] / per[:, None]]
        measures = size
    elif s == 2:
        normal = cross(edges[0], edges[1])
        size = length(normal)
        good = matters(size, scale, 2)
        per = torch.where(good, size, 1)[:, None]
        unit = normal / per
        rest = [cross(edges[1], unit) / per, cross(unit, edges[0]) / per]
        measures = size / 2
    else:
        volume = dot(cross(edges[0], edges[1]), edges[2])
        good = matters(volume, scale, 3)
        per = torch.where(good, volume, 1)[:, None]
        rest = [
            cross(edges[1], edges[2]) / per,
            cross(edges[2], edges[0]) / per,
            cross(edges[0], edges[1]) / per,
        ]
        measures = volume.abs() / 6
    good = good & torch.isfinite(x.detach()).all((1, 2))
    rest = [torch.where(good[:, None], g, 0) for g in rest]
    first = -torch.stack(rest).sum(0)
    return torch.stack([first, *rest], 1), torch.where(good, measures, 0), good


def fem_map(what: str, mesh: Mesh, form: Form, dtype: torch.dtype) -> tuple[SparseMap, Tensor]:
    """The constant gradient in each simplex from the values at its points."""
    found = elements(what, mesh, _OTHERWISE)
    n, d = mesh.n_cells, mesh.points.shape[1]
    ids = ids_dtype(mesh.n_points, n)
    whole = len(found.cells) == n
    part = Part(
        None if whole else found.cells,
        found.corners[:, 1:].T.to(ids).contiguous(),
        found.slopes[:, 1:, :d].permute(1, 2, 0).to(dtype).contiguous(),
        found.corners[:, 0].to(ids).contiguous(),
    )
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    determined[found.cells] = found.good
    return SparseMap(n, mesh.n_points, form, "given", (part,)), determined


def cotangent_map(what: str, mesh: Mesh, dtype: torch.dtype) -> tuple[SparseMap, Tensor]:
    """Minus the stiffness over the lumped mass: on triangles the cotangent Laplacian."""
    found = elements(what, mesh, _OTHERWISE)
    n = mesh.n_points
    mass = lumped(found, n)
    row, col, values = couplings(found)
    determined = mass.detach() > 0
    over = torch.where(determined, mass, 1)
    order = torch.argsort(row, stable=True)
    row, col, values = row[order], col[order], values[order]
    offsets = csr.offsets_of(torch.bincount(row, minlength=n))
    coefs = -values / over[row]
    parts = []
    for band in bands(offsets):
        real, at = band.places >= 0, band.places.clamp(min=0)
        own = torch.arange(n, device=row.device) if band.rows is None else band.rows
        cols = torch.where(real, col[at], own).to(ids_dtype(n))
        some = torch.where(real, coefs[at], 0)[:, None].to(dtype).contiguous()
        parts.append(Part(band.rows, cols, some))
    return SparseMap(n, n, SCALAR, "own row", tuple(parts)), determined


def lumped(found: Elements, n: int) -> Tensor:
    """float64 [n]: an equal share of each simplex for each of its points."""
    share = found.measures / found.corners.shape[1]
    each = share[:, None].expand_as(found.corners).reshape(-1)
    return share.new_zeros(n).index_add(0, found.corners.reshape(-1), each)


def couplings(found: Elements) -> tuple[Tensor, Tensor, Tensor]:
    """Row, column (different points) and value of the stiffness matrix, each pair once."""
    k = found.corners.shape[1]
    pairs = [(i, j) for i in range(k) for j in range(k) if i != j]
    row = torch.cat([found.corners[:, i] for i, _ in pairs])
    col = torch.cat([found.corners[:, j] for _, j in pairs])
    values = torch.cat(
        [found.measures * dot(found.slopes[:, i], found.slopes[:, j]) for i, j in pairs]
    )
    return summed_pairs(row, col, values)


def summed_pairs(row: Tensor, col: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs ascending, each once, with the sum of their values."""
    bound = int(torch.stack([row.max(), col.max()]).max()) + 1 if len(row) else 1
    key, place = torch.unique(row * bound + col, return_inverse=True)
    total = values.new_zeros(len(key)).index_add(0, place, values)
    return key // bound, key % bound, total
