"""What is refused of VTK's XML files, and that damage never comes to more than one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.markup import opened
from meshkit.readers.vtk.payload import Payload
from tests.meshes import hanging_polyhedron, one_of_each
from tests.readers.by_hand import refused_text
from tests.readers.mutations import survives
from tests.readers.vtk_saving import (
    ENCODINGS,
    array_tag,
    column,
    grid_text,
    plain_vtk,
    saved,
    triangle_piece,
)

# --- counts and sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n_points": 4}, r"Points in piece 0: holds 9 values; expected 12"),
        ({"n_points": 2}, r"Points in piece 0: holds 9 values; expected 6"),
        ({"n_points": -3}, r"NumberOfPoints is '-3'; expected a whole number from 0 on"),
        ({"n_points": "3x"}, r"NumberOfPoints is '3x'"),
        ({"n_points": 10**15}, r"Points in piece 0: holds 9 values; expected 3000000000000000"),
        ({"n_cells": 2}, r"array 'offsets' of Cells in piece 0: holds 1 values; expected 2"),
        ({"n_cells": 0}, r"array 'offsets' of Cells in piece 0: holds 1 values; expected 0"),
        ({"ids": "0 1"}, r"array 'connectivity' of Cells in piece 0: holds 2 values; expected 3"),
        ({"ids": "0 1 3"}, r"point id 3 in cell 0; expected ids from 0 to 2"),
        ({"ids": "0 -1 2"}, r"point id -1 in cell 0; expected ids from 0 to 2"),
        ({"ids": "0 1 x"}, r"'connectivity' of Cells in piece 0: word 2 is 'x'; expected a num"),
        ({"ends": "4611686018427387904"}, r"expected 4611686018427387904, where its offsets end"),
        ({"ends": "-3"}, r"array 'offsets' of Cells in piece 0: descend at 0: 0 to -3"),
        ({"ends": "3.5"}, r"array 'offsets' of Cells in piece 0: word 0 is '3.5'"),
        ({"types": "300"}, r"array 'types' of Cells in piece 0: word 0 is '300'"),
        ({"types": "42"}, r"array 'types' of Cells in piece 0: holds polyhedra whose faces are"),
        ({"types": "10"}, r"cell \d: a tetra of 3 points; expected 4"),
        ({"types": "99"}, r"unknown cell type 99"),
        ({"point_data": array_tag("a", "1 2")}, r"array 'a' of PointData in piece 0: holds 2 val"),
        ({"point_data": array_tag("a", "1 2 3 4")}, r"holds 4 values; expected 3"),
        (
            {"point_data": array_tag("a", "1 x 3")},
            r"array 'a' of PointData .*: word 1 is 'x'",
        ),
        ({"point_data": array_tag("a", "1 2 3", "Int7")}, r"type 'Int7' is unknown"),
        ({"point_data": array_tag("a", "1 2 300", "UInt8")}, r"array 'a' .*word 2 is '300'"),
        ({"point_data": array_tag("a", "", more='NumberOfComponents="0"')}, r"has 0 components"),
        ({"point_data": "<Foo/>"}, r"<PointData> holds <Foo>; expected <DataArray>"),
        ({"points": "0 0 0"}, r"Points in piece 0: holds 3 values; expected 9"),
    ],
)
def test_counts(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    refused_text(tmp_path / "a.vtu", grid_text(triangle_piece(**changes)), says)


def test_an_id_beyond_its_own_piece_is_no_point_of_the_next(tmp_path: Path) -> None:
    pieces = [triangle_piece(ids="0 1 3"), triangle_piece()]
    says = r"'connectivity' of Cells in piece 0: point id 3 in cell 0; expected ids from 0 to 2"
    refused_text(tmp_path / "a.vtu", grid_text(pieces), says)


def test_texts_that_are_fewer_than_promised(tmp_path: Path) -> None:
    # vtk reads on past the end of such an array.
    tag = '<Array type="String" Name="s" format="ascii">65 0 66 0</Array>'
    says = r"array 's' of PointData in piece 0: holds 2 texts; expected 3"
    refused_text(tmp_path / "a.vtu", grid_text(triangle_piece(tag)), says)
    cut = tag.replace("66 0", "66 0 67")
    refused_text(tmp_path / "a.vtu", grid_text(triangle_piece(cut)), r"its last text is cut off")
    wrong = tag.replace("66 0", "6-6 0 0")
    refused_text(tmp_path / "a.vtu", grid_text(triangle_piece(wrong)), r"word 2 is '6-6'")


FACES = (
    array_tag("faces", "4 3 0 1 2 3 0 1 3 3 1 2 3 3 0 2 3", "Int64"),
    array_tag("faceoffsets", "17", "Int64"),
)


def tetrahedron_as_polyhedron(faces: str) -> str:
    return grid_text(
        triangle_piece(
            n_points=4,
            points="0 0 0 1 0 0 0 1 0 0 0 1",
            ids="0 1 2 3",
            ends="4",
            types="42",
            more=faces,
        )
    )


def test_the_faces_of_polyhedra_are_walked(tmp_path: Path) -> None:
    file = tmp_path / "a.vtu"
    file.write_text(tetrahedron_as_polyhedron("".join(FACES)))
    assert read(file).cells.counts == {"polyhedron": 1}
    for old, new, says in [
        ("4 3 0 1 2", "5 3 0 1 2", r"array 'faces' of Cells in piece 0: do not fill their cells"),
        ("4 3 0 1 2", "4 9 0 1 2", r"do not fill"),
        ("4 3 0 1 2", "4611686018427387904 3 0 1 2", r"do not fill"),
        ("4 3 0 1 2", "4 -3 0 1 2", r"do not fill"),
        (">17<", ">18<", r"array 'faceoffsets' .*do not ascend within the faces"),
        (">17<", ">-1<", r"polyhedra"),
        (">17<", ">17 17<", r"array 'faceoffsets' .*holds 2 values; expected 1"),
    ]:
        refused_text(file, tetrahedron_as_polyhedron("".join(FACES).replace(old, new)), says)
    refused_text(file, tetrahedron_as_polyhedron(FACES[0]), r"has 'faces' without 'faceoffsets'")


def test_the_new_layout_of_polyhedra(tmp_path: Path) -> None:
    arrays = {
        "face_connectivity": "0 1 2 0 1 3 1 2 3 0 2 3",
        "face_offsets": "3 6 9 12",
        "polyhedron_to_faces": "3 2 1 0",
        "polyhedron_offsets": "4",
    }

    def text(**changed: str) -> str:
        made = (array_tag(name, said, "Int64") for name, said in {**arrays, **changed}.items())
        return tetrahedron_as_polyhedron("".join(made)).replace(
            'version="1.0" b', 'version="2.3" b'
        )

    file = tmp_path / "a.vtu"
    file.write_text(text())
    mesh = read(file)
    assert mesh.cells.polyhedra is not None
    assert sorted(mesh.cells.polyhedra.connectivity[:3].tolist()) == [0, 2, 3]
    refused_text(
        file, text(polyhedron_to_faces="3 2 1 4"), r"'polyhedron_to_faces' .*: face 4; expected"
    )
    refused_text(file, text(polyhedron_to_faces="3 2 1 -1"), r"face -1")
    refused_text(file, text(polyhedron_offsets="5"), r"holds 4 values; expected 5")
    refused_text(file, text(face_offsets="3 6 9 11"), r"holds 12 values; expected 11")
    refused_text(file, text(face_offsets="3 9 6 12"), r"'face_offsets' .*descend at 2: 9 to 6")


# --- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("</VTKFile>\n", "", r"line 5: is no well-formed XML: no element found"),
        ("LittleEndian", "MiddleEndian", r"byte_order is 'MiddleEndian'; expected one of Little"),
        ('"UInt64"', '"UInt16"', r"header_type is 'UInt16'; expected one of UInt32, UInt64"),
        ("byte_order", 'compressor="vtkZip" byte_order', r"compressor 'vtkZip' is unknown"),
        ("<Points>", "<Points/><Points>", r"<Piece> has 2 <Points>; expected one"),
        ("<Points>", "<PointData/><Points>", r"<Piece> has 2 <PointData>; expected one"),
        ('Name="offsets"', 'Name="ends"', r"1 cells without offsets; expected an array 'offsets'"),
        ('Name="types"', 'Name="kinds"', r"1 cells without types; expected an array 'types'"),
        ('Name="types"', 'Name="offsets"', r"has two arrays 'offsets'"),
        ('format="ascii"', 'format="appended"', r"format is 'appended' without an offset"),
        ('format="ascii"', 'format="binary"', r"holds|base64|header"),
        ('format="ascii"', 'format="appended" offset="0"', r"its appended data are missing"),
        ("Points>", "Pointz>", r"Points hold 0 arrays: |Points hold 0 arrays"),
        ("<?xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><?xml", r"is no well-formed XML|document type"),
    ],
)
def test_markup(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = grid_text(triangle_piece())
    assert old in text
    refused_text(tmp_path / "a.vtu", text.replace(old, new), says)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    bomb = "".join(f'<!ENTITY {b} "&{a};&{a};">' for a, b in zip("abcdefg", "bcdefgh", strict=True))
    text = grid_text(triangle_piece()).replace(
        "<VTKFile", f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{bomb}]><VTKFile'
    )
    refused_text(tmp_path / "a.vtu", text, r"has a document type")


def test_a_bare_greater_than_in_a_tag_is_refused(tmp_path: Path) -> None:
    # vtk takes it for the end of the tag, and the rest of the tag for data.
    text = grid_text(triangle_piece(array_tag("a>b", "1 2 3")))
    refused_text(tmp_path / "a.vtu", text, r"line 4: <DataArray> has a bare '>' in an attribute")
    (tmp_path / "b.vtu").write_text(text.replace("a>b", "a&gt;b"))
    assert list(read(tmp_path / "b.vtu").point_data.keys()) == ["a>b"]


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    text = grid_text(triangle_piece()).replace("<Points>", "<a>" * 500 + "<Points>")
    refused_text(tmp_path / "a.vtu", text, r"too many or too deeply nested elements")


def test_another_kind_of_vtk_file(tmp_path: Path) -> None:
    text = grid_text(triangle_piece())
    (tmp_path / "a.vtu").write_text(text)
    with pytest.raises(ReadError, match=r"is of type 'UnstructuredGrid'; expected 'PolyData'"):
        read(tmp_path / "a.vtu", format="vtp")
    refused_text(tmp_path / "b.vtu", text.replace("<Piece", "<Peace").replace("</Piece", "</Peace"),
            r"<UnstructuredGrid> holds no <Piece>")  # fmt: skip
    refused_text(
        tmp_path / "c.vtu",
        re.sub("</?UnstructuredGrid>", "", text),
        r"holds no <UnstructuredGrid>",
    )


# --- binary --------------------------------------------------------------------------------------


def small(path: Path, encoding: str) -> Path:
    data = {"point": {"a": column(*range(33), dtype="f8")}}
    return saved(plain_vtk(one_of_each(), **data), path, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_our_decoding_is_vtks(tmp_path: Path, encoding: str) -> None:
    with opened(small(tmp_path / "a.vtu", encoding)) as markup:
        payload = Payload(markup)
        piece = markup.root.all("UnstructuredGrid")[0].all("Piece")[0]
        array = piece.all("PointData")[0].children[0]
        assert payload.count(array, "a") == 33
        assert payload.numbers(array, "a").tolist() == list(range(33))


def test_a_header_that_promises_the_moon(tmp_path: Path) -> None:
    file = small(tmp_path / "a.vtu", "raw")
    content = file.read_bytes()
    at = content.index(b"_", content.index(b"<AppendedData")) + 1
    for size, says in [
        (2**32 - 1, r"array 'a' of PointData in piece 0: its header promises 4294967295 bytes"),
        (8 * 32, r"array 'a' of PointData in piece 0: holds 32 values; expected 33"),
        (8 * 33 - 1, r"holds 263 bytes; expected a multiple of 8"),
    ]:
        made = content[:at] + np.array([size], "<u4").tobytes() + content[at + 4 :]
        refused_text(file, made, says)


def test_blocks_that_promise_the_moon(tmp_path: Path) -> None:
    file = small(tmp_path / "a.vtu", "raw lz4 blocks")
    content = file.read_bytes()
    at = content.index(b"_", content.index(b"<AppendedData")) + 1
    head = np.frombuffer(content[at : at + 12], "<u4")
    assert head.tolist() == [5, 64, 8]  # 264 bytes in blocks of 64
    for place, word, says in [
        (0, 2**32 - 1, r"its header promises 4294967295 blocks"),
        (0, 6, r"holds|impossible"),
        (1, 2**31, r"the sizes of its blocks are impossible"),
        (1, 0, r"the sizes of its blocks are impossible"),
        (2, 65, r"the sizes of its blocks are impossible"),
        (2, 16, r"holds 34 values; expected 33"),
        (3, 2**31, r"the sizes of its blocks are impossible|the file ends before"),
    ]:
        made = bytearray(content)
        made[at + 4 * place : at + 4 * place + 4] = np.array([word], "<u4").tobytes()
        refused_text(file, bytes(made), says)


@pytest.mark.parametrize("encoding", ["raw", "base64", "raw 64 big", "raw lzma"])
def test_cut_files(tmp_path: Path, encoding: str) -> None:
    file = small(tmp_path / "a.vtu", encoding)
    content = file.read_bytes()
    for n in (len(content) - 30, len(content) * 3 // 4, content.index(b"_") + 1, 300):
        refused_text(file, content[:n], r"is cut off|no well-formed XML")


def test_offsets_outside_of_the_appended_data(tmp_path: Path) -> None:
    file = small(tmp_path / "a.vtu", "raw")
    content = file.read_bytes()
    last = max(int(n) for n in re.findall(rb'offset="(\d+)"', content))
    made = content.replace(b'offset="%d"' % last, b'offset="99999999"')
    refused_text(
        file, made, r"array 'types' .*begins at byte 99999999 of the appended data; expected"
    )
    refused_text(file, content.replace(b"\n   _", b"\n   x"), r"does not begin with '_'")
    refused_text(file, content.replace(b'"raw"', b'"hex"'), r"appended data is encoded as 'hex'")


def test_what_is_no_base64(tmp_path: Path) -> None:
    file = small(tmp_path / "a.vtu", "base64")
    content = file.read_bytes()
    at = content.index(b"_", content.index(b"<AppendedData")) + 40
    refused_text(
        file, content[:at] + b"\n" + content[at + 1 :], r"array 'a' .*its data are no base64"
    )


# --- anything ------------------------------------------------------------------------------------


def crowded() -> Any:
    """A grid with polyhedra, texts and field data."""
    texts = VtkArray([f"é{i}" for i in range(31)])
    point = {"a": column(*range(31), dtype="f8"), "s": texts}
    return plain_vtk(hanging_polyhedron(), point=point, field={"t": column(1.5)})


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_damage_is_refused_or_harmless(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], encoding: str
) -> None:
    file = saved(crowded(), tmp_path / "a.vtu", encoding)
    capfd.readouterr()
    assert survives(file, file.read_bytes(), 150) > 75
    assert capfd.readouterr().err == ""  # vtk prints nothing
