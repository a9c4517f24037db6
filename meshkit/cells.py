"""Which points make which cell: any VTK cell types, mixed, in the source's order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from meshkit import csr
from meshkit.celltypes import CELL_TYPES, POLYHEDRON, cell_type, dims_by_number
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.memo import Keeping, Memo

T = TypeVar("T")


def brief(x: Any) -> str:
    """How a message names a tensor: dtype and shape."""
    if isinstance(x, Tensor):
        return f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}"
    return type(x).__name__


def need_ids(what: str, x: Tensor) -> None:
    """Refuse what is not a flat int32 or int64 tensor."""
    if not isinstance(x, Tensor) or x.ndim != 1 or x.dtype not in (torch.int32, torch.int64):
        raise MeshError(f"{what}: expected int32 or int64 [n], found {brief(x)}")


def need_offsets(what: str, offsets: Tensor, values: Tensor) -> None:
    """Refuse offsets that do not span the values (ends are looked at on the CPU only)."""
    need_ids(what, offsets)
    if len(offsets) == 0:
        raise MeshError(f"{what}: expected n + 1 offsets, found none")
    need_device(what, offsets.device, values.device, "what they point into")
    if offsets.device.type == "cpu":
        first, last = int(offsets[0]), int(offsets[-1])
        if first != 0 or last != len(values):
            raise MeshError(
                f"{what}: expected to run from 0 to {len(values)}, found {first} to {last}"
            )


@dataclass(frozen=True, eq=False)
class Polyhedra:
    """The faces of the type-42 cells, in the order of those cells.

    Face j of polyhedron i is row faces[i] + j of (offsets, connectivity): its points as a ring
    whose normal points out of the cell. Each polyhedron lists all its faces, so a face between
    two polyhedra stands here twice, once a side.
    """

    faces: Tensor  # int [n_polyhedra + 1]: where each polyhedron's faces start
    offsets: Tensor  # int [n_their_faces + 1]: where each face's points start
    connectivity: Tensor  # int [..]: point ids

    def __post_init__(self) -> None:
        need_ids("polyhedra.connectivity", self.connectivity)
        need_offsets("polyhedra.offsets", self.offsets, self.connectivity)
        need_offsets("polyhedra.faces", self.faces, self.offsets[1:])

    def __len__(self) -> int:
        return len(self.faces) - 1

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that say which polyhedra these are."""
        return (self.faces, self.offsets, self.connectivity)

    def take(self, which: Tensor) -> Polyhedra:
        """The polyhedra at these places, in that order; points keep their ids."""
        faces, rows = csr.take_rows(self.faces, which)
        offsets, places = csr.take_rows(self.offsets, rows)
        return Polyhedra(faces, offsets, self.connectivity[places])

    def apply(self, change: Callable[[Tensor], Tensor]) -> Polyhedra:
        """Each tensor changed, for example moved to a device."""
        return Polyhedra(change(self.faces), change(self.offsets), change(self.connectivity))


@dataclass(frozen=True)
class Block:
    """The cells of one type and one size."""

    type: int
    ids: Tensor  # int64 [m]: which cells, ascending
    connectivity: Tensor  # int [m, size]


@dataclass(frozen=True, eq=False)
class Cells(Keeping):
    """Cells of any VTK types, mixed as the source mixed them.

    The points of cell i are connectivity[offsets[i]:offsets[i + 1]], in VTK's order for
    types[i]. For a polyhedron they are its distinct points, and `polyhedra` holds its faces.
    Ids are int32 or int64. Values are checked by `meshkit.check`, shapes and dtypes here.

    Writing into these tensors in place is undefined; make a new mesh instead.
    """

    types: Tensor  # uint8 [n_cells]: VTK cell type numbers, ours from 200 up
    offsets: Tensor  # int [n_cells + 1]
    connectivity: Tensor  # int [..]
    polyhedra: Polyhedra | None = None  # the faces of the type-42 cells
    degrees: Tensor | None = None  # uint8 [n_cells, 3]: of Lagrange and Bezier cells, else 0
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def __post_init__(self) -> None:
        types = self.types
        if not isinstance(types, Tensor) or types.ndim != 1 or types.dtype != torch.uint8:
            raise MeshError(f"cells.types: expected uint8 [n_cells], found {brief(types)}")
        need_ids("cells.connectivity", self.connectivity)
        need_offsets("cells.offsets", self.offsets, self.connectivity)
        if len(self.offsets) != len(types) + 1:
            raise MeshError(
                f"cells.offsets: expected {len(types) + 1} for {len(types)} types, "
                f"found {len(self.offsets)}"
            )
        need_device("cells.types", types.device, self.connectivity.device, "cells.connectivity")
        if self.degrees is not None and tuple(self.degrees.shape) != (len(types), 3):
            raise MeshError(
                f"cells.degrees: expected uint8 [{len(types)}, 3], found {brief(self.degrees)}"
            )

    @classmethod
    def of(cls, type: int | str, connectivity: Tensor) -> Cells:
        """Cells of one type; `connectivity` is a dense table [n, k].

        >>> Cells.of("line", torch.tensor([[0, 1], [1, 2]])).offsets.tolist()
        [0, 2, 4]

        Raises:
            MeshError: no table, or k does not fit the type.
        """
        row = cell_type(type)
        if connectivity.ndim != 2:
            raise MeshError(f"cells: expected [n, k], found {brief(connectivity)}")
        n, k = connectivity.shape
        if row.size is not None and k != row.size and n:
            raise MeshError(f"cells: a {row.name} has {row.size} points, found rows of {k}")
        offsets = torch.arange(n + 1, device=connectivity.device, dtype=connectivity.dtype) * k
        types = torch.full((n,), row.number, dtype=torch.uint8, device=connectivity.device)
        return cls(types, offsets, connectivity.reshape(-1))

    @classmethod
    def none(cls, like: Tensor) -> Cells:
        """No cells at all, on the device of `like`."""
        ids = torch.zeros(0, dtype=torch.int64, device=like.device)
        return cls(ids.to(torch.uint8), ids.new_zeros(1), ids)

    def __len__(self) -> int:
        return len(self.types)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts.items())
        return f"Cells({counts or 'none'})"

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that topology follows from."""
        more = () if self.polyhedra is None else self.polyhedra.sources
        return (self.types, self.offsets, self.connectivity, *more)

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, an answer that follows from the cells alone: worked out once while
        they are unchanged, and found again by its `key`."""
        return self._memo.get(key, self.sources, make)

    @property
    def dims(self) -> Tensor:
        """uint8 [n_cells]: the dimension of each cell; 255 where the type is unknown."""
        return self.memo("dims", lambda: dims_by_number(self.types.device)[self.types.int()])

    @property
    def dim(self) -> int:
        """The highest dimension of a cell; 0 without cells."""

        def highest() -> int:
            known = [CELL_TYPES[t].dim for t in self.present if t in CELL_TYPES]
            return max(known, default=0)

        return self.memo("dim", highest)

    @property
    def present(self) -> tuple[int, ...]:
        """The type numbers that occur, ascending."""
        return tuple(self._histogram)

    @property
    def _histogram(self) -> dict[int, int]:
        """How many cells of each type number, ascending."""

        def count() -> dict[int, int]:
            if len(self) == 0:
                return {}
            low, high = _range(self.types)
            if low == high:
                return {low: len(self)}
            numbers = torch.bincount(self.types.int()).tolist()
            return {number: n for number, n in enumerate(numbers) if n}

        return self.memo("histogram", count)

    @property
    def counts(self) -> dict[str, int]:
        """How many cells of each type, by name; an unknown type by its number."""
        return {
            CELL_TYPES[t].name if t in CELL_TYPES else str(t): n for t, n in self._histogram.items()
        }

    @property
    def sizes(self) -> Tensor:
        """int [n_cells]: how many points each cell lists."""
        return csr.lengths_of(self.offsets)

    @property
    def uniform(self) -> int | None:
        """The one type of all cells, or None (mixed, or no cells)."""
        return self.present[0] if len(self.present) == 1 else None

    @property
    def dense(self) -> Tensor:
        """The connectivity as a table [n_cells, k], a view without a copy.

        Raises:
            MeshError: cells differ in type or size; `blocks` takes them apart.
        """
        blocks = self.blocks
        if len(blocks) > 1:
            raise MeshError(f"cells are not uniform ({self!r}); use cells.blocks")
        return blocks[0].connectivity if blocks else self.connectivity.reshape(0, 0)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The cells by type and size, each block a dense table; ids ascend within a block."""
        return self.memo("blocks", lambda: tuple(self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        n = len(self)
        if n == 0:
            return
        sizes = self.sizes
        low, high = (int(x) for x in torch.aminmax(sizes))
        if low < 0:
            raise MeshError("cells.offsets: expected to ascend, found a negative size")
        if self.uniform is not None and low == high:
            ids = torch.arange(n, device=sizes.device)
            yield Block(self.uniform, ids, self.connectivity.view(n, high))
            return
        key = self.types.long() * (high + 1) + sizes
        for k in torch.unique(key).tolist():
            ids = torch.nonzero(key == k).squeeze(1)
            type, size = divmod(k, high + 1)
            places = self.offsets[:-1][ids].long()[:, None]
            places = places + torch.arange(size, device=ids.device)
            yield Block(type, ids, self.connectivity[places])

    def block(self, type: int | str) -> tuple[Tensor, Tensor]:
        """The cells of one type: their ids int64 [m] and their points [m, k].

        Raises:
            MeshError: the type is unknown, or its cells differ in size (polygons).
        """
        number = cell_type(type).number
        found = [b for b in self.blocks if b.type == number]
        if len(found) > 1:
            raise MeshError(f"{cell_type(type).name} cells differ in size; use cells.blocks")
        if not found:
            k = cell_type(type).size or 0
            return self.offsets.new_zeros(0).long(), self.connectivity[:0].reshape(0, k)
        return found[0].ids, found[0].connectivity

    @property
    def id_range(self) -> tuple[int, int]:
        """The least and the greatest point id used, by faces too; (0, -1) if none."""

        def ends() -> tuple[int, int]:
            ids = [self.connectivity]
            if self.polyhedra is not None:
                ids.append(self.polyhedra.connectivity)
            pairs = [torch.aminmax(x) for x in ids if len(x)]
            if not pairs:
                return (0, -1)
            return min(int(p.min) for p in pairs), max(int(p.max) for p in pairs)

        return self.memo("id_range", ends)

    @property
    def polyhedron_ids(self) -> Tensor:
        """int64 [n_polyhedra]: the cell of each row of `polyhedra`."""
        return self.memo("polyhedron_ids", lambda: torch.nonzero(self.types == POLYHEDRON)[:, 0])

    def take(self, ids: Tensor) -> Cells:
        """The cells at these ids, in that order; points keep their ids."""
        types, polyhedra = self.types[ids], self.polyhedra
        if self.uniform is not None and polyhedra is None and len(self.blocks) == 1:
            table = self.blocks[0].connectivity[ids.long()]
            ends = torch.arange(len(ids) + 1, dtype=self.offsets.dtype, device=ids.device)
            offsets, connectivity = ends * table.shape[1], table.reshape(-1)
        else:
            offsets, places = csr.take_rows(self.offsets, ids)
            connectivity = self.connectivity[places]
        if polyhedra is not None:
            order = torch.cumsum((self.types == POLYHEDRON).long(), 0) - 1
            polyhedra = polyhedra.take(order[ids[types == POLYHEDRON]])
            polyhedra = polyhedra if len(polyhedra) else None
        degrees = None if self.degrees is None else self.degrees[ids]
        return Cells(types, offsets, connectivity, polyhedra, degrees)

    def apply(self, change: Callable[[Tensor], Tensor]) -> Cells:
        """Each tensor changed, for example moved to a device."""
        return Cells(
            change(self.types),
            change(self.offsets),
            change(self.connectivity),
            None if self.polyhedra is None else self.polyhedra.apply(change),
            None if self.degrees is None else change(self.degrees),
        )

    def renumbered(self, new: Tensor) -> Cells:
        """The same cells with point id i replaced by new[i], in this connectivity's dtype."""
        dtype = self.connectivity.dtype
        polyhedra = self.polyhedra
        if polyhedra is not None:
            ids = new[polyhedra.connectivity].to(polyhedra.connectivity.dtype)
            polyhedra = Polyhedra(polyhedra.faces, polyhedra.offsets, ids)
        ids = new[self.connectivity].to(dtype)
        return Cells(self.types, self.offsets, ids, polyhedra, self.degrees)


def _range(types: Tensor) -> tuple[int, int]:
    """The least and the greatest."""
    if types.device.type == "cpu":  # torch would wake its threads, which costs more than the pass
        values = types.numpy()
        return int(values.min()), int(values.max())
    low, high = torch.aminmax(types)
    return int(low), int(high)
