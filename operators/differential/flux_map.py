"""Operators by Gauss' theorem multiplied out: one sparse map over the neighbours of neighbours."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from meshkit import csr
from meshkit.operators.differential.bands import Band, bands
from meshkit.operators.differential.flux_columns import count_terms, tell_apart
from meshkit.operators.differential.flux_geometry import FluxGeometry
from meshkit.operators.differential.flux_kernels import CORRECTED, coefficients
from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.gradient_rows import GradientRows, no_gradients
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype
from meshkit.operators.kernels import array, over_rows, unset
from meshkit.operators.measure.coordinates import in_space

FEW: Final = 255
"""As many terms of a cell are told apart by numbers of one byte."""


def flux_map(
    method: int,
    form: Form,
    faces: FluxGeometry,
    centroids: Tensor,
    value_of: Tensor,
    n_known: int,
    dim: int,
    dtype: torch.dtype,
    inner: GradientRows | None = None,
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
        inner: the least-squares gradients; None: none are taken.
    """
    n = len(centroids)
    width, ids = 1 + max(c for _, c, _, _ in form.pattern), ids_dtype(n + n_known)
    inner = no_gradients(n, n + n_known, dtype) if inner is None else inner
    ends, cols = array(inner.offsets), array(inner.cols)
    around = array(faces.of_cell.offsets), array(faces.of_cell.indices)
    beyond = array(faces.owner), array(faces.neighbour)
    counts = unset(n, torch.int64)
    over_rows(count_terms, n, *around, *beyond, ends, counts.numpy())
    begin, most = csr.offsets_of(counts), int(counts.max()) if n else 0
    slots = unset(int(begin[-1]), torch.uint8 if most <= FEW else torch.int32)
    sides = *beyond, array(value_of), n, most
    topology: list[Any] = [*around, *sides, ends, cols, array(begin), slots.numpy()]
    over_rows(tell_apart, n, *[*topology, counts.numpy()])
    back = centroids[:0] if faces.from_neighbour is None else in_space(faces.from_neighbour)
    seen = in_space(faces.from_owner), back, in_space(faces.centroids), _bend(method, faces)
    geometry = tuple(map(array, (inner.coefs, *seen, in_space(centroids), inner.has)))
    determined = torch.zeros(n, dtype=torch.bool, device="cpu")
    out = []
    for band in bands(csr.offsets_of(counts)):
        made = _blank(band, width, ids, dtype)
        rows = counts[:0] if band.rows is None else band.rows
        answers = array(made.cols), array(made.coefs), determined.numpy()
        which = array(rows), array(band.lengths)
        every: list[Any] = [*which, *topology, *geometry, dim, *answers]
        over_rows(coefficients(method), len(band), *every)
        out.append(made)
    return SparseMap(n, n + n_known, form, "own row", tuple(out)), determined


def _bend(method: int, faces: FluxGeometry) -> Tensor:
    """[n_faces, 9] or [n_faces, 1]: the warp of faces or its trace; without rows where none has
    any."""
    if method == CORRECTED:
        return faces.centroids.new_zeros(0, 9) if faces.warp is None else faces.warp.reshape(-1, 9)
    return faces.centroids.new_zeros(0, 1) if faces.bulge is None else faces.bulge[:, None]


def _blank(band: Band, c: int, ids: torch.dtype, dtype: torch.dtype) -> Part:
    """A part of a band for a kernel to fill."""
    width, m = band.width, len(band)
    cols = unset(width * m, ids).reshape(width, m)
    return Part(band.rows, cols, unset(width * c * m, dtype).reshape(width, c, m))
