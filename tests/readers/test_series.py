"""Meshes over time through one door, whatever holds them: pvd, series, VTKHDF, store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.info import MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, kuhn_cube, one_of_each
from tests.readers.vtk_saving import column, plain_vtk, saved

TIMES = (-1e-300, 0.1 + 0.2, 1 / 3, 1e22)  # no float32, and no six digits, tell them


def steps() -> list[Mesh]:
    """Twice the same cells, then others; "late" comes at the end, "p" is not at the second."""
    cube = kuhn_cube(2)
    made = []
    for k, mesh in enumerate((cube, cube, hanging_polyhedron(), one_of_each())):
        n, m = mesh.n_points, mesh.n_cells
        point = {"T": torch.arange(n, dtype=torch.float64) / 7 + k}
        cell = {} if k == 1 else {"p": torch.full((m,), float(k))}
        if k == 3:
            cell["late"] = torch.ones(m, 3)
        mesh = mesh.with_data(point=point, cell={**cell, "mat": [f"m{i % 2}" for i in range(m)]})
        regions = [
            Region("all", "cell", torch.arange(m)),
            Region("tip", "point", torch.tensor([k])),
        ]
        info = mesh.info.replace(time=TIMES[k], length_unit="mm")
        made.append(mesh.replace(regions=regions, info=info))
    return made


def ours(folder: Path, suffix: str) -> Path:
    write(MeshSeries.of(steps()), folder / f"a{suffix}")
    return folder / f"a{suffix}"


@pytest.fixture(params=[".pvd", ".vtkhdf", ".zarr"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return ours(tmp_path, request.param)


def test_every_time_comes_back_as_it_was(file: Path) -> None:
    series = read_series(file)
    assert series.times == TIMES
    for mesh, found in zip(steps(), series, strict=True):
        assert differences(mesh, found) == []


def test_one_time_is_chosen(file: Path) -> None:
    made = steps()
    for time, k in (
        *[("first", 0), ("last", 3), (0, 0), (-1, 3), (1, 1), (np.int64(2), 2)],
        *[(TIMES[k], k) for k in range(4)],
    ):
        assert differences(made[k], read(file, time=time)) == []
    assert read(file).info.time == TIMES[-1]
    with pytest.raises(
        ReadError, match=r"no time 0\.299; there are -1e-300, 0\.30000000000000004, "
    ):
        read(file, time=0.3 - 1e-3)
    with pytest.raises(ReadError, match="no step 4; there are 4 times"):
        read(file, time=4)


def test_cells_that_stay_are_one_object(file: Path) -> None:
    series = read_series(file)
    first, second, third = series[0], series[1], series[2]
    assert first.cells is second.cells
    assert third.cells is not first.cells


@pytest.mark.parametrize("suffix", [".pvd", ".vtkhdf"])
def test_what_other_times_have_is_reported_and_not_invented(suffix: str, tmp_path: Path) -> None:
    series = read_series(ours(tmp_path, suffix))
    absent = [
        sorted(e.name for e in mesh.info.report.dropped if "absent at this time" in e.reason)
        for mesh in series
    ]
    late, both = ["cell_data/late"], ["cell_data/late", "cell_data/p"]
    assert absent == [late, both, late, []]
    assert "p" not in series[1].cell_data.keys()
    assert all(mesh.info.report.lossless for mesh in series)


@pytest.mark.parametrize("other", [".pvd", ".vtkhdf", ".zarr"])
def test_from_each_to_each(file: Path, other: str, tmp_path: Path) -> None:
    report = write(read_series(file), tmp_path / "there" / f"b{other}")
    assert report.lossless
    back = tmp_path / "back" / file.name
    write(read_series(tmp_path / "there" / f"b{other}"), back)
    series = read_series(back)
    assert series.times == TIMES
    for mesh, found in zip(steps(), series, strict=True):
        assert differences(mesh, found) == []


def test_only_what_is_asked_for_is_loaded() -> None:
    asked: list[int] = []
    made = steps()

    def load(i: int) -> Mesh:
        asked.append(i)
        return made[i]

    series = MeshSeries(TIMES, load)
    assert asked == []
    series.at(TIMES[2])
    assert asked == [2]


def pieces(folder: Path, k: int) -> str:
    """A pvtu of two cubes."""
    for i in range(2):
        values = column(*[10.0 * k + i] * 8)
        saved(plain_vtk(cube_hexes(1), point={"p": values}), folder / f"p{k}_{i}.vtu")
    (folder / f"p{k}.pvtu").write_text(
        '<VTKFile type="PUnstructuredGrid" version="1.0"><PUnstructuredGrid GhostLevel="0">'
        '<PPointData><PDataArray type="Float64" Name="p"/></PPointData>'
        + "".join(f'<Piece Source="p{k}_{i}.vtu"/>' for i in range(2))
        + "</PUnstructuredGrid></VTKFile>"
    )
    return f"p{k}.pvtu"


def blocks(folder: Path, k: int) -> str:
    """A vtm of two blocks."""
    halves = [Region("a", "cell", torch.arange(4)), Region("b", "cell", torch.arange(4, 8))]
    mesh = cube_hexes(2).with_data(point={"p": torch.full((27,), 10.0 * k)})
    write(mesh.replace(regions=halves), folder / f"b{k}.vtm")
    return f"b{k}.vtm"


@pytest.mark.parametrize("kind", [pieces, blocks])
def test_pieces_and_blocks_over_time(kind: Callable[[Path, int], str], tmp_path: Path) -> None:
    rows = [(TIMES[k], kind(tmp_path, k)) for k in range(3)]
    (tmp_path / "a.pvd").write_text(
        '<VTKFile type="Collection"><Collection>'
        + "".join(f'<DataSet timestep="{t!r}" file="{name}"/>' for t, name in rows)
        + "</Collection></VTKFile>"
    )
    series = read_series(tmp_path / "a.pvd")
    assert series.times == TIMES[:3]
    first, last = series[0], series[2]
    assert first.cells is last.cells
    assert last.point_data["p"].max() >= 20 > first.point_data["p"].max()
    # One time without its file: the others are there.
    (tmp_path / rows[0][1]).unlink()
    series = read_series(tmp_path / "a.pvd")
    assert series[1].n_cells == first.n_cells
    with pytest.raises(ReadError, match="is missing"):
        series[0]
    write(MeshSeries.of([series[1], series[2]]), tmp_path / "b.zarr")
    assert differences(series[1], read(tmp_path / "b.zarr", time=0)) == []


def test_a_file_of_one_time_is_a_series_of_one(tmp_path: Path) -> None:
    for suffix in (".vtu", ".npz", ".vtkhdf", ".pvd", ".zarr"):
        mesh = cube_hexes(1).replace(info=MeshInfo(time=0.25))
        write(mesh, tmp_path / f"a{suffix}")
        series = read_series(tmp_path / f"a{suffix}")
        assert series.times == (0.25,) and differences(mesh, series[0]) == []
        for time in ("first", "last", 0, -1, 0.25):
            assert read(tmp_path / f"a{suffix}", time=time).info.time == 0.25
