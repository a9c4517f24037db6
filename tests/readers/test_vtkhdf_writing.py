"""VTKHDF: what we write comes back, and VTK sees it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.errors import WriteError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.readers.reading import read, read_series
from meshkit.readers.vtk import from_mesh
from meshkit.readers.writing import write
from meshkit.report import Ledger
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, kuhn_cube, one_of_each, tetrahedron
from tests.random_meshes import random_meshes
from tests.readers.vtk_views import seen_by_vtk
from tests.readers.vtkhdf_files import by_vtk, changed, lines, moving, replaced
from tests.readers.vtkhdf_saving import (
    saved,
)


@settings(max_examples=200)
@given(mesh=random_meshes())
def test_anything_comes_back_and_vtk_sees_it(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("vtkhdf") / "a.vtkhdf"
    write(mesh, file)
    assert differences(mesh, read(file)) == []
    assert_vtk_sees(mesh, by_vtk(file))


def assert_vtk_sees(mesh: Mesh, dataset: Any, *, more: bool = False) -> None:
    """vtk's own reader has each point, cell and array of a mesh; `more` allows others beside."""
    seen, data = seen_by_vtk(dataset), from_mesh(mesh, Ledger())
    assert np.array_equal(seen["points"], data.points.astype(float), equal_nan=True)
    assert seen["types"] == data.types.tolist()
    offsets, ids = data.offsets.tolist(), data.connectivity.tolist()
    assert seen["cells"] == [ids[a:b] for a, b in itertools.pairwise(offsets)]
    for home, arrays in (("point_data", data.point_arrays), ("cell_data", data.cell_arrays)):
        found = seen[home]
        assert len(found) == len(arrays) or (more and len(found) > len(arrays))
        for name, array in arrays.items():
            if isinstance(array.values, list) or name not in found:
                continue  # codes, or another name
            values = found[name].reshape(-1)
            if values.dtype == array.values.dtype and len(values) == array.values.size:
                assert values.tobytes() == array.values.tobytes()
            else:
                assert more
    assert len(seen["global_data"]) >= len(data.field_arrays)
    if data.polyhedra is not None:
        faces = dataset.GetPolyhedronFaces().GetNumberOfCells()
        assert faces == len(data.polyhedra[1]) - 1


def test_texts_for_vtk_are_numbers_and_words(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).with_data(
        point={"z": torch.arange(8.0)},
        cell={"b/mat.x": ["steel", "", "ö", "steel", "", "air"], "c": torch.arange(6)},
        global_={"words": ["x", "", "🙂"], "none": torch.zeros(0, 3)},
    )
    write(mesh, tmp_path / "a.vtkhdf")
    assert differences(mesh, read(tmp_path / "a.vtkhdf")) == []
    seen = seen_by_vtk(by_vtk(tmp_path / "a.vtkhdf"))
    assert seen["cell_data"]["b%2Fmat.x"].tolist() == [0, 1, 2, 0, 1, 3]
    assert seen["global_data"]["meshkit_words cell_data b%2Fmat.x"] == ["steel", "", "ö", "air"]
    assert seen["cell_data"]["c"].tolist() == [0, 1, 2, 3, 4, 5]
    assert seen["global_data"]["words"] == ["x", "", "🙂"]


def test_roles_for_vtk(tmp_path: Path) -> None:
    kinds = {"n": "normals", "u": "vectors", "two": "vectors", "v": "vectors", "id": "global_ids"}
    mesh = tetrahedron().replace(
        point_data={
            **{name: torch.ones(4, 3) for name in "nuv"},
            "two": torch.ones(4, 2),
            "id": torch.arange(4),
        },
        info=MeshInfo(fields={("point_data", k): FieldInfo(kind=v) for k, v in kinds.items()}),
    )
    write(mesh, tmp_path / "a.vtkhdf")
    assert differences(mesh, read(tmp_path / "a.vtkhdf")) == []
    data = by_vtk(tmp_path / "a.vtkhdf").GetPointData()
    assert data.GetNumberOfArrays() == 5  # vtk drops the first of two vectors
    assert data.GetNormals().GetName() == "n"
    assert data.GetVectors().GetName() == "u"
    assert data.GetGlobalIds().GetName() == "id"


@settings(max_examples=30)
@given(
    meshes=st.lists(random_meshes(point_dtypes=(torch.float64,)), min_size=2, max_size=4),
    words=st.lists(st.sampled_from(["", "a", "ö"]), max_size=3),
)
def test_any_series_comes_back_and_vtk_sees_it(
    meshes: list[Mesh], words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if words:
        texts = [words[i % len(words)] for i in range(meshes[-1].n_cells)]
        meshes[-1] = meshes[-1].with_data(cell={"mat": texts}, global_={"words": words})
    timed = [m.replace(info=m.info.replace(time=i / 10)) for i, m in enumerate(meshes)]
    file = tmp_path_factory.mktemp("vtkhdf") / "a.vtkhdf"
    write(MeshSeries.of(timed), file)
    series = read_series(file)
    assert series.times == tuple(i / 10 for i in range(len(meshes)))
    for k in reversed(range(len(timed))):
        assert differences(timed[k], series[k]) == []
        assert_vtk_sees(timed[k], by_vtk(file, k), more=True)


@pytest.mark.parametrize("kind", ["static", "moving", "changing"])
def test_vtk_has_each_time_by_its_value(kind: str, tmp_path: Path) -> None:
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    times = [0.1, 0.1 + 1e-12, 1 / 3, 2.5e300]
    meshes = []
    for k, time in enumerate(times):
        cube = kuhn_cube(2)
        mesh = cube.replace(points=cube.points * (k + 1)) if kind == "moving" else cube
        if kind == "changing":
            mesh = [kuhn_cube(1), hanging_polyhedron(), one_of_each(), cube][k]
        n, m = mesh.n_points, mesh.n_cells
        mesh = mesh.with_data(
            point={"T": torch.randn(n, dtype=torch.float64), "a/b [é]": torch.randn(n, 3)},
            cell={"p.x": torch.randn(m), "mat": [f"air {(i + k) % 3}" for i in range(m)]},
            global_={"words": [f"w{k}", "x"], "v": torch.arange(3.0) + k},
        )
        meshes.append(mesh.replace(info=mesh.info.replace(time=time)))
    write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    for mesh, time in zip(meshes, times, strict=True):
        reader = vtkHDFReader()
        reader.SetFileName(str(tmp_path / "a.vtkhdf"))
        reader.UpdateInformation()
        assert reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS()) == tuple(times)
        reader.UpdateTimeStep(time)
        seen = seen_by_vtk(reader.GetOutput())
        assert np.array_equal(seen["points"], mesh.points)
        assert seen["types"] == mesh.cells.types.tolist()
        points, cells, field = seen["point_data"], seen["cell_data"], seen["global_data"]
        assert set(points) == {"T", "a%2Fb [é]"} and set(cells) == {"p.x", "mat"}
        assert np.array_equal(points["T"], mesh.point_data["T"])
        assert np.array_equal(points["a%2Fb [é]"], mesh.point_data["a/b [é]"])
        assert np.array_equal(cells["p.x"], mesh.cell_data["p.x"])
        words = field["meshkit_words cell_data mat"]
        k = times.index(time)
        said = [f"air {(i + k) % 3}" for i in range(mesh.n_cells)]
        assert [words[i] for i in cells["mat"].tolist()] == said
        assert list(field["words"]) == [f"w{k}", "x"]
        assert np.array_equal(np.ravel(field["v"]), mesh.global_data["v"])


def test_what_stays_is_written_and_read_once(tmp_path: Path) -> None:
    meshes = moving()
    report = write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    assert ("kept", "", 5) in lines(report, "time")
    assert ("kept", "tetra", 5 * 162) in lines(report, "cells")
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        group = file["VTKHDF"]
        assert group["Connectivity"].shape == (648,)
        assert group["Points"].shape == (2 * 64, 3)
        assert group["PointData/p"].shape == (5 * 64,)
        assert group["PointData/static"].shape == (64,)
        assert group["Steps/PointOffsets"][()].tolist() == [0, 0, 0, 64, 64]
        assert group["Steps/PartOffsets"][()].tolist() == [0] * 5
        assert group["Steps/Values"].dtype == np.float64
    series = read_series(tmp_path / "a.vtkhdf")
    found = list(series)
    assert all(differences(a, b) == [] for a, b in zip(meshes, found, strict=True))
    assert len({id(m.cells) for m in found}) == 1


def test_a_field_that_is_absent_at_times(tmp_path: Path) -> None:
    cube = cube_hexes(1)
    fields = [{"p": torch.ones(8)}, {}, {"p": torch.full((8,), 2.0), "a/b": torch.arange(8)}]
    meshes = [
        cube.replace(point_data=data, info=MeshInfo(time=float(k))) for k, data in enumerate(fields)
    ]
    write(MeshSeries.of(meshes), tmp_path / "a.vtkhdf")
    series = read_series(tmp_path / "a.vtkhdf")
    assert [sorted(m.point_data.keys()) for m in series] == [["p"], [], ["a/b", "p"]]
    absent = [[e.name for e in m.info.report.dropped if e.what == "field"] for m in series]
    assert absent == [["point_data/a/b"], ["point_data/a/b", "point_data/p"], []]
    assert all(m.info.report.lossless for m in series)
    # Other programs find NaN and -1 where there is nothing.
    seen = seen_by_vtk(by_vtk(tmp_path / "a.vtkhdf", 1))["point_data"]
    assert np.isnan(seen["p"]).all()
    assert seen["a%2Fb"].tolist() == [-1] * 8


def test_what_another_program_adds_is_read_too(tmp_path: Path) -> None:
    write(cube_hexes(1).with_data(point={"p": torch.ones(8)}), tmp_path / "a.vtkhdf")
    mesh = read(changed(tmp_path / "a.vtkhdf", replaced("PointData/new", np.arange(8.0))))
    assert list(mesh.point_data.keys()) == ["p", "new"]


def test_what_vtk_writes_anew_comes_back(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).with_data(
        point={"a.b": torch.arange(8.0)}, cell={"mat": ["x", "y", "", "x", "y", "ö"]}
    )
    write(mesh, tmp_path / "a.vtkhdf")
    saved(by_vtk(tmp_path / "a.vtkhdf"), tmp_path / "b.vtkhdf")
    assert differences(mesh, read(tmp_path / "b.vtkhdf")) == []


def test_the_same_mesh_makes_the_same_bytes(tmp_path: Path) -> None:
    for series in (False, True):
        for name in ("a", "b"):
            mesh = MeshSeries.of(moving()) if series else moving()[0]
            write(mesh, tmp_path / f"{name}.vtkhdf")
        assert (tmp_path / "a.vtkhdf").read_bytes() == (tmp_path / "b.vtkhdf").read_bytes()
        with h5py.File(tmp_path / "a.vtkhdf") as file:
            times = [
                h5py.h5o.get_info(file[name].id).mtime for name in ("/", "VTKHDF", "VTKHDF/Points")
            ]
        assert times == [0, 0, 0]


def test_series_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"
    with pytest.raises(WriteError, match="a series of no times; expected one at least"):
        write(MeshSeries([], [].__getitem__), file)
    meshes = moving(2)
    meshes[1] = meshes[1].to(dtype=torch.float32)
    with pytest.raises(WriteError, match="the points change from float64 to float32; expected one"):
        write(MeshSeries.of(meshes), file)
    assert list(tmp_path.iterdir()) == []
