"""The refusal of a mesh whose arrays point at what is not there: light, and before anything else.

`check` looks at all values and answers with a list; this looks only at what makes an array of ids
mean something, in a few passes, and raises at the first fault.
"""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import CELL_TYPES
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_ascending, need_point_ids, need_polyhedra
from meshkit.operators.adjacency.templates import known_type
from meshkit.regions import Region


def need_structure(mesh: Mesh) -> None:
    """Refuse cells, faces and regions that name what is not there, and cells of a wrong size.

    Offsets ascend; types are known and have their number of points, where it is fixed; point ids
    of cells, polyhedra and faces are in range; polyhedra and their faces pair up; owners,
    neighbours and the ids of regions are in range (local faces of sides: not negative).

    Raises:
        MeshError: the message names the first cell, face or row of a region.
    """
    mesh.cells.memo("sizes_fit", lambda: _need_sizes(mesh.cells))
    need_point_ids(mesh)
    need_polyhedra(mesh.cells)
    if mesh.faces is not None:
        faces = mesh.faces
        need_ascending("faces.offsets", faces.offsets)
        _need_range("faces.connectivity", faces.connectivity, 0, mesh.n_points, "point ids")
        _need_range("faces.owner", faces.owner, 0, mesh.n_cells, "cells")
        _need_range("faces.neighbour", faces.neighbour, -1, mesh.n_cells, "cells")
    for region in mesh.regions:
        _need_region(mesh, region)


def _need_sizes(cells: Cells) -> bool:
    need_ascending("cells.offsets", cells.offsets)
    sizes = cells.sizes
    for number in cells.present:
        mine = cells.types == number if cells.uniform is None else None
        row = CELL_TYPES.get(number) or known_type(number, 0 if mine is None else _first(mine))
        if row.size is None:
            continue
        wrong = sizes != row.size if mine is None else mine & (sizes != row.size)
        if bool(wrong.any()):
            cell = _first(wrong)
            raise MeshError(
                f"cell {cell}: a {row.name} has {row.size} points, found {int(sizes[cell])}"
            )
    return True


def _first(which: Tensor) -> int:
    return int(torch.nonzero(which)[0])


def _need_range(what: str, ids: Tensor, low: int, stop: int | None, named: str) -> None:
    """Refuse ids below `low` or from `stop` on; the message names the first row that has one."""
    top = stop if stop is not None else torch.iinfo(ids.dtype).max
    if ids.numel() == 0:
        return
    ends = torch.aminmax(ids)
    if int(ends.min) >= low and int(ends.max) < top:
        return
    at = torch.nonzero((ids < low) | (ids >= top))[0]
    found = int(ids[tuple(at)])
    upward = "on" if stop is None else f"to {stop - 1}"
    raise MeshError(
        f"{what}: expected {named} from {low} {upward}, found {found} in row {int(at[0])}"
    )


def _need_region(mesh: Mesh, region: Region) -> None:
    what = f"region {region.name!r}"
    if region.entity == "side":
        _need_range(what, region.ids[:, 0], 0, mesh.n_cells, "cells")
        _need_range(what, region.ids[:, 1], 0, None, "local faces")
        return
    faces = 0 if mesh.faces is None else len(mesh.faces)
    stop = {"cell": mesh.n_cells, "face": faces}.get(region.entity, mesh.n_points)
    named = {"cell": "cells", "face": "faces"}.get(region.entity, "point ids")
    _need_range(what, region.ids, 0, stop, named)
