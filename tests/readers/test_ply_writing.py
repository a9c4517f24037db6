"""PLY: what we write comes back, or is listed as lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from meshkit.errors import LossError, WriteError
from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import cube_surface, square_quads, tetrahedron, two_tetrahedra
from tests.random_meshes import random_meshes
from tests.readers.by_hand import read_text
from tests.readers.ply_files import SQUARE, rich


def test_everything_comes_back(tmp_path: Path) -> None:
    assert write(rich(), tmp_path / "it.ply").lossless
    back = read(tmp_path / "it.ply")
    assert differences(rich(), back) == []
    assert back.info.report.lossless
    text = (tmp_path / "it.ply").read_bytes().partition(b"end_header")[0].decode()
    assert "property float nx\n" in text
    assert "property uchar alpha\n" in text
    assert "comment one\nobj_info two\ncomment meshkit {" in text
    assert max(map(len, text.split("\n"))) < 500


@given(mesh=random_meshes(empty=False))
@settings(max_examples=60)
def test_any_mesh_comes_back_or_is_listed(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is no loss comes back bit for bit; a loss is refused, and allowed it is the only one."""
    path = tmp_path_factory.mktemp("ply") / "it.ply"
    report = write(mesh, path, allow_loss=True)
    back = read(path)
    if report.lossless:
        assert differences(mesh, back) == []
        return
    path.unlink()
    with pytest.raises(LossError) as caught:
        write(mesh, path)
    assert not path.exists()
    assert report.losses == caught.value.report.losses
    assert back.n_points == mesh.n_points
    cells = sum(e.count for e in report.losses if e.what == "cells" and e.name != "degrees")
    assert back.n_cells == mesh.n_cells - cells
    fields = [e for e in report.losses if e.what == "field" and e.name.startswith("point_data")]
    assert _leaves(back) == _leaves(mesh) - len(fields)
    changed = [change for change in differences(mesh, back) if change.startswith("point_data (")]
    assert changed == []


def _leaves(mesh: Mesh) -> int:
    return len(list(mesh.point_data.keys(include_nested=True, leaves_only=True)))


def test_losses_are_listed(tmp_path: Path) -> None:
    mesh = two_tetrahedra().replace(
        point_data={"big": torch.tensor([2**40] * 5), "c": torch.zeros(5, dtype=torch.complex64)},
        face_data={"phi": torch.zeros(7)},
        global_data={"Re": torch.tensor(1.0)},
        regions=[Region("wall", "point", [0])],
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.ply")
    assert [(e.what, e.name, e.count) for e in caught.value.report.losses] == [
        ("cells", "tetra", 2),
        ("field", "point_data/big", 5),
        ("field", "point_data/c", 5),
        ("region", "wall", 1),
        ("faces", "", 7),
        ("field", "face_data/phi", 7),
        ("field", "global_data/Re", 1),
    ]
    assert list(tmp_path.iterdir()) == []
    write(mesh, tmp_path / "it.ply", allow_loss=True)
    assert differences(make_mesh(mesh.points), read(tmp_path / "it.ply"), id_dtypes=False) == []


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_points_of_any_float_and_dimension(tmp_path: Path, d: int, dtype: torch.dtype) -> None:
    mesh = make_mesh(torch.arange(4 * d).reshape(4, d).to(dtype), [[0, 1], [2, 3]], types="line")
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_nothing_at_all(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(0, 2), cell_data={"p": torch.zeros(0, 3)})
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_polygons_of_more_than_255_vertices(tmp_path: Path) -> None:
    mesh = make_mesh(torch.rand(300, 3), [list(range(300)), [0, 1, 2]], types=["polygon"] * 2)
    write(mesh, tmp_path / "it.ply")
    assert differences(mesh, read(tmp_path / "it.ply")) == []


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    write(rich(), tmp_path / "a.ply")
    write(rich(), tmp_path / "b.ply")
    assert (tmp_path / "a.ply").read_bytes() == (tmp_path / "b.ply").read_bytes()


def test_another_program_has_changed_the_properties(tmp_path: Path) -> None:
    mesh = cube_surface().with_data(point={"p": torch.arange(8.0)})
    write(mesh, tmp_path / "it.ply")
    data = (tmp_path / "it.ply").read_bytes().replace(b"float p\n", b"float q\n")
    back = read_text(tmp_path / "it.ply", data)
    assert back.point_data["q"].tolist() == list(range(8))
    assert [(e.what, e.name) for e in back.info.report.losses] == [("info", "comment meshkit")]
    assert back.info.attributes["comments"] == ["written by meshkit"]
    plain = read_text(
        tmp_path / "it.ply", SQUARE.replace("format", "comment meshkit is a tool\nformat")
    )
    assert plain.info.attributes["comments"] == ["meshkit is a tool"]


def test_attributes_that_json_cannot_say(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(1, 3), info=MeshInfo(grid=Grid((np.int64(1),))))  # type: ignore[arg-type]
    with pytest.raises(WriteError, match=r"it\.ply: info holds what JSON cannot"):
        write(mesh, tmp_path / "it.ply")
    assert list(tmp_path.iterdir()) == []


def test_volumes_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LossError, match="ply cannot hold cells 'tetra'"):
        write(tetrahedron(), tmp_path / "it.ply")


def test_codes_that_mean_nothing_come_back_and_are_counted(tmp_path: Path) -> None:
    """A PLY has no checksum: a damaged code is a code, and the report says that it has no text."""
    key: tuple[str, ...] = ("cell_data", "material")
    known = {key: FieldInfo(vocabulary=("steel", "air"))}
    mesh = square_quads(2).with_data(cell={"material": torch.tensor([1, 7, 1, 0])})
    mesh = mesh.replace(info=MeshInfo(fields=known))
    write(mesh, tmp_path / "it.ply")
    back = read(tmp_path / "it.ply")
    assert differences(mesh, back) == []
    (line,) = (e for e in back.info.report if e.what == "codes")
    said = "cell_data/material: codes beyond its 2 texts (1 rows: 1)"
    assert (line.outcome, line.name, line.count, line.reason) == ("kept", "out of range", 1, said)
    whole = mesh.with_data(cell={"material": torch.tensor([1, -1, 1, 0])})
    write(whole, tmp_path / "it.ply")
    assert "codes" not in {e.what for e in read(tmp_path / "it.ply").info.report}
