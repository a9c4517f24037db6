"""PLY: what no file may do, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meshkit.errors import MeshkitError, ReadError
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from tests.meshes import cube_surface
from tests.readers.by_hand import read_text, refused_text
from tests.readers.mutations import survives, within_memory
from tests.readers.ply_files import HEAD, SQUARE, VERTEX, packed, rich


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + VERTEX, "the header does not end; expected end_header"),
        (SQUARE.replace("ascii", "utf8"), "line 2: found 'format utf8 1.0'; expected format, "),
        (SQUARE.replace("format ascii 1.0\n", ""), "the header names no format"),
        (SQUARE.replace("face 2", "face two"), "line 7: found 'element face two'"),
        (SQUARE.replace("face 2", "vertex 2"), "line 7: element 'vertex' a second time"),
        (SQUARE.replace("float y", "float x"), "line 5: property 'x' of 'vertex' twice"),
        (SQUARE.replace("float y", "half y"), "line 5: found 'property half y'; expected a type"),
        (SQUARE.replace("uchar int", "float int"), "line 8: found 'property list float int"),
        (SQUARE.replace("vertex 4", "points 4"), "holds no element 'vertex'; expected a mesh"),
        (SQUARE.replace("float x", "float a"), "vertex has y, z; expected x, y and z"),
        (SQUARE.replace("1 1 0", "1 one 0"), "line 12: found 'one'; expected numbers"),
        (SQUARE.replace("3 0 2 3", "3 0 2 4"), "element 'face': vertex 4 in row 1; expected vert"),
        (SQUARE.replace("3 0 2 3", "3 0 2 -1"), "element 'face': vertex -1 in row 1"),
        (SQUARE.replace("3 0 2 3", "3 0 2 .5"), "line 15: 0.5 for 'vertex_indices' of row 1 of"),
        (SQUARE.replace("3 0 2 3", "-3 0 2 3"), "line 15: -3 for 'vertex_indices' of row 1 of"),
        (
            SQUARE.replace("3 0 2 3", "9 0 2 3"),
            "line 14: 8 numbers are left for element 'face', fewer",
        ),
        (SQUARE.replace("face 2", "face 3"), "left for element 'face', fewer than it needs"),
        (SQUARE.replace("vertex 4", "vertex 9"), "20 numbers are left for element 'vertex', "),
        (SQUARE.replace("list uchar int", "list uchar float"), "vertices are no integers"),
    ],
)
def test_refused(tmp_path: Path, text: str, said: str) -> None:
    refused_text(tmp_path / "it.ply", text, re.escape(said))


def test_binary_that_ends_early_names_the_byte(tmp_path: Path) -> None:
    write(cube_surface(), tmp_path / "it.ply")
    data = (tmp_path / "it.ply").read_bytes()
    start = data.index(b"end_header\n") + 11
    said = rf"byte {start}: 100 bytes are left for element 'vertex', fewer .* expected 8 rows"
    with pytest.raises(ReadError, match=said):
        read_text(tmp_path / "it.ply", data[: start + 100])


@pytest.mark.parametrize("count", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("lie", ["vertex 4", "face 2"])
def test_headers_that_lie_allocate_nothing(
    tmp_path: Path, lie: str, order: str, count: int
) -> None:
    text = SQUARE.replace("ascii", order).replace(lie, f"{lie.split()[0]} {count}")
    with within_memory(5_000_000), pytest.raises(MeshkitError):
        read_text(tmp_path / "it.ply", text)


@pytest.mark.parametrize("which", ["ascii", "little", "big", "ours", "triangles"])
def test_damage(tmp_path: Path, which: str) -> None:
    write(rich(), tmp_path / "ours.ply")
    write(cube_surface(), tmp_path / "triangles.ply")
    data = {
        "ascii": SQUARE.encode(),
        "little": packed("<"),
        "big": packed(">"),
        "ours": (tmp_path / "ours.ply").read_bytes(),
        "triangles": (tmp_path / "triangles.ply").read_bytes(),
    }[which]
    with within_memory(50_000_000):
        assert survives(tmp_path / "it.ply", data, n=150, seed=2) > 20


def test_a_header_of_very_many_properties(tmp_path: Path) -> None:
    """Each is looked up, not searched for among all: that took minutes."""
    names = ["x", "y", "z", *(f"p{i}" for i in range(40_000))]
    header = "".join(f"property uchar {name}\n" for name in names)
    text = f"ply\nformat ascii 1.0\nelement vertex 1\n{header}end_header\n1 2 3\n"
    (tmp_path / "a.ply").write_text(text)
    with pytest.raises(ReadError, match="fewer than it needs"):
        read(tmp_path / "a.ply")
