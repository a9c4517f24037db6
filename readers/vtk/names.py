"""Names and texts that vtk or its XML writer would break, percent-encoded, with a table to undo it.

vtk's XML writer does not escape what it writes into tags, so `<`, `&`, `"` and an empty name make
a file that nothing can read, and tabs and line ends become spaces. A NUL ends a name in vtk
itself, and a lone surrogate aborts the process. All other names, Unicode and "/" included, stay.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import Any, Final

from meshkit.readers.vtk import VtkArray, VtkData, json_array, json_of
from meshkit.readers.vtk.objects import arrays_of
from meshkit.report import Ledger

NAMES: Final = "meshkit_names"
"""The field array that holds the table, as JSON."""

IN_XML: Final = re.compile(r"[\x00-\x1f\x7f<>&\"\ud800-\udfff\ufffe\uffff]|^ | $|^$")
IN_MEMORY: Final = re.compile(r"[\x00\ud800-\udfff]|^$")
"""What may not be in a name: in an XML file, and in vtk's objects."""

_IN_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")
_HOMES: Final = ("point_data", "cell_data", "global_data")


def encoded(data: VtkData, unsafe: re.Pattern[str]) -> VtkData:
    """The same data with names, components and units that are safe, and texts that vtk can hold.

    Nothing is copied, and nothing changes where all are safe.
    """
    table: dict[str, dict[str, dict[str, Any]]] = {}
    homes: dict[str, dict[str, VtkArray]] = {}
    for home in _HOMES:
        arrays = homes[home] = {}
        given = arrays_of(data, home)
        for name, array in given.items():
            said: dict[str, Any] = {}
            safe = name
            if unsafe.search(name):
                safe = _free(_percent(name, unsafe), given, arrays)
                said["name"] = name
            arrays[safe] = _safe_array(array, unsafe, said)
            if said:
                table.setdefault(home, {})[safe] = said
    if not table:
        return data
    homes["global_data"][NAMES] = json_array(table)
    return replace(
        data,
        point_arrays=homes["point_data"],
        cell_arrays=homes["cell_data"],
        field_arrays=homes["global_data"],
    )


def decoded(data: VtkData, ledger: Ledger) -> VtkData:
    """Undo `encoded`, where its table is there; a damaged table is counted and left alone."""
    array = data.field_arrays.get(NAMES)
    if array is None:
        return data
    try:
        table = json_of(array)
        homes = {home: _restored(arrays_of(data, home), table.get(home, {})) for home in _HOMES}
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as why:
        ledger.converted("field", f"global_data/{NAMES}", 1, f"kept as it is, no table: {why}")
        return data
    del homes["global_data"][NAMES]
    return replace(
        data,
        point_arrays=homes["point_data"],
        cell_arrays=homes["cell_data"],
        field_arrays=homes["global_data"],
    )


def _safe_array(array: VtkArray, unsafe: re.Pattern[str], said: dict[str, Any]) -> VtkArray:
    changed: dict[str, Any] = {}
    if array.components is not None and any(c and unsafe.search(c) for c in array.components):
        said["components"] = list(array.components)
        changed["components"] = tuple(_percent(c, unsafe) if c else "" for c in array.components)
    if array.unit is not None and unsafe.search(array.unit):
        said["unit"] = array.unit
        changed["unit"] = _percent(array.unit, unsafe)
    if isinstance(array.values, list) and any(_IN_TEXT.search(text) for text in array.values):
        said["texts"] = True
        changed["values"] = [_percent(text, _IN_TEXT) for text in array.values]
    return replace(array, **changed) if changed else array


def _restored(arrays: dict[str, VtkArray], table: dict[str, Any]) -> dict[str, VtkArray]:
    found: dict[str, VtkArray] = {}
    for name, array in arrays.items():
        said = table.get(name, {})
        changed: dict[str, Any] = {}
        if "components" in said:
            changed["components"] = tuple(map(str, said["components"]))
        if "unit" in said:
            changed["unit"] = str(said["unit"])
        if "texts" in said and isinstance(array.values, list):
            changed["values"] = [_unpercent(text) for text in array.values]
        found[str(said.get("name", name))] = replace(array, **changed) if changed else array
    if len(found) != len(arrays):
        raise ValueError("two arrays of one name")
    return found


def _percent(text: str, unsafe: re.Pattern[str]) -> str:
    """Unsafe characters and "%" as the %XX of their UTF-8 bytes; never empty."""

    def code(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return unsafe.sub(code, text.replace("%", "%25")) or "%"


def _unpercent(text: str) -> str:
    """Undo `_percent` for one text (a name's original stands in the table)."""
    parts = re.split(r"((?:%[0-9A-F]{2})+)", "" if text == "%" else text)
    for i in range(1, len(parts), 2):
        raw = bytes.fromhex(parts[i].replace("%", ""))
        parts[i] = raw.decode("utf-8", "surrogatepass")
    return "".join(parts)


def _free(name: str, *taken: Container[str]) -> str:
    unique, n = name, 1
    while any(unique in names for names in taken):
        n += 1
        unique = f"{name} ({n})"
    return unique
