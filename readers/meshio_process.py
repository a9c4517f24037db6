"""The process that `fallback` lets meshio run in: FILE RESULT SECONDS BYTES.

On a bad file meshio may exit, loop for ever or ask for all memory, so it gets a process of its
own with limits on both. This file is run as a script and imports nothing of meshkit, for that
would load torch. What goes wrong goes wrong loudly here: the caller reads the last line.

The result is an archive of plain arrays and one JSON text that names them: what reads a file of
unknown origin hands back data and never a pickle.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from typing import Any

import numpy as np

PARTS = (
    *("points", "point_data", "cell_data", "field_data", "point_sets", "cell_sets"),
    *("gmsh_periodic", "info", "point_tags", "cell_tags"),
)
"""What of a meshio mesh is handed back, beside its cells."""


def main(file: str, result: str, seconds: int, memory: int) -> None:
    """Read a file with meshio and write its mesh for the process that asked."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    import meshio

    mesh = meshio.read(file)
    arrays: dict[str, Any] = {}
    said = {part: packed(getattr(mesh, part, None), arrays) for part in PARTS}
    said["cells"] = [[block.type, packed(block.data, arrays)] for block in mesh.cells]
    np.savez(result, json=np.frombuffer(json.dumps(said).encode(), np.uint8), **arrays)


def packed(value: Any, arrays: dict[str, Any]) -> Any:
    """A value as JSON can say it; arrays go into `arrays` and leave their name."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": [[packed(k, arrays), packed(v, arrays)] for k, v in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [packed(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
