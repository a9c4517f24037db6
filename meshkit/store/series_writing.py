"""A series into a sample: every tensor that differs from step to step once, and which is when."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.fields import Path
from meshkit.store.array_writing import ArrayWriter
from meshkit.store.chunks import Shape
from meshkit.store.dtypes import Stored
from meshkit.store.manifest import digest
from meshkit.store.mesh_writing import Parts
from meshkit.store.metadata import ATTRIBUTE
from meshkit.store.names import STEPS, array_name, plain_path
from meshkit.store.sample_writing import SampleWriter


class SeriesWriter:
    """The meshes of a series, one after the other.

    A tensor that is bit for bit what this part of the mesh was at an earlier step is not written
    again; one of another shape or dtype (another topology) starts another array.
    """

    def __init__(self, sample: SampleWriter) -> None:
        self._sample = sample
        self._times: list[float] = []
        self._parts: dict[Path, _Part] = {}
        self._meshes: dict[str, int] = {}
        self._mesh_of_step: list[int] = []
        self._places: list[dict[int, tuple[int, int]]] = []

    def add(self, parts: Parts, meta: dict[str, Any]) -> None:
        """The next step, as `mesh_writing.parts_of` gives it; its time is in the info."""
        self._times.append(meta["info"].pop("time"))
        places = {}
        for path, (stored, x) in parts.items():
            part = self._parts.setdefault(path, _Part(path, len(self._parts), self._sample))
            places[part.column] = part.place(stored, stored.to_array(x))
        text = json.dumps({"parts": list(places), "mesh": meta})
        self._mesh_of_step.append(self._meshes.setdefault(text, len(self._meshes)))
        self._places.append(places)

    def finish(self) -> dict[str, Any]:
        """What the top group must say; the table of steps is written."""
        table = np.full((len(self._times), len(self._parts), 2), -1, np.int32)
        for step, places in enumerate(self._places):
            for column, place in places.items():
                table[step, column] = place
        self._sample.write(STEPS, Stored.named("int32", None), table)
        said = {
            "kind": "series",
            "times": self._times,
            "parts": [
                {"path": list(plain_path(path)), "arrays": part.names}
                for path, part in self._parts.items()
            ],
            "meshes": [json.loads(text) for text in self._meshes],
            "mesh_of_step": self._mesh_of_step,
        }
        return {ATTRIBUTE: said}


class _Part:
    """The arrays of one part of the mesh: one for each shape and dtype that it ever has."""

    def __init__(self, path: Path, column: int, sample: SampleWriter) -> None:
        self.column = column
        self.names: list[str] = []
        self._path, self._sample = path, sample
        self._arrays: dict[tuple[Stored, Shape], tuple[int, ArrayWriter]] = {}
        # Hashes, not tensors: a solver may give the same buffer again with other numbers in it.
        self._known: dict[tuple[int, str], int] = {}

    def place(self, stored: Stored, numbers: NDArray[Any]) -> tuple[int, int]:
        """Which array has these numbers, and at which of its steps."""
        kind = (stored, numbers.shape)
        if kind not in self._arrays:
            name = array_name(self._path, len(self.names))
            self._arrays[kind] = (
                len(self.names),
                self._sample.growing(name, stored, numbers.shape),
            )
            self.names.append(name)
        which, array = self._arrays[kind]
        seen = (which, digest(numbers.reshape(-1).view(np.uint8).data))
        if seen not in self._known:
            self._known[seen] = array.append(numbers)
        return which, self._known[seen]
