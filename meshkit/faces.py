"""Faces with an owner and a neighbour, as finite-volume codes keep them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import need_ids, need_offsets
from meshkit.devices import need_device
from meshkit.errors import MeshError
from meshkit.memo import Keeping, Memo

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Faces(Keeping):
    """The faces of the cells of the highest dimension; on surfaces edges, on curves end points.

    Face i is the ring connectivity[offsets[i]:offsets[i + 1]]. Its area vector points from
    owner[i] to neighbour[i], and outward where neighbour[i] is -1 (the boundary). A face that
    more than two cells share has one row per cell, each with neighbour -1.

    A mesh holds Faces only to keep its source's own face order and face data; `operators.faces`
    gives them for any mesh.
    """

    offsets: Tensor  # int [n_faces + 1]
    connectivity: Tensor  # int [..]: point ids
    owner: Tensor  # int [n_faces]: cell ids
    neighbour: Tensor  # int [n_faces]: cell ids, -1 on the boundary
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def __post_init__(self) -> None:
        need_ids("faces.connectivity", self.connectivity)
        need_offsets("faces.offsets", self.offsets, self.connectivity)
        for name in ("owner", "neighbour"):
            cells = getattr(self, name)
            need_ids(f"faces.{name}", cells)
            if len(cells) != len(self):
                raise MeshError(f"faces.{name}: expected {len(self)} cells, found {len(cells)}")
            where = self.connectivity.device
            need_device(f"faces.{name}", cells.device, where, "faces.connectivity")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Faces({len(self)})"

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that an answer about these faces follows from."""
        return (self.offsets, self.connectivity, self.owner, self.neighbour)

    def memo(self, key: Hashable, more: Sequence[Tensor], make: Callable[[], T]) -> T:
        """What `make` gives, an answer that follows from the faces and `more`: worked out once
        while they stand, and found again by its `key`."""
        return self._memo.get(key, (*self.sources, *more), make)

    @property
    def boundary(self) -> Tensor:
        """int64: the faces without a neighbour, ascending."""
        return self.memo("boundary", (), lambda: torch.nonzero(self.neighbour < 0).squeeze(1))

    def apply(self, change: Callable[[Tensor], Tensor]) -> Faces:
        """Each tensor changed, for example moved to a device."""
        return Faces(*(change(x) for x in self.sources))

    def flipped(self, which: Tensor) -> Faces:
        """The same faces with the ring of those in the mask reversed, first point kept.

        Owner and neighbour stay: the caller swaps them, and negates oriented values.
        """
        row = csr.row_of_each(self.offsets)
        place = csr.place_of_each(self.offsets)
        size = csr.lengths_of(self.offsets).long()[row]
        back = torch.where(place > 0, size - place, place)
        place = torch.where(which[row], back, place)
        ring = self.connectivity[self.offsets[:-1].long()[row] + place]
        return Faces(self.offsets, ring, self.owner, self.neighbour)
