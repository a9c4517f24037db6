"""Where the answer of an operator goes: into fresh memory, or into memory that the caller keeps."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.operators.differential.composition import LinearMap
from meshkit.operators.differential.sparse_map import has_tangent
from meshkit.operators.values import need_tensor


def computed(
    map: LinearMap, values: Tensor, lost: Tensor, dtype: torch.dtype, out: Tensor | None
) -> Tensor:
    """The map of real values in its own dtype, NaN in the rows `lost`: as `dtype`, in `out` where
    one is given (`need_out` has seen it)."""
    direct = None
    if out is not None and out.dtype == map.dtype and out.movedim(0, -1).is_contiguous():
        direct = out
    found = map.apply(values, direct)
    if len(lost):
        # Ours alone, so no one else sees it change; autograd would, where it is a view.
        fill = found.index_fill if found.requires_grad else found.index_fill_
        found = fill(0, lost, torch.nan)
    if direct is None:
        return placed(found if found.dtype == dtype else found.to(dtype), out)
    if not direct.is_inference():
        # Compiled loops wrote there: who needs what was there for its derivatives must learn it.
        torch.autograd.graph.increment_version(direct)
    return direct


def placed(answer: Tensor, out: Tensor | None) -> Tensor:
    """The answer, copied to `out` where one is given."""
    return answer if out is None else out.copy_(answer)


def need_out(
    what: str,
    out: Tensor,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    given: Mapping[str, object],
    map: LinearMap,
) -> None:
    """Refuse memory that cannot take the answer.

    Args:
        what: the operator, for messages.
        out: as the caller gave it.
        shape, dtype: of the answer.
        given: what it is computed from, by name: values, which were looked at, and others.
        map: what computes it.

    Raises:
        MeshError: the message says what was found, and what was expected.
    """
    read = {k: x for k, x in given.items() if isinstance(x, Tensor) and x.layout == torch.strided}
    if not isinstance(out, Tensor):  # a tensor made of it would not be the caller's memory
        raise MeshError(f"{what}: out: expected a tensor, found {brief(out)}")
    need_tensor(f"{what}: out", out, read["values"].device)
    if out.shape != shape or out.dtype != dtype:
        expected = f"{str(dtype).removeprefix('torch.')} {list(shape)}"
        raise MeshError(f"{what}: expected out as the answer is, {expected}, found {brief(out)}")
    if any(step == 0 and size > 1 for step, size in zip(out.stride(), shape, strict=True)):
        raise MeshError(f"{what}: out is expanded, many of its elements are one in memory")
    for name, other in read.items():
        if _meet(out, other):
            raise MeshError(f"{what}: out lies in the memory of {name}; give it some of its own")
    every = {**read, "out": out}
    if torch.is_grad_enabled():
        followed = [name for name, x in every.items() if x.requires_grad]
        followed += ["coefficients"] if map.requires_grad else []
        if followed:
            raise MeshError(
                f"{what}: derivatives do not go through out, and {followed[0]} requires_grad; "
                "leave it out, or apply under torch.no_grad()"
            )
    if forward := [name for name, x in every.items() if has_tangent(x)]:
        raise MeshError(
            f"{what}: derivatives do not go through out, and {forward[0]} has a tangent; "
            "leave it away"
        )


def _meet(a: Tensor, b: Tensor) -> bool:
    """Whether the memory from the first to the last element of each has bytes in common."""
    (first, end), (low, high) = _span(a), _span(b)
    return a.device == b.device and max(first, low) < min(end, high)


def _span(x: Tensor) -> tuple[int, int]:
    if not x.numel():
        return 0, 0
    steps = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape, strict=True))
    return x.data_ptr(), x.data_ptr() + (steps + 1) * x.element_size()
