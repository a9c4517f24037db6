"""Tensors that are computed with lie on one device, and have values there."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.errors import MeshError


def need_device(what: str, found: torch.device, wanted: torch.device, whose: str) -> None:
    """Refuse a tensor that lies elsewhere.

    Args:
        what: what the message calls it.
        found: where it lies.
        wanted: where it should.
        whose: what lies there: "the mesh".

    Raises:
        MeshError: the message names both places, and what to do.
    """
    if found == wanted:
        return
    advice = f'take .to("{wanted}") of it'
    if found.type == "meta":
        advice = f"there it has no values; make it on {wanted}"
    raise MeshError(f"{what}: on {found}, {whose} on {wanted}; {advice}")


def need_known(what: str, given: object) -> None:
    """Refuse a tensor without values, whatever else it may be.

    Raises:
        MeshError: it lies on the meta device.
    """
    if isinstance(given, Tensor) and given.device.type == "meta":
        raise MeshError(f"{what}: on meta, where a tensor has no values; make it on a device")
