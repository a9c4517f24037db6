"""The gradient of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.forms import gradient_form
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import FIRST, Known, prepared
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def gradient_operator(
    mesh: Mesh,
    *,
    on: str,
    method: str = "lsq",
    boundary: Known = None,
    weights: float | None = None,
    dtype: torch.dtype | None = None,
) -> MeshOperator:
    """`gradient`, prepared once: topology, geometry and coefficients are worked out here, and each
    field costs one pass over them.

    Args:
        mesh: as in `gradient`.
        on, method, weights: as in `gradient`.
        boundary: which boundary faces will have values: bool [n_boundary] in the order of the
            faces of `faces(mesh)` without a neighbour, or names of regions. Which they are is
            fixed here, what they are is given with each field.
        dtype: of the coefficients, that of the points unless given; a field of another one has
            them cast, once.

    Returns:
        MeshOperator: `.apply(values, boundary=None)`, `.transpose()`, `.determined` bool [n],
        `.stencil`, `.matrix()`, `.order`.

    Raises:
        MeshError: as `gradient`.
    """
    return prepared(
        "gradient",
        mesh,
        gradient_form(mesh.points.shape[1]),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
        dtype=dtype,
    )
