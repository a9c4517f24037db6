"""What a tensor that a caller gives has to be before operators work on it."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError


def need_choice(what: str, given: object, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of these words.

    Raises:
        MeshError: the message lists them and says what was found.
    """
    if not isinstance(given, str) or given not in choices:
        words = [f'"{choice}"' for choice in choices]
        said = " or ".join([", ".join(words[:-1]), words[-1]])
        found = repr(given) if isinstance(given, str | int | float | None) else brief(given)
        raise MeshError(f"{what} {said}, found {found}")


def need_tensor(what: str, values: object, device: torch.device) -> Tensor:
    """The values, if they are a dense tensor on this device.

    Args:
        what: what the message calls them.
        values: as the caller gave them.
        device: where the mesh lies.

    Raises:
        MeshError: the message says what was found.
    """
    if not isinstance(values, Tensor):
        raise MeshError(f"{what}: expected a tensor, found {brief(values)}")
    if values.layout != torch.strided:
        layout = str(values.layout).removeprefix("torch.")
        raise MeshError(f"{what}: expected a dense tensor, found {layout}; take .to_dense()")
    if values.device != device:
        raise MeshError(f"{what}: on {values.device}, the mesh on {device}")
    return values
