"""Measures, curvature, quality and integrals beside pyvista (VTK)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from benchmarks.cases import tets
from benchmarks.timing import Comparison
from meshkit import Mesh, make_mesh


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
    """On 6 n^3 tets, and on a torus of as many triangles; topology is known, as in a second call.

    The least that must move: the points and ids once, and what comes out.
    """
    yield from _of_solids(n)
    yield from _of_surfaces(n)


def _of_solids(n: int) -> Iterator[Comparison]:
    import meshkit as mk
    from meshkit import operators as ops

    mesh = tets(n)
    dataset = mk.to_pyvista(mesh)
    cells, points = mesh.n_cells, mesh.n_points
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    faces = ops.faces(mesh)
    rings = mesh.points.nbytes + faces.connectivity.nbytes
    yield Comparison(
        "cell measures",
        read + 8 * cells,
        {
            "meshkit": lambda: ops.cell_measures(mesh),
            "pyvista": lambda: dataset.compute_cell_sizes(length=False, area=False),
        },
    )
    yield Comparison(
        "cell centroids",
        read + 24 * cells,
        {
            "meshkit": lambda: ops.cell_centroids(mesh),
            "pyvista": lambda: dataset.cell_centers(vertex=False),
        },
    )
    yield Comparison(
        "face area vectors",
        rings + 24 * len(faces),
        {"meshkit": lambda: ops.face_area_vectors(mesh)},
    )
    yield Comparison(
        "dual measures", read + 8 * points, {"meshkit": lambda: ops.dual_measures(mesh)}
    )
    for name, theirs in (("scaled_jacobian", "scaled_jacobian"), ("aspect_ratio", "aspect_ratio")):
        yield Comparison(
            f"quality: {name}",
            read + 8 * cells,
            {
                "meshkit": lambda name=name: ops.quality(mesh, only=[name]),
                "pyvista": lambda theirs=theirs: dataset.cell_quality(theirs),
            },
        )
    yield Comparison(
        "quality: all ten", read + rings + 80 * cells, {"meshkit": lambda: ops.quality(mesh)}
    )
    field, vectors = mesh.point_data["p"], mesh.point_data["U"]
    yield Comparison(
        "integral of fields on points (pyvista: all of them)",
        read + field.nbytes,
        {
            "meshkit": lambda: ops.integrate(mesh, field, on="points"),
            "pyvista": lambda: dataset.integrate_data(),
        },
    )
    yield Comparison(
        "flux out of each cell from points",
        rings + vectors.nbytes + 8 * len(faces) + 4 * cells,
        {"meshkit": lambda: ops.flux(mesh, vectors, on="points")},
    )


def _of_surfaces(n: int) -> Iterator[Comparison]:
    import pyvista

    from meshkit import operators as ops

    mesh = torus(n)
    surface = pyvista.PolyData.from_regular_faces(mesh.points.numpy(), mesh.cells.dense.numpy())
    read = mesh.points.nbytes + mesh.cells.connectivity.nbytes
    ops.faces(mesh), ops.edges(mesh)
    yield Comparison(
        "cell normals",
        read + 24 * mesh.n_cells,
        {
            "meshkit": lambda: ops.cell_normals(mesh),
            "pyvista": lambda: surface.compute_normals(
                point_normals=False, consistent_normals=False, split_vertices=False
            ),
        },
    )
    yield Comparison(
        "point normals (pyvista: not weighted by angle)",
        read + 24 * mesh.n_points,
        {
            "meshkit": lambda: ops.point_normals(mesh),
            "pyvista": lambda: surface.compute_normals(
                cell_normals=False, consistent_normals=False, split_vertices=False
            ),
        },
    )
    for name, ours in (("gaussian", ops.gauss_curvature), ("mean", ops.mean_curvature)):
        yield Comparison(
            f"{name} curvature",
            read + 8 * mesh.n_points,
            {
                "meshkit": lambda ours=ours: ours(mesh),
                "pyvista": lambda name=name: surface.curvature(name),
            },
        )
    pressure = mesh.points[:, 2].contiguous()
    yield Comparison(
        "force and moment from points",
        read + pressure.nbytes,
        {"meshkit": lambda: ops.force(mesh, pressure, on="points")},
    )
