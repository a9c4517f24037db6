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

from meshkit import MeshkitError, check, read
from meshkit.cli.parts import parts_of
from tests.fuzz.declared import declared
from tests.readers.mutations import mutations

MEMORY = 8 << 30  # bytes of address space a batch
STRUCTURAL = frozenset(
    {
        *("id_out_of_range", "offsets_not_ascending", "unknown_type", "wrong_size"),
        *("polyhedra_mismatch", "region_id_out_of_range"),
    }
)


@dataclass(frozen=True)
class Batch:
    """Some mutations of one file, by their seeds."""

    path: str
    seeds: tuple[int, ...]


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
    """Which file is damaged: the one that is read, or in half of the cases one that it names."""
    rng = random.Random(seed)
    return rng.choice(parts) if parts and rng.random() < 0.5 else copy


@dataclass(frozen=True)
class Outcome:
    """What became of a file: refused, raised, read, unsound or of wrong sizes; what is wrong."""

    kind: str
    wrong: str = ""


def outcome(path: Path) -> Outcome:
    """Read a file that may be damaged."""
    try:
        mesh = read(path)
    except MeshkitError as why:
        named = "\n" not in str(why) and str(path.parent) in str(why)
        return Outcome("refused", "" if named else f"the message is {str(why)!r}")
    except Exception as why:
        return Outcome("raised", f"{type(why).__name__}: {why}")
    sizes = declared(path)
    found = (mesh.n_points, mesh.n_cells)
    if any(said not in (None, n) for said, n in zip(sizes, found, strict=True)):
        return Outcome("sizes", f"declares {sizes}, read {found}")
    unsound = sorted({f.code for f in check(mesh)} & STRUCTURAL)
    return Outcome("unsound", str(unsound)) if unsound else Outcome("read")


def survive(batch: Batch) -> dict[str, Any]:
    """Read each damaged copy; counts of outcomes, and what was wrong by seed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = Path(batch.path)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        # Beside the files that this one may name: copies, for links that lead away are refused.
        copy = shutil.copytree(path.parent, Path(folder) / "beside") / path.name
        parts = parts_of(copy)
        for seed in batch.seeds:
            victim = _victim(copy, parts, seed)
            whole = victim.read_bytes()
            victim.write_bytes(damaged(whole, seed))
            try:
                what = outcome(copy)
            finally:
                victim.write_bytes(whole)
            outcomes[what.kind] += 1
            if what.wrong:
                wrong.append(f"seed {seed}: {what.wrong}")
    return {"outcomes": dict(outcomes), "wrong": wrong}
