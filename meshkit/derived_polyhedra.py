"""Polyhedra whose faces a table already holds: written out a second time only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from meshkit.cells import Polyhedra
from meshkit.memo import Keeping, Memo

Parts = tuple[Tensor, Tensor, Tensor]


class DerivedPolyhedra(Keeping, Polyhedra):
    """Polyhedra that follow from other tensors, such as a mesh's own faces.

    `faces`, `offsets` and `connectivity` are made together when one of them is first asked for,
    and kept while the basis is unchanged. Moving, pickling and pinning take the basis along,
    not what was made of them.

    Args:
        count: how many polyhedra.
        basis: the tensors they follow from.
        make: gives the three tensors of `Polyhedra` for the basis, on its device; a
            function of a module, since it is pickled by its name.
    """

    count: int
    basis: tuple[Tensor, ...]
    make: Callable[..., Parts]

    def __init__(self, count: int, basis: Sequence[Tensor], make: Callable[..., Parts]) -> None:
        given = {"count": count, "basis": tuple(basis), "make": make, "_memo": Memo()}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"DerivedPolyhedra({self.count})"

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """As in `Polyhedra`: the basis."""
        return self.basis

    @property
    def _parts(self) -> Parts:
        def made() -> Parts:
            found = Polyhedra(*self.make(*self.basis))  # which checks them
            return found.faces, found.offsets, found.connectivity

        return self._memo.get("parts", self.basis, made)

    @property
    def faces(self) -> Tensor:
        """As in `Polyhedra`."""
        return self._parts[0]

    @property
    def offsets(self) -> Tensor:
        """As in `Polyhedra`."""
        return self._parts[1]

    @property
    def connectivity(self) -> Tensor:
        """As in `Polyhedra`."""
        return self._parts[2]

    def apply(self, change: Callable[[Tensor], Tensor]) -> DerivedPolyhedra:
        """Each tensor of the basis changed, for example moved to a device."""
        return DerivedPolyhedra(self.count, [change(x) for x in self.basis], self.make)
