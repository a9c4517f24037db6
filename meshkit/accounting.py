"""The lines of a report that every format writes in the same words."""

from __future__ import annotations

from collections.abc import Iterable

from meshkit.cells import Cells
from meshkit.fields import leaves
from meshkit.mesh import DATA, Mesh
from meshkit.report import Ledger


def keep_cells(cells: Cells, ledger: Ledger) -> None:
    """Every cell arrives as it was; one line a type."""
    for name, count in cells.counts.items():
        ledger.kept("cells", name, count)


def keep_fields(mesh: Mesh, ledger: Ledger, homes: Iterable[str] = DATA) -> None:
    """Every field of these homes arrives as it was; one line a field."""
    for home in homes:
        for path, x in leaves(getattr(mesh, home)):
            ledger.kept("field", f"{home}/{'/'.join(path)}", len(x) if x.ndim else 1)


def keep_all(mesh: Mesh, ledger: Ledger) -> None:
    """Points, cells, faces, fields and regions arrive as they were."""
    ledger.kept("points", "", mesh.n_points)
    keep_cells(mesh.cells, ledger)
    if mesh.faces is not None:
        ledger.kept("faces", "", len(mesh.faces))
    keep_fields(mesh, ledger)
    for region in mesh.regions:
        ledger.kept("region", region.name, len(region))
