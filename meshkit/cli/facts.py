"""What a mesh holds, as JSON can say it: counts, sizes, ranges, regions, findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.errors import MeshError
from meshkit.fields import finite, leaves
from meshkit.info import FieldInfo
from meshkit.mesh import DATA, Mesh
from meshkit.operators import cell_measures
from meshkit.operators.check import check

MEASURES: Final = {1: "length", 2: "area", 3: "volume"}


def facts_of(mesh: Mesh) -> dict[str, Any]:
    """All that `meshkit info --json` answers.

    Numbers that JSON has no word for stand as null; how many of a field's are NaN or infinite is
    counted beside its range, which is that of the others.
    """
    info = mesh.info
    return {
        "file": None if info.source is None else info.source.file,
        "format": None if info.source is None else info.source.format,
        "points": mesh.n_points,
        "space_dim": mesh.points.shape[1],
        "points_dtype": _dtype(mesh.points),
        "cells": mesh.n_cells,
        "cells_by_type": mesh.cells.counts,
        "dim": mesh.dim,
        "faces": None if mesh.faces is None else len(mesh.faces),
        "bounds": _bounds(mesh.points),
        "measures": _measures(mesh),
        "length_unit": info.length_unit,
        "frame": info.frame,
        "time": _number(info.time),
        "fields": list(_fields(mesh)),
        "regions": [
            {
                "name": region.name,
                "entity": region.entity,
                "kind": region.kind,
                "size": len(region),
                "parent": region.parent,
                "fields": []
                if region.data is None
                else ["/".join(path) for path, _ in leaves(region.data)],
            }
            for region in mesh.regions
        ],
        "report": info.report.to_json(),
        "findings": [
            {"code": f.code, "severity": f.severity, "message": f.message, "count": f.count}
            for f in check(mesh)
        ],
    }


def _bounds(points: Tensor) -> dict[str, list[float]] | None:
    """The box of the points that are finite."""
    there = points.double()[finite(points).all(1)]
    if not len(there):
        return None
    return {"min": there.amin(0).tolist(), "max": there.amax(0).tolist()}


def _measures(mesh: Mesh) -> list[dict[str, Any]]:
    """Length, area and volume, summed over the cells of each dimension."""
    try:
        measures = cell_measures(mesh)
    except MeshError:  # ids out of range: a finding of check
        return []
    out = []
    for dim, name in MEASURES.items():
        some = measures[mesh.cells.dims == dim].double()
        if len(some):
            known = torch.isfinite(some)
            out.append(
                {
                    "dim": dim,
                    "what": name,
                    "cells": len(some),
                    "total": _number(float(some[known].sum())),
                    "negative": int((some < 0).sum()),
                    "unknown": int((~known).sum()),
                }
            )
    return out


def _fields(mesh: Mesh) -> Iterator[dict[str, Any]]:
    for home in DATA:
        for path, values in leaves(getattr(mesh, home)):
            known = mesh.info.field(home, *path)
            row = values.shape if home == "global_data" else values.shape[1:]
            yield {
                "home": home,
                "name": "/".join(path),
                "shape": list(row),
                "rows": None if home == "global_data" else len(values),
                "dtype": _dtype(values),
                "unit": known.unit,
                "kind": known.kind,
                **(_ranges(values) if known.vocabulary is None else _texts(values, known)),
            }


def _ranges(values: Tensor) -> dict[str, Any]:
    """Least, greatest and mean of the finite numbers, all components together."""
    if values.is_complex():
        values = values.to(torch.complex128).abs()
    if values.dtype == torch.bool:
        values = values.to(torch.uint8)
    if values.is_floating_point():
        values = values.double()
        finite = torch.isfinite(values)
        nan = int(values.isnan().sum())
        infinite = values.numel() - nan - int(finite.sum())
        values = values[finite]
    else:
        nan = infinite = 0
    out: dict[str, Any] = {"min": None, "max": None, "mean": None, "nan": nan, "inf": infinite}
    if values.numel():
        numbers = values.numpy()  # torch has no minimum of uint16, uint32 and uint64
        out |= {"min": numbers.min().item(), "max": numbers.max().item()}
        out["mean"] = _mean(numbers)
    return out


def _mean(numbers: NDArray[Any]) -> float:
    """The mean of finite numbers, which is finite although their sum may not be."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(numbers.mean(dtype="float64"))
    if math.isfinite(mean):
        return mean
    scale = float(np.abs(numbers).max())
    return scale * float((numbers / scale).mean())


def _texts(codes: Tensor, known: FieldInfo) -> dict[str, Any]:
    """How often each text occurs."""
    texts = known.vocabulary or ()
    valid = codes.long().flatten()
    counts = torch.bincount(valid[(valid >= 0) & (valid < len(texts))], minlength=len(texts))
    return {
        "texts": dict(zip(texts, counts.tolist(), strict=True)),
        "missing": len(valid) - int(counts.sum()),
    }


def _dtype(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _number(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None
