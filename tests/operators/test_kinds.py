"""The meshes of every kind are what they say: closed, filling the cube, refinable."""

from __future__ import annotations

import pytest
import torch

from meshkit import operators as ops
from tests.meshes import shaken, stretched
from tests.operators.kinds import KINDS


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_fills_the_cube(kind: str, n: int) -> None:
    for mesh in (KINDS[kind](n), shaken(KINDS[kind](n))):
        odd = {f.code for f in ops.check(mesh)}
        assert odd <= ({"not_star_shaped"} if kind == "agglomerated" else set())
        volumes = ops.cell_measures(mesh)
        assert (volumes > 0).all()
        assert volumes.sum().item() == pytest.approx(1, rel=1e-12)
        area = ops.cell_measures(ops.boundary(mesh)).sum().item()
        assert area == pytest.approx(6, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_is_used_and_stretching_keeps_the_ratio(kind: str) -> None:
    mesh = KINDS[kind](2)
    assert len(torch.unique(mesh.cells.connectivity)) == mesh.n_points
    thin = stretched(shaken(mesh), 1, 1, 1e-3)
    assert ops.cell_measures(thin).sum().item() == pytest.approx(1e-3, rel=1e-12)


def test_hanging_nodes_hang() -> None:
    mesh = KINDS["hanging"](3)
    sizes = ops.faces(mesh).offsets.diff()
    assert set(sizes.tolist()) >= {4, 5, 6}
    assert (mesh.cells.types == 42).any() and (mesh.cells.types == 12).any()


def test_agglomerated_cells_share_several_faces() -> None:
    mesh = KINDS["agglomerated"](3)
    faces = ops.faces(mesh)
    inner = faces.neighbour >= 0
    pairs = torch.stack([faces.owner[inner], faces.neighbour[inner]], 1)
    assert len(torch.unique(pairs, dim=0)) < len(pairs) / 2
