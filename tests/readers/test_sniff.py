"""What the first bytes say."""

from __future__ import annotations

import pytest

from meshkit.readers import sniff
from meshkit.readers.formats import FORMATS

BINARY_STL = b"solid facet".ljust(80, b" ") + (1).to_bytes(4, "little") + b"\0" * 50


def names(head: bytes, size: int | None = None) -> list[str]:
    """The formats that claim a file."""
    size = len(head) if size is None else size
    return [row.name for row in FORMATS if row.sniffer is not None and row.sniffer(head, size)]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"solid\nfacet normal 0 0 1", "stl"),
        (b"  SOLID a b\nendsolid", "stl"),
        (b"\xef\xbb\xbfsolid a\n facet", "stl"),
        (BINARY_STL, "stl"),
        (b"\0" * 84, "stl"),
        (b"OFF\n3 1 0\n", "off"),
        (b"OFF 3 1 0\n", "off"),
        (b"# note\n\n STCN4nOFF BINARY\n", "off"),
        (b"NCOFF\n", "off"),
        (b"v 0 0 0\nv 1 0 0\nf 1 2 3\n", "obj"),
        (b"# note\nmtllib a\no x\nv\t0 0 0\nf 1 2 \\\n 3\n", "obj"),
        (b"glTF\2\0\0\0", "gltf"),
        (b' {"asset": {"version": "2.0"}}', "gltf"),
        (b'\xef\xbb\xbf{"accessors": [', "gltf"),
        (b"PK\x03\x04", "npz"),
        (b"ply\nformat ascii 1.0\n", "ply"),
        (b"# vtk DataFile Version 3.0\n", "vtk"),
        (b'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid">', "vtu"),
        (b"<VTKFile version='1.0' type='PPolyData'>", "pvtp"),
    ],
)
def test_one_format_claims_it(head: bytes, name: str) -> None:
    assert names(head) == [name]


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"\0", b"solid as a rock\n", b"solidarity facet", b"OFFICE\n", b"offset 3"),
        *(b"{}", b'{"a": 1}', b"v0 0 0\n", b"# v 0 0 0\n", b"hello v 0 0 0\n", b"f 1 2 3\n"),
        *(b"plywood", b"<VTKFile>", b"vtk DataFile", b"v 0 0 0\nnonsense here\n", b"\x89HDF"),
    ],
)
def test_nobody_claims_it(head: bytes) -> None:
    assert names(head) == []


def test_a_last_line_that_is_cut_off_does_not_count() -> None:
    head = b"v 0 0 0\nv 1 0 0\nuseless"
    assert not sniff.obj(head, len(head))
    assert sniff.obj(head, len(head) + 1)
