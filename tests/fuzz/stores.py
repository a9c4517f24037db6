"""Damage to the files of a store, which is a directory with checksums of everything."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from meshkit import Mesh, read_series
from meshkit.store import manifest
from meshkit.store.plain_json import to_bytes
from tests.mesh_differences import differences

Damage = Callable[[bytes, int], bytes]

LIES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 7, 2**31, 2**63, 2**70, 1.5, "", "a", "../x", "/etc/passwd"),
    *("int32", "float64", "series", [], {}, [1], [[]], {"a": 1}, [0, 3], ["points"]),
)


def damage_store(folder: Path, seed: int, damaged: Damage) -> bool:
    """Damage a store in its place.

    Half of it is what disks, networks and people do to files. The other half are lies whose
    checksums hold, as an enemy would tell them: they get past the first checks.

    Returns:
        Whether the result may be another mesh than the one that was written.
    """
    rng = random.Random(f"store {seed}")
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    one, other = rng.sample(files, 2)
    match rng.randrange(10):
        case 0 | 1:
            one.write_bytes(damaged(one.read_bytes(), seed))
        case 2:
            data = one.read_bytes()
            one.write_bytes(data[: rng.randrange(len(data))])
        case 3:
            mine, theirs = one.read_bytes(), other.read_bytes()
            one.write_bytes(mine[: rng.randrange(len(mine))] + theirs[rng.randrange(len(theirs)) :])
        case 4:
            mine, theirs = one.read_bytes(), other.read_bytes()
            one.write_bytes(theirs)
            other.write_bytes(mine)
        case 5 if rng.random() < 0.5:
            one.unlink()
        case 5:
            shutil.rmtree(rng.choice([p for p in folder.rglob("*") if p.is_dir()]))
        case _:
            _lie(folder, rng)
            return True
    return False


def other_numbers(path: Path, meshes: list[Mesh]) -> bool:
    """Whether these are not the meshes of a store."""
    whole = list(read_series(path))
    return len(whole) != len(meshes) or any(
        differences(a, b) != [] for a, b in zip(whole, meshes, strict=True)
    )


def _lie(folder: Path, rng: random.Random) -> None:
    """Say something else in the metadata or the manifest, and make every hash hold."""
    file = folder / "MANIFEST.json"
    listed = json.loads(file.read_bytes())
    del listed["blake3"]
    said = json.loads((folder / "zarr.json").read_bytes())
    for _ in range(rng.randint(1, 2)):
        _change(said if rng.random() < 0.8 else listed, rng)
    data = to_bytes(said)
    (folder / "zarr.json").write_bytes(data)
    if isinstance(listed.get("keys"), dict):
        entry = {"size": len(data), "blake3": manifest.digest(data)}
        listed["keys"] = {**listed["keys"], "zarr.json": entry}
    body = to_bytes(listed)[:-1]
    file.write_bytes(body + f',\n"blake3":"{manifest.digest(body)}"}}\n'.encode())


def _change(said: Any, rng: random.Random) -> None:
    *above, last = rng.choice([place for place in _places(said) if place])
    at = said
    for key in above:
        at = at[key]
    if rng.random() < 0.3:
        del at[last]
    else:
        at[last] = rng.choice(LIES)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(one, (*path, key))
