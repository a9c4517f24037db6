"""MSH files out: what was written reads back as it was, and every loss is listed."""

from __future__ import annotations

import tempfile
from collections.abc import Container
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from tensordict import TensorDict

from meshkit import (
    FieldInfo,
    LossError,
    Mesh,
    MeshkitError,
    MeshSeries,
    Region,
    WriteError,
    make_mesh,
    operators as ops,
    read,
    read_series,
    write,
)
from meshkit.celltypes import CELL_TYPES
from meshkit.fields import leaves
from meshkit.readers.gmsh.elements import element_of_cell
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube, one_of_each, square_triangles
from tests.random_meshes import random_meshes
from tests.readers.gmsh.saving import version_4_text

HELD = tuple(
    row.name for row in CELL_TYPES.values() if row.size and element_of_cell(row.number, row.size)
)


def round_trip(mesh: Mesh, folder: Path, *, allow_loss: bool = False) -> Mesh:
    write(mesh, folder / "it.msh", allow_loss=allow_loss)
    return read(folder / "it.msh")


@settings(max_examples=60)
@given(mesh=random_meshes(types=HELD, polyhedra=False, faces=False, empty=False))
def test_any_mesh_comes_back_but_for_what_is_listed(mesh: Mesh) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.msh"
        report = write(mesh, path, allow_loss=True)
        expected = without(mesh, {entry.name for entry in report.losses})
        found = differences(expected, read(path), id_dtypes=False)
    nans = {entry.name for entry in report.converted if "NaN" in entry.reason}
    bits = [line for line in found if "bytes of" in line]
    assert found == bits, str(report)
    assert len(bits) <= len(nans), str(report)


def without(mesh: Mesh, lost: Container[str]) -> Mesh:
    """The mesh without the fields that a report names."""
    kept = {
        home: {path: x for path, x in leaves(data) if f"{home}/{'/'.join(path)}" not in lost}
        for home in ("point_data", "cell_data", "global_data")
        for data in [getattr(mesh, home)]
    }
    return mesh.replace(
        **{
            home: TensorDict(fields, batch_size=getattr(mesh, home).batch_size)
            for home, fields in kept.items()
        }
    )


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
    seen = without_note(tmp_path / "it.msh")
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
        point_data={"big": [2**60 + 1] * 5},
        regions=[Region("both", "cell", [0, 1]), Region("wall", "side", [[0, 0], [1, 0]])],
    )
    with pytest.raises(LossError) as caught:
        write(mesh, tmp_path / "it.msh")
    lost = {(e.what, e.name) for e in caught.value.report.losses}
    assert lost == {
        ("field", "point_data/big"), ("region", "wall"), ("region", "both"), ("cells", "polygon"),
        ("points", ""),
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    assert round_trip(mesh, tmp_path, allow_loss=True).cells.counts == {"triangle": 1}


def without_note(path: Path) -> Mesh:
    """What other programs see of a file."""
    data = path.read_bytes()
    begin, end = data.index(b"$Meshkit"), data.index(b"$EndMeshkit\n") + len(b"$EndMeshkit\n")
    path.write_bytes(data[:begin] + data[end:])
    return read(path)


def everything() -> Mesh:
    """Regions of each entity with data and in any order, data of the whole, complex numbers."""
    return kuhn_cube(1).replace(
        regions=[
            Region("probes", "point", [7, 0], data={"w": [2.0, 1.0]}, kind="set"),
            Region("wall", "side", [[3, 2], [0, 1], [0, 0]], torch.tensor([True, False, False]),
                   data={"U": torch.arange(9.0).reshape(3, 3)}, attributes={"type": "fixed"}),
            Region("wall", "cell", [4, 1], data={"id": [1, 2]}),
            Region("bars", "edge", [[5, 1], [0, 7]], source_id=9),
            Region("other", "point", [0, 3]),
            Region("none", "side", torch.zeros((0, 2), dtype=torch.int64)),
        ],
        global_data={"Re": 1e5, "forces": {"drag": torch.arange(3, dtype=torch.float32)}},
    ).with_data(point={"z": torch.arange(8) * (1 + 2j)})  # fmt: skip


def test_regions_of_every_entity_come_back_with_their_data(tmp_path: Path) -> None:
    mesh = everything()
    back = round_trip(mesh, tmp_path)
    assert differences(mesh, back, id_dtypes=False) == []
    assert back.info.report.lossless and back.cells.counts == {"tetra": 6}
    again = round_trip(back, tmp_path)
    assert differences(back, again) == []


def test_other_programs_find_regions_as_groups_of_elements(tmp_path: Path) -> None:
    mesh = everything()
    round_trip(mesh, tmp_path)
    seen = without_note(tmp_path / "it.msh")
    assert seen.cells.counts == {"tetra": 6, "vertex": 3, "line": 2, "triangle": 3}
    groups = {r.name: r for r in seen.regions if r.kind == "physical"}
    rows = seen.cells.connectivity.tolist()
    at = seen.cells.offsets.tolist()

    def nodes(name: str) -> list[list[int]]:
        return [rows[at[i] : at[i + 1]] for i in groups[name].ids.tolist()]

    assert nodes("probes") == [[0], [7]] and nodes("other") == [[0], [3]]
    assert nodes("bars") == [[0, 7], [5, 1]] and groups["bars"].source_id == 9
    assert groups["wall"].ids.tolist() == [1, 4] and nodes("none") == []
    # Each side is outward from its cell, in the order of cells and local faces.
    cells = mesh.cells.dense
    template = [(0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)]
    expected = [cells[c][list(template[f])].tolist() for c, f in ((0, 0), (0, 1), (3, 2))]
    assert nodes("wall (surfaces)") == expected
    turned = groups["wall (surfaces)"].flip
    assert turned is not None and turned.tolist() == [False, False, True]


def test_patches_of_own_faces_are_written_as_sides(tmp_path: Path) -> None:
    mesh = kuhn_cube(1)
    own = ops.faces(mesh)
    mesh = mesh.replace(faces=own)
    outer = torch.nonzero(own.neighbour < 0)[:, 0]
    assert len(outer) == 12
    region = Region("wall", "face", outer, data={"p": torch.arange(12.0)}, kind="patch")
    mesh = mesh.replace(regions=[region])
    report = write(mesh, tmp_path / "it.msh", allow_loss=True)
    assert [(e.what, e.name) for e in report.losses] == [("faces", "")]
    back = read(tmp_path / "it.msh").region("wall")
    assert (back.entity, back.kind, len(back)) == ("side", "patch", 12)
    assert back.data is not None and back.data["p"].tolist() == list(range(12))
    table = ops.faces(mesh)
    for (cell, local), face in zip(back.ids.tolist(), outer.tolist(), strict=True):
        assert cell == int(table.owner[face])
        ring = table.connectivity[table.offsets[face] : table.offsets[face + 1]].tolist()
        template = [(0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)][local]
        assert set(mesh.cells.dense[cell][list(template)].tolist()) == set(ring)


def test_global_data_over_time_and_times_without_fields(tmp_path: Path) -> None:
    flat = square_triangles(1)
    times = (0.0, 0.5, 2.0)
    meshes = [
        flat.replace(global_data={"Cd": 0.1 * i}, info=flat.info.replace(time=t)).with_data(
            point={"T": torch.full((flat.n_points,), float(i))}
        )
        for i, t in enumerate(times)
    ]
    write(MeshSeries.of(meshes), tmp_path / "it.msh")
    back = read_series(tmp_path / "it.msh")
    for mine, theirs in zip(meshes, back, strict=True):
        assert differences(mine, theirs, id_dtypes=False) == []
    bare = [mesh.replace(point_data={}) for mesh in meshes[:1]] + meshes[1:]
    with pytest.raises(LossError) as caught:
        write(MeshSeries.of(bare), tmp_path / "it.msh")
    assert [(e.what, e.count) for e in caught.value.report.losses] == [("time", 1)]


def test_a_note_that_contradicts_its_mesh_is_refused(tmp_path: Path) -> None:
    round_trip(everything(), tmp_path)
    data = (tmp_path / "it.msh").read_bytes()
    for old, new, said in (
        (b'"cells": 6', b'"cells": 60', "says 60 cells of 14 elements"),
        (b'"bytes": "BwAAAAAAAAA', b'"bytes": "CAAAAAAAAAA', "'probes' names"),
        (b'"dtype": "complex64"', b'"dtype": "nothing"', "has the dtype 'nothing'"),
    ):  # fmt: skip
        assert old in data
        (tmp_path / "it.msh").write_bytes(data.replace(old, new, 1))
        with pytest.raises(MeshkitError, match=said):
            read(tmp_path / "it.msh")


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
