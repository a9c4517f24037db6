"""Groups of fields that hold nothing: kept, or refused and counted as lost."""

from pathlib import Path

import pytest
import torch

from meshkit.errors import LossError
from meshkit.fields import empty_groups
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.formats import FORMATS, Format
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from meshkit.store.handle import open_store
from tests.mesh_differences import differences
from tests.meshes import square_triangles

WRITTEN = [row for row in FORMATS if row.writer]
REASON = "it holds no field; the format knows groups by their fields alone"


def grouped() -> Mesh:
    """Empty groups first, last, between fields and within a group."""
    p = torch.arange(4.0)
    return make_mesh(
        torch.rand(4, 3, dtype=torch.float64),
        torch.tensor([[0, 1, 2], [1, 2, 3]]),
        point_data={"a/b": {}, "p": p, "flow": {"x": {}, "U": p, "y": {}}, "q": p, "z": {}},
        cell_data={"b": {"": {}}},
        global_data={"g": {}},
        regions=[Region("r", "point", [0, 1], data={"e": {}, "T": p[:2]})],
    )


def test_where_they_stand() -> None:
    found = empty_groups(grouped().point_data)
    assert found == [(("a/b",), 0), (("flow", "x"), 1), (("flow", "y"), 2), (("z",), 3)]


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.name)
def test_each_format_keeps_or_counts_them(row: Format, tmp_path: Path) -> None:
    mesh, path = grouped(), tmp_path / f"it{row.suffixes[0]}"
    dropped = [e for e in write(mesh, path, format=row.name, allow_loss=True) if e.what == "group"]
    back = read(path)
    if row.groups:
        assert dropped == [] and differences(mesh, back) == []
        return
    assert list(back.cell_data.keys()) == list(back.global_data.keys()) == []
    assert {(e.name, e.count, e.reason, e.loss) for e in dropped} == {
        (name, 1, REASON, True)
        for name in (
            *("point_data/a/b", "point_data/flow/x", "point_data/flow/y", "point_data/z"),
            *("cell_data/b/", "global_data/g", "regions/r/point/e"),
        )
    }


@pytest.mark.parametrize(
    "row", [row for row in WRITTEN if not row.groups], ids=lambda row: row.name
)
def test_a_format_without_them_refuses_a_mesh_that_has_nothing_else_to_lose(
    row: Format, tmp_path: Path
) -> None:
    path = tmp_path / f"it{row.suffixes[0]}"
    mesh = square_triangles(1, 3)
    write(mesh, path, format=row.name)
    before = path.read_bytes()
    empty = mesh.with_data(point={"flow": {}})
    message = f"{row.name} cannot hold group 'point_data/flow' \\({REASON}\\); choose another"
    with pytest.raises(LossError, match=message):
        write(empty, path, format=row.name)
    if row.series_writer:
        with pytest.raises(LossError, match="cannot hold group 'point_data/flow'"):
            write(MeshSeries([0.0, 1.0], [mesh, empty].__getitem__), path, format=row.name)
    assert path.read_bytes() == before
    assert [e.name for e in write(empty, path, format=row.name, allow_loss=True).losses] == [
        "point_data/flow"
    ]


@pytest.mark.parametrize(
    "row", [row for row in WRITTEN if row.series_writer], ids=lambda row: row.name
)
def test_over_time(row: Format, tmp_path: Path) -> None:
    """Some groups are there at one time only; what is dropped is counted once."""
    first = grouped()
    second = first.replace(point_data={"p": torch.ones(4), "flow": {"x": {}}})
    path = tmp_path / f"it{row.suffixes[0]}"
    series = MeshSeries([0.0, 1.0, 2.0], [first, second, second].__getitem__)
    report = write(series, path, format=row.name, allow_loss=True)
    dropped = [e.name for e in report if e.what == "group"]
    if not row.groups:
        assert len(dropped) == len(set(dropped)) == 7
        return
    assert dropped == []
    for wanted, back in zip(series, read_series(path), strict=True):
        assert differences(wanted.replace(info=back.info), back) == []


def test_the_handle_of_a_store_gives_those_of_a_region(tmp_path: Path) -> None:
    write(grouped(), tmp_path / "it.zarr")
    data = open_store(tmp_path / "it.zarr").region("r").data
    assert data is not None and list(data.keys()) == ["e", "T"]
