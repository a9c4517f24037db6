"""VTK XML poly data (.vtp): vertices, lines, polygons and strips.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from pathlib import Path

import torch

from meshkit.celltypes import CELL_TYPES
from meshkit.mesh import Mesh
from meshkit.readers.accounting import lose_with_cells
from meshkit.readers.vtk.poly import POLY_TYPES
from meshkit.readers.vtk.xml import read_mesh, write_mesh
from meshkit.report import Ledger


def read(path: Path, ledger: Ledger) -> Mesh:
    """Points, cells and all arrays: vertices first, then lines, polygons and strips.

    Polygons of 3 and 4 points are triangles and quads. In a file that meshkit wrote, cells have
    the order and the types they had.

    Raises:
        ReadError: the file is damaged; the message names the array or the piece.
    """
    return read_mesh(path, "PolyData", ledger)


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """The vertices, lines, linear polygons and strips of a mesh with all that belongs to them.

    Other cells are lost, and with them their points, faces and what regions name of them; all
    are counted. Other readers see the cells sorted by kind, and pixels as quads; meshkit reads
    them as they were.

    Raises:
        LossError: from `ledger.settle`, when cells are lost.
        WriteError: vtk cannot write the file.
    """
    known = torch.tensor(sorted(POLY_TYPES), dtype=torch.uint8, device=mesh.device)
    held = torch.isin(mesh.cells.types, known)
    if not bool(held.all()):
        for number in mesh.cells.present:
            if number not in POLY_TYPES:
                row = CELL_TYPES.get(number)
                name = row.name if row else str(number)
                count = int((mesh.cells.types == number).sum())
                ledger.dropped("cells", name, count, "poly data has no cells of this type")
        whole, mesh = mesh, mesh.select(cells=held)
        lose_with_cells(whole, mesh, ledger)
        ledger.settle()
    write_mesh(mesh, path, ledger, poly=True)
