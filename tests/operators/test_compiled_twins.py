"""Compiled measures and their torch twins, which autograd follows, give the same answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import pytest
import torch
from tensordict import TensorDict
from torch import Tensor

import meshkit as mk
from meshkit import operators as ops
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.integral.values import On
from meshkit.operators.measure.face_geometry import face_vectors_and_centroids
from meshkit.operators.quality.metrics import METRICS
from meshkit.regions import Region
from tests import meshes
from tests.operators.cells_for_tests import linear_cells
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere, torus

MESHES: Final[dict[str, Callable[[], Mesh]]] = {
    **{name: partial(make, 2) for name, make in KINDS.items()},
    **{f"one {name}": partial(linear_cells().__getitem__, name) for name in linear_cells()},
    "one of each": meshes.one_of_each,
    "sphere": lambda: icosphere(2),
    "quads": lambda: torus(8, 5, quads=True),
    "open": lambda: meshes.square_triangles(3, 3),
    "plane quads": lambda: meshes.square_quads(3, 2),
    "l_prism": meshes.l_prism_polyhedron,
    "skin": lambda: ops.boundary(KINDS["agglomerated"](2)),
}

FROM_FACES: Final = [name for name, metric in METRICS.items() if metric.from_faces]


def _inverse(found: TensorDict) -> dict[str, Tensor]:
    """Growth as its inverse: infinite in one and beyond all bounds in the other is the same."""
    return {
        k: 1 / found[k] if k == "growth_ratio" else found[k] for k in METRICS if k in found.keys()
    }


def _waves(*shape: int) -> Tensor:
    return torch.arange(math.prod(shape), dtype=torch.float64).sin().reshape(shape)


def _some_sides(mesh: Mesh) -> Region:
    """Every other face, in no order, one twice, some turned round."""
    table = face_table(mesh)
    side = table.owner_side[::2].flip(0)
    pairs = torch.stack([table.sides.cell[side], table.sides.local(side)], 1)
    pairs = torch.cat([pairs, pairs[:1]])
    return Region("some", "side", pairs, flip=torch.arange(len(pairs)) % 3 == 0)


def _forces(mesh: Mesh) -> dict[str, Tensor]:
    d = mesh.points.shape[1]
    out: dict[str, Tensor] = {}
    sizes: dict[On, int] = {"points": mesh.n_points, "cells": mesh.n_cells}
    for on, n in sizes.items():
        loads, about = (_waves(n, 2), _waves(n, 2, d)), torch.arange(d)
        both = ops.force(mesh, *loads, on=on, about=about, shear_on="fluid")
        out |= {f"{on} {i}": x for i, x in enumerate(both)}
        out[f"{on} p"] = ops.force(mesh, loads[0][:, 0], on=on, region=_some_sides(mesh))[1]
    return out


def _through(mesh: Mesh) -> dict[str, Tensor]:
    d, some = mesh.points.shape[1], _some_sides(mesh)
    n_faces = len(ops.faces(mesh))
    sizes: dict[On, int] = {"points": mesh.n_points, "cells": mesh.n_cells, "faces": n_faces}
    out = {}
    for on, n in sizes.items():
        out[f"{on} cells"] = ops.flux(mesh, _waves(n, 2, d), on=on)
        out[f"{on} flux"] = ops.flux(mesh, _waves(n, d), on=on, region=some)
        out[f"{on} sum"] = ops.integrate(mesh, _waves(n, 2), on=on, region=some)
    return out


Operator = Callable[[Mesh], Mapping[str, Tensor]]

OPERATORS: Final[dict[str, tuple[tuple[int, ...], Operator]]] = {
    "faces": ((1, 2, 3), lambda m: dict(zip("vc", face_vectors_and_centroids(m), strict=True))),
    "area vectors": ((1, 2, 3), lambda m: {"v": ops.face_area_vectors(m)}),
    "centroids": ((1, 2, 3), lambda m: {"c": ops.face_centroids(m)}),
    "cells": ((1, 2, 3), lambda m: {"m": ops.cell_measures(m), "c": ops.cell_centroids(m)}),
    "face quality": ((1, 2, 3), lambda m: _inverse(ops.face_quality(m))),
    "quality": ((1, 2, 3), lambda m: _inverse(ops.quality(m, only=FROM_FACES))),
    "cell normals": ((2,), lambda m: {"n": ops.cell_normals(m)}),
    "point normals": ((2,), lambda m: {"n": ops.point_normals(m)}),
    "angles": ((2,), lambda m: {"a": ops.corner_angles(m), "e": ops.edge_angles(m)}),
    "gauss": ((2,), lambda m: {"d": ops.angle_defects(m), "k": ops.gauss_curvature(m)}),
    "mean": ((2,), lambda m: {"h": ops.mean_curvature(m)}),
    "dual": ((1, 2, 3), lambda m: {"d": ops.dual_measures(m)}),
    "flux": ((3,), lambda m: {"f": ops.flux(m, m.points.detach().sin(), on="points")}),
    "forces": ((2, 3), _forces),
    "through": ((2, 3), _through),
    "weights": ((1, 2, 3), lambda m: {"w": ops.integration_weights(m, on="points")}),
}
"""On meshes of which dimensions, and what is compared."""


def states(mesh: Mesh) -> dict[str, Mesh]:
    """The mesh shaken; far from the origin; with cells without size; with a NaN."""
    shaken = meshes.shaken(mesh, 0.2)
    flat, spoilt = shaken.points.clone(), shaken.points.clone()
    ring = mesh.cells.connectivity
    flat[ring[-1]] = flat[ring[0]]
    spoilt[ring[len(ring) // 2], 0] = torch.nan
    return {
        "shaken": shaken,
        "far": shaken.replace(points=shaken.points + 64),
        "flat": shaken.replace(points=flat),
        "spoilt": shaken.replace(points=spoilt),
    }


DIMS = {name: make().dim for name, make in MESHES.items()}
PAIRS = [
    (name, operator)
    for operator, (dims, _) in OPERATORS.items()
    for name in MESHES
    if DIMS[name] in dims
]


@pytest.mark.parametrize(("name", "operator"), PAIRS)
def test_compiled_is_the_same_as_torch(name: str, operator: str) -> None:
    mesh, (_, work) = MESHES[name](), OPERATORS[operator]
    for dtype in (torch.float64, torch.float32):
        for state, each in states(mesh).items():
            at = each.to(dtype=dtype)
            followed = at.replace(points=at.points.clone().requires_grad_())
            found, want = work(at), dict(work(followed))
            tolerance = (1e-11 if dtype == torch.float64 else 2e-3) * (64 if state == "far" else 1)
            assert found.keys() == want.keys()
            for key, value in found.items():
                assert value.dtype == want[key].dtype
                if state == "flat" and key in FROM_FACES:
                    # A face without area has no normal, unless by rounding.
                    known = value.isfinite() & want[key].isfinite()
                    value, want[key] = value[known], want[key][known]
                torch.testing.assert_close(
                    value,
                    want[key].detach(),
                    rtol=tolerance,
                    atol=tolerance,
                    equal_nan=True,
                    msg=f"{key} {state} {dtype}: {value} {want[key]}",
                )


TANGLED: Final = {
    "triangle": 3,
    "quad": 4,
    "polygon": 5,
    "tetra": 4,
    "pyramid": 5,
    "wedge": 6,
    "voxel": 8,
    "hexahedron": 8,
    "pentagonal_prism": 10,
    "hexagonal_prism": 12,
}


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("name", TANGLED)
def test_cells_of_random_points_are_the_same_too(name: str, plane: bool) -> None:
    """Warped, re-entrant, crossing themselves, with a point twice, and without any volume."""
    seeded, k, n = torch.Generator().manual_seed(1), TANGLED[name], 60
    points = torch.randn(n * k, 3, dtype=torch.float64, generator=seeded)
    if plane:
        points[:, 2] = points[:, 0] / 4 - points[:, 1]
    cells = torch.arange(n * k).reshape(n, k)
    cells[:9, -1], cells[9:18, 2] = cells[:9, 0], cells[9:18, 1]
    mesh = mk.make_mesh(points, cells, types=name)
    followed = mesh.replace(points=points.clone().requires_grad_())
    size, want = ops.cell_measures(mesh), ops.cell_measures(followed).detach()
    torch.testing.assert_close(size, want, rtol=1e-12, atol=1e-12)
    away = ops.cell_centroids(mesh) - ops.cell_centroids(followed).detach()
    assert float((away * want[:, None]).abs().max()) < 1e-12
