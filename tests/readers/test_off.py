"""OFF: prefixes, colours, comments, binary, and that each refusal names the line."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from meshkit.errors import ReadError
from tests.readers.by_hand import read_text
from tests.readers.mutations import survives

SQUARE = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"


@pytest.mark.parametrize(
    "text",
    [
        f"OFF\n4 2 0\n{SQUARE}3 0 1 2\n3 0 2 3\n",
        f"OFF 4 2 5\n{SQUARE}3 0 1 2\n3 0 2 3",
        f"# a note\n\nOFF # and\n4 2\n\n# points\n{SQUARE}\n3 0 1 2 # one\n3  0 2 3\n\n",
        f"OFF\r\n4 2 0\r\n{SQUARE}3 0 1 2\r\n3 0 2 3\r\n",
        "OFF\n4 2 0\n0 0 0 1 0 0\n1 1 0 0 1 0\n3 0 1 2\n3 0 2 3\n",
        f"OFF\n4 2 0\n{SQUARE}3 0 1 2\n3 0 2 3\n".replace("\n", "\r"),
        f"nOFF\n3\n4 2 0\n{SQUARE}3 0 1 2\n3 0 2 3\n",
        "4OFF\n4 2 0\n0 0 0 1\n1 0 0 1\n1 1 0 1\n0 1 0 1\n3 0 1 2\n3 0 2 3\n",
    ],
)
def test_the_same_square_however_written(tmp_path: Path, text: str) -> None:
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.points.dtype == torch.float64
    assert mesh.cells.dense.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert not list(mesh.point_data.keys()) and not list(mesh.cell_data.keys())


def test_faces_of_any_size(tmp_path: Path) -> None:
    text = f"OFF\n5 5 0\n{SQUARE}2 2 2\n1 4\n2 0 1\n3 0 1 2\n4 0 1 2 3\n5 0 1 2 3 4\n"
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.cells.types.tolist() == [1, 3, 5, 9, 7]
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("vertex", 1), ("line", 1)]
    assert sum(e.count for e in mesh.info.report if e.what == "cells") == mesh.n_cells


def test_all_columns_of_a_point(tmp_path: Path) -> None:
    row = "0 0 1 255 0 128 7 0.25 0.75"
    text = "STCNOFF\n4 1 0\n" + "".join(f"{p} {row}\n" for p in SQUARE.splitlines()) + "3 0 1 2\n"
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.point_data["normals"][0].tolist() == [0, 0, 1]
    assert mesh.point_data["colors"].dtype == torch.uint8
    assert mesh.point_data["colors"][0].tolist() == [255, 0, 128, 7]
    assert mesh.point_data["texture"][0].tolist() == [0.25, 0.75]


def test_colours_without_alpha_and_as_floats(tmp_path: Path) -> None:
    text = "COFF\n4 1 0\n" + "".join(f"{p} 1 0.5 0\n" for p in SQUARE.splitlines()) + "3 0 1 2\n"
    assert read_text(tmp_path / "it.off", text).point_data["colors"][0].tolist() == [1, 0.5, 0]


def test_colours_without_the_letter(tmp_path: Path) -> None:
    text = "OFF\n4 1 0\n" + "".join(f"{p} 9 8 7 255\n" for p in SQUARE.splitlines()) + "3 0 1 2\n"
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.points[2].tolist() == [1, 1, 0]
    assert mesh.point_data["colors"][0].tolist() == [9, 8, 7, 255]


def test_colours_of_faces(tmp_path: Path) -> None:
    text = f"OFF\n4 4 0\n{SQUARE}3 0 1 2 255 0 0\n3 0 1 2 1 2 3 4\n3 0 1 2\n3 0 1 2 9\n"
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.cell_data["color_index"].tolist() == [-1, -1, -1, 9]
    colors = mesh.cell_data["colors"]
    assert colors[1].tolist() == [1, 2, 3, 4]
    assert colors[0, :3].tolist() == [255, 0, 0] and colors[0, 3].isnan()
    assert colors[2:].isnan().all()
    plain = read_text(tmp_path / "it.off", f"OFF\n4 2 0\n{SQUARE}3 0 1 2 255 0 0\n3 0 2 3 0 9 0\n")
    assert plain.cell_data["colors"].dtype == torch.uint8
    assert plain.cell_data["colors"].tolist() == [[255, 0, 0], [0, 9, 0]]


def test_homogeneous_points_are_divided(tmp_path: Path) -> None:
    text = "4OFF\n3 1 0\n0 0 0 1\n2 0 0 2\n0 3 0 3\n3 0 1 2\n"
    mesh = read_text(tmp_path / "it.off", text)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert mesh.point_data["w"].tolist() == [1, 2, 3]


def test_points_in_the_plane(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.off", "nOFF\n2\n3 1 0\n0 0\n1 0\n0 1\n3 0 1 2\n")
    assert mesh.points.tolist() == [[0, 0], [1, 0], [0, 1]]


def test_nothing(tmp_path: Path) -> None:
    mesh = read_text(tmp_path / "it.off", "OFF\n0 0 0\n")
    assert (mesh.n_points, mesh.n_cells) == (0, 0)


def binary(faces: list[tuple[list[int], list[float]]], prefix: bytes = b"") -> bytes:
    points = [float(x) for x in SQUARE.split()]
    data = prefix + b"OFF BINARY\n" + struct.pack(">3i", 4, len(faces), 0)
    data += struct.pack(">12f", *points)
    for ids, color in faces:
        data += struct.pack(f">{len(ids) + 2}i", len(ids), *ids, len(color))
        data += struct.pack(f">{len(color)}f", *color)
    return data


@pytest.mark.parametrize(
    "faces",
    [
        [([0, 1, 2], []), ([0, 2, 3], [])],
        [([0, 1, 2], []), ([0, 1, 2, 3], [1.0, 0.5, 0.0]), ([3], [])],
        [],
    ],
)
def test_binary(tmp_path: Path, faces: list[tuple[list[int], list[float]]]) -> None:
    mesh = read_text(tmp_path / "it.off", binary(faces))
    assert mesh.points.dtype == torch.float32
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    ends = mesh.cells.offsets.tolist()
    found = [mesh.cells.connectivity[a:b].tolist() for a, b in pairwise(ends)]
    assert found == [ids for ids, _ in faces]
    assert ("colors" in mesh.cell_data) == any(color for _, color in faces)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("OFF\n", r"line 3: found nothing; expected counts"),
        ("OFF\n4\n", r"line 2: found 4; expected counts of points, faces and edges"),
        ("OFF\n9999999999 1 0\n0 0 0\n", r"line 2: found 1e\+10 1 0; expected counts"),
        ("OFF\n-1 1 0\n", r"line 2: found -1 1 0"),
        (f"OFF\n5 1 0\n{SQUARE}3 0 1 2\n", r"expected 5 points of 3 numbers"),
        (f"OFF\n4 3 0\n{SQUARE}3 0 1 2\n", r"1 lines of faces; expected 3, as the counts say"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 2\n3 0 1 2\n", r"line 8: 2 lines of faces; expected 1"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 4\n", r"face 0: point id 4; expected ids from 0 to 3"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 -1\n", r"face 0: point id -1"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 1.5\n", r"line 7: point id 1\.5; expected a whole number"),
        (f"OFF\n4 1 0\n{SQUARE}5 0 1 2\n", r"line 7: 4 numbers, the first 5; expected a count"),
        (f"OFF\n4 1 0\n{SQUARE}0\n", r"line 7: 1 numbers, the first 0"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 2 1 2\n", r"line 7: 6 numbers, the first 3"),
        (f"OFF\n4 1 0\n{SQUARE}3 0 1 x\n", r"line 7: found 'x'; expected a number"),
        (f"OFF\n4 1 0\n{SQUARE.replace('1 1', '1 y')}3 0 1 2\n", r"line 5: found 'y'"),
        ("nOFF\n5\n1 0 0\n0 0 0 0 0\n", r"points of 5 dimensions; expected 1, 2 or 3"),
        ("4OFF\n1 0 0\n0 0 0 0\n", r"point 0: a point at infinity"),
        ("hello\n", r"does not begin with 'OFF'"),
    ],
)
def test_a_refusal_says_where(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem):
        read_text(tmp_path / "it.off", text)


def test_a_binary_header_that_is_too_large(tmp_path: Path) -> None:
    data = binary([([0, 1, 2], [])])
    at = data.index(b"\n") + 1
    for wrong in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"):
        with pytest.raises(ReadError, match=r"header: counts of .* expected no more than 91 bytes"):
            read_text(tmp_path / "it.off", data[:at] + wrong + data[at + 4 :])
    with pytest.raises(ReadError, match="goes on after"):
        read_text(tmp_path / "it.off", data + b"\0\0\0\0")


def test_damage(tmp_path: Path) -> None:
    row = "0 0 1 255 0 128 7"
    text = "CNOFF\n4 2 0\n" + "".join(f"{p} {row}\n" for p in SQUARE.splitlines())
    text += "3 0 1 2 1 0 0\n4 0 1 2 3 0 1 0\n"
    assert survives(tmp_path / "it.off", text.encode()) > 30
    data = binary([([0, 1, 2], []), ([0, 1, 2, 3], [1.0, 0.5, 0.0])])
    assert survives(tmp_path / "it.off", data) > 30
