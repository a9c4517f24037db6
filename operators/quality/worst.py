"""The worst cells or faces by each measure of quality."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from tensordict import TensorDictBase

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.quality.metrics import METRICS


@dataclass(frozen=True)
class Worst:
    """The worst of one measure, the worst first."""

    metric: str
    unit: str  # "" for ratios
    ids: tuple[int, ...]  # of cells, or of faces
    values: tuple[float, ...]

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        pairs = zip(self.ids, self.values, strict=True)
        return f"{self.metric}: " + ", ".join(f"{v:.6g}{unit} at {i}" for i, v in pairs)


def worst(quality: TensorDictBase, count: int = 5) -> tuple[Worst, ...]:
    """The cells or faces with the worst values of each measure.

    Args:
        quality: what `quality` or `face_quality` gave, or some of it.
        count: how many of each at most; those that are NaN are no candidates.

    Returns:
        One `Worst` for each measure, in the order of the table; of equal values the lower id
        first. Cells inside out, whose aspect ratio is negative, come before all others. Plain
        numbers: the values are copied from the device.

    Raises:
        MeshError: this is not what `quality` gives, a name is no measure of quality, or the
            count is negative.
    """
    if isinstance(quality, Mesh):
        raise MeshError("worst: expected a quality, found a Mesh; say worst(quality(mesh))")
    if not isinstance(quality, TensorDictBase):
        raise MeshError(f"worst: expected what quality(mesh) gives, found {brief(quality)}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise MeshError(f"worst: expected a count of 0 or more, found {count!r:.60}")
    names = [str(name) for name in quality.keys()]
    for name in names:
        if name not in METRICS:
            raise MeshError(f"worst: expected some of {', '.join(METRICS)}, found {name!r}")
    out = []
    for name, metric in METRICS.items():
        if name not in names:
            continue
        values = quality.get(name).detach()
        known = torch.nonzero(~torch.isnan(values)).squeeze(1)
        some = -1 / values[known] if metric.turns else values[known]
        take = min(count, len(some))
        # A stable sort of the few that can be among them.
        high = metric.worse == "high"
        ends = torch.topk(some, take, largest=high).values
        near = (some >= ends[-1]) if high and take else (some <= ends[-1]) if take else some > some
        order = torch.argsort(some[near], descending=high, stable=True)[:take]
        ids = known[near][order]
        out.append(Worst(name, metric.unit, tuple(ids.tolist()), tuple(values[ids].tolist())))
    return tuple(out)
