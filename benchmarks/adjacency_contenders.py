"""What answers the questions of the adjacency benchmark: meshkit, numpy and scipy, torch, VTK and
physicsnemo, each from ids of 64 bits.

A contender lives in a process of its own; so this file imports only what all of them need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from meshkit import Mesh, operators as ops
from meshkit.celltypes import CELL_TYPES

Array = np.ndarray[Any, Any]

FACES, CELLS = "faces with owner and neighbour", "cell-cell"
POINTS, LISTED, BOUNDARY = "point-point", "point-cell", "boundary"


@dataclass(frozen=True)
class Answering:
    """What is measured, and how what it gives is told: as rings of point ids of the mesh [.., w],
    or as the offsets and indices of rows."""

    work: Callable[[], Any]
    rings: Callable[[Any], Any] | None = None
    rows: Callable[[Any], tuple[Any, Any]] | None = None

    def figures(self) -> list[int]:
        """How many, and a sum that is the same in any order, of faces, or of links from row to
        index; of 64 bits, which it runs over."""
        answer = self.work()
        if self.rings is not None:
            rings = np.asarray(self.rings(answer)).astype(np.uint64)
            return [len(rings), int((rings.sum(1) * (rings * rings).sum(1)).sum())]
        if self.rows is None:
            return []
        offsets, indices = (np.asarray(x).astype(np.int64) for x in self.rows(answer))
        row = np.repeat(np.arange(1, len(offsets)), np.diff(offsets)).astype(np.uint64)
        index = indices.astype(np.uint64)
        return [len(row), int((row * (index + row) * (row + np.uint64(7))).sum())]


Contenders = dict[str, Answering]


def least_bytes(mesh: Mesh, what: str) -> int:
    """What must move: the ids once and what comes out; of a boundary its cells and a mark for
    each point."""
    answer = meshkit_of(mesh)[what].work()
    if isinstance(answer, Mesh):
        marks = mesh.n_points * answer.cells.offsets.element_size()
        found = answer.cells.connectivity.nbytes + marks
    else:
        parts = answer.sources if what == FACES else (answer.offsets, answer.indices)
        found = sum(x.nbytes for x in parts)
    return int(mesh.cells.connectivity.nbytes + found)


def meshkit_of(mesh: Mesh) -> Contenders:
    """Ours, topology worked out anew at each run."""

    def fresh() -> Mesh:
        return mesh.replace(cells=mesh.cells.apply(lambda x: x))

    def skin(found: Mesh) -> Any:
        return found.point_data["parent_point"][found.cells.dense]

    def rows(found: ops.Adjacency) -> tuple[Any, Any]:
        return found.offsets, found.indices

    return {
        FACES: Answering(
            lambda: ops.faces(fresh()),
            rings=lambda found: found.connectivity.view(len(found), -1),
        ),
        CELLS: Answering(lambda: ops.cell_cells(fresh()), rows=rows),
        POINTS: Answering(lambda: ops.point_points(fresh()), rows=rows),
        LISTED: Answering(lambda: ops.point_cells(fresh()), rows=rows),
        BOUNDARY: Answering(lambda: ops.boundary(fresh()), rings=skin),
    }


# --- numpy and scipy -----------------------------------------------------------------------------


def scipy_of(mesh: Mesh) -> Contenders:
    """Faces in numpy alone, the others as sparse matrices."""

    def rows(found: Any) -> tuple[Any, Any]:
        return found.indptr, found.indices

    return {
        FACES: Answering(partial(_numpy_faces, mesh), rings=lambda found: found[0]),
        CELLS: Answering(partial(_scipy_cell_cells, mesh), rows=rows),
        POINTS: Answering(partial(_scipy_point_points, mesh), rows=rows),
        LISTED: Answering(partial(_scipy_point_cells, mesh), rows=rows),
    }


def _template(mesh: Mesh) -> np.ndarray[Any, Any]:
    return np.array(CELL_TYPES[int(mesh.cells.types[0])].faces)


def _numpy_partners(mesh: Mesh) -> tuple[Any, Any]:
    """Sides [.., w] and the other side of each, -1 without: by sorting packed keys."""
    sides = mesh.cells.dense.numpy()[:, _template(mesh)].reshape(-1, _template(mesh).shape[1])
    points = np.sort(sides, axis=1).astype(np.int64)
    bits = int(points.max()).bit_length()
    # Three points tell two faces of a sound mesh apart, four of a lattice do not fit one key.
    key = (points[:, 0] << 2 * bits) | (points[:, 1] << bits) | points[:, 2]
    order = np.argsort(key)
    same = np.nonzero(key[order][1:] == key[order][:-1])[0]
    partner = np.full(len(sides), -1, np.int64)
    one, other = order[same], order[same + 1]
    partner[one], partner[other] = other, one
    return sides, partner


def _numpy_faces(mesh: Mesh) -> tuple[Any, ...]:
    sides, partner = _numpy_partners(mesh)
    number, per_cell = np.arange(len(sides)), len(_template(mesh))
    kept = np.concatenate([np.nonzero(partner > number)[0], np.nonzero(partner < 0)[0]])
    beyond = partner[kept]
    return sides[kept], kept // per_cell, np.where(beyond < 0, -1, beyond // per_cell)


def _scipy_cell_cells(mesh: Mesh) -> object:
    from scipy.sparse import coo_array

    _, partner = _numpy_partners(mesh)
    per_cell = len(_template(mesh))
    inner = np.nonzero(partner >= 0)[0]
    pairs = (inner // per_cell, partner[inner] // per_cell)
    links = coo_array((np.ones(len(inner), np.int8), pairs), (mesh.n_cells, mesh.n_cells)).tocsr()
    links.sort_indices()
    return links


def _scipy_point_points(mesh: Mesh) -> object:
    from scipy.sparse import coo_array

    edges = np.array(CELL_TYPES[int(mesh.cells.types[0])].edges)
    pairs = mesh.cells.dense.numpy()[:, edges].reshape(-1, 2)
    ends = (np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]]))
    shape = (mesh.n_points, mesh.n_points)
    links = coo_array((np.ones(2 * len(pairs), np.int8), ends), shape).tocsr()
    links.sort_indices()
    return links


def _scipy_point_cells(mesh: Mesh) -> object:
    from scipy.sparse import csr_array

    table = mesh.cells.dense.numpy()
    n, k = table.shape
    parts = (np.ones(n * k, np.int8), table.reshape(-1), np.arange(0, n * k + 1, k))
    return csr_array(parts, (n, mesh.n_points)).tocsc()


# --- torch ---------------------------------------------------------------------------------------


def torch_of(mesh: Mesh) -> Contenders:
    """Through sorted keys."""
    return {
        FACES: Answering(partial(_torch_faces, mesh), rings=lambda found: found[0]),
        CELLS: Answering(partial(_torch_cell_cells, mesh), rows=lambda found: found),
    }


def _torch_partners(mesh: Mesh) -> tuple[torch.Tensor, torch.Tensor]:
    template = torch.from_numpy(_template(mesh))
    sides = mesh.cells.dense[:, template].reshape(-1, template.shape[1])
    points = torch.sort(sides, 1).values.long()
    bits = int(points.max()).bit_length()
    keys = (points[:, 0] << 2 * bits) | (points[:, 1] << bits) | points[:, 2]
    key, order = torch.sort(keys)
    same = torch.nonzero(key[1:] == key[:-1]).squeeze(1)
    partner = torch.full((len(sides),), -1)
    one, other = order[same], order[same + 1]
    partner[one], partner[other] = other, one
    return sides, partner


def _torch_faces(mesh: Mesh) -> tuple[torch.Tensor, ...]:
    sides, partner = _torch_partners(mesh)
    number, per_cell = torch.arange(len(sides)), len(_template(mesh))
    kept = torch.cat([torch.nonzero(partner > number), torch.nonzero(partner < 0)]).squeeze(1)
    beyond = partner[kept]
    return sides[kept], kept // per_cell, torch.where(beyond < 0, -1, beyond // per_cell)


def _torch_cell_cells(mesh: Mesh) -> tuple[torch.Tensor, torch.Tensor]:
    _, partner = _torch_partners(mesh)
    per_cell = len(_template(mesh))
    beyond = torch.where(partner < 0, mesh.n_cells, partner // per_cell).reshape(-1, per_cell)
    rows = torch.sort(beyond, 1).values
    known = rows < mesh.n_cells
    return torch.cat([torch.zeros(1).long(), torch.cumsum(known.sum(1), 0)]), rows[known]


# --- VTK -----------------------------------------------------------------------------------------


def vtk_links_of(mesh: Mesh) -> Contenders:
    """Links of points to cells, of 32 bits; they have no arrays to look at."""
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    from vtkmodules.vtkCommonDataModel import vtkStaticCellLinks

    def build() -> object:
        links = vtkStaticCellLinks()
        links.SetDataSet(dataset)
        links.BuildLinks()
        return links

    return {LISTED: Answering(build)}


def vtk_surface_of(mesh: Mesh) -> Contenders:
    """The filter that `extract_surface` takes by default."""
    return _vtk_boundary(mesh, "dataset_surface")


def vtk_geometry_of(mesh: Mesh) -> Contenders:
    """The newer filter."""
    return _vtk_boundary(mesh, "geometry")


def _vtk_boundary(mesh: Mesh, algorithm: str) -> Contenders:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)

    def rings(found: Any) -> Any:
        width = len(CELL_TYPES[int(mesh.cells.types[0])].faces[0])
        at = found.faces.reshape(-1, width + 1)[:, 1:]
        return np.asarray(found.point_data["vtkOriginalPointIds"])[at]

    return {
        BOUNDARY: Answering(lambda: dataset.extract_surface(algorithm=algorithm), rings=rings),
    }


# --- physicsnemo ---------------------------------------------------------------------------------


def physicsnemo_of(mesh: Mesh) -> Contenders:
    """Its answers; none but for simplices. ImportError where it is not installed."""
    if CELL_TYPES[int(mesh.cells.types[0])].name != "tetra":
        return {}
    # Beside a torch for the CPU alone torchvision lacks two operators that it names.
    for name in () if hasattr(torch.ops.torchvision, "nms") else ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
    from physicsnemo.mesh import Mesh as Theirs

    table = mesh.cells.dense.long()

    def fresh() -> Any:
        return Theirs(points=mesh.points, cells=table)

    def rings(found: Any) -> Any:
        return found.cells

    def rows(found: Any) -> tuple[Any, Any]:
        return found.offsets, found.indices

    return {
        FACES: Answering(lambda: fresh().get_facet_mesh(), rings=rings),
        CELLS: Answering(lambda: fresh().get_cell_to_cells_adjacency(), rows=rows),
        POINTS: Answering(lambda: fresh().get_point_to_points_adjacency(), rows=rows),
        LISTED: Answering(lambda: fresh().get_point_to_cells_adjacency(), rows=rows),
        BOUNDARY: Answering(lambda: fresh().get_boundary_mesh(), rings=rings),
    }
