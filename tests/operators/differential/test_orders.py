"""Each method declares its order, and is held to it on refined shaken meshes of every kind.

Errors are root mean squares, weighted by measure, over what is solved for. The meshes are shaken up
to their boundary, so that no quiet layer flatters the coarse ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse import linalg
from torch import Tensor

from meshkit import operators as ops
from meshkit.mesh import Mesh
from tests import meshes
from tests.operators.kinds import KINDS, shaken_throughout

SIZES = {
    "tets": (5, 10),
    "hexes": (6, 12),
    "wedges": (5, 10),
    "pyramids": (4, 8),
    "hanging": (4, 8),
    "agglomerated": (4, 8),
}
FINE = {
    "tets": (8, 14),
    "hexes": (8, 12),
    "wedges": (8, 12),
    "pyramids": (8, 14),
    "hanging": (6, 12),
    "agglomerated": (12, 20),
}
"""For Poisson problems: on coarser meshes the layer of cells at the boundary still shows."""

EIGENVALUE = -(4 + 2.25 - 0.49)
"""The Laplacian of `field` over the field."""


def field(x: Tensor) -> Tensor:
    return torch.sin(2 * x[:, 0] + 0.3) * torch.cos(1.5 * x[:, 1]) * torch.exp(0.7 * x[:, 2])


def slope_of_field(x: Tensor) -> Tensor:
    at = x.detach().clone().requires_grad_()
    return torch.autograd.grad(field(at).sum(), at)[0]


def rms(error: Tensor, weights: Tensor) -> float:
    squares = error.reshape(len(error), -1).square().sum(1)
    return math.sqrt(float((squares * weights).sum() / weights.sum()))


def rate(errors: list[float], sizes: tuple[int, int]) -> float:
    return math.log(errors[0] / errors[1]) / math.log(sizes[1] / sizes[0])


@pytest.mark.parametrize(
    ("kind", "on", "method"),
    [
        *((kind, "cells", "lsq") for kind in KINDS),
        *((kind, "cells", "green_gauss") for kind in KINDS),
        *((kind, "cells", "green_gauss_plain") for kind in KINDS),
        *((kind, "points", "lsq") for kind in KINDS),
        ("tets", "points", "fem"),  # which knows simplices only
    ],
)
def test_gradients(kind: str, on: str, method: str) -> None:
    errors, order = [], 0.0
    for n in SIZES[kind]:
        mesh = shaken_throughout(KINDS[kind](n))
        operator = ops.gradient_operator(mesh, on=on, method=method)
        cells, points = ops.cell_centroids(mesh), mesh.points
        given = cells if on == "cells" else points
        asked = cells if operator.gives_on == "cells" else points
        weights = ops.cell_measures(mesh)
        if operator.gives_on == "points":
            weights = torch.ones(mesh.n_points, dtype=torch.float64)
        errors.append(rms(operator.apply(field(given)) - slope_of_field(asked), weights))
        order = operator.order
    measured = rate(errors, SIZES[kind])
    assert measured >= order - 0.1, f"{measured:.2f}"


def solved(operator: Any, start: Tensor, right: Tensor) -> Tensor:
    """u with operator(u) = right, by GMRES on the operator itself behind an incomplete
    factorisation."""
    n = len(start)
    matrix = operator.matrix()
    row, col = matrix.indices().numpy()
    held = sparse.csr_matrix((matrix.values().numpy(), (row, col)), shape=matrix.shape)
    factors = linalg.spilu(held[:, :n].tocsc(), drop_tol=1e-2)
    none = torch.zeros(operator.n_boundary, dtype=torch.float64)

    def product(x: Any) -> Any:
        given = torch.from_numpy(np.ascontiguousarray(x.reshape(-1)))
        return operator.apply(given, none).numpy()

    shape = (n, n)
    found, failed = linalg.gmres(
        linalg.LinearOperator(shape, matvec=product, dtype=float),
        right.numpy(),
        M=linalg.LinearOperator(shape, matvec=factors.solve, dtype=float),
        rtol=1e-9,
        restart=60,
        maxiter=2,
    )
    assert failed == 0
    return torch.from_numpy(found)


@pytest.mark.parametrize("kind", KINDS)
def test_poisson_by_finite_volumes(kind: str) -> None:
    errors, order = [], 0.0
    for n in FINE[kind]:
        mesh: Mesh = shaken_throughout(KINDS[kind](n))
        at = ops.face_centroids(mesh)[ops.faces(mesh).boundary]
        known = torch.ones(len(at), dtype=torch.bool)
        operator = ops.laplacian_operator(mesh, on="cells", boundary=known)
        exact = field(ops.cell_centroids(mesh))
        ends = operator.apply(torch.zeros_like(exact), field(at))
        found = solved(operator, exact, EIGENVALUE * exact - ends)
        errors.append(rms(found - exact, ops.cell_measures(mesh)))
        order = operator.order
    measured = rate(errors, FINE[kind])
    assert measured >= order - 0.1, f"{measured:.2f}"


def test_poisson_by_finite_elements() -> None:
    errors, order, sizes = [], 0.0, (8, 16)
    for n in sizes:
        squares = 0.0
        for seed in (0, 1):
            mesh = shaken_throughout(meshes.kuhn_cube(n), seed=seed)
            operator = ops.laplacian_operator(mesh, on="points")
            matrix = operator.matrix().coalesce()
            row, col = matrix.indices().numpy()
            held = sparse.csr_matrix((matrix.values().numpy(), (row, col)), shape=matrix.shape)
            x = mesh.points
            inner = ((x > 1e-12) & (x < 1 - 1e-12)).all(1).numpy()
            exact = field(x).numpy()
            right = EIGENVALUE * exact[inner] - held[inner][:, ~inner] @ exact[~inner]
            found = linalg.spsolve(held[inner][:, inner].tocsc(), right)
            mass = ops.mass_matrix(mesh, lump=True).coalesce().values()[inner]
            squares += rms(torch.from_numpy(found - exact[inner]), mass) ** 2
            order = operator.order
        errors.append(math.sqrt(squares))
    assert rate(errors, sizes) >= order - 0.1, f"{rate(errors, sizes):.2f}"
