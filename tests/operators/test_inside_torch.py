"""Operators among what torch does with functions: late conjugates, torch.compile, torch.func."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from tests import meshes
from tests.meshes import shaken

# torch's forward mode and its compiler use what torch itself calls deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]

CUBE: Final[Mesh] = shaken(meshes.kuhn_cube(2))
Field = Callable[..., Tensor]


def vectors(x: Tensor) -> Tensor:
    return torch.stack([x, x * x, 2 * x], 1)


def of_squares(function: Field, x: Tensor) -> Tensor:
    return function(x * x)


def linear_maps() -> dict[str, tuple[Field, int, tuple[int, ...]]]:
    """What operators that were prepared do: the function, rows and further axes of its fields."""
    made: dict[str, tuple[Field, int, tuple[int, ...]]] = {}
    for name, operator in {
        "lsq on points": ops.gradient_operator(CUBE, on="points"),
        "lsq on cells": ops.gradient_operator(CUBE, on="cells"),
        "green_gauss": ops.gradient_operator(CUBE, on="cells", method="green_gauss"),
        "fem": ops.gradient_operator(CUBE, on="points", method="fem"),
        "laplacian on points": ops.laplacian_operator(CUBE, on="points"),
        "laplacian on cells": ops.laplacian_operator(CUBE, on="cells"),
    }.items():
        made[name] = operator.apply, operator.n_in, ()
    divergence = ops.divergence_operator(CUBE, on="cells")
    made["divergence"] = divergence.apply, CUBE.n_cells, (3,)
    made["transpose"] = ops.gradient_operator(CUBE, on="cells").transpose().apply, 48, (3,)
    return made


MAPS: Final = linear_maps()


def functions() -> dict[str, tuple[Field, int]]:
    """Functions of a field that hold operators, and how many rows it has."""
    n, m = CUBE.n_points, CUBE.n_cells
    made: dict[str, tuple[Field, int]] = {
        "gradient of points": (lambda x: ops.gradient(CUBE, x * x, on="points"), n),
        "gradient of cells": (lambda x: ops.gradient(CUBE, x * x, on="cells"), m),
        "integrate": (lambda x: ops.integrate(CUBE, x * x, on="points"), n),
        "flux": (lambda x: ops.flux(CUBE, vectors(x), on="points"), n),
        "flux of cells": (lambda x: ops.flux(CUBE, vectors(x), on="cells"), m),
        "force": (lambda x: ops.force(CUBE, x * x, on="cells")[1], m),
    }
    for name, (function, rows, axes) in MAPS.items():
        if not axes:
            made[name] = partial(of_squares, function), rows
    return made


FUNCTIONS: Final = functions()


@pytest.mark.parametrize("name", MAPS)
def test_values_that_torch_conjugates_and_negates_later(name: str) -> None:
    function, rows, axes = MAPS[name]
    z = torch.randn(rows, *axes, dtype=torch.complex128)
    later = z.conj()
    assert later.is_conj()
    right = function(torch.complex(z.real, -z.imag))
    assert torch.equal(function(later).isnan(), right.isnan())
    assert torch.equal(function(later).nan_to_num(), right.nan_to_num())
    out = torch.zeros_like(right).conj()
    assert function(later, out=out) is out
    assert torch.equal(out.nan_to_num(), right.nan_to_num())
    imaginary = later.imag
    assert imaginary.is_neg()
    real = function(-z.imag)
    assert torch.equal(function(imaginary).nan_to_num(), real.nan_to_num())
    negative = torch.zeros_like(real, dtype=torch.complex128).conj().imag
    assert negative.is_neg() and function(imaginary, out=negative) is negative
    assert torch.equal(negative.nan_to_num(), real.nan_to_num())
    room = torch.zeros(*real.shape[1:], len(real), dtype=torch.float64).movedim(-1, 0)
    room = torch._neg_view(room)
    assert room.is_neg() and torch.equal(
        function(imaginary, out=room).nan_to_num(), real.nan_to_num()
    )


def test_boundary_values_that_torch_conjugates_later() -> None:
    cube = meshes.cube_hexes(2)
    operator = ops.gradient_operator(cube, on="cells", boundary=torch.ones(24, dtype=torch.bool))
    z, at = (torch.randn(n, dtype=torch.complex128) for n in (8, 24))
    assert torch.equal(operator.apply(z.conj(), at.conj()), operator.apply(z, at).conj())
    assert torch.equal(
        ops.gradient(cube, z.conj(), on="cells", boundary=at.conj()), operator.apply(z, at).conj()
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_around_an_operator(name: str) -> None:
    function, rows = FUNCTIONS[name]

    def model(x: Tensor) -> Tensor:
        return 2 * function(torch.sin(x)).nan_to_num() + 1

    torch.compiler.reset()
    compiled: Field = torch.compile(model, backend="eager")
    for shift in (0.0, 1.0):
        x = (torch.rand(rows, dtype=torch.float64) + shift).requires_grad_()
        found, right = compiled(x), model(x)
        torch.testing.assert_close(found, right)
        (got,) = torch.autograd.grad(found.sum(), x)
        (expected,) = torch.autograd.grad(right.sum(), x)
        torch.testing.assert_close(got, expected)


def test_refusals_come_out_of_what_is_compiled() -> None:
    operator = ops.gradient_operator(CUBE, on="cells")
    compiled: Field = torch.compile(partial(of_squares, operator.apply), backend="eager")
    with pytest.raises(MeshError, match=r"expected values on cells \[48, ...\], found"):
        compiled(torch.rand(3))


@pytest.mark.parametrize("name", MAPS)
def test_torch_func_of_prepared_operators(name: str) -> None:
    function, rows, axes = MAPS[name]

    def clean(x: Tensor) -> Tensor:
        return function(x).nan_to_num()

    x, way = (torch.randn(rows, *axes, dtype=torch.float64) for _ in range(2))
    along = function(way)
    close: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12 * float(along.nan_to_num().abs().max())}
    many = torch.randn(4, rows, *axes, dtype=torch.float64)
    each = torch.stack([clean(one) for one in many])
    torch.testing.assert_close(torch.func.vmap(clean)(many), each, **close)
    value, tangent = torch.func.jvp(clean, (x,), (way,))[:2]
    torch.testing.assert_close(value, clean(x), **close)
    torch.testing.assert_close(tangent, along.nan_to_num(), **close)
    matrix = torch.func.jacrev(clean)(x)
    torch.testing.assert_close(torch.tensordot(matrix, way, way.ndim), along.nan_to_num(), **close)

    def energy(x: Tensor) -> Tensor:
        return (clean(x) ** 2).sum() / 2

    # Of a quadratic the second derivative is that of one order less: J^T J.
    flat = matrix.reshape(-1, way.numel())
    square = (flat.T @ flat).reshape(*way.shape, *way.shape)
    tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12 * float(square.abs().max())}
    for second in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))):
        torch.testing.assert_close(second(energy)(x), square, **tight)
    product = torch.func.jvp(torch.func.grad(energy), (x,), (way,))[1]
    torch.testing.assert_close(product, torch.tensordot(square, way, way.ndim), **tight)


def test_torch_func_of_integrals() -> None:
    function, rows = FUNCTIONS["integrate"]
    x, way = (torch.rand(rows, dtype=torch.float64) for _ in range(2))
    follow = x.clone().requires_grad_()
    (right,) = torch.autograd.grad(function(follow).nan_to_num().sum(), follow)
    found = torch.func.grad(lambda x: function(x).nan_to_num().sum())(x)
    torch.testing.assert_close(found, right)
    along = torch.func.jvp(lambda x: function(x).nan_to_num().sum(), (x,), (way,))[1]
    torch.testing.assert_close(along, right @ way)
    both = torch.func.vmap(function)(torch.stack([x, way]))
    torch.testing.assert_close(both[1], function(way), equal_nan=True)
