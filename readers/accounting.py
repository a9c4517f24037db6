"""The lines of a report that formats write in the same words where they cannot hold everything."""

from __future__ import annotations

from collections.abc import Container, Iterable

from meshkit.accounting import (
    keep_all as keep_all,
    keep_cells as keep_cells,
    keep_fields as keep_fields,
)
from meshkit.fields import leaves
from meshkit.mesh import DATA, Mesh
from meshkit.report import Ledger, Report


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


def lose_with_cells(whole: Mesh, left: Mesh, ledger: Ledger) -> None:
    """What goes with the cells that a format has no place for.

    Args:
        whole: the mesh with these cells.
        left: the mesh without them.
    """
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


def added_up(reports: Iterable[Report], ledger: Ledger) -> None:
    """The lines of many reports, those of one thing as one line: of all times of a series."""
    sums: dict[tuple[str, str, str, str, bool], int] = {}
    for entry in (entry for report in reports for entry in report):
        key = (entry.outcome, entry.what, entry.name, entry.reason, entry.loss)
        sums[key] = sums.get(key, 0) + entry.count
    for (outcome, what, name, reason, loss), count in sums.items():
        if outcome == "kept":
            ledger.kept(what, name, count, reason)
        elif outcome == "converted":
            ledger.converted(what, name, count, reason)
        else:
            ledger.dropped(what, name, count, reason, loss=loss)
