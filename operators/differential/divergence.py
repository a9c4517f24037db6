"""The divergence of a vector or tensor field."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import BoundaryValues
from meshkit.operators.differential.forms import divergence_form
from meshkit.operators.differential.preparing import FIRST, applied
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def divergence(
    mesh: Mesh,
    values: Tensor,
    *,
    on: str,
    method: str = "lsq",
    boundary: BoundaryValues | None = None,
    weights: float | None = None,
) -> Tensor:
    """The sum of the derivatives of each component along its own axis, the last one of `values`:
    of a vector u_j,j, of a tensor T_ij,j.

    It is the trace of `gradient`, which says what the arguments are, how exact each method is and
    which rows are NaN. With "green_gauss" it is the flux through the cell's faces over its volume;
    a solid inside out spoils it in itself and its neighbours (`check`: `inverted_cell`).

    Args:
        values: [n, ..., d], d the number of coordinates of the points.
        mesh, on, method, boundary, weights: as in `gradient`.

    Returns:
        [n, ...] on the same entity (with "fem" on the cells), in the dtype of the values.

    Raises:
        MeshError: as `gradient`.
    """
    return applied(
        "divergence",
        mesh,
        values,
        divergence_form(mesh.points.shape[1]),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
    )
