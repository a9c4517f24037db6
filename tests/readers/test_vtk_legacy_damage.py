"""Legacy VTK: what no file may do, and what is refused."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from meshkit.errors import MeshkitError, ReadError
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.meshes import two_tetrahedra
from tests.readers.by_hand import read_text, refused_text, written
from tests.readers.mutations import survives, within_memory
from tests.readers.vtk_legacy_files import HEADER, SQUARE, everything, rich


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# vtk DataFile Version 9.0\n\nASCII\n", "line 1: version 9; expected at most"),
        ("# vtk DataFile Version 3.0\n\nTEXT\n", "line 3: found 'TEXT'; expected ASCII or BINARY"),
        ("# vtk DataFile Version 3.0\n", "line 2: ends too early; expected ASCII or BINARY"),
        (HEADER, "holds no DATASET; expected a mesh"),
        (HEADER + "FIELD f 1\na 1 1 int 3\n", "holds a FIELD and no DATASET; expected a mesh"),
        (HEADER + "DATASET TABLE\n", "line 4: a DATASET of kind 'TABLE' is no mesh"),
        (HEADER + "POINT_DATA 3\n", "line 4: 'POINT_DATA' before any DATASET"),
        (SQUARE.replace("CELLS", "KELLS"), "line 7: unknown keyword 'KELLS' in UNSTRUCTURED_GRID"),
        (SQUARE.replace("1 1 0 0", "1 one 0 0"), "line 6: 'one' among the numbers of POINTS"),
        (SQUARE.replace("1 1 0 0", "1 1-2 0 0"), "line 6: '1-2' among the numbers of POINTS"),
        (SQUARE.replace("POINTS 4", "POINTS x"), "line 5: found 'x'; expected the count of POINTS"),
        (SQUARE.replace("POINTS 4", "POINTS -4"), "line 5: found '-4'; expected the count"),
        (SQUARE.replace("float", "half"), "line 5: POINTS has the unknown type 'half'"),
        (SQUARE.replace("3 0 2 3", "4 0 2 3"), "line 7: CELLS: the counts of the rows do not add"),
        (SQUARE.replace("3 0 2 3", "3 0 2 9"), "cell 1: point id 9; expected ids from 0 to 3"),
        (SQUARE.replace("3 0 2 3", "3 0 2 -1"), "cell 1: point id -1; expected ids from 0 to 3"),
        (SQUARE.replace("5 5", "5 9"), "cell 1: a quad of 3 points; expected 4"),
        (SQUARE.replace("5 5", "5 500"), "cell type 500; expected numbers from 0 to 255"),
        (SQUARE.replace("5 5", "5 99"), "unknown cell type 99"),
        (SQUARE.replace("TYPES 2\n5 5", "TYPES 1\n5"), "CELL_TYPES of 1 cells; expected 2"),
        (SQUARE[:-3], "ends too early; expected 2 numbers of CELL_TYPES"),
        (SQUARE + "POINT_DATA 5\n", "POINT_DATA 5; expected 4, as in the DATASET"),
        (SQUARE + "POINT_DATA 4\nSCALARS p float\n1 2 3 4", "line 14: found '2' after SCALARS 'p'"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 3 int 1 2 3", "line 14: array 'x' has 3 rows"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 0 4 int", "line 14: found '0'; expected the comp"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 4 char 1 2 3 300", "'300' among the numbers"),
        (SQUARE + "POINT_DATA 4\nFIELD f 1\nx 1 4 int 1 2 3 4.5", "'4.5' among the numbers"),
        (SQUARE + "POINT_DATA 4\nSCALES p float\n", "line 13: unknown keyword 'SCALES' in POINT_D"),
        (SQUARE + "POINTS 1 float 1 2 3\n", "line 12: POINTS a second time"),
        (
            HEADER + "DATASET STRUCTURED_POINTS\nDIMENSIONS 9999 9999 9999\n",
            "DIMENSIONS say 999700029999 points and no array has that many",
        ),
        (
            HEADER + "DATASET STRUCTURED_GRID\nDIMENSIONS 2 2 1\nPOINTS 3 float " + "0 " * 9,
            "POINTS 3; expected 4, as DIMENSIONS 2 x 2 x 1 say",
        ),
        (
            HEADER + "DATASET RECTILINEAR_GRID\nDIMENSIONS 2 2 1\nX_COORDINATES 2 float 0 1\n",
            "no Y_COORDINATES; expected 2",
        ),
        (
            HEADER + "DATASET POLYDATA\nPOINTS 1 float 0 0 0\nPOLYGONS 3 2\nOFFSETS int 0 2 1\n"
            "CONNECTIVITY int 0 0\n",
            "OFFSETS of POLYGONS run from 0 to 1; expected 0 to 2",
        ),
        (
            HEADER + "DATASET POLYDATA\nPOINTS 1 float 0 0 0\nPOLYGONS 4 2\nOFFSETS int 0 2 1 2\n"
            "CONNECTIVITY int 0 0\n",
            "OFFSETS of POLYGONS descend after row 1; expected ascending",
        ),
        (
            HEADER + "DATASET UNSTRUCTURED_GRID\nPOINTS 1 float 0 0 0\nCELLS 1 4\n3 2 1 0\n"
            "CELL_TYPES 1\n42\n",
            "CELLS: the faces of a polyhedron do not add up",
        ),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, text: str, said: str) -> None:
    refused_text(tmp_path / "it.vtk", text, re.escape(said))


def test_binary_that_ends_early_names_the_byte(tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "it.vtk")
    data = (tmp_path / "it.vtk").read_bytes()
    at = data.index(b"POINTS")
    path = written(tmp_path / "it.vtk", data[: at + 40])
    with pytest.raises(ReadError, match=rf"byte {at + 9}: 120 bytes for 15 numbers of POINTS, but"):
        read(path)


@pytest.mark.parametrize("count", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("binary", [False, True], ids=["ascii", "binary"])
@pytest.mark.parametrize(
    "lie",
    [
        "POINTS {} float\n",
        "CELLS {} {}\n",
        "CELLS 1 {}\n",
        "CELL_TYPES {}\n",
        "CELLS {} 1\nOFFSETS vtktypeint64\n",
        "FIELD f 1\na 1 {} string\n",
        "FIELD f 1\na {} 1 bit\n",
        "FIELD f 1\na 1 {} variant\n",
        "FIELD f {}\n",
    ],
)
def test_headers_that_lie_allocate_nothing(
    tmp_path: Path, lie: str, binary: bool, count: int
) -> None:
    header = HEADER.replace("ASCII", "BINARY") if binary else HEADER
    text = header + "DATASET UNSTRUCTURED_GRID\n" + lie.replace("{}", str(count)) + "1 2 3\n"
    path = written(tmp_path / "it.vtk", text)
    with within_memory(5_000_000), pytest.raises(MeshkitError):
        read(path)


def _damaged_sources(tmp_path: Path) -> dict[str, bytes]:
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter

    found = {}
    for version in (42, 51):
        for ascii in (True, False):
            writer = vtkUnstructuredGridWriter()
            writer.SetInputData(everything())
            writer.SetFileVersion(version)
            (writer.SetFileTypeToASCII if ascii else writer.SetFileTypeToBinary)()
            path = tmp_path / f"{version}{ascii}"
            writer.SetFileName(str(path))
            writer.Write()
            found[f"{version}-{'ascii' if ascii else 'binary'}"] = path.read_bytes()
    write(rich(), tmp_path / "ours.vtk")
    found["ours"] = (tmp_path / "ours.vtk").read_bytes()
    found["square"] = SQUARE.encode()
    return found


@pytest.mark.parametrize(
    "which", ["42-ascii", "42-binary", "51-ascii", "51-binary", "ours", "square"]
)
def test_damage(tmp_path: Path, which: str) -> None:
    data = _damaged_sources(tmp_path)[which]
    with within_memory(50_000_000):
        assert survives(tmp_path / "it.vtk", data, n=150, seed=1) > 30


def test_numbers_of_the_header_changed(tmp_path: Path) -> None:
    """Each number of an ascii file in turn becomes another; nothing but our errors comes of it."""
    rng = random.Random(0)
    words = (SQUARE + "POINT_DATA 4\nSCALARS p float 1\nLOOKUP_TABLE default\n1 2 3 4\n").split(" ")
    said = []
    for i in range(len(words)):
        value = rng.choice(["0", "-1", "7", "1e9", "4294967296", "99999999999999999999"])
        try:
            read_text(tmp_path / "it.vtk", " ".join([*words[:i], value, *words[i + 1 :]]))
        except MeshkitError as why:
            said.append(str(why))
    assert len(said) > len(words) // 3
    assert not any("\n" in line for line in said)
