"""What no reader of ours claims, through meshio, behind a guard.

On a bad file meshio prints, exits, raises any exception at all, loops for ever or asks for all
memory. So it runs in a process of its own, with limits on time and memory, and each of these
becomes one ReadError; what it warns of is counted as a loss.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from meshkit.errors import MissingPackage, ReadError, UnknownFormat
from meshkit.report import Ledger
from meshkit.words import BLANKS, one_line

if TYPE_CHECKING:
    import meshio

    from meshkit.mesh import Mesh

_PROGRAM: Final = Path(__file__).with_name("meshio_process.py")
_OTHER_FILES: Final = {"nastran": re.compile(rb"\s*INCLUDE\b", re.IGNORECASE)}
"""By meshio's name of a format, how a line begins that takes in a file which it does not read."""

_TAIL: Final = re.compile(r"(?<=\S)\s+Error: Couldn't read file .+ as \w+$")
"""What meshio adds to each reason: what the message says anyway."""

_INSTEAD: Final = "where it is sound, save it in a format that `meshkit formats` lists"

_DAY: Final = 24 * 3600
_MEBIBYTE: Final = 1 << 20


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read a file by what meshio's table of suffixes says, and count what came of it.

    Cell sets, point sets, field data and texts are kept as `from_meshio` keeps them. A file may
    take 6 s of computing and 4 s more a MiB.

    Raises:
        UnknownFormat: meshio does not know the suffix either.
        ReadError: meshio cannot read the file; the message says what it said. Or the file
            includes another, which meshio would leave out without a word.
        MissingPackage: meshio needs a package for this format.
        MeshError: what meshio read is no mesh.
    """
    names = need_known_suffix(path)
    _need_one_file(path, names)
    from meshkit.readers.interop.meshio import converted

    mesh, said = _in_own_process(path, names)
    for line in said.split("Warning: ")[1:]:
        ledger.dropped("warning", "meshio", 1, line.strip())
    reason = f"read by meshio ({' or '.join(names)}), which does not say all that it leaves out"
    ledger.converted("file", "", 1, reason)
    return converted(mesh, ledger)


def need_known_suffix(path: Path) -> list[str]:
    """What meshio would try, by suffix: its names of formats, at least one.

    Raises:
        UnknownFormat: meshio knows no format of this suffix.
    """
    from meshio._helpers import extension_to_filetypes, reader_map

    suffixes = [s.lower() for s in path.suffixes]
    endings = ("".join(suffixes[i:]) for i in reversed(range(len(suffixes))))
    tried = [name for ending in endings for name in extension_to_filetypes.get(ending, ())]
    names = [name for name in tried if name in reader_map]
    if not names:
        raise UnknownFormat(
            path,
            "neither content nor suffix is of a known format",
            expected=f"one of {_known()}, or a suffix that meshio knows",
        )
    return names


def _need_one_file(path: Path, names: list[str]) -> None:
    """Refuse what tells of other files that meshio does not look into."""
    for word in filter(None, map(_OTHER_FILES.get, names)):
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if word.match(line):
                    raise ReadError(
                        path,
                        f"{one_line(line.decode('utf-8', 'replace'))[:200]}: "
                        "meshio leaves out what stands in other files",
                        place=f"line {number}",
                        expected="one file with everything in it",
                    )


def _known() -> str:
    from meshkit.readers.formats import FORMATS

    return ", ".join(row.name for row in FORMATS)


def _in_own_process(path: Path, names: list[str]) -> tuple[meshio.Mesh, str]:
    """The mesh that meshio reads as one of these formats, and what it printed on the way."""
    size = path.stat().st_size // _MEBIBYTE + 1
    seconds, memory = 6 + 4 * size, (8192 + 64 * size) * _MEBIBYTE
    # One thread: each of a numerical library's reserves memory, and none is of use here.
    more = {"COLUMNS": "10000", "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"}
    more["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "mesh.npz")
        command = [sys.executable, str(_PROGRAM), str(path), str(result), f"{seconds}", f"{memory}"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=os.environ | more,
                timeout=min(20 * seconds, _DAY),  # the system takes no more than some weeks
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _stuck(path, seconds) from None
        out, err = (_plain(stream) for stream in (done.stdout, done.stderr))
        if done.returncode == 0:
            return _unpacked(result), one_line(f"{out}\n{err}")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _stuck(path, seconds)
    if done.returncode < 0:
        raise ReadError(path, f"meshio crashed on it ({signal.Signals(-done.returncode).name})")
    died = "Traceback" in err  # of an error that tells how meshio works, not what the file lacks
    reason = err.split("\n")[-1] if died else f"{out} {err}"
    missing = re.search(r"^(?:ModuleNotFound|Import)Error: .*'([\w.]+)'", reason)
    if missing:
        raise MissingPackage(f"{path}: meshio", missing.group(1))
    reason = one_line(reason.replace("meshio._exceptions.", ""))
    reason = _TAIL.sub("", reason)
    known = " or ".join(names)
    if died:
        problem = f"cut, damaged, or beyond what meshio knows of {known}: meshio cannot read it"
    else:
        problem = f"meshio, which knows only a part of {known}, cannot read it"
    raise ReadError(path, f"{problem} ({reason[:300]})", hint=_INSTEAD)


def _unpacked(result: Path) -> meshio.Mesh:
    """The mesh that the process wrote."""
    import meshio

    with np.load(result, allow_pickle=False) as archive:
        said = json.loads(archive["json"].tobytes())

        def back(value: Any) -> Any:
            if isinstance(value, list):
                return [back(item) for item in value]
            if not isinstance(value, dict):
                return value
            if "array" in value:
                return archive[value["array"]]
            return {back(key): back(item) for key, item in value["dict"]}

        parts = {part: back(value) for part, value in said.items()}
    cells = [meshio.CellBlock(kind, data) for kind, data in parts.pop("cells")]
    mesh = meshio.Mesh(parts.pop("points"), cells)
    for part, value in parts.items():
        setattr(mesh, part, value)
    return mesh


def _stuck(path: Path, seconds: int) -> ReadError:
    return ReadError(
        path,
        f"meshio did not come to an end within {seconds} s, or took all memory",
        hint=_INSTEAD,
    )


def _plain(stream: bytes) -> str:
    """What was printed, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.decode("utf-8", "replace")).strip(BLANKS)
