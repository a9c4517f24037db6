"""What a case says beside mesh and fields: the solver, time control, properties of the fluid."""

from __future__ import annotations

from typing import Any, Final

from meshkit.errors import ReadError
from meshkit.readers.openfoam.dimensions import in_other_units
from meshkit.readers.openfoam.entries import Dictionary
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.plain_settings import note_unread, plain
from meshkit.report import Ledger

_LEFT_OUT: Final = ("FoamFile", "functions")
"""Function objects are programs of their own: they say nothing of the fields here."""
_SOUGHT: Final = (
    *("transportModel", "viscosityModel", "simulationType", "RASModel", "LESModel", "model"),
    *("nu", "mu", "rho", "rhoInf", "Pr", "Prt", "beta", "TRef", "molWeight", "Cp", "hRef"),
    *("application", "solver", "startTime", "endTime", "deltaT", "writeInterval", "adjustTimeStep"),
    "maxCo",
)
"""What contracts ask for, wherever it stands."""
_FILES: Final = (
    *("transportProperties", "physicalProperties", "thermophysicalProperties", "g", "hRef"),
    *("turbulenceProperties", "momentumTransport", "RASProperties", "LESProperties"),
    *("thermophysicalTransport", "phaseProperties", "radiationProperties", "MRFProperties"),
    *("regionProperties", "dynamicMeshDict", "fvOptions", "fvModels", "fvConstraints", "porosity"),
)


def read_settings(folder: Folder, region: str | None, ledger: Ledger) -> dict[str, Any]:
    """Attributes of a case or region.

    "controlDict" and each file of properties in constant/ stand whole under their names; beside
    them, as plain numbers and words, stand the values that are most asked for: nu, rho,
    transportModel, application, deltaT and the like. A file that cannot be understood is counted.
    """
    out: dict[str, Any] = {}
    below = f"constant/{region}" if region else "constant"
    places = [f"{below}/{name}" for name in _FILES]
    if region is None:
        places.append("system/controlDict")
    for where in places:
        if folder.find(where) is None:
            continue
        try:
            _, found = folder.dictionary(where)
        except ReadError as why:
            ledger.dropped("setting", where, 1, str(why))
            continue
        note_unread(found, where, ledger)
        out[where.rpartition("/")[2]] = plain(found, _LEFT_OUT)
        if where.startswith("system/") and found.find("functions") is not None:
            count = len(found.below("functions").entries)
            reason = "function objects, which say what to write, not what was written"
            ledger.dropped("setting", f"{where} functions", count, reason, loss=False)
        for key, value in _sought(found).items():
            out.setdefault(key, value)
    return out


def _sought(found: Dictionary) -> dict[str, Any]:
    """The values most asked for, from any depth; the outermost of a name."""
    out: dict[str, Any] = {}
    deeper: list[Dictionary] = []
    for key, value in found.entries.items():
        if key in _LEFT_OUT:
            continue
        if isinstance(value, Dictionary):
            deeper.append(value)
        elif key in _SOUGHT and not in_other_units(value):
            number = found.number(key)
            said = number if number is not None else found.word(key)
            if said is not None:
                out[key] = said
    for below in deeper:
        for key, said in _sought(below).items():
            out.setdefault(key, said)
    return out
