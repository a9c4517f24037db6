"""The lines of a report that every format writes in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshkit.cells import Cells
from meshkit.fields import leaves
from meshkit.mesh import DATA, Mesh
from meshkit.report import Ledger


def keep_cells(
    cells: Cells, ledger: Ledger, changed: Mapping[str, tuple[int, str]] | None = None
) -> None:
    """Every cell arrives, in one line a type, and one more for those that arrive changed.

    Args:
        cells: what arrives.
        ledger: takes the lines; each cell counts in one of them.
        changed: by type, how many came in another form and in which.
    """
    for name, count in cells.counts.items():
        others, reason = (changed or {}).get(name, (0, ""))
        if count > others:
            ledger.kept("cells", name, count - others)
        if others:
            ledger.converted("cells", name, others, reason)


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
