"""Fields of a time: values inside, and on each patch its values and its condition.

Source: OpenFOAM's GeometricField, DimensionedField and their boundary fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from meshkit.errors import ReadError
from meshkit.info import FieldInfo
from meshkit.readers.openfoam.dimensions import (
    FLUXES,
    KINEMATIC,
    PASCAL,
    Exponents,
    dims_of,
    unit,
)
from meshkit.readers.openfoam.entries import Dictionary, Item, Unread, Word, is_list
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.header import Encoding
from meshkit.readers.openfoam.lists import WIDTHS, Array, Values
from meshkit.readers.openfoam.plain_settings import note_unread, plain, plain_items
from meshkit.readers.openfoam.poly_mesh import Patch
from meshkit.readers.openfoam.scanner import Scanner
from meshkit.report import Ledger

_CLASS: Final = re.compile(
    r"(vol|surface|point)(Scalar|Vector|SphericalTensor|SymmTensor|Tensor)Field"
    r"(::Internal|::DimensionedInternalField)?"
)
_NO_NUMBER: Final = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)
_HOMES: Final = {"vol": "cell", "surface": "face", "point": "point"}
_SYMMETRIC: Final = ("xx", "xy", "xz", "yy", "yz", "zz")
_COMPONENTS: Final[dict[str, tuple[str, ...]]] = {
    "sphericalTensor": ("ii",),
    "symmTensor": _SYMMETRIC,
    "tensor": tuple(a + b for a in "xyz" for b in "xyz"),
}
_BY_WIDTH: Final = {3: "vector", 1: "sphericalTensor", 6: "symmTensor", 9: "tensor"}


_SAYS_NOTHING: Final = (
    *("#message", "#warning", "#includeFunc"),
    *(f"#{word} caseDicts/setConstraintTypes" for word in ("includeEtc", "sincludeEtc")),
)
"""These bring no values: messages, and the types of conditions that the patches' own types fix."""


@dataclass(frozen=True)
class OnPatch:
    """What a field says of a patch: its condition, and the entries that hold a value a face."""

    settings: dict[str, Any]
    values: dict[str, Values]


@dataclass(frozen=True)
class Field:
    """One field of a mesh, or of a processor's part of it."""

    name: str
    home: str  # "cell", "face", "point"
    kind: str  # "scalar", "vector", ...
    info: FieldInfo
    inner: Values  # of cells, of faces between two cells, of points
    patches: Mapping[str, OnPatch]


def class_of(scanner_class: str) -> tuple[str, str] | None:
    """Where a class of files lives, and what it is of; None where it is no field of a mesh.

    >>> class_of("volVectorField"), class_of("volScalarField::Internal"), class_of("dictionary")
    (('cell', 'vector'), ('cell', 'scalar'), None)
    """
    found = _CLASS.fullmatch(scanner_class)
    if found is None:
        return None
    kind = found[2][0].lower() + found[2][1:]
    return _HOMES[found[1]], kind


def read_field(
    folder: Folder,
    where: str,
    counts: Mapping[str, int],
    patches: Sequence[Patch],
    ledger: Ledger,
) -> Field:
    """A field; what of its text is not understood or not run is counted.

    Args:
        folder, where: the file.
        counts: how many cells, faces between two cells, and points there are.
        patches: those of the mesh.

    Raises:
        ReadError: the file is damaged, a value would have to be worked out by running code, or
            there are more or fewer values than cells, faces or points.
    """
    name = where.rpartition("/")[2]
    with folder.open(where) as (scanner, header):
        said = class_of(header.class_name)
        if said is None:
            raise scanner.error(f"is of class {header.class_name!r}", expected="a field")
        home, kind = said
        entries = folder.parser(scanner, header.encoding).whole()
        _note_unread(entries, where, ledger)
        said_dims = entries.items_of("dimensions")
        dims = dims_of(said_dims)
        if said_dims and dims is None:
            reason = f"dimensions {plain_items(said_dims)!r} are none that is known here"
            ledger.dropped("unit", where, 1, reason)
        key = "internalField" if entries.find("internalField") is not None else "value"
        items = entries.items_of(key)
        inner = _values(scanner, header.encoding, items, key, kind, counts[home])
        if inner is None:
            raise scanner.error(f"has no {key}", place=f"entry {key!r}", expected="its values")
        on = _on_patches(scanner, header.encoding, entries.below("boundaryField"), patches, home)
    info = _info(name, home, kind, dims, entries.word("oriented"))
    return Field(name, home, kind, info, inner, on)


def _note_unread(entries: Dictionary, where: str, ledger: Ledger) -> None:
    """Count directives and macros without a value: those within a patch's entries stay as text."""
    on = entries.below("boundaryField")
    for name, entry in on.entries.items():
        if isinstance(entry, Dictionary):
            note_unread(entry, f"{where} {name}", ledger)
    for home in (entries, on):
        for items in home.entries.values():
            for what in items if isinstance(items, list) else ():
                if isinstance(what, Unread):
                    loss = not what.what.startswith(_SAYS_NOTHING)
                    reason = f"{what.what} in line {what.line} is not run"
                    ledger.dropped("setting", where, 1, reason, loss=loss)


def _values(
    scanner: Scanner,
    encoding: Encoding,
    items: Sequence[Item],
    key: str,
    kind: str | None,
    count: int,
) -> Values | None:
    """The values that "uniform 5" or "nonuniform List<scalar> ..." mean; None if these are none.

    Args:
        kind: what they must be of; None: what they are of is seen.
    """
    if not items:
        return None

    def wrong(problem: str, expected: str) -> ReadError:
        # The scanner stands at the end of the file by now: its line would be of no use.
        return scanner.error(problem, place=f"entry {key!r}", expected=expected)

    unread = next((x for x in items if isinstance(x, Unread)), None)
    if unread is not None and kind is not None:
        raise scanner.error(
            f"{key} is {unread.what}, which is not run",
            place=f"line {unread.line}",
            expected="a value",
            hint="let the solver write the field once",
        )
    match items[0], items[-1]:
        case "uniform", value if len(items) == 2:
            row = _row(value, encoding)
            if row is None or (kind is not None and row.shape[1:] != _shape(kind)):
                if kind is None:
                    return None
                raise wrong(f"is uniform {value!r}", f"a {kind}")
            found = Values(kind or _kind_of(row), row, count, uniform=True)
        case "nonuniform", Values() as values:
            found = values
        case "nonuniform", _ if len(items) == 2 and isinstance(items[1], Word):
            raise wrong(f"is nonuniform {items[1]!r}", f"List<{kind}>")
        case "nonuniform", _ if items[1:] in ([0], [0, []]) or items[1:] == [[]]:
            found = Values(kind or "scalar", np.zeros((0, *_shape(kind or "scalar"))), 0)
        case "nonuniform", list() as rows if is_list(items[1:]):
            rows = _numeric(rows)
            table = np.array(rows, encoding.float_type) if _even(rows) else None
            if table is None or (kind is not None and table.shape[1:] != _shape(kind)):
                raise wrong(f"is no list of {kind}s", f"List<{kind}>")
            found = Values(kind or _kind_of(table), table, len(table))
        case _:
            if kind is None:
                return None
            raise wrong(f"is {str(items[0])[:40]!r}", "uniform or nonuniform")
    if kind is not None and found.kind != kind and found.count:
        raise wrong(f"is a list of {found.kind}s", f"List<{kind}>")
    if found.count != count:
        raise wrong(f"has {found.count} values", str(count))
    return found


def _shape(kind: str) -> tuple[int, ...]:
    return () if kind in ("scalar", "label", "bool") else (WIDTHS[kind],)


def _row(value: Item, encoding: Encoding) -> Array | None:
    """One value as a table of one row; None where it is no number or list of numbers."""
    dtype = encoding.float_type.newbyteorder("=")
    value = _numeric(value)
    if isinstance(value, int | float):
        return np.array([value], dtype)
    if isinstance(value, list) and len(value) in _BY_WIDTH and _even([value]):
        return np.array([value], dtype)
    return None


def _numeric(item: Item) -> Any:
    """The item with words such as "nan" and "-inf" as numbers, also within lists."""
    if isinstance(item, list):
        return [_numeric(x) for x in item]
    return float(item) if isinstance(item, str) and _NO_NUMBER.fullmatch(item) else item


def _even(rows: Sequence[Any]) -> bool:
    """Whether these are numbers, or lists of as many numbers each."""
    if all(isinstance(x, int | float) for x in rows):
        return True
    widths = {len(x) if isinstance(x, list) else -1 for x in rows}
    return len(widths) == 1 and -1 not in widths and all(_even(x) for x in rows if x)


def _kind_of(rows: Array) -> str:
    return "scalar" if rows.ndim == 1 else _BY_WIDTH.get(rows.shape[1], "scalar")


def _on_patches(
    scanner: Scanner,
    encoding: Encoding,
    found: Dictionary,
    patches: Sequence[Patch],
    home: str,
) -> dict[str, OnPatch]:
    """What the boundary field says of each patch: by its name, by a group it is in, by pattern."""
    out: dict[str, OnPatch] = {}
    for patch in patches:
        entry = found.find(patch.name, patch.groups)
        if not isinstance(entry, Dictionary):
            continue
        values: dict[str, Values] = {}
        for key, items in entry.entries.items():
            if not isinstance(items, list) or items[:1] not in (["uniform"], ["nonuniform"]):
                continue
            count = len(patch.faces)
            if home == "point" or patch.kind == "empty":
                # One a point of the patch, or none at all, which nothing here counts.
                count = items[-1].count if isinstance(items[-1], Values) else 0
            made = _values(scanner, encoding, items, f"{patch.name}.{key}", None, count)
            if made is not None:
                values[key] = made
        out[patch.name] = OnPatch(plain(entry, values), values)
    return out


# --- what a field is ------------------------------------------------------------------------------

_PRESSURE: Final = re.compile(r"(p|p_rgh|p0|pd|static\(p\)|total\(p\))(\.\w+)?(Mean)?")
_STRESS: Final = re.compile(r"(turbulenceProperties:)?(R|wallShearStress|devReff?)(\.\w+)?(Mean)?")
_PRESSURES: Final[dict[Exponents | None, str]] = {
    KINEMATIC: "kinematic pressure",
    PASCAL: "pressure",
}
_STRESSES: Final[dict[Exponents | None, str]] = {KINEMATIC: "kinematic stress", PASCAL: "stress"}
_STATISTICS: Final = (("Prime2Mean", "variance"), ("Mean", "mean"))


def _info(
    name: str, home: str, kind: str, dims: Exponents | None, oriented: str | None
) -> FieldInfo:
    """What a field is, by its dimensions, the words of its file, and OpenFOAM's names."""
    role = None
    plain_kind = not name.endswith("Prime2Mean")
    if plain_kind and kind == "scalar" and _PRESSURE.fullmatch(name):
        role = _PRESSURES.get(dims)
    elif plain_kind and kind != "scalar" and _STRESS.fullmatch(name):
        role = _STRESSES.get(dims)
    if home == "face" and oriented is None:
        flux = kind == "scalar" and (dims in FLUXES or name.startswith(("phi", "meshPhi")))
    else:
        flux = home == "face" and oriented == "oriented"
    return FieldInfo(
        unit=unit(dims),
        kind=role,
        oriented=flux,
        statistic=next((said for end, said in _STATISTICS if name.endswith(end)), None),
        components=_COMPONENTS.get(kind),
    )
