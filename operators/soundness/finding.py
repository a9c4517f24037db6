"""How a finding is written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor

Severity = Literal["error", "warning", "info"]

_NAMED: Final = 8
"""How many ids a finding lists."""


@dataclass(frozen=True)
class Finding:
    """One thing that `check` found.

    Args:
        code: what kind of thing, for programs: the table in `check`.
        severity: "error" where an answer would be wrong or refused, "warning" where it is likely
            not meant, "info" where it is only worth knowing.
        message: one line for people.
        count: how many points, cells, faces or values.
        ids: the first few of them; the message says what they are.
    """

    code: str
    severity: Severity
    message: str
    count: int
    ids: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.severity:7} {self.code}: {self.message}"


def found(
    code: str, severity: Severity, what: str, where: Tensor, of: str = "cells"
) -> Iterator[Finding]:
    """A finding about these ids, if there are any."""
    n = len(where)
    if n:
        ids = tuple(int(i) for i in where[:_NAMED].tolist())
        more = ", ..." if n > len(ids) else ""
        listed = f"{n} {of}: {', '.join(map(str, ids))}{more}"
        yield Finding(code, severity, f"{what} ({listed})", n, ids)


def places(mask: Tensor) -> Tensor:
    """int64: where a mask holds."""
    return torch.nonzero(mask).squeeze(1)
