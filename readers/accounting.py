"""The lines of a report that every format writes in the same words."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

import torch

from meshkit.cells import Cells
from meshkit.errors import WriteError
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


def lose_fields(
    mesh: Mesh, ledger: Ledger, reason: str, homes: Iterable[str] = DATA, held: Container[str] = ()
) -> None:
    """No field of these homes arrives, but for those held ("point_data/colors")."""
    for home in homes:
        for path, x in leaves(getattr(mesh, home)):
            name = f"{home}/{'/'.join(path)}"
            if name not in held:
                ledger.dropped("field", name, len(x) if x.ndim else 1, reason)


def lose_faces(mesh: Mesh, ledger: Ledger, reason: str) -> None:
    """The mesh's own faces and their order do not arrive."""
    if mesh.faces is not None:
        ledger.dropped("faces", "", len(mesh.faces), reason)


def lose_info(mesh: Mesh, ledger: Ledger, reason: str, held: Container[str] = ()) -> None:
    """What the numbers mean does not arrive, but for the parts held ("length_unit")."""
    info = mesh.info
    for part in ("length_unit", "frame", "time", "grid"):
        if getattr(info, part) is not None and part not in held:
            ledger.dropped("info", part, 1, reason)
    for name in info.attributes:
        if "attributes" not in held and f"attributes/{name}" not in held:
            ledger.dropped("info", f"attributes/{name}", 1, reason)


def need_ids_in_range(mesh: Mesh, path: Path) -> None:
    """Refuse a mesh whose cells or regions name what is not there.

    Raises:
        WriteError: an id is out of range.
    """
    counts = {"point": mesh.n_points, "cell": mesh.n_cells}
    low, high = mesh.cells.id_range
    used = [("cells", low, high, "point")]
    for region in mesh.regions:
        if region.entity in counts and len(region):
            ends = torch.aminmax(region.ids)
            used.append((f"region {region.name!r}", int(ends.min), int(ends.max), region.entity))
    for what, low, high, entity in used:
        if low < 0 or high >= counts[entity]:
            bad = low if low < 0 else high
            raise WriteError(
                path,
                f"{entity} id {bad}",
                place=what,
                expected=f"ids from 0 to {counts[entity] - 1}",
            )
