"""Numbers out of chunks: only the chunks that hold them, each held against its checksum."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.memory import need_room
from meshkit.store import shards
from meshkit.store.files import Files
from meshkit.store.manifest import Entry
from meshkit.store.metadata import ArrayMetadata


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of a sample: where its file is, and what the manifest says of it.

    `entry` is None for an array without numbers, which has no file.
    """

    files: Files
    key: str
    entry: Entry | None
    metadata: ArrayMetadata


@dataclass(frozen=True, slots=True)
class Run:
    """Numbers start to stop of an array, in row-major order."""

    array: StoredArray
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers in memory."""
        return (self.stop - self.start) * self.array.metadata.stored.numpy.itemsize


def fetch(runs: Sequence[Run]) -> list[NDArray[Any]]:
    """The numbers of each run as a flat array of its stored dtype.

    Raises:
        ReadError: a file is missing, cut or damaged; the message names it and the chunk. Or the
            numbers need more memory than there is: a few zeros of a file may stand for all of it.
    """
    if not runs:
        return []
    need_room(
        runs[0].array.files.name,
        sum(run.nbytes for run in runs),
        hint="read some fields, rows or times of it (open_store)",
    )
    at_once = runs[0].array.files.reads_at_once
    threads = at_once or max(1, min(torch.get_num_threads(), len(os.sched_getaffinity(0))))
    # Blosc on the main thread would start threads of its own, which do not survive a fork.
    with ThreadPoolExecutor(threads) as pool:
        readings = list(pool.map(_Reading, runs))
        for _ in pool.map(_do, (task for reading in readings for task in reading.tasks())):
            pass
    return [reading.out for reading in readings]


def _do(task: Callable[[], None]) -> None:
    task()


class _Reading:
    """Where the numbers of a run go, and how they get there."""

    def __init__(self, run: Run) -> None:
        self._run, self._array = run, run.array
        self._grid = run.array.metadata.grid
        self._chunks = self._grid.over(run.start, run.stop)
        self._entry = run.array.entry or Entry(0, "")
        self._whole = b""  # the file, where that is small and all of it is needed
        if len(self._chunks):
            self._ends = self._read_ends()
        try:
            self.out = np.empty(run.stop - run.start, run.array.metadata.stored.numpy)
        except MemoryError:
            raise self._error(f"needs {run.nbytes} bytes of memory, more than there are") from None

    def tasks(self) -> Iterator[Callable[[], None]]:
        """What puts the numbers in their places, in any order."""
        if self._whole:
            yield partial(self._decode, self._chunks, self._whole, 0)
        elif len(self._chunks):
            yield from (partial(self._read_and_decode, some) for some in self._groups())

    def _error(self, problem: str) -> ReadError:
        return ReadError(self._array.files.name, problem, place=self._array.key)

    def _bytes(self, start: int, stop: int) -> bytes:
        return self._array.files.read(self._array.key, self._entry.size, start, stop)

    def _read_ends(self) -> list[int]:
        """Where each chunk ends in the file, from its index."""
        n, size = self._grid.n_chunks, self._entry.size
        if len(self._entry.checks) != shards.CHECK * n:
            raise self._error(f"does not have the {n} chunks of its metadata")
        if len(self._chunks) == n and size <= self._array.files.block:
            self._whole = self._bytes(0, size)
        if not self._array.metadata.sharded:
            return [0, size]
        begins_at = size - shards.index_size(n)
        if begins_at < 0:
            raise self._error(f"is too small for {n} chunks")
        try:
            index = self._whole[begins_at:] or self._bytes(begins_at, size)
            return shards.unpack_index(index, begins_at)
        except shards.Damage as why:
            raise self._error(str(why)) from None

    def _groups(self) -> Iterator[range]:
        """Neighbouring chunks that are worth one read."""
        first = self._chunks.start
        for i in self._chunks:
            if i > first and self._ends[i + 1] - self._ends[first] > self._array.files.block:
                yield range(first, i)
                first = i
        yield range(first, self._chunks.stop)

    def _read_and_decode(self, chunks: range) -> None:
        start, stop = self._ends[chunks.start], self._ends[chunks.stop]
        self._decode(chunks, self._bytes(start, stop), start)

    def _decode(self, chunks: range, data: bytes, begin: int) -> None:
        """Decode chunks into their places; `data` are bytes of the file from `begin` on."""
        held = np.frombuffer(data, np.uint8)
        for i in chunks:
            packed = held[self._ends[i] - begin : self._ends[i + 1] - begin]
            try:
                self._decode_one(i, packed)
            except shards.Damage as why:
                raise self._error(f"chunk {i}: {why}") from None

    def _decode_one(self, i: int, packed: shards.Bytes) -> None:
        named = self._entry.checks[shards.CHECK * i : shards.CHECK * (i + 1)]
        if packed[-shards.CHECK :].tobytes() != named:
            raise shards.Damage("is not the one that the manifest names")
        start, stop = self._grid.span(i)
        low, high = max(start, self._run.start), min(stop, self._run.stop)
        place = self.out[low - self._run.start : high - self._run.start]
        if len(place) == self._grid.chunk_size:
            shards.decode(packed, place)
            return
        chunk = np.empty(self._grid.chunk_size, self.out.dtype)
        shards.decode(packed, chunk)
        place[:] = chunk[low - start : high - start]
