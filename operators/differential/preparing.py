"""How each method makes its operators: the table behind gradient, divergence, curl, Laplacian."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Final

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.memo import lasting
from meshkit.mesh import Mesh
from meshkit.operators.differential.boundary_values import (
    BoundaryValues,
    boundary_faces,
    extra_values,
)
from meshkit.operators.differential.composition import LinearMap
from meshkit.operators.differential.finite_elements import cotangent_map, fem_map
from meshkit.operators.differential.finite_volume import finite_volume_map
from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.green_gauss import green_gauss_map, plain_map
from meshkit.operators.differential.lsq import lsq_map
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.samples import On, need_on, samples
from meshkit.operators.values import need_tensor, shown
from meshkit.suggestions import did_you_mean

Known = Tensor | Iterable[str] | None
"""Which boundary faces will have values: bool [n_boundary], or names of regions."""


@dataclass(frozen=True)
class Wanted:
    """What an operator is prepared from."""

    what: str  # the public function's name, for messages
    mesh: Mesh
    on: On
    form: Form
    known: Tensor | None  # int64 [k]: rows of the boundary
    power: float
    dtype: torch.dtype


@dataclass(frozen=True)
class Method:
    """One way to make an operator."""

    on: tuple[On, ...]  # where fields may be
    gives_on: On | None  # where the answer stands; None: where the field does
    order: float
    takes_boundary: bool
    takes_weights: bool
    make: Callable[[Wanted], tuple[LinearMap, Tensor]]


def _lsq(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    extra = extra_values(wanted.mesh, wanted.on, wanted.known)
    where = samples(wanted.mesh, wanted.on)
    made, determined = lsq_map(where, extra, wanted.power, wanted.dtype)
    return made.with_form(wanted.form), determined


def _green_gauss(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    return green_gauss_map(wanted.mesh, wanted.form, wanted.known, wanted.power, wanted.dtype)


def _plain(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    return plain_map(wanted.mesh, wanted.form, wanted.known, wanted.dtype)


def _fem(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    return fem_map(wanted.what, wanted.mesh, wanted.form, wanted.dtype)


def _finite_volume(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    return finite_volume_map(wanted.mesh, wanted.known, wanted.power, wanted.dtype)


def _cotangent(wanted: Wanted) -> tuple[LinearMap, Tensor]:
    return cotangent_map(wanted.what, wanted.mesh, wanted.dtype)


FIRST: Final[dict[str, Method]] = {
    "lsq": Method(("points", "cells"), None, 1, True, True, _lsq),
    "green_gauss": Method(("cells",), None, 1, True, True, _green_gauss),
    "green_gauss_plain": Method(("cells",), None, 0, True, False, _plain),
    "fem": Method(("points",), "cells", 1, False, False, _fem),
}
"""Methods of first derivatives."""

SECOND: Final[dict[str, Method]] = {
    "finite_volume": Method(("cells",), None, 2, True, True, _finite_volume),
    "fem": Method(("points",), None, 2, False, False, _cotangent),
}
"""Methods of Laplacians; the order is that of the solution of a Poisson problem."""


@lasting
def prepared(
    what: str,
    mesh: Mesh,
    form: Form,
    methods: dict[str, Method],
    *,
    on: str,
    method: str,
    boundary: Known,
    weights: float | None,
    dtype: torch.dtype | None,
) -> MeshOperator:
    """The operator of a method.

    Raises:
        MeshError: there is no such method, or not for these arguments.
    """
    place = need_on(what, on, mesh)
    row = methods.get(method) if isinstance(method, str) else None
    if row is None:
        expected = f"expected a method of {', '.join(methods)}"
        raise MeshError(f"{what}: {expected}, found {shown(method)}{did_you_mean(method, methods)}")
    if place not in row.on:
        other = [name for name, m in methods.items() if place in m.on]
        raise MeshError(
            f"{what}: {method!r} takes values on {row.on[0]}, found on={on!r}; "
            f"there take {' or '.join(other)}"
        )
    if boundary is not None and not row.takes_boundary:
        raise MeshError(f"{what}: {method!r} takes no boundary values; give them to the points")
    if weights is not None and not row.takes_weights:
        raise MeshError(f"{what}: {method!r} takes no weights")
    if weights is not None and not (isinstance(weights, Real) and math.isfinite(weights)):
        raise MeshError(f"{what}: expected a finite number for weights, found {shown(weights)}")
    if all(dtype is not known for known in (None, torch.float32, torch.float64)):
        found = dtype if isinstance(dtype, torch.dtype) else brief(dtype)
        raise MeshError(
            f"{what}: expected torch.float32 or torch.float64 as the dtype of the coefficients, "
            f"found {found}; values may be of any other"
        )
    faces = None if boundary is None else boundary_faces(mesh)
    known = None if boundary is None or faces is None else faces.known(what, boundary)
    made, determined = row.make(
        Wanted(
            what,
            mesh,
            place,
            form,
            known,
            1.0 if weights is None else float(weights),
            coefficient_dtype(mesh.points.dtype if dtype is None else dtype),
        )
    )
    return MeshOperator(
        what,
        place,
        place if row.gives_on is None else row.gives_on,
        made,
        determined,
        faces,
        known,
        row.order,
    )


def coefficient_dtype(wanted: torch.dtype) -> torch.dtype:
    """float32 or float64, whichever computes it."""
    return torch.float64 if wanted in (torch.float64, torch.complex128) else torch.float32


def applied(
    what: str,
    mesh: Mesh,
    values: Tensor,
    form: Form,
    methods: dict[str, Method],
    *,
    on: str,
    method: str,
    boundary: BoundaryValues | None,
    weights: float | None,
) -> Tensor:
    """The operator of a method, prepared for one field and applied to it.

    Raises:
        MeshError: as `prepared` and `MeshOperator.apply`.
    """
    need_tensor(f"{what}: values", values, mesh.device)
    given = mask = None
    if boundary is not None:
        need_on(what, on, mesh)
        given = boundary_faces(mesh).values(what, boundary, values)
        mask = ~torch.isnan(given.detach()).flatten(1).any(1) if given.ndim > 1 else ~given.isnan()
    floating = values.is_floating_point() or values.is_complex()
    both = torch.promote_types(mesh.points.dtype, values.dtype) if floating else None
    operator = prepared(
        what,
        mesh,
        form,
        methods,
        on=on,
        method=method,
        boundary=mask,
        weights=weights,
        dtype=None if both is None else coefficient_dtype(both),
    )
    return operator.apply(values, given)
