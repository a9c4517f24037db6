"""The curl of many fields on one mesh."""

from __future__ import annotations

import torch

from meshkit.mesh import Mesh
from meshkit.operators.differential.curl import need_curl_form
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.preparing import FIRST, Known, prepared
from meshkit.operators.of_mesh import of_mesh


@of_mesh
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

    Arguments and answer as of `gradient_operator`, with `curl` in place of `gradient`.

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
