"""The process that `fallback` lets meshio run in: FILE RESULT SECONDS BYTES.

On a bad file meshio may exit, loop for ever or ask for all memory, so it gets a process of its
own with limits on both. This file is run as a script and imports nothing of meshkit, for that
would load torch. What goes wrong goes wrong loudly here: the caller reads the last line.
"""

from __future__ import annotations

import pickle
import resource
import sys
import warnings


def main(file: str, result: str, seconds: int, memory: int) -> None:
    """Read a file with meshio and pickle its mesh for the process that asked."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    import meshio

    mesh = meshio.read(file)
    with open(result, "wb") as out:
        pickle.dump(mesh, out, protocol=pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
