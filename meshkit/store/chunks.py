"""How an array is cut into chunks, each a run of its numbers in row-major order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

ROWS: Final = 1 << 16
LIMIT: Final = 1 << 24
"""Bytes of a decoded chunk at the most; a writer makes fewer rows of wide fields."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChunkGrid:
    """A shape and the chunk that tiles it, the last chunk of an axis sticking out.

    A chunk is a contiguous run of the array: it spans whole axes after some axis, and one index
    of each axis before it.

    Raises:
        ValueError: chunks of that shape would not be contiguous.
    """

    shape: Shape
    chunk: Shape

    def __post_init__(self) -> None:
        same_rank = len(self.shape) == len(self.chunk)
        if not same_rank or min(self.chunk, default=1) < 1 or min(self.shape, default=0) < 0:
            raise ValueError(f"chunks of {list(self.chunk)} do not tile {list(self.shape)}")
        axis = self._axis
        before, after = self.chunk[:axis], self.chunk[axis + 1 :]
        whole = tuple(max(1, n) for n in self.shape[axis + 1 :])
        if any(k != 1 for k in before) or after != whole:
            raise ValueError(f"chunks of {list(self.chunk)} cut {list(self.shape)} into pieces")

    @classmethod
    def of(cls, shape: Shape, itemsize: int, *, steps: bool = False) -> ChunkGrid:
        """The grid a writer chooses: 64k rows, fewer where a row is wide; a step at a time.

        >>> ChunkGrid.of((100_000, 3), 8).chunk, ChunkGrid.of((7, 100_000), 4, steps=True).chunk
        ((65536, 3), (1, 65536))
        """
        chunk = [1] * len(shape)
        room = max(1, LIMIT // itemsize)
        rows = 1 if steps else 0
        for axis in reversed(range(rows, len(shape))):
            most = min(shape[axis], room, ROWS if axis == rows else room)
            chunk[axis] = max(1, most)
            if chunk[axis] < shape[axis]:
                break
            room //= chunk[axis]
        return cls(shape, tuple(chunk))

    @property
    def _axis(self) -> int:
        """The axis along which chunks follow one another; whole axes come after it."""
        for axis in reversed(range(len(self.shape))):
            if self.chunk[axis] < self.shape[axis]:
                return axis
        return 0

    @property
    def _inner(self) -> int:
        return prod(self.shape[self._axis + 1 :])

    @property
    def _per_axis(self) -> int:
        """Chunks along the axis that they cut."""
        axis = self._axis
        return -(-self.shape[axis] // self.chunk[axis]) if self.shape else 1

    @property
    def counts(self) -> Shape:
        """Chunks along each axis."""
        return tuple(-(-n // k) for n, k in zip(self.shape, self.chunk, strict=True))

    @property
    def shard(self) -> Shape:
        """The shape of all chunks together, at least one."""
        return tuple(max(1, c) * k for c, k in zip(self.counts, self.chunk, strict=True))

    @property
    def n_chunks(self) -> int:
        """How many chunks there are; none of an empty array."""
        return prod(self.counts)

    @property
    def chunk_size(self) -> int:
        """Numbers in a chunk, those that stick out included."""
        return prod(self.chunk)

    def span(self, i: int) -> tuple[int, int]:
        """Where the numbers of chunk i begin and end in the flat array."""
        if not self.shape:
            return 0, 1
        outer, place = divmod(i, self._per_axis)
        long, step = self.shape[self._axis], self.chunk[self._axis]
        first = place * step
        last = min(first + step, long)
        return (outer * long + first) * self._inner, (outer * long + last) * self._inner

    def spans(self) -> Iterator[tuple[int, int]]:
        """The span of each chunk in order."""
        return map(self.span, range(self.n_chunks))

    def over(self, start: int, stop: int) -> range:
        """The chunks that hold numbers start to stop of the flat array."""
        if start >= stop:
            return range(0)
        return range(self._holding(start), self._holding(stop - 1) + 1)

    def _holding(self, number: int) -> int:
        if not self.shape:
            return 0
        outer, place = divmod(number // self._inner, self.shape[self._axis])
        return outer * self._per_axis + place // self.chunk[self._axis]
