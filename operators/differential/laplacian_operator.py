"""The laplacian of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.forms import SCALAR
from meshkit.operators.differential.laplacian import default_method
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import SECOND, Known, prepared


def laplacian_operator(
    mesh: Mesh,
    *,
    on: str,
    method: str | None = None,
    boundary: Known = None,
    weights: float | None = None,
    dtype: torch.dtype | None = None,
) -> MeshOperator:
    """`laplacian`, prepared once and applied to many fields, or solved with: see `.matrix()`.

    Args:
        mesh: as in `laplacian`.
        on, method, weights: as in `laplacian`.
        boundary: which boundary faces will have values: bool [n_boundary] in the order of the
            faces of `faces(mesh)` without a neighbour, or names of regions. Which they are is
            fixed here, what they are is given with each field.
        dtype: of the coefficients, that of the points unless given; a field of another one has
            them cast, once.

    Returns:
        MeshOperator: `.apply(values, boundary=None)`, `.transpose()`, `.determined` bool [n],
        `.stencil`, `.matrix()`, `.order`.

    Raises:
        MeshError: as `laplacian`.
    """
    return prepared(
        "laplacian",
        mesh,
        SCALAR,
        SECOND,
        on=on,
        method=default_method(on) if method is None else method,
        boundary=boundary,
        weights=weights,
        dtype=dtype,
    )
