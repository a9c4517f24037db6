"""A series reads when asked, shares its topology, and knows its times."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    ("time", "step"),
    [
        *[("first", 0), ("last", 2), (1, 1), (-1, 2), (0.5, 1), (0.5 + 1e-12, 1)],
        *[(np.int64(1), 1), (np.uint8(2), 2), (np.float64(0.5), 1), (np.float32(2), 2)],
    ],
)
def test_which_step(time: Any, step: int) -> None:
    assert step_of([0.0, 0.5, 2.0], time) == step


def test_near_times_stay_apart() -> None:
    times = [0.1, 0.1 + 1e-12, 1 / 3, 1.7e308]
    assert [step_of(times, t) for t in times] == [0, 1, 2, 3]
    with pytest.raises(MeshError, match=r"no time 0\.2; there are 0\.1, 0\.1000000000010"):
        step_of(times[:3], 0.2)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (0.6, "no time 0.6; there are 0, 0.5, 2"),
        (3, "no step 3; there are 3 times: 0, 0.5, 2"),
        ("now", "'first', 'last'"),
        (float("nan"), "no time nan; there are 0, 0.5, 2"),
        (float("inf"), "no time inf"),
        (None, "expected 'first', 'last', a step .int. or a time .float., found None"),
        (True, "found True"),
        (1j, "found 1j"),
        ([0.5], r"found \[0.5\]"),
    ],
)
def test_no_such_step(time: Any, message: str) -> None:
    with pytest.raises(MeshError, match=message):
        step_of([0.0, 0.5, 2.0], time)


def test_a_time_is_meant_within_its_own_gap() -> None:
    """A far last time does not make the first ones the same; float32 times are found."""
    times = [0.0, float(np.float32(0.1)), 1.0, 1e22, 1.7e308]
    assert step_of(times, 0.1) == 1
    assert step_of([-1.7e308, 1.7e308], 1.7e308) == 1
    for missing in (0.1 + 1e-6, 0.999, 1e21, -1.7e308):
        with pytest.raises(MeshError, match="no time"):
            step_of(times, missing)
    assert step_of([0.3], 0.1 + 0.2) == 0
    with pytest.raises(MeshError, match="no time"):
        step_of([0.3], 0.31)


def test_times_must_ascend() -> None:
    with pytest.raises(MeshError, match="ascend"):
        MeshSeries([0.0, 0.0], lambda i: tetrahedron())
    with pytest.raises(MeshError, match="finite"):
        MeshSeries([0.0, float("nan")], lambda i: tetrahedron())
    with pytest.raises(MeshError, match=r"info\.time"):
        MeshSeries.of([tetrahedron()])
