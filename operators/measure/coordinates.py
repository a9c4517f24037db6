"""Points as the measures want them: three coordinates, in a dtype that can be computed in."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import forward_ad as fwAD

from meshkit.operators.kernels import readable

_NARROW = (torch.float16, torch.bfloat16)


def in_space(points: Tensor) -> Tensor:
    """float32 or float64 [n, 3]: zeros where points have fewer coordinates.

    float32 and float64 stay what they are; narrower ones become float32.
    """
    wide = points.float() if points.dtype in _NARROW or points.dtype.itemsize < 4 else points
    missing = 3 - points.shape[1]
    return torch.nn.functional.pad(wide, (0, missing)) if missing else wide


def cross(a: Tensor, b: Tensor) -> Tensor:
    """The cross product along the last axis."""
    out: Tensor = torch.linalg.cross(a, b)
    return out


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The scalar product of vectors of three along the last axis."""
    # Three products of columns take a third of the time of a sum along so short an axis.
    (u, v, w), (x, y, z) = a.unbind(-1), b.unbind(-1)
    return u * x + v * y + w * z


def length(a: Tensor) -> Tensor:
    """The Euclidean norm along the last axis; its derivative at zero is zero."""
    out: Tensor = torch.linalg.vector_norm(a, dim=-1)
    return out


def over(a: Tensor, b: Tensor, usable: Tensor, otherwise: float) -> Tensor:
    """a / b where usable, else a constant; derivatives stay finite where b is zero."""
    safe = torch.where(usable, b, torch.ones_like(b))
    while safe.ndim < a.ndim:
        safe, usable = safe.unsqueeze(-1), usable.unsqueeze(-1)
    return torch.where(usable, a / safe, torch.full_like(a, otherwise))


def extent(x: Tensor) -> Tensor:
    """[...]: the largest coordinate of points [..., k, 3] given relative to their middle."""
    at = x.detach().abs()
    return at.amax((-2, -1)) if x.shape[-2] else at.new_zeros(x.shape[:-2])


def matters(amount: Tensor, scale: Tensor, power: int) -> Tensor:
    """Whether a length, area or volume is more than rounding of something that large.

    |amount| > eps scale^power, eps of the dtype. NaN matters (and spoils what it touches).
    """
    at = amount.detach()
    return ~(at.abs() <= torch.finfo(at.dtype).eps * scale**power)


def plain(points: Tensor) -> bool:
    """Whether a compiled kernel may work on these points: on the CPU, and nobody follows them.

    Followed they are by autograd (backward or forward), by torch.func, and by a compiler.
    """
    other = type(points) is not Tensor or torch.compiler.is_compiling()
    return not other and readable(points) and not followed(points)


def followed(values: Tensor) -> bool:
    """Whether derivatives go through a tensor here, backward or forward."""
    return (values.requires_grad and torch.is_grad_enabled()) or has_tangent(values)


def has_tangent(values: Tensor) -> bool:
    """Whether forward derivatives go through a tensor; `torch.no_grad` is not about these."""
    dual: fwAD.UnpackedDualTensor = fwAD.unpack_dual(values)  # type: ignore[no-untyped-call]
    return dual.tangent is not None
