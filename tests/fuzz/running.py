"""Damaged copies of a file, read one after the other: what a process of the fuzz suite does."""

from __future__ import annotations

import random
import resource
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshkit import MeshkitError, check, read, read_series
from meshkit.cli.parts import parts_of
from tests.fuzz.declared import declared
from tests.fuzz.stores import damage_store, other_numbers
from tests.readers.mutations import mutations

MEMORY = 8 << 30  # bytes of address space a batch
STRUCTURAL = frozenset(
    {
        *("id_out_of_range", "offsets_not_ascending", "unknown_type", "wrong_size"),
        *("polyhedra_count", "region_out_of_range", "faces_out_of_range"),
    }
)


@dataclass(frozen=True)
class Batch:
    """Some mutations of one file, by their seeds, and how long they may compute altogether."""

    path: str
    seeds: tuple[int, ...]
    seconds: int = 60


def damaged(data: bytes, seed: int) -> bytes:
    """A damaged copy: half of them coarsely, half so that only a number or a word changes.

    Coarse damage mostly ends in the markup; what passes that is where sizes, offsets and ids
    meet memory.
    """
    rng = random.Random(f"{seed} {len(data)}")
    if rng.random() < 0.5:
        return next(iter(mutations(data, 1, rng.randrange(1 << 30))))
    made = bytearray(data)
    words = [i for i, byte in enumerate(data) if chr(byte).isalnum() and byte < 128]
    digits = [i for i in words if chr(data[i]).isdigit()]
    for _ in range(rng.randint(1, 3)):
        if digits and rng.random() < 0.6:
            made[rng.choice(digits)] = rng.choice(b"0123456789")
        elif words and rng.random() < 0.5:
            made[rng.choice(words)] = rng.choice(b"ABCXYZabcxyz0189")
        else:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _victim(copy: Path, parts: tuple[Path, ...], seed: int) -> Path:
    """Which file is damaged: the one that is read, or in half of the cases one that it names.

    A file that only marks its directory is empty: then always another one.
    """
    rng = random.Random(seed)
    others = parts and (copy.stat().st_size == 0 or rng.random() < 0.5)
    return rng.choice(parts) if others else copy


def _beside(copy: Path) -> tuple[Path, ...]:
    """The other files that a mesh is read from."""
    found: list[Path] = []
    for part in parts_of(copy):
        found += sorted(p for p in part.rglob("*") if p.is_file()) if part.is_dir() else [part]
    return tuple(p for p in found if p != copy)


@dataclass(frozen=True)
class Outcome:
    """What became of a file: refused, raised, read, unsound or of wrong sizes; what is wrong."""

    kind: str
    wrong: str = ""


def outcome(path: Path, original: Path | None = None) -> Outcome:
    """Read a file that may be damaged; if there is an original, it must not give other numbers."""
    try:
        meshes = list(read_series(path)) if path.is_dir() else [read(path)]
    except MeshkitError as why:
        named = "\n" not in str(why) and str(path.parent) in str(why)
        return Outcome("refused", "" if named else f"the message is {str(why)!r}")
    except Exception as why:
        return Outcome("raised", f"{type(why).__name__}: {why}")
    sizes = declared(path)
    for mesh in meshes[-1:]:
        found = (mesh.n_points, mesh.n_cells)
        if any(said not in (None, n) for said, n in zip(sizes, found, strict=True)):
            return Outcome("sizes", f"declares {sizes}, read {found}")
    unsound = sorted({f.code for mesh in meshes for f in check(mesh)} & STRUCTURAL)
    if original is not None and other_numbers(original, meshes):
        unsound.append("other numbers")
    return Outcome("unsound", str(unsound)) if unsound else Outcome("read")


def _damaged_file(path: Path, victim: Path, seed: int) -> Outcome:
    """Read a file while one of its parts is damaged."""
    whole = victim.read_bytes()
    victim.write_bytes(damaged(whole, seed))
    try:
        return outcome(path)
    finally:
        victim.write_bytes(whole)


def survive(batch: Batch) -> dict[str, Any]:
    """Read each damaged copy; counts of outcomes, and what was wrong by seed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + batch.seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 60))
    path = Path(batch.path)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        # Beside the files that this one may name: copies, for links that lead away are refused.
        copy = shutil.copytree(path.parent, Path(folder) / "beside") / path.name
        parts = _beside(copy)
        for seed in batch.seeds:
            if path.is_dir():
                may_differ = damage_store(copy, seed, damaged)
                what = outcome(copy, None if may_differ else path)
                shutil.rmtree(copy)
                shutil.copytree(path, copy)
            else:
                what = _damaged_file(copy, _victim(copy, parts, seed), seed)
            outcomes[what.kind] += 1
            if what.wrong:
                wrong.append(f"seed {seed}: {what.wrong}")
    return {"outcomes": dict(outcomes), "wrong": wrong}
