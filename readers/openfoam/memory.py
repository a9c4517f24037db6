"""Room for large arrays that become tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def room(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array that is not filled, in torch's memory.

    numpy asks for huge pages, whose first touch cost three times as much CPU time where memory is
    fragmented: half of the time of reading a million polyhedra.
    """
    kind = np.dtype(dtype)
    sizes = shape if isinstance(shape, tuple) else (shape,)
    raw = torch.empty(math.prod(sizes) * kind.itemsize, dtype=torch.uint8, device="cpu").numpy()
    out: NDArray[Any] = raw.view(kind).reshape(sizes)
    return out
