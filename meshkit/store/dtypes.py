"""How numbers of each torch dtype stand in Zarr, which lacks some of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.fields import as_bits

_PLAIN: Final[dict[torch.dtype, str]] = {
    getattr(torch, name): name
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_PAIRS: Final = torch.complex32
_STORED: Final = frozenset(_PLAIN.values())


@dataclass(frozen=True, slots=True)
class Stored:
    """One dtype as it is stored.

    Args:
        meant: the dtype of the tensor.
        held: Zarr's name of the dtype of the array: the same, or unsigned integers of the same
            width; a complex32 is a pair of float16 along one more axis.
    """

    meant: torch.dtype
    held: str

    @classmethod
    def of(cls, dtype: torch.dtype) -> Stored:
        """How a dtype is stored.

        >>> Stored.of(torch.bfloat16).held, Stored.of(torch.complex32).tail
        ('uint16', (2,))

        Raises:
            ValueError: the dtype is none of numbers (a quantized one).
        """
        if dtype in _PLAIN:
            return cls(dtype, _PLAIN[dtype])
        if dtype == _PAIRS:
            return cls(dtype, "float16")
        if dtype.is_floating_point:
            return cls(dtype, f"uint{8 * dtype.itemsize}")
        raise ValueError(f"dtype {dtype}")

    @classmethod
    def named(cls, held: str, meant: str | None) -> Stored:
        """The dtype that an array's metadata names.

        Raises:
            ValueError: there is none of that name, or it is not stored so.
        """
        if held not in _STORED:
            raise ValueError(f"data type {held!r}")
        if meant is None:
            return cls(getattr(torch, held), held)
        dtype = getattr(torch, meant, None)
        if not isinstance(dtype, torch.dtype) or cls.of(dtype).held != held:
            raise ValueError(f"{held} stands for {meant!r}")
        return cls(dtype, held)

    @property
    def name(self) -> str | None:
        """What an attribute must say of it; None where Zarr's name says all."""
        plain = _PLAIN.get(self.meant) == self.held
        return None if plain else str(self.meant).removeprefix("torch.")

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype of the array, little-endian."""
        return np.dtype(self.held).newbyteorder("<")

    @property
    def tail(self) -> tuple[int, ...]:
        """The axes that the array has beyond the tensor's."""
        return (2,) if self.meant == _PAIRS else ()

    @property
    def fill(self) -> Any:
        """The fill value as Zarr's JSON has it: NaN, -1 or the greatest unsigned number."""
        kind = self.numpy.kind
        if kind in "fc":
            return "NaN" if kind == "f" else ["NaN", "NaN"]
        if kind == "b":
            return False
        return -1 if kind == "i" else int(np.iinfo(self.numpy).max)

    def padding(self, size: int) -> NDArray[Any]:
        """A flat array of the fill value."""
        fill = complex(np.nan, np.nan) if self.numpy.kind == "c" else self.fill
        return np.full(size, np.nan if fill == "NaN" else fill, self.numpy)

    def to_array(self, x: Tensor) -> NDArray[Any]:
        """The tensor as it is stored; without a copy where it is contiguous on the CPU."""
        x = x.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if self.name is None:
            return x.numpy().astype(self.numpy, copy=False)
        shape = (*x.shape, *self.tail)
        return as_bits(x).numpy().reshape(-1).view(self.numpy).reshape(shape)

    def to_tensor(self, array: NDArray[Any]) -> Tensor:
        """The tensor that an array holds, sharing its memory."""
        if self.name is None:
            return torch.from_numpy(array)
        shape = array.shape[: array.ndim - len(self.tail)]
        bits = torch.from_numpy(array.reshape(-1).view(f"i{self.meant.itemsize}"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "ComplexHalf")  # held, not computed with
            return bits.view(self.meant).reshape(shape)
