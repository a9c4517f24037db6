"""MSH files through meshkit, meshio and gmsh, in processes of their own: CPU seconds, peak memory.

Gmsh is there only where the extra "gmsh-tests" is installed; it writes the files that all read.
Where it is not, they read meshkit's binary one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.apart import Cost, apart, lines_of
from benchmarks.cases import tets

ROUNDS = 3
VERSIONS = {
    "4.1 ascii": (4.1, 0),
    "2.2 binary": (2.2, 1),
    "2.2 ascii": (2.2, 0),
}
LEFT_OUT = {("2.2 binary", "meshio")}
"""Which takes fifty times our time: it reads one element after the other."""
_START = "import gmsh; gmsh.initialize(['-v', '0'])\ngmsh.option.setNumber('General.Terminal', 0)\n"
READERS = {
    "meshkit": ("import meshkit\nmeshkit.read({small!r})", "meshkit.read({file!r})"),
    "meshio": ("import meshio\nmeshio.read({small!r})", "meshio.read({file!r})"),
    "gmsh": (_START + "gmsh.open({small!r}); gmsh.clear()", "gmsh.open({file!r})"),
}
WRITERS = {
    "meshkit": (
        "import meshkit\nmesh = meshkit.read({file!r}); meshkit.write(mesh, {out!r})",
        "meshkit.write(mesh, {out!r})",
    ),
    "meshio": (
        "import meshio\nmesh = meshio.read({file!r})",
        "mesh.write({out!r}, file_format='gmsh')",
    ),
    "gmsh": (
        _START + "gmsh.open({file!r}); gmsh.option.setNumber('Mesh.Binary', 1)",
        "gmsh.write({out!r})",
    ),
}
_SAVE = (
    _START + "gmsh.open({source!r})\n"
    "gmsh.option.setNumber('Mesh.MshFileVersion', {version})\n"
    "gmsh.option.setNumber('Mesh.Binary', {binary})\ngmsh.write({target!r})"
)


def files(n: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """6 n^3 tets in one group in each version that can be made here."""
    import meshkit as mk

    ours = folder / "ours.msh"
    mesh = tets(n)
    group = mk.Region("all", "cell", list(range(mesh.n_cells)))
    mk.write(mesh.replace(regions=[group], point_data={}), ours)
    yield "4.1 binary, by meshkit", ours
    for name, (version, binary) in VERSIONS.items():
        target = folder / f"{name.replace(' ', '_')}.msh"
        program = _SAVE.format(source=str(ours), version=version, binary=binary, target=str(target))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        if done.returncode == 0:
            yield name, target


def costs(n: int) -> Iterator[tuple[str, int, dict[str, Cost | None]]]:
    """Each work with the bytes of its file, and what it costs each library."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        small = folder / "small"
        small.mkdir()
        little = dict(files(1, small))
        for name, file in files(n, folder):
            works = {"read": READERS, "write": WRITERS} if name.endswith("meshkit") else None
            for verb, libraries in (works or {"read": READERS}).items():
                names = {
                    "file": str(file),
                    "small": str(little[name]),
                    "out": str(folder / "out.msh"),
                }
                filled = {
                    library: (before.format(**names), work.format(**names))
                    for library, (before, work) in libraries.items()
                    if (name, library) not in LEFT_OUT
                }
                yield f"{verb} {name}", os.path.getsize(file), apart(filled, ROUNDS)


def section(n: int, bandwidth: float) -> str:
    """Markdown: CPU seconds, megabytes a second and peak memory of each library on each file."""
    lines = [
        "| work | bytes of file | floor, CPU ms | library | CPU ms | MB/s | peak memory / file "
        "| CPU and memory, as a multiple of meshkit's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, size, found in costs(n):
        floor = f"{size / 1e6:.1f} MB | {2 * size / bandwidth * 1e3:.0f}"

        def said(cost: Cost, size: int = size) -> tuple[str, ...]:
            rate = f"{size / 1e6 / cost.cpu:.0f}"
            return f"{cost.cpu * 1e3:.0f}", rate, f"{cost.peak / size:.2f}"

        lines += lines_of(name, floor, found, said)
    return (
        "## Gmsh's MSH files\n\n"
        f"Medians of {ROUNDS} fresh processes a library, in turn, from the file cache; "
        f"{6 * n**3} tets in one group. Peak: growth of the resident memory.\n\n"
        + "\n".join(lines)
        + "\n"
    )
