"""VTK's XML files through vtk's own classes: read after a preflight, and written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from meshkit.errors import ReadError, WriteError
from meshkit.mesh import Mesh
from meshkit.readers.lattice import lattice_counts
from meshkit.readers.vtk import VtkArray, VtkData, from_mesh, to_mesh
from meshkit.readers.vtk.arrays import refuse_unsound
from meshkit.readers.vtk.joining import joined
from meshkit.readers.vtk.markup import Element, Markup, opened
from meshkit.readers.vtk.messages import vtk_messages
from meshkit.readers.vtk.names import IN_XML, decoded, encoded
from meshkit.readers.vtk.objects import arrays_of, from_vtk, to_poly, to_unstructured
from meshkit.readers.vtk.payload import Payload
from meshkit.readers.vtk.preflight import ARRAYS, STRUCTURED, Declared, Piece, Plan, preflight
from meshkit.report import Ledger

_NO_CAUSE: Final = "returned failure for request"


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
        plan = preflight(markup, kind, ledger)
        markup.release()
        if plan.at_once or plan.kind in STRUCTURED:
            data = _read(markup, plan, plan.pieces, ledger)
        else:
            parts = [_read(markup, plan, [piece], ledger) for piece in plan.pieces]
            for part in parts:
                refuse_unsound(part, path)
            data = joined(parts, [f"piece {i}" for i in range(len(parts))], ledger)
    if plan.time is not None and "TimeValue" not in data.field_arrays:
        data.field_arrays["TimeValue"] = VtkArray(np.array([[plan.time]]))
    return decoded(data, ledger)


def _read(markup: Markup, plan: Plan, pieces: list[Piece], ledger: Ledger) -> VtkData:
    """What vtk makes of some pieces, held against what they declare."""
    edits = plan.edits
    if len(pieces) < len(plan.pieces):
        kept = {id(piece) for piece in pieces}
        edits = edits + [
            markup.removed(piece.element) for piece in plan.pieces if id(piece) not in kept
        ]
    dataset = _by_vtk(markup.path, plan.kind, markup.edited(edits) if edits else None)
    wanted = sum(p.n_points for p in pieces), sum(p.n_cells for p in pieces)
    if plan.kind in STRUCTURED:  # pieces share the points between them
        whole = markup.extent(plan.grid, "WholeExtent")
        wanted = lattice_counts([b - a + 1 for a, b in zip(whole[::2], whole[1::2], strict=True)])
    found = dataset.GetNumberOfPoints(), dataset.GetNumberOfCells()
    if found != wanted:
        raise ReadError(
            markup.path,
            f"vtk read {found[0]} points and {found[1]} cells",
            expected=f"{wanted[0]} and {wanted[1]}",
        )
    data = from_vtk(dataset, ledger)
    if len(pieces) > 1 and plan.kind == "UnstructuredGrid":
        _refuse_foreign_ids(data, pieces, markup.path)
    for declared in [*pieces[0].arrays, *plan.fields]:
        _need_delivered(data, declared, ledger)
    return data


def _refuse_foreign_ids(data: VtkData, pieces: list[Piece], path: Path) -> None:
    """Ids count within their piece; one beyond it would mean a point of the next."""
    cell = point = 0
    for number, piece in enumerate(pieces):
        span = data.offsets[cell], data.offsets[cell + piece.n_cells]
        ids = data.connectivity[span[0] : span[1]]
        if len(ids) and (ids.min() < point or ids.max() >= point + piece.n_points):
            bad = int(ids.min() if ids.min() < point else ids.max()) - point
            raise ReadError(
                path,
                f"point id {bad}",
                place=f"cells of piece {number}",
                expected=f"ids from 0 to {piece.n_points - 1}",
            )
        cell, point = cell + piece.n_cells, point + piece.n_points


def _need_delivered(data: VtkData, declared: Declared, ledger: Ledger) -> None:
    """vtk drops arrays silently: count what the file declares and vtk did not bring."""
    if declared.name not in arrays_of(data, declared.home):
        ledger.dropped(
            "field", f"{declared.home}/{declared.name}", declared.rows, "vtk did not read it"
        )


def _by_vtk(path: Path, kind: str, content: bytes | None) -> Any:
    """The data set that vtk's reader makes of a file, or of an edited copy of it."""
    from vtkmodules import vtkIOXML

    reader = getattr(vtkIOXML, f"vtkXML{kind}Reader")()
    if content is None:
        reader.SetFileName(os.fsencode(path))
    else:
        reader.SetReadFromInputString(True)
        reader.SetInputString(content)
    with vtk_messages() as messages:
        reader.Update()
        dataset = reader.GetOutput()
    errors = [said for said in messages if _NO_CAUSE not in said] or messages
    if errors:
        raise ReadError(path, f"vtk refuses it: {errors[0].rstrip(' .')}")
    return dataset


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


def field_arrays(markup: Markup, section: Element) -> dict[str, VtkArray]:
    """The arrays of a <FieldData> in a file that only refers to others.

    Raises:
        ReadError: an array is not there, or of an unknown type.
    """
    payload = Payload(markup)
    found: dict[str, VtkArray] = {}
    for element in section.all(*ARRAYS):
        name = element.attributes.get("Name", "unnamed")
        place = f"array {name!r} of FieldData"
        if payload.dtype(element, place) is None:
            found[name] = VtkArray(payload.texts(element, place))
            continue
        width = markup.whole(element, "NumberOfComponents", 1)
        values = payload.values(element, place)
        if width < 1 or len(values) % width:
            raise markup.error(f"holds {len(values)} values", place=place)
        found[name] = VtkArray(values.reshape(-1, width))
    return found
