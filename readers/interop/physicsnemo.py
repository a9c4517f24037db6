"""NVIDIA PhysicsNeMo's simplicial meshes, in memory, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import TensorDict, TensorDictBase

from meshkit.celltypes import cell_type
from meshkit.errors import MeshError, MissingPackage
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.accounting import keep_all, lose_faces, lose_fields, lose_info
from meshkit.readers.interop.arrays import (
    lose_other_regions,
    need_mesh,
    region_masks,
    regions_of_masks,
)
from meshkit.report import Ledger

if TYPE_CHECKING:
    import physicsnemo.mesh

_SIMPLICES: Final = {1: "vertex", 2: "line", 3: "triangle", 4: "tetra"}


def from_physicsnemo(mesh: physicsnemo.mesh.Mesh) -> Mesh:
    """The mesh of a `physicsnemo.mesh.Mesh`: points, simplices and the three kinds of data.

    Tensors are shared. A mesh without cells (a point cloud) stays one. Boolean fields named
    "region:NAME" become regions, as `to_physicsnemo` writes them; PhysicsNeMo's cache is left.

    Raises:
        MeshError: it is no such mesh, its simplices have more than four points, its arrays
            contradict each other, or a cell names a point that is not there.
    """
    shape: Sequence[int] = getattr(getattr(mesh, "cells", None), "shape", ())
    if len(shape) != 2:
        kind = type(mesh).__name__
        raise MeshError(f"from_physicsnemo: expected a physicsnemo.mesh.Mesh, found {kind}")
    k = shape[1]
    if k not in _SIMPLICES:
        raise MeshError(f"from_physicsnemo: simplices of {k} points; expected 1 to 4")
    point_data, of_points = regions_of_masks(dict(mesh.point_data.items()), "point")
    cell_data, of_cells = regions_of_masks(dict(mesh.cell_data.items()), "cell")
    made = make_mesh(
        mesh.points,
        mesh.cells if len(mesh.cells) else None,
        types=_SIMPLICES[k] if len(mesh.cells) else None,
        point_data=point_data,
        cell_data=cell_data if len(mesh.cells) else None,
        global_data=dict(mesh.global_data.items()),
        regions=[*of_points, *of_cells],
    )
    need_structure(made)
    ledger = Ledger()
    keep_all(made, ledger)
    return made.replace(info=made.info.noting(ledger.report()))


def to_physicsnemo(mesh: Mesh, ledger: Ledger | None = None) -> Any:
    """A `physicsnemo.mesh.Mesh` of a mesh of simplices of one kind; tensors are shared.

    Cell ids become int64, as its operators want them. Regions of points and cells become boolean
    fields named "region:NAME". It has no place for units and other info, for faces, nor for
    regions of sides, edges and faces: they are counted in the ledger.

    Args:
        mesh: vertices, lines, triangles or tetrahedra, or no cells at all.
        ledger: where what became of everything is written, if anybody asks.

    Raises:
        MeshError: it is no mesh, ids name what is not there, or its cells are no simplices or of
            several kinds.
        MissingPackage: physicsnemo is not installed.
    """
    need_mesh("to_physicsnemo", mesh)
    need_structure(mesh)
    ledger = ledger or Ledger()
    number = mesh.cells.uniform
    allowed = {cell_type(name).number for name in _SIMPLICES.values()}
    if mesh.n_cells and number not in allowed:
        hint = (
            "select those of one kind first"
            if set(mesh.cells.present) <= allowed
            else "take operators.simplices(mesh) first"
        )
        raise MeshError(
            f"to_physicsnemo: expected simplices of one kind, found {mesh.cells!r}; {hint}"
        )
    try:
        from physicsnemo.mesh import Mesh as Simplices
    except ImportError as why:
        raise MissingPackage("to_physicsnemo", "meshkit[physicsnemo]") from why
    for what, name, count in (
        ("points", "", mesh.n_points),
        *(("cells", name, count) for name, count in mesh.cells.counts.items()),
    ):
        ledger.kept(what, name, count)
    reason = "PhysicsNeMo has no place for it"
    lose_faces(mesh, ledger, reason)
    lose_fields(mesh, ledger, reason, ["face_data"])
    lose_info(mesh, ledger, reason)
    lose_other_regions(mesh, ledger, ("point", "cell"), "PhysicsNeMo has no regions")
    return Simplices(
        points=mesh.points,
        cells=mesh.cells.dense.long() if mesh.n_cells else None,
        point_data=_data(mesh.point_data, region_masks(mesh, "point", ledger), [mesh.n_points]),
        cell_data=_data(mesh.cell_data, region_masks(mesh, "cell", ledger), [mesh.n_cells]),
        global_data=_data(mesh.global_data, {}, []),
    )


def _data(fields: TensorDictBase, masks: dict[str, torch.Tensor], rows: list[int]) -> TensorDict:
    """An unlocked copy of the names, sharing the tensors; PhysicsNeMo writes into its own."""
    own = fields.clone(recurse=False)
    own.update(masks)
    return TensorDict(dict(own.items()), batch_size=rows, device=own.device)
