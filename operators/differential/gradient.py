"""The gradient of a field."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import BoundaryValues
from meshkit.operators.differential.forms import gradient_form
from meshkit.operators.differential.preparing import FIRST, applied
from meshkit.operators.of_mesh import of_mesh


@of_mesh
def gradient(
    mesh: Mesh,
    values: Tensor,
    *,
    on: str,
    method: str = "lsq",
    boundary: BoundaryValues | None = None,
    weights: float | None = None,
) -> Tensor:
    """The gradient of a scalar, vector or tensor field: derivatives along the last axis.

    Methods (f is the field, x the centroid of a cell, or a point):

    - "lsq", on cells or points: the g that makes the weighted sum of squares of
      f_k - f - g . (x_k - x) least over the neighbours through faces (points: along edges; those
      between the corners of cells of high order: the corners of their cells). Where these are too
      few or nearly in one plane their neighbours join, and theirs. Exact for linear fields, first
      order on any mesh.
    - "green_gauss", on cells: the sum of face value x area vector over the volume. Face values are
      the mean of what the lsq gradients of the two cells extrapolate, integrated over the
      triangles of the face's fan; on the boundary the given value, else the cell's own
      extrapolated one. Exact for linear fields, first order on any mesh.
    - "green_gauss_plain", on cells: face values are means of the two cells by distance, on the
      boundary the given value, else the cell's own, as finite-volume solvers do it. Second order
      where the line between two cells meets their face in its middle, else not consistent
      (order 0), and wrong in cells at a boundary without values.
    - "fem", from points to cells: the constant gradient in each line, triangle or tet. Exact for
      linear fields, first order.

    A solid inside out spoils "green_gauss" and "green_gauss_plain" in itself and its neighbours,
    "lsq" not; `check` names such cells (`inverted_cell`).

    On surfaces and curves in space the gradient is tangential. Orders are in the root mean
    square. Constant fields give 0. The relative error of a linear field is at most
    100 eps (|f|max / (|g| h) + |x|max / h), h the least cell width, eps of the field's dtype or
    the points', whichever is larger.

    Args:
        mesh: any with curves, surfaces or solids; cells of dimension mesh.dim are used.
        values: [n_points, ...] or [n_cells, ...]; float32 or float64 (narrower ones are computed
            in float32), complex, or integers.
        on: "points" or "cells", where the values stand.
        method: as above.
        boundary: values on boundary faces, at their centroids: [n_boundary, ...] in the order of
            the faces of `faces(mesh)` without a neighbour, NaN where there is none; or by region,
            a value or one for each of its rows. A face with a NaN component has no value.
        weights: in least squares, each neighbour's difference is multiplied by its distance to
            minus this power before it is squared. 0: all count alike; 1 (None): the default;
            2: the nearest count most; negative: far neighbours count more than near ones.

    Returns:
        [n, ..., d] on the same entity (with "fem" on the cells), in the dtype of the values. NaN
        where the neighbours do not determine it, for cells of lower dimension than mesh.dim, and
        for points of no cell of that dimension. A NaN in the field spoils the rows whose stencil
        has it, and no others. Cells one layer thick have no derivative across the layer without
        boundary values, and so no "lsq" or "green_gauss" gradient at all.

        Differentiable in values and boundary, any number of times; in the points where they need
        derivatives. Runs where the mesh lies (on the CPU in compiled loops).

    Raises:
        MeshError: there are no cells to differentiate along, a method or place is unknown or does
            not fit the other, or a shape does not fit; the message says what was expected.

    Source: Mavriplis, Revisiting the least-squares procedure for gradient reconstruction on
    unstructured meshes, AIAA 2003-3986; Syrakos et al., A critical analysis of some popular
    methods for the discretisation of the gradient operator in finite volume methods, Physics of
    Fluids 29 (2017).
    """
    return applied(
        "gradient",
        mesh,
        values,
        gradient_form(mesh.points.shape[1]),
        FIRST,
        on=on,
        method=method,
        boundary=boundary,
        weights=weights,
    )
