"""One array into its directory, chunk after chunk."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from numpy.typing import NDArray

from meshkit.store import shards
from meshkit.store.chunks import ChunkGrid, Shape
from meshkit.store.dtypes import Stored
from meshkit.store.manifest import Entry
from meshkit.store.metadata import ArrayMetadata, shard_key

_AHEAD: Final = 2
"""Chunks a thread that may wait to be written."""


class Encoder:
    """Threads that compress chunks, a few at a time; what comes out is in order.

    Use `encoder`.
    """

    def __init__(self, pool: Executor, ahead: int) -> None:
        self._pool, self._ahead = pool, ahead

    def __call__(self, chunks: Iterable[NDArray[Any]]) -> Iterator[bytes]:
        """Each chunk encoded."""
        waiting: deque[Future[bytes]] = deque()
        for chunk in chunks:
            waiting.append(self._pool.submit(shards.encode, chunk))
            if len(waiting) > self._ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def encoder() -> Iterator[Encoder]:
    """An encoder with as many threads as torch may use."""
    threads = max(1, min(torch.get_num_threads(), len(os.sched_getaffinity(0))))
    with ThreadPoolExecutor(threads) as pool:
        yield Encoder(pool, _AHEAD * threads)


class ArrayWriter:
    """An array that grows by one step after the other along its first axis, or is written whole.

    Args:
        folder: the array's own directory; made when the first chunk comes.
        stored: how its numbers are stored.
        row: the shape of one step, or of the whole.
        encode: compresses.
        steps: whether there is an axis of steps before the row's.
    """

    def __init__(
        self, folder: Path, stored: Stored, row: Shape, encode: Encoder, *, steps: bool
    ) -> None:
        from blake3 import blake3

        self.stored, self.row = stored, row
        self.n_steps = 0
        self._folder, self._encode, self._steps = folder, encode, steps
        self._size = 0
        self._lengths: list[int] = []
        self._checks: list[bytes] = []
        self._hash = blake3()

    def append(self, numbers: NDArray[Any]) -> int:
        """One more step, as `Stored.to_array` gives it; which one it is."""
        grid = self._grid(1)
        flat = numbers.reshape(-1)

        def chunk(start: int, stop: int) -> NDArray[Any]:
            if stop - start == grid.chunk_size:
                return flat[start:stop]
            out = self.stored.padding(grid.chunk_size)
            out[: stop - start] = flat[start:stop]
            return out

        if grid.n_chunks:
            with self._open(grid) as file:
                for data in self._encode(chunk(*span) for span in grid.spans()):
                    file.write(data)
                    self._note(data)
                    self._lengths.append(len(data))
                    self._checks.append(data[-shards.CHECK :])
        self.n_steps += 1
        return self.n_steps - 1

    def finish(self) -> tuple[dict[str, Any], dict[str, Entry]]:
        """No more steps come: the array's document, and its files by their keys below it."""
        grid = self._grid(self.n_steps)
        metadata = ArrayMetadata(self.stored, grid)
        if metadata.key is None:
            return metadata.to_json(), {}
        if metadata.sharded:
            index = shards.pack_index(self._lengths)
            with self._open(grid) as file:
                file.write(index)
            self._note(index)
        entry = Entry(self._size, self._hash.hexdigest(), b"".join(self._checks))
        return metadata.to_json(), {metadata.key: entry}

    def _grid(self, steps: int) -> ChunkGrid:
        shape = (steps, *self.row) if self._steps else self.row
        return ChunkGrid.of(shape, self.stored.numpy.itemsize, steps=self._steps)

    def _open(self, grid: ChunkGrid) -> Any:
        self._folder.mkdir(parents=True, exist_ok=True)
        return (self._folder / shard_key(len(grid.shape))).open("ab")

    def _note(self, data: bytes) -> None:
        self._hash.update(data)
        self._size += len(data)
