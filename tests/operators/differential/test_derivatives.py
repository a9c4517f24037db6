"""Transposes, and derivatives in fields and points: of the compiled loops and of torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.mesh import Mesh
from meshkit.operators.differential.bands import Band
from meshkit.operators.differential.least_squares import in_torch, least_squares
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.sparse_map import SparseMap
from tests import meshes
from tests.meshes import shaken
from tests.operators.kinds import KINDS

OPERATORS: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "gradient lsq": (ops.gradient_operator, {"on": "cells"}, ()),
    "gradient lsq of vectors": (ops.gradient_operator, {"on": "cells"}, (2, 3)),
    "gradient lsq on points": (ops.gradient_operator, {"on": "points"}, ()),
    "gradient green_gauss": (ops.gradient_operator, {"on": "cells", "method": "green_gauss"}, ()),
    "gradient plain": (ops.gradient_operator, {"on": "cells", "method": "green_gauss_plain"}, (2,)),
    "gradient fem": (ops.gradient_operator, {"on": "points", "method": "fem"}, (2,)),
    "divergence lsq": (ops.divergence_operator, {"on": "cells"}, (3,)),
    "divergence green_gauss": (
        ops.divergence_operator,
        {"on": "cells", "method": "green_gauss"},
        (2, 3),
    ),
    "curl plain": (ops.curl_operator, {"on": "cells", "method": "green_gauss_plain"}, (3,)),
    "curl fem": (ops.curl_operator, {"on": "points", "method": "fem"}, (3,)),
    "laplacian finite_volume": (ops.laplacian_operator, {"on": "cells"}, (2,)),
    "laplacian fem": (ops.laplacian_operator, {"on": "points"}, ()),
}


def made(name: str, mesh: Mesh, **more: Any) -> MeshOperator:
    maker, given, _ = OPERATORS[name]
    operator: MeshOperator = maker(mesh, **given, **more)
    return operator


def fits(name: str, kind: str) -> bool:
    return kind == "tets" or "fem" not in name


CASES = [(n, k) for n in OPERATORS for k in ("tets", "hanging", "agglomerated") if fits(n, k)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_transposes_are_exact(name: str, kind: str) -> None:
    mesh = shaken(KINDS[kind](3))
    operator = made(name, mesh)
    g = torch.Generator().manual_seed(0)
    x = torch.rand(operator.n_in, *OPERATORS[name][2], generator=g, dtype=torch.float64)
    answer = operator.apply(x)
    y = torch.rand(answer.shape, generator=g, dtype=torch.float64)
    back = operator.transpose().apply(y)
    assert back.shape == x.shape
    size = answer.norm() * y.norm()
    assert abs((answer * y).sum() - (x * back).sum()) <= 1e-13 * size
    if not OPERATORS[name][2] or name == "divergence lsq":
        flat = operator.matrix() @ x.reshape(-1, 1)
        torch.testing.assert_close(flat.reshape(answer.shape), answer, rtol=0, atol=1e-11)


def test_transposes_with_boundary_values_and_rows_that_are_not_determined() -> None:
    mesh = meshes.two_tetrahedra()
    operator = ops.gradient_operator(mesh, on="cells", method="green_gauss_plain", boundary=[])
    assert operator.transpose().apply(torch.ones(2, 3).double()).shape == (2,)
    lost = ops.gradient_operator(mesh, on="cells")
    assert (lost.transpose().apply(torch.full((2, 3), torch.nan).double()) == 0).all()
    mesh = shaken(KINDS["hexes"](3))
    known = torch.rand(54, generator=torch.Generator().manual_seed(0)) < 0.5
    for maker in (ops.gradient_operator, ops.laplacian_operator):
        operator = maker(mesh, on="cells", boundary=known)
        x, b = torch.rand(27).double(), torch.rand(54).double()
        answer = operator.apply(x, b)
        y = torch.rand(answer.shape).double()
        back = operator.transpose().apply(y)
        right = (back * torch.cat([x, b[known]])).sum()
        assert (answer * y).sum().item() == pytest.approx(right.item(), rel=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
def test_derivatives_in_the_field(name: str) -> None:
    operator = made(name, shaken(meshes.kuhn_cube(2)))
    shape = (operator.n_in, *OPERATORS[name][2])
    x = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(operator.apply, (x,), fast_mode=True)

    def squared(values: Tensor) -> Tensor:
        return operator.apply(values).square()

    assert torch.autograd.gradgradcheck(squared, (x,), fast_mode=True)


@pytest.mark.parametrize("name", OPERATORS)
def test_derivatives_in_the_points(name: str) -> None:
    maker, given, tail = OPERATORS[name]
    mesh = shaken(meshes.kuhn_cube(2))
    points = mesh.points + 0.02 * torch.rand(mesh.points.shape, dtype=torch.float64)
    operator = maker(mesh, **given)
    x = torch.rand(operator.n_in, *tail, dtype=torch.float64)

    def of_points(at: Tensor) -> Tensor:
        out: Tensor = maker(mesh.replace(points=at), **given).apply(x)
        return out

    assert torch.autograd.gradcheck(of_points, (points.requires_grad_(),), fast_mode=True)


@pytest.mark.parametrize("make", [meshes.square_triangles, meshes.square_quads])
def test_derivatives_in_the_points_of_surfaces(make: Any) -> None:
    mesh = shaken(make(3, 3))
    points = mesh.points + 0.05 * torch.rand(mesh.points.shape, dtype=torch.float64)
    for on, method in (("cells", "lsq"), ("points", "lsq"), ("cells", "green_gauss")):
        n = mesh.n_cells if on == "cells" else mesh.n_points
        x = torch.rand(n, dtype=torch.float64)

        def of_points(at: Tensor, on: str = on, method: str = method, x: Tensor = x) -> Tensor:
            return ops.gradient(mesh.replace(points=at), x, on=on, method=method)

        assert torch.autograd.gradcheck(of_points, (points.requires_grad_(),), fast_mode=True)


@pytest.mark.parametrize(
    ("method", "on"),
    [("lsq", "points"), ("lsq", "cells"), ("green_gauss", "cells"), ("green_gauss_plain", "cells")],
)
@pytest.mark.parametrize("kind", ["quads", "tets"])
def test_derivatives_in_points_and_boundary_values(kind: str, method: str, on: str) -> None:
    mesh = shaken({"quads": meshes.square_quads(2), "tets": meshes.kuhn_cube(1)}[kind])
    g = torch.Generator().manual_seed(0)
    n = mesh.n_cells if on == "cells" else mesh.n_points
    field = torch.rand(n, generator=g, dtype=torch.float64, requires_grad=True)
    edge = torch.rand(len(ops.faces(mesh).boundary), generator=g, dtype=torch.float64)

    def of(points: Tensor, field: Tensor, edge: Tensor) -> Tensor:
        moved = mesh.replace(points=points)
        return ops.gradient(moved, field, on=on, method=method, boundary=edge)

    points = mesh.points.clone().requires_grad_()
    assert torch.autograd.gradcheck(of, (points, field, edge.requires_grad_()))
    with torch.no_grad():
        torch.testing.assert_close(of(points, field, edge), of(mesh.points, field, edge))


def test_derivatives_in_boundary_values() -> None:
    mesh = shaken(meshes.cube_hexes(2))
    x = torch.rand(8, dtype=torch.float64)
    b = torch.rand(24, dtype=torch.float64, requires_grad=True)

    def of_boundary(values: Tensor) -> Tensor:
        return ops.gradient(mesh, x, on="cells", boundary=values)

    assert torch.autograd.gradcheck(of_boundary, (b,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["gradient lsq of vectors", "divergence green_gauss", "curl plain"]
)
def test_torch_and_compiled_loops_agree(name: str, kind: str, dtype: torch.dtype) -> None:
    mesh = shaken(KINDS[kind](3)).to(dtype=dtype)
    close: dict[str, Any] = {"rtol": 0, "atol": 1e-12 if dtype == torch.float64 else 1e-4}
    compiled = made(name, mesh)
    by_torch = made(name, mesh.replace(points=mesh.points.requires_grad_()))
    x = torch.rand(mesh.n_cells, *OPERATORS[name][2], dtype=dtype)
    assert torch.equal(compiled.determined, by_torch.determined)
    torch.testing.assert_close(compiled.apply(x), by_torch.apply(x).detach(), **close)
    inner = compiled.map
    if isinstance(inner, SparseMap):
        field = torch.rand(3, inner.n_cols, dtype=dtype).T
        one, other = inner.in_numba(field), inner.in_torch(field)
        torch.testing.assert_close(one, other, **close)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["gradient lsq", "gradient green_gauss", "gradient plain", "laplacian finite_volume"],
)
def test_torch_and_compiled_coefficients_agree_at_boundaries(name: str, kind: str) -> None:
    mesh = shaken(KINDS[kind](2))
    known = torch.zeros(len(ops.faces(mesh).boundary), dtype=torch.bool)
    known[::3] = True
    flat = meshes.square_quads(3)
    for each, some in ((mesh, known), (flat, torch.arange(12) % 3 == 0)):
        compiled = made(name, each, boundary=some)
        by_torch = made(name, each.replace(points=each.points.requires_grad_()), boundary=some)
        assert torch.equal(compiled.determined, by_torch.determined)
        one, other = compiled.matrix().to_dense(), by_torch.matrix().detach().to_dense()
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)
        field = torch.rand(each.n_cells, *OPERATORS[name][2], dtype=torch.float64)
        edge = torch.rand(len(some), *OPERATORS[name][2], dtype=torch.float64)
        answers = [operator.apply(field, edge).detach() for operator in (compiled, by_torch)]
        torch.testing.assert_close(*answers, rtol=1e-10, atol=1e-10)


def test_least_squares_in_torch_and_compiled_agree() -> None:
    g = torch.Generator().manual_seed(0)
    positions = torch.rand(50, 3, generator=g, dtype=torch.float64)
    cols = torch.randint(50, (6, 50), generator=g)
    cols[3:, :5] = torch.arange(5)  # three neighbours
    cols[2:, 5:8] = torch.arange(5, 8)  # two: not determined
    size = torch.rand(50, generator=g, dtype=torch.float64)
    q = torch.linalg.qr(torch.randn(50, 3, 3, generator=g, dtype=torch.float64))[0]
    for frame in (None, q[:, :2].contiguous(), q[:, :1].contiguous()):
        for rows in (None, torch.arange(50)):
            rest = (frame, size, 1.0, torch.float64)
            band = Band(rows, torch.arange(0, 301, 6), 6)
            found, coefs, span = least_squares(positions, rows, band, cols.T.reshape(-1), *rest)
            assert torch.equal(found, cols.int())
            other, its_span = in_torch(positions, rows, cols, *rest)
            torch.testing.assert_close(coefs, other, rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(span, its_span, rtol=1e-9, atol=1e-12)


def test_complex_integer_and_narrow_fields() -> None:
    mesh = shaken(meshes.cube_hexes(3))
    operator = ops.gradient_operator(mesh, on="cells")
    x = torch.rand(2, 27, dtype=torch.float64)
    both = operator.apply(torch.complex(x[0], x[1]))
    torch.testing.assert_close(both.imag, operator.apply(x[1]))
    whole = torch.arange(27)
    torch.testing.assert_close(operator.apply(whole), operator.apply(whole.double()))
    half = operator.apply(x[0].half())
    assert half.dtype == torch.float16
    torch.testing.assert_close(half.double(), operator.apply(x[0]), rtol=0, atol=0.05)
    single = operator.apply(x[0].float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), operator.apply(x[0]), rtol=0, atol=1e-4)
