"""Compiled loops against torch: every form, layout of fields, number of components and band."""

from __future__ import annotations

from math import prod

import pytest
import torch
from torch import Tensor

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
                    found = made.in_numba(columns, units)
                    torch.testing.assert_close(
                        found, made.in_torch(columns, units), rtol=1e-12, atol=1e-12, equal_nan=True
                    )


@pytest.mark.parametrize("sign", [2.0, 0.0, -0.5])
def test_a_form_has_signs_and_no_factors(sign: float) -> None:
    with pytest.raises(ValueError, match=f"expected signs of 1 or -1 .*found {sign}"):
        Form((), (), ((0, 0, 0, 1.0), (0, 0, 0, sign)))
