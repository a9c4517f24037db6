"""Measures, curvature, quality and integrals beside pyvista (VTK), trimesh, numpy, physicsnemo.

CPU seconds, one thread. Topology is known, as in a second call; each line ends with the peak
memory of one call. physicsnemo knows simplices only; it is left out where it is neither installed
beside meshkit nor in the Python that MESHKIT_PEER_PYTHON names.
"""

from __future__ import annotations

import gc
import importlib.util
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.apart import Elsewhere, Worker, peak, peer_python
from benchmarks.cases import hexes, tets
from benchmarks.timing import Comparison
from meshkit import Mesh, Region, make_mesh, operators as ops
from meshkit.operators.adjacency.faces import face_table

Contenders = dict[str, Callable[[], object] | Elsewhere]
Row = tuple[str, int, Contenders]


def torus(n: int) -> Mesh:
    """About 6 n^3 triangles on a torus, int32 ids."""
    k = max(3, round(math.sqrt(1.5 * n**3)))
    turn = [torch.arange(m, dtype=torch.float64) * (2 * math.pi / m) for m in (2 * k, k)]
    u, v = torch.meshgrid(*turn, indexing="ij")
    away = 2 + torch.cos(v)
    points = torch.stack([away * torch.cos(u), away * torch.sin(u), torch.sin(v)], -1)
    at = torch.arange(2 * k * k, dtype=torch.int32).reshape(2 * k, k)
    right, up = torch.roll(at, -1, 0), torch.roll(at, -1, 1)
    both = torch.roll(right, -1, 1)
    rows = torch.stack([at, right, both, at, both, up], -1)
    return make_mesh(points.reshape(-1, 3), rows.reshape(-1, 3))


def comparisons(n: int) -> Iterator[Comparison]:
    """On 6 n^3 tets, as many hexes, and a torus of as many triangles.

    The least that must move: the points and ids once, and what comes out.
    """
    torch.set_num_threads(1)
    solids = tets(n)
    blocks = hexes(round((6 * n**3) ** (1 / 3)))
    gc.collect()
    gc.freeze()  # a collection before each peak would otherwise go through all of the peers
    kinds = (_of_tets(solids), _of_hexes(blocks), _integrals(solids), _on_regions(solids))
    for rows in (*kinds, _of_surfaces(torus(n)), _of_quads(torus(n))):
        for name, moved, contenders in rows:
            said = f"{name} (peak MB: {_peaks(contenders)})"
            yield replace(Comparison(said, moved, contenders), clock=time.process_time)


def _peaks(contenders: Contenders) -> str:
    """Of those in this process."""
    said = []
    for name, work in contenders.items():
        if not isinstance(work, Elsewhere):
            work()
            said.append(f"{name} {peak(work) / 1e6:.0f}")
    return ", ".join(said)


class _Physicsnemo:
    """physicsnemo with one mesh, its cache dropped before each statement."""

    def __init__(self, mesh: Mesh) -> None:
        python, here = peer_python(), importlib.util.find_spec("physicsnemo") is not None
        self._peer = None if here or python is None else Worker(python)
        self._here: dict[str, object] | None = {} if here else None
        if self._peer is None and self._here is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mesh.npz"
            np.savez(file, points=mesh.points.numpy(), cells=mesh.cells.dense.long().numpy())
            before = _BEFORE.format(file=str(file))
            if self._peer is not None:
                self._peer.run(before)
            else:
                exec(before, self._here)

    def row(self, expression: str) -> Contenders:
        """What it takes for an expression of `fresh()`."""
        if self._peer is not None:
            return {"physicsnemo": Elsewhere(self._peer, expression)}
        if self._here is None:
            return {}
        code = compile(expression, "physicsnemo", "eval")
        return {"physicsnemo": lambda: eval(code, self._here)}


_BEFORE = """
import numpy, torch
torch.set_num_threads(1)
for name in () if hasattr(torch.ops.torchvision, "nms") else ("nms", "qnms"):
    torch.library.define("torchvision::" + name, "(Tensor a, Tensor b, float c) -> Tensor")
from physicsnemo.mesh import Mesh
held = numpy.load({file!r})
points, cells = torch.from_numpy(held["points"]), torch.from_numpy(held["cells"])
fresh = lambda: Mesh(points=points, cells=cells)
"""


def _of_tets(mesh: Mesh) -> Iterator[Row]:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    theirs = _Physicsnemo(mesh)
    cells = mesh.n_cells
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    faces = ops.faces(mesh)
    rings = mesh.points.nbytes + faces.connectivity.nbytes
    yield (
        "tets: cell measures",
        read + 8 * cells,
        {
            "meshkit": lambda: ops.cell_measures(mesh),
            "pyvista": lambda: dataset.compute_cell_sizes(length=False, area=False),
            **theirs.row("fresh().cell_areas"),
        },
    )
    yield (
        "tets: cell centroids",
        read + 24 * cells,
        {
            "meshkit": lambda: ops.cell_centroids(mesh),
            "pyvista": lambda: dataset.cell_centers(vertex=False),
            **theirs.row("fresh().cell_centroids"),
        },
    )
    yield (
        "tets: face area vectors",
        rings + 24 * len(faces),
        {"meshkit": lambda: ops.face_area_vectors(mesh)},
    )
    yield (
        "tets: dual measures",
        read + 8 * mesh.n_points,
        {"meshkit": lambda: ops.dual_measures(mesh)},
    )
    for name in ("scaled_jacobian", "aspect_ratio", "min_angle"):
        yield f"tets: {name}", read + 8 * cells, _quality(mesh, dataset, name)
    yield (
        "tets: the six measures of the cell alone (physicsnemo: its five)",
        read + 48 * cells,
        {
            "meshkit": lambda: ops.quality(mesh, only=_ALONE),
            **theirs.row("fresh().quality_metrics"),
        },
    )
    yield (
        "tets: face quality, three measures",
        rings + 32 * cells + 24 * len(faces),
        {"meshkit": lambda: ops.face_quality(mesh)},
    )


_ALONE = (
    *("aspect_ratio", "edge_ratio", "scaled_jacobian"),
    *("min_angle", "max_angle", "equiangle_skewness"),
)


def _quality(mesh: Mesh, dataset: Any, name: str) -> Contenders:
    return {
        "meshkit": lambda: ops.quality(mesh, only=[name]),
        "pyvista": lambda: dataset.cell_quality(name),
    }


def _sizes(title: str, mesh: Mesh, dataset: Any, others: Mapping[str, bool]) -> Iterator[Row]:
    """Measures and centroids of one kind of cells; of pyvista's sizes without the others."""
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    yield (
        title,
        read + 8 * mesh.n_cells,
        {
            "meshkit": lambda: ops.cell_measures(mesh),
            "pyvista": lambda: dataset.compute_cell_sizes(**others),
        },
    )
    yield (
        f"{title.partition(':')[0]}: cell centroids (pyvista: the middle of the parameters)",
        read + 24 * mesh.n_cells,
        {
            "meshkit": lambda: ops.cell_centroids(mesh),
            "pyvista": lambda: dataset.cell_centers(vertex=False),
        },
    )


def _of_hexes(mesh: Mesh) -> Iterator[Row]:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes + 8 * mesh.n_cells
    faces = ops.faces(mesh)
    yield from _sizes("hexes: cell measures", mesh, dataset, {"length": False, "area": False})
    yield "hexes: scaled_jacobian", read, _quality(mesh, dataset, "scaled_jacobian")
    yield (
        "hexes: face area vectors",
        mesh.points.nbytes + faces.connectivity.nbytes + 24 * len(faces),
        {"meshkit": lambda: ops.face_area_vectors(mesh)},
    )


def _integrals(mesh: Mesh) -> Iterator[Row]:
    import meshkit as mk

    dataset = mk.to_pyvista(mesh)
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    faces = ops.faces(mesh)
    field, vectors = mesh.point_data["p"], mesh.point_data["U"]
    at_cells = torch.rand(mesh.n_cells)
    points, table = mesh.points.numpy(), mesh.cells.dense.numpy()

    def by_numpy() -> object:
        a, b, c, d = (points[table[:, i]] for i in range(4))
        volume = (np.cross(b - a, c - a) * (d - a)).sum(1) / 6
        return float(volume @ at_cells.numpy())

    yield (
        "tets: integral of a field on points (pyvista: of all fields)",
        read + field.nbytes,
        {
            "meshkit": lambda: ops.integrate(mesh, field, on="points"),
            "pyvista": lambda: dataset.integrate_data(),
        },
    )
    yield (
        "tets: integral of a field on cells",
        read + at_cells.nbytes,
        {"meshkit": lambda: ops.integrate(mesh, at_cells, on="cells"), "numpy": by_numpy},
    )
    owner, neighbour = faces.owner.numpy(), faces.neighbour.numpy()
    rings = faces.connectivity.reshape(-1, 3).numpy()

    def flux_by_numpy() -> object:
        a, b, c = (points[rings[:, i]] for i in range(3))
        mean = (vectors.numpy()[rings].sum(1) / 3).astype(np.float64)
        through = (np.cross(b - a, c - a) * mean).sum(1) / 2
        out = np.bincount(owner, through, mesh.n_cells)
        inner = neighbour >= 0
        return out - np.bincount(neighbour[inner], through[inner], mesh.n_cells)

    yield (
        "tets: flux out of each cell from points",
        mesh.points.nbytes + faces.connectivity.nbytes + vectors.nbytes + 8 * len(faces),
        {
            "meshkit": lambda: ops.flux(mesh, vectors, on="points"),
            "numpy": flux_by_numpy,
        },
    )


def _on_regions(mesh: Mesh) -> Iterator[Row]:
    """Every other cell, and every other face as a side of its owner, in the order of the faces."""
    points, table, faces = mesh.points.numpy(), mesh.cells.dense.numpy(), face_table(mesh)
    field, vectors = mesh.point_data["p"], mesh.point_data["U"]
    some = torch.arange(0, mesh.n_cells, 2)
    cells, half = Region("cells", "cell", some), table[::2]
    side = faces.owner_side[::2]
    pairs = torch.stack([faces.sides.cell[side], faces.sides.local(side)], 1)
    sides = Region("sides", "side", pairs)
    rings = faces.faces.connectivity.reshape(-1, 3).numpy()[::2]

    def volume_by_numpy() -> object:
        a, b, c, d = (points[half[:, i]] for i in range(4))
        volume = (np.cross(b - a, c - a) * (d - a)).sum(1) / 6
        return volume @ field.numpy()[half].astype(np.float64).mean(1)

    def flux_by_numpy() -> object:
        a, b, c = (points[rings[:, i]] for i in range(3))
        mean = vectors.numpy()[rings].astype(np.float64).mean(1)
        return (np.cross(b - a, c - a) * mean).sum() / 2

    yield (
        "tets: integral over a region of half the cells, from points",
        (mesh.points.nbytes + mesh.cells.connectivity.nbytes + field.nbytes) // 2 + 8 * len(some),
        {
            "meshkit": lambda: ops.integrate(mesh, field, on="points", region=cells),
            "numpy": volume_by_numpy,
        },
    )
    yield (
        "tets: flux through a region of half the sides, from points",
        mesh.points.nbytes + vectors.nbytes + rings.nbytes + pairs.nbytes,
        {
            "meshkit": lambda: ops.flux(mesh, vectors, on="points", region=sides),
            "numpy": flux_by_numpy,
        },
    )


def _of_quads(triangles: Mesh) -> Iterator[Row]:
    """The same torus of quads, each of two triangles."""
    import pyvista

    table = triangles.cells.dense.reshape(-1, 6)[:, [0, 1, 2, 5]].contiguous()
    mesh = make_mesh(triangles.points, table, types="quad")
    surface = pyvista.PolyData.from_regular_faces(mesh.points.numpy(), table.numpy())
    yield from _sizes("quads: areas", mesh, surface, {"length": False, "volume": False})


def _of_surfaces(mesh: Mesh) -> Iterator[Row]:
    import pyvista
    import trimesh

    surface = pyvista.PolyData.from_regular_faces(mesh.points.numpy(), mesh.cells.dense.numpy())

    def bare_trimesh() -> Any:  # which keeps what it worked out
        return trimesh.Trimesh(mesh.points.numpy(), mesh.cells.dense.numpy(), process=False)

    theirs = _Physicsnemo(mesh)
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    ops.faces(mesh), ops.edges(mesh)
    bare = {"consistent_normals": False, "split_vertices": False}
    yield (
        "triangles: areas",
        read + 8 * mesh.n_cells,
        {
            "meshkit": lambda: ops.cell_measures(mesh),
            "pyvista": lambda: surface.compute_cell_sizes(length=False, volume=False),
            "trimesh": lambda: bare_trimesh().area_faces,
            **theirs.row("fresh().cell_areas"),
        },
    )
    yield (
        "triangles: cell normals",
        read + 24 * mesh.n_cells,
        {
            "meshkit": lambda: ops.cell_normals(mesh),
            "pyvista": lambda: surface.compute_normals(point_normals=False, **bare),
            "trimesh": lambda: bare_trimesh().face_normals,
            **theirs.row("fresh().cell_normals"),
        },
    )
    yield (
        "triangles: point normals (pyvista: not weighted by angle)",
        read + 24 * mesh.n_points,
        {
            "meshkit": lambda: ops.point_normals(mesh),
            "pyvista": lambda: surface.compute_normals(cell_normals=False, **bare),
            "trimesh": lambda: bare_trimesh().vertex_normals,
            **theirs.row("fresh().point_normals"),
        },
    )
    for name, ours, their in (
        ("gaussian", ops.gauss_curvature, "fresh().gaussian_curvature_vertices"),
        ("mean", ops.mean_curvature, "fresh().mean_curvature_vertices"),
    ):
        yield (
            f"triangles: {name} curvature",
            read + 8 * mesh.n_points,
            {
                "meshkit": lambda ours=ours: ours(mesh),
                "pyvista": lambda name=name: surface.curvature(name),
                **theirs.row(their),
            },
        )
    yield (
        "triangles: angles along the edges (trimesh: of interior edges, not signed)",
        mesh.points.nbytes + 40 * len(ops.faces(mesh)),
        {
            "meshkit": lambda: ops.edge_angles(mesh),
            "trimesh": lambda: bare_trimesh().face_adjacency_angles,
        },
    )
    for name in ("scaled_jacobian", "aspect_ratio", "max_angle"):
        yield f"triangles: {name}", read + 8 * mesh.n_cells, _quality(mesh, surface, name)
    pressure = mesh.points[:, 2].contiguous()
    region = Region("half", "cell", torch.arange(0, mesh.n_cells, 2))
    half = mesh.cells.dense.numpy()[::2]

    def by_numpy() -> object:
        a, b, c = (mesh.points.numpy()[half[:, i]] for i in range(3))
        vector = np.cross(b - a, c - a) / 2
        p = pressure.numpy()[half]
        force = p.mean(1)[:, None] * vector
        arm = sum(x * (p.sum(1) + p[:, i])[:, None] for i, x in enumerate((a, b, c))) / 12
        return force.sum(0), np.cross(arm, vector).sum(0)

    yield (
        "triangles: force and moment on a region, from points",
        (read + pressure.nbytes) // 2,
        {
            "meshkit": lambda: ops.force(mesh, pressure, on="points", region=region),
            "numpy": by_numpy,
        },
    )
