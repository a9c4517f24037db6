"""Damage to files: only one of our errors, or a mesh, may come of it, in little memory."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshkit.errors import MeshkitError
from meshkit.mesh import Mesh
from meshkit.readers.reading import read


def mutations(data: bytes, n: int = 100, seed: int = 0) -> Iterator[bytes]:
    """n damaged copies: flipped bytes, cuts, splices, repeats, numbers blown up; never the same."""
    rng = random.Random(seed)
    done = 0
    while done < n:
        made = bytearray(data)
        kind = rng.randrange(6)
        at = rng.randrange(len(made))
        if kind == 0:
            for _ in range(rng.randint(1, 4)):
                made[rng.randrange(len(made))] = rng.randrange(256)
        elif kind == 1:
            del made[at:]
        elif kind == 2:
            del made[at : at + rng.randint(1, 40)]
        elif kind == 3:
            other = rng.randrange(len(made))
            made[at:at] = made[other : other + rng.randint(1, 80)]
        elif kind == 4:
            made[at : at + 4] = rng.choice(
                [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"9999", b"-1 ", b"nan ", b"\0\0\0\0"]
            )
        else:
            made[at:at] = rng.choice([b"\n", b" ", b"-", b"1e999 ", b"99999999999999999999", b"\0"])
        if made != data:
            done += 1
            yield bytes(made)


def survives(path: Path, data: bytes, n: int = 100, seed: int = 0) -> int:
    """Read n damaged copies through the front door under this name; how many were refused.

    Anything but a mesh or one line of a MeshkitError passes through and fails the test.
    """
    said = []
    for damaged in mutations(data, n, seed):
        path.write_bytes(damaged)
        try:
            mesh = read(path)
        except MeshkitError as why:
            said.append(str(why))
        else:
            assert isinstance(mesh, Mesh)
    for line in said:
        assert "\n" not in line
        assert str(path) in line
    return len(said)


@contextmanager
def within_memory(n: int) -> Iterator[None]:
    """What runs in here holds less than n bytes at any time, as Python and numpy count them."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n
    finally:
        tracemalloc.stop()
