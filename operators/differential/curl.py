"""The curl of a vector field."""

from __future__ import annotations

from torch import Tensor

from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import BoundaryValues
from meshkit.operators.differential.forms import Form, curl_form
from meshkit.operators.differential.preparing import FIRST, applied
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def curl(
    mesh: Mesh,
    values: Tensor,
    *,
    on: str,
    method: str = "lsq",
    boundary: BoundaryValues | None = None,
    weights: float | None = None,
) -> Tensor:
    """The rotation of a vector field (the vorticity of a velocity): right-handed,
    (u_z,y - u_y,z, u_x,z - u_z,x, u_y,x - u_x,y); in the plane the scalar u_y,x - u_x,y.

    It is made of the derivatives of `gradient`, which says what the arguments are, how exact each
    method is and which rows are NaN. A solid inside out spoils "green_gauss" in itself and its
    neighbours (`check`: `inverted_cell`).

    Args:
        mesh: with points of 2 or 3 coordinates.
        values: [n, ..., d], d the number of coordinates of the points.
        on, method, boundary, weights: as in `gradient`.

    Returns:
        [n, ..., 3], in the plane [n, ...], on the same entity (with "fem" on the cells), in the
        dtype of the values.

    Raises:
        MeshError: as `gradient`; or points have one coordinate.
    """
    return applied(
        "curl",
        mesh,
        values,
        need_curl_form("curl", mesh),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
    )


def need_curl_form(what: str, mesh: Mesh) -> Form:
    """How a curl is put together on this mesh.

    Raises:
        MeshError: its points have one coordinate.
    """
    d = mesh.points.shape[1]
    if d == 1:
        raise MeshError(f"{what}: expected points of 2 or 3 coordinates, found 1")
    return curl_form(d)
