"""Regions as codes on what is drawn: which region a face, a cell, a line or a dot shows."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.mesh import Mesh
from meshkit.operators.adjacency.attached import attached_faces
from meshkit.operators.adjacency.boundary import boundary_named
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.region_ids import need_region_ids
from meshkit.pictures.bodies import Shades
from meshkit.pictures.facets import Facets
from meshkit.regions import Region

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]


def region_shades(mesh: Mesh, code: dict[str, int]) -> Shades:
    """For each thing that is drawn the code of the region it shows; NaN for none.

    On the skin of solids regions of sides, of faces and of cells that lie on it come before
    those of the solids behind it; of several the smallest shows. Regions of the sides of
    surfaces and of edges are drawn as curves, regions of points as dots.

    Args:
        code: of each name; those that are missing are added. Regions of one name show as one.

    Raises:
        MeshError: a region names what the mesh does not have.
    """
    regions = sorted(mesh.regions, key=len, reverse=True)  # the last one written shows
    need_region_ids(mesh)
    for name in mesh.regions.names:
        code.setdefault(name, len(code))
    cell = np.full(mesh.n_cells, np.nan)
    marks = np.zeros(mesh.n_cells, np.bool_)
    for region in regions:
        if region.entity == "cell":
            ids = region.ids.long().numpy()
            cell[ids] = code[region.name]
            marks[ids] = True
    marks &= (mesh.cells.dims.numpy() < mesh.dim) & ~_on_skin(mesh)
    named = boundary_named(mesh) if mesh.dim else {}
    skin = None
    extra: list[tuple[Literal["curve", "mark"], Facets, Reals]] = []
    if mesh.dim == 3:
        skin = _skin(mesh, regions, code, cell, named)
    for region in regions:
        shade = float(code[region.name])
        if region.entity == "edge":
            lines = Facets(
                np.full(len(region), 3, np.uint8),
                np.arange(len(region) + 1, dtype=np.int64) * 2,
                region.ids.long().reshape(-1).numpy(),
                np.arange(len(region), dtype=np.int64),
            )
            extra.append(("curve", lines, np.full(len(region), shade)))
        elif region.entity == "point":
            extra.append(("mark", _dots(region.ids.long().numpy()), np.full(len(region), shade)))
        elif region.entity in ("side", "face") and mesh.dim in (1, 2):
            rows = named[region.name, region.entity][0]
            facets = _boundary_facets(mesh, rows.numpy())
            kind: Literal["curve", "mark"] = "curve" if mesh.dim == 2 else "mark"
            extra.append((kind, facets, np.full(len(facets), shade)))
    return Shades(cell=cell, skin=skin, marks=marks, extra=tuple(extra))


def _on_skin(mesh: Mesh) -> NDArray[np.bool_]:
    """Which surface cells lie on the skin of solids; the skin shows their regions."""
    if mesh.dim != 3:
        return np.zeros(mesh.n_cells, np.bool_)
    neighbour = face_table(mesh).faces.neighbour.long()
    attached = attached_faces(mesh)
    if not len(neighbour):
        return np.zeros(mesh.n_cells, np.bool_)
    outside = (attached >= 0) & (neighbour[attached.clamp(min=0)] < 0)
    found: NDArray[np.bool_] = outside.numpy()
    return found


def _skin(
    mesh: Mesh,
    regions: list[Region],
    code: dict[str, int],
    cell: Reals,
    named: dict[tuple[str, str], tuple[torch.Tensor, torch.Tensor]],
) -> Reals:
    """A code for each boundary row."""
    faces = face_table(mesh).faces
    skin: Reals = cell[faces.owner[faces.boundary].long().numpy()]
    for region in regions:
        if region.entity in ("side", "face", "cell"):
            rows, _ = named[region.name, region.entity]
            skin[rows.numpy()] = code[region.name]
    return skin


def _boundary_facets(mesh: Mesh, rows: Ids) -> Facets:
    """Boundary faces of surfaces as lines, of curves as points."""
    faces = face_table(mesh).faces
    chosen = faces.boundary[torch.from_numpy(rows)]
    starts = faces.offsets[chosen].long().numpy()
    size = mesh.dim
    ids = faces.connectivity.long().numpy()[starts[:, None] + np.arange(size)]
    n = len(rows)
    return Facets(
        np.full(n, 3 if size == 2 else 1, np.uint8),
        np.arange(n + 1, dtype=np.int64) * size,
        ids.reshape(-1),
        np.arange(n, dtype=np.int64),
    )


def _dots(ids: Ids) -> Facets:
    n = len(ids)
    ends = np.arange(n + 1, dtype=np.int64)
    return Facets(np.full(n, 1, np.uint8), ends, ids, ends[:-1])
