"""Datasets of HDF5 files that may be damaged or made to harm: read without trust in libhdf5.

libhdf5 allocates what a header declares, and trusts the sizes of chunks and heaps. So shape,
layout and chunks are looked at before any data are asked for, packed chunks and texts of varying
length are taken from the file without it, and whatever h5py raises becomes one ReadError that
names the dataset.

Source: HDF5 File Format Specification 3.0; h5py 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.memory import need_room
from meshkit.readers.vtkhdf.filters import Filter, unpacked
from meshkit.readers.vtkhdf.heaps import REFERENCE, Heaps, texts_of
from meshkit.words import one_line

Numbers = NDArray[Any]

# No deflated byte stands for more; chunks up to this size may be packed more closely.
_RATIO: Final = 1100
_SMALL: Final = 1 << 24
_MOST_ATTRIBUTE: Final = 1 << 16  # what an object header can hold

# All that h5py raises for damaged files.
_RAISED: Final = (
    *(OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError),
    *(ArithmeticError, SystemError),
)


@contextmanager
def told(path: Path, place: str | None) -> Iterator[None]:
    """What h5py raises as one line of ours.

    Raises:
        ReadError: h5py, or a check within, found damage.
    """
    try:
        yield
    except _RAISED as why:
        said = one_line(str(why).replace("synchronously ", "")).strip("'\" ")
        raise ReadError(
            path, f"HDF5 cannot read it: {said[:300] or type(why).__name__}", place=place
        ) from None
    except MemoryError:
        raise ReadError(path, "needs more memory than there is", place=place) from None


@dataclass(frozen=True)
class Placed:
    """A group or a dataset of an HDF5 file, and where it stands."""

    path: Path
    size: int  # of the file
    heaps: Heaps  # of the file
    handle: Any
    name: str

    @property
    def place(self) -> str:
        """How messages name it."""
        return self.name or "/"

    def error(self, problem: str, **more: Any) -> ReadError:
        """One line about this object."""
        return ReadError(self.path, problem, place=self.place, **more)

    def attribute(self, name: str) -> Any:
        """A number, an array or a text; None where there is none of that name."""
        with told(self.path, f"{self.place}: attribute {name!r}"):
            if name not in self.handle.attrs:
                return None
            stored = self.handle.attrs.get_id(name)
            shape, kind = stored.shape, stored.dtype
            count = math.prod(shape or ())
            if max(count * kind.itemsize, stored.get_storage_size()) > _MOST_ATTRIBUTE:
                raise ValueError(f"it declares {count} values")
            if kind.kind == "O":
                if count != 1:
                    raise ValueError("it is no single text")
                self.heaps.need_sound()
            value = self.handle.attrs[name]
        if isinstance(value, bytes | np.bytes_):
            return bytes(value).rstrip(b"\0").decode("utf-8", "surrogateescape")
        if isinstance(value, np.ndarray) and value.dtype.kind in "SO" and value.size == 1:
            item = value.reshape(-1)[0]
            return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)
        return value

    def whole_numbers(self, name: str, count: int) -> tuple[int, ...]:
        """An attribute of whole numbers.

        Raises:
            ReadError: it is missing, or something else.
        """
        return tuple(int(x) for x in self._numbers(name, count, "iu"))

    def decimals(self, name: str, count: int) -> tuple[float, ...]:
        """An attribute of finite numbers.

        Raises:
            ReadError: it is missing, or something else.
        """
        values = self._numbers(name, count, "iuf")
        if not np.isfinite(values).all():
            raise self.error(f"attribute {name!r} is not finite")
        return tuple(float(x) for x in values)

    def _numbers(self, name: str, count: int, kinds: str) -> Numbers:
        value = self.attribute(name)
        values = np.asarray(value).reshape(-1)
        if value is None or values.dtype.kind not in kinds or len(values) != count:
            found = "missing" if value is None else f"{values.dtype} [{len(values)}]"
            raise self.error(f"attribute {name!r} is {found}", expected=f"{count} numbers")
        return values


@dataclass(frozen=True)
class Stored(Placed):
    """A dataset: its shape and its type are known, its values are read when asked for."""

    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.uint8))
    texts: bool = False

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def is_numbers(self) -> bool:
        """Whether its values are numbers (whole, decimal, complex) or yes and no."""
        return not self.texts and self.dtype.kind in "fiubc"

    def read(self, start: int = 0, count: int | None = None) -> Numbers:
        """Some rows, in the byte order of this machine.

        Raises:
            ReadError: there are not so many, they were never written, or they are damaged.
        """
        count = len(self) - start if count is None else count
        self._need_rows(start, count)
        if not self.is_numbers:
            raise self.error(f"holds {self.dtype}", expected="numbers")
        if count == 0 or 0 in self.shape:
            with told(self.path, self.place):
                return np.zeros((count, *self.shape[1:]), self.dtype.newbyteorder("="))
        self.need_data(start, count)
        with told(self.path, self.place):
            if self._filters:
                import h5py

                # What libhdf5 would convert stays unread.
                if self.handle.id.get_type() != h5py.h5t.py_create(self.dtype, logical=True):
                    raise ValueError("its numbers are of an unusual form, and packed")
                yes_or_no = self.dtype.kind == "b"
                values = self._unpacked(start, count, np.dtype("u1") if yes_or_no else self.dtype)
                values = values != 0 if yes_or_no else values
            else:
                rows = slice(start, start + count) if self.handle.shape else ()
                values = np.asarray(self.handle[rows]).reshape(count, *self.shape[1:])
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def read_texts(self, start: int = 0, count: int | None = None) -> list[str]:
        """Some rows of texts, flat; bytes that are no UTF-8 become surrogates.

        Raises:
            ReadError: as `read`.
        """
        count = len(self) - start if count is None else count
        self._need_rows(start, count)
        if not self.texts:
            raise self.error(f"holds {self.dtype}", expected="texts")
        if count == 0 or 0 in self.shape:
            return []
        self.need_data(start, count)
        with told(self.path, self.place):
            kind = self.dtype if self.dtype.kind == "S" else REFERENCE
            values = self._raw(start, count, kind).reshape(-1)
            if kind == REFERENCE:
                base = int(self.handle.file.userblock_size)
                return [_text(x) for x in texts_of(self.path, values, base)]
        return [_text(x) for x in values.tolist()]

    def _raw(self, start: int, count: int, kind: np.dtype[Any]) -> Numbers:
        """Some rows as they stand in the file."""
        if kind == REFERENCE and self.handle.file.id.get_create_plist().get_sizes() != (8, 8):
            raise ValueError("its places are not of 8 bytes")
        if self.handle.chunks is not None:
            return self._unpacked(start, count, kind)
        if kind != REFERENCE:
            rows = slice(start, start + count) if self.handle.shape else ()
            return np.asarray(self.handle[rows])
        ((offset, size),) = self._stretches(start, count)
        with self.path.open("rb") as file:
            file.seek(offset)
            return np.frombuffer(file.read(size), kind, count * math.prod(self.shape[1:]))

    def _unpacked(self, start: int, count: int, kind: np.dtype[Any]) -> Numbers:
        """Some rows put together from their chunks."""
        chunks, filters = self.handle.chunks, self._filters
        size = math.prod(chunks) * kind.itemsize
        out = np.empty((count, *self.shape[1:]), kind)
        for corner in self._corners(start, count):
            mask, raw = self.handle.id.read_direct_chunk(corner)
            block = np.frombuffer(unpacked(raw, filters, mask, size), kind).reshape(chunks)
            first = max(corner[0], start)
            last = min(corner[0] + chunks[0], start + count)
            place: list[slice] = [slice(first - start, last - start)]
            part: list[slice] = [slice(first - corner[0], last - corner[0])]
            for at, width, n in zip(corner[1:], chunks[1:], self.shape[1:], strict=True):
                place.append(slice(at, min(at + width, n)))
                part.append(slice(0, min(width, n - at)))
            out[tuple(place)] = block[tuple(part)]
        return out

    def _corners(self, start: int, count: int) -> Iterator[tuple[int, ...]]:
        """Where the chunks begin that hold these rows."""
        chunks = self.handle.chunks
        ranges = [range(start // chunks[0], (start + count - 1) // chunks[0] + 1)]
        ranges += [range(-(-n // c)) for n, c in zip(self.shape[1:], chunks[1:], strict=True)]
        if math.prod(map(len, ranges)) > self.size:
            raise ValueError("its chunks are more than the file has bytes")
        for place in itertools.product(*ranges):
            yield tuple(i * c for i, c in zip(place, chunks, strict=True))

    @property
    def _filters(self) -> list[Filter]:
        """How its chunks are packed, in order."""
        plan = self.handle.id.get_create_plist()
        return [plan.get_filter(i) for i in range(plan.get_nfilters())]

    @property
    def _width(self) -> int:
        """Bytes of one value in the file."""
        return REFERENCE.itemsize if self.dtype.kind == "O" else self.dtype.itemsize

    def _need_rows(self, start: int, count: int) -> None:
        if start < 0 or count < 0 or start + count > len(self):
            raise self.error(
                f"holds {len(self)} rows", expected=f"{count} from row {start} on at least"
            )

    def need_data(self, start: int, count: int) -> None:
        """Refuse rows that the file does not hold, before memory is taken for them."""
        wanted = count * math.prod(self.shape[1:]) * self._width
        with told(self.path, self.place):
            packed = bool(self._filters)
        if wanted > self.size * (_RATIO if packed else 1):
            raise self.error(f"declares {wanted} bytes in a file of {self.size}")
        need_room(self.path, wanted, place=self.place)
        for offset, size in self._stretches(start, count):
            if offset is None or size <= 0:
                raise self.error("was never written in full")
            if offset + size > self.size:
                raise self.error(
                    f"has data up to byte {offset + size}", expected=f"{self.size} at most"
                )

    def _stretches(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        """Where these rows stand in the file: byte and length; nothing for those in the header."""
        import h5py

        with told(self.path, self.place):
            layout = self.handle.id.get_create_plist().get_layout()
            chunks = self.handle.chunks
            if layout == h5py.h5d.COMPACT:
                if self.dtype.kind == "O":
                    raise ValueError("it has texts of varying length in its header")
                return
            if chunks is None:
                offset = self.handle.id.get_offset()
                row = math.prod(self.shape[1:]) * self._width
                stored = self.handle.id.get_storage_size()
                if offset is None or stored < len(self) * row:
                    raise ValueError("it was never written in full")
                yield offset + start * row, count * row
                return
            bytes_of_chunk = math.prod(chunks) * self._width
            packed = bool(self._filters)
            for corner in self._corners(start, count):
                chunk = self.handle.id.get_chunk_info_by_coord(corner)
                if chunk.byte_offset is None or chunk.size <= 0:
                    raise ValueError(f"its chunk at {corner} was never written")
                if not packed and chunk.size != bytes_of_chunk:
                    raise ValueError(f"its chunk at {corner} has {chunk.size} bytes")
                if bytes_of_chunk > max(_SMALL, _RATIO * chunk.size):
                    raise ValueError(f"its chunk at {corner} cannot hold {bytes_of_chunk} bytes")
                yield chunk.byte_offset, chunk.size


def stored(found: Stored) -> Stored:
    """A dataset with what it declares, when all its data are in this file."""
    import h5py

    handle = found.handle
    with told(found.path, found.place):
        plan = handle.id.get_create_plist()
        shape, dtype = handle.shape, handle.dtype
        virtual, external = handle.is_virtual, plan.get_external_count()
        texts = dtype.kind == "S" or h5py.check_string_dtype(dtype) is not None
    if virtual or external:
        raise found.error("has its data in other files", expected="all data in this one")
    if shape is None:
        raise found.error("has no values")
    if any(n < 0 or n >= 1 << 60 for n in shape):
        raise found.error(f"declares the shape {shape}")
    return replace(found, shape=tuple(shape) or (1,), dtype=dtype, texts=bool(texts))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)
