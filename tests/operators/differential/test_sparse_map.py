"""Compiled loops against torch: every form, layout of fields, number of components and band."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from math import prod
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual

from meshkit.operators.differential.composition import Product, Sum
from meshkit.operators.differential.forms import (
    SCALAR,
    Form,
    curl_form,
    divergence_form,
    gradient_form,
    of_gradient,
)
from meshkit.operators.differential.sparse_map import Against, Part, SparseMap

FORMS = {
    "scalar": SCALAR,
    "gradient": gradient_form(3),
    "gradient in the plane": gradient_form(2),
    "divergence": divergence_form(3),
    "curl": curl_form(3),
    "curl in the plane": curl_form(2),
    "of a gradient": of_gradient(gradient_form(3), 3),
    "of a divergence": of_gradient(divergence_form(3), 3),
    "of a curl": of_gradient(curl_form(3), 3),
}
N = 60


def part(rows: Tensor | None, width: int, form: Form, seed: int, base: bool) -> Part:
    """Random entries of all rows, or of some."""
    g = torch.Generator().manual_seed(seed)
    m = N if rows is None else len(rows)
    c = 1 + max(term[1] for term in form.pattern)
    cols = torch.randint(0, N, (width, m), generator=g, dtype=torch.int32)
    coefs = torch.randn(width, c, m, generator=g, dtype=torch.float64)
    start = torch.randint(0, N, (m,), generator=g, dtype=torch.int32) if base else None
    return Part(rows, cols, coefs, start)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("against", ["nothing", "own row", "given"])
@pytest.mark.parametrize("name", FORMS)
def test_loops_are_torch(name: str, against: Against, transposed: bool) -> None:
    form = FORMS[name].transposed() if transposed else FORMS[name]
    some = torch.tensor([0, 3, 4, 17, 58])
    for widths in ((4, 1), (2, 6), (7, 4)):
        base = against == "given"
        whole, long = (
            part(rows, width, form, width, base)
            for rows, width in zip((None, some), widths, strict=True)
        )
        for parts in ((whole, long), (long,)):
            made = SparseMap(N, N, form, against, parts)
            for units in (1, 2, 3, 4):
                rows = torch.randn(N, units * prod(form.takes), dtype=torch.float64)
                rows[N // 2, 0] = torch.nan
                for columns in (rows.T, rows.T.contiguous(), rows.repeat(1, 2).T[: rows.shape[1]]):
                    field = columns.T.reshape(N, units, *form.takes)
                    found, other = made.in_numba(field), made.in_torch(field)
                    assert found.shape == (N, units, *form.gives)
                    torch.testing.assert_close(found, other, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("sign", [2.0, 0.0, -0.5])
def test_a_form_has_signs_and_no_factors(sign: float) -> None:
    with pytest.raises(ValueError, match=f"expected signs of 1 or -1 .*found {sign}"):
        Form((), (), ((0, 0, 0, 1.0), (0, 0, 0, sign)))


def random_map(name: str) -> SparseMap:
    """All rows."""
    return SparseMap(N, N, FORMS[name], "own row", (part(None, 4, FORMS[name], 0, False),))


# torch's forward mode uses what torch itself calls deprecated.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["gradient", "divergence"])
def test_derivatives_backward_and_forward_and_both(name: str) -> None:
    made = random_map(name)
    x = torch.randn(N, 2, *FORMS[name].takes, dtype=torch.float64, requires_grad=True)
    way = torch.randn_like(x)

    def tangent(of: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
        with dual_level():
            dual: Any = unpack_dual(of(make_dual(at, way)))  # type: ignore[no-untyped-call]
            found: Tensor = dual.tangent
            return found

    assert torch.equal(tangent(made.apply, x.detach()), made.apply(way))
    with torch.no_grad():  # which is not about these
        assert torch.equal(tangent(made.apply, x.detach()), made.apply(way))
    (found,) = torch.autograd.grad(tangent(lambda x: (made.apply(x) ** 3).sum(), x), x)
    (slope,) = torch.autograd.grad((made.apply(x) ** 3).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad((slope * way).sum(), x)
    torch.testing.assert_close(found, expected)


def test_answers_may_be_changed_in_place() -> None:
    made = random_map("gradient")
    x = torch.randn(N, dtype=torch.float64)
    weight = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    for given in (x, x.clone().requires_grad_()):
        with torch.set_grad_enabled(given.requires_grad):
            answer = made.apply(given)
        answer *= weight
        (found,) = torch.autograd.grad(answer.sum(), weight)
        torch.testing.assert_close(found, made.apply(x).sum())


def test_fields_that_torch_negates_later() -> None:
    made = random_map("gradient")
    z = torch.randn(N, dtype=torch.complex128)
    late = z.conj().imag
    assert late.is_neg()
    assert torch.equal(made.apply(late), made.apply(-z.imag))


def test_pickled_and_copied_after_use() -> None:
    made = random_map("gradient")
    x = torch.randn(N, dtype=torch.float64)
    bare, right = len(pickle.dumps(made)), made.apply(x)
    made.transpose(), made.of_dtype(torch.float32)
    assert len(pickle.dumps(made)) == bare
    for other in (pickle.loads(pickle.dumps(made)), deepcopy(made)):
        assert torch.equal(other.apply(x), right)


def test_shown_in_one_line() -> None:
    shown = "SparseMap(torch.float64: [60, ...] -> [60, ..., 3], at most 4 entries a row)"
    gradient, back = random_map("gradient"), random_map("divergence")
    assert repr(gradient) == shown
    assert repr(Sum(gradient, gradient)) == f"({shown} + {shown})"
    assert repr(Product(back, gradient, SCALAR)) == f"{back} after {shown}"
    assert repr(SparseMap(0, 0, SCALAR, "nothing", ())).endswith("at most 0 entries a row)")
