"""Fields with values that are no numbers, or codes that mean nothing."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.fields import Path, leaves
from meshkit.mesh import DATA, Mesh
from meshkit.operators.soundness.finding import Finding, Severity, found, places
from meshkit.operators.values import real_parts


def of_fields(mesh: Mesh) -> Iterator[Finding]:
    """NaN and infinite values, and codes beyond their vocabulary, one finding a field."""
    for home, path, values in _fields(mesh):
        where = "/".join((*home, *path))
        yield from _numbers(where, values, has_rows=home != ("global_data",))
        yield from _codes(mesh, home, path, values)


def of_codes(mesh: Mesh) -> Iterator[Finding]:
    """Codes beyond their vocabulary, one finding a field."""
    for home, path, values in _fields(mesh):
        yield from _codes(mesh, home, path, values)


def _fields(mesh: Mesh) -> Iterator[tuple[Path, Path, Tensor]]:
    """Each field of the mesh and of its regions: its home, its path there, its values."""
    homes: list[tuple[Path, TensorDictBase]] = [((d,), getattr(mesh, d)) for d in DATA]
    for region in mesh.regions:
        if region.data is not None:
            homes.append((("regions", region.name, region.entity), region.data))
    for home, fields in homes:
        for path, values in leaves(fields):
            yield home, path, values


def _codes(mesh: Mesh, home: Path, path: Path, values: Tensor) -> Iterator[Finding]:
    words = mesh.info.field(*home, *path).vocabulary
    if words is None or values.is_floating_point() or values.is_complex():
        return
    what = f"{'/'.join((*home, *path))}: codes beyond its {len(words)} texts"
    rows = _rows(values.long() >= len(words), home != ("global_data",))
    yield from found("code_out_of_range", "error", what, rows, "rows")


def _numbers(where: str, values: Tensor, *, has_rows: bool) -> Iterator[Finding]:
    if not (values.is_floating_point() or values.is_complex()):
        return
    wide = values.detach()
    if values.is_complex():
        wide = real_parts(wide)
    wide = wide.float() if wide.dtype.itemsize < 4 else wide
    severity: Severity = "info"
    for code, what, mask in (
        ("field_nan", "NaN", torch.isnan(wide)),
        ("field_inf", "infinite", torch.isinf(wide)),
    ):
        if bool(mask.any()):
            if values.is_complex():
                mask = mask.any(-1)
            count = int(mask.sum())
            message = f"{where}: {count} values are {what}"
            for one in found(code, severity, message, _rows(mask, has_rows), "rows"):
                yield Finding(code, severity, one.message, count, one.ids)


def _rows(mask: Tensor, has_rows: bool) -> Tensor:
    """The rows in which a mask holds anywhere; without a row axis row 0 stands for all."""
    if not has_rows:
        return places(mask.any().reshape(1))
    return places(mask.reshape(len(mask), -1).any(1)) if mask.numel() else places(mask.new_zeros(0))
