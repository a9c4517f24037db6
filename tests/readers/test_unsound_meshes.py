"""Meshes whose ids name nothing: refused before a byte is written, but in formats of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit.cells import Cells, Polyhedra
from meshkit.errors import MeshError, WriteError
from meshkit.faces import Faces
from meshkit.info import Grid, MeshInfo
from meshkit.mesh import Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.formats import FORMATS
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import (
    cube_hexes,
    hanging_polyhedron,
    one_of_each,
    square_triangles,
    tetrahedron,
    two_tetrahedra,
)

FOREIGN = [row.name for row in FORMATS if row.writer is not None and not row.native]


def of(types: list[int], offsets: list[int], ids: list[int], solids: object = None) -> Mesh:
    """Four points and these cells."""
    cells = Cells(
        torch.tensor(types, dtype=torch.uint8),
        torch.tensor(offsets),
        torch.tensor(ids, dtype=torch.int64),
        None if solids is None else Polyhedra(*(torch.tensor(x) for x in solids)),  # type: ignore[attr-defined]
    )
    return tetrahedron().replace(cells=cells)


def with_faces(**parts: list[int]) -> Mesh:
    mesh = two_tetrahedra()
    faces = mesh.faces
    assert faces is not None
    given = {k: getattr(faces, k) for k in ("offsets", "connectivity", "owner", "neighbour")}
    return mesh.replace(faces=Faces(**(given | {k: torch.tensor(v) for k, v in parts.items()})))


def with_region(entity: str, ids: list[object]) -> Mesh:
    region = Region("r", entity, torch.tensor(ids))  # type: ignore[arg-type]
    return two_tetrahedra().replace(regions=[region])


UNSOUND = {
    "an id too high": (of([10], [0, 4], [0, 1, 2, 4]), "cell 0: .* 0 to 3, found 4"),
    "an id below 0": (of([10, 10], [0, 4, 8], [0, 1, 2, 3, 0, 1, 2, -1]), "cell 1: .* found -1"),
    "a quad of 3": (of([5, 9], [0, 3, 6], [0, 1, 2] * 2), "cell 1: a quad has 4 points, found 3"),
    "only quads of 3": (of([9], [0, 3], [0, 1, 2]), "cell 0: a quad has 4 points, found 3"),
    "offsets that fall": (of([7, 7, 7], [0, 4, 1, 3], [0, 1, 2]), "cells.offsets: .* 4 and then 1"),
    "an unknown type": (of([5, 99], [0, 3, 6], [0, 1, 2] * 2), "cell 1: type 99 is unknown"),
    "no faces": (of([42], [0, 4], [0, 1, 2, 3]), "expected faces of 1 type-42 cells, found 0"),
    "a polyhedron's id": (
        of([42], [0, 4], [0, 1, 2, 3], ([0, 2], [0, 3, 6], [0, 1, 2, 0, 1, 9])),
        "cells.polyhedra: .* 0 to 3, found 9",
    ),
    "a polyhedron's offsets": (
        of([42], [0, 4], [0, 1, 2, 3], ([0, 3], [0, 4, 3, 6], [0, 1, 2, 0, 1, 3])),
        "cells.polyhedra.offsets: .* 4 and then 3",
    ),
    "a face's id": (with_faces(connectivity=[0, 2, 8] * 7), "faces.connectivity: .* 8 in row 2"),
    "a face's owner": (with_faces(owner=[0, 0, 0, 0, 1, 1, 2]), "faces.owner: .* 2 in row 6"),
    "a face's neighbour": (with_faces(neighbour=[-2] * 7), "faces.neighbour: .* -2 in row 0"),
    "a point": (with_region("point", [0, 5]), "region 'r': expected point ids .* 5 in row 1"),
    "a cell": (with_region("cell", [2]), "region 'r': expected cells from 0 to 1, found 2"),
    "a face": (with_region("face", [7]), "region 'r': expected faces from 0 to 6, found 7"),
    "an edge": (with_region("edge", [[0, 9]]), "region 'r': expected point ids .* found 9"),
    "a side of no cell": (with_region("side", [[2, 0]]), "region 'r': expected cells .* found 2"),
    "a side below 0": (with_region("side", [[0, -1]]), "expected local faces from 0 on, found -1"),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_it_is_refused_and_named(case: str, tmp_path: Path) -> None:
    mesh, says = UNSOUND[case]
    with pytest.raises(MeshError, match=says):
        need_structure(mesh)
    for name in FOREIGN:
        with pytest.raises(WriteError, match=says):
            write(mesh, tmp_path / f"it.{name}", format=name, allow_loss=True)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", UNSOUND)
def test_formats_of_our_own_give_it_back(case: str, tmp_path: Path) -> None:
    mesh = UNSOUND[case][0]
    write(mesh, tmp_path / "it.npz")
    assert differences(mesh, read(tmp_path / "it.npz")) == []


@pytest.mark.parametrize("name", [row.name for row in FORMATS if row.series_writer is not None])
def test_every_time_of_a_series_is_looked_at(name: str, tmp_path: Path) -> None:
    wrong = UNSOUND["an id too high"][0]
    series = MeshSeries([0.0, 0.5], [tetrahedron(), wrong].__getitem__)
    if name == "zarr":
        write(series, tmp_path / "it", format=name)
        return
    with pytest.raises(WriteError, match=r"time 0\.5: cell 0: expected point ids"):
        write(series, tmp_path / "it", format=name)
    assert list(tmp_path.iterdir()) == []


def test_sound_ones_pass() -> None:
    for mesh in (two_tetrahedra(), one_of_each(), hanging_polyhedron(), cube_hexes(2)):
        need_structure(mesh)
    need_structure(tetrahedron().replace(cells=Cells.none(torch.zeros(0)), regions=[]))


@pytest.mark.parametrize("suffix", ["vtu", "vtm", "vtk", "npz"])
def test_pending_signs_and_conjugates_are_written_out(suffix: str, tmp_path: Path) -> None:
    z = torch.tensor([1 + 2j, -3j, 0, 4], dtype=torch.complex64)
    mesh = tetrahedron()
    negative = torch._neg_view(mesh.points)
    mesh = mesh.replace(points=negative).with_data(point={"z": z.conj(), "im": z.conj().imag})
    write(mesh, tmp_path / f"it.{suffix}")
    found = read(tmp_path / f"it.{suffix}")
    assert torch.equal(found.points, -tetrahedron().points)
    assert found.point_data["z"].tolist() == [1 - 2j, 3j, 0, 4]
    assert found.point_data["im"].tolist() == [-2, 3, 0, 0]


@pytest.mark.parametrize("suffix", ["vtu", "vtm", "vtk", "npz"])
def test_sparse_tensors_are_refused(suffix: str, tmp_path: Path) -> None:
    mesh = tetrahedron()
    mesh = mesh.replace(points=mesh.points.to_sparse())
    with pytest.raises(WriteError, match=r"points is torch\.sparse_coo"):
        write(mesh, tmp_path / f"it.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["vtu", "vtm", "vtk", "vtp"])
def test_what_json_cannot_say_is_refused(suffix: str, tmp_path: Path) -> None:
    grid = Grid((np.int64(4),))  # type: ignore[arg-type]
    mesh = square_triangles().replace(info=MeshInfo(grid=grid))
    with pytest.raises(WriteError, match=r"info or a region holds what JSON cannot: Object of ty"):
        write(mesh, tmp_path / f"it.{suffix}")
    assert list(tmp_path.iterdir()) == []
