"""Lengths, areas, volumes and centroids of high-order cells, integrated over the curved element."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit.cells import Block
from meshkit.celltypes import CellType
from meshkit.errors import MeshError
from meshkit.memo import constant
from meshkit.operators.measure.coordinates import cross, dot, extent, length, matters, over
from meshkit.operators.measure.elements import element, has_element
from meshkit.operators.measure.quadrature import rule
from meshkit.operators.measure.shape_functions import Element

_NUMBERS_AT_ONCE = 1 << 23
"""How many numbers the Jacobians of the cells that are worked on together may have."""


def curved_moments(
    row: CellType, block: Block, degrees: Tensor | None, points: Tensor
) -> tuple[Tensor, Tensor] | None:
    """The measure [m] of high-order cells and their centroid [m, 3] relative to the corner mean.

    Args:
        row: what the cells are.
        block: which, and their points.
        degrees: uint8 [n_cells, 3] of the mesh's Lagrange cells.
        points: [n_points, 3].

    Returns:
        None where shape functions are not ours; the corners have to do then.

    Raises:
        MeshError: a Lagrange cell does not have the points of its degrees.
    """
    if not has_element(row):
        return None
    rows, measures, centroids = [], [], []
    for some, made, x in _by_element(row, block, degrees, points):
        measure, centroid = _integrated(made, row.dim, x)
        rows.append(some)
        measures.append(measure)
        centroids.append(centroid)
    order = torch.argsort(torch.cat(rows))
    return torch.cat(measures)[order], torch.cat(centroids)[order]


def curved_shares(
    row: CellType, block: Block, degrees: Tensor | None, points: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """The integral of each point's shape function over high-order cells.

    Args:
        row: a type that has an element of ours.
        block, degrees, points: as for `curved_moments`.

    Returns:
        Point ids [m, k] and integrals [m, k], some cells at a time.

    Raises:
        MeshError: a Lagrange cell does not have the points of its degrees.
    """
    for some, made, x in _by_element(row, block, degrees, points):
        shape, _, _ = (t.to(x) for t in _tables(made, row.dim))
        parts, _ = _density(made, row.dim, x)
        yield block.connectivity[some].long(), parts @ shape.T


def _by_element(
    row: CellType, block: Block, degrees: Tensor | None, points: Tensor
) -> Iterator[tuple[Tensor, Element, Tensor]]:
    """Rows of the block, their element, and their points about the mean of their corners."""
    m, size = block.connectivity.shape
    kinds: list[tuple[Tensor, tuple[int, int, int] | None]] = [
        (torch.arange(m, device=points.device), None)
    ]
    if row.order == 0 and degrees is not None:
        found, which = torch.unique(degrees[block.ids].long(), dim=0, return_inverse=True)
        kinds = [
            (torch.nonzero(which == i).squeeze(1), (a, b, c))
            for i, (a, b, c) in enumerate(found.tolist())
        ]
    for at, degree in kinds:
        try:
            made = element(row.name, row.shape, size, degree)
        except MeshError as why:
            raise MeshError(f"cell {int(block.ids[at[0]])}: {why}") from None
        if made is None:
            return
        _, weights, _ = _tables(made, row.dim)
        step = max(1, _NUMBERS_AT_ONCE // (3 * row.dim * len(weights)))
        for some in torch.split(at, step):
            x = points[block.connectivity[some].long()]
            yield some, made, x - x[:, list(row.corners or ())].mean(1, keepdim=True)


def _integrated(made: Element, dim: int, x: Tensor) -> tuple[Tensor, Tensor]:
    shape = _tables(made, dim)[0].to(x)
    parts, turned = _density(made, dim, x)
    measure = parts.sum(1)
    moment = (turned @ shape @ parts.unsqueeze(-1)).squeeze(-1)
    usable = matters(measure, extent(x), dim)
    return measure, over(moment, measure, usable, 0.0)


def _density(made: Element, dim: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """How much measure stands for each Gauss point [m, q], and the points as [m, 3, k]."""
    _, weights, slopes = (t.to(x) for t in _tables(made, dim))
    m, q = len(x), len(weights)
    turned = x.transpose(1, 2)
    tangents = (turned @ slopes).reshape(m, 3, dim, q).permute(2, 0, 3, 1)  # [dim, m, q, 3]
    if dim == 1:
        density = length(tangents[0])
    elif dim == 2:
        density = length(cross(tangents[0], tangents[1]))
    else:
        density = dot(cross(tangents[0], tangents[1]), tangents[2])
    return density * weights, turned


@constant
def _tables(made: Element, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """At the Gauss points: shape functions [k, q], weights [q], derivatives [k, dim * q].

    Volumes and their first moments are polynomials, of degree 4 p - 1 along an axis and less in a
    simplex. Lengths and areas are not; 2 p + 2 points an axis leave rounding on plane cells and
    little on curved ones.
    """
    inside, along = made.degrees
    if dim == 3:
        at, weights = rule(made.shape, dim, 4 * inside, max(4 * along - 1, 0))
    else:
        at, weights = rule(made.shape, dim, 4 * inside + 2, 4 * along + 3)
    values, slopes = made.functions(at)
    k = values.shape[1]
    return values.T, weights, slopes.permute(1, 2, 0).reshape(k, -1)
