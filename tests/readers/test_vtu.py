"""VTU: real files, every encoding of vtk's writers, and everything of ours back bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.objects import to_unstructured
from meshkit.readers.vtk.xml import read_data, write_data
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.report import Ledger
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, one_of_each
from tests.random_meshes import NAMES, random_meshes
from tests.readers.vtk_saving import (
    ENCODINGS,
    array_tag,
    by_vtk,
    column,
    grid_text,
    plain,
    plain_vtk,
    saved,
    triangle_piece,
)
from tests.readers.vtk_views import assert_same_as_vtk, seen_by_vtk


def lines(mesh: Mesh, outcome: str) -> list[tuple[str, str, int]]:
    return [(e.what, e.name, e.count) for e in mesh.info.report if e.outcome == outcome]


# --- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "points", "cells"),
    [
        ("vtu/can.vtu", 6724, {"hexahedron": 4800}),
        ("derived/hanging_poly.vtu", 31, {"hexahedron": 8, "polyhedron": 1}),
        ("vtu/polyhedron2pieces.vtu", 18, {"pyramid": 2, "polyhedron": 2}),
        ("derived/lagrange_p3_hex.vtu", 64, {"lagrange_hexahedron": 1}),
        ("vtu/Voxel.vtu", 8, {"voxel": 1}),
        ("vtu/TriangleStrip.vtu", 10, {"triangle_strip": 1}),
        ("derived/bigendian_appended_lz4_u64.vtu", 27, {"hexahedron": 8}),
        ("derived/empty.vtu", 0, {}),
        ("derived/points_no_cells.vtu", 27, {}),
        ("derived/wedge_w961.vtu", 6, {"wedge": 1}),
    ],
)
def test_samples(samples: Path, name: str, points: int, cells: dict[str, int]) -> None:
    mesh = read(samples / name)
    assert (mesh.n_points, mesh.cells.counts) == (points, cells)
    assert mesh.info.report.lossless


def test_a_file_full_of_traps(samples: Path) -> None:
    mesh = read(samples / "derived/nan_string_unicode.vtu")
    temperature = mesh.point_data["Température °C"]
    assert torch.isnan(temperature).nonzero().tolist() == [[3]]
    assert temperature[5] == torch.inf
    assert mesh.point_data["a/b c.d"][:2].tolist() == [2**53 + 1, 2**53 + 2]
    assert mesh.cell_data["sigma"].shape == (8, 9)
    words = mesh.info.field("cell_data", "region").vocabulary
    assert words is not None
    assert [words[i] for i in mesh.cell_data["region"][:2].tolist()] == ["inlet", "壁"]
    assert mesh.info.time == 0.25


def test_two_samples_of_one_mesh_in_two_encodings_are_the_same(samples: Path) -> None:
    ascii_, binary = (
        read(samples / f"derived/{name}.vtu")
        for name in ("nan_string_unicode", "bigendian_appended_lz4_u64")
    )
    assert differences(ascii_, binary) == []


# --- every encoding ------------------------------------------------------------------------------

NUMBERS = {
    **{f"{k}{8 * n}": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)},
    "f32": "f4",
    "f64": "f8",
}


def crowded() -> dict[str, dict[str, VtkArray]]:
    """An array of every type, with its extremes; texts; field data."""
    point: dict[str, VtkArray] = {}
    for name, dtype in NUMBERS.items():
        kind = np.dtype(dtype)
        if kind.kind == "f":
            ends = [np.nan, np.inf, -np.inf, float(np.finfo(kind).max), -0.0]
        else:
            ends = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 2]
        point[name] = column(*ends, *range(28), dtype=kind)
    point["vectors"] = VtkArray(
        np.arange(99.0).reshape(33, 3), "vectors", components=("x", "y y", "zé")
    )
    point["texts"] = VtkArray([f"é{i}" * (i % 3) for i in range(33)])
    cell = {"T": VtkArray(np.arange(8.0).reshape(-1, 1), "scalars", unit="K")}
    cell["ids"] = VtkArray(np.arange(8).reshape(-1, 1) + 2**53 + 1, "global_ids")
    return {"point": point, "cell": cell, "field": {"TimeValue": column(0.5), "": column(1, 2)}}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_vtk_gives_what_vtk_sees(tmp_path: Path, encoding: str) -> None:
    arrays = crowded()
    del arrays["field"][""]
    dataset = plain_vtk(one_of_each(), **arrays)
    data = read_data(saved(dataset, tmp_path / "a.vtu", encoding), "UnstructuredGrid", Ledger())
    for home in ("point", "cell", "field"):
        found = getattr(data, f"{home}_arrays")
        assert list(found) == list(arrays[home])
        for name, wanted in arrays[home].items():
            assert (found[name].role, found[name].components, found[name].unit) == (
                wanted.role,
                wanted.components,
                wanted.unit,
            )
            if isinstance(wanted.values, list):
                assert found[name].values == wanted.values
            else:
                assert found[name].values.dtype == wanted.values.dtype
                assert np.array_equal(
                    found[name].values, wanted.values, equal_nan=wanted.values.dtype.kind == "f"
                )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("pieces", [1, 3])
def test_polyhedra_in_every_encoding(tmp_path: Path, encoding: str, pieces: int) -> None:
    mesh = hanging_polyhedron()
    file = saved(plain_vtk(mesh), tmp_path / "a.vtu", encoding, pieces)
    found = read(file)  # vtk writes the whole grid once a piece
    assert found.cells.counts == {k: n * pieces for k, n in mesh.cells.counts.items()}
    assert float(cell_measures(found).sum()) == pytest.approx(2.0 * pieces, abs=1e-12)


def test_bits_are_booleans(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonCore import vtkBitArray

    dataset = plain_vtk(one_of_each())
    bits = vtkBitArray()
    bits.SetName("b")
    for i in range(33):
        bits.InsertNextValue(i % 3 == 0)
    dataset.GetPointData().AddArray(bits)
    for encoding in ENCODINGS:
        mesh = read(saved(dataset, tmp_path / "a.vtu", encoding))
        assert mesh.point_data["b"].dtype == torch.bool
        assert mesh.point_data["b"].tolist() == [i % 3 == 0 for i in range(33)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ids_of_others_are_int32_where_they_fit(tmp_path: Path, dtype: type) -> None:
    data = plain(one_of_each())
    data.offsets, data.connectivity = data.offsets.astype(dtype), data.connectivity.astype(dtype)
    mesh = read(saved(to_unstructured(data), tmp_path / "a.vtu", "raw"))
    assert mesh.cells.connectivity.dtype == mesh.cells.offsets.dtype == torch.int32


def test_what_is_read_is_what_vtk_sees(tmp_path: Path) -> None:
    arrays = crowded()
    del arrays["field"][""]
    file = saved(plain_vtk(one_of_each(), **arrays), tmp_path / "a.vtu", "raw")
    assert_same_as_vtk(read(file), seen_by_vtk(by_vtk(file)))


def test_infinities_in_ascii_keep_their_sign(tmp_path: Path) -> None:
    # vtk reads -inf as +inf, and does not know the long word.
    text = array_tag("a", "-inf inf nan") + array_tag("b", "-Infinity infinity 1", "Float32")
    piece = triangle_piece(text, points="0 0 -inf 1 0 0 0 1 0")
    (file := tmp_path / "a.vtu").write_text(grid_text(piece))
    for content in (file.read_text(), file.read_text().replace("LittleEndian", "BigEndian")):
        for compressor in ("", "ZLib", "LZ4", "LZMA"):
            said = f'compressor="vtk{compressor}DataCompressor" byte_order' if compressor else ""
            file.write_text(content.replace("byte_order", said or "byte_order"))
            mesh = read(file)
            assert mesh.point_data["a"].tolist()[:2] == [-np.inf, np.inf]
            assert mesh.point_data["b"].tolist() == [-np.inf, np.inf, 1]
            assert mesh.points[0].tolist() == [0, 0, -np.inf]


def test_points_of_whole_numbers_become_floats(tmp_path: Path) -> None:
    text = grid_text(triangle_piece()).replace(
        '"Float64" format="ascii" Num', '"Int32" format="ascii" Num'
    )
    (file := tmp_path / "a.vtu").write_text(text)
    mesh = read(file)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert lines(mesh, "converted") == [("points", "", 3)]


def test_degrees_of_lagrange_cells_arrive(tmp_path: Path) -> None:
    points = [[x, y, 0.0] for x, y in ((0, 0), (2, 0), (2, 1), (0, 1), (1, 0), (1, 1))]
    mesh = make_mesh(points, [list(range(6))], types="lagrange_quadrilateral")
    degrees = VtkArray(np.array([[2.0, 1.0, 0.0]]), "degrees")
    dataset = plain_vtk(mesh, cell={"HigherOrderDegrees": degrees})
    found = read(saved(dataset, tmp_path / "a.vtu"))
    assert found.cells.degrees is not None
    assert found.cells.degrees.tolist() == [[2, 1, 0]]


# --- what vtk would lose -------------------------------------------------------------------------


def test_arrays_without_a_name_and_of_one_name_all_arrive(tmp_path: Path) -> None:
    tags = [("a", "1 2 3"), ("a", "4 5 6"), (None, "7 8 9"), ("", "10 11 12")]
    piece = triangle_piece("".join(array_tag(name, text) for name, text in tags))
    (file := tmp_path / "a.vtu").write_text(grid_text(piece))
    mesh = read(file)
    assert {name: x.tolist() for name, x in mesh.point_data.items()} == {
        "a": [1, 2, 3],
        "a (2)": [4, 5, 6],
        "unnamed": [7, 8, 9],
        "unnamed (2)": [10, 11, 12],
    }
    assert [name for _, name, _ in lines(mesh, "converted")] == [
        "point_data/a (2)",
        "point_data/unnamed",
        "point_data/unnamed (2)",
    ]


def test_field_data_without_a_number_of_tuples_arrive(tmp_path: Path) -> None:
    fields = array_tag("f", "1 2 3 4", more='NumberOfComponents="2"') + array_tag("g", "5")
    (file := tmp_path / "a.vtu").write_text(grid_text(triangle_piece(), fields))
    mesh = read(file)
    assert mesh.global_data["f"].tolist() == [[1, 2], [3, 4]]
    assert mesh.global_data["g"].tolist() == [5]


def test_the_last_of_several_times_is_read(tmp_path: Path) -> None:
    steps = "".join(
        array_tag("a", f"{i} {i} {i}", more=f'TimeStep="{i}"') for i in range(3)
    ) + array_tag("b", "7 8 9")
    (file := tmp_path / "a.vtu").write_text(
        grid_text(triangle_piece(steps), attributes=' TimeValues="0.5 1 2.5"')
    )
    mesh = read(file)
    assert mesh.point_data["a"].tolist() == [2, 2, 2]
    assert mesh.point_data["b"].tolist() == [7, 8, 9]
    assert mesh.info.time == 2.5
    assert ("time", "", 2) in lines(mesh, "dropped")


def test_pieces_follow_each_other_and_lacking_fields_are_filled(tmp_path: Path) -> None:
    one = triangle_piece(array_tag("a", "1 2 3") + array_tag("i", "1 2 3", "Int32"))
    two = triangle_piece(array_tag("b", "4 5 6", "UInt8"), array_tag("c", "7"), id_type="Int32")
    (file := tmp_path / "a.vtu").write_text(grid_text([one, two]))
    mesh = read(file)
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mesh.point_data["a"].tolist()[:3] == [1, 2, 3]
    assert mesh.point_data["a"][3:].isnan().all()
    assert mesh.point_data["i"].tolist() == [1, 2, 3, -1, -1, -1]
    assert mesh.point_data["b"].tolist() == [0, 0, 0, 4, 5, 6]
    assert mesh.cell_data["c"][0].isnan()
    assert mesh.cell_data["c"][1] == 7
    filled = [(name, n) for _, name, n in lines(mesh, "converted")]
    assert filled == [
        ("point_data/a", 3),
        ("point_data/i", 3),
        ("point_data/b", 3),
        ("cell_data/c", 1),
    ]


def test_pieces_with_arrays_of_one_name_and_two_kinds_keep_both(tmp_path: Path) -> None:
    pieces = [
        triangle_piece(array_tag("a", "1 2 3")),
        triangle_piece(array_tag("a", "4 5 6 7 8 9", more='NumberOfComponents="2"')),
    ]
    (file := tmp_path / "a.vtu").write_text(grid_text(pieces))
    mesh = read(file)
    assert mesh.point_data["a"].tolist()[:3] == [1, 2, 3]
    assert mesh.point_data["a (2)"].tolist()[3:] == [[4, 5], [6, 7], [8, 9]]


def test_empty_pieces_are_passed_over(tmp_path: Path) -> None:
    empty = '<Piece NumberOfPoints="0" NumberOfCells="0"></Piece>'
    (file := tmp_path / "a.vtu").write_text(
        grid_text([empty, triangle_piece(array_tag("a", "1 2 3")), empty])
    )
    mesh = read(file)
    assert mesh.cells.counts == {"triangle": 1}
    assert mesh.point_data["a"].tolist() == [1, 2, 3]


def test_arrays_where_vtk_reads_none_are_counted(tmp_path: Path) -> None:
    piece = triangle_piece().replace(
        "<PointData>", f"<Extra>{array_tag('x', '1')}</Extra><PointData>"
    )
    (file := tmp_path / "a.vtu").write_text(grid_text(piece))
    dropped = read(file).info.report.losses
    assert [e.name for e in dropped] == ["x in line 4"]


# --- written by us -------------------------------------------------------------------------------


@settings(max_examples=200)
@given(mesh=random_meshes())
def test_any_mesh_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, mesh: Mesh
) -> None:
    file = tmp_path_factory.mktemp("vtu") / "a.vtu"
    report = write(mesh, file)
    assert report.lossless
    assert differences(mesh, read(file)) == []


TEXTS = st.text(st.characters(exclude_categories=[]), max_size=6) | st.sampled_from(NAMES)


@given(
    names=st.lists(TEXTS, max_size=5, unique=True),
    values=st.lists(TEXTS, min_size=8, max_size=8),
    unit=TEXTS,
    components=st.lists(st.text(max_size=4), min_size=2, max_size=2),
)
def test_any_name_and_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    values: list[str],
    unit: str,
    components: list[str],
) -> None:
    pair = np.arange(16.0).reshape(8, 2)
    arrays = {
        name: VtkArray(pair + i, components=tuple(components)) for i, name in enumerate(names)
    }
    told = VtkArray(np.arange(8.0).reshape(-1, 1), "scalars", unit=unit)
    cell = {**arrays, "texts": VtkArray(values), "told": told}
    data = plain(one_of_each(), cell=cell, field=arrays)
    file = tmp_path_factory.mktemp("vtu") / "a.vtu"
    write_data(data, file)
    found = read_data(file, "UnstructuredGrid", Ledger())
    assert list(found.cell_arrays) == list(cell)
    assert list(found.field_arrays) == list(arrays)
    assert found.cell_arrays["texts"].values == values
    assert found.cell_arrays["told"].unit == unit
    for name, wanted in arrays.items():
        values_found = found.cell_arrays[name].values
        assert isinstance(values_found, np.ndarray)
        assert np.array_equal(values_found, wanted.values)
        if any(components):
            assert found.cell_arrays[name].components == tuple(components)


def test_vtk_opens_what_we_write_and_sees_every_field(tmp_path: Path) -> None:
    mesh = hanging_polyhedron()
    mesh = mesh.replace(
        point_data={"Température °C": torch.arange(31.0), "a/b": torch.rand(31, 3)},
        cell_data={'<&">': torch.arange(9), "": torch.ones(9), "m": ["a", "b", "é"] * 3},
        regions=[Region("wall <1>", "point", torch.tensor([0, 3]))],
        info=MeshInfo(time=1.5, fields={("cell_data", ""): FieldInfo(unit="m/s")}),
    )
    write(mesh, file := tmp_path / "a.vtu")
    seen = seen_by_vtk(by_vtk(file))
    assert np.array_equal(seen["points"], mesh.points.numpy())
    assert seen["types"] == mesh.cells.types.tolist()
    assert np.array_equal(seen["point_data"]["Température °C"], np.arange(31.0))
    assert seen["cell_data"]["m"] == ["a", "b", "é"] * 3
    assert np.array_equal(seen["cell_data"]["%3C%26%22%3E"], np.arange(9))
    assert seen["global_data"]["TimeValue"] == [1.5]
    assert differences(mesh, read(file)) == []


def test_a_name_that_looks_encoded_stays_as_it_is(tmp_path: Path) -> None:
    mesh = one_of_each().replace(cell_data={"a%20b": torch.arange(8), "%": torch.ones(8)})
    write(mesh, file := tmp_path / "a.vtu")
    assert set(seen_by_vtk(by_vtk(file))["cell_data"]) == {"a%20b", "%"}
    assert differences(mesh, read(file)) == []
