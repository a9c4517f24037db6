"""Fields: tensors of any dtype and rank by name, one row per point, cell or face."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, Final, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from meshkit.devices import need_device
from meshkit.errors import MeshError

Fields = Mapping[str, Any] | TensorDictBase
Path = tuple[str, ...]

# torch indexes and concatenates only some dtypes; the others travel as the bits they are.
_PLAIN: Final = frozenset(
    {
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128),
    }
)
_BITS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def as_bits(x: Tensor) -> Tensor:
    """The same bytes as unsigned bytes or signed integers of the same width; complex32 as int32."""
    if x.dtype.itemsize == 16:
        return torch.view_as_real(x).view(torch.int64)
    return x.view(_BITS[x.dtype.itemsize])


def _as_bits(x: Tensor) -> Tensor:
    return x if x.dtype in _PLAIN else as_bits(x)


def take(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of a tensor of any dtype; differentiable where the dtype is."""
    return _as_bits(x)[rows].view(x.dtype) if x.dtype not in _PLAIN else x[rows]


def cat(parts: Sequence[Tensor]) -> Tensor:
    """Tensors of one dtype, any dtype, one after the other along the rows."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat([_as_bits(p) for p in parts]).view(parts[0].dtype)


def negated(x: Tensor, which: Tensor) -> Tensor:
    """The rows in the mask with the opposite sign."""
    sign = 1 - 2 * which.to(x.dtype)
    return x * sign.reshape(-1, *([1] * (x.ndim - 1)))


def finite(x: Tensor) -> Tensor:
    """Which numbers are neither NaN nor infinite; of any floating dtype."""
    return (x.float() if x.is_floating_point() and x.dtype not in _PLAIN else x).isfinite()


def leaves(fields: TensorDictBase, above: Path = ()) -> Iterator[tuple[Path, Tensor]]:
    """Each field with its path below `above`, nested ones included, in their order."""
    for name, value in fields.items():
        if isinstance(value, TensorDictBase):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name), cast(Tensor, value)


def entries(fields: TensorDictBase, above: Path = ()) -> Iterator[tuple[Path, Tensor | None]]:
    """As `leaves`, and each nested group that holds nothing, with None, in its place."""
    for name, value in fields.items():
        if not isinstance(value, TensorDictBase):
            yield (*above, name), cast(Tensor, value)
        elif len(value.keys()) == 0:
            yield (*above, name), None
        else:
            yield from entries(value, (*above, name))


def empty_groups(fields: TensorDictBase) -> list[tuple[Path, int]]:
    """Each nested group that holds nothing, and how many fields stand before it."""
    found: list[tuple[Path, int]] = []
    before = 0
    for path, x in entries(fields):
        if x is None:
            found.append((path, before))
        else:
            before += 1
    return found


def nested(flat: Mapping[Path, Any]) -> dict[str, Any]:
    """Nested dicts from paths; None stands for a group that may hold nothing.

    >>> nested({("flow", "p"): 1, ("T",): 2, ("rest",): None})
    {'flow': {'p': 1}, 'T': 2, 'rest': {}}
    """
    out: dict[str, Any] = {}
    for path, x in flat.items():
        at = out
        for name in path[:-1]:
            at = at.setdefault(name, {})
        if x is None:
            at.setdefault(path[-1], {})
        else:
            at[path[-1]] = x
    return out


def freeze(
    what: str, given: Fields | None, rows: int | None, device: torch.device
) -> tuple[TensorDictBase, dict[Path, tuple[str, ...]]]:
    """A locked shallow copy with this many rows (None: no row axis), and vocabularies found.

    Lists and arrays become tensors; lists and arrays of text become int32 codes in the order of
    first appearance.

    Raises:
        MeshError: a field is no tensor, or has another number of rows, or lies elsewhere.
    """
    texts: dict[Path, tuple[str, ...]] = {}
    batch = [] if rows is None else [rows]
    if given is not None and not isinstance(given, Mapping | TensorDictBase):
        raise MeshError(f"{what}: expected fields by name, found {type(given).__name__}")

    def copied(fields: Fields, path: Path) -> TensorDictBase:
        out: dict[str, Any] = {}
        for name, value in fields.items():
            at = (*path, name)
            if not isinstance(name, str):
                raise MeshError(f"{what}: expected names as text, found {name!r}")
            if isinstance(value, Mapping | TensorDictBase):
                out[name] = copied(value, at)
                continue
            leaf = _tensor(what, at, value, texts)
            need_device(f"{what} {'/'.join(at)!r}", leaf.device, device, "points")
            if rows is not None and (leaf.ndim == 0 or len(leaf) != rows):
                raise MeshError(
                    f"{what} {'/'.join(at)!r}: expected {rows} rows, found {list(leaf.shape)}"
                )
            out[name] = leaf
        return TensorDict(out, batch_size=batch, device=device)

    return locked(copied(given if given is not None else {}, ())), texts


def _tensor(what: str, at: Path, value: Any, texts: dict[Path, tuple[str, ...]]) -> Tensor:
    name = f"{what} {'/'.join(at)!r}"
    if isinstance(value, Tensor):
        return plain_tensor(name, value)
    words = _words(name, value)
    if words is None:
        return tensor_of(name, value)
    codes, texts[at] = encode_texts(words.ravel().tolist())
    return codes.reshape(words.shape)


def _words(name: str, value: Any) -> np.ndarray[Any, Any] | None:
    """Texts as an array of str, from str or UTF-8 bytes; None where they are no texts."""
    array = _array(value)
    if array.dtype.kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError as why:
            raise MeshError(f"{name}: expected UTF-8, found {why.object!r}") from None
    return array if array.dtype.kind in "UT" else None


def _array(value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asanyarray(value)
    except (TypeError, ValueError):  # rows of different lengths, objects of odd kinds
        return np.asarray(None)


def plain_tensor(name: str, x: Tensor) -> Tensor:
    """The tensor, where it is dense and its numbers are its own.

    Raises:
        MeshError: it is sparse, nested or quantized.
    """
    if x.layout != torch.strided or x.is_nested or x.is_quantized:
        kind = "quantized" if x.is_quantized else "nested" if x.is_nested else str(x.layout)
        raise MeshError(f"{name}: expected a dense tensor, found one that is {kind}")
    return x


def tensor_of(name: str, value: Any) -> Tensor:
    """A dense tensor of the numbers in an array or in lists; shared where the array allows.

    Read-only, reversed and foreign-endian arrays are copied; masked floats become NaN.

    Raises:
        MeshError: they are no numbers, of a dtype torch lacks, ragged, or masked integers.
    """
    if isinstance(value, Tensor):
        return plain_tensor(name, value)
    array = _array(value)
    kind = array.dtype.kind
    if kind not in "biufc" or array.dtype.itemsize > (16 if kind == "c" else 8):
        raise MeshError(f"{name}: {_no_numbers(value, array)}")
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array) and kind not in "fc":
            raise MeshError(f"{name}: expected every value, found masked integers")
        array = array.filled(np.nan) if kind in "fc" else np.asarray(array)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim == 0 or not array.flags.writeable or any(step < 0 for step in array.strides):
        array = np.array(array)
    return torch.from_numpy(np.asarray(array))


def _no_numbers(value: Any, array: np.ndarray[Any, Any]) -> str:
    """What a message says of lists or an array that are no table of numbers."""
    if array.dtype.kind != "O" or not isinstance(value, list | tuple):
        named = {"O": type(value).__name__, "U": "text", "S": "text"}
        return f"expected a tensor, found {named.get(array.dtype.kind, array.dtype)}"
    level, depth = list(value), 0
    while level and all(isinstance(x, list | tuple) for x in level):
        other = next((i for i, x in enumerate(level) if len(x) != len(level[0])), None)
        if other is not None:
            a, b = len(level[0]), len(level[other])
            said = f"{a} in row 0 and {b} in row {other}" if depth == 0 else f"{a} and {b}"
            return f"expected rows of one length, found {said}"
        level, depth = [x for row in level for x in row], depth + 1
    rows = [x for x in level if isinstance(x, list | tuple)]
    single = [x for x in level if not isinstance(x, list | tuple)]
    if rows:
        return f"expected rows of one length, found {single[0]!r:.60} beside {rows[0]!r:.60}"
    odd = [type(x).__name__ for x in single if not isinstance(x, Number | np.generic)]
    return f"expected numbers, found {odd[0] if odd else 'some of more than 64 bits'}"


def encode_texts(texts: Sequence[str]) -> tuple[Tensor, tuple[str, ...]]:
    """Codes int32 [n] in order of first appearance, and the text of each code.

    >>> encode_texts(["wall", "inlet", "wall"])
    (tensor([0, 1, 0], dtype=torch.int32), ('wall', 'inlet'))
    """
    known: dict[str, int] = {}
    codes = [known.setdefault(text, len(known)) for text in texts]
    return torch.tensor(codes, dtype=torch.int32, device="cpu"), tuple(known)


def are_codes(x: Tensor, n: int) -> bool:
    """Whether a tensor can be codes of n texts: integers from -1 (missing) to n - 1."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        return False
    if x.numel() == 0:
        return True
    low, high = (int(end) for end in torch.aminmax(x.long()))
    return low >= -1 and high < n


def decode_texts(codes: Tensor, vocabulary: Sequence[str], missing: str = "") -> list[str]:
    """The text of each code; `missing` for a negative one."""
    return [vocabulary[c] if c >= 0 else missing for c in codes.tolist()]


def locked(fields: TensorDictBase) -> TensorDictBase:
    """The same, closed to assignment."""
    fields.lock_()
    return fields


def mapped(
    fields: TensorDictBase, rows: int | None, change: Callable[[Path, Tensor], Tensor]
) -> TensorDictBase:
    """Each leaf changed by its path; a locked TensorDict with this many rows."""
    batch = [] if rows is None else [rows]

    def over(part: TensorDictBase, path: Path) -> TensorDictBase:
        out = {
            name: over(v, (*path, name))
            if isinstance(v, TensorDictBase)
            else change((*path, name), cast(Tensor, v))
            for name, v in part.items()
        }
        return TensorDict(out, batch_size=batch)

    return locked(over(fields, ()))


def taken(fields: TensorDictBase, rows: Tensor) -> TensorDictBase:
    """These rows of every field."""
    return mapped(fields, len(rows), lambda _, x: take(x, rows))
