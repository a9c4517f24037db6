"""What the first bytes of a file say it is. A suffix is a hint; content decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

Sniffer = Callable[[bytes, int], bool]
"""From the first `HEAD` bytes and the size of the whole file to whether this is the format."""

DirectorySniffer = Callable[[frozenset[str]], bool]
"""From the names in a directory to whether it is of this format."""

HEAD: Final = 4096


def vtk_xml(type_name: str) -> Sniffer:
    """A VTK XML file whose root says type="..."."""
    root = re.compile(rb"<VTKFile\b[^>]*\btype\s*=\s*[\"']" + type_name.encode() + rb"[\"']")

    def found(head: bytes, size: int) -> bool:
        return root.search(head) is not None

    return found


def starts(*marks: bytes) -> Sniffer:
    """A file that begins with one of these."""

    def found(head: bytes, size: int) -> bool:
        return head.startswith(marks)

    return found


def holds(*names: str) -> DirectorySniffer:
    """A directory in which one of these names lies."""

    def found(there: frozenset[str]) -> bool:
        return not there.isdisjoint(names)

    return found


_FOAM_TIME: Final = re.compile(r"\d+(\.\d*)?(e[-+]?\d+)?")
_FOAM_NAMES: Final = re.compile(r"constant|polyMesh|processors?\d*(_\d+-\d+)?")


def openfoam(there: frozenset[str]) -> bool:
    """A case (constant/, processors, or system/ and times), its constant/, or a polyMesh folder."""
    plain = {name.removesuffix(".gz") for name in there}
    if {"faces", "owner", "neighbour"} <= plain:
        return True
    if "system" in there and any(_FOAM_TIME.fullmatch(name) for name in there):
        return True
    return any(_FOAM_NAMES.fullmatch(name) for name in there)


def vtkhdf(head: bytes, size: int) -> bool:
    """HDF5 that names the group of VTK early on; other HDF5 belongs to other formats."""
    return head.startswith(b"\x89HDF\r\n\x1a\n") and b"VTKHDF" in head


def legacy_vtk(head: bytes, size: int) -> bool:
    """The magic line, in any case."""
    return re.match(rb"#\s*vtk\s+datafile", head, re.IGNORECASE) is not None


def ply(head: bytes, size: int) -> bool:
    """The magic line."""
    return re.match(rb"ply\s*[\r\n]", head) is not None


def off(head: bytes, size: int) -> bool:
    """The magic word with its optional prefixes: ST, C, N, 4, n; comments may stand before it."""
    return re.match(rb"(\s*#[^\n]*\n)*\s*(ST|C|N|4|n){0,5}OFF\b", head) is not None


def gmsh(head: bytes, size: int) -> bool:
    """The line $MeshFormat, or that which begins a file of version 1."""
    return re.search(rb"^\s*\$MeshFormat\b|\A\s*\$(NOD|PTS)\b", head, re.MULTILINE) is not None


def fluent(head: bytes, size: int) -> bool:
    """A list that begins with the number of a section, as every Fluent mesh does."""
    return re.match(rb"\s*\(\s*\d{1,4}\s+[\"(\w]", head) is not None


def gltf_text(head: bytes, size: int) -> bool:
    """A JSON object with an asset, as every glTF has, or with parts that only glTF has."""
    marks = (b'"asset"', b'"bufferViews"', b'"accessors"')
    begun = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return begun and any(mark in head for mark in marks)


def file_series(head: bytes, size: int) -> bool:
    """A JSON object with the version that every file series has."""
    begun = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return begun and b'"file-series-version"' in head


def stl(head: bytes, size: int) -> bool:
    """Binary: 80 bytes, a count, 50 bytes a triangle. Ascii: "solid", then facets or the end.

    A binary header may begin with "solid" too, so the count is asked first. Up to 84 bytes of
    padding may follow the last triangle.
    """
    if len(head) >= 84:
        count = int.from_bytes(head[80:84], "little")
        if 0 <= size - 84 - 50 * count <= (84 if count else 0):
            return True
    if re.match(rb"(\xef\xbb\xbf)?\s*solid\b", head, re.IGNORECASE) is None:
        return False
    return re.search(rb"\b(facet|endsolid)\b", head, re.IGNORECASE) is not None


_OBJ_LINE: Final = re.compile(
    rb"(v|vn|vt|vp|f|l|p|o|g|s|mtllib|usemtl|mg|cstype|deg|lod|shadow_obj|trace_obj|bevel"
    rb"|c_interp|d_interp|surf|curv|curv2|end|parm|trim|hole|scrv|sp|con|bmat|step|call|csh)"
    rb"([ \t].*)?$"
)


def obj(head: bytes, size: int) -> bool:
    """Every whole line is a comment or begins with an OBJ keyword, and one is a vertex."""
    if b"\0" in head:
        return False
    lines = head.splitlines()
    if len(head) < size:
        lines = lines[:-1]
    said = [s for line in lines if (s := line.strip()) and not s.startswith(b"#")]
    return (
        bool(said)
        and all(_OBJ_LINE.match(s) or said[i - 1].endswith(b"\\") for i, s in enumerate(said))
        and any(s.startswith((b"v ", b"v\t")) for s in said)
    )
