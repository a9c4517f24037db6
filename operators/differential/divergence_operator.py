"""The divergence of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.forms import divergence_form
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import FIRST, Known, prepared
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def divergence_operator(
    mesh: Mesh,
    *,
    on: str,
    method: str = "lsq",
    boundary: Known = None,
    weights: float | None = None,
    dtype: torch.dtype | None = None,
) -> MeshOperator:
    """`divergence`, prepared once and applied to many fields.

    Arguments and answer as of `gradient_operator`, with `divergence` in place of `gradient`.

    Raises:
        MeshError: as `divergence`.
    """
    return prepared(
        "divergence",
        mesh,
        divergence_form(mesh.points.shape[1]),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
        dtype=dtype,
    )
