"""VTK XML poly data (.vtp): vertices, lines, polygons and strips.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from pathlib import Path

import torch

from meshkit.celltypes import CELL_TYPES
from meshkit.fields import leaves
from meshkit.mesh import Mesh
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
        _lose_others(whole, mesh, ledger)
        ledger.settle()
    write_mesh(mesh, path, ledger, poly=True)


def _lose_others(whole: Mesh, left: Mesh, ledger: Ledger) -> None:
    """What goes with the cells that poly data has no place for."""
    gone = whole.n_points - left.n_points
    if gone:
        ledger.dropped("points", "", gone, "no cell that is kept uses them")
    if whole.faces is not None:
        gone = len(whole.faces) - (0 if left.faces is None else len(left.faces))
        if gone or left.faces is None:
            reason = "no cell that is kept has them"
            ledger.dropped("faces", "", gone, reason)
            for path, _ in leaves(whole.face_data):
                ledger.dropped("field", f"face_data/{'/'.join(path)}", gone, "its faces are lost")
    kept = {(region.name, region.entity): len(region) for region in left.regions}
    for region in whole.regions:
        key = (region.name, region.entity)
        gone = len(region) - kept.get(key, 0)
        if gone or key not in kept:
            ledger.dropped("region", region.name, gone, f"names {region.entity}s that are lost")
    if whole.info.grid is not None and left.info.grid is None:
        ledger.dropped("info", "grid", 1, "not all of its cells are kept")
