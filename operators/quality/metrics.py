"""The table of quality measures: what each is called, in what unit, and which end is bad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One measure of quality."""

    name: str
    worse: Literal["high", "low"]
    best: float
    unit: str  # "" for ratios
    from_faces: bool  # follows from the faces around a cell, not from the cell alone
    turns: bool = False  # negative where a cell is inside out, which is worse than infinite


METRICS: Final[dict[str, Metric]] = {
    m.name: m
    for m in (
        Metric("aspect_ratio", "high", 1.0, "", False, turns=True),
        Metric("edge_ratio", "high", 1.0, "", False),
        Metric("scaled_jacobian", "low", 1.0, "", False),
        Metric("min_angle", "low", 90.0, "deg", False),
        Metric("max_angle", "high", 90.0, "deg", False),
        Metric("equiangle_skewness", "high", 0.0, "", False),
        Metric("non_orthogonality", "high", 0.0, "deg", True),
        Metric("skewness", "high", 0.0, "", True),
        Metric("growth_ratio", "high", 1.0, "", True),
        Metric("orthogonal_quality", "low", 1.0, "", True),
    )
}
"""By name; `best` of the angles is that of a cube."""

FACE_METRICS: Final = ("non_orthogonality", "skewness", "growth_ratio")
"""Those that each face has."""

COLUMNS: Final = (
    "aspect_ratio",
    "edge_ratio",
    "scaled_jacobian",
    "min_angle",
    "max_angle",
    "equiangle_skewness",
)
"""Those that follow from the cell alone, in the order of the columns of compiled answers."""
