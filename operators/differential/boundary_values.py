"""Values on boundary faces: as they are given, and as the operators take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.boundary import boundary_named
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.differential.lsq import Extra
from meshkit.operators.differential.samples import in_double
from meshkit.operators.measure.face_geometry import face_centroids
from meshkit.operators.values import need_tensor

BoundaryValues = Tensor | Mapping[str, "Tensor | float"]
"""[n_boundary, ...] in the order of the faces without neighbour, NaN = none; or by region."""


@dataclass(frozen=True, eq=False)
class BoundaryFaces:
    """How many boundary faces `faces(mesh)` has, and the regions that name some of them."""

    n: int
    dtype: torch.dtype  # of the points
    device: torch.device
    regions: Mapping[str, tuple[_Named, ...]]  # several where entities share a name

    def __repr__(self) -> str:
        return f"BoundaryFaces({self.n}; regions: {', '.join(self.regions) or 'none'})"

    def values(self, what: str, given: BoundaryValues, like: Tensor) -> Tensor:
        """[n, ...] with the further axes of the field `like`, NaN where there is no value.

        Raises:
            MeshError: a shape does not fit, or a region does not lie on the boundary.
        """
        shape = tuple(like.shape[1:])
        floating = like.is_floating_point() or like.is_complex()
        dtype = torch.promote_types(like.dtype if floating else self.dtype, torch.float32)
        if isinstance(given, Tensor):
            _need_values(f"{what}: boundary values", given, like)
            if given.shape != (self.n, *shape):
                raise MeshError(
                    f"{what}: expected boundary values {[self.n, *shape]}, one row for each "
                    f"boundary face, found {brief(given)}"
                )
            return given.to(dtype)
        if not isinstance(given, Mapping):
            raise MeshError(
                f"{what}: expected boundary values as a tensor or by region, found {brief(given)}"
            )
        out = torch.full((self.n, *shape), torch.nan, dtype=dtype, device=self.device)
        for name, value in given.items():
            region = self._region(what, name)
            size = (region.size, *shape)
            some = _of_rows(f"{what}: region {name!r}", value, size, dtype, like).to(dtype)
            some = some[region.rows] if some.ndim == 1 + len(shape) else some
            out = out.index_put((region.faces,), some.expand(len(region.faces), *shape))
        return out

    def known(self, what: str, given: Tensor | Iterable[str]) -> Tensor:
        """int64 [k], ascending: the boundary faces of a mask [n], or of regions by name.

        Raises:
            MeshError: the mask has another length, or a region does not lie on the boundary.
        """
        if isinstance(given, Tensor):
            if given.dtype != torch.bool or given.shape != (self.n,):
                raise MeshError(
                    f"{what}: expected bool [{self.n}], one for each boundary face, or names of "
                    f"regions, found {brief(given)}"
                )
            return torch.nonzero(given).squeeze(1)
        names = [given] if isinstance(given, str) else given
        if isinstance(names, Mapping):
            raise MeshError(
                f"{what}: expected names of regions, found values; these come with each field, "
                "apply(values, {name: value})"
            )
        if not isinstance(names, Iterable):
            raise MeshError(
                f"{what}: expected a mask of the boundary faces or names of regions, "
                f"found {brief(given)}"
            )
        mask = torch.zeros(self.n, dtype=torch.bool, device=self.device)
        for name in names:
            mask[self._region(what, name).faces] = True
        return torch.nonzero(mask).squeeze(1)

    def _region(self, what: str, name: str) -> _Named:
        found = self.regions.get(name, ())
        if len(found) == 1 and found[0].usable:
            return found[0]
        problem = "is no region of sides, faces or cells"
        if len(found) > 1:
            problem = "has several entities"
        elif found:
            size, away = found[0].size, found[0].away
            problem = f"is a region of {size} {found[0].entity}s, of which " + (
                f"{away} lie on no boundary face" if away < size else "none lies on a boundary face"
            )
        usable = sorted(repr(n) for n, each in self.regions.items() if any(r.usable for r in each))
        regions = ", ".join(usable) or "none"
        raise MeshError(
            f"{what}: {name!r} {problem}; regions that lie on boundary faces: {regions}"
        )


@dataclass(frozen=True, eq=False)
class _Named:
    """The boundary faces of a region."""

    faces: Tensor  # int64 [m]: rows of the boundary
    rows: Tensor  # int64 [m]: the rows of the region that name them
    size: int  # how many rows the region has
    entity: str
    away: int  # how many of its rows name no boundary face

    @property
    def usable(self) -> bool:
        """Whether it names boundary faces and nothing else; or nothing, as in a part of a mesh."""
        return self.away == 0


def boundary_faces(mesh: Mesh) -> BoundaryFaces:
    """Those of a mesh."""
    regions: dict[str, tuple[_Named, ...]] = {}
    for (name, entity), (faces, rows) in boundary_named(mesh).items():
        size = len(mesh.region(name, entity))
        more = _Named(faces, rows, size, entity, size - len(torch.unique(rows)))
        regions[name] = (*regions.get(name, ()), more)
    n = len(face_table(mesh).faces.boundary)
    return BoundaryFaces(n, mesh.points.dtype, mesh.device, regions)


def need_known(what: str, faces: BoundaryFaces, known: Tensor, names: list[str]) -> None:
    """Refuse regions, of the boundary all, that do not name these faces, int64 [k].

    Raises:
        MeshError: a region names none of them, or one of them is in no region.
    """
    for name in names:
        of_region = faces.known(what, name)
        if len(of_region) and not bool(torch.isin(of_region, known).any()):
            raise MeshError(
                f"{what}: the operator was prepared without values on {name!r}; "
                "name it when you make it"
            )
    named = torch.isin(known, faces.known(what, names))
    if missing := len(named) - int(named.sum()):
        raise MeshError(
            f"{what}: {missing} boundary faces that the operator was prepared for are in "
            f"none of the regions given, {', '.join(map(repr, names)) or 'none'}"
        )


def _of_rows(
    what: str, value: object, shape: tuple[int, ...], dtype: torch.dtype, like: Tensor
) -> Tensor:
    """One value for all rows, or one for each of them: of this shape, for values of this dtype.

    Raises:
        MeshError: it is neither; the message begins with `what`.
    """
    try:
        if isinstance(value, Tensor):
            some = value
        elif isinstance(value, int | float | complex):
            wide = None if isinstance(value, complex) and not dtype.is_complex else dtype
            some = torch.full((), value, dtype=wide, device=like.device)  # waits for no copy
        else:  # numpy takes numbers as float64
            some = torch.as_tensor(np.asarray(value), device=like.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MeshError(f"{what}: expected numbers, found {brief(value)}") from error
    _need_values(what, some, like)
    if some.shape not in ((), shape[1:], shape):
        one = f"one {list(shape[1:])}" if shape[1:] else "a single value"
        raise MeshError(f"{what}: expected values {list(shape)}, or {one}, found {brief(some)}")
    return some


def _need_values(what: str, given: Tensor, like: Tensor) -> None:
    """Refuse what is no dense tensor beside the field, and complex values of a real one."""
    need_tensor(what, given, like.device)
    if given.is_complex() and not like.is_complex():
        raise MeshError(f"{what}: expected real values as the field's, found {brief(given)}")


def extra_values(mesh: Mesh, on: str, known: Tensor | None) -> Extra | None:
    """The known boundary values as neighbours of the cells that own the faces, or of the faces'
    points.
    """
    if known is None:
        return None
    mesh = in_double(mesh)
    faces = face_table(mesh).faces
    rows = faces.boundary[known]
    value = torch.arange(len(known), device=known.device)
    positions = face_centroids(mesh)[rows]
    if on == "cells":
        return Extra(positions, faces.owner[rows].long(), value)
    offsets, places = csr.take_rows(faces.offsets, rows)
    return Extra(positions, faces.connectivity[places].long(), csr.row_of_each(offsets))
