"""Gradients by Gauss' theorem: the sum of face value x area vector over the volume."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import extra_values
from meshkit.operators.differential.cell_fluxes import CellFluxes, cell_fluxes, values_of_faces
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.flux_geometry import flux_geometry
from meshkit.operators.differential.flux_kernels import CORRECTED, PLAIN
from meshkit.operators.differential.flux_map import flux_map
from meshkit.operators.differential.forms import Form, of_gradient
from meshkit.operators.differential.gradient_rows import gradient_rows
from meshkit.operators.differential.lsq import lsq_map
from meshkit.operators.differential.samples import in_double, samples
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype
from meshkit.operators.measure.cell_centroids import cell_centroids


def plain_map(
    mesh: Mesh, form: Form, known: Tensor | None, dtype: torch.dtype
) -> tuple[LinearMap, Tensor]:
    """Face values are means of the two cells, by their distances from the face; on the boundary
    the known value, else the cell's own.
    """
    n, n_known = mesh.n_cells, 0 if known is None else len(known)
    centroids = cell_centroids(in_double(mesh))
    faces = flux_geometry(mesh, bulge_alone=True)
    if faces.compiled:
        value_of = values_of_faces(faces, known)
        return flux_map(PLAIN, form, faces, centroids, value_of, n_known, mesh.dim, dtype)
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    parts: list[Part] = []
    for some in cell_fluxes(mesh, faces, centroids, known):
        share = torch.where(some.known, 1.0, share_of_other(some))
        coefs = share[..., None] * some.area / volume_of(some)[:, None]
        coefs = torch.where((some.inner | some.known)[..., None], coefs, 0)
        coefs = coefs.transpose(1, 2).to(dtype).contiguous()
        parts.append(Part(some.rows, some.columns(n, n_known), coefs))
        note(determined, some, some.solid)
    return SparseMap(n, n + n_known, form, "own row", tuple(parts)), determined


def green_gauss_map(
    mesh: Mesh, form: Form, known: Tensor | None, power: float, dtype: torch.dtype
) -> tuple[LinearMap, Tensor]:
    """Face values are extrapolated from both cells with their least-squares gradients and
    integrated over the triangles of the face's fan.

    Where one of the two has no gradient the other's value is taken; on the boundary the known
    value, else the cell's own extrapolated one.
    """
    n, n_known = mesh.n_cells, 0 if known is None else len(known)
    d = mesh.points.shape[1]
    where, faces = samples(mesh, "cells"), flux_geometry(mesh)
    extra = extra_values(mesh, "cells", known)
    if faces.compiled:
        given = faces, where.positions, values_of_faces(faces, known), n_known, mesh.dim
        rows = gradient_rows(*lsq_map(where, extra, power, dtype))
        return flux_map(CORRECTED, form, *given, dtype, rows)
    inner, has = lsq_map(where, extra, power, dtype)
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    ids = ids_dtype(n)
    jumps: list[Part] = []
    slopes: list[Part] = []
    for some in cell_fluxes(mesh, faces, where.positions, known):
        mine, theirs = has[some.own].double(), has[some.other].double()
        share = torch.where(some.inner, theirs / (mine + theirs).clamp(min=1), 0)
        over = volume_of(some)
        weight = torch.where(some.known, 1.0, share)[..., None]
        coefs = torch.where((some.inner | some.known)[..., None], weight * some.area, 0)
        coefs = (coefs / over[:, None]).transpose(1, 2)
        jumps.append(Part(some.rows, some.columns(n, n_known), coefs.to(dtype).contiguous()))
        own = torch.where(some.known, 0.0, 1 - share)
        # Without a gradient beyond there may be no place either.
        away = torch.where((share > 0)[..., None], some.from_other, 0)
        far = _outer(share[..., None] * some.area, away)
        near = _outer(own[..., None] * some.area, some.to_face)
        if some.warp is not None:
            far = far + share[..., None, None] * some.warp
            near = near + (1 - share)[..., None, None] * some.warp
        both = torch.cat([far, near.sum(0, keepdim=True)]) / over[:, None, None]
        both = both.reshape(len(both), -1, d * d).transpose(1, 2).to(dtype).contiguous()
        cols = torch.cat([some.other, some.own[None]]).to(ids)
        slopes.append(Part(some.rows, cols, both))
        good = torch.where(some.inner, has[some.other] | has[some.own], has[some.own])
        if some.warp is None:
            good = good | some.known
        note(determined, some, some.solid & (good | ~some.real).all(0))
    # The jumps of the field, and what extrapolating with its gradient adds.
    first = SparseMap(n, n + n_known, form, "own row", tuple(jumps))
    outer = SparseMap(n, n, of_gradient(form, d), "nothing", tuple(slopes))
    return Sum(first, Product(outer, inner, form)), determined


def note(determined: Tensor, some: CellFluxes, good: Tensor) -> None:
    """Write which cells of a band are determined; a band of all cells lacks the long ones."""
    held = some.real[0]
    determined[some.own[held]] = good[held]


def volume_of(some: CellFluxes) -> Tensor:
    """float64 [m], 1 where there is none."""
    return torch.where(some.solid, some.volume, 1)


def share_of_other(some: CellFluxes) -> Tensor:
    """float64 [width, m]: how much the cell beyond has in the value on the face, by distance."""
    near = (some.area * some.to_face).sum(-1).abs()
    far = (some.area * some.from_other).sum(-1).abs()
    total = near + far
    usable = total.detach() > 0
    return torch.where(usable, near / torch.where(usable, total, 1), 0.5)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]
