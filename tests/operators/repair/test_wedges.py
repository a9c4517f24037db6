"""Wedges that a source listed inside out."""

from __future__ import annotations

import pytest
import torch

from meshkit import Cells, cell_type, make_mesh
from meshkit.operators import cell_measures
from meshkit.operators.measure.elements import element
from meshkit.operators.repair.wedges import wedges_upright
from tests.meshes import wedge_column

SWAPPED = torch.tensor([0, 2, 1, 3, 5, 4])


def test_one_wedge_as_old_vtk_wrote_it() -> None:
    mesh = wedge_column(1)
    old = Cells.of("wedge", mesh.cells.dense[:, SWAPPED])
    upright, turned = wedges_upright(old, mesh.points)
    assert turned == {13: 1}
    assert upright.dense.tolist() == mesh.cells.dense.tolist()
    assert cell_measures(mesh.replace(cells=upright)).tolist() == [0.5]


def test_sound_wedges_stay_the_same_object() -> None:
    mesh = wedge_column(3)
    upright, turned = wedges_upright(mesh.cells, mesh.points)
    assert turned == {}
    assert upright is mesh.cells


@pytest.mark.parametrize(("inside_out", "after"), [(1, 1), (2, 2), (3, 1), (4, 0)])
def test_the_majority_decides_and_a_tie_changes_nothing(inside_out: int, after: int) -> None:
    mesh = wedge_column(4)
    rows = mesh.cells.dense.clone()
    rows[:inside_out] = rows[:inside_out][:, SWAPPED]
    upright, _ = wedges_upright(Cells.of("wedge", rows), mesh.points)
    volumes = cell_measures(mesh.replace(cells=upright))
    assert int((volumes < 0).sum()) == after


@pytest.mark.parametrize(
    ("name", "size", "degrees"),
    [
        ("quadratic_wedge", 15, None),
        ("quadratic_linear_wedge", 12, None),
        ("biquadratic_quadratic_wedge", 18, None),
        ("lagrange_wedge", 40, None),
        ("lagrange_wedge", 20, (3, 3, 1)),
    ],
)
def test_points_between_go_with_their_corners(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    row = cell_type(name)
    made = element(name, row.shape, size, degrees)
    assert made is not None
    nodes = torch.tensor(made.nodes, dtype=torch.float64)
    mirrored = nodes[:, [1, 0, 2]]  # every cell inside out, each point still where its node says
    held = None if degrees is None else torch.tensor([degrees], dtype=torch.uint8)
    ids = torch.arange(size)
    cells = Cells(
        torch.tensor([row.number], dtype=torch.uint8), torch.tensor([0, size]), ids, None, held
    )
    upright, turned = wedges_upright(cells, mirrored)
    assert turned == {row.number: 1}
    # Read in the new order, the points stand exactly at the nodes of the reference cell.
    torch.testing.assert_close(mirrored[upright.connectivity], nodes, rtol=0, atol=0)
    assert float(cell_measures(make_mesh(mirrored, upright))[0]) == pytest.approx(0.5, rel=1e-13)


def test_types_decide_apart_and_nan_decides_nothing() -> None:
    mesh = wedge_column(3)
    rows = mesh.cells.dense.clone()
    rows[0] = rows[0][SWAPPED]
    points = mesh.points.clone()
    points[6:] = torch.nan
    upright, turned = wedges_upright(Cells.of("wedge", rows), points)
    assert turned == {13: 3}
    assert upright.dense[0].tolist() == mesh.cells.dense[0].tolist()
