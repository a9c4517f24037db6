"""VTK XML unstructured grid (.vtu): cells of any type, mixed.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from pathlib import Path

from meshkit.mesh import Mesh
from meshkit.readers.vtk.xml import read_mesh, write_mesh
from meshkit.report import Ledger


def read(path: Path, ledger: Ledger) -> Mesh:
    """Points, cells and all arrays; pieces follow each other in their order.

    Ids are int32 where they fit. Data go from the file straight into the tensors' memory.

    Raises:
        ReadError: the file is damaged; the message names the array or the piece.
    """
    return read_mesh(path, "UnstructuredGrid", ledger)


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Everything a mesh holds; what VTK has no place for rides in field arrays.

    Appended raw binary, 64-bit headers, not compressed: the fastest to read and to write.

    Raises:
        WriteError: vtk cannot write the file.
    """
    write_mesh(mesh, path, ledger)
