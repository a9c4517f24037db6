"""The cells that operators can take, and what is wrong with the others."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit.cells import Cells
from meshkit.celltypes import POLYHEDRON
from meshkit.mesh import Mesh
from meshkit.operators.measure.part import bare
from meshkit.operators.soundness import topology
from meshkit.operators.soundness.finding import Finding, found, places


def usable_cells(mesh: Mesh) -> tuple[Mesh, Tensor, list[Finding]]:
    """The cells that operators can take as a mesh of their own, which they are, and why not all."""
    cells, n = mesh.cells, mesh.n_points
    usable = torch.ones(len(cells), dtype=torch.bool, device=mesh.device)
    findings = list(topology.of_types(cells, usable))
    unpaired = list(topology.of_polyhedra_count(cells))
    if unpaired:
        usable &= cells.types != POLYHEDRON
        cells = Cells(cells.types, cells.offsets, cells.connectivity, None, cells.degrees)
    wrong = topology.out_of_range(cells, n)
    what = f"point ids outside 0 to {n - 1}"
    findings += [*unpaired, *found("id_out_of_range", "error", what, places(wrong))]
    ids = places(usable & ~wrong)
    if unpaired or len(ids) < len(cells):
        cells = cells.take(ids)
    return bare(mesh.points.detach(), cells), ids, findings
