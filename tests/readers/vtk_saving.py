"""Small VTK XML files for tests: by vtk's own writers in every encoding, and by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from meshkit.mesh import Mesh
from meshkit.readers.vtk import VtkArray, VtkData, from_mesh
from meshkit.readers.vtk.objects import to_unstructured
from meshkit.report import Ledger

ENCODINGS: Final = {
    "ascii": {"DataMode": 0},
    "inline": {"DataMode": 1, "CompressorType": 0},
    "inline zlib": {"DataMode": 1, "CompressorType": 1},
    "base64 lz4 64 big": {
        "DataMode": 2,
        "EncodeAppendedData": 1,
        "CompressorType": 2,
        "HeaderType": 64,
        "ByteOrder": 0,
    },
    "base64": {"DataMode": 2, "EncodeAppendedData": 1, "CompressorType": 0},
    "raw": {"DataMode": 2, "EncodeAppendedData": 0, "CompressorType": 0},
    "raw 64 big": {
        "DataMode": 2,
        "EncodeAppendedData": 0,
        "CompressorType": 0,
        "HeaderType": 64,
        "ByteOrder": 0,
    },
    "raw lzma": {"DataMode": 2, "EncodeAppendedData": 0, "CompressorType": 3},
    "raw lz4 blocks": {
        "DataMode": 2,
        "EncodeAppendedData": 0,
        "CompressorType": 2,
        "BlockSize": 64,
    },
}
"""How vtk's writers can write, as what they are to be set to."""

SUFFIXES: Final = {
    "vtu": "UnstructuredGrid",
    "vtp": "PolyData",
    "vti": "ImageData",
    "vtr": "RectilinearGrid",
    "vts": "StructuredGrid",
}


def saved(dataset: Any, path: Path, encoding: str = "ascii", pieces: int = 1) -> Path:
    """Write a vtk data set with vtk's writer for the suffix."""
    from vtkmodules import vtkIOXML

    writer = getattr(vtkIOXML, f"vtkXML{SUFFIXES[path.suffix[1:]]}Writer")()
    writer.SetInputData(dataset)
    writer.SetFileName(str(path))
    for name, value in ENCODINGS[encoding].items():
        getattr(writer, f"Set{name}")(value)
    if pieces > 1:
        writer.SetNumberOfPieces(pieces)
    assert writer.Write() == 1
    return path


def by_vtk(path: Path) -> Any:
    """What vtk's own reader for the suffix makes of a file."""
    from vtkmodules import vtkIOXML

    reader = getattr(vtkIOXML, f"vtkXML{SUFFIXES[path.suffix[1:]]}Reader")()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def plain(mesh: Mesh, **arrays: Mapping[str, VtkArray]) -> VtkData:
    """A mesh as others would have it: cells and these arrays, nothing of meshkit's own."""
    data = from_mesh(mesh, Ledger())
    data.point_arrays = dict(arrays.get("point", {}))
    data.cell_arrays = dict(arrays.get("cell", {}))
    data.field_arrays = dict(arrays.get("field", {}))
    return data


def plain_vtk(mesh: Mesh, **arrays: Mapping[str, VtkArray]) -> Any:
    """`plain` as a vtkUnstructuredGrid."""
    return to_unstructured(plain(mesh, **arrays))


def column(*values: Any, dtype: Any = None) -> VtkArray:
    """An array of one component."""
    return VtkArray(np.array(values, dtype=dtype).reshape(-1, 1))


def array_tag(name: str | None, text: str, kind: str = "Float64", more: str = "") -> str:
    """A <DataArray> in ascii."""
    said = "" if name is None else f' Name="{name}"'
    return f'<DataArray type="{kind}"{said} format="ascii" {more}>{text}</DataArray>'


def triangle_piece(
    point_data: str = "",
    cell_data: str = "",
    *,
    ids: str = "0 1 2",
    ends: str = "3",
    types: str = "5",
    points: str = "0 0 0 1 0 0 0 1 0",
    id_type: str = "Int64",
    n_points: int | str = 3,
    n_cells: int | str = 1,
    more: str = "",
) -> str:
    """A <Piece> of one triangle, or of what it is made to be."""
    three = 'NumberOfComponents="3"'
    return (
        f'<Piece NumberOfPoints="{n_points}" NumberOfCells="{n_cells}">'
        f"<PointData>{point_data}</PointData><CellData>{cell_data}</CellData>"
        f"<Points>{array_tag(None, points, more=three)}</Points><Cells>"
        f"{array_tag('connectivity', ids, id_type)}{array_tag('offsets', ends, id_type)}"
        f"{array_tag('types', types, 'UInt8')}{more}</Cells></Piece>"
    )


def grid_text(pieces: str | Sequence[str], field_data: str = "", attributes: str = "") -> str:
    """A whole .vtu of these pieces."""
    return (
        '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" '
        'byte_order="LittleEndian" header_type="UInt64">\n'
        f"<UnstructuredGrid{attributes}><FieldData>{field_data}</FieldData>\n"
        f"{pieces if isinstance(pieces, str) else ''.join(pieces)}</UnstructuredGrid>\n</VTKFile>\n"
    )
