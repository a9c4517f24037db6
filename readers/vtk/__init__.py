"""A VTK dataset as plain arrays: what every VTK file format can carry, and no more.

The XML formats (through vtk's classes), the legacy format (through our own parser) and pyvista
all meet here: they turn their data set into a `VtkData`, and `to_mesh` makes the mesh of it;
`from_mesh` goes the other way. So wedge order, strings, ghosts, times, units and names are
decided once.
"""

from __future__ import annotations

from pathlib import Path

from meshkit.mesh import Mesh
from meshkit.readers.vtk.arrays import (
    ROLES,
    VtkArray,
    VtkData,
    compact,
    json_array,
    json_of,
    refuse_unsound,
)
from meshkit.readers.vtk.foreign import mesh_of_others
from meshkit.readers.vtk.note import MARKER, from_mesh, mesh_of_ours
from meshkit.report import Ledger

__all__ = [
    "MARKER",
    "ROLES",
    "VtkArray",
    "VtkData",
    "from_mesh",
    "json_array",
    "json_of",
    "to_mesh",
]


def to_mesh(data: VtkData, path: Path, ledger: Ledger, *, share_ids: bool = False) -> Mesh:
    """The mesh of a VTK data set.

    A data set that meshkit wrote is given back as it was. In any other, wedges whose majority
    is inside out are reordered (VTK up to 9.6 and from 9.7 disagree, and no file says which it
    is), polygons, strips and lines of too few points become the vertices and lines they are,
    polyhedra get consistent outward faces, texts become codes with a vocabulary, an array
    of one component becomes [n] and of c components [n, c], and the field `TimeValue` is also
    `info.time`. Everything is counted in the ledger.

    Args:
        data: what was read; its arrays are shared where they can be.
        path: how errors name it.
        ledger: takes what becomes of everything.
        share_ids: keep the width of the ids of others, and their memory; else they become int32
            where they fit, which is half of it.

    Raises:
        ReadError: counts, offsets, ids or types contradict each other, or a cell that meshkit
            did not write has a number of points that its type cannot have.
    """
    kinds = refuse_unsound(data, path)
    note = data.field_arrays.get(MARKER)
    if note is not None:
        written = mesh_of_ours(data, note, path, ledger)
        if written is not None:
            return written
    return mesh_of_others(data if share_ids else compact(data), kinds, path, ledger)
