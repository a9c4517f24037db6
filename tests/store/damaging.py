"""Stores that are damaged or say something else, and whether they survive it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from meshkit.errors import MeshkitError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.store import manifest
from meshkit.store.plain_json import to_bytes
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube


def two_chunks() -> Mesh:
    """Two chunks an array."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(66_000, 3, generator=generator, dtype=torch.float16).float()
    mesh = make_mesh(points, torch.arange(66_000).reshape(-1, 4))
    return mesh


def files_of(root: Path) -> list[Path]:
    return sorted(p.relative_to(root) for p in root.rglob("*") if p.is_file())


def survives(path: Path, mesh: Mesh) -> str | None:
    """The error's line, or None where the mesh is identical; anything else fails the test."""
    try:
        back = read(path)
    except MeshkitError as why:
        said = str(why)
    else:
        assert differences(mesh, back) == []
        return None
    assert "\n" not in said and str(path) in said
    return said


def flipped(file: Path, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def constant(value: float) -> Mesh:
    """Compressed to the same size whatever the value."""
    mesh = kuhn_cube(2)
    return mesh.with_data(cell={"p": torch.full((mesh.n_cells,), value)})


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A manifest that says something else and whose hash holds."""
    file = path / "MANIFEST.json"
    said = json.loads(file.read_bytes())
    del said["blake3"]
    change(said)
    body = to_bytes(said)[:-1]
    file.write_bytes(body + f',\n"blake3":"{manifest.digest(body)}"}}\n'.encode())


def retold(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Metadata that say something else, with a manifest that holds."""
    file = path / "zarr.json"
    said = json.loads(file.read_bytes())
    change(said)
    file.write_bytes(to_bytes(said))
    entry = {"size": file.stat().st_size, "blake3": manifest.digest(file.read_bytes())}
    changed(path, lambda said: said["keys"].update({"zarr.json": entry}))


def array(said: dict[str, Any], name: str = "points") -> dict[str, Any]:
    found: dict[str, Any] = said["consolidated_metadata"]["metadata"][name]
    return found


def ours(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = said["attributes"]["meshkit"]
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a JSON document."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))
