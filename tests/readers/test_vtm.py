"""VTM: blocks become regions of one mesh; our own files come back bit for bit."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from meshkit.errors import ReadError, WriteError
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read, read_series
from meshkit.readers.vtk.objects import to_poly, to_unstructured
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, hanging_polyhedron, one_of_each, square_triangles
from tests.random_meshes import NAMES, random_meshes
from tests.readers.mutations import survives
from tests.readers.vtk_saving import column, plain, saved


def index(path: Path, inside: str, after: str = "") -> Path:
    kind = "vtkMultiBlockDataSet"
    path.write_text(
        f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian">\n'
        f"<{kind}>{inside}</{kind}>{after}\n</VTKFile>\n"
    )
    return path


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """A folder with a cube (solid.vtu) and a square (skin.vtp): a field each, and one of both."""
    arrays = {"cell": {"p": column(1.5), "c": column(0)}}
    saved(to_unstructured(plain(cube_hexes(), **arrays)), tmp_path / "solid.vtu")
    surface = plain(square_triangles(1, 3), cell={"p": column(2.5, 3.5), "s": column(1, 2)})
    saved(to_poly(surface), tmp_path / "skin.vtp")
    return tmp_path


def described(mesh: Mesh) -> list[tuple[str, str, list[int], str | None]]:
    return [(r.name, r.entity, r.ids.tolist(), r.parent) for r in mesh.regions]


def test_blocks_are_regions_and_lacking_fields_are_filled(blocks: Path) -> None:
    file = index(
        blocks / "a.vtm",
        '<Block index="0" name="body"><DataSet index="0" name="fluid" file="solid.vtu"/>'
        '<DataSet index="1" file="skin.vtp"/></Block>'
        '<DataSet index="1" name="fluid" file="solid.vtu"/><DataSet index="2"/>',
        '<FieldData><DataArray type="Float64" Name="Re" NumberOfTuples="1" format="ascii">5'
        "</DataArray></FieldData>",
    )
    mesh = read(file)
    assert mesh.cells.counts == {"triangle": 2, "hexahedron": 2}
    assert mesh.dim == 3
    assert described(mesh) == [
        ("body", "cell", [0, 1, 2], None),
        ("fluid", "cell", [0], "body"),
        ("block 1", "cell", [1, 2], "body"),
        ("fluid (2)", "cell", [3], None),
    ]
    assert mesh.cell_data["p"].tolist() == [1.5, 2.5, 3.5, 1.5]
    assert mesh.cell_data["c"].tolist() == [0, -1, -1, 0]
    assert mesh.cell_data["s"].tolist() == [-1, 1, 2, -1]
    assert mesh.global_data["Re"].tolist() == [5]
    changed = [(e.what, e.name, e.count) for e in mesh.info.report.converted]
    assert ("region", "fluid (2)", 1) in changed
    assert ("field", "cell_data/c", 2) in changed


def test_blocks_stand_in_the_order_of_their_indices(blocks: Path) -> None:
    file = index(
        blocks / "a.vtm",
        '<DataSet index="1" name="b" file="skin.vtp"/>'
        '<DataSet index="0" name="a" file="solid.vtu"/>',
    )
    assert described(read(file)) == [("a", "cell", [0], None), ("b", "cell", [1, 2], None)]


def test_pieces_of_one_block_are_one_region(blocks: Path) -> None:
    inside = '<DataSet index="0" file="solid.vtu"/><DataSet index="1" file="skin.vtp"/>'
    file = index(blocks / "a.vtm", f'<Piece index="0" name="whole">{inside}</Piece>')
    assert described(read(file)) == [("whole", "cell", [0, 1, 2], None)]


def test_blocks_of_blocks_in_files(blocks: Path) -> None:
    index(blocks / "inner.vtm", '<DataSet index="0" name="x" file="solid.vtu"/>')
    file = index(blocks / "a.vtm", '<DataSet index="0" name="outer" file="inner.vtm"/>')
    assert described(read(file)) == [("outer", "cell", [0], None), ("x", "cell", [0], "outer")]


def test_the_old_form_and_empty_ones(blocks: Path) -> None:
    file = index(blocks / "a.vtm", '<DataSet group="0" dataset="0" file="solid.vtu"/>')
    assert described(read(file)) == [("block 0", "cell", [0], None)]
    empty = read(index(blocks / "b.vtm", '<DataSet index="0"/>'))
    assert (empty.n_points, empty.n_cells, len(empty.regions)) == (0, 0, 0)


def test_named_blocks_that_hold_nothing_are_regions_of_no_cell(blocks: Path) -> None:
    nothing = plain(cube_hexes())
    nothing.points, nothing.types = nothing.points[:0], nothing.types[:0]
    nothing.offsets, nothing.connectivity = nothing.offsets[:1], nothing.connectivity[:0]
    saved(to_unstructured(nothing), blocks / "nothing.vtu")
    file = index(
        blocks / "a.vtm",
        '<DataSet index="0" name="s" file="solid.vtu"/><DataSet index="1" name="none"/>'
        '<Block index="2" name="group"><DataSet index="0" name="below"/></Block>'
        '<Block index="3" name="blank"/><DataSet index="4" name="file" file="nothing.vtu"/>',
    )
    assert described(read(file)) == [
        ("s", "cell", [0], None),
        ("none", "cell", [], None),
        ("group", "cell", [], None),
        ("below", "cell", [], "group"),
        ("blank", "cell", [], None),
        ("file", "cell", [], None),
    ]


def test_a_block_of_points_is_a_region_of_points(blocks: Path) -> None:
    cloud = plain(cube_hexes())
    cloud.types, cloud.offsets = cloud.types[:0], cloud.offsets[:1]
    cloud.connectivity = cloud.connectivity[:0]
    saved(to_unstructured(cloud), blocks / "cloud.vtu")
    file = index(
        blocks / "a.vtm",
        '<DataSet index="0" name="s" file="solid.vtu"/>'
        '<DataSet index="1" name="c" file="cloud.vtu"/>',
    )
    assert described(read(file)) == [
        ("s", "cell", [0], None),
        ("c", "point", list(range(8, 16)), None),
    ]


def test_what_vtk_writes(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkMultiBlockDataSet
    from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataWriter

    whole, inner = vtkMultiBlockDataSet(), vtkMultiBlockDataSet()
    inner.SetBlock(0, to_unstructured(plain(hanging_polyhedron())))
    whole.SetBlock(0, to_poly(plain(square_triangles(2, 3))))
    whole.SetBlock(3, inner)
    whole.GetMetaData(3).Set(vtkCompositeDataSet.NAME(), "b <é> & c")
    writer = vtkXMLMultiBlockDataWriter()
    writer.SetInputData(whole)
    writer.SetFileName(str(tmp_path / "a.vtm"))
    assert writer.Write() == 1
    mesh = read(tmp_path / "a.vtm")
    assert [(r.name, len(r), r.parent) for r in mesh.regions] == [
        ("block 0", 8, None),
        ("b <é> & c", 9, None),
        ("block 1", 9, "b <é> & c"),
    ]
    assert float(cell_measures(mesh).sum()) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("inside", "says"),
    [
        (
            '<DataSet index="0" name="w" file="no.vtu"/>',
            r"a\.vtm: line 3: block 'w' is missing: 'no",
        ),
        ('<DataSet index="0" file=""/>', r"block 0 names no file"),
        ('<DataSet index="0" file="../a.vtu"/>', r"line 3: block 0 leads out of the directory"),
        ('<DataSet index="0" file="/etc/hostname"/>', r"block 0 leads out of the directory"),
        ('<DataSet index="0" file="link.vtu"/>', r"block 0 leads out of the directory"),
        ('<DataSet index="0" file="http://x/y.vtu"/>', r"block 0 is missing: 'http://x/y.vtu'"),
        ('<DataSet index="0" file="a.vtm"/>', r"blocks name one another in a circle"),
        (
            '<DataSet index="0" file="text.txt"/>',
            r"text\.txt: is a block of type unknown; expected",
        ),
        ('<DataSet index="0" file="bad.vtu"/>', r"bad\.vtu: .*no well-formed XML"),
    ],
)
def test_refusals(blocks: Path, inside: str, says: str) -> None:
    (blocks / "text.txt").write_text("hello")
    (blocks / "link.vtu").symlink_to(tempfile.gettempdir())
    (blocks / "bad.vtu").write_text('<VTKFile type="UnstructuredGrid">')
    with pytest.raises(ReadError, match=says):
        read(index(blocks / "a.vtm", inside))


def test_files_that_multiply(blocks: Path, tmp_path: Path) -> None:
    """Twelve short files that would ask for a million million blocks, or for as many headers."""
    for i in range(12):
        below = "e.vtu" if i == 0 else f"b{i - 1}.vtm"
        index(blocks / f"b{i}.vtm", f'<DataSet index="0" name="x" file="{below}"/>' * 10)
    saved(to_unstructured(plain(cube_hexes())), blocks / "e.vtu")
    with pytest.raises(ReadError, match=r"b0\.vtm: line 3: block 'x' is named again and again: 'e"):
        read(blocks / "b11.vtm")
    rows = "".join(
        f'<DataSet timestep="{t}" file="{f}"/>' for t, f in enumerate(["e.vtu", "b11.vtm"])
    )
    text = f'<VTKFile type="Collection"><Collection>{rows}</Collection></VTKFile>'
    (blocks / "a.pvd").write_text(text)
    assert read_series(blocks / "a.pvd")[0].n_cells == 1


# --- written by us -------------------------------------------------------------------------------


def parted() -> Mesh:
    """Two regions that are each cell once, below one of all; and regions of other kinds."""
    mesh = hanging_polyhedron()
    unused = torch.tensor([[9.0, 9, 9]], dtype=torch.float64)
    return mesh.replace(
        points=torch.cat([mesh.points, unused]),
        point_data={"x": torch.arange(32.0)},
        cell_data={"p": torch.arange(9.0), "m": list("abcabcabc")},
        global_data={"Re": torch.tensor(1e5)},
        regions=[
            Region("all", "cell", torch.arange(9)),
            Region("a <&>\n", "cell", torch.tensor([8, 0, 3]), parent="all"),
            Region("b", "cell", torch.tensor([1, 2, 4, 5, 6, 7]), parent="all", kind="fluid"),
            Region("wall", "side", torch.tensor([[0, 0], [8, 3]])),
        ],
    )


def test_a_file_for_each_region(tmp_path: Path) -> None:
    from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

    mesh = parted()
    report = write(mesh, file := tmp_path / "a b.vtm")
    assert report.lossless
    assert sorted(p.name for p in (tmp_path / "a b").iterdir()) == ["a b_0.vtu", "a b_1.vtu"]
    assert differences(mesh, read(file)) == []
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(file))
    reader.Update()
    seen = reader.GetOutput()
    assert [seen.GetBlock(i).GetNumberOfCells() for i in range(2)] == [3, 6]
    p = seen.GetBlock(0).GetCellData().GetArray("p")
    assert [p.GetValue(i) for i in range(3)] == [8, 0, 3]
    assert seen.GetBlock(1).GetFieldData().GetArray("Re").GetValue(0) == 1e5


def test_regions_that_do_not_part_the_cells_make_one_file(tmp_path: Path) -> None:
    mesh = parted()
    mesh = mesh.replace(regions=[Region("some", "cell", torch.tensor([0, 1]))])
    write(mesh, file := tmp_path / "a.vtm")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["a_0.vtu"]
    assert differences(mesh, read(file)) == []


def test_writing_again_replaces_the_folder(tmp_path: Path) -> None:
    """The new parts lie beside the old ones, which go when nothing names them any more."""
    write(parted(), file := tmp_path / "a.vtm")
    for folder in ("a_2", "a", "a_2"):
        write(one_of_each(), file)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([folder, "a.vtm"])
        assert [p.name for p in (tmp_path / folder).iterdir()] == [f"{folder}_0.vtu"]
        assert differences(one_of_each(), read(file)) == []


@pytest.mark.parametrize("name", ["a&b.vtm", "a'b\".vtm", "a.b.vtm", "ä.vtm", "a"])
def test_writing_again_under_any_name(name: str, tmp_path: Path) -> None:
    for mesh in (parted(), one_of_each(), parted()):
        write(mesh, tmp_path / name, format="vtm")
        assert differences(mesh, read(tmp_path / name, format="vtm")) == []
        assert len(list(tmp_path.iterdir())) == 2


def test_what_others_put_beside_the_parts_stays(tmp_path: Path) -> None:
    write(parted(), file := tmp_path / "a.vtm")
    (tmp_path / "a" / "notes.txt").write_text("mine")
    write(parted(), tmp_path / "a_2.vtm")
    write(one_of_each(), file)
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["notes.txt"]
    assert differences(one_of_each(), read(file)) == []
    assert differences(parted(), read(tmp_path / "a_2.vtm")) == []


def test_a_refused_move_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(parted(), file := tmp_path / "a.vtm")

    def refused(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(WriteError, match=r"a\.vtm: cannot be written: No space left on device"):
        write(one_of_each(), file)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.vtm"]
    assert differences(parted(), read(file)) == []


def test_a_block_of_ours_that_is_gone(tmp_path: Path) -> None:
    write(parted(), file := tmp_path / "a.vtm")
    (tmp_path / "a" / "a_1.vtu").unlink()
    with pytest.raises(ReadError, match=r"block 'b' is missing: 'a/a_1\.vtu"):
        read(file)
    text = file.read_text()
    lines = [line for line in text.splitlines() if "a_1.vtu" not in line]
    file.write_text("\n".join(lines))
    with pytest.raises(ReadError, match=r"its blocks are not those that meshkit wrote"):
        read(file)


@given(mesh=random_meshes(), data=st.data())
def test_any_mesh_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, mesh: Mesh, data: Any
) -> None:
    n = mesh.n_cells
    others = [r for r in mesh.regions if r.entity != "cell"]
    of = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int64)
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True))
    parts = [
        Region(name, "cell", torch.from_numpy(np.flatnonzero(of == i)))
        for i, name in enumerate(names)
    ]
    mesh = mesh.replace(regions=[*others, *parts])
    file = tmp_path_factory.mktemp("vtm") / "a.vtm"
    write(mesh, file)
    assert differences(mesh, read(file)) == []


def test_damage_is_refused_or_harmless(blocks: Path) -> None:
    file = index(
        blocks / "a.vtm",
        '<Block index="0" name="body"><DataSet index="0" name="fluid" file="solid.vtu"/></Block>'
        '<DataSet index="1" name="skin" file="skin.vtp"/>',
    )
    assert survives(file, file.read_bytes(), 100) > 20
    write(parted(), file)
    part = blocks / "a" / "a_0.vtu"
    content = part.read_bytes()
    for cut in range(0, len(content), len(content) // 20):
        part.write_bytes(content[:cut])
        with pytest.raises(ReadError, match=r"a_0\.vtu"):
            read(file)
