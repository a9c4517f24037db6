"""A sample of which only what is asked for is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import POLYHEDRON
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Path as PartPath
from meshkit.info import FieldKey, MeshInfo
from meshkit.mesh import DATA, Mesh
from meshkit.places import Place, place_of
from meshkit.regions import Region
from meshkit.series import MeshSeries, step_of
from meshkit.store.contents import Contents, Part, load
from meshkit.store.names import plain_path, safe_path
from meshkit.store.reading import MeshLoader, fitting, steadily
from meshkit.view import fields_of

Rows = slice | range | None


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a meshkit store: the manifest and the metadata are read, and no numbers.

        with mk.open_store("case.zarr") as store:
            p = store.field("cell_data", "p", rows=slice(0, 1000))
            wall = store.region("wall")
            last = store.at("last").field("point_data", "U")

    Args:
        path: the directory, or a remote place ("s3://bucket/case.zarr").

    Raises:
        ReadError: there is no sample, its files are not those of its manifest, or a newer
            version wrote it.
    """
    place = place_of(path)
    return Store(place, steadily(place, lambda contents: contents))


class Store:
    """A sample at one of its times, opened by `open_store`.

    Every read is held against the checksums of what it reads. The sample stays the one that was
    opened: when another takes its place, reads give its numbers or an error, never a mixture.
    Tensors are on the CPU, in the rows' order, and belong to the caller. A store may be pickled
    (the data set of a loader with workers): it is then opened anew.

    `info` holds units, frame, time, and what each field is.
    """

    def __init__(self, place: Place, contents: Contents, step: int = -1) -> None:
        self._place, self._contents = place, contents
        self._step = step % contents.n_steps if contents.n_steps else 0
        self._parts = contents.parts(self._step)
        self._said: dict[str, Any] = contents.mesh(self._step)
        with fitting(contents):
            self.info = MeshInfo.from_json(self._said["info"])
            self._regions = {
                (r["name"], r["entity"]): i for i, r in enumerate(self._said["regions"])
            }

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the sample; nothing can be read any more, at any of its times."""
        self._contents.files.close()

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[str, int]]:
        return _reopened, (str(self._place), self._step)

    def __repr__(self) -> str:
        sizes = f"{self.n_points} points, {self.n_cells} cells"
        times = f", {len(self.times)} times" if self._contents.is_series else ""
        return f"Store({self._contents.files.name}: {sizes}{times})"

    # --- what there is ---------------------------------------------------------------------------

    @property
    def times(self) -> tuple[float, ...]:
        """The times of a series; () of a single mesh."""
        return self._contents.times

    def at(self, time: float | str | int) -> Store:
        """The same sample at "first", "last", a step (int) or a time (float).

        Raises:
            MeshError: there is no such time.
        """
        times = self.times
        if not self._contents.is_series:
            own = self.info.time
            if isinstance(time, float) and own is None:
                raise MeshError("holds no time")
            times = (0.0 if own is None else own,)
        return Store(self._place, self._contents, step_of(times, time))

    @property
    def n_points(self) -> int:
        """How many points."""
        return self._part(("points",)).shape[0]

    @property
    def n_cells(self) -> int:
        """How many cells, of every dimension."""
        return self._part(("cells", "types")).shape[0]

    def keys(self) -> list[FieldKey]:
        """Every field, as `field` takes it.

        ("cell_data", "p"), ("point_data", "flow", "U"), and for the data of a region
        ("regions", region name, entity, field).
        """
        return [key for path in self._parts if (key := self._key(path)) is not None]

    def regions(self) -> list[tuple[str, str]]:
        """Name and entity of each region."""
        return list(self._regions)

    def shape(self, *key: str) -> tuple[int, ...]:
        """The shape of a field, rows first.

        Raises:
            MeshError: there is no such field.
        """
        return self._field(key).shape

    def dtype(self, *key: str) -> torch.dtype:
        """The dtype of a field.

        Raises:
            MeshError: there is no such field.
        """
        return self._field(key).dtype

    # --- numbers ---------------------------------------------------------------------------------

    def field(self, *key: str, rows: Rows = None) -> Tensor:
        """One field, or some rows of it.

        Args:
            key: as `keys` gives it.
            rows: a slice or range of step 1; not of global data.

        Returns:
            [n, ...] of these rows, bit for bit as it was written.

        Raises:
            MeshError: there is no such field, or rows are asked for that cannot be.
            ReadError: what is read is damaged.
        """
        return self._rows(self._field(key), rows)

    def points(self, rows: Rows = None) -> Tensor:
        """Float [n, d], all or some rows.

        Raises:
            MeshError: the step of the rows is not 1.
            ReadError: what is read is damaged.
        """
        return self._rows(self._part(("points",)), rows)

    def cells(self, rows: Rows = None) -> Cells:
        """The cells, or some of them; their points keep their ids.

        Raises:
            MeshError: the step of the rows is not 1.
            ReadError: what is read is damaged.
        """
        some = self._range(self._part(("cells", "types")), rows)
        wanted = [self._part(("cells", "types"))]
        has_degrees = ("cells", "degrees") in self._parts
        wanted += [self._part(("cells", "degrees"))] if has_degrees else []
        types, *degrees = load(wanted, some)
        offsets, connectivity = self._lists(("cells", "offsets"), ("cells", "connectivity"), some)
        polyhedra = self._polyhedra(types, some)
        with fitting(self._contents):
            return Cells(types, offsets, connectivity, polyhedra, *degrees)

    def faces(self) -> Faces | None:
        """The mesh's own faces; None if it has none.

        Raises:
            ReadError: what is read is damaged.
        """
        if ("faces", "owner") not in self._parts:
            return None
        names = ("offsets", "connectivity", "owner", "neighbour")
        tensors = load([self._part(("faces", name)) for name in names])
        with fitting(self._contents):
            return Faces(*tensors)

    def region(self, name: str, entity: str | None = None) -> Region:
        """One region with its data; say the entity where a name has several.

        Raises:
            MeshError: there is none, or several.
            ReadError: what is read is damaged.
        """
        found = [key for key in self._regions if key[0] == name and entity in (None, key[1])]
        if len(found) != 1:
            known = ", ".join(f"{n!r} of {e}s" for n, e in self._regions) or "none"
            why = "several regions" if found else "no region"
            raise MeshError(f"{why} {name!r}; there are {known}")
        i = self._regions[found[0]]
        below = {
            path[2:]: part for path, part in self._parts.items() if path[:2] == ("regions", str(i))
        }
        parts = dict(zip(below, load(list(below.values())), strict=True))
        known_of = self._said["regions"][i]
        at = ("regions", str(i))
        with fitting(self._contents):
            data = fields_of({(*at, *path): x for path, x in parts.items()}, self._said)
            return Region(
                name=name,
                entity=known_of["entity"],
                ids=parts["ids",],
                flip=parts.get(("flip",)),
                kind=known_of["kind"],
                data=data.get((*at, "data"), {}) if known_of["data"] else None,
                attributes=known_of["attributes"],
                source_id=known_of["source_id"],
                parent=known_of["parent"],
            )

    def mesh(self) -> Mesh:
        """All of it, as `mk.read` gives it.

        Raises:
            ReadError: what is read is damaged.
        """
        return MeshLoader(self._contents).mesh(self._step)

    def series(self) -> MeshSeries:
        """The meshes of all times; of a single mesh a series of one, at 0 if it has no time."""
        load_step = MeshLoader(self._contents).mesh
        if self._contents.is_series:
            return MeshSeries(self.times, load_step)
        return MeshSeries([self.info.time or 0.0], load_step)

    def verify(self) -> None:
        """Read every file and hold it against the manifest's hashes.

        Raises:
            ReadError: one is damaged; the message names it.
        """
        self._contents.verify()

    # --- inside ----------------------------------------------------------------------------------

    def _part(self, path: PartPath) -> Part:
        part = self._parts.get(path)
        if part is None:
            raise self._contents.contradicts("/".join(path))
        return part

    def _field(self, key: FieldKey) -> Part:
        path: PartPath = key
        if len(key) > 3 and key[0] == "regions" and (key[1], key[2]) in self._regions:
            path = ("regions", str(self._regions[key[1], key[2]]), "data", *key[3:])
        elif not key or key[0] not in DATA:
            path = ()
        part = self._parts.get(safe_path(path)) if path else None
        if part is None:
            known = ", ".join("/".join(k) for k in self.keys()) or "none"
            raise MeshError(f"no field {'/'.join(key)!r}; there are {known}")
        return part

    def _key(self, path: PartPath) -> FieldKey | None:
        plain = plain_path(path)
        if path[0] in DATA:
            return plain
        if path[0] == "regions" and path[2] == "data":
            region = self._said["regions"][int(path[1])]
            return ("regions", region["name"], region["entity"], *plain[3:])
        return None

    def _rows(self, part: Part, rows: Rows) -> Tensor:
        if rows is None:
            return load([part])[0]
        if part.path[0] == "global_data":
            raise MeshError(f"{'/'.join(plain_path(part.path))!r}: global data have no rows")
        return load([part], self._range(part, rows))[0]

    @staticmethod
    def _range(part: Part, rows: Rows) -> range:
        every = range(part.shape[0])
        if rows is None:
            return every
        try:
            some = every[rows] if isinstance(rows, slice) else rows
        except TypeError:  # a slice of what are no whole numbers
            some = None
        inside = isinstance(some, range) and (
            not len(some) or (some.start >= 0 and some.stop <= len(every))
        )
        if not isinstance(some, range) or some.step != 1 or not inside:
            expected = f"a run of step 1 within {len(every)} rows, as a slice or range"
            raise MeshError(f"rows {rows!r:.60}: expected {expected}")
        return some if len(some) else range(0)

    def _lists(
        self, offsets_at: PartPath, values_at: PartPath, some: range
    ) -> tuple[Tensor, Tensor]:
        """Some rows of compressed lists: their offsets from 0, and their values."""
        ends = range(some.start, some.stop + 1)
        (offsets,) = load([self._part(offsets_at)], ends)
        first, last = int(offsets[0]), int(offsets[-1])
        values = self._part(values_at)
        if not 0 <= first <= last <= values.shape[0]:
            raise self._contents.contradicts("/".join(offsets_at))
        (found,) = load([values], range(first, last))
        return offsets - first, found

    def _polyhedra(self, types: Tensor, some: range) -> Polyhedra | None:
        """The faces of those cells among the rows that are polyhedra."""
        root = ("cells", "polyhedra")
        if (*root, "faces") not in self._parts:
            return None
        (before,) = load([self._part(("cells", "types"))], range(some.start))
        if len(some) < self.n_cells and not bool((types == POLYHEDRON).any()):
            return None
        first = int((before == POLYHEDRON).sum())
        these = range(first, first + int((types == POLYHEDRON).sum()))
        starts = range(these.start, these.stop + 1)
        (faces,) = load([self._part((*root, "faces"))], starts)
        rows = range(int(faces[0]), int(faces[-1]))
        offsets, connectivity = self._lists((*root, "offsets"), (*root, "connectivity"), rows)
        with fitting(self._contents):
            return Polyhedra(faces - faces[0], offsets, connectivity)


def _reopened(path: str, step: int) -> Store:
    store = open_store(path)
    return Store(store._place, store._contents, step)
