"""The zarr.json of arrays and groups.

Source: the Zarr core specification, version 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Final

from meshkit.store.chunks import ChunkGrid
from meshkit.store.dtypes import Stored
from meshkit.store.shards import CODEC

_BYTES: Final = {"name": "bytes", "configuration": {"endian": "little"}}
_CRC: Final = {"name": "crc32c"}
_DECODED_LIMIT: Final = 1 << 30  # Blosc holds less than 2 GiB in a chunk
_MOST_AXES: Final = 64  # as many as torch and numpy have
_COUNTABLE: Final = (1 << 63) - 1  # bytes, as numpy and torch count them
ATTRIBUTE: Final = "meshkit"


def shard_key(rank: int) -> str:
    """What the one file of an array with numbers is called.

    >>> shard_key(2), shard_key(0)
    ('c.0.0', 'c')
    """
    return ".".join(["c", *["0"] * rank])


@dataclass(frozen=True, slots=True)
class ArrayMetadata:
    """What an array's zarr.json says."""

    stored: Stored
    grid: ChunkGrid

    @property
    def sharded(self) -> bool:
        """Whether the chunks lie in a shard; the one chunk of a single number does not."""
        return bool(self.grid.shape)

    @property
    def key(self) -> str | None:
        """Below the array's name, where its numbers are; None where it has none."""
        if self.grid.n_chunks == 0:
            return None
        return shard_key(len(self.grid.shape))

    def to_json(self) -> dict[str, Any]:
        """The document."""
        stored, grid = self.stored, self.grid
        blosc = {"typesize": stored.numpy.itemsize, **CODEC}
        codecs = [_BYTES, {"name": "blosc", "configuration": blosc}, _CRC]
        if self.sharded:
            shard = {
                "chunk_shape": list(grid.chunk),
                "codecs": codecs,
                "index_codecs": [_BYTES, _CRC],
                "index_location": "end",
            }
            codecs = [{"name": "sharding_indexed", "configuration": shard}]
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(grid.shape),
            "data_type": stored.held,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(grid.shard)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": stored.fill,
            "codecs": codecs,
            "attributes": {} if stored.name is None else {ATTRIBUTE: {"dtype": stored.name}},
            "storage_transformers": [],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> ArrayMetadata:
        """The inverse of `to_json`.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is no array as meshkit writes it.
        """
        meant = found["attributes"].get(ATTRIBUTE, {}).get("dtype")
        stored = Stored.named(found["data_type"], meant)
        codecs = found["codecs"]
        chunk = found["chunk_grid"]["configuration"]["chunk_shape"]
        if codecs[0]["name"] == "sharding_indexed":
            chunk = codecs[0]["configuration"]["chunk_shape"]
        if len(found["shape"]) > _MOST_AXES:
            raise ValueError(f"{len(found['shape'])} axes")
        grid = ChunkGrid(*(tuple(map(_whole, numbers)) for numbers in (found["shape"], chunk)))
        out = cls(stored, grid)
        if prod(map(partial(max, 1), grid.shape)) * stored.numpy.itemsize > _COUNTABLE:
            raise ValueError(f"shape {list(grid.shape)}")
        if grid.chunk_size * stored.numpy.itemsize > _DECODED_LIMIT:
            raise ValueError(f"chunks of {list(grid.chunk)} {stored.held}")
        if stored.tail != grid.shape[len(grid.shape) - len(stored.tail) :]:
            raise ValueError(f"shape {list(grid.shape)} of {stored.name}")
        meant_so = out.to_json()
        for what in ("zarr_format", "node_type", "chunk_grid", "chunk_key_encoding", "codecs"):
            if _without_level(found[what]) != _without_level(meant_so[what]):
                raise ValueError(f"{what} is not as meshkit writes it")
        return out


def _whole(n: Any) -> int:
    if not isinstance(n, int) or isinstance(n, bool):
        raise ValueError(f"expected a whole number, found {str(n)[:40]!r}")
    return n


def _without_level(value: Any) -> Any:
    """The same without what matters to a writer only."""
    if isinstance(value, dict):
        free = ("cname", "clevel", "shuffle", "blocksize", "typesize")
        return {k: _without_level(v) for k, v in value.items() if k not in free}
    if isinstance(value, list):
        return [_without_level(v) for v in value]
    return value


def group_json(
    attributes: Mapping[str, Any] | None = None, below: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The document of a group; `below`, the documents of all that lies in it, is consolidated."""
    out: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": dict(attributes or {}),
    }
    if below is not None:
        out["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": dict(below),
        }
    return out
