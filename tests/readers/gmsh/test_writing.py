"""MSH files out: what was written reads back as it was, and every loss is listed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings

from meshkit import (
    FieldInfo,
    LossError,
    Mesh,
    MeshSeries,
    Region,
    WriteError,
    make_mesh,
    read,
    read_series,
    write,
)
from meshkit.celltypes import CELL_TYPES
from meshkit.readers.gmsh.elements import element_of_cell
from tests.meshes import differences, kuhn_cube, one_of_each, random_meshes, square_triangles
from tests.readers.gmsh.saving import version_4_text

HELD = tuple(
    row.name for row in CELL_TYPES.values() if row.size and element_of_cell(row.number, row.size)
)


def round_trip(mesh: Mesh, folder: Path, *, allow_loss: bool = False) -> Mesh:
    write(mesh, folder / "it.msh", allow_loss=allow_loss)
    return read(folder / "it.msh")


def plain(region: Region) -> Region:
    """With its cells ascending and without data, as a file holds them."""
    order = torch.argsort(region.ids)
    flip = None if region.flip is None else region.flip[order]
    return region.replace(ids=region.ids[order], flip=flip, data=None)


@settings(max_examples=60)
@given(mesh=random_meshes(types=HELD, polyhedra=False, faces=False, regions=("cell",)))
def test_any_mesh_comes_back_or_is_listed(mesh: Mesh) -> None:
    mesh = mesh.replace(regions=map(plain, mesh.regions), global_data={})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.msh"
        report = write(mesh, path, allow_loss=True)
        found = differences(mesh, read(path), id_dtypes=False)
    lost = {e.name.replace("/", "', '") for e in report.losses}
    nans = any("NaN" in e.reason for e in report.converted)
    for line in found:
        bits = nans and "bytes of" in line
        assert bits or lost, (line, str(report))
    if not lost and not nans:
        assert found == []


def test_samples_come_back(tmp_path: Path, samples: Path) -> None:
    for name in ("derived/overlap_groups_tet10_bin.msh", "gmsh/nested_cubes.msh"):
        mesh = read(samples / name)
        assert differences(mesh, round_trip(mesh, tmp_path)) == []


def test_every_type_comes_back(tmp_path: Path) -> None:
    mesh = one_of_each()
    assert differences(mesh, round_trip(mesh, tmp_path), id_dtypes=False) == []
    for name, size in (
        ("lagrange_hexahedron", 64),
        ("lagrange_wedge", 40),
        ("lagrange_tetrahedron", 35),
    ):
        points = torch.rand(size, 3, dtype=torch.float64)
        mesh = make_mesh(points, [list(range(size))], types=name)
        assert differences(mesh, round_trip(mesh, tmp_path), id_dtypes=False) == []


def test_overlapping_groups_become_entities_that_do_not_overlap(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).replace(
        regions=[
            Region("all", "cell", list(range(6)), source_id=4),
            Region("some", "cell", [0, 1, 2], kind="zone", attributes={"k": 1}, parent="all"),
            Region("others", "cell", [2, 3], flip=torch.tensor([True, False])),
            Region("none", "cell", []),
        ]
    )
    assert differences(mesh, round_trip(mesh, tmp_path), id_dtypes=False) == []
    # without our own note: what any other program sees
    data = (tmp_path / "it.msh").read_bytes()
    begin, end = data.index(b"$Meshkit"), data.index(b"$EndMeshkit\n") + len(b"$EndMeshkit\n")
    (tmp_path / "it.msh").write_bytes(data[:begin] + data[end:])
    seen = read(tmp_path / "it.msh")
    groups = {r.name: r.ids.tolist() for r in seen.regions if r.kind == "physical"}
    assert groups == {"all": list(range(6)), "some": [0, 1, 2], "others": [2, 3], "none": []}
    turned = seen.region("others").flip
    assert turned is not None and turned.tolist() == [True, False]
    assert seen.region("all").source_id == 4
    parts = [set(r.ids.tolist()) for r in seen.regions if r.kind == "entity"]
    assert sorted(map(sorted, parts)) == [[0, 1], [2], [3], [4, 5]]


def test_the_note_is_left_alone_once_the_cells_have_changed(tmp_path: Path) -> None:
    mesh = kuhn_cube(1).replace(regions=[Region("a", "cell", [0], kind="zone")])
    write(mesh, tmp_path / "it.msh")
    data = (tmp_path / "it.msh").read_bytes()
    (tmp_path / "it.msh").write_bytes(data.replace(b'"checksum": ', b'"checksum": 1'))
    back = read(tmp_path / "it.msh")
    assert back.region("a").kind == "physical"
    assert [e.name for e in back.info.report.losses] == ["Meshkit"]


def test_what_reading_found_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "first.msh"
    path.write_text(version_4_text(one_of_each(), parts=True))
    mesh = read(path)
    assert {r.kind for r in mesh.regions} == {"physical", "entity", "ghost", "periodic"}
    mesh = mesh.with_data(
        cell={
            "c": torch.where(
                torch.arange(8)[None] < mesh.cells.sizes[:, None], 1.5, torch.nan
            ).double()
        },
        point={"node_tag": torch.arange(mesh.n_points).flip(0) * 3 + 1},
    )
    corners = FieldInfo(kind="ElementNodeData")
    mesh = mesh.replace(info=mesh.info.with_fields({("cell_data", "c"): corners}))
    assert differences(mesh, round_trip(mesh, tmp_path), id_dtypes=False) == []
    assert b"$ElementNodeData" in (tmp_path / "it.msh").read_bytes()


def test_fields_of_tags_that_count_from_1_come_back(tmp_path: Path) -> None:
    mesh = kuhn_cube(1)
    mesh = mesh.with_data(
        point={"node_tag": torch.arange(1, 9)}, cell={"element_tag": torch.arange(1, 7)}
    )
    assert differences(mesh, round_trip(mesh, tmp_path), id_dtypes=False) == []


def test_all_that_is_lost_is_listed(tmp_path: Path) -> None:
    mesh = make_mesh(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 1.5, 0]],
        [[0, 1, 2, 4, 3], [0, 1, 2]],
        types=["polygon", "triangle"],
        point_data={"z": torch.ones(5, dtype=torch.complex64), "big": [2**60 + 1] * 5},
        global_data={"Re": 1e5},
        regions=[
            Region("both", "cell", [0, 1], data={"T": [1.0, 2.0]}),
            Region("tip", "point", [0]),
            Region("wall", "side", [[1, 0]]),
        ],
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.msh")
    lost = {(e.what, e.name) for e in caught.value.report.losses}
    assert lost == {
        ("field", "global_data/Re"), ("field", "point_data/z"), ("field", "point_data/big"),
        ("region", "tip"), ("region", "wall"), ("region", "both"), ("region", "both: data"),
        ("cells", "polygon"), ("points", ""),
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    assert round_trip(mesh, tmp_path, allow_loss=True).cells.counts == {"triangle": 1}


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(one_of_each(), tmp_path / f"{name}.msh")
    assert (tmp_path / "a.msh").read_bytes() == (tmp_path / "b.msh").read_bytes()


def test_a_series_comes_back(tmp_path: Path) -> None:
    flat = square_triangles(2)
    meshes = [
        flat.with_data(point={"T": torch.full((flat.n_points,), float(i))}).replace(
            info=flat.info.replace(time=t)
        )
        for i, t in enumerate((0.1, 0.2, 3.0))
    ]
    meshes[1] = meshes[1].with_data(cell={"once": torch.arange(flat.n_cells)})
    series = MeshSeries.of(meshes)
    write(series, tmp_path / "it.msh")
    back = read_series(tmp_path / "it.msh")
    assert back.times == series.times
    for mine, theirs in zip(meshes, back, strict=True):
        assert differences(mine, theirs, id_dtypes=False) == []
    moved = meshes[2].replace(points=meshes[2].points + 1)
    with pytest.raises(WriteError, match="points change at time 3"):
        write(MeshSeries.of([meshes[0], moved]), tmp_path / "it.msh")
    with pytest.raises(WriteError, match="no times"):
        write(MeshSeries([], meshes.__getitem__), tmp_path / "it.msh")
