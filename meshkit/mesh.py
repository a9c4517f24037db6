"""The mesh: points, cells, fields, regions and what they mean, as one frozen value.

Nothing in this file computes geometry, and nothing here may import another room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.cells import Cells, brief
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Fields, are_codes, freeze, leaves, mapped
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.regions import Region, Regions

DATA: Final = ("point_data", "cell_data", "face_data", "global_data")
"""The four homes of fields, as a mesh and `MeshInfo.fields` name them."""

Target = torch.device | str | int | torch.dtype | None
"""What may stand first in `to`, as with tensors: a device, or a dtype alone."""


def need_points(points: Tensor) -> None:
    """Refuse what is not float [n, d] with d = 1, 2 or 3."""
    if (
        not isinstance(points, Tensor)
        or points.ndim != 2
        or points.shape[1] not in (1, 2, 3)
        or not points.is_floating_point()
    ):
        raise MeshError(f"points: expected float [n, d], d = 1, 2 or 3, found {brief(points)}")


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh as a value: operators take one and return tensors or a new one.

    Tensors may be shared between meshes, so writing into them in place is undefined. Build one
    with `make_mesh`, which converts and fills defaults; this class holds and checks shapes,
    dtypes and devices. What the values say is checked by `meshkit.check`.

    Fields are locked TensorDicts: any dtype, any rank, nested names, one row per point, cell or
    face (`global_data` has no row axis).
    """

    points: Tensor  # float [n_points, d], d = 1, 2, 3, in info.length_unit
    cells: Cells
    faces: Faces | None  # the source's own faces, of every cell of dimension dim
    point_data: TensorDictBase  # each field [n_points, ...]
    cell_data: TensorDictBase  # each field [n_cells, ...]
    face_data: TensorDictBase  # each field [n_faces, ...]; empty without faces
    global_data: TensorDictBase  # each field [...]
    regions: Regions
    info: MeshInfo

    def __post_init__(self) -> None:
        need_points(self.points)
        for what, held, kind in (
            ("cells", self.cells, Cells),
            ("faces", self.faces, Faces | None),
            ("regions", self.regions, Regions),
            ("info", self.info, MeshInfo),
        ):
            if not isinstance(held, kind):
                name = getattr(kind, "__name__", "Faces")
                raise MeshError(f"{what}: expected {name}, found {type(held).__name__}")
        device = self.points.device
        parts = [("cells", self.cells.types.device)]
        if self.faces is not None:
            parts.append(("faces", self.faces.owner.device))
        parts += [(f"region {r.name!r}", r.ids.device) for r in self.regions]
        for what, at in parts:
            need_device(what, at, device, "points")
        self._need_own_faces()
        known: dict[tuple[str, ...], FieldInfo] = {}
        for what, rows in zip(DATA, self._rows(), strict=True):
            given = getattr(self, what)
            batch = torch.Size([] if rows is None else [rows])
            if (
                isinstance(given, TensorDictBase)
                and given.is_locked
                and given.batch_size == batch
                and all(isinstance(x, Tensor) for _, x in leaves(given))
            ):
                continue
            data, texts = freeze(what, given, rows, device)
            object.__setattr__(self, what, data)
            for path, vocabulary in texts.items():
                key = (what, *path)
                known[key] = replace(self.info.field(*key), vocabulary=vocabulary)
        if known:
            object.__setattr__(self, "info", self.info.with_fields(known))

    def _need_own_faces(self) -> None:
        """Refuse what stands on faces where the mesh has none of its own."""
        if self.faces is not None:
            return
        named = [f"region {r.name!r} of faces" for r in self.regions if r.entity == "face"]
        fields = self.face_data
        if isinstance(fields, Mapping | TensorDictBase) and len(list(fields.keys())):
            named.append("face_data")
        if named:
            raise MeshError(
                f"{named[0]}: expected a mesh with faces, found none; give it some first, "
                "mesh.replace(faces=operators.faces(mesh))"
            )

    def _rows(self) -> tuple[int | None, ...]:
        faces = 0 if self.faces is None else len(self.faces)
        return (len(self.points), len(self.cells), faces, None)

    @property
    def n_points(self) -> int:
        """How many points."""
        return len(self.points)

    @property
    def n_cells(self) -> int:
        """How many cells, of every dimension."""
        return len(self.cells)

    @property
    def dim(self) -> int:
        """The highest dimension of a cell; 0 without cells."""
        return self.cells.dim

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.points.device

    def region(self, name: str, entity: str | None = None) -> Region:
        """The region of this name; say the entity where a name has several.

        Raises:
            MeshError: there is none, or several.
        """
        return self.regions.find(name, entity)

    def __repr__(self) -> str:
        d = self.points.shape[1]
        parts = [f"{self.n_points} points in {d}-D", repr(self.cells)]
        for what in DATA:
            names = list(getattr(self, what).keys())
            if names:
                parts.append(f"{what}: {', '.join(map(str, names))}")
        if len(self.regions):
            parts.append(f"regions: {', '.join(self.regions.names)}")
        return f"Mesh({'; '.join(parts)})"

    def replace(self, **parts: Any) -> Mesh:
        """The same mesh with some parts exchanged; `regions` may be any iterable.

        Raises:
            MeshError: the parts contradict each other.
            TypeError: there is no part of that name.
        """
        if "regions" in parts and not isinstance(parts["regions"], Regions):
            parts["regions"] = Regions(parts["regions"])
        return replace(self, **parts)

    def with_data(
        self,
        point: Fields | None = None,
        cell: Fields | None = None,
        face: Fields | None = None,
        global_: Fields | None = None,
    ) -> Mesh:
        """The same mesh with fields of `point`, `cell`, `face` and `global_` added, or exchanged
        where the name exists.

        What `info` knows of a field stays known, but for the texts of codes that are none any
        more. To take a field away, `replace` the whole.
        """
        new: dict[str, Any] = {}
        for what, more in zip(DATA, (point, cell, face, global_), strict=True):
            if more is not None:
                if not isinstance(more, Mapping | TensorDictBase):
                    raise MeshError(f"{what}: expected fields by name, found {type(more).__name__}")
                new[what] = {**dict(getattr(self, what).items()), **dict(more.items())}
        made = replace(self, **new)
        stale = {key: replace(f, vocabulary=None) for key, f in made._uncoded()}
        return replace(made, info=made.info.with_fields(stale)) if stale else made

    def _uncoded(self) -> Iterator[tuple[FieldKey, FieldInfo]]:
        """Fields that `info` calls codes of texts and that are none."""
        for key, known in self.info.fields.items():
            if known.vocabulary is None or key[0] not in DATA:
                continue
            codes = dict(leaves(getattr(self, key[0]))).get(key[1:])
            if codes is not None and not are_codes(codes, len(known.vocabulary)):
                yield key, known

    def to(self, device: Target = None, dtype: torch.dtype | None = None) -> Mesh:
        """Move everything to `device`; cast points and real floating fields to `dtype`, never ids
        or codes. As with tensors, a dtype alone may stand first: `to(torch.float32)`."""
        where, kind = _target(device, dtype)

        def ids(x: Tensor) -> Tensor:
            return x.to(where)

        def values(x: Tensor) -> Tensor:
            return x.to(where, kind if x.is_floating_point() else None)

        return self._each(ids, values)

    def pin_memory(self) -> Mesh:
        """The same mesh in page-locked memory, from which copies to a GPU can overlap work."""
        return self._each(Tensor.pin_memory, Tensor.pin_memory)

    def _each(self, ids: Callable[[Tensor], Tensor], values: Callable[[Tensor], Tensor]) -> Mesh:
        ids = _once(ids)  # polyhedra may share the tensors of the faces
        fields = {
            what: mapped(getattr(self, what), rows, lambda _, x: values(x))
            for what, rows in zip(DATA, self._rows(), strict=True)
        }
        return Mesh(
            points=values(self.points),
            cells=self.cells.apply(ids),
            faces=None if self.faces is None else self.faces.apply(ids),
            regions=Regions(r.apply(ids, values) for r in self.regions),
            info=self.info,
            **fields,
        )

    def select(self, cells: Tensor | Iterable[int]) -> Mesh:
        """The mesh of some cells, renumbered, with everything that belongs to them.

        Args:
            cells: a bool mask [n_cells], or unique ids in the order wanted.

        Unused points go. Fields, regions and faces come along; a face whose owner stays outside
        is turned round, and its oriented values negate. Faces go, counted in the report, when
        the highest dimension falls. A region keeps its name even when nothing of it is left.

        Raises:
            MeshError: ids repeat, are out of range, or the mask has another length.
        """
        from meshkit.selection import select

        return select(self, cells)

    def to_tensordict(self) -> TensorDictBase:
        """One TensorDict of everything: for memory maps, pinned memory and remote calls.

        Tensors are shared. What is no tensor stands as JSON text under "meta"; nothing is
        pickled. `Mesh.from_tensordict` is the inverse.
        """
        from meshkit.view import to_tensordict

        return to_tensordict(self)

    @staticmethod
    def from_tensordict(tensors: TensorDictBase) -> Mesh:
        """The mesh that `to_tensordict` showed.

        Raises:
            MeshError: it is no such TensorDict, or one of a newer major version.
        """
        from meshkit.view import from_tensordict

        return from_tensordict(tensors)


def _target(
    device: Target, dtype: torch.dtype | None
) -> tuple[torch.device | str | int | None, torch.dtype | None]:
    """Where to and as what, of arguments in torch's order, in which a dtype may come alone."""
    if not isinstance(device, torch.dtype):
        return device, dtype
    if dtype is not None:
        raise MeshError(f"to: expected one dtype, found {device} and {dtype}")
    return None, device


def _once(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The change, made once of a tensor that several parts share, so that they still share it."""
    made: dict[int, tuple[Tensor, Tensor]] = {}

    def changed(x: Tensor) -> Tensor:
        if id(x) not in made:
            made[id(x)] = (x, change(x))
        return made[id(x)][1]

    return changed


@dataclass(frozen=True, eq=False)
class DomainMesh:
    """A mesh and the parts of its boundary, each a mesh of its own.

    `boundaries` look like the answer of `operators.boundary`: cell data `parent_cell` and
    `local_face`, point data `parent_point` lead back into the interior.
    """

    interior: Mesh
    boundaries: Mapping[str, Mesh]
    global_data: TensorDictBase

    def to(self, device: Target = None, dtype: torch.dtype | None = None) -> DomainMesh:
        """Each part moved to `device` and cast to `dtype` as `Mesh.to` does."""
        where, kind = _target(device, dtype)

        def values(x: Tensor) -> Tensor:
            return x.to(where, kind if x.is_floating_point() else None)

        return DomainMesh(
            self.interior.to(device, dtype),
            {name: part.to(device, dtype) for name, part in self.boundaries.items()},
            mapped(self.global_data, None, lambda _, x: values(x)),
        )

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} ({m.n_cells} cells)" for name, m in self.boundaries.items())
        return f"DomainMesh({self.interior!r}; boundaries: {parts or 'none'})"
