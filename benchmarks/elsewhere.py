"""A peer that lives in an environment of its own: its CPU seconds, statement by statement.

Run as a script it takes a line of JSON, a statement, runs it, and prints its CPU seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass


class Peer:
    """A Python process that keeps what statements before have made."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            text=True,
        )

    def run(self, statement: str) -> float:
        """The CPU seconds of a statement; RuntimeError where it fails."""
        ours, theirs = self._process.stdin, self._process.stdout
        if ours is None or theirs is None:
            raise RuntimeError("the peer has no pipes")
        ours.write(json.dumps(statement) + "\n")
        ours.flush()
        for line in theirs:
            if line.startswith('{"cpu"'):
                return float(json.loads(line)["cpu"])
        raise RuntimeError(f"the peer ended at: {statement}")


@dataclass(frozen=True)
class Elsewhere:
    """A contender that a peer runs."""

    peer: Peer
    statement: str

    def seconds(self) -> float:
        """What one run of it costs."""
        return self.peer.run(self.statement)


def peer_python() -> str | None:
    """The Python of peers that need one of their own, where MESHKIT_PEER_PYTHON names it."""
    return os.environ.get("MESHKIT_PEER_PYTHON")


def _serve() -> None:
    names: dict[str, object] = {}
    for line in sys.stdin:
        start = time.process_time()
        exec(json.loads(line), names)
        cost = time.process_time() - start
        sys.stdout.write("\n" + json.dumps({"cpu": cost}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
