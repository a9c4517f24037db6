"""Faces, neighbours, points and boundary beside numpy, torch, scipy, VTK and physicsnemo.

CPU seconds, one torch thread. Topology is worked out anew at each run. Ids are int64, cells and
points in the order of the lattice and then at random. Beside the name of each row stands by how
many MB the process grew at most in one run of each. physicsnemo knows simplices only; it is left
out where it is not installed. VTK's links of points to cells have ids of 32 bits.

MESHKIT_BENCHMARK leaves only the rows whose mesh has it in its name: "tets", "hexes permuted".
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.apart import peak
from benchmarks.cases import hexes, permuted, tets, with_ids
from benchmarks.timing import Comparison
from meshkit import Mesh, operators as ops
from meshkit.celltypes import CELL_TYPES

Contenders = dict[str, Callable[[], object]]


def comparisons(n: int) -> Iterator[Comparison]:
    """6 n^3 tets, and as many hexes as nearly that makes."""
    torch.set_num_threads(1)
    side = round((6 * n**3) ** (1 / 3))
    wanted = os.environ.get("MESHKIT_BENCHMARK", "")
    for kind, make in (("tets", lambda: tets(n)), ("hexes", lambda: hexes(side))):
        for order, change in (("in order", lambda mesh: mesh), ("permuted", permuted)):
            mesh = with_ids(change(make()), torch.int64)
            name = f"{mesh.n_cells} {kind} {order}"
            if wanted in name:
                yield from _operations(mesh, name)


def _operations(mesh: Mesh, name: str) -> Iterator[Comparison]:
    """Each as soon as its contenders were run once for their memory."""

    def fresh() -> Mesh:
        return mesh.replace(cells=mesh.cells.apply(lambda x: x))

    table, theirs = mesh.cells.dense, _physicsnemo(mesh)
    rows: dict[str, tuple[Callable[[Mesh], Any], Contenders]] = {
        "faces with owner and neighbour": (
            ops.faces,
            {"numpy": partial(_numpy_faces, mesh), "torch": partial(_torch_faces, mesh)},
        ),
        "cell-cell": (
            ops.cell_cells,
            {
                "numpy and scipy": partial(_scipy_cell_cells, mesh),
                "torch": partial(_torch_cell_cells, mesh),
            },
        ),
        "point-point": (ops.point_points, {"scipy": partial(_scipy_point_points, mesh)}),
        "point-cell": (
            ops.point_cells,
            {"scipy": partial(_scipy_point_cells, mesh), "VTK": _vtk_links(mesh)},
        ),
        "boundary": (ops.boundary, _vtk_boundary(mesh)),
    }
    for what, (ours, peers) in rows.items():
        contenders: Contenders = {"meshkit": lambda ours=ours: ours(fresh()), **peers}
        contenders.update(theirs.get(what, {}))
        least = table.nbytes + _bytes_of(ours(fresh()), mesh)
        peaks = {who: peak(work) / 1e6 for who, work in contenders.items()}
        said = ", ".join(f"{who} {mb:.0f}" for who, mb in peaks.items())
        yield Comparison(
            f"{what}: {name} (peak MB: {said})", least, contenders, clock=time.process_time
        )


def _bytes_of(answer: Any, mesh: Mesh) -> int:
    """What an answer holds; of a boundary its cells and a mark for each point."""
    if isinstance(answer, Mesh):
        return (
            answer.cells.connectivity.nbytes + mesh.n_points * answer.cells.offsets.element_size()
        )
    parts = answer.sources if hasattr(answer, "sources") else (answer.offsets, answer.indices)
    return sum(x.nbytes for x in parts)


# --- peers ---------------------------------------------------------------------------------------


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
    return torch.cumsum(known.sum(1), 0), rows[known]


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


def _vtk_links(mesh: Mesh) -> Callable[[], object]:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    from vtkmodules.vtkCommonDataModel import vtkStaticCellLinks

    def build() -> object:
        links = vtkStaticCellLinks()
        links.SetDataSet(dataset)
        links.BuildLinks()
        return links

    return build


def _vtk_boundary(mesh: Mesh) -> Contenders:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    return {
        "VTK surface filter": lambda: dataset.extract_surface(algorithm="dataset_surface"),
        "VTK geometry filter": lambda: dataset.extract_surface(algorithm="geometry"),
    }


def _physicsnemo(mesh: Mesh) -> dict[str, Contenders]:
    """Its answers by operation, none where it has none."""
    if CELL_TYPES[int(mesh.cells.types[0])].name != "tetra":
        return {}
    try:
        theirs = _physicsnemo_class()
    except ImportError:
        return {}
    table = mesh.cells.dense.long()

    def fresh() -> Any:
        return theirs(points=mesh.points, cells=table)

    return {
        "faces with owner and neighbour": {"physicsnemo": lambda: fresh().get_facet_mesh()},
        "cell-cell": {"physicsnemo": lambda: fresh().get_cell_to_cells_adjacency()},
        "point-point": {"physicsnemo": lambda: fresh().get_point_to_points_adjacency()},
        "point-cell": {"physicsnemo": lambda: fresh().get_point_to_cells_adjacency()},
        "boundary": {"physicsnemo": lambda: fresh().get_boundary_mesh()},
    }


_LIBRARIES: list[torch.library.Library] = []


def _physicsnemo_class() -> Any:
    """Its mesh; beside a torch for the CPU alone torchvision lacks two operators that it names."""
    if not _LIBRARIES:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARIES.append(library)
    from physicsnemo.mesh import Mesh as Theirs

    return Theirs
