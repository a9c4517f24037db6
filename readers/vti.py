"""VTK XML image (.vti): a lattice with one spacing an axis.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from pathlib import Path

from meshkit.mesh import Mesh
from meshkit.readers.vtk.xml import read_mesh
from meshkit.report import Ledger


def read(path: Path, ledger: Ledger) -> Mesh:
    """The lattice written out: voxels (pixels, lines, vertices where axes have one point).

    Points are float64 [n, 3], the first axis fastest; `info.grid` keeps dims, origin (of the first
    point), spacing and direction. Hidden (blanked) cells and points stay, with their array
    `vtkGhostType`. Pieces must cover the whole extent.

    Raises:
        ReadError: the file is damaged; the message names the array or the piece.
    """
    return read_mesh(path, "ImageData", ledger)
