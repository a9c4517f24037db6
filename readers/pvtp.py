"""VTK XML poly data in pieces (.pvtp): a file that names the files of the pieces.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from pathlib import Path

from meshkit.mesh import Mesh
from meshkit.readers.vtk import to_mesh
from meshkit.readers.vtk.parallel import read_pieces
from meshkit.report import Ledger


def read(path: Path, ledger: Ledger) -> Mesh:
    """The pieces as one mesh, in their order.

    Ghost cells go with the points that only they used. Points on seams stay once a piece, unless
    a point array with the role of global ids says which are one. A field that a piece lacks is
    filled there (NaN, -1, 0 for unsigned, no text). All of it is counted.

    Raises:
        ReadError: the file or a piece is damaged, or a piece is missing.
    """
    return to_mesh(read_pieces(path, "PPolyData", ledger), path, ledger)
