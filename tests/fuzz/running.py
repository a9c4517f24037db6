"""Damaged copies of a file, read one after the other: what a process of the fuzz suite does."""

from __future__ import annotations

import random
import resource
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshkit import MeshkitError, check, read
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


def survive(batch: Batch) -> dict[str, Any]:
    """Read each damaged copy; counts of outcomes, and what was wrong by seed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = Path(batch.path)
    whole = path.read_bytes()
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        # Beside the files that this one may name.
        for beside in path.parent.iterdir():
            if beside != path and beside.name != Path(folder).name:
                (Path(folder) / beside.name).symlink_to(beside)
        copy = Path(folder) / path.name
        for seed in batch.seeds:
            copy.write_bytes(damaged(whole, seed))
            try:
                mesh = read(copy)
            except MeshkitError as why:
                outcomes["refused"] += 1
                if "\n" in str(why) or str(copy.parent) not in str(why):
                    wrong.append(f"seed {seed}: the message is {str(why)!r}")
                continue
            except Exception as why:
                outcomes["raised"] += 1
                wrong.append(f"seed {seed}: {type(why).__name__}: {why}")
                continue
            unsound = {f.code for f in check(mesh)} & STRUCTURAL
            outcomes["unsound" if unsound else "read"] += 1
            if unsound:
                wrong.append(f"seed {seed}: {sorted(unsound)}")
    return {"outcomes": dict(outcomes), "wrong": wrong}
