"""Gradients by Gauss' theorem: the sum of face value x area vector over the volume."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential import flux_kernels
from meshkit.operators.differential.boundary_values import extra_values
from meshkit.operators.differential.cell_fluxes import CellFluxes, cell_fluxes, values_of_faces
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.flux_geometry import flux_geometry
from meshkit.operators.differential.forms import Form, of_gradient
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
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    faces = flux_geometry(mesh)
    parts: list[Part] = []
    if faces.compiled:
        value_of, has = values_of_faces(faces, known), determined
        given = (faces, centroids, value_of, has, mesh.dim)
        for done in flux_kernels.filled(flux_kernels.plain, *given, (centroids.shape[1], 0), dtype):
            parts.append(done.jumps)
            determined[done.held] = done.good
        return SparseMap(n, n + n_known, form, "own row", tuple(parts)), determined
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
    where = samples(mesh, "cells")
    inner, has = lsq_map(where, extra_values(mesh, "cells", known), power, dtype)
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    ids = ids_dtype(n)
    faces = flux_geometry(mesh)
    jumps: list[Part] = []
    slopes: list[Part] = []
    if faces.compiled:
        given = (faces, where.positions, values_of_faces(faces, known), has, mesh.dim)
        for done in flux_kernels.filled(flux_kernels.corrected, *given, (d, d * d), dtype):
            jumps.append(done.jumps)
            slopes += [done.slopes] if done.slopes else []
            determined[done.held] = done.good
        return _summed(n, n_known, form, d, jumps, slopes, inner), determined
    for some in cell_fluxes(mesh, faces, where.positions, known):
        mine, theirs = has[some.own].double(), has[some.other].double()
        share = torch.where(some.inner, theirs / (mine + theirs).clamp(min=1), 0)
        over = volume_of(some)
        weight = torch.where(some.known, 1.0, share)[..., None]
        coefs = torch.where((some.inner | some.known)[..., None], weight * some.area, 0)
        coefs = (coefs / over[:, None]).transpose(1, 2)
        jumps.append(Part(some.rows, some.columns(n, n_known), coefs.to(dtype).contiguous()))
        own = torch.where(some.known, 0.0, 1 - share)
        far = _outer(share[..., None] * some.area, some.from_other)
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
    return _summed(n, n_known, form, d, jumps, slopes, inner), determined


def _summed(
    n: int,
    n_known: int,
    form: Form,
    d: int,
    jumps: list[Part],
    slopes: list[Part],
    inner: SparseMap,
) -> LinearMap:
    """The jumps of the field, and what extrapolating with its gradient adds."""
    outer = SparseMap(n, n, of_gradient(form, d), "nothing", tuple(slopes))
    first = SparseMap(n, n + n_known, form, "own row", tuple(jumps))
    return Sum(first, Product(outer, inner, form))


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
