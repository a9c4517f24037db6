"""The Laplacian of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.forms import SCALAR
from meshkit.operators.differential.laplacian import default_method
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import SECOND, Known, prepared
from meshkit.operators.of_mesh import of_mesh


@of_mesh
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

    Arguments and answer as of `gradient_operator`, with `laplacian` in place of `gradient`.

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
