"""The findings that come cheaply: in a few passes over the arrays, with nothing compiled."""

from __future__ import annotations

import torch

from meshkit.derived_polyhedra import DerivedPolyhedra
from meshkit.mesh import Mesh
from meshkit.operators.soundness import topology
from meshkit.operators.soundness.fields import of_codes
from meshkit.operators.soundness.finding import Finding
from meshkit.operators.soundness.points import of_coordinates
from meshkit.operators.soundness.polyhedra import of_polyhedra
from meshkit.operators.soundness.regions import of_range
from meshkit.operators.soundness.usable import usable_cells


def of_arrays(mesh: Mesh) -> list[Finding]:
    """What `check` finds of the arrays themselves; the same findings, in its order.

    Coordinates that are no numbers, offsets, types, sizes and point ids of cells, polyhedra that
    do not close, codes of texts, ids of regions. Not what wants sorting or geometry: points and
    cells that stand twice, measures, faces. Cells that a reader makes of a table of faces are not
    looked at: it has looked at the faces, and their polyhedra would be written out for that.
    """
    with torch.no_grad():
        findings = [*of_coordinates(mesh)]
        if not isinstance(mesh.cells.polyhedra, DerivedPolyhedra):
            findings += _of_cells(mesh)
        findings += of_codes(mesh)
        for region in mesh.regions:
            findings += of_range(mesh, region, None)
        return findings


def _of_cells(mesh: Mesh) -> list[Finding]:
    broken = list(topology.of_offsets(mesh))
    if broken:
        return broken
    part, ids, findings = usable_cells(mesh)
    return [*findings, *of_polyhedra(part.cells, ids)]
