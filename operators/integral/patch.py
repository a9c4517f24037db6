"""Faces that something passes through: each a ring, the way it looks, and the cells beside it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.operators.measure.coordinates import plain


@dataclass(frozen=True, eq=False)
class Patch:
    """Faces, sides or surface cells, each a ring that looks along its normal.

    The normal points out of `cell` (into `other`, where there is one); where `flip` holds it is
    turned round.
    """

    offsets: Tensor  # int64 [n + 1]
    connectivity: Tensor  # int64 [..]
    cell: Tensor  # int64 [n]: whose values stand for it
    other: Tensor  # int64 [n]: the cell on the other side; -1 where there is none
    face: Tensor  # int64 [n]: the row of faces(mesh); -1 where it is none
    flip: Tensor  # bool [n]
    across: Tensor | None = None  # [n, 3]: of edges the normal of their plane, of ends the tangent

    def __len__(self) -> int:
        return len(self.cell)

    def compiled(self, *followed: Tensor) -> bool:
        """Whether kernels may work on it: rings on the CPU, and nobody follows points or values."""
        real = not any(x.is_complex() for x in followed)
        return self.across is None and real and all(map(plain, followed))

    @property
    def signs(self) -> Tensor:
        """float64 [n]: -1 where the normal is turned round."""
        return torch.where(self.flip, -1.0, 1.0).double()


def need_faces(patch: Patch) -> None:
    """Refuse a patch with parts that are no faces, where values on faces are asked for.

    Raises:
        MeshError: the message names the first such cell.
    """
    if bool((patch.face < 0).any()):
        cell = int(patch.cell[torch.nonzero(patch.face < 0)[0]])
        raise MeshError(
            f"cell {cell} lies on no face of the mesh, so none of the values on faces is its own; "
            "give values on points or cells"
        )


def joined(a: Patch, b: Patch) -> Patch:
    """Both, the second after the first."""
    if len(b) == 0:
        return a
    if len(a) == 0:
        return b
    across = None
    if a.across is not None and b.across is not None:
        across = torch.cat([a.across, b.across])
    return Patch(
        offsets=torch.cat([a.offsets, b.offsets[1:] + a.offsets[-1]]),
        connectivity=torch.cat([a.connectivity, b.connectivity]),
        cell=torch.cat([a.cell, b.cell]),
        other=torch.cat([a.other, b.other]),
        face=torch.cat([a.face, b.face]),
        flip=torch.cat([a.flip, b.flip]),
        across=across,
    )
