"""Operators by Gauss' theorem multiplied out: one sparse map over the neighbours of neighbours."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.differential.bands import Band, bands
from meshkit.operators.differential.flux_geometry import FluxGeometry
from meshkit.operators.differential.flux_kernels import coefficients, lengths, most_terms
from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype
from meshkit.operators.kernels import Array, array, kernel, over_rows, unset
from meshkit.operators.measure.coordinates import in_space

FEW: Final = 1 << 12
"""As many terms of a cell may be taken for granted: what they need in memory does not matter."""


def flux_map(
    method: int,
    form: Form,
    faces: FluxGeometry,
    centroids: Tensor,
    value_of: Tensor,
    n_known: int,
    dim: int,
    dtype: torch.dtype,
    inner: tuple[SparseMap, Tensor] | None = None,
) -> tuple[SparseMap, Tensor]:
    """The map of a method, and which cells are determined, bool [n].

    A row's columns are the cells beyond its faces, their neighbours in `inner`, its own, and the
    known values of them all; each once, with a coefficient of 0 too, so that the stencil is that of
    the maps one after the other.

    Args:
        method: `PLAIN`, `CORRECTED` or `DIRECT` of the kernels.
        form: of the operator.
        faces, centroids: the geometry and the centroids [n, d] of the cells, float64.
        value_of: int64 [n_faces]: which known value stands on each face, else -1.
        n_known, dim: how many known values there are, and the dimension of the cells.
        dtype: of the coefficients, which are summed in float64.
        inner: the least-squares gradient and which cells have one; None: none is taken.
    """
    n = len(centroids)
    terms, ids = 1 + max(c for _, c, _, _ in form.pattern), ids_dtype(n + n_known)
    parts, has = (
        ((), torch.zeros(n, dtype=torch.bool)) if inner is None else (inner[0].parts, inner[1])
    )
    ends, cols, gradients = map(array, _rows(parts, n, ids, dtype))
    of_cell, around = array(faces.of_cell.offsets), array(faces.of_cell.indices)
    owner, neighbour = array(faces.owner), array(faces.neighbour)
    most = _most_terms(of_cell, around, owner, neighbour, ends)
    sides = owner, neighbour, array(value_of)
    topology: tuple[Any, ...] = (of_cell, around, *sides, n, most, ends, cols)
    counts = torch.zeros(n, dtype=torch.int64)
    asked: list[Any] = [*topology, counts.numpy()]
    over_rows(lengths, n, *asked)
    warp = centroids[:0] if faces.warp is None else faces.warp.reshape(-1, 9)
    back = centroids[:0] if faces.from_neighbour is None else in_space(faces.from_neighbour)
    space = in_space(faces.from_owner), back, in_space(faces.centroids)
    geometry = tuple(map(array, (*space, warp, in_space(centroids), has)))
    determined = torch.zeros(n, dtype=torch.bool)
    out = []
    for band in bands(csr.offsets_of(counts)):
        made = _blank(band, terms, ids, dtype)
        rows = counts[:0] if band.rows is None else band.rows
        answers = array(made.cols), array(made.coefs), determined.numpy()
        which = array(rows), array(band.lengths)
        every: list[Any] = [method, *which, *topology, gradients, *geometry, dim, *answers]
        over_rows(coefficients, len(band), *every)
        out.append(made)
    return SparseMap(n, n + n_known, form, "own row", tuple(out)), determined


def _most_terms(of_cell: Array, around: Array, owner: Array, neighbour: Array, ends: Array) -> int:
    """At least the most terms that a cell has: for most meshes without a look at every cell."""
    faces, cells = (int(np.diff(x).max(initial=0)) for x in (of_cell, ends))
    bound = faces * (1 + cells) + cells
    return bound if bound <= FEW else most_terms(of_cell, around, owner, neighbour, ends)


def _blank(band: Band, c: int, ids: torch.dtype, dtype: torch.dtype) -> Part:
    """A part of a band for a kernel to fill."""
    width, m = band.width, len(band)
    cols = unset(width * m, ids).reshape(width, m)
    return Part(band.rows, cols, unset(width * c * m, dtype).reshape(width, c, m))


def _rows(
    parts: tuple[Part, ...], n: int, ids: torch.dtype, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """The n rows of a gradient "own row" as compressed rows: offsets, columns and coefficients
    [e, 3]; without padding, and with zeros for coordinates that there are not."""
    given = [(array(_numbers(part)), array(part.cols), array(part.coefs)) for part in parts]
    counts = torch.zeros(n, dtype=torch.int64)
    for part in given:
        over_rows(_count, part[1].shape[1], *part[:2], counts.numpy())
    offsets = csr.offsets_of(counts)
    total = int(offsets[-1])
    cols, coefs = unset(total, ids), unset(3 * total, dtype).reshape(total, 3)
    for part in given:
        over_rows(_gather, part[1].shape[1], *part, *map(array, (offsets, cols, coefs)))
    return offsets, cols, coefs


def _numbers(part: Part) -> Tensor:
    return torch.arange(0) if part.rows is None else part.rows


@kernel
def _count(lo: int, hi: int, rows: Array, cols: Array, out: Array) -> None:
    """How many entries each row has; each has all of its in one part."""
    for k in range(cols.shape[0]):
        for i in range(lo, hi):
            row = rows[i] if len(rows) > 0 else i
            if cols[k, i] != row:
                out[row] += 1


@kernel
def _gather(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    coefs: Array,
    offsets: Array,
    out_cols: Array,
    out: Array,
) -> None:
    for i in range(lo, hi):
        row = rows[i] if len(rows) > 0 else i
        at = offsets[row]
        for k in range(cols.shape[0]):
            if cols[k, i] != row:
                out_cols[at] = cols[k, i]
                for x in range(3):
                    out[at, x] = coefs[k, x, i] if x < coefs.shape[1] else 0.0
                at += 1
