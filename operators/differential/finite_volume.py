"""The finite-volume Laplacian, corrected for faces that the line between cells does not cross
square.
"""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import extra_values
from meshkit.operators.differential.cell_fluxes import cell_fluxes, values_of_faces
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.flux_geometry import flux_geometry
from meshkit.operators.differential.flux_kernels import DIRECT
from meshkit.operators.differential.flux_map import flux_map
from meshkit.operators.differential.forms import SCALAR, divergence_form
from meshkit.operators.differential.gradient_rows import gradient_rows
from meshkit.operators.differential.green_gauss import note, share_of_other, volume_of
from meshkit.operators.differential.lsq import lsq_map
from meshkit.operators.differential.samples import samples
from meshkit.operators.differential.sparse_map import Part, SparseMap, ids_dtype


def finite_volume_map(
    mesh: Mesh, known: Tensor | None, power: float, dtype: torch.dtype
) -> tuple[LinearMap, Tensor]:
    """The sum of the fluxes of the gradient through a cell's faces, over its volume.

    With e from the cell's centroid to the next one (on the boundary, to the known value) and A
    the area vector, the flux is |A| / |e| times the difference of the values, plus the mean of
    the two least-squares gradients times what is left, A - e |A| / |e|. That part is bounded on
    any mesh. Without a known value the boundary's flux is A times the cell's own gradient.
    """
    n, n_known = mesh.n_cells, 0 if known is None else len(known)
    d = mesh.points.shape[1]
    where, faces = samples(mesh, "cells"), flux_geometry(mesh, bulge_alone=True)
    extra = extra_values(mesh, "cells", known)
    if faces.compiled:
        given = faces, where.positions, values_of_faces(faces, known), n_known, mesh.dim
        rows = gradient_rows(*lsq_map(where, extra, power, dtype))
        return flux_map(DIRECT, SCALAR, *given, dtype, rows)
    inner, has = lsq_map(where, extra, power, dtype)
    determined = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    jumps: list[Part] = []
    slopes: list[Part] = []
    for some in cell_fluxes(mesh, faces, where.positions, known):
        over = volume_of(some)
        across = some.inner | some.known
        step = torch.where(across[..., None], some.to_face - some.from_other, 0)
        size = torch.linalg.vector_norm(some.area, dim=-1)
        apart = torch.linalg.vector_norm(step, dim=-1)
        usable = apart.detach() > 0
        direct = torch.where(usable, size / torch.where(usable, apart, 1), 0)
        left = some.area - direct[..., None] * step
        share = torch.where(some.inner, share_of_other(some), 0)
        far, near = share[..., None] * left, (1 - share)[..., None] * left
        jumps.append(
            Part(
                some.rows,
                some.columns(n, n_known),
                (direct / over)[:, None].to(dtype).contiguous(),
            )
        )
        both = torch.cat([far, near.sum(0, keepdim=True)]) / over[:, None]
        cols = torch.cat([some.other, some.own[None]]).to(ids_dtype(n))
        slopes.append(Part(some.rows, cols, both.transpose(1, 2).to(dtype).contiguous()))
        good = has[some.own] & torch.where(some.inner, has[some.other], True)
        note(determined, some, some.solid & (good | ~some.real).all(0))
    first = SparseMap(n, n + n_known, SCALAR, "own row", tuple(jumps))
    outer = SparseMap(n, n, divergence_form(d), "nothing", tuple(slopes))
    return Sum(first, Product(outer, inner, SCALAR)), determined
