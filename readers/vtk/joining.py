"""Several VTK data sets as one: pieces of a file, files of a parallel one, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.readers.vtk import MARKER, VtkArray, VtkData
from meshkit.readers.vtk.objects import arrays_of
from meshkit.report import Ledger

Numbers = NDArray[Any]

_OURS: Final = "meshkit_"


def joined(parts: Sequence[VtkData], labels: Sequence[str], ledger: Ledger) -> VtkData:
    """One data set of several, points and cells one after the other; nothing is welded.

    An array that some parts lack is filled there (NaN, -1, 0 for unsigned, "" for texts). Arrays
    of one name that differ in kind, components or unit stay apart under two names. A field array
    that is the same in all parts stands once, others get the label of their part. All counted.

    Args:
        parts: at least one.
        labels: what to call each part in the report and in names.
    """
    if len(parts) == 1:
        return parts[0]
    points = _points(parts, ledger)
    starts = _starts([len(p.points) for p in parts])
    data = VtkData(
        points,
        np.concatenate([p.types for p in parts]),
        _ends([p.offsets for p in parts]),
        _shifted([p.connectivity for p in parts], starts),
        _polyhedra(parts, starts),
    )
    for home, rows in (
        ("point_data", [len(p.points) for p in parts]),
        ("cell_data", [len(p.types) for p in parts]),
    ):
        arrays_of(data, home).update(_arrays(parts, labels, home, rows, ledger))
    data.field_arrays.update(_field_arrays(parts, labels, ledger))
    return data


def _points(parts: Sequence[VtkData], ledger: Ledger) -> Numbers:
    kinds = {p.points.dtype for p in parts if len(p.points)}
    if len(kinds) > 1:
        few = sum(len(p.points) for p in parts if p.points.dtype == np.float32)
        ledger.converted("points", "", few, "float32 as float64, as in other parts")
    kind = max(kinds, key=lambda k: k.itemsize, default=parts[0].points.dtype)
    return np.concatenate([p.points.astype(kind, copy=False) for p in parts])


def _starts(counts: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(counts, dtype=np.int64).tolist()]


def _shifted(parts: Sequence[Numbers], starts: Sequence[int]) -> Numbers:
    """Ids one after the other, each part moved on; int64 where int32 is too small."""
    narrow = all(p.dtype == np.int32 for p in parts) and starts[-1] <= np.iinfo(np.int32).max
    dtype = np.dtype(np.int32 if narrow else np.int64)
    moved = [p.astype(dtype) + dtype.type(s) for p, s in zip(parts, starts, strict=False)]
    return np.concatenate(moved)


def _ends(parts: Sequence[Numbers]) -> Numbers:
    """Offsets of rows one after the other."""
    starts = _starts([int(p[-1]) for p in parts])
    return _shifted([parts[0][:1], *(p[1:] for p in parts)], [0, *starts])


def _polyhedra(
    parts: Sequence[VtkData], starts: Sequence[int]
) -> tuple[Numbers, Numbers, Numbers] | None:
    held = [(p.polyhedra, s) for p, s in zip(parts, starts, strict=False) if p.polyhedra]
    if not held:
        return None
    return (
        _ends([faces for (faces, _, _), _ in held]),
        _ends([offsets for (_, offsets, _), _ in held]),
        _shifted([ids for (_, _, ids), _ in held], [*(s for _, s in held), starts[-1]]),
    )


def _nature(array: VtkArray) -> tuple[Any, ...]:
    """What arrays of one name must share to be one."""
    if isinstance(array.values, list):
        return "texts", array.components, array.unit
    kind = array.values.dtype.kind
    return kind, array.values.shape[1], array.components, array.unit


def _arrays(
    parts: Sequence[VtkData],
    labels: Sequence[str],
    home: str,
    rows: Sequence[int],
    ledger: Ledger,
) -> dict[str, VtkArray]:
    """The arrays of points or cells of all parts."""
    natures: dict[str, list[tuple[Any, ...]]] = {}
    for part, n in zip(parts, rows, strict=True):
        for name, array in arrays_of(part, home).items():
            known = natures.setdefault(name, [])
            if n and _nature(array) not in known:
                known.append(_nature(array))
    out: dict[str, VtkArray] = {}
    for name, known in natures.items():
        if not known:  # no part has rows
            out[name] = next(a[name] for a in (arrays_of(p, home) for p in parts) if name in a)
        for i, nature in enumerate(known):
            unique, n = name, 1
            while unique in out or (i and unique in natures):
                n += 1
                unique = f"{name} ({n})"
            found = [arrays_of(part, home).get(name) for part in parts]
            fitting = [a if a is not None and _nature(a) == nature else None for a in found]
            filled = sum(n for a, n in zip(fitting, rows, strict=True) if a is None)
            lacking = [
                label for a, n, label in zip(fitting, rows, labels, strict=True) if a is None and n
            ]
            values, blank = _filled(fitting, rows)
            if i:
                reason = f"another kind of {name!r} in other parts"
                ledger.converted("field", f"{home}/{unique}", sum(rows), reason)
            if filled:
                more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
                reason = f"filled with {blank} where it is absent: {lacking[0]}{more}"
                ledger.converted("field", f"{home}/{unique}", filled, reason)
            first = next(a for a in fitting if a is not None)
            roles = {a.role for a in fitting if a is not None}
            role = first.role if len(roles) == 1 and not filled else None
            if any(roles) and role is None and not filled:
                ledger.converted("field", f"{home}/{unique}", sum(rows), "parts differ on its role")
            out[unique] = VtkArray(values, role, first.components, first.unit)
    return out


def _filled(
    arrays: Sequence[VtkArray | None], rows: Sequence[int]
) -> tuple[Numbers | list[str], str]:
    """One array of all parts, blanks where there is none, and what the blank is."""
    held = [a.values for a in arrays if a is not None]
    if any(isinstance(values, list) for values in held):
        texts: list[str] = []
        for array, n in zip(arrays, rows, strict=True):
            texts += [""] * n if array is None else list(array.values)
        return texts, "empty texts"
    numbers = [values for values in held if not isinstance(values, list)]
    dtype = np.result_type(*(values.dtype for values in numbers))
    blank: Any = {"f": np.nan, "i": -1}.get(dtype.kind, 0)
    width = numbers[0].shape[1]
    parts = [
        np.full((n, width), blank, dtype)
        if array is None
        else np.asarray(array.values).astype(dtype, copy=False)
        for array, n in zip(arrays, rows, strict=True)
    ]
    return np.concatenate(parts), str(blank)


def _field_arrays(
    parts: Sequence[VtkData], labels: Sequence[str], ledger: Ledger
) -> dict[str, VtkArray]:
    """The field arrays of all parts; what only speaks of one part's own numbering is dropped."""
    out: dict[str, VtkArray] = {}
    for part, label in zip(parts, labels, strict=True):
        lost = [name for name in part.field_arrays if name.startswith(_OURS) and name != MARKER]
        if lost:
            reason = f"regions and names of {label} speak of that part alone"
            ledger.dropped("info", label, len(lost), reason)
    names = dict.fromkeys(
        name for p in parts for name in p.field_arrays if not name.startswith(_OURS)
    )
    for name in names:
        found = [(p.field_arrays.get(name), label) for p, label in zip(parts, labels, strict=True)]
        held = [(array, label) for array, label in found if array is not None]
        first = held[0][0]
        if all(_same(array, first) for array, _ in held):
            out[name] = first
            continue
        for array, label in held:
            unique, n = f"{name} ({label})", 1
            while unique in out or unique in names:
                n += 1
                unique = f"{name} ({label}) ({n})"
            out[unique] = array
            reason = f"renamed: {name!r} differs from part to part"
            ledger.converted("field", f"global_data/{unique}", len(array.values), reason)
    return out


def _same(a: VtkArray, b: VtkArray) -> bool:
    if isinstance(a.values, list) or isinstance(b.values, list):
        return replace(a, values=[]) == replace(b, values=[]) and a.values == b.values
    return (
        replace(a, values=[]) == replace(b, values=[])
        and a.values.dtype == b.values.dtype
        and a.values.shape == b.values.shape
        and a.values.tobytes() == b.values.tobytes()
    )
