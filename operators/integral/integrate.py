"""Integrals and averages of fields."""

from __future__ import annotations

from torch import Tensor

from meshkit.mesh import Mesh
from meshkit.operators.integral.summation import narrow_dtype, total, weighted_total
from meshkit.operators.integral.values import On, need_values
from meshkit.operators.integral.weights import weight_rows
from meshkit.operators.measure.coordinates import over
from meshkit.operators.of_mesh import of_mesh
from meshkit.regions import Region


@of_mesh
def integrate(mesh: Mesh, values: Tensor, *, on: On, region: str | Region | None = None) -> Tensor:
    """The integral of a field over the mesh or a region of it.

    Over what:

    - no region: the cells of dimension `mesh.dim`; with values on faces, all faces, each once.
    - a region of cells: these cells, each by its own dimension (length, area, volume).
    - of faces or sides: their area (on surfaces length, on curves their number).
    - of edges: their length. Of points: the sum of the values there.

    What a value stands for:

    - on points: the linear interpolation in the fan of each cell or face, whose means have the
      mean of the values around; exact for linear fields on any cell, second order on others.
      High-order cells whose shape functions are ours: these, exact for all that they span (faces
      and sides: through their corners).
    - on cells: a constant; exact for linear fields given at centroids. On a region of faces or
      sides the boundary has the value of its owner, a face inside the values of both cells,
      interpolated along the normal. A region of surface cells takes their own rows.
    - on faces: a constant on each face. Regions of faces, sides, and cells that lie on faces.

    Volumes of inverted cells and areas of triangles that face back count negative, as in
    `cell_measures`. What a region names twice counts once. Rows outside do not matter, also where
    they are NaN.

    Args:
        mesh: any.
        values: [n, ...] of any dtype and rank, a row for each point, cell or face.
        on: "points", "cells" or "faces".
        region: a name in `mesh.regions`, or a Region.

    Returns:
        [...] in the wider dtype of values and points, in the unit of the values times that of
        the points to the power of the dimension. Products and sums are float64 for every dtype,
        and the sum is the same for any number of threads. Differentiable in values and points.

    Raises:
        MeshError: values do not fit, the region is unknown, names what is not there, or holds
            nothing that has values of this kind.
    """
    need_values("integrate", "values", mesh, values, on)
    rows, weights = weight_rows(mesh, on, region)
    return weighted_total(rows, weights, values).to(narrow_dtype(values, mesh.points))


@of_mesh
def average(mesh: Mesh, values: Tensor, *, on: On, region: str | Region | None = None) -> Tensor:
    """The average of a field over the mesh or a region: its integral over that of 1.

    Args and errors as for `integrate`; of a region of points it is the plain mean.

    Returns:
        [...] in the wider dtype of values and points; NaN where there is nothing to average
        over. Differentiable in values and points.
    """
    need_values("average", "values", mesh, values, on)
    rows, weights = weight_rows(mesh, on, region)
    whole = total(weights)
    found = weighted_total(rows, weights, values)
    size = whole.expand(found.shape).to(found.dtype)
    usable = (whole.detach() != 0).expand(found.shape)
    return over(found, size, usable, float("nan")).to(narrow_dtype(values, mesh.points))
