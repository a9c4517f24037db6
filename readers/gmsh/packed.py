"""Tensors as JSON can say them, exactly: dtype, shape and the bytes in base64."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.fields import leaves, nested

_DTYPE: Final = re.compile(
    r"u?int\d+|b?float16|float32|float64|float8_\w+|bool|complex32|complex64|complex128"
)


def dtype_name(dtype: torch.dtype) -> str:
    """What a dtype is called."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> torch.dtype:
    """The dtype of a name.

    Raises:
        MeshError: there is none.
    """
    found = getattr(torch, name, None) if _DTYPE.fullmatch(name) else None
    if not isinstance(found, torch.dtype):
        raise MeshError(f"the note of meshkit has the dtype {name!r}")
    return found


def packed(x: Tensor) -> dict[str, Any]:
    """A tensor as JSON can say it."""
    flat = x.detach().cpu().contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy().tobytes() if len(flat) else b""
    return {
        "dtype": dtype_name(x.dtype),
        "shape": list(x.shape),
        "bytes": base64.b64encode(raw).decode("ascii"),
    }


def unpacked(row: Mapping[str, Any]) -> Tensor:
    """The inverse of `packed`.

    Raises:
        MeshError, ValueError, KeyError, TypeError: it is no tensor.
    """
    dtype, shape = dtype_of(str(row["dtype"])), [int(n) for n in row["shape"]]
    raw = bytearray(base64.b64decode(str(row["bytes"]), validate=True))
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(raw):
        raise MeshError(f"the note of meshkit has {len(raw)} bytes for {dtype} of shape {shape}")
    if not raw:
        return torch.empty(shape, dtype=dtype, device="cpu")
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype).reshape(shape)


def packed_fields(fields: TensorDictBase | None) -> list[dict[str, Any]]:
    """Each field with its path."""
    if fields is None:
        return []
    return [{"path": list(path), **packed(x)} for path, x in leaves(fields)]


def unpacked_fields(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The inverse of `packed_fields`, as nested dicts.

    Raises:
        MeshError, ValueError, KeyError, TypeError: they are no fields.
    """
    return nested({tuple(str(name) for name in row["path"]): unpacked(row) for row in rows})
