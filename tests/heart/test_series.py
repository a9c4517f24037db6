"""A series reads when asked, shares its topology, and knows its times."""

from __future__ import annotations

import pytest
import torch

from meshkit import Mesh, MeshError, MeshInfo, MeshSeries
from meshkit.series import step_of
from tests.meshes import cube_hexes, tetrahedron


def test_lazy_with_one_topology() -> None:
    asked: list[int] = []

    def load(i: int) -> Mesh:
        asked.append(i)
        return cube_hexes(2).with_data(cell={"p": torch.full((8,), float(i))})

    series = MeshSeries([0.0, 0.5, 2.0], load)
    assert len(series) == 3 and asked == []
    first, last = series[0], series[-1]
    assert asked == [0, 2]
    assert first.cells is last.cells
    assert last.info.time == 2.0 and last.cell_data["p"][0] == 2


def test_a_changed_topology_is_another_object() -> None:
    meshes = [
        tetrahedron().replace(info=MeshInfo(time=0.0)),
        cube_hexes().replace(info=MeshInfo(time=1.0)),
    ]
    a, b = MeshSeries.of(meshes)
    assert a.cells.uniform == 10 and b.cells.uniform == 12


@pytest.mark.parametrize(
    ("time", "step"), [("first", 0), ("last", 2), (1, 1), (-1, 2), (0.5, 1), (0.5 + 1e-12, 1)]
)
def test_which_step(time: float | str | int, step: int) -> None:
    assert step_of([0.0, 0.5, 2.0], time) == step


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (0.6, "no time 0.6; there are 0, 0.5, 2"),
        (3, "no step 3; there are 3 times: 0, 0.5, 2"),
        ("now", "'first', 'last'"),
    ],
)
def test_no_such_step(time: float | str | int, message: str) -> None:
    with pytest.raises(MeshError, match=message):
        step_of([0.0, 0.5, 2.0], time)


def test_times_must_ascend() -> None:
    with pytest.raises(MeshError, match="ascend"):
        MeshSeries([0.0, 0.0], lambda i: tetrahedron())
    with pytest.raises(MeshError, match=r"info\.time"):
        MeshSeries.of([tetrahedron()])
