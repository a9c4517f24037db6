"""Vectors with their components first, [3, ..., m]: loops over cells are fast in this layout."""

from __future__ import annotations

import torch
from torch import Tensor


def cross(a: Tensor, b: Tensor) -> Tensor:
    """The cross product along the first axis."""
    out: Tensor = torch.linalg.cross(a, b, dim=0)
    return out


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The scalar product along the first axis."""
    return (a * b).sum(0)


def length(a: Tensor) -> Tensor:
    """The Euclidean norm along the first axis; its derivative at zero is zero."""
    out: Tensor = torch.linalg.vector_norm(a, dim=0)
    return out


def angle(along: Tensor, across: Tensor) -> Tensor:
    """The angle whose cosine and sine are to each other as these; NaN where both are zero."""
    known = (along.detach() != 0) | (across.detach() != 0)
    out = torch.atan2(across, torch.where(known, along, 1.0))
    return torch.where(known, out, float("nan"))


def ring_vector(x: Tensor) -> Tensor:
    """[3, m]: the area vector of rings [3, k, m]."""
    if x.shape[1] == 3:
        return cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) / 2
    if x.shape[1] == 4:
        return cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1]) / 2
    spokes = x - x.mean(1, keepdim=True)
    return cross(spokes, torch.roll(spokes, -1, 1)).sum(1) / 2


def ring_area(x: Tensor) -> Tensor:
    """[m]: the area of the fan of rings [3, k, m]; parts that face back count negative."""
    if x.shape[1] == 3:
        return length(ring_vector(x))
    spokes = x - x.mean(1, keepdim=True)
    parts = cross(spokes, torch.roll(spokes, -1, 1)) / 2
    facing = dot(parts.detach(), ring_vector(x.detach())[:, None]) < 0
    return (length(parts) * torch.where(facing, -1.0, 1.0).to(x.dtype)).sum(0)


def ring_angles(x: Tensor) -> Tensor:
    """[k, m]: the angles at the corners of rings [3, k, m], from 0 to 2 pi."""
    forth, back = torch.roll(x, -1, 1) - x, torch.roll(x, 1, 1) - x
    turn = cross(forth, back)
    found = angle(dot(forth, back), length(turn))
    if x.shape[1] == 3:
        return found
    inward = dot(turn.detach(), ring_vector(x.detach())[:, None]) < 0
    return torch.where(inward, 2 * torch.pi - found, found)
