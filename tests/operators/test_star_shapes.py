"""Solids told star-shaped without taking them apart, against their parts."""

import pytest
import torch

from meshkit import operators as ops
from meshkit.making import make_mesh
from meshkit.operators.measure.star_shapes import surely_star_shaped
from meshkit.operators.simplices import parts_of
from tests import meshes
from tests.operators.cells_for_tests import linear_cells

SOLIDS = [name for name, mesh in linear_cells().items() if mesh.dim == 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SOLIDS)
def test_what_is_sure_has_no_part_inside_out(name: str, dtype: torch.dtype) -> None:
    one = linear_cells()[name]
    n, k = 500, one.n_points
    torch.manual_seed(0)
    points = one.points.repeat(n, 1) + 0.4 * torch.randn(n * k, 3, dtype=torch.float64)
    points[:k] = one.points
    points[-1] = float("nan")
    mesh = make_mesh(points.to(dtype), torch.arange(n * k).reshape(n, k), types=name)
    sure = surely_star_shaped(mesh.cells, mesh.points)
    parts, sizes = parts_of(mesh)
    inside_out = torch.zeros(n, dtype=torch.bool)
    inside_out[parts.parent[~(sizes > 0)]] = True
    assert not (sure & inside_out).any()
    assert int((~sure & ~inside_out).sum()) <= 2  # at random hardly any lies within rounding of 0
    assert sure[0]
    assert not sure[-1]
    assert 10 < int(sure.sum()) < n


def test_others_are_in_doubt() -> None:
    prism = meshes.l_prism_polyhedron()
    assert not surely_star_shaped(prism.cells, prism.points).any()
    flat = make_mesh(torch.zeros(8, 3), [list(range(8))], types="hexahedron")
    assert not surely_star_shaped(flat.cells, flat.points).any()
    square = meshes.square_quads(2)
    points = torch.nn.functional.pad(square.points, (0, 3 - square.points.shape[1]))
    assert not surely_star_shaped(square.cells, points).any()


def test_check_still_finds_what_is_not_star_shaped() -> None:
    mesh = meshes.cube_hexes(2)
    bent = mesh.points.clone()
    bent[0] = torch.tensor([0.4, 0.4, 0.4]).to(bent)  # a corner drawn deep into its cell
    found = {f.code: f.ids for f in ops.check(mesh.replace(points=bent))}
    assert found["not_star_shaped"] == (0,)
    assert not ops.check(mesh)
