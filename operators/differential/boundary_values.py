"""Values on boundary faces: as they are given, and as the operators take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from meshkit import csr
from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.boundary import Rows, boundary_named
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.differential.lsq import Extra
from meshkit.operators.differential.samples import in_double
from meshkit.operators.measure.face_geometry import face_centroids
from meshkit.operators.values import need_tensor

BoundaryValues = Tensor | Mapping[str, "Tensor | float"]
"""[n_boundary, ...] in the order of the faces without neighbour, NaN = none; or by region."""


def n_boundary(mesh: Mesh) -> int:
    """How many boundary faces `faces(mesh)` has."""
    return len(face_table(mesh).faces.boundary)


def boundary_values(what: str, mesh: Mesh, given: BoundaryValues, like: Tensor) -> Tensor:
    """[n_boundary, ...] with the further axes of the field `like`, NaN where there is no value.

    Raises:
        MeshError: a shape does not fit, or a region is none of the boundary.
    """
    n, shape = n_boundary(mesh), tuple(like.shape[1:])
    floating = like.is_floating_point() or like.is_complex()
    dtype = torch.promote_types(like.dtype if floating else mesh.points.dtype, torch.float32)
    if isinstance(given, Tensor):
        _need_values(f"{what}: boundary values", given, like)
        if given.shape != (n, *shape):
            raise MeshError(
                f"{what}: expected boundary values {[n, *shape]}, one row for each boundary face, "
                f"found {brief(given)}"
            )
        return given.to(dtype)
    if not isinstance(given, Mapping):
        raise MeshError(
            f"{what}: expected boundary values as a tensor or by region, found {brief(given)}"
        )
    out = torch.full((n, *shape), torch.nan, dtype=dtype, device=mesh.device)
    for name, value in given.items():
        faces, rows, size = _of_region(what, mesh, name)
        some = _of_rows(f"{what}: region {name!r}", value, (size, *shape), like).to(dtype)
        some = some[rows] if some.ndim == 1 + len(shape) else some
        out = out.index_put((faces,), some.expand(len(faces), *shape))
    return out


def _of_rows(what: str, value: object, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """One value for all rows, or one for each of them: of this shape.

    Raises:
        MeshError: it is neither; the message begins with `what`.
    """
    try:
        some = torch.as_tensor(value, device=None if isinstance(value, Tensor) else like.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MeshError(f"{what}: expected numbers, found {brief(value)}") from error
    _need_values(what, some, like)
    if some.shape not in ((), shape[1:], shape):
        raise MeshError(
            f"{what}: expected values {list(shape)}, or one of {list(shape[1:])}, "
            f"found {brief(some)}"
        )
    return some


def _need_values(what: str, given: Tensor, like: Tensor) -> None:
    """Refuse what is no dense tensor beside the field, and complex values of a real one."""
    need_tensor(what, given, like.device)
    if given.is_complex() and not like.is_complex():
        raise MeshError(f"{what}: expected real values as the field's, found {brief(given)}")


def known_faces(what: str, mesh: Mesh, given: Tensor | Iterable[str]) -> Tensor:
    """int64 [k], ascending: the boundary faces of a mask [n_boundary], or of regions by name.

    Raises:
        MeshError: the mask has another length, or a region is none of the boundary.
    """
    n = n_boundary(mesh)
    if isinstance(given, Tensor):
        if given.dtype != torch.bool or given.shape != (n,):
            raise MeshError(
                f"{what}: expected bool [{n}], one for each boundary face, or names of regions, "
                f"found {brief(given)}"
            )
        return torch.nonzero(given).squeeze(1)
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable):
        raise MeshError(
            f"{what}: expected a mask of the boundary faces or names of regions, "
            f"found {brief(given)}"
        )
    mask = torch.zeros(n, dtype=torch.bool, device=mesh.device)
    for name in names:
        mask[_of_region(what, mesh, name)[0]] = True
    return torch.nonzero(mask).squeeze(1)


def _of_region(what: str, mesh: Mesh, name: str) -> tuple[Tensor, Tensor, int]:
    """Rows of the boundary, the rows of the region that name them, and the region's length."""
    named = boundary_named(mesh)
    found: list[tuple[str, Rows]] = [(e, rows) for (n, e), rows in named.items() if n == name]
    if len(found) != 1:
        regions = ", ".join(sorted({repr(n) for n, _ in named})) or "none"
        problem = "is no region of sides, faces or cells" if not found else "has several entities"
        raise MeshError(f"{what}: {name!r} {problem}; regions that lie on faces: {regions}")
    entity, (faces, rows) = found[0]
    return faces, rows, len(mesh.region(name, entity))


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
