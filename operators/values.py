"""What a tensor that a caller gives has to be before operators work on it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.suggestions import did_you_mean


def need_choice(what: str, given: object, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of these words.

    Raises:
        MeshError: the message lists them, says what was found, and which of them is near it.
    """
    if not isinstance(given, str) or given not in choices:
        words = [f'"{choice}"' for choice in choices]
        said = " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
        raise MeshError(f"{what} {said}, found {shown(given)}{did_you_mean(given, choices)}")


def shown(given: object) -> str:
    """How a message names what it found: a number or a word as it is, else its kind."""
    if isinstance(given, str | int | float | None):
        return f"{given!r:.60}"
    if isinstance(given, Tensor) and given.ndim == 0 and given.device.type != "meta":
        return f"{given.tolist()!r}"
    return brief(given)


def need_tensor(what: str, values: object, device: torch.device) -> Tensor:
    """The values, if they are a dense tensor on this device, of a dtype that can be computed with.

    Args:
        what: what the message calls them.
        values: as the caller gave them.
        device: where the mesh lies.

    Raises:
        MeshError: the message says what was found.
    """
    if not isinstance(values, Tensor):
        numbers = isinstance(values, np.ndarray | list | tuple | int | float)
        advice = "; take torch.as_tensor(...) of it" if numbers else ""
        raise MeshError(f"{what}: expected a tensor, found {brief(values)}{advice}")
    if values.layout != torch.strided:
        layout = str(values.layout).removeprefix("torch.")
        raise MeshError(f"{what}: expected a dense tensor, found {layout}; take .to_dense()")
    need_device(what, values.device, device, "the mesh")
    if values.dtype.itemsize == 1 and values.is_floating_point():
        raise MeshError(
            f"{what}: expected floats of two bytes or more, found {brief(values)}; take .float()"
        )
    return values


def real_parts(values: Tensor) -> Tensor:
    """[..., 2]: the real and the imaginary parts of complex values, also of those that torch has
    yet to conjugate or negate."""
    return torch.view_as_real(values.resolve_conj().resolve_neg())
