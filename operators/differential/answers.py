"""Where the answer of an operator goes: into fresh memory, or into memory that the caller keeps."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.operators.differential.composition import LinearMap
from meshkit.operators.measure.coordinates import has_tangent
from meshkit.operators.values import need_tensor


def computed(
    map: LinearMap, values: Tensor, lost: Tensor, dtype: torch.dtype, out: Tensor | None
) -> Tensor:
    """The map of real values in its own dtype, NaN in the rows `lost`: as `dtype`, in `out` where
    one is given (`need_out` has seen it)."""
    direct = None
    if (
        out is not None
        and out.dtype == map.dtype
        and out.movedim(0, -1).is_contiguous()
        and not out.is_neg()
    ):
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
    if _folded(out):
        raise MeshError(
            f"{what}: elements of out may share memory, strides {list(out.stride())} of "
            f"{list(shape)}; give each some of its own"
        )
    for name, other in read.items():
        if _meet(out, other):
            raise MeshError(f"{what}: out may lie in the memory of {name}; give it some of its own")
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
            "leave it out"
        )


def _folded(x: Tensor) -> bool:
    """Whether two elements may share memory: False only where each axis steps over all that the
    axes of smaller steps reach."""
    reach = 0
    for step, size in _steps(x):
        if step <= reach:
            return x.numel() > 0
        reach += step * (size - 1)
    return False


def _meet(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors may share memory: False only where they lie one after the other, or in
    turns, as columns of one table do."""
    if a.device != b.device or not a.numel() or not b.numel():
        return False
    size_a, size_b = _extent(a), _extent(b)
    if a.data_ptr() + size_a <= b.data_ptr() or b.data_ptr() + size_b <= a.data_ptr():
        return False
    (turn, last_a), (other_turn, last_b) = _longest(a), _longest(b)
    if turn != other_turn or not turn:
        return True
    # Each lies within one piece of every turn: what it reaches without its longest step.
    from_a = (b.data_ptr() - a.data_ptr()) % turn
    return from_a < size_a - last_a or from_a + size_b - last_b > turn


def _steps(x: Tensor) -> list[tuple[int, int]]:
    """Stride and size of each axis with more than one element, by stride."""
    return sorted((step, size) for step, size in zip(x.stride(), x.shape, strict=True) if size > 1)


def _extent(x: Tensor) -> int:
    """Bytes from the first element to the end of the last."""
    return (1 + sum(step * (size - 1) for step, size in _steps(x))) * x.element_size()


def _longest(x: Tensor) -> tuple[int, int]:
    """The longest step, and how far all of its kind reach, in bytes."""
    step, size = max(_steps(x), default=(0, 1))
    return step * x.element_size(), step * (size - 1) * x.element_size()
