"""VTK XML blocks (.vtm): a file that names the files of nested, named blocks.

Source: VTK File Formats (XML), and what vtkXMLMultiBlockDataWriter of VTK 9.7 writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from meshkit.errors import ReadError, WriteError
from meshkit.mesh import Mesh
from meshkit.readers.references import References
from meshkit.readers.vtk import VtkArray, VtkData, from_mesh
from meshkit.readers.vtk.arrays import refuse_unsound
from meshkit.readers.vtk.blocks import Block, mesh_of_blocks, split
from meshkit.readers.vtk.markup import Element, opened
from meshkit.readers.vtk.parallel import read_pieces
from meshkit.readers.vtk.xml import field_arrays, read_data, write_data
from meshkit.report import Ledger

_KIND: Final = "vtkMultiBlockDataSet"
_TYPE: Final = re.compile(rb"<VTKFile\b[^>]*\btype\s*=\s*[\"'](\w+)[\"']")
_MOST_NESTED: Final = 20
_READERS: Final[dict[str, Callable[[Path, str, Ledger], VtkData]]] = {
    **dict.fromkeys(
        ("UnstructuredGrid", "PolyData", "ImageData", "RectilinearGrid", "StructuredGrid"),
        read_data,
    ),
    **dict.fromkeys(("PUnstructuredGrid", "PPolyData"), read_pieces),
}
# What an XML attribute cannot hold, or hands back changed.
_NOT_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read(path: Path, ledger: Ledger) -> Mesh:
    """All blocks as one mesh: each is a cell region, and so is each named block above it.

    Blocks without a name are "block i"; named ones that hold nothing are regions of no cell. A
    field that a block lacks is filled there (NaN, -1, 0 for unsigned, no text) and counted.
    Blocks of surfaces and of volumes make one mesh of mixed dimensions. What `write` wrote is
    read as it was.

    Raises:
        ReadError: the file or a block is damaged, or a block's file is missing.
    """
    own: dict[str, VtkArray] = {}
    top = block_of(path, None, ledger, (), own, References())
    return mesh_of_blocks(top, path, ledger, own)


def block_of(
    path: Path,
    name: str | None,
    ledger: Ledger,
    above: tuple[Path, ...],
    own: dict[str, VtkArray],
    references: References,
) -> Block:
    """What a VTK XML file holds: a data set, or blocks.

    Args:
        path: the file.
        name: what the block is called.
        ledger: takes what becomes of everything.
        above: the files that led here.
        own: takes the field arrays of files that only hold blocks.
        references: counts the files that are opened.

    Raises:
        ReadError: the file is damaged, or of another kind.
    """
    here = path.resolve()
    if here in above or len(above) > _MOST_NESTED:
        raise ReadError(path, "blocks name one another in a circle")
    with path.open("rb") as file:
        said = _TYPE.search(file.read(4096))
    kind = said[1].decode() if said else "unknown"
    if kind in _READERS:
        data = _READERS[kind](path, kind, ledger)
        refuse_unsound(data, path)
        return Block(name, data)
    if kind != _KIND:
        raise ReadError(
            path, f"is a block of type {kind}", expected=f"one of {', '.join(_READERS)} or {_KIND}"
        )
    with opened(path) as markup:
        grids = markup.root.all(_KIND)
        if len(grids) != 1:
            raise markup.error(f"holds {len(grids)} <{_KIND}>", expected="one")
        for section in (*markup.root.all("FieldData"), *grids[0].all("FieldData")):
            for key, array in field_arrays(markup, section, ledger).items():
                own.setdefault(key, array)
    return Block(name, below=_below(path, grids[0], ledger, (*above, here), own, references))


def _below(
    path: Path,
    element: Element,
    ledger: Ledger,
    above: tuple[Path, ...],
    own: dict[str, VtkArray],
    references: References,
) -> list[Block]:
    found = []
    for child in _in_order(element.all("DataSet", "Block", "Piece")):
        name = child.attributes.get("name") or None
        if child.tag != "DataSet":
            below = _below(path, child, ledger, above, own, references)
            found.append(Block(name, below=below, pieces=child.tag == "Piece"))
        elif "file" not in child.attributes:  # so vtk writes a block without a cell or a point
            found.append(Block(name))
        else:
            what = f"block {name!r}" if name else f"block {len(found)}"
            place, said = f"line {child.line}", child.attributes["file"]
            file = references.file(path, said, place=place, what=what)
            found.append(block_of(file, name, ledger, above, own, references))
    return found


def _in_order(elements: list[Element]) -> list[Element]:
    """By index, where all have one that is a number."""
    said = [element.attributes.get("index", "") for element in elements]
    if not all(text.isascii() and text.isdigit() and len(text) < 10 for text in said):
        return elements
    return sorted(elements, key=lambda element: int(element.attributes["index"]))


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """A .vtu for each cell region beside the file, when these are each cell exactly once.

    Otherwise one .vtu of all. The directory has the name of the file without its suffix. Points
    on seams stand in each block that uses them; `read` gives the mesh back as it was.

    Raises:
        LossError: from `ledger.settle`, when the format cannot hold everything.
        WriteError: a file cannot be written.
    """
    data = from_mesh(mesh, ledger)
    ledger.settle()
    folder = path.parent / (path.stem if path.suffix else f"{path.name}_blocks")
    lines = []
    try:
        folder.mkdir()
        for i, (name, part) in enumerate(split(data, list(mesh.regions))):
            file = folder / f"{folder.name}_{i}.vtu"
            write_data(part, file)
            shown = quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", name))
            place = quoteattr(f"{folder.name}/{file.name}")
            lines.append(f'    <DataSet index="{i}" name={shown} file={place}/>\n')
        text = (
            '<?xml version="1.0"?>\n'
            f'<VTKFile type="{_KIND}" version="1.0" byte_order="LittleEndian">\n'
            f"  <{_KIND}>\n{''.join(lines)}  </{_KIND}>\n</VTKFile>\n"
        )
        path.write_bytes(text.encode("utf-8"))
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
