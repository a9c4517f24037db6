"""What lies in the directory of a time: fields, and what is none of ours."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from meshkit.errors import ReadError
from meshkit.readers.openfoam.case import Time
from meshkit.readers.openfoam.fields import Field, class_of, read_field
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.plain_settings import plain
from meshkit.readers.openfoam.poly_mesh import RawMesh
from meshkit.report import Ledger

_BACKUPS: Final = (".orig", ".org", ".bak", ".save", "~")


def read_fields(
    folder: Folder,
    time: Time,
    region: str | None,
    raw: RawMesh,
    others: Container[str | None],
    ledger: Ledger,
) -> dict[str, Field]:
    """The fields of a region at a time, by name in the order of their files.

    What is no field of this mesh is counted: clouds of particles and fields of unknown classes
    are losses, dictionaries, copies and what function objects wrote are none. Directories of the
    case's `others`, its regions, are read with them.

    Raises:
        ReadError: a field is damaged.
    """
    below = f"{time.name}/{region}" if region else time.name
    counts = {"cell": raw.n_cells, "face": raw.n_internal, "point": raw.n_points}
    out: dict[str, Field] = {}
    for name in folder.names(below):
        where = f"{below}/{name}"
        if folder.find(where) is None:
            if region is not None or name not in others:
                _note_directory(folder, where, name, ledger)
            continue
        if name.startswith(".") or name.endswith(_BACKUPS):
            ledger.dropped("file", where, 1, "a copy that solvers do not read", loss=False)
            continue
        with folder.open(where) as (_, header):
            class_name = header.class_name
        if class_of(class_name) is not None:
            out[name] = read_field(folder, where, counts, raw.patches, ledger)
        elif class_name in ("", "dictionary"):
            what = "a dictionary" if class_name else "without a FoamFile head that says its class"
            loss = header.said and not class_name
            ledger.dropped("file", where, 1, f"{what}, no field", loss=loss)
        else:
            ledger.dropped("file", where, 1, f"class {class_name!r} is none of a mesh's fields")
    return out


def _note_directory(folder: Folder, where: str, name: str, ledger: Ledger) -> None:
    path = folder.path / where
    if name in ("polyMesh", "uniform") or (path / "polyMesh").is_dir():
        return
    if name == "lagrangian":
        for cloud in folder.names(where):
            count = len(folder.names(f"{where}/{cloud}"))
            ledger.dropped("cloud", cloud, count, "particles are not part of a mesh")
        return
    if path.is_dir():
        inside = sum(1 for p in path.rglob("*") if p.is_file())
        known = name == "include" or any((path / n).is_file() for n in ("points", "faces"))
        ledger.dropped("directory", where, inside, "no region of the case", loss=not known)


def note_outputs(folder: Folder, ledger: Ledger) -> None:
    """Count what function objects wrote beside the times, and fields in constant/."""
    for name in folder.names("constant"):
        where = f"constant/{name}"
        if folder.find(where) is not None:
            try:
                with folder.open(where) as (_, header):
                    class_name = header.class_name
            except ReadError as why:
                ledger.dropped("file", where, 1, str(why))
                continue
            if class_of(class_name) is not None:
                ledger.dropped("field", where, 1, "lies in constant/, which is no time")
    found = folder.names("postProcessing")
    if found:
        reason = "what function objects wrote, no field of the mesh"
        ledger.dropped("directory", "postProcessing", len(found), reason, loss=False)


def time_settings(folder: Folder, time: Time, ledger: Ledger) -> dict[str, Any]:
    """{"time": ...} with what uniform/time says: index, deltaT; other files there are counted."""
    below = f"{time.name}/uniform"
    out: dict[str, Any] = {}
    for name in folder.names(below):
        where = f"{below}/{name}"
        if name != "time" or folder.find(where) is None:
            ledger.dropped("file", where, 1, "the state of function objects", loss=False)
            continue
        try:
            _, found = folder.dictionary(where)
        except ReadError as why:
            ledger.dropped("setting", where, 1, str(why))
            continue
        out["time"] = plain(found)
    return out
