"""The curl of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.curl import need_curl_form
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import FIRST, Known, prepared


def curl_operator(
    mesh: Mesh,
    *,
    on: str,
    method: str = "lsq",
    boundary: Known = None,
    weights: float | None = None,
    dtype: torch.dtype | None = None,
) -> MeshOperator:
    """`curl`, prepared once and applied to many fields.

    Args:
        mesh: as in `curl`.
        on, method, weights: as in `curl`.
        boundary: which boundary faces will have values: bool [n_boundary] in the order of the
            faces of `faces(mesh)` without a neighbour, or names of regions. Which they are is
            fixed here, what they are is given with each field.
        dtype: of the coefficients, that of the points unless given; a field of another one has
            them cast, once.

    Returns:
        MeshOperator: `.apply(values, boundary=None)`, `.transpose()`, `.determined` bool [n],
        `.stencil`, `.matrix()`, `.order`.

    Raises:
        MeshError: as `curl`.
    """
    return prepared(
        "curl",
        mesh,
        need_curl_form("curl", mesh),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
        dtype=dtype,
    )
