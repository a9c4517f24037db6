"""The Laplacian of a field."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import BoundaryValues
from meshkit.operators.differential.forms import SCALAR
from meshkit.operators.differential.preparing import SECOND, applied
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def laplacian(
    mesh: Mesh,
    values: Tensor,
    *,
    on: str,
    method: str | None = None,
    boundary: BoundaryValues | None = None,
    weights: float | None = None,
) -> Tensor:
    """The divergence of the gradient, component by component; negative at a maximum.

    - "finite_volume", on cells (their default): the sum of the fluxes of the gradient through the
      faces over the volume, corrected for non-orthogonal faces with least-squares gradients. On
      the boundary the flux is that towards the given value, else that of the cell's own gradient.
      A solid inside out spoils it in itself and its neighbours (`check`: `inverted_cell`).
    - "fem", on points (their default): minus the stiffness matrix over the lumped mass matrix of
      linear finite elements; on triangles the cotangent Laplacian, on surfaces that of Laplace
      and Beltrami. Nothing flows through the boundary, so that boundary points have what a wall
      without flux would give them, not the pointwise Laplacian.

    Both are 0 for linear fields ("fem": inside), and solving a Poisson problem with them is of
    order 2 in the root mean square over the cells or points solved for, on shaken meshes of any
    cells at a stretch of about 1 (on coarse ones, below about 12 cells a side, it looks like 1.8).
    The value itself at one cell or point of an irregular mesh does not converge. No two-point
    finite-volume scheme converges on tets stretched 1:1000.

    Args:
        mesh: as in `gradient`; "fem" needs simplices.
        values: [n, ...].
        on: "points" or "cells".
        method: as above.
        boundary: as in `gradient`; "finite_volume" only.
        weights: as in `gradient`, for the gradients of the correction.

    Returns:
        [n, ...] on the same entity, in the dtype of the values; NaN where not determined, as
        `gradient` is. Differentiable as `gradient` is.

    Raises:
        MeshError: as `gradient`.

    Source: Jasak, Error analysis and estimation for the finite volume method, 1996 (the
    non-orthogonal correction); Pinkall and Polthier, Computing discrete minimal surfaces and
    their conjugates, 1993 (cotangents).
    """
    return applied(
        "laplacian",
        mesh,
        values,
        SCALAR,
        SECOND,
        on=on,
        method=default_method(on) if method is None else method,
        boundary=boundary,
        weights=weights,
    )


def default_method(on: str) -> str:
    """The Laplacian that fits values on points or cells."""
    return "fem" if isinstance(on, str) and on == "points" else "finite_volume"
