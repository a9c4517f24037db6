"""A sample into an empty directory: the arrays, then the metadata, then the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from meshkit.errors import WriteError
from meshkit.store.array_writing import ArrayWriter, Encoder
from meshkit.store.chunks import Shape
from meshkit.store.dtypes import Stored
from meshkit.store.manifest import Entry, Manifest, digest
from meshkit.store.metadata import group_json
from meshkit.store.names import MANIFEST, METADATA, TEXT_LIMIT
from meshkit.store.plain_json import to_bytes
from meshkit.syncing import sync_file, synced


class SampleWriter:
    """The arrays of one sample by their names.

    Args:
        folder: where; empty.
        encode: compresses.
        name: how messages call the sample.
    """

    def __init__(self, folder: Path, encode: Encoder, name: str) -> None:
        self._folder, self._encode, self._name = folder, encode, name
        self._arrays: dict[str, ArrayWriter] = {}
        self._documents: dict[str, dict[str, Any]] = {}
        self._entries: dict[str, Entry] = {}

    def write(self, name: str, stored: Stored, numbers: NDArray[Any]) -> None:
        """A whole array."""
        array = self._array(name, stored, numbers.shape, steps=False)
        array.append(numbers)
        self._finish(name, array)

    def growing(self, name: str, stored: Stored, row: Shape) -> ArrayWriter:
        """An array [n_steps, *row] that will get its steps until `finish`."""
        array = self._array(name, stored, row, steps=True)
        self._arrays[name] = array
        return array

    def finish(self, attributes: dict[str, Any], *, root: str = "", durable: bool = True) -> None:
        """Write what is left: the metadata with these attributes at the top, the manifest last.

        Args:
            attributes: of the top group.
            root: what the manifest says of where the files will lie.
            durable: wait for the disk, in an order that a power cut does not break.

        Raises:
            WriteError: the metadata or the manifest are longer than a reader takes.
        """
        for name, array in self._arrays.items():
            self._finish(name, array)
        for name in list(self._documents):
            parts = name.split("/")
            for n in range(1, len(parts)):
                self._documents.setdefault("/".join(parts[:n]), group_json())
        below = dict(sorted(self._documents.items()))
        for name, document in below.items():
            self._document(f"{name}/{METADATA}", document)
        self._document(METADATA, group_json(attributes, below))
        if durable:
            synced(self._folder)
        manifest = self._folder / MANIFEST
        manifest.write_bytes(self._text(MANIFEST, Manifest(self._entries, root).to_bytes()))
        if durable:
            sync_file(manifest)

    def _array(self, name: str, stored: Stored, row: Shape, *, steps: bool) -> ArrayWriter:
        return ArrayWriter(self._folder / name, stored, row, self._encode, steps=steps)

    def _finish(self, name: str, array: ArrayWriter) -> None:
        self._documents[name], files = array.finish()
        self._entries |= {f"{name}/{key}": entry for key, entry in files.items()}

    def _document(self, key: str, document: dict[str, Any]) -> None:
        data = self._text(key, to_bytes(document))
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self._entries[key] = Entry(len(data), digest(data))

    def _text(self, key: str, data: bytes) -> bytes:
        """The bytes, if a reader takes as many."""
        if len(data) > TEXT_LIMIT:
            raise WriteError(
                self._name,
                f"would have {len(data)} bytes of JSON",
                place=key,
                expected=f"at most {TEXT_LIMIT}",
                hint="make attributes and vocabularies smaller, or write several samples",
            )
        return data
