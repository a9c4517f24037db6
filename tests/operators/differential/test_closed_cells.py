"""Gauss' theorem needs cells that have a volume and are closed: others have no answer by it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.regions import Region
from tests import meshes
from tests.meshes import shaken
from tests.operators.kinds import KINDS

G: Final = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
EPS: Final = torch.finfo(torch.float64).eps

GAUSS: Final[dict[str, Any]] = {
    "green_gauss": partial(ops.gradient_operator, on="cells", method="green_gauss"),
    "plain": partial(ops.gradient_operator, on="cells", method="green_gauss_plain"),
    "finite_volume": partial(ops.laplacian_operator, on="cells"),
}


def both(name: str, mesh: Mesh) -> list[MeshOperator]:
    """By compiled loops, and by torch: where derivatives in the points are asked for."""
    followed = mesh.replace(points=mesh.points.clone().requires_grad_())
    found = [GAUSS[name](m) for m in (mesh, followed)]
    assert torch.equal(found[0].determined, found[1].determined)
    return found


def turned(points: Tensor) -> Tensor:
    """In general position, where no coordinate of a flat cell is the same in all of its points."""
    gen = torch.Generator().manual_seed(3)
    d = points.shape[1]
    turn: Tensor = torch.linalg.qr(torch.rand(d, d, dtype=torch.float64, generator=gen))[0]
    out: Tensor = points @ turn.T
    return out


def right_or_not_determined(mesh: Mesh, lost: Tensor) -> None:
    """Those rows have no answer by Gauss' theorem; the others are right, and all of `lsq` are."""
    field, g = ops.cell_centroids(mesh) @ G[: mesh.dim], G[: mesh.dim]
    for name in GAUSS:
        for operator in both(name, mesh):
            assert torch.equal(torch.nonzero(~operator.determined).squeeze(1), lost)
            found = operator.apply(field).detach()
            assert found[lost].isnan().all() and found[operator.determined].isfinite().all()
            if name == "green_gauss":
                want = g.expand(int(operator.determined.sum()), -1)
                torch.testing.assert_close(found[operator.determined], want)
    least = ops.gradient(mesh, field, on="cells")
    torch.testing.assert_close(least, g.expand_as(least))


@pytest.mark.parametrize("away", [0.0, 1e5])
def test_tets_of_a_collapsed_edge_have_no_volume(away: float) -> None:
    base = meshes.kuhn_cube(3)
    points = base.points.clone()
    points[21] = points[22]  # an edge inside
    mesh = base.replace(points=turned(points) + away)
    corners = mesh.cells.dense
    flat = ((corners == 21).any(1) & (corners == 22).any(1)).nonzero().squeeze(1)
    assert len(flat) >= 4
    if away == 0:
        right_or_not_determined(mesh, flat)
    for name in GAUSS:
        for operator in both(name, mesh):
            assert not operator.determined[flat].any()
            assert int(operator.determined.sum()) == mesh.n_cells - len(flat)


def test_triangles_of_a_collapsed_edge_have_no_area() -> None:
    base = meshes.square_triangles(4)
    points = base.points.clone()
    points[12] = points[7]
    mesh = base.replace(points=turned(points))
    corners = mesh.cells.dense
    flat = ((corners == 12).any(1) & (corners == 7).any(1)).nonzero().squeeze(1)
    assert len(flat) == 2
    right_or_not_determined(mesh, flat)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("factors", [(1.0, 1.0, 1e-3), (1e3, 1.0, 1.0), (1e6, 1.0, 1.0)])
@pytest.mark.parametrize("kind", ["tets", "hexes", "hanging"])
def test_thin_cells_stay_determined(
    kind: str, factors: tuple[float, float, float], unit: float
) -> None:
    base = {"tets": meshes.kuhn_cube, "hexes": meshes.cube_hexes, "hanging": KINDS["hanging"]}
    mesh = meshes.stretched(shaken(base[kind](3)), *factors)
    mesh = mesh.replace(points=turned(mesh.points) * unit)
    single = mesh.replace(points=mesh.points.float())
    for at in (mesh, single) if max(factors) < 1e6 else (mesh,):
        for operator in both("plain", at):
            assert operator.determined.all()


@pytest.mark.parametrize("twin", [0, 4, 9])
def test_a_cell_given_twice_is_not_closed(twin: int) -> None:
    base = shaken(meshes.kuhn_cube(2))
    rows = base.cells.dense.tolist()
    mesh = make_mesh(base.points, [*rows, rows[twin]])
    # Inside, both keep faces of their own; on the boundary they have one between them.
    found = ops.faces(base)
    outer = bool((found.neighbour[found.owner == twin] < 0).any())
    right_or_not_determined(mesh, torch.tensor([48] if outer else []).long())


def test_a_cell_inside_out_has_neighbours_that_are_not_closed() -> None:
    base = shaken(meshes.kuhn_cube(2))
    rows = base.cells.dense.tolist()
    rows[20] = [rows[20][i] for i in (0, 2, 1, 3)]
    mesh = make_mesh(base.points, rows)
    table = ops.faces(mesh)
    # Faces are as their owners list them: the others see those of this cell turned round.
    others = table.neighbour[(table.owner == 20) & (table.neighbour >= 0)]
    itself = torch.tensor([20] if bool((table.neighbour == 20).any()) else [])
    right_or_not_determined(mesh, torch.cat([others, itself]).long().sort().values)


def test_a_polyhedron_without_its_lid_is_not_closed() -> None:
    cube = meshes.cube_hexes(1)
    rings = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]]
    for kept, closed in ((6, True), (5, False)):
        mesh = make_mesh(
            cube.points, [list(range(8))], types="polyhedron", polyhedra=[rings[:kept]]
        )
        for operator in both("plain", mesh):
            assert operator.determined.tolist() == [closed]


@settings(max_examples=8, deadline=None)
@given(
    kind=st.sampled_from([*KINDS, "plane"]),
    seed=st.integers(0, 2**16),
    unit=st.sampled_from([1e-3, 1.0, 1e4]),
    away=st.sampled_from([0.0, 1.0, 1e3]),
)
def test_every_row_is_right_or_not_determined(
    kind: str, seed: int, unit: float, away: float
) -> None:
    mesh = shaken(meshes.square_triangles(4) if kind == "plane" else KINDS[kind](2), seed=seed)
    gen = torch.Generator().manual_seed(seed)
    points = mesh.points.clone()
    for row in torch.randint(mesh.n_cells, (2,), generator=gen).tolist():
        begin = int(mesh.cells.offsets[row])
        one, other = mesh.cells.connectivity[begin : begin + 2].tolist()
        points[one] = points[other]
    mesh = mesh.replace(points=(turned(points) + away) * unit)
    size = ops.cell_measures(mesh).abs()
    across = mesh.points.amax(0) - mesh.points.amin(0)
    flat = size <= EPS * across.max() ** mesh.dim
    places = ops.cell_centroids(mesh)
    field, g = places @ G[: mesh.dim], G[: mesh.dim]
    # The least width that a cell with a volume can have.
    width = size[~flat].min() / across.max() ** (mesh.dim - 1)
    reach = field.abs().max() / g.norm() + mesh.points.abs().max()
    bound = 100 * EPS * reach / width * g.norm()
    for name in GAUSS:
        for operator in both(name, mesh):
            assert not operator.determined[flat].any()
            found = operator.apply(field).detach()
            assert torch.equal(
                found.reshape(mesh.n_cells, -1).isfinite().all(1), operator.determined
            )
            if name == "green_gauss":
                off = (found - g)[operator.determined].abs()
                assert len(off) == 0 or float(off.max()) <= bound


def regional() -> Mesh:
    """Three hexahedra in a row."""
    regions = [
        Region("fluid", "cell", [0, 1]),
        Region("baffle", "side", [[0, 1]]),
        Region("mixed", "side", [[0, 0], [1, 0]]),
        Region("inlet", "side", [[0, 0]]),
    ]
    base = meshes.cube_hexes(3)
    points, rows = base.points, base.cells.dense.tolist()
    return make_mesh(points, [rows[0], rows[1], rows[2]], types="hexahedron", regions=regions)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("fluid", "is a region of 2 cells, of which none lies on a boundary face"),
        ("baffle", "is a region of 1 sides, of which none lies on a boundary face"),
        ("mixed", "is a region of 2 sides, of which 1 lie on no boundary face"),
        ("wall", "is no region of sides, faces or cells"),
    ],
)
def test_regions_off_the_boundary_are_refused(name: str, problem: str) -> None:
    mesh = regional()
    said = f"gradient: '{name}' {problem}; regions that lie on boundary faces: 'inlet'"
    with pytest.raises(MeshError) as refusal:
        ops.gradient(mesh, torch.zeros(3), on="cells", boundary={name: 1.0})
    assert str(refusal.value) == said
    with pytest.raises(MeshError) as refusal:
        ops.gradient_operator(mesh, on="cells", boundary=["inlet", name])
    assert str(refusal.value) == said


def test_a_region_without_sides_has_no_values_to_give() -> None:
    """As a patch in a part of a mesh may be: the same as without it, prepared or not."""
    whole = regional()
    none = torch.empty(0, 2, dtype=torch.int64)
    mesh = whole.replace(regions=[*whole.regions, Region("outlet", "side", none)])
    field, inlet = torch.tensor([1.0, 2.0, 4.0]), {"inlet": 3.0}
    right = ops.gradient(mesh, field, on="cells", method="green_gauss_plain", boundary=inlet)
    assert right.isfinite().all()
    values = {**inlet, "outlet": 9.0}
    found = ops.gradient(mesh, field, on="cells", method="green_gauss_plain", boundary=values)
    assert torch.equal(found, right)
    operator = ops.gradient_operator(
        mesh, on="cells", method="green_gauss_plain", boundary=list(values)
    )
    assert torch.equal(operator.apply(field, values), right)
