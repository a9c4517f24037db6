"""What several tests of the operators run under."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(
    params=[
        "compiled",
        "compiled, as for scattered ids",
        "torch",
        pytest.param("cuda", marks=pytest.mark.cuda),
    ],
    scope="module",
)
def twin(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return str(request.param)
