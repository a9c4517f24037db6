"""An opened sample: its manifest, its metadata, and its parts at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Final

import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.errors import ReadError
from meshkit.fields import Path
from meshkit.mesh import DATA
from meshkit.store.chunk_reading import Run, StoredArray, fetch
from meshkit.store.files import Files
from meshkit.store.manifest import Entry, digest, parse
from meshkit.store.metadata import ATTRIBUTE, ArrayMetadata
from meshkit.store.names import MANIFEST, METADATA, STEPS, TEXT_LIMIT, is_part, safe_path
from meshkit.store.plain_json import from_bytes, from_plain

_BLOCK: Final = 1 << 24
_REGION: Final = {"name", "entity", "kind", "attributes", "source_id", "parent", "data"}
_MALFORMED: Final = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError),
)


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a mesh: an array, or one step of an array."""

    path: Path  # of safe names, as `view.mesh_of` takes it
    array: StoredArray
    step: int | None

    @property
    def _held(self) -> tuple[int, ...]:
        shape = self.array.metadata.grid.shape
        return shape if self.step is None else shape[1:]

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's."""
        tail = self.array.metadata.stored.tail
        return self._held[: len(self._held) - len(tail)]

    @property
    def dtype(self) -> torch.dtype:
        """The tensor's."""
        return self.array.metadata.stored.meant

    def run(self, rows: range | None) -> Run:
        """The numbers of some rows; of all, for None."""
        held = self._held
        first = (self.step or 0) * prod(held)
        if rows is None:
            return Run(self.array, first, first + prod(held))
        if not held or not 0 <= rows.start <= rows.stop <= held[0]:
            raise ReadError(
                self.array.files.name,
                f"has no rows {rows.start} to {rows.stop}: the arrays contradict each other",
                place=self.array.key,
            )
        row = prod(held[1:])
        return Run(self.array, first + rows.start * row, first + rows.stop * row)

    def tensor(self, numbers: NDArray[Any], rows: range | None) -> Tensor:
        """The tensor of what `run` said."""
        held = self._held if rows is None else (len(rows), *self._held[1:])
        return self.array.metadata.stored.to_tensor(numbers.reshape(held))


def load(parts: Sequence[Part], rows: range | None = None) -> list[Tensor]:
    """The tensors of some parts, or the same rows of each; nothing else is read.

    Raises:
        ReadError: a file is missing, cut or damaged.
    """
    numbers = fetch([part.run(rows) for part in parts])
    return [part.tensor(x, rows) for part, x in zip(parts, numbers, strict=True)]


class Contents:
    """A sample whose manifest holds; every file that it lists is there with its size.

    Raises:
        ReadError: it is no sample, of a newer version, or damaged.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self._manifest = parse(files.name, files.manifest())
        self.unknown = self._unknown()
        said = self._json(METADATA)
        try:
            self._said: Mapping[str, Any] = said["attributes"][ATTRIBUTE]
            self._documents: Mapping[str, Any] = said["consolidated_metadata"]["metadata"]
            self._parts = [self._named(row) for row in self._said["parts"]]
            kind = self._said["kind"]
            if kind not in ("mesh", "series"):
                raise ValueError(f"kind {kind!r}")
            self.is_series: bool = kind == "series"
            self.times: tuple[float, ...] = tuple(map(float, self._said["times"]))
            self._meshes: Sequence[Mapping[str, Any]] = self._said["meshes"]
            self._need_each_once()
            for mesh in self._meshes:
                self._need_regions(mesh)
        except _MALFORMED as why:
            raise self._malformed(why) from None
        self._arrays: dict[str, StoredArray] = {}

    def _named(self, row: Mapping[str, Any]) -> tuple[Path, list[str]]:
        path = tuple(row["path"])
        if not all(isinstance(part, str) for part in path) or not is_part(path):
            raise ValueError(f"path {path}")
        return safe_path(path), list(row["arrays"])

    def _malformed(self, why: Exception) -> ReadError:
        said = f"{type(why).__name__} {str(why)[:80]}"
        return ReadError(self.files.name, f"is not as meshkit writes it: {said}", place=METADATA)

    def _need_each_once(self) -> None:
        """Refuse what would make a few bytes stand for many: all work is linear in the files."""
        names = [name for _, arrays in self._parts for name in arrays]
        if len(set(names)) < len(names) or len(dict(self._parts)) < len(self._parts):
            raise ValueError("a part or an array stands twice")
        if not self.is_series:
            if len(self._meshes) != 1:
                raise ValueError(f"{len(self._meshes)} meshes of one")
            return
        for mesh in self._meshes:
            columns = mesh["parts"]
            if len(columns) > len(self._parts) or len(set(columns)) < len(columns):
                raise ValueError("a part stands twice")

    def _need_regions(self, mesh: Mapping[str, Any]) -> None:
        """Refuse regions of which not everything is said, and parts of those that are not."""
        columns = mesh["parts"] if self.is_series else range(len(self._parts))
        for said in mesh["mesh"]["regions"]:
            if not _REGION.issubset(said) or not isinstance(said["name"], str):
                raise ValueError(f"region {str(said)[:40]}")
        n = len(mesh["mesh"]["regions"])
        for path, _ in (self._parts[column] for column in columns):
            if path[0] == "regions" and int(path[1]) >= n:
                raise ValueError(f"region {path[1]} of {n}")

    def contradicts(self, name: str) -> ReadError:
        """The error that a part is missing or does not fit the others."""
        return ReadError(self.files.name, f"{name} is missing or does not fit the rest")

    def _unknown(self) -> list[str]:
        """The files that nobody lists; those that are listed must be there."""
        there = self.files.sizes()
        if there is None:
            return []
        root = self._manifest.root
        listed = {root + key: entry.size for key, entry in self._manifest.entries.items()}
        for key, size in listed.items():
            found = there.get(key)
            if found is None:
                raise ReadError(self.files.name, "is missing", place=key)
            if found != size:
                raise ReadError(
                    self.files.name, f"has {found} bytes", place=key, expected=str(size)
                )
        return sorted(key for key in there.keys() - listed.keys() if key != MANIFEST)

    def whole(self, key: str) -> bytes:
        """A file, held against its hash.

        Raises:
            ReadError: it is damaged, missing, or the manifest does not list it.
        """
        entry = self._manifest.entries.get(key)
        if entry is None:
            raise ReadError(self.files.name, f"does not list {key!r}", place=MANIFEST)
        if entry.size > TEXT_LIMIT:
            said = f"has {entry.size} bytes"
            raise ReadError(self.files.name, said, place=key, expected=f"at most {TEXT_LIMIT}")
        data = self.files.read(self._manifest.root + key, entry.size)
        if len(data) != entry.size or digest(data) != entry.blake3:
            raise ReadError(self.files.name, "is damaged: its hash does not hold", place=key)
        return data

    def verify(self) -> None:
        """Read every file and hold it against its hash.

        Raises:
            ReadError: one is damaged.
        """
        for key, entry in self._manifest.entries.items():
            self._verify(key, entry)

    def _verify(self, key: str, entry: Entry) -> None:
        from blake3 import blake3

        hash = blake3()
        for start in range(0, entry.size, _BLOCK):
            stop = min(start + _BLOCK, entry.size)
            hash.update(self.files.read(self._manifest.root + key, entry.size, start, stop))
        if hash.hexdigest() != entry.blake3:
            raise ReadError(self.files.name, "is damaged: its hash does not hold", place=key)

    def _json(self, key: str) -> Any:
        try:
            return from_bytes(self.whole(key))
        except ValueError as why:
            raise ReadError(
                self.files.name, f"is no JSON of a store: {str(why)[:80]}", place=key
            ) from None

    def array(self, name: str) -> StoredArray:
        """The array of this name.

        Raises:
            ReadError: its metadata are not as meshkit writes them.
        """
        if name not in self._arrays:
            try:
                metadata = ArrayMetadata.from_json(self._documents[name])
            except _MALFORMED as why:
                raise ReadError(
                    self.files.name,
                    f"is no array that meshkit reads: {type(why).__name__} {str(why)[:80]}",
                    place=f"{name}/{METADATA}",
                ) from None
            key, entry = name, None
            if metadata.key is not None:
                key = f"{name}/{metadata.key}"
                entry = self._manifest.entries.get(key)
                if entry is None:
                    raise ReadError(self.files.name, f"does not list {key!r}", place=MANIFEST)
            where = self._manifest.root + key
            self._arrays[name] = StoredArray(self.files, where, entry, metadata)
        return self._arrays[name]

    @property
    def n_steps(self) -> int:
        """How many meshes there are."""
        return len(self.times) if self.is_series else 1

    @cached_property
    def fields(self) -> frozenset[Path]:
        """The fields that the mesh has at any step, as `parts` names them."""
        return frozenset(path for path, _ in self._parts if path[0] in DATA)

    @cached_property
    def _table(self) -> Tensor:
        """Where each part is at each step: int [n_steps, n_parts, 2], array and its step."""
        part = Part((STEPS,), self.array(STEPS), None)
        expected = (self.n_steps, len(self._parts), 2)
        if part.shape != expected or part.dtype != torch.int32:
            raise ReadError(
                self.files.name,
                f"is {part.dtype} {list(part.shape)}",
                place=STEPS,
                expected=f"int32 {list(expected)}",
            )
        return load([part])[0]

    def mesh(self, step: int) -> dict[str, Any]:
        """What is no tensor at a step, as `view.mesh_of` takes it."""
        try:
            which = self._said["mesh_of_step"][step] if self.is_series else 0
            meta: dict[str, Any] = from_plain(self._meshes[which]["mesh"])
            if self.is_series:
                meta["info"]["time"] = self.times[step]
        except _MALFORMED as why:
            raise self._malformed(why) from None
        return meta

    def parts(self, step: int) -> dict[Path, Part]:
        """Every tensor at a step, in the mesh's order.

        Raises:
            ReadError: the metadata contradict each other.
        """
        try:
            if not self.is_series:
                return {p: Part(p, self.array(names[0]), None) for p, names in self._parts}
            which = self._said["mesh_of_step"][step]
            row = self._table[step].tolist()
            out = {}
            for column in self._meshes[which]["parts"]:
                path, names = self._parts[column]
                array, at = row[column]
                if array < 0:
                    raise ValueError(f"part {column} at step {step}")
                out[path] = Part(path, self.array(names[array]), at)
                if not 0 <= at < out[path].array.metadata.grid.shape[0]:
                    raise ValueError(f"part {column} at step {step}")
            return out
        except _MALFORMED as why:
            raise self._malformed(why) from None
