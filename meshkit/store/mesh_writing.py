"""One mesh into a sample."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from meshkit import view
from meshkit.errors import WriteError
from meshkit.fields import Path
from meshkit.mesh import Mesh
from meshkit.report import Ledger
from meshkit.store.dtypes import Stored
from meshkit.store.metadata import ATTRIBUTE
from meshkit.store.names import array_name, plain_path
from meshkit.store.plain_json import to_plain
from meshkit.store.sample_writing import SampleWriter

Parts = dict[Path, tuple[Stored, Tensor]]

_HISTORY: Final = "lines on how the mesh was read, which are no part of it: nothing is lost"


def parts_of(mesh: Mesh, name: str, ledger: Ledger) -> tuple[Parts, dict[str, Any]]:
    """The tensors by their paths, and everything else but the report, as plain JSON.

    Raises:
        WriteError: JSON cannot say an attribute, or a tensor is sparse or quantized; `name` is
            what the message calls the sample.
    """
    flat, meta = view.parts_of(mesh)
    report = meta["info"].pop("report")
    if report:
        ledger.dropped("info", "report", len(report), _HISTORY, loss=False)
    parts = {path: (_stored(path, x, name), x) for path, x in flat.items()}
    try:
        return parts, to_plain(meta)
    except TypeError as why:
        raise WriteError(name, f"info or a region holds what JSON cannot say: {why}") from None


def _stored(path: Path, x: Tensor, name: str) -> Stored:
    try:
        if x.layout != torch.strided:
            raise ValueError(str(x.layout))
        return Stored.of(x.dtype)
    except ValueError as why:
        raise WriteError(
            name, f"{'/'.join(path)} is {why}", expected="a dense tensor of numbers"
        ) from None


def write_mesh(parts: Parts, meta: dict[str, Any], sample: SampleWriter) -> dict[str, Any]:
    """Write every array; what the top group must say of them is the answer."""
    rows = []
    for path, (stored, x) in parts.items():
        name = array_name(path)
        sample.write(name, stored, stored.to_array(x))
        rows.append({"path": list(plain_path(path)), "arrays": [name]})
    said = {"kind": "mesh", "times": [], "parts": rows, "meshes": [{"mesh": meta}]}
    return {ATTRIBUTE: said}
