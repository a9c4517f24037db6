"""MSH files in: every version and encoding, groups, tags, links, data and times."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit import (
    Mesh,
    MeshkitError,
    ReadError,
    check,
    make_mesh,
    operators as ops,
    read,
    read_series,
)
from meshkit.readers.gmsh.tags import Tags
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, kuhn_cube, one_of_each
from tests.readers.gmsh.saving import (
    version_2_bytes,
    version_2_text,
    version_4_bytes,
    version_4_text,
)
from tests.readers.mutations import mutations

NODES = "$Nodes\n1 5 1 5\n3 1 0 5\n1\n2\n3\n4\n5\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n$EndNodes\n"
ELEMENTS = "$Elements\n2 2 1 2\n3 1 4 1\n1 1 2 3 4\n2 1 2 1\n2 1 2 3\n$EndElements\n"
HEAD = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
HEAD_2 = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
NODES_2 = "$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n$EndNodes\n"


def text(folder: Path, body: str, head: str = HEAD) -> Path:
    path = folder / "it.msh"
    path.write_text(head + body, "utf-8")
    return path


def of_kind(mesh: Mesh, kind: str) -> dict[str, list[int]]:
    return {r.name: r.ids.tolist() for r in mesh.regions if r.kind == kind}


# --- versions and encodings -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [one_of_each, lambda: cube_hexes(2)], ids=["mixed", "hexes"])
def test_every_version_and_encoding_is_the_same_mesh(tmp_path: Path, make: object) -> None:
    mesh: Mesh = make()  # type: ignore[operator]
    files = {
        "4.1 text": version_4_text(mesh).encode(),
        "4.0 text": version_4_text(mesh, version="4").encode(),
        "4.1 little": version_4_bytes(mesh),
        "4.1 big": version_4_bytes(mesh, ">"),
        "4.1 of 4 bytes": version_4_bytes(mesh, width=4),
        "2.2 text": version_2_text(mesh).encode(),
        "2.2 little": version_2_bytes(mesh),
        "2.2 big": version_2_bytes(mesh, ">"),
        "2.2 dos": version_2_text(mesh).replace("\n", "\r\n").encode(),
    }
    if mesh.cells.uniform is not None:
        files["2.2 together"] = version_2_bytes(mesh, together=True)
    for name, data in files.items():
        path = tmp_path / "it.msh"
        path.write_bytes(data)
        back = read(path)
        assert torch.equal(back.points, mesh.points), name
        assert back.cells.types.tolist() == mesh.cells.types.tolist(), name
        assert back.cells.connectivity.tolist() == mesh.cells.connectivity.tolist(), name
        assert back.cells.connectivity.dtype == torch.int32
        assert check(back) == [] and back.info.report.lossless, name
        torch.testing.assert_close(ops.cell_measures(back), ops.cell_measures(mesh))
        if name.startswith("2.2"):
            groups = of_kind(back, "physical")
            assert sorted(i for ids in groups.values() for i in ids) == list(range(mesh.n_cells))
            assert {r.source_id for r in back.regions if r.kind == "physical"} == {5}
            assert {r.source_id for r in back.regions if r.kind == "entity"} == {6}


def test_content_decides(tmp_path: Path) -> None:
    path = tmp_path / "it.obj"
    path.write_text("$Comments\nof old\n$EndComments\n" + version_4_text(kuhn_cube(1)))
    mesh = read(path)
    assert mesh.cells.counts == {"tetra": 6}
    assert mesh.info.attributes["comments"] == ["of old"]


def test_rows_that_change_their_kind_all_the_time(tmp_path: Path) -> None:
    pair = one_of_each().select([2, 3])  # a triangle and a quad
    n = 1200
    cells = [row for _ in range(n) for row in ([0, 1, 2], [3, 4, 5, 6])]
    many = make_mesh(pair.points, cells, types=["triangle", "quad"] * n)
    path = tmp_path / "it.msh"
    path.write_text(version_2_text(many))
    back = read(path)
    assert back.cells.types.tolist() == many.cells.types.tolist()
    assert back.cells.connectivity.tolist() == many.cells.connectivity.tolist()
    path.write_text(version_2_text(many).replace(f"\n{n} 3 2", f"\n{n} 77 2"))
    with pytest.raises(ReadError, match="of type 77"):
        read(path)


# --- tags and sections ----------------------------------------------------------------------------


def test_sections_stand_in_any_order_and_unknown_ones_are_counted(tmp_path: Path) -> None:
    more = '$Strange\n1 2 3\n$EndStrange\n$InterpolationScheme\n"s"\n0\n$EndInterpolationScheme\n'
    mesh = read(text(tmp_path, more + ELEMENTS + NODES))
    assert differences(read(text(tmp_path, NODES + ELEMENTS)).replace(info=mesh.info), mesh) == []
    lost = {(e.what, e.name) for e in mesh.info.report.losses}
    assert lost == {("section", "Strange"), ("section", "InterpolationScheme")}


def test_tags_with_gaps_and_in_any_order(tmp_path: Path) -> None:
    body = NODES.replace("\n1\n2\n3\n4\n5\n", "\n50\n7\n9000000000\n3\n4\n").replace(
        "1 5\n3", "3 9\n3"
    )
    body += "$Elements\n1 1 77 77\n3 1 4 1\n77 50 7 9000000000 3\n$EndElements\n"
    mesh = read(text(tmp_path, body))
    assert mesh.cells.dense.tolist() == [[0, 1, 2, 3]]
    assert mesh.point_data["node_tag"].tolist() == [50, 7, 9000000000, 3, 4]
    assert mesh.cell_data["element_tag"].tolist() == [77]
    assert mesh.info.field("point_data", "node_tag").kind == "global_ids"
    assert "node_tag" not in read(text(tmp_path, NODES + ELEMENTS)).point_data.keys()


def test_tags_beyond_what_a_float_or_32_bits_hold(tmp_path: Path) -> None:
    huge = 2**53 + 1
    nodes = NODES.replace("\n1\n2\n", f"\n{huge}\n{huge - 1}\n")
    elements = ELEMENTS.replace("1 1 2 3 4", f"{huge} {huge} {huge - 1} 3 4").replace(
        "2 1 2 3\n", f"7 {huge} {huge - 1} 3\n"
    )
    mesh = read(text(tmp_path, nodes + elements))
    assert mesh.point_data["node_tag"].tolist() == [huge, huge - 1, 3, 4, 5]
    assert mesh.cell_data["element_tag"].tolist() == [huge, 7]
    assert mesh.cells.connectivity.tolist() == [0, 1, 2, 3, 0, 1, 2]
    with pytest.raises(ReadError, match=r"line 7: found 1e\+20 for the tags of"):
        read(text(tmp_path, nodes.replace(str(huge), "9" * 20) + elements))
    with pytest.raises(ReadError, match=r"node 1 has the tag 9.0072e\+15; expected whole.*2\^53"):
        read(text(tmp_path, NODES_2.replace("\n2 1", f"\n{huge} 1"), HEAD_2))
    # In bytes, a block of large tags between others of small ones.
    small = kuhn_cube(1)
    data = version_4_bytes(small)
    at = data.index(b"\n$EndElements") - 5 * 8
    large = np.array([2**40], "<u8").tobytes()
    (tmp_path / "it.msh").write_bytes(data[:at] + large + data[at + 8 :])
    found = read(tmp_path / "it.msh")
    assert found.cell_data["element_tag"].tolist() == [1, 2, 3, 4, 5, 2**40]
    assert torch.equal(found.cells.connectivity, small.cells.connectivity)


def test_places_of_tags() -> None:
    for tags in ([3, 4, 5], [5, 3, 4], [5, 1 << 40, 3], []):
        made = Tags(np.array(tags, np.int64))
        wanted = np.array([3, 5, 6, -1, 1 << 41])
        places = {tag: i for i, tag in enumerate(tags)}
        assert made.of(wanted).tolist() == [places.get(int(w), -1) for w in wanted]
        assert made.repeated() is None
    assert Tags(np.array([2, 3, 2])).repeated() == 2
    assert Tags(np.array([2, 1 << 40, 2])).repeated() == 2


def test_what_nodes_are_on_stays(tmp_path: Path) -> None:
    body = "$Nodes\n2 2 1 2\n0 4 0 1\n1\n0 0 0\n2 9 1 1\n2\n1 0 0 0.25 0.75\n$EndNodes\n"
    mesh = read(text(tmp_path, body))
    assert mesh.point_data["node_entity"].tolist() == [[0, 4], [2, 9]]
    parameters = mesh.point_data["node_parameters"]
    assert parameters[1, :2].tolist() == [0.25, 0.75]
    assert parameters.isnan().sum() == 4
    body = (
        "$ParametricNodes\n3\n1 0 0 0 0 4\n2 1 0 0 1 5 0.5\n3 0 1 0 2 9 0.25 0.75\n"
        "$EndParametricNodes\n"
    )
    mesh = read(text(tmp_path, body, HEAD_2))
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert mesh.point_data["node_entity"].tolist() == [[0, 4], [1, 5], [2, 9]]
    assert mesh.point_data["node_parameters"][2, :2].tolist() == [0.25, 0.75]


# --- groups ---------------------------------------------------------------------------------------


def test_groups_overlap_have_names_and_may_be_empty(tmp_path: Path) -> None:
    names = (
        '$PhysicalNames\n4\n3 1 "fluide é"\n3 2 "all"\n2 1 "all"\n3 9 "nobody"\n$EndPhysicalNames\n'
    )
    entities = (
        "$Entities\n0 0 1 2\n4 0 0 0 1 1 0 1 -1 0\n"
        "1 0 0 0 1 1 1 2 1 2 1 4\n2 0 0 0 1 1 1 1 2 0\n$EndEntities\n"
    )
    rows = "3 1 4 1\n1 1 2 3 4\n2 4 2 1\n2 1 2 3\n3 2 4 1\n3 2 3 4 5\n"
    cells = f"$Elements\n3 3 1 3\n{rows}$EndElements\n"
    mesh = read(text(tmp_path, names + entities + NODES + cells))
    assert of_kind(mesh, "physical") == {
        "fluide é": [0], "all": [0, 2], "all (surfaces)": [1], "nobody": [],
    }  # fmt: skip
    assert of_kind(mesh, "entity") == {
        "surface 4": [1], "volume 1": [0], "volume 2": [2],
    }  # fmt: skip
    wall = mesh.region("all (surfaces)")
    assert wall.flip is not None and wall.flip.tolist() == [True]
    assert dict(wall.attributes) == {"dimension": 2, "name": "all"} and wall.source_id == 1
    rows = mesh.info.attributes["gmsh"]["entities"]
    assert rows[1] == {
        "dimension": 3, "tag": 1, "bounds": [0, 0, 0, 1, 1, 1], "physical": [1, 2], "boundary": [4],
    }  # fmt: skip
    assert check(mesh) == []


def test_names_of_version_2_0_say_no_dimension(tmp_path: Path) -> None:
    names = '$PhysicalNames\n2\n7 "wall a"\n8 "none"\n$EndPhysicalNames\n'
    elements = "$Elements\n2\n1 4 2 7 1 1 2 3 4\n2 2 2 9 1 1 2 3\n$EndElements\n"
    mesh = read(text(tmp_path, names + NODES_2 + elements, HEAD_2.replace("2.2", "2")))
    assert of_kind(mesh, "physical") == {"wall a": [0], "none": [], "physical surface 9": [1]}
    with pytest.raises(ReadError, match="a dimension, a tag"):
        read(text(tmp_path, names + NODES_2 + elements, HEAD_2))


def test_an_empty_name_is_none_and_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    names = '$PhysicalNames\n1\n3 5 ""\n$EndPhysicalNames\n'
    groups = "$Entities\n0 0 0 1\n1 0 0 0 1 1 1 1 5 0\n$EndEntities\n"
    mesh = read(text(tmp_path, names + groups + NODES + ELEMENTS, "\ufeff" + HEAD))
    assert of_kind(mesh, "physical") == {"physical volume 5": [0]}


def test_elements_of_an_entity_that_is_not_listed_are_told(tmp_path: Path) -> None:
    groups = "$Entities\n0 0 0 1\n9 0 0 0 1 1 1 1 5 0\n$EndEntities\n"
    mesh = read(text(tmp_path, groups + NODES + ELEMENTS))
    assert of_kind(mesh, "physical") == {"physical volume 5": []}
    told = [e for e in mesh.info.report.converted if "$Entities does not have" in e.reason]
    assert [(e.name, e.count) for e in told] == [("volume 1", 1), ("surface 1", 1)]
    bare = read(text(tmp_path, NODES + ELEMENTS))
    assert not [e for e in bare.info.report.converted if "$Entities" in e.reason]


def test_blocks_may_be_empty(tmp_path: Path) -> None:
    nodes = NODES.replace("1 5 1 5\n", "2 5 1 5\n2 4 0 0\n")
    elements = ELEMENTS.replace("2 2 1 2\n", "3 2 1 2\n2 4 2 0\n")
    assert read(text(tmp_path, nodes + elements)).cells.counts == {"tetra": 1, "triangle": 1}


def test_an_element_that_version_2_repeats_for_each_group_is_one_cell(tmp_path: Path) -> None:
    rows = "1 4 2 1 7 1 2 3 4\n2 4 2 2 7 1 2 3 4\n3 4 2 2 7 2 3 4 5\n"
    data = '$ElementData\n1\n"p"\n0\n3\n0\n1\n2\n2 5\n3 6\n$EndElementData\n'
    mesh = read(text(tmp_path, f"{NODES_2}$Elements\n3\n{rows}$EndElements\n{data}", HEAD_2))
    assert mesh.n_cells == 2
    assert list(of_kind(mesh, "physical").values()) == [[0], [0, 1]]
    assert mesh.cell_data["p"].tolist() == [5, 6]
    assert [e.count for e in mesh.info.report.converted if e.what == "cells"] == [1]


def test_partitions_ghosts_and_periodic_links(tmp_path: Path) -> None:
    mesh = read(text(tmp_path, version_4_text(cube_hexes(1), parts=True).partition(HEAD)[2]))
    assert of_kind(mesh, "ghost") == {"ghosts of partition 2": [0], "ghosts of partition 3": [0]}
    (link,) = [r for r in mesh.regions if r.kind == "periodic"]
    assert (link.entity, link.ids.tolist()) == ("edge", [[0, 1], [2, 3]])
    assert dict(link.attributes) == {"dimension": 2, "master": 2, "affine": [1.0, 0.5, -1.0]}
    rows = "1 4 4 1 7 1 3 1 2 3 4\n2 4 5 1 7 2 2 -3 2 3 4 5\n"
    link_2 = "$Periodic\n1\n2 1 2\nAffine 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\n1\n3 4\n$EndPeriodic\n"
    body = f"{NODES_2}$Elements\n2\n{rows}$EndElements\n{link_2}"
    mesh = read(text(tmp_path, body, HEAD_2))
    assert of_kind(mesh, "partition") == {"partition 2": [1], "partition 3": [0]}
    assert of_kind(mesh, "ghost") == {"ghosts of partition 3": [1]}
    (link,) = [r for r in mesh.regions if r.kind == "periodic"]
    assert link.ids.tolist() == [[2, 3]] and len(link.attributes["affine"]) == 16


# --- elements that have no cell -------------------------------------------------------------------


def test_what_has_no_cell_is_counted_by_number(tmp_path: Path) -> None:
    rows = (
        "1 34 2 1 7 3 1 2 3\n"  # a polygon of three nodes
        "2 20 2 1 7 1 2 3 4 5 1 2 3 4\n"  # an incomplete triangle of third order
        "3 2 2 1 7 1 2 3\n4 84 2 0 7 1\n"
    )
    mesh = read(text(tmp_path, f"{NODES_2}$Elements\n4\n{rows}$EndElements\n", HEAD_2))
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [0, 1, 2]]
    lost = {e.name: e.count for e in mesh.info.report.losses}
    assert lost == {
        "element type 34": 1, "element type 84": 1, "inner points of element type 20": 1,
    }  # fmt: skip
    assert of_kind(mesh, "entity") == {"surface 7": [0, 1]}


# --- data -----------------------------------------------------------------------------------------


def view(kind: str, name: str, time: str | None, step: int, c: int, *rows: str) -> str:
    times = "0" if time is None else f"1\n{time}"
    body = "\n".join([f'1\n"{name}"', times, f"3\n{step}\n{c}\n{len(rows)}", *rows])
    return f"${kind}\n{body}\n$End{kind}\n"


def test_data_of_nodes_elements_and_corners(tmp_path: Path) -> None:
    body = NODES + ELEMENTS
    body += view("NodeData", "T", None, 0, 1, "1 5", "3 7e0")
    body += view("ElementData", "U", None, 0, 3, "2 1 2 3")
    body += view("ElementData", "U", None, 0, 9, "1 " + "1 " * 9)
    body += view("ElementNodeData", "c", None, 0, 1, "1 4 1 2 3 4", "2 3 5 6 7")
    mesh = read(text(tmp_path, body))
    assert mesh.point_data["T"].nan_to_num(nan=-1).tolist() == [5, -1, 7, -1, -1]
    assert mesh.cell_data["U"].nan_to_num(nan=-1).tolist() == [[-1] * 3, [1, 2, 3]]
    assert mesh.cell_data["U (2)"].shape == (2, 9)
    assert mesh.cell_data["c"].nan_to_num(nan=-1).tolist() == [[1, 2, 3, 4], [5, 6, 7, -1]]
    assert mesh.info.field("cell_data", "c").kind == "ElementNodeData"
    missing = {e.name: e.count for e in mesh.info.report.converted if "NaN" in e.reason}
    assert missing == {"point_data/T": 3, "cell_data/U": 1, "cell_data/U (2)": 1}
    assert mesh.info.time is None


def test_data_of_strangers_is_a_loss(tmp_path: Path) -> None:
    body = NODES + ELEMENTS + view("NodeData", "T", None, 0, 1, "1 5", "8 7", "9 7")
    (lost,) = read(text(tmp_path, body)).info.report.losses
    assert (lost.name, lost.count) == ("point_data/T", 2) and "node 8" in lost.reason


def test_corner_values_follow_the_order_of_the_cell(tmp_path: Path) -> None:
    """The tenth node of gmsh's tetrahedron is the ninth point of VTK's."""
    points = [[0.0, 0, 0], [1.0, 0, 0], [0.0, 1, 0], [0.0, 0, 1]]
    for a, b in ((0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)):
        points.append([(p + q) / 2 for p, q in zip(points[a], points[b], strict=True)])
    rows = "\n".join(" ".join(map(str, p)) for p in points)
    tags = "\n".join(map(str, range(1, 11)))
    body = f"$Nodes\n1 10 1 10\n3 1 0 10\n{tags}\n{rows}\n$EndNodes\n"
    body += "$Elements\n1 1 1 1\n3 1 11 1\n1 1 2 3 4 5 6 7 8 9 10\n$EndElements\n"
    values = " ".join(str(p[0] + 10 * p[1] + 100 * p[2]) for p in points)
    body += view("ElementNodeData", "f", None, 0, 1, f"1 10 {values}")
    mesh = read(text(tmp_path, body))
    assert float(ops.cell_measures(mesh)) == pytest.approx(1 / 6)
    at = mesh.points[mesh.cells.dense.long()[0]]
    expected = at @ torch.tensor([1.0, 10, 100], dtype=torch.float64)
    torch.testing.assert_close(mesh.cell_data["f"][0], expected)


def test_times_are_a_series_that_shares_its_mesh(tmp_path: Path) -> None:
    body = NODES + ELEMENTS
    body += view("NodeData", "T", "2.5", 1, 1, "1 5") + view("NodeData", "T", "0.5", 0, 1, "1 4")
    body += view("ElementData", "p", "2.5", 1, 1, "1 9") + view(
        "NodeData", "still", None, 0, 1, "1 1"
    )
    path = text(tmp_path, body)
    series = read_series(path)
    assert series.times == (0.5, 2.5)
    first, last = series[0], series[1]
    assert first.cells is last.cells
    assert [float(m.point_data["T"][0]) for m in (first, last)] == [4, 5]
    assert "p" not in first.cell_data.keys() and float(last.cell_data["p"][0]) == 9
    assert float(first.point_data["still"][0]) == 1
    assert read(path).info.time == 2.5 and read(path, time="first").info.time == 0.5
    path.write_text(path.read_text("utf-8") + "$Comments\n$EndComments\n")
    with pytest.raises(ReadError, match="has changed"):
        series[0]


def test_times_that_repeat_are_replaced_by_steps(tmp_path: Path) -> None:
    body = NODES + view("NodeData", "T", "0", 3, 1, "1 5") + view("NodeData", "T", "0", 1, 1, "1 4")
    series = read_series(text(tmp_path, body))
    assert series.times == (1, 3)
    assert float(series[1].point_data["T"][0]) == 5
    assert any(e.what == "time" for e in series[1].info.report.converted)


def test_parts_of_a_field_are_put_together(tmp_path: Path) -> None:
    parts = [
        view("NodeData", "T", "0", 0, 1, f"{i} {i}").replace("3\n0\n1\n1\n", f"4\n0\n1\n1\n{i}\n")
        for i in (1, 2)
    ]
    mesh = read(text(tmp_path, NODES + "".join(parts)))
    assert mesh.point_data["T"][:2].tolist() == [1, 2]


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("$NOD\n1\n1 0 0 0\n$ENDNOD\n", r"is of MSH version 1; expected .*; open it in gmsh"),
        ("$MeshFormat\n3 0 8\n$EndMeshFormat\n", r"line 2: is of MSH version 3; expected"),
        ("$MeshFormat\n4.0 1 8\n$EndMeshFormat\n", r"byte 12: is binary of version 4.0"),
        (HEAD, r"line 1: has no \$Nodes; expected a mesh"),
        (HEAD + NODES.replace("$EndNodes", ""), r"line 4: \$Nodes has no end"),
        (HEAD + NODES.replace("1 1 1\n", "1 1 x\n"), r"line 16: found 'x'; expected numbers"),
        (HEAD + NODES.replace("1 1 1\n", "1 1\n"), r"line 12: 15 numbers for the coord.*but 14"),
        (HEAD + NODES.replace("1 5 1 5", "1 6 1 5"), r"line 5: declares 6 nodes.*have 5"),
        (HEAD + NODES.replace("\n2\n", "\n3\n"), r"node 3 stands twice"),
        (HEAD + NODES + ELEMENTS.replace("3 1 4 1", "3 1 999 1"), r"line 20: element type 999"),
        (HEAD + NODES + ELEMENTS.replace("1 1 2 3 4", "1 1 2 3 8"), r"element 1 uses node 8"),
        (HEAD + NODES + ELEMENTS.replace("2 2 1 2", "2 2000000000 1 2"), r"declares 2000000000"),
        (HEAD + NODES + ELEMENTS.replace("1 4 1\n", "1 4 1000000000000\n"), r"but \d+ are left"),
        (HEAD + NODES + '$PhysicalNames\n1\n3 "x"\n$EndPhysicalNames\n', r"line 20: found"),
        (HEAD + NODES + view("NodeData", "T", None, 0, 1, "1 x"), r"line \d+: found 'x'"),
        (HEAD + NODES + view("NodeData", "T", None, 0, 1, "1 2 3"), r"declares 1 rows of 1 comp"),
        (HEAD + NODES + "lost text\n", r"line 18: found 'lost text' between sections"),
        (HEAD_2 + NODES_2 + "$Elements\n2\n1 4 2 1 7 1 2 3 4\n$EndElements\n", r"line 13: decl.*2"),
        (HEAD_2 + NODES_2.replace("5\n1 0", "50000000000\n1 0"), r"declares 50000000000 nodes"),
    ],
)  # fmt: skip
def test_refusals_say_where_and_what(tmp_path: Path, body: str, said: str) -> None:
    path = text(tmp_path, body, "")
    with pytest.raises(ReadError) as caught:
        read(path)
    assert re.search(said, str(caught.value)), caught.value
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_a_binary_file_that_is_cut_names_the_byte(tmp_path: Path) -> None:
    data = version_4_bytes(kuhn_cube(1))
    path = tmp_path / "it.msh"
    end = data.index(b"\n$EndNodes")
    path.write_bytes(data[: end - 8] + data[end:])
    with pytest.raises(
        ReadError, match=r"byte \d+: 24 numbers of 8 bytes for the coord.*185 bytes"
    ):
        read(path)
    path.write_bytes(data.replace(np.array([1], "<i4").tobytes(), b"abcd", 1))
    with pytest.raises(ReadError, match=r"byte 20: found '61 62 63 64'; expected the number 1"):
        read(path)


def test_a_negative_number_of_elements_is_refused(tmp_path: Path) -> None:
    data = version_2_bytes(kuhn_cube(1))
    head = np.array([4, 1, 2], "<i4").tobytes()
    (tmp_path / "it.msh").write_bytes(data.replace(head, np.array([4, -1, 2], "<i4").tobytes(), 1))
    with pytest.raises(ReadError, match="element 0 does not fit what is left"):
        read(tmp_path / "it.msh")


def test_a_head_of_more_elements_than_numbers(tmp_path: Path) -> None:
    data = version_2_bytes(kuhn_cube(1))
    head = struct.pack("<3i", 4, 1, 2)
    at = data.index(head, data.index(b"$Elements"))
    (tmp_path / "a.msh").write_bytes(
        data[:at] + struct.pack("<3i", 4, 1 << 24, 2) + data[at + len(head) :]
    )
    with pytest.raises(ReadError, match=r"a\.msh: .*element 0 does not fit what is left"):
        read(tmp_path / "a.msh")


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "it.msh"
    wholes = [version_4_text(one_of_each(), parts=True).encode(), version_2_bytes(one_of_each())]
    for whole in wholes:
        for damaged in mutations(whole, 30, 0):
            path.write_bytes(damaged)
            try:
                mesh = read(path)
            except MeshkitError:
                continue
            assert not {"id_out_of_range", "wrong_size"} & {f.code for f in check(mesh)}
