"""`python -m tests.fuzz [SUFFIX | FILE ...]`: a table of what became of damaged files.

Each batch of mutations runs in a process of its own, with a limit on the time that it computes and
a longer one on the clock; what ends a process counts as a crash, what outlasts a limit as a hang.
Right is a MeshkitError in one line that names the file, or a mesh without a structural finding, of
as many points and cells as the file declares.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from meshkit.cli import workers
from tests.fuzz.running import Batch, survive
from tests.fuzz.seeds import SEEDS

BATCH = 25
SECONDS = 60  # that a batch may compute
LIMIT = 600.0  # seconds of a batch by the clock: a machine that does much else is no hang


def batches(what: str, folder: Path, mutations: int, start: int) -> list[Batch]:
    """The mutations of a format, spread over its files; or of one file, copied with its folder."""
    if what in SEEDS:
        folder.mkdir()
        files = list(SEEDS[what](folder, what))
    else:
        files = [shutil.copytree(Path(what).parent, folder) / Path(what).name]
    out = []
    for i, path in enumerate(files):
        share = mutations // len(files) + (i < mutations % len(files))
        seeds = range(start, start + share)
        starts = range(0, share, BATCH)
        out += [Batch(str(path), tuple(seeds[j : j + BATCH]), SECONDS) for j in starts]
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("what", nargs="*", help="suffixes or files; all suffixes by default")
    parser.add_argument("--mutations", type=int, default=300, help="a format (default 300)")
    parser.add_argument("--seed", type=int, help="the first seed (default: any)")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    start = random.randrange(10**9) if args.seed is None else args.seed
    print(f"seeds from {start}, {args.mutations} mutations a format")
    columns = (
        *("files", "refused", "read", "raised", "unsound", "sizes", "crashed", "hung", "seconds"),
    )
    print(f"{'format':8}" + "".join(f"{name:>9}" for name in columns))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for i, what in enumerate(args.what or SEEDS):
            todo = batches(what, Path(folder) / str(i), args.mutations, start)
            total: Counter[str] = Counter()
            seconds, said = 0.0, []
            for ending in workers.run(survive, todo, jobs=args.jobs, timeout=LIMIT):
                seconds += ending.seconds
                where = Path(ending.task.path).name
                if ending.problem is not None:
                    hung = any(sign in ending.problem for sign in ("took longer", "SIGXCPU"))
                    total["hung" if hung else "crashed"] += 1
                    said.append(f"  {where}, seeds {ending.task.seeds[0]} on: {ending.problem}")
                    continue
                total.update(ending.answer["outcomes"])
                said += [f"  {where}, {line}" for line in ending.answer["wrong"]]
            files = len({b.path for b in todo})
            row = (files, *(total[name] for name in columns[1:-1]), round(seconds))
            print(f"{Path(what).name:8}" + "".join(f"{value:9}" for value in row), flush=True)
            for line in said:
                print(line)
            bad += len(said)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
