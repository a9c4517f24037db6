"""VTK's XML files: read by our own parser, which damage cannot crash, and written through vtk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from meshkit.errors import WriteError
from meshkit.mesh import Mesh
from meshkit.readers.vtk import MARKER, VtkArray, VtkData, from_mesh, to_mesh
from meshkit.readers.vtk.arrays import refuse_unsound
from meshkit.readers.vtk.joining import joined
from meshkit.readers.vtk.markup import Element, Markup, opened
from meshkit.readers.vtk.messages import vtk_messages
from meshkit.readers.vtk.names import IN_XML, decoded, encoded
from meshkit.readers.vtk.objects import to_poly, to_unstructured
from meshkit.readers.vtk.payload import Payload
from meshkit.readers.vtk.poly import unsorted
from meshkit.readers.vtk.xml_arrays import Sections
from meshkit.readers.vtk.xml_lattices import LATTICES, lattice_in
from meshkit.readers.vtk.xml_pieces import is_empty, piece_of
from meshkit.report import Ledger
from meshkit.words import words_of


def read_mesh(path: Path, kind: str, ledger: Ledger) -> Mesh:
    """A file of this kind ("UnstructuredGrid", ...) as a mesh.

    Raises:
        ReadError: the file is damaged; the message names the array or the piece.
    """
    return to_mesh(read_data(path, kind, ledger), path, ledger)


def read_data(path: Path, kind: str, ledger: Ledger) -> VtkData:
    """A file of this kind as vtk's data; pieces one after the other, in their order.

    Raises:
        ReadError: the file is damaged; the message names the array or the piece.
    """
    with opened(path) as markup:
        file = Sections(markup, Payload(markup), ledger)
        grid = _grid(file, kind)
        time = _last_time(file, grid)
        fields = file.arrays(file.only(grid, "FieldData"))
        file.wide = MARKER in fields  # what meshkit wrote comes back as it was
        pieces = grid.all("Piece")
        if kind in LATTICES:
            data = lattice_in(file, kind, grid, pieces)
        else:
            full = [piece for piece in pieces if not is_empty(file, kind, piece)] or pieces[:1]
            parts = [piece_of(file, kind, piece, i) for i, piece in enumerate(full)]
            if len(parts) > 1:
                for part in parts:
                    refuse_unsound(part, path)
            data = joined(parts, [f"piece {i}" for i in range(len(parts))], ledger)
    data.field_arrays = fields
    if time is not None and "TimeValue" not in data.field_arrays:
        data.field_arrays["TimeValue"] = VtkArray(np.array([[time]]))
    return decoded(unsorted(data), ledger)


def _grid(file: Sections, kind: str) -> Element:
    """The element that holds the pieces; arrays elsewhere are counted."""
    root = file.markup.root
    found = root.attributes.get("type")
    if found != kind:
        raise file.fail(f"is of type {str(found)[:60]!r}", expected=repr(kind))
    grid = file.only(root, kind)
    if grid is None:
        raise file.fail(f"holds no <{kind}>")
    if not grid.all("Piece"):
        raise file.fail(f"<{kind}> holds no <Piece>")
    others = [child for child in root.children if child is not grid and child.tag != "AppendedData"]
    for child in (*others, *grid.children):
        if child.tag not in ("Piece", "FieldData") or child in others:
            file.drop(child, "stands where no data are read")
    return grid


def _last_time(file: Sections, grid: Element) -> float | None:
    """The last of several times in one file."""
    said = grid.attributes.get("TimeValues")
    if said is None:
        return None
    try:
        times = [float(word) for word in words_of(said)]
    except ValueError:
        raise file.fail(f"TimeValues are {said[:60]!r}", expected="numbers") from None
    if len(times) > 1:
        reason = "only the last time in the file is read"
        file.ledger.dropped("time", "", len(times) - 1, reason)
    return times[-1] if times else None


def write_mesh(mesh: Mesh, path: Path, ledger: Ledger, *, poly: bool = False) -> None:
    """A mesh as an unstructured grid, or as poly data.

    Raises:
        LossError: from `ledger.settle`, when the format cannot hold everything.
        WriteError: vtk cannot write the file.
    """
    data = from_mesh(mesh, ledger)
    ledger.settle()
    write_data(data, path, poly=poly)


def write_data(data: VtkData, path: Path, *, poly: bool = False) -> None:
    """Data to a file that holds them exactly: raw appended binary with 64-bit headers.

    Raises:
        WriteError: vtk cannot write the file.
    """
    from vtkmodules import vtkIOXML

    safe = encoded(data, IN_XML)
    dataset = to_poly(safe) if poly else to_unstructured(safe)
    writer = getattr(vtkIOXML, f"vtkXML{'PolyData' if poly else 'UnstructuredGrid'}Writer")()
    writer.SetInputData(dataset)
    writer.SetFileName(os.fsencode(path))
    writer.SetDataModeToAppended()
    writer.EncodeAppendedDataOff()
    writer.SetHeaderTypeToUInt64()
    writer.SetCompressorTypeToNone()
    with vtk_messages() as messages:
        done = writer.Write()
    if not done or messages:
        raise WriteError(path, f"vtk cannot write it: {(messages or ['no reason given'])[0]}")


def field_arrays(markup: Markup, section: Element, ledger: Ledger) -> dict[str, VtkArray]:
    """The arrays of a <FieldData> in a file that only refers to others.

    Raises:
        ReadError: an array is not there, or of an unknown type.
    """
    return Sections(markup, Payload(markup), ledger).arrays(section)
