"""Refusals of meshes that are no surface, with the way to one."""

from __future__ import annotations

from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.mesh import Mesh


def need_surface(what: str, mesh: Mesh) -> None:
    """Refuse meshes whose cells of the highest dimension are no surface.

    Raises:
        MeshError: the message says what was found, and how to come to a surface.
    """
    if mesh.dim != 2:
        raise MeshError(
            f"{what}: expected a surface (mesh.dim 2), found dim {mesh.dim}{_way_to_surface(mesh)}"
        )


def need_surface_cells(what: str, mesh: Mesh) -> None:
    """Refuse meshes of which not one cell is of a surface, so that there would be no answer at all.

    A mesh of no cells has an empty answer.

    Raises:
        MeshError: the message says what was found, and how to come to a surface.
    """
    if mesh.n_cells and not _has_surface_cells(mesh):
        raise MeshError(
            f"{what}: expected surface cells, found none among {mesh.cells!r}"
            f"{_way_to_surface(mesh)}"
        )


def _has_surface_cells(mesh: Mesh) -> bool:
    return any(CELL_TYPES[n].dim == 2 for n in mesh.cells.present if n in CELL_TYPES)


def _way_to_surface(mesh: Mesh) -> str:
    if mesh.dim != 3:
        return ""
    if _has_surface_cells(mesh):
        own = "mesh.select(cells=mesh.cells.dims == 2)"
        return f"; take ops.boundary(mesh), or {own} for its own surface cells"
    return "; take ops.boundary(mesh)"
