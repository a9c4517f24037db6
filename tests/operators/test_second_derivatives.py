"""Second derivatives in the points: everything that has first ones, on every kind of cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.mesh import Mesh
from meshkit.operators.measure.row_sums import summed
from tests import meshes
from tests.meshes import shaken
from tests.operators.cells_for_tests import linear_cells
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere

SOLIDS: Final = {kind: KINDS[kind](2 if kind == "hanging" else 1) for kind in KINDS} | {
    "l_prism": meshes.l_prism_polyhedron(),
    "hanging alone": meshes.hanging_polyhedron(),
}
SURFACES: Final = {
    "triangles": meshes.cube_surface(1),
    "quads": meshes.square_quads(2, 3),
    "polygon": linear_cells()["polygon"],
}

Measure = Callable[[Mesh], Any]
OF_ANY: Final[dict[str, Measure]] = {
    "cell_measures": ops.cell_measures,
    "cell_centroids": ops.cell_centroids,
    "face_area_vectors": ops.face_area_vectors,
    "face_centroids": ops.face_centroids,
    "dual_measures": ops.dual_measures,
    "quality": ops.quality,
    "simplices": lambda mesh: ops.simplices(mesh).points,
    "integrate": lambda mesh: ops.integrate(mesh, mesh.points.square(), on="points"),
}
OF_SURFACES: Final[dict[str, Measure]] = {
    "cell_normals": ops.cell_normals,
    "corner_angles": ops.corner_angles,
    "point_normals": ops.point_normals,
}
CASES: Final = [
    *((OF_ANY[what], mesh, f"{what} {kind}") for what in OF_ANY for kind, mesh in SOLIDS.items()),
    *((OF_ANY[what], mesh, f"{what} {kind}") for what in OF_ANY for kind, mesh in SURFACES.items()),
    *(
        (OF_SURFACES[what], mesh, f"{what} {kind}")
        for what in OF_SURFACES
        for kind, mesh in SURFACES.items()
    ),
    (ops.mean_curvature, icosphere(1), "mean_curvature"),
    (ops.gauss_curvature, icosphere(1), "gauss_curvature"),
    (ops.angle_defects, icosphere(1), "angle_defects"),
    (ops.edge_angles, SURFACES["triangles"], "edge_angles"),
    (ops.face_quality, SOLIDS["hexes"], "face_quality"),
    *(
        (lambda mesh: ops.dihedral_angles(mesh).angles, SOLIDS[kind], f"dihedral_angles {kind}")
        for kind in ("tets", "hexes", "agglomerated")
    ),
]


def _numbers(found: Any) -> list[Tensor]:
    """The numbers of an answer that depend on the points, not-a-number left out."""
    if isinstance(found, Tensor):
        return [found[~torch.isnan(found)]] if found.requires_grad else []
    if not isinstance(found, Mapping) and not hasattr(found, "values"):
        return []
    return [x for part in found.values() for x in _numbers(part)]


def holds(measure: Measure, mesh: Mesh) -> bool:
    """Whether the second derivatives are those of differences of the first."""
    g = torch.Generator().manual_seed(3)
    points = mesh.points + 0.05 * torch.rand(mesh.points.shape, generator=g, dtype=torch.float64)

    def of_points(at: Tensor) -> Tensor:
        numbers = _numbers(measure(mesh.replace(points=at)))
        return torch.stack([part.pow(3).sum() for part in numbers]).sum()

    return bool(torch.autograd.gradgradcheck(of_points, (points.requires_grad_(),), fast_mode=True))


@pytest.mark.parametrize(("measure", "mesh"), [c[:2] for c in CASES], ids=[c[2] for c in CASES])
def test_of_measures(measure: Measure, mesh: Mesh) -> None:
    assert holds(measure, mesh)


METHODS: Final = [
    (ops.gradient, "cells", "lsq"),
    (ops.gradient, "points", "lsq"),
    (ops.gradient, "cells", "green_gauss"),
    (ops.gradient, "cells", "green_gauss_plain"),
    (ops.laplacian, "cells", "finite_volume"),
    (ops.gradient, "points", "fem"),
    (ops.laplacian, "points", "fem"),
]


@pytest.mark.parametrize("kind", ["tets", "hanging", "agglomerated"])
@pytest.mark.parametrize(("operator", "on", "method"), METHODS)
def test_of_derivatives(operator: Callable[..., Tensor], on: str, method: str, kind: str) -> None:
    if method == "fem" and kind != "tets":
        return
    mesh = shaken(KINDS[kind](2))
    n = mesh.n_cells if on == "cells" else mesh.n_points
    field = torch.rand(n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert holds(lambda m: operator(m, field, on=on, method=method), mesh)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_sums_of_rows_have_every_derivative() -> None:
    offsets = torch.tensor([0, 2, 2, 5])
    values = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)

    def of_values(x: Tensor) -> Tensor:
        return summed(x, offsets).sin()

    assert torch.autograd.gradcheck(
        of_values,
        (values,),
        check_forward_ad=True,
        check_batched_forward_grad=True,
        check_batched_grad=True,
    )
    assert torch.autograd.gradgradcheck(
        of_values, (values,), check_fwd_over_rev=True, check_batched_grad=True
    )
